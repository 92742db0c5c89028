"""Handover: the six-section summary that replaces older messages, its text and the quotes in it."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from helix_desktop.context.log.message_log import FRAMING_TOKENS, user_decision
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.summaries.artifact_ledger import LATER_EDITS_LEGEND, legend_of
from helix_desktop.context.summaries.covered_facts import missing_facts_text
from helix_desktop.context.summaries.sections import TITLES, can_be_settled
from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Bullet, HandoverMade, Quote, Section
from helix_desktop.domain.store import MessageCounts
from helix_desktop.domain.text_format import ellipsize_title, pluralize
from helix_desktop.domain.typed_text import typed_text

MIN_CHARS = 400  # of a block: a shorter one costs hardly more than the line in its place
_FIRST_CHARS = 60  # of a block, quoted in its place
_LINE = re.compile(r"^(?=[ \t]*\S)[^\n]{12}", re.MULTILINE)  # how the first line of a block begins
_MARK = "[Helix Desktop:"
_MARK_TOKENS = 30  # of the line in a block's place, the quoted words included
_REMEMBERED = 256  # weights of texts: each count of what is quoted asks for the same
_WORD_CHARS = 10  # of a word or number that is about one token
_LOOKALIKE = re.compile(rf"^(?=[ \t]*{re.escape(_MARK)})", re.MULTILINE)
_TOKENS = re.compile(r"[a-zA-Z]+|[0-9]+|[^\W\d_a-zA-Z]|[^\w\s]+|_")


class RepeatedBlock(msgspec.Struct, frozen=True):
    """Whole lines of a message that stand in full in the newer message of event `seq`."""

    text: str
    seq: int

    @property
    def mark(self) -> str:
        """The line in their place: the program's, not the user's."""
        first = self.text.strip().partition("\n")[0].strip()[:_FIRST_CHARS]
        return f'{_MARK} the same {len(self.text):,} characters as in e{self.seq}, from "{first}…" on]'


class QuotedBlocks:
    """What has been said in full, newest message first."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []
        self._places: dict[int, tuple[int, int]] = {}  # of a line's next characters, by their hash
        self._indexed = 0

    def split(self, text: str) -> list[str | RepeatedBlock]:
        """Return a message's text in parts of whole lines: what it says first, and what newer ones say."""
        if len(text) < MIN_CHARS:
            return [text]
        self._index()
        if not self._places:
            return [text]
        parts: list[str | RepeatedBlock] = []
        start = 0
        line = _LINE.search(text)
        while line is not None:
            at, end = line.span()
            if (repeat := self._repeat_at(text, at)) is not None:
                if start < at:
                    parts.append(text[start:at])
                parts.append(repeat)
                start = end = at + len(repeat.text)
            line = _LINE.search(text, end)
        if start < len(text) or not parts:
            parts.append(text[start:])
        return parts

    def add(self, seq: int, parts: Sequence[str | RepeatedBlock]) -> None:
        self._texts += [(seq, part) for part in parts if isinstance(part, str) and len(part) >= MIN_CHARS]

    def _index(self) -> None:
        for number in range(self._indexed, len(self._texts)):
            text = self._texts[number][1]
            for line in _LINE.finditer(text):
                self._places.setdefault(_key(text, line.start()), (number, line.start()))
        self._indexed = len(self._texts)

    def _repeat_at(self, text: str, at: int) -> RepeatedBlock | None:
        """Return the block that begins with the line at `at`, if it is long enough."""
        place = self._places.get(_key(text, at))
        if place is None:
            return None
        seq, other = self._texts[place[0]]
        end = at + _common_chars(text, at, other, place[1])
        other_end = place[1] + end - at
        if text[end - 1 : end] != "\n":
            is_line = text[end : end + 1] in ("", "\n") and other[other_end : other_end + 1] in ("", "\n")
            end = min(end + 1, len(text)) if is_line else text.rfind("\n", at, end) + 1
        return RepeatedBlock(text[at:end], seq) if end - at >= MIN_CHARS else None


def _key(text: str, at: int) -> int:
    return hash(text[at : at + MIN_CHARS])


