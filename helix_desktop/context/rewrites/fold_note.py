"""Fold notes: the text of a folded range. Labeled as reference, in a form that cannot pass for a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from helix_desktop.context.intake.error_lines import find_error
from helix_desktop.context.log.file_changes import FileRevert
from helix_desktop.context.log.message_log import user_decision
from helix_desktop.context.log.notes import newest_mode_note
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.artifact_ledger import build_ledger
from helix_desktop.context.summaries.conclusions import (
    LaterProgress,
    beginning_of,
    conclusions_in,
    informative_part,
    sentences_in,
    states_anything,
)
from helix_desktop.context.summaries.handover import QuotedBlocks, RepeatedBlock, quoted_tokens
from helix_desktop.context.summaries.informative_lines import described_result, short_text
from helix_desktop.context.summaries.ledger_entries import LEGEND, short_command
from helix_desktop.domain.digest import HEX_DIGITS, bare_marker
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.files.file_use import is_test_command
from helix_desktop.domain.redaction.report_text import has_form_of_secret
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.todo import NO_LIST, TodoList
from helix_desktop.domain.tool_call_target import is_symbol_lookup, tool_kind
from helix_desktop.domain.unicode_safety import without_direction_signs

TITLE = "[Folded steps]"
_CHARS_PER_TOKEN = 3.5
_LEDGER_MESSAGES = 800  # newest messages that the ledger of a condensed note is made from: more than fill it
_MIN_CHARS, _MAX_CHARS = 60, 400  # characters of one message in a condensed note
_RANKS = ((0.75, 120, 900), (0.8, _MIN_CHARS, _MAX_CHARS), (1.0, _MIN_CHARS, _MAX_CHARS))
"""The share of the characters left, and the least and most of one message: for conclusions, for the words of
turns without one, and for all others."""
_CONCLUDING_MESSAGES = 2_000  # newest messages in which conclusions are looked for: more than fill a note
_NEWEST_PLANS = 8  # newest messages between calls that may only announce the next one
_LONG_CHARS, _AGAIN_CHARS = 200, 60  # characters of a user's message that came several times
_AGAIN_TOKENS = 25  # of its line where it came before
_TARGET_CAP, _COMMAND_CAP, _READ_CHARS = 160, 80, 400  # characters
_SHORT_RESULT = 100  # characters
_RESULT = " → "
_LARGE_BYTES = 4096  # bytes; the size of a smaller result says nothing
_KILO = 1024
_REMEMBERED_TEXTS = 4_096  # of the agent: each stands in one condensed note after the other
_REMEMBERED_TARGETS = 2_048  # of calls: made when the answer comes, for its names, and again for its note
_RESULT_END = re.compile(r"[→;“”]|, ")  # what separates a result from the next call, and what quotes it
_PLAIN_QUOTES = str.maketrans({"“": '"', "”": '"'})
_NOTE_LINE = re.compile(
    r"\s*(?:user(?: e\d+)?:|e\d+(?: user| agent)?:|did(?: e\d+(?:-e\d+)?)?:|todo list \("
    r"|\[[\W_]*(?:user|did|folded|names|cached|artifacts|helix|observations|conversation|pinned|recalled"
    r"|attached|pasted|image|extract|project|instructions|environment|mode|the user|system|tool|assistant))",
    re.IGNORECASE,
)
"""How a line of the note's own begins, or another of the program's or of who speaks."""


class _Call(NamedTuple):
    """A call in a note: its output's entry, the tool, a few words; and True if these leave something out."""

    seq: int
    tool: str
    phrase: str
    has_more: bool


def render_fold_note(
    items: Sequence[LogItem],
    index: str,
    entries: int,
    digits: int = HEX_DIGITS,
    todo_list: TodoList = NO_LIST,
) -> str:
    """Return a fold's note: messages verbatim, each call in a few words, the rest through the index.

    Of the present `todo_list`, if it is in one of the messages, what is left to do stands at the end.
    """
    lines = [*note_lines(items), *_todo_lines(todo_list), *_mode_lines(items)]
    return "\n".join([_header("Earlier steps", index, entries, digits, items), *lines])


