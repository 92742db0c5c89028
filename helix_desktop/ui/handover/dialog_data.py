"""What the handover's dialog shows: plain facts, made from a conversation and a draft; no Qt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from helix_desktop.agent.window.handover_writer import CountedPart, HandoverDraft
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import (
    CutPoint,
    HandoverPartKind,
    covered_counts,
    handover_counts,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import Bullet
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.store import MessageCounts
from helix_desktop.domain.text_format import ellipsize, one_line
from helix_desktop.words.models import recorded_writer, writer_name
from helix_desktop.words.numbers import format_token_count, format_tokens, format_whole_percent
from helix_desktop.words.summary_coverage import missing_rules
from helix_desktop.words.translation import Translator, translate

tr = Translator("Compact")

WHOLE_CONVERSATION = -1
"""Stands for the range of every message, whose handover another session begins with."""
_LITTLE = 0.10  # of the context that a handover frees: below, the user is warned
_MAX_TEXT_CHARS = 28  # characters of the last message that a range covers


class HandoverRange(msgspec.Struct, frozen=True):
    """How far a handover could reach: the last event it covers, and that as text that ends with `counts`."""

    upto: int
    text: str
    counts: str = ""


class SentDraft(msgspec.Struct, frozen=True):
    """What the model gets of a draft: the whole text, and the tokens of its parts in words."""

    text: str = ""
    sizes: str = ""


class DraftRow(msgspec.Struct, frozen=True):
    """A draft: its sections as Markdown, and what comes with them; tokens are of the window.

    `messages` says how many messages and tool calls it covers, `missing` which of the user's instructions and
    decisions it does not say, in any words; `doubt` why it may say too little. One that `is_whole` is for a
    new session: `tokens_after` are its own. `warning` says that it frees little, or nothing; `sweep_note` how
    much of what it frees is cached along with it.
    """

    text: str
    tokens_before: int
    tokens_after: int
    messages: str
    sent: SentDraft
    model: str
    fallback: str
    duration_ms: int
    missing: tuple[Bullet, ...] = ()
    is_whole: bool = False
    doubt: str = ""
    warning: str = ""
    sweep_note: str = ""


class CompactPurpose(msgspec.Struct, frozen=True):
    """What the dialog is for: its title, what becomes of the handover, a hint, and the last button."""

    title: str
    lead: str
    hint: str
    commit: str


def compact_purpose(is_whole: bool, former_title: str) -> CompactPurpose:
    """Return the words: for a new session, in place of the one titled `former_title`, or another one."""
    if is_whole:
        return CompactPurpose(
            tr("Write handover"),
            tr("A new session starts with this handover and can recall everything it covers."),
            tr("Write a draft, then read and edit it. This session stays as it is."),
            tr("Start new session"),
        )
    if former_title:
        return CompactPurpose(
            tr("Run handover again"),
            tr(
                "“{title}” is written again from the original messages. The current text stays in the log, "
                "and undo restores it.",
                title=former_title,
            ),
            tr("Compare the draft with the current handover before you replace it."),
            tr("Replace handover"),
        )
    return CompactPurpose(
        tr("Compact conversation"),
        tr(
            "A handover replaces older messages. You can undo this at any "
            "time, and the agent can recall everything it covers."
        ),
        tr("Write a draft, then read and edit it. Nothing changes until you compact."),
        tr("Compact"),
    )


def whole_range(counts: MessageCounts) -> HandoverRange:
    """Return the range of every message, for a new session."""
    return _named_range(WHOLE_CONVERSATION, tr("Whole conversation, for a new session"), counts.text)


def handover_ranges(
    cuts: Sequence[CutPoint], transcript: Transcript, *, is_same_first: bool = False
) -> Iterator[HandoverRange]:
    """Return the ranges that a user can choose from: the proposed one, or that of the active handover, first.

    A new handover replaces the active one, too, which is counted with the messages it stands for. When that
    one is run again, its messages are in the context no more, and have no figure.
    """
    active_tokens = transcript.window.handover[1].tokens if transcript.window.handover else 0
    furthest = max((cut.upto for cut in cuts), default=0)
    if is_same_first:
        first = tr("The same messages")
    else:
        first = tr("As far as possible") if cuts and cuts[0].upto == furthest else tr("Older messages")
    for place, cut in enumerate(cuts):
        name = first if place == 0 else _end_text(cut.upto, transcript)
        counts = covered_counts(transcript, cut.upto, cut.kept_seq)
        count = format_tokens(cut.tokens + active_tokens)
        tokens = "" if is_same_first else tr("{tokens} tokens in context", tokens=count)
        yield _named_range(cut.upto, name, counts.text, tokens)


def _named_range(upto: int, name: str, messages: str, tokens: str = "") -> HandoverRange:
    counts = "".join(f" · {part}" for part in (translate(messages), tokens) if part)
    return HandoverRange(upto, f"{name}{counts}", counts)


def nearest_range(cuts: Sequence[CutPoint], upto: int) -> int:
    """Return the place of the range that ends at an event: as near before it as can be, else the shortest."""
    before = [cut.upto for cut in cuts if cut.upto <= upto]
    end = max(before, default=min((cut.upto for cut in cuts), default=0))
    return next((place for place, cut in enumerate(cuts) if cut.upto == end), 0)


def _end_text(upto: int, transcript: Transcript) -> str:
    last = _last_text(upto, transcript)
    if not last:
        return tr("Up to e{number}", number=str(upto))
    return tr("Up to “{excerpt}” (e{number})", excerpt=last, number=str(upto))


def draft_row(
    draft: HandoverDraft,
    parts: Sequence[CountedPart],
    transcript: Transcript,
    is_whole: bool = False,
) -> DraftRow:
    event = draft.event
    return DraftRow(
        draft.text,
        event.before,
        event.tokens if is_whole else event.after,
        translate(handover_counts(transcript, event).text),
        sent_draft(parts),
        writer_name(recorded_writer(event.model), event.demo),
        event.fallback,
        event.duration_ms,
        missing_rules(event.coverage),
        is_whole,
        translate(draft.doubt),
        "" if is_whole else _gain_warning(event.before, event.after),
        sweep_note(draft.sweep_savings),
    )


def sent_draft(parts: Sequence[CountedPart]) -> SentDraft:
    names: dict[HandoverPartKind, str] = {
        "sections": tr("sections"),
        "ledger": tr("files, commands and errors"),
        "missing": tr("what they leave out"),
        "user": tr("your messages"),
        "agent": tr("the agent's own words"),
        "quotes": tr("messages of the earlier session"),
    }
    tokens = dict.fromkeys(names.values(), 0) | {tr("note and index"): 0}
    for part, count in parts:
        tokens[names.get(part.kind, tr("note and index"))] += count
    sizes = ", ".join(f"{name} {format_tokens(count)}" for name, count in tokens.items() if count)
    total = format_token_count(sum(tokens.values()))
    words = tr("The model gets {tokens}: {parts}", tokens=total, parts=sizes)
    return SentDraft("\n".join(part.text for part, _ in parts), words)


def sweep_note(tokens: int) -> str:
    """Return how much of what a handover frees is cached along with it; empty for nothing."""
    if not tokens:
        return ""
    return tr(
        "Of what this frees, {tokens} are old outputs and arguments, cached along with it.",
        tokens=format_token_count(tokens),
    )


def _gain_warning(before: int, after: int) -> str:
    """Return that a handover makes the context no smaller, or hardly; empty for one that is worth it."""
    freed = before - after
    if freed == 0:
        return tr("It frees nothing.")
    if freed < 0:
        return tr("It would make the context {tokens} larger.", tokens=format_token_count(-freed))
    if freed < before * _LITTLE:
        share = format_whole_percent(freed / before)
        return tr(
            "It frees only {tokens}, {share} of the context.", tokens=format_token_count(freed), share=share
        )
    return ""


def _last_text(seq: int, transcript: Transcript) -> str:
    item = transcript.messages.item(seq)
    match item.event if item is not None else None:
        case UserSpoke(text=text) | AssistantSpoke(text=text):
            last = text
        case ToolAnswered(name=name, target=target):
            last = f"{display_name(name)} {target}".rstrip()
        case _:
            last = ""
    return ellipsize(one_line(last), _MAX_TEXT_CHARS)