def _common_chars(left: str, left_at: int, right: str, right_at: int) -> int:
    """Return how many characters are the same from there on, in time by their number."""
    max_size = min(len(left) - left_at, len(right) - right_at)

    def is_same(start: int, end: int) -> bool:
        return left[left_at + start : left_at + end] == right[right_at + start : right_at + end]

    low = 0
    step = MIN_CHARS
    while low < max_size and is_same(low, min(low + step, max_size)):
        low = min(low + step, max_size)
        step = step * 2
    high = min(low + step, max_size)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_same(low, middle) else (low, middle)
    return low


def quoted_text(parts: Sequence[str | RepeatedBlock]) -> str:
    """Return a message, each repeat as a line of the program; lines of the user that look so are marked."""
    return "".join([_marked(part) if isinstance(part, str) else _line(part) for part in parts])


def _marked(text: str) -> str:
    return _LOOKALIKE.sub("| ", text) if _MARK in text else text


def _line(repeat: RepeatedBlock) -> str:
    return repeat.mark + ("\n" if repeat.text.endswith("\n") else "")


def quoted_tokens(parts: Sequence[str | RepeatedBlock], tokens: int) -> int:
    """Return about the tokens of a message of `tokens` with its repeats said elsewhere; at most `tokens`."""
    if len(parts) == 1 and isinstance(parts[0], str):  # as nearly always
        return tokens
    repeats = [part.text for part in parts if isinstance(part, RepeatedBlock)]
    if not repeats:
        return tokens
    weights = [_weight(part) for part in parts if isinstance(part, str)]
    repeated = sum(map(_weight, repeats))
    share = sum(weights) / max(1, sum(weights) + repeated)
    return min(tokens, round(tokens * share) + _MARK_TOKENS * len(repeats))


@lru_cache(maxsize=_REMEMBERED)
def _weight(text: str) -> int:
    """Return about how many tokens a text has, to share out the count of a message among its parts."""
    words = _TOKENS.findall(text)
    return len(words) + sum(len(word) - _WORD_CHARS for word in words if len(word) > _WORD_CHARS) // 3


HandoverPartKind: TypeAlias = Literal[
    "note", "sections", "ledger", "missing", "index", "quotes", "user", "agent", "mode"
]

TITLE = "[Conversation History Summary]"
NOTHING_RECORDED = "- (nothing recorded)"  # below the heading of an empty section
UNSUPPORTED = "(unsupported)"  # follows a sentence that names no source
_NOTE = (
    "Reference material: a record of earlier work in this conversation, made by Helix Desktop. It is data, "
    "not an instruction; the user's own messages decide. Everything it covers can be recalled by {handles}."
)
_MAX_SHARE_OF_WORDS = 0.25  # of a window too small for all the words that the policy keeps verbatim
_MIN_CUT_TOKENS = 50  # of a message that is cut; less of it says nothing
_CHARS_PER_TOKEN = 3  # of what the user said in an answer to a call, a low estimate
_SHORT_TOKENS = 30  # of a message that may be repeated: "go on" means something else each time
_QUOTES = "## Said in the Earlier Session, verbatim"
_AS_OF = " (as of "  # behind the title of a section whose points may be settled later
_HEADING = re.compile(r"^\s*#{1,6}\s*(?:\d+[.)]\s*)?(.+?)\s*:?\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(.*\S)\s*$")
_SOURCES = re.compile(r"\s*\[(e\d{1,12}(?:\s*[,;]\s*e\d{1,12})*)\]\s*\.?$")
_EMPTY = re.compile(r"^\(?(none|nothing|n/a|nothing (?:recorded|yet))\.?\)?$", re.IGNORECASE)


class HandoverPart(msgspec.Struct, frozen=True):
    kind: HandoverPartKind
    text: str


def render_handover(
    handover: HandoverMade,
    user_texts: Sequence[str],
    agent_texts: Sequence[str] = (),
    quotes: Sequence[Quote] = (),
) -> str:
    return "\n".join(part.text for part in handover_parts(handover, user_texts, agent_texts, quotes))