def render_condensed_note(
    items: Sequence[LogItem],
    index: str,
    entries: int,
    agent_tokens: int,
    user_tokens: int,
    policy: ContextPolicy,
    user_words: Sequence[LogItem] = (),
    todo_list: TodoList = NO_LIST,
    reverts: Mapping[str, FileRevert] = MappingProxyType({}),
) -> str:
    """Return the note that replaces older notes: user messages, what the agent's name, and a ledger.

    `agent_tokens` bounds the agent's text, the policy the other two; the newest of each are kept. The user's
    messages stay whole up to `user_tokens` together, a long one that came several times once, as a long block
    of lines does; beyond them each keeps its beginning and its end, up to half as many more. `user_words` are
    the items with words of the user; without it they are looked for among all, of the whole session. The
    present `todo_list` stands behind them, as in a fold's note. What is cut has the number of its entry.
    `reverts` are the user's of what the agent changed in files, by path: the ledger says it of them.
    """
    lines = _agent_lines(items, int(agent_tokens * _CHARS_PER_TOKEN))
    lines |= _words_of_user(user_words or items, user_tokens, policy.condense_message)
    facts = build_ledger(items[-_LEDGER_MESSAGES:])
    facts.mark_reverted(reverts)
    ledger = facts.text(policy.ledger_tokens)
    header = _header("Earlier steps, in brief", index, entries, policy.handle_digits, items)
    ends = [*_todo_lines(todo_list), *_mode_lines(user_words or items)]
    parts = [header, *(line for _, line in sorted(lines.items())), *ends]
    return "\n".join([*parts, f"[Artifacts: {LEGEND}]", ledger] if ledger else parts)


def _todo_lines(todo_list: TodoList) -> list[str]:
    return todo_list.open_lines if todo_list.is_open else []


def _mode_lines(items: Sequence[LogItem]) -> list[str]:
    note = newest_mode_note(items)
    return [note] if note else []


def _words_of_user(items: Sequence[LogItem], user_tokens: int, cut_tokens: int) -> dict[int, str]:
    """Return what the user wrote and replied to questions, in lines by their seqs."""
    lines = _user_lines(items, user_tokens, cut_tokens)
    for item in items:
        if isinstance(item.event, ToolAnswered) and (decision := user_decision(item.event)) is not None:
            lines[item.seq] = _reply_line(item.event, decision)
    return lines


def _user_lines(items: Sequence[LogItem], user_tokens: int, cut_tokens: int) -> dict[int, str]:
    """Return what a condensed note says of the user's messages, by their seqs."""
    lines: dict[int, str] = {}
    where_by_text: dict[str, str] = {}
    blocks, left = QuotedBlocks(), user_tokens
    for item in reversed(items):
        if not isinstance(item.event, UserSpoke):
            continue
        if left <= -user_tokens // 2:
            break
        text = item.event.text
        if text in where_by_text:
            left -= _AGAIN_TOKENS
            first = _quote_lookalikes(text[:_AGAIN_CHARS])
            lines[item.seq] = f"user: {first} […] ({where_by_text[text]})"
            continue
        parts = blocks.split(text)
        tokens = quoted_tokens(parts, item.event.tokens)
        cap = tokens if tokens <= left else cut_tokens
        left -= min(tokens, cap)
        by = "user" if tokens <= cap else f"user e{item.seq}"
        lines[item.seq] = f"{by}: {_head_and_tail(_quoted_parts(parts), tokens, cap)}"
        if tokens <= cap:
            blocks.add(item.seq, parts)
        if len(text) > _LONG_CHARS:
            is_whole = tokens <= cap
            where_by_text[text] = (
                f"all of it in e{item.seq}" if is_whole else f"recall e{item.seq} for all of it"
            )
    return lines


def _quoted_parts(parts: Sequence[str | RepeatedBlock]) -> str:
    """Return a message of the user, each of its repeats as a line of the note's own."""
    texts = (part.mark if isinstance(part, RepeatedBlock) else _quote_lookalikes(part) for part in parts)
    return "\n".join(filter(None, texts))


def render_truncation_note(
    index: str,
    entries: int,
    messages: int,
    digits: int = HEX_DIGITS,
    user_words: Sequence[LogItem] = (),
    user_tokens: int = 0,
    cut_tokens: int = 0,
    todo_list: TodoList = NO_LIST,
) -> str:
    """Return the note that replaces messages for want of room: the user's own words and what is to do stay.

    The words are bounded by `user_tokens` as in a condensed note; a longer message keeps `cut_tokens`.
    """
    header = _header(
        f"{pluralize(messages, 'earlier message')}, left out for want of room", index, entries, digits
    )
    lines = _words_of_user(user_words, user_tokens, cut_tokens) if user_tokens else {}
    ends = [*_todo_lines(todo_list), *_mode_lines(user_words)]
    return "\n".join([header, *(line for _, line in sorted(lines.items())), *ends])


