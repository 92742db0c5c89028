"""What the comparison of two handovers shows: plain facts, made from a transcript; no Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover_revision import (
    ITEM_CHANGES,
    MISSING_CHANGES,
    ComparedSection,
    ItemChange,
    compare_handovers,
    listed_below,
)
from helix_desktop.domain.events.summary import Section
from helix_desktop.ui.timeline.card_data import PREVIEW
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.translation import Translator

tr = Translator("Compare handovers")

NOTHING = 0
"""Stands for no handover where others stand as their events."""


class HandoverChoice(msgspec.Struct, frozen=True):
    """A handover to compare: its event, PREVIEW or NOTHING, and its name."""

    seq: int
    text: str


class ComparedPair(msgspec.Struct, frozen=True):
    """What differs between two handovers; `reason` says why dropped items cannot be put back, or nothing."""

    sections: tuple[ComparedSection, ...]
    summary: str
    reason: str = ""
    can_put_back: bool = False


def change_count(change: ItemChange, count: int) -> str:
    counts: dict[ItemChange, Callable[[], str]] = {
        "dropped": lambda: tr.plural(count, "%n dropped", "%n dropped"),
        "below": lambda: tr.plural(count, "%n listed below", "%n listed below"),
        "changed": lambda: tr.plural(count, "%n changed", "%n changed"),
        "moved": lambda: tr.plural(count, "%n moved", "%n moved"),
        "added": lambda: tr.plural(count, "%n added", "%n added"),
        "same": lambda: tr.plural(count, "%n unchanged", "%n unchanged"),
    }
    return counts[change]()


def compared_counts(sections: Sequence[ComparedSection]) -> str:
    """Return how many items changed in each way; empty if none did."""
    counts = {change: sum(part.count(change) for part in sections) for change in ITEM_CHANGES}
    if sum(counts.values()) == counts["same"]:
        return ""
    return " · ".join(change_count(change, count) for change, count in counts.items() if count)


def handover_choices(transcript: Transcript) -> list[HandoverChoice]:
    """Return what can be compared: the handover as it would be now, all others from the newest, nothing."""
    titles = handover_titles(transcript.written_handovers, transcript.checkpoints)
    choices = [HandoverChoice(seq, _choice_text(transcript, seq, title)) for seq, title in titles.items()]
    preview = HandoverChoice(PREVIEW, tr("As it would be now"))
    return [preview, *reversed(choices), HandoverChoice(NOTHING, tr("Nothing"))]


def handover_before(transcript: Transcript, seq: int) -> int:
    """Return the handover that was made before one, or NOTHING; before the preview, the active one."""
    if seq == PREVIEW:
        return transcript.window.handover[0] if transcript.window.handover else NOTHING
    return max((other for other in transcript.written_handovers if other < seq), default=NOTHING)


def compared_pair(
    transcript: Transcript, before: int, after: int, preview: Sequence[Section]
) -> ComparedPair:
    """Return what differs between two handovers; `preview` are the sections as they would be now."""
    handovers = transcript.written_handovers

    def sections(seq: int) -> Sequence[Section]:
        return preview if seq == PREVIEW else handovers[seq].sections if seq in handovers else ()

    below = listed_below(handovers[after]) if after in handovers else ()
    compared = compare_handovers(sections(before), sections(after), below)
    if before == NOTHING and after != NOTHING:
        summary = tr("Nothing is before it: every item is new.")
    else:
        summary = compared_counts(compared) or tr("No differences")
    refusal = _refusal(transcript, after)
    is_any_missing = any(section.count(change) for section in compared for change in MISSING_CHANGES)
    return ComparedPair(compared, summary, refusal if is_any_missing else "", not refusal)


def _refusal(transcript: Transcript, after: int) -> str:
    """Return why nothing can be put back into a handover; empty if it can."""
    active = transcript.window.handover
    if after == PREVIEW:
        return tr("Nothing can be put back here: the handover as it would be now isn't saved.")
    if active is None:
        return tr("Nothing can be put back: no handover is active.")
    if after != active[0]:
        return tr("Items can be put back into the active handover only. Choose it under After.")
    if active[1].origin:
        return tr("Nothing can be put back here: this handover is of another session.")
    return ""


def _choice_text(transcript: Transcript, seq: int, title: str) -> str:
    active = transcript.window.handover
    if active is not None and seq == active[0]:
        return tr("{title} (active, e{event})", title=title, event=str(seq))
    if transcript.can_redo(seq):
        return tr("{title} (undone, e{event})", title=title, event=str(seq))
    return tr("{title} (e{event})", title=title, event=str(seq))