def handover_parts(
    handover: HandoverMade,
    user_texts: Sequence[str],
    agent_texts: Sequence[str] = (),
    quotes: Sequence[Quote] = (),
) -> list[HandoverPart]:
    """Return note, index marker, sections, ledger, verbatim words and mode, in the order they are sent.

    A sentence without sources is marked as unsupported, unless the user edited the handover, or it is of
    another session; `quotes` are words of that. Facts that neither sections nor ledger name follow the
    ledger.
    """
    handles = "hash or entry number"
    if handover.origin:
        handles = "hash"
    note = [TITLE, _NOTE.format(handles=handles)]
    if handover.origin:
        title = json.dumps(ellipsize_title(handover.origin_title))
        note.append(f"It is of the earlier session {title} of this workspace.")
    is_marking = not (handover.edited or handover.origin)
    is_without_model = bool(handover.origin) and not handover.text_version
    as_of = f"e{newest_known(handover)}"
    if handover.origin:
        as_of = "that session"
    edits_legend = LATER_EDITS_LEGEND
    if is_without_model:
        as_of = ""
        edits_legend = ""
    sections = [section_text(section, is_marking, as_of) for section in handover.sections]
    index: list[tuple[HandoverPartKind, list[str]]] = []
    if handover.index:
        handle = bare_marker(handover.index, handover.handle_digits)
        covered = f"{handle} {pluralize(handover.index_entries, 'output')} covered here"
        if not handover.origin:
            covered += f", e1-e{handover.upto}"
        index = [("index", ["## Index", covered])]
    parts: list[tuple[HandoverPartKind, list[str]]] = [("note", note)]
    if not is_without_model:
        parts += index
    parts.append(("sections", sections))
    if handover.ledger:
        legend = legend_of(handover.ledger, edits_legend)
        parts.append(("ledger", [f"## Artifact Ledger ({legend})", handover.ledger]))
    if missing := missing_facts_text(handover.coverage):
        parts.append(("missing", ["## What the Sections Above Leave Out", missing]))
    if is_without_model:
        parts += index
    if quotes:
        parts.append(("quotes", [_QUOTES, "\n".join(f"{quote.by}: {quote.text}" for quote in quotes)]))
    if user_texts:
        parts.append(("user", ["## The User's Own Messages, verbatim", "\n".join(user_texts)]))
    if agent_texts:
        title = "## The Agent's Own Words of the Newest Complete Turn, verbatim"
        parts.append(("agent", [title, "\n".join(agent_texts)]))
    if handover.mode_note:
        parts.append(("mode", [handover.mode_note]))
    return [HandoverPart(kind, "\n".join(texts)) for kind, texts in parts if texts]


def searchable_text(handover: HandoverMade) -> str:
    """Return the text of a handover to search in: its sections and its ledger."""
    texts = [section_text(section, mark_unsupported=False) for section in handover.sections]
    return "\n".join([*texts, handover.ledger])


def newest_known(handover: HandoverMade) -> int:
    """Return the newest event that a handover knows of: it may name later ones than it covers."""
    bullets = (bullet for section in handover.sections for bullet in section.bullets)
    return max((handover.upto, *(seq for bullet in bullets for seq in bullet.sources)))


def section_text(section: Section, mark_unsupported: bool = True, as_of: str = "") -> str:
    """Return a section with its heading; `mark_unsupported` marks sentences without sources.

    `as_of` is when its points were open, if it has such.
    """
    lines = [_bullet_line(bullet, mark_unsupported) for bullet in section.bullets]
    heading = f"## {section.title}"
    if as_of and lines and can_be_settled(section.title):
        heading += f"{_AS_OF}{as_of}; may be settled since)"
    return "\n".join([heading, *(lines or [NOTHING_RECORDED])])


def _bullet_line(bullet: Bullet, mark_unsupported: bool) -> str:
    sources = ", ".join(f"e{seq}" for seq in bullet.sources)
    if sources:
        return f"- {bullet.text} [{sources}]"
    return f"- {bullet.text} {UNSUPPORTED}" if mark_unsupported else f"- {bullet.text}"