def _header(what: str, index: str, entries: int, digits: int, items: Sequence[LogItem] = ()) -> str:
    """Return the first line of a note: what it stands for, and which entries its index covers."""
    covers = f", covers e{items[0].seq}-e{items[-1].seq}" if items else ""
    outputs = pluralize(entries, "output")
    return f"{TITLE} {what}, for reference; {outputs} in {bare_marker(index, digits)}{covers}"


def note_lines(items: Iterable[LogItem]) -> list[str]:
    """Return the lines of a fold's note, but for its header."""
    lines: list[str] = []
    done: list[_Call] = []
    paths: set[str] = set()
    for item in items:
        text_line = ""
        match item.event:
            case UserSpoke(text=text):
                text_line = f"user: {_quote_lookalikes(text)}"
            case AssistantSpoke(text=text) if text.strip():
                text_line = _quote_lookalikes(text)
            case ToolAnswered() as output if (decision := user_decision(output)) is not None:
                text_line = _reply_line(output, decision)
            case ToolAnswered() as output:
                phrase = _call_phrase(output, paths)
                done.append(_Call(item.seq, " ".join(output.name.split()), phrase, _has_more(output, phrase)))
            case _:
                pass
        if text_line:
            lines += _call_lines(done)
            done = []
            lines.append(text_line)
    return lines + _call_lines(done)


def _reply_line(output: ToolAnswered, decision: str) -> str:
    """Return a question and the user's reply: what the user decided stays, as their messages do."""
    return f"user: {decision or f'{ellipsize(output.target, _TARGET_CAP)} – skipped'}"


def _call_lines(calls: Sequence[_Call]) -> list[str]:
    """Return one line for a run of calls; consecutive calls of one tool share its name.

    Their entries stand in it unless it says all there is to recall.
    """
    if not calls:
        return []
    parts: list[str] = []
    previous = ""
    for call in calls:
        name, phrase = call.tool, call.phrase
        parts.append(f", {phrase}" if name == previous else f"; {name} {phrase}".rstrip())
        previous = name
    first, last = calls[0].seq, calls[-1].seq
    entries = f" e{first}" if first == last else f" e{first}-e{last}"
    label = f"did{entries}" if any(call.has_more for call in calls) else "did"
    return [f"{label}: " + "".join(parts).lstrip("; ")]


def _has_more(output: ToolAnswered, phrase: str) -> bool:
    """Return True if a call's output says more than the note: it is large, or its result is not there."""
    is_change = output.ok and tool_kind(output.name) in ("write", "edit")
    has_result = _RESULT in phrase.removeprefix(target_in_note(output))
    return bool(output.digest) and (output.size >= _LARGE_BYTES or not (is_change or has_result))


def target_in_note(output: ToolAnswered) -> str:
    """Return what a note says of what a call was about, where it says most."""
    return _target_in_note(output.target, output.name)


@lru_cache(maxsize=_REMEMBERED_TARGETS)
def _target_in_note(target: str, tool: str) -> str:
    if tool_kind(tool) == "command":
        return short_command(target[:_READ_CHARS], _COMMAND_CAP)
    return ellipsize(" ".join(target[:_READ_CHARS].split()), _TARGET_CAP)


def _call_phrase(output: ToolAnswered, paths: set[str]) -> str:
    """Return a call in a few words: a path stands whole the first time, then by its last part."""
    target = target_in_note(output)
    if target in paths and " " not in target:
        target = target.rstrip("/").rpartition("/")[2]
    elif tool_kind(output.name) != "command":
        paths.add(target)
    size = f" {output.size // _KILO}K" if output.size >= _LARGE_BYTES else ""
    failed = f" exit {output.exit_code}" if output.exit_code else "" if output.ok else " failed"
    return f"{target}{size}{failed}{_short_result(output)}".strip()


def _short_result(output: ToolAnswered) -> str:
    """Return what a call gave in a few words, a test's last informative line, or how much a lookup found.

    Of a change of a file only an error says something. What looks like a secret stays in its output alone,
    which the user can have forgotten.
    """
    source = output.text
    result = short_text(output.text, _SHORT_RESULT) if output.text.strip() else "nothing"
    result = result if output.size < _LARGE_BYTES else ""  # of a large one the text is a part
    if tool_kind(output.name) in ("write", "edit") and find_error(result) is None:
        return ""
    if not result and _has_result_in_description(output):
        about = without_direction_signs(output.about)
        source, result = about, ellipsize(described_result(about, output.exit_code), _SHORT_RESULT)
    return f"{_RESULT}{_quote_result(result)}" if result and not _has_secret(source) else ""


def _has_result_in_description(output: ToolAnswered) -> bool:
    """Return True if the description of a large output is its result: of tests, or of a symbol's lookup."""
    is_test = tool_kind(output.name) == "command" and is_test_command(output.target)
    return is_test or is_symbol_lookup(output.name)


