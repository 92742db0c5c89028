"""What the handover's dialog shows: plain facts, made from a conversation and a draft; no Qt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helix_desktop.agent.window.handover_draft import HandoverDraft
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import covered_count
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.text_format import pluralize
from helix_desktop.words.numbers import format_tokens

_MAX_TEXT_CHARS = 28  # characters of the last message that a range covers


@dataclass(frozen=True, slots=True)
class HandoverRange:
    """How far a handover could reach: the last event it covers, and that as text."""

    upto: int
    text: str


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A draft: its six sections as Markdown, and what comes with them; tokens are of the window."""

    text: str
    tokens_before: int
    tokens_after: int
    messages: int
    ledger: str
    model: str
    fallback: str
    duration_ms: int


def handover_ranges(cuts: Sequence[CutPoint], transcript: Transcript) -> Iterator[HandoverRange]:
    """Return the ranges that a user can choose from, the furthest first."""
    for place, cut in enumerate(cuts):
        last = _last_text(cut.upto, transcript)
        name = "As far as possible" if place == 0 else f"Up to e{cut.upto}{f' “{last}”' if last else ''}"
        messages = covered_count(transcript, cut.upto, cut.kept_seq)
        what = pluralize(messages, "message")
        yield HandoverRange(cut.upto, f"{name} · {what} · {format_tokens(cut.tokens)} tokens in context")


def draft_row(draft: HandoverDraft) -> DraftRow:
    """Return a draft as the dialog shows it."""
    event = draft.event
    model = "demo model" if event.demo else draft.model
    return DraftRow(
        draft.text,
        draft.before,
        draft.after,
        event.messages,
        draft.ledger,
        model,
        draft.fallback,
        event.duration_ms,
    )


def _last_text(seq: int, transcript: Transcript) -> str:
    item = transcript.item(seq)
    match item.event if item is not None else None:
        case UserSpoke(text=text) | AssistantSpoke(text=text):
            last = text
        case ToolAnswered(name=name, target=target):
            last = f"{name} {target}"
        case _:
            last = ""
    words = " ".join(last.split())
    return words if len(words) <= _MAX_TEXT_CHARS else f"{words[: _MAX_TEXT_CHARS - 1]}…"