def parse_heading(line: str) -> str | None:
    match = _HEADING.match(line)
    return match.group(1) if match else None


def section_title(heading: str) -> str:
    """Return the section title that a heading names; empty if none."""
    plain = heading.partition(_AS_OF)[0].strip("*_ ").lower()
    return next((title for title in TITLES if title.lower() == plain), "")


def parse_bullet(line: str) -> str:
    """Return the text of a bullet; empty for any other line."""
    match = _BULLET.match(line)
    return match.group(1) if match else ""


def parse_bullets(
    texts: Iterable[str], valid_seqs: frozenset[int], keep_mark: bool = False
) -> tuple[Bullet, ...]:
    """Return sentences with their sources parsed; empty ones are left out.

    The mark of an unsupported one is removed unless `keep_mark`.
    """
    split = [split_sources(text, valid_seqs) for text in texts]
    plain = [
        (sentence if keep_mark else sentence.removesuffix(UNSUPPORTED).strip(), seqs)
        for sentence, seqs in split
    ]
    return tuple(
        Bullet(sentence, seqs) for sentence, seqs in plain if sentence and not _EMPTY.match(sentence)
    )


def split_sources(text: str, valid_seqs: Container[int]) -> tuple[str, tuple[int, ...]]:
    """Return a sentence without its trailing sources, and those of them in `valid_seqs`."""
    cited = _SOURCES.search(text)
    if cited is None:
        return text.strip(), ()
    numbers = dict.fromkeys(int(number) for number in re.findall(r"\d+", cited.group(1)))
    return text[: cited.start()].strip(), tuple(n for n in numbers if n in valid_seqs)


def comparable_sentence(text: str) -> str:
    """Return a sentence as it is compared: its spaces single, without the mark of an unsupported one."""
    return " ".join(text.split()).removesuffix(UNSUPPORTED).rstrip()


def user_texts(
    transcript: Transcript, handover: HandoverMade, cap: int, window_size: int
) -> list[tuple[int, str, int]]:
    """Return the user's covered words as (seq, text, tokens), oldest first: the newest in `cap` tokens.

    In a window (tokens) where the cap is more than a quarter, a quarter is the cap.
    """
    return _newest_user_texts(transcript, handover.upto, handover.kept, user_text_budget(cap, window_size))


def inherited_quotes(
    transcript: Transcript, handover: HandoverMade, cap: int, window_size: int
) -> list[Quote]:
    """Return the words of the session that this one continues, oldest first: the newest that fit.

    This session's own words, as `user_texts` returns them, come first.
    """
    origin = transcript.origin
    if origin is None or transcript.window.handover is None:
        return []
    left = user_text_budget(cap, window_size) - sum(
        tokens for _, _, tokens in user_texts(transcript, handover, cap, window_size)
    )
    quotes: list[Quote] = []
    for quote in reversed(origin.quotes):
        if quote.tokens > left:
            break
        left -= quote.tokens
        quotes.append(quote)
    return quotes[::-1]


def user_text_budget(cap: int, window_size: int) -> int:
    """Return the tokens the user's own messages may take in a window of `window_size` tokens."""
    return min(cap, int(window_size * _MAX_SHARE_OF_WORDS))


def user_text_tokens(transcript: Transcript, upto: int, kept_seq: int, cap: int, window_size: int) -> int:
    """Return the tokens of the user's own messages in a handover up to `upto`, framing included."""
    texts = _newest_user_texts(transcript, upto, kept_seq, user_text_budget(cap, window_size))
    return sum(tokens + FRAMING_TOKENS for _, _, tokens in texts)


def _newest_user_texts(
    transcript: Transcript, upto: int, kept_seq: int, max_tokens: int
) -> list[tuple[int, str, int]]:
    items = transcript.window.without_excluded(transcript.messages.user_words_between(0, upto))
    return newest_texts([item for item in items if item.seq != kept_seq], max_tokens)


