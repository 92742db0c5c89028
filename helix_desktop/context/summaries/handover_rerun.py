"""A handover that is written again: the window as if it had not been made, and where it may end."""

from __future__ import annotations

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock
from helix_desktop.context.summaries.cut_points import CutPoint
from helix_desktop.context.summaries.handover import uncovered_messages
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.events.summary import HandoverMade


def without_handover(transcript: Transcript) -> tuple[Transcript, tuple[int, ...]]:
    """Return a fork without the active handover, and what another one of its messages replaces.

    That is the active one and those that would stand in its place: former texts and runs of it.
    """
    fork, replaced = transcript.fork(), list[int]()
    upto = transcript.window.handover[1].upto if transcript.window.handover else 0
    while fork.window.handover is not None and fork.window.handover[1].upto >= upto:
        replaced.append(fork.window.handover[0])
        undone = Undone(fork.window.handover[0])
        fork.apply(RecordedEvent(fork.last_seq + 1, fork.last_event_at_ms, undone))
    return fork, tuple(replaced)


def same_cut(fork: Transcript, upto: int, kept_seq: int) -> CutPoint:
    """Return the cut of a handover that `fork` is without; its tokens are those of the window."""
    messages = len(uncovered_messages(fork, upto, kept_seq))
    covered = (
        entry
        for entry in fork.window.entries()
        if isinstance(entry, LogItem | SummaryBlock)
        and entry.upto <= upto
        and entry.seq != kept_seq
        and not isinstance(entry.event, HandoverMade)
    )
    return CutPoint(upto, kept_seq, messages, sum(map(fork.window.entry_tokens, covered)))