# Asked when the answer comes, and again for its note.
_has_secret = lru_cache(maxsize=_REMEMBERED_TARGETS)(has_form_of_secret)


def _quote_result(result: str) -> str:
    """Return a result in quotes if something in it could pass for its end and the next call."""
    if _RESULT_END.search(result) is None:
        return result
    return f"“{result.translate(_PLAIN_QUOTES)}”"


def _agent_lines(items: Sequence[LogItem], max_chars: int) -> dict[int, str]:
    """Return what a condensed note says of the agent's messages, by their seqs.

    What a later one overtook is left out: `10/240 done`, how long it would take.

    Together they take the characters of an even share for each message, the newest first. Of these most go
    to the conclusions of finished turns; then what was said between calls in a turn without one has its
    share, and what is left goes to the other words between calls. What only announces the next call is left
    out, but for the newest of a turn that goes on.
    """
    texts = filter(_text_of, reversed(items))
    newest = list(islice(texts, max_chars // _MIN_CHARS + 1))  # more would have less than the least
    even = min(max(max_chars // max(1, len(newest)), _MIN_CHARS), _MAX_CHARS)
    left = min(max_chars, sum(min(len(_text_of(item)), even) for item in newest))
    conclusions = conclusions_in(items[-_CONCLUDING_MESSAGES:])[::-1]
    seqs, turns = {item.seq for item in conclusions}, {item.turn for item in conclusions}
    between = [item for item in newest if item.seq not in seqs]
    stating = between[:_NEWEST_PLANS] + list(filter(_states_anything, between[_NEWEST_PLANS:]))
    of_open_turns = [item for item in stating if item.turn not in turns]
    others = [item for item in stating if item.turn in turns and _states_anything(item)]
    overtaken = _overtaken({item.seq: item for item in (*newest, *conclusions)}.values())
    lines: dict[int, str] = {}
    for rank, (share, least, most) in zip((conclusions, of_open_turns, others), _RANKS, strict=True):
        of_rank = int(left * share)
        cap = min(max(of_rank // max(1, len(rank)), least), most)
        for item in rank:
            text, room = _text_of(item), min(cap, left)
            if of_rank <= 0 or room < min(_MIN_CHARS, len(text)):
                break
            line = _part_in_note(text, room, overtaken.get(item.seq, frozenset()))
            if not line:
                continue
            is_cut = rank is conclusions and len(line) < len(text) * 3 // 4
            lines[item.seq] = f"e{item.seq}: {line}" if is_cut else line
            of_rank, left = of_rank - len(line), left - len(line)
    return lines


def _overtaken(items: Iterable[LogItem]) -> dict[int, frozenset[str]]:
    """Return the sentences of messages that say how far something was, where a later one says it again."""
    found: dict[int, frozenset[str]] = {}
    later = LaterProgress()
    for item in sorted(items, key=lambda item: -item.seq):
        text = _text_of(item)
        sentences = (sentence.text for sentence in sentences_in(text))
        if of_item := frozenset(filter(later.overtakes, sentences)):
            found[item.seq] = of_item
        later.add(text)
    return found


def _states_anything(item: LogItem) -> bool:
    return states_anything(_text_of(item))


def _text_of(item: LogItem) -> str:
    return item.event.text.strip() if isinstance(item.event, AssistantSpoke) else ""


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _part_in_note(text: str, cap: int, left_out: frozenset[str]) -> str:
    """Return a message, or the sentences of it that state most, in one line of `cap` characters.

    Agents begin with what says least ("Perfect! Now let's"); if no sentence states anything the first ones
    stay. All are whole; empty if none fits, or if nothing else is said than what is `left_out`.
    """
    line = " ".join(text[: cap * 2].split())
    if len(line) > cap or left_out:
        line = informative_part(text, cap, left_out) or ("" if left_out else beginning_of(text, cap))
    return _quote_lookalikes(line)


def _head_and_tail(text: str, tokens: int, cap: int) -> str:
    """Return a message, or head and tail of a longer one in about `cap` tokens; the index has all of it."""
    if tokens <= cap:
        return text
    chars = max(40, len(text) * cap // tokens)
    return f"{text[: chars * 3 // 4]} […] {text[-chars // 4 :]}"


def _quote_lookalikes(text: str) -> str:
    """Return text for a note, with lines that look like the note's own marked as quoted."""
    lines = text.strip().splitlines(keepends=True)
    return "".join(f"| {line}" if _NOTE_LINE.match(line) else line for line in lines)