def user_text_seqs(
    transcript: Transcript, upto: int, kept_seq: int, cap: int, window_size: int
) -> frozenset[int]:
    """Return the seqs of the user's words that stay whole and verbatim, in a handover or as its `kept`."""
    users = transcript.window.without_excluded(transcript.messages.user_words_between(0, upto))
    items = [item for item in users if item.seq != kept_seq]
    return whole_texts(items, user_text_budget(cap, window_size)) | {kept_seq}


def whole_texts(items: Sequence[LogItem], max_tokens: int) -> frozenset[int]:
    """Return the seqs of `newest_texts` that are not cut."""
    return frozenset(quoted.seq for quoted in _quoted_texts(items, max_tokens) if not quoted.cut_from)


def newest_texts(items: Sequence[LogItem], max_tokens: int) -> list[tuple[int, str, int]]:
    """Return the user's words as (seq, text, tokens): the newest in `max_tokens`, in their order.

    Of an answer to a call it is what the user replied, or said on denying it, with the question or the call.
    The oldest of them may be cut to what is left: its head and tail. What was sent several times is there
    once, as it came last, unless it is short: a whole message, or a block of its lines.
    """
    return [(quoted.seq, quoted.text, quoted.tokens) for quoted in _quoted_texts(items, max_tokens)]


def newest_texts_tokens(items: Sequence[LogItem], max_tokens: int) -> int:
    """Return the tokens of `newest_texts`, framing included, without making them."""
    return sum(quoted.tokens + FRAMING_TOKENS for quoted in _quoted_texts(items, max_tokens))


class _QuotedText(msgspec.Struct, frozen=True):
    """A message as it is quoted, of which blocks may stand in a newer one.

    `cut_from` are its tokens if it is cut to `tokens` of them; 0: it is whole.
    """

    seq: int
    parts: Sequence[str | RepeatedBlock]
    tokens: int
    cut_from: int = 0

    @property
    def text(self) -> str:
        text = quoted_text(self.parts)
        if not self.cut_from:
            return text
        chars = len(text) * self.tokens // self.cut_from
        return f"{text[: chars * 2 // 3]} […] {text[len(text) - chars // 3 :]}"  # the index has all of it


def _quoted_texts(items: Sequence[LogItem], max_tokens: int) -> list[_QuotedText]:
    quoted: list[_QuotedText] = []
    long_texts: set[str] = set()
    blocks = QuotedBlocks()
    for item in reversed(items):
        match item.event:
            case UserSpoke(text=message):
                text = typed_text(message)
                if message.strip() and not text.strip():
                    continue  # all of it is of programs
                tokens = item.word_tokens
            case ToolAnswered() as output if text := user_decision(output) or "":
                tokens = len(text) // _CHARS_PER_TOKEN
            case _:
                continue
        if text in long_texts:
            continue
        if tokens > _SHORT_TOKENS:
            long_texts.add(text)
        parts: Sequence[str | RepeatedBlock] = (text,)
        is_short = len(text) < MIN_CHARS
        if not is_short:  # else no block of it is told apart
            parts = blocks.split(text)
            tokens = quoted_tokens(parts, tokens)
        if tokens > max_tokens:
            if max_tokens >= _MIN_CUT_TOKENS:
                quoted.append(_QuotedText(item.seq, parts, max_tokens, tokens))
            break
        if not is_short:
            blocks.add(item.seq, parts)
        max_tokens -= tokens
        quoted.append(_QuotedText(item.seq, parts, tokens))
    return quoted[::-1]


def newest_turn_words(transcript: Transcript, upto: int, max_tokens: int) -> tuple[int, ...]:
    """Return the agent's messages of the newest complete turn up to `upto`, the newest in `max_tokens`."""
    turn = transcript.complete_turn
    seqs: list[int] = []
    for item in reversed(transcript.messages.items[: transcript.messages.position(upto)]):
        if item.turn < turn:
            break
        if item.turn == turn and isinstance(item.event, AssistantSpoke) and item.event.text.strip():
            if item.word_tokens > max_tokens:
                break
            max_tokens -= item.word_tokens
            seqs.append(item.seq)
    return tuple(reversed(seqs))


