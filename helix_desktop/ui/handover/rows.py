"""What the handover's dialog shows: plain facts, made from a conversation and a draft; no Qt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helix_desktop.agent.draft import HandoverDraft
from helix_desktop.context.cut import Cut
from helix_desktop.context.event import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.context.handover import covered_count
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.figures import tokens_text

_WORDS = 28  # characters of the last message that a range covers


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a handover could reach: the last event it covers, and that in words."""

    upto: int
    text: str


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A draft: its six sections as Markdown, and what comes with them; tokens are of the window."""

    text: str
    before: int
    after: int
    messages: int
    ledger: str
    model: str
    fallback: str
    duration_ms: int


def reaches(cuts: Sequence[Cut], transcript: Transcript) -> Iterator[Reach]:
    """The ranges that a person can choose from, the furthest first."""
    for place, cut in enumerate(cuts):
        last = _last_words(cut.upto, transcript)
        name = "As far as possible" if place == 0 else f"Up to e{cut.upto}{f' “{last}”' if last else ''}"
        messages = covered_count(transcript, cut.upto, cut.kept)
        what = f"{messages:,} message{'s' if messages != 1 else ''}"
        yield Reach(cut.upto, f"{name} · {what} · {tokens_text(cut.tokens)} tokens in context")


def draft_row(draft: HandoverDraft) -> DraftRow:
    """A draft as the dialog shows it."""
    made = draft.made
    model = "demo model" if made.demo else draft.model
    return DraftRow(
        draft.text,
        draft.before,
        draft.after,
        made.messages,
        draft.ledger,
        model,
        draft.fallback,
        made.duration_ms,
    )


def _last_words(seq: int, transcript: Transcript) -> str:
    item = transcript.item(seq)
    match item.event if item is not None else None:
        case UserSpoke(text=text) | AssistantSpoke(text=text):
            said = text
        case ToolAnswered(name=name, target=target):
            said = f"{name} {target}"
        case _:
            said = ""
    words = " ".join(said.split())
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"