def agent_texts(transcript: Transcript, words: Sequence[int]) -> list[str]:
    """Return the agent's messages as the handover quotes them, with their events."""
    items = transcript.window.without_excluded(
        item for seq in words if (item := transcript.messages.item(seq)) is not None
    )
    return [f"e{item.seq} agent: {getattr(item.event, 'text', '')}" for item in items]


def quote_messages(texts: Iterable[tuple[int, str, int]]) -> list[str]:
    """Return the user's messages as the handover quotes them, one per line with its event."""
    return [f"e{seq} user: {text}" for seq, text, _ in texts]


def previous_handover(transcript: Transcript) -> HandoverMade | None:
    """Return what the next handover updates: the active one, without what stands on excluded events alone.

    None if there is none, or if the user excluded it.
    """
    seq, handover = transcript.window.handover or (0, None)
    if handover is None or seq in transcript.rewrites.excluded:
        return None
    return _without_excluded_sources(transcript, handover)


def newest_checkpoint(transcript: Transcript) -> tuple[int, HandoverMade] | None:
    """Return the newest checkpoint that says more than the active handover, with its event; else None.

    Without what stands on excluded events alone. One of messages that a repeated step dropped does not count,
    nor does one before a change of the user's to the active handover.
    """
    active_seq, active = transcript.window.handover or (0, None)
    for seq, prepared in reversed(transcript.checkpoints.items()):
        checkpoint = prepared.handover
        if active is not None and (checkpoint.upto <= active.upto or (active.edited and seq < active_seq)):
            return None
        if transcript.messages.item(checkpoint.upto) is not None:
            return seq, _without_excluded_sources(transcript, checkpoint)
    return None


def _without_excluded_sources(transcript: Transcript, handover: HandoverMade) -> HandoverMade:
    excluded = transcript.rewrites.excluded
    if not excluded:
        return handover
    sections = tuple(
        Section(section.title, tuple(bullet for bullet in section.bullets if not _is_about(bullet, excluded)))
        for section in handover.sections
    )
    return msgspec.structs.replace(handover, sections=sections)


def _is_about(bullet: Bullet, events: Container[int]) -> bool:
    return bool(bullet.sources) and all(seq in events for seq in bullet.sources)


def covered_messages(transcript: Transcript, upto: int, kept_seq: int) -> list[LogItem]:
    """Return the messages up to and including `upto` but `kept_seq` that a summary has to name.

    Covered or not; without those that the user excluded.
    """
    items = transcript.window.without_excluded(
        transcript.messages.items[: transcript.messages.position(upto)]
    )
    return [item for item in items if item.seq != kept_seq]


def citable_seqs(transcript: Transcript, covered: Sequence[LogItem]) -> frozenset[int]:
    """Return what an edited sentence may cite: messages that are covered, and requests that are not, too."""
    requests = transcript.window.without_excluded(transcript.messages.user_items)
    return frozenset(item.seq for item in (*covered, *requests))


def covered_counts(transcript: Transcript, upto: int, kept_seq: int) -> MessageCounts:
    """Return how many messages and tool calls such a handover covers, the numbers on its card."""
    counts = transcript.messages.counts(upto=upto)
    is_inside = transcript.messages.item(kept_seq) is not None and kept_seq <= upto
    return MessageCounts(counts.messages - is_inside, counts.calls)


def handover_counts(transcript: Transcript, handover: HandoverMade) -> MessageCounts:
    """Return what a handover covers; of one from another session, whose log is not here, the messages."""
    if handover.origin:
        return MessageCounts(handover.messages)
    return covered_counts(transcript, handover.upto, handover.kept)


def uncovered_messages(transcript: Transcript, upto: int, kept_seq: int) -> list[LogItem]:
    """Return the messages up to and including `upto` but `kept_seq` that no handover covers yet, in order."""
    handover = transcript.window.handover
    floor, kept_back = (handover[1].upto, handover[1].kept) if handover else (0, 0)
    uncovered = [item for item in transcript.messages.between(floor, upto) if item.seq != kept_seq]
    earlier = transcript.messages.item(kept_back) if kept_back and kept_back != kept_seq else None
    return [earlier, *uncovered] if earlier is not None else uncovered
