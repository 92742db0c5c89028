"""Where a handover may end."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.legal_ranges import furthest_range
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.histories import SessionSimulator, build_history, histories


def open_calls(entries: Sequence[WindowEntry]) -> set[str]:
    """Return the calls of the newest answer in these entries without an answer, counted independently."""
    waiting: set[str] = set()
    for entry in entries:
        event = entry.event if isinstance(entry, LogItem) else None
        if isinstance(event, AssistantSpoke):
            waiting = {call.id for call in event.calls}
        elif isinstance(event, ToolAnswered):
            waiting -= {event.call_id}
    return waiting


def end_of(entry: LogItem | SummaryBlock) -> int:
    """Return the last event that an entry stands for."""
    return entry.upto if isinstance(entry, SummaryBlock) else entry.seq


def messages_in(entry: LogItem | SummaryBlock, transcript: Transcript) -> int:
    if not isinstance(entry, SummaryBlock):
        return 1
    return sum(
        cover.after < item.seq <= cover.upto for cover in entry.covers for item in transcript.messages.items
    )


def coverable(transcript: Transcript) -> list[LogItem | SummaryBlock]:
    """Return the window without the handover and pinned copies, which no new handover covers."""
    live = [entry for entry in transcript.window.entries() if isinstance(entry, LogItem | SummaryBlock)]
    return [entry for entry in live if not isinstance(entry.event, HandoverMade)]


def check_a_cut_is_legal(simulator: SessionSimulator, keep: int) -> None:
    """It splits no call from its answer, keeps what must stay, and covers more than the last one."""
    transcript = simulator.transcript
    cut = furthest_range(transcript, keep)
    if cut is None:
        return
    live = coverable(transcript)
    covered = [entry for entry in live if end_of(entry) <= cut.upto and entry.seq != cut.kept_seq]
    rest = [entry for entry in live if entry not in covered]
    assert not open_calls(covered)
    assert not (rest and isinstance(rest[0], LogItem) and isinstance(rest[0].event, ToolAnswered))
    assert cut.messages == sum(messages_in(entry, transcript) for entry in covered)
    assert cut.tokens == sum(map(transcript.window.entry_tokens, covered))
    assert covered
    if transcript.window.handover is not None:
        assert cut.upto >= transcript.window.handover[1].upto
    items = [entry for entry in live if isinstance(entry, LogItem)]
    users = [item for item in items if isinstance(item.event, UserSpoke)]
    if transcript.turn_open:
        assert users[-1] in rest  # the running turn's message
    else:
        newest = [item for item in items if item.turn == users[-1].turn]
        assert all(item in rest for item in newest)  # the newest complete turn


def check_enough_tokens_stay(simulator: SessionSimulator, keep: int) -> None:
    """After the cut there are at least the tokens to be kept."""
    cut = furthest_range(simulator.transcript, keep)
    if cut is not None:
        rest_entries = [entry for entry in coverable(simulator.transcript) if end_of(entry) > cut.upto]
        kept_back = [entry for entry in coverable(simulator.transcript) if entry.seq == cut.kept_seq]
        assert sum(map(simulator.transcript.window.entry_tokens, [*rest_entries, *kept_back])) >= keep


def check_a_handover_takes_effect(simulator: SessionSimulator) -> None:
    """What a cut covers has left the window as soon as the handover is made."""
    cut = furthest_range(simulator.transcript, 0)
    if cut is not None:
        simulator.record(simulator.handover_at(cut))
        live = {entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)}
        assert all(seq > cut.upto or seq == cut.kept_seq for seq in live)


@given(histories(), st.integers(0, 500))
def test_cuts_of_any_history(simulator: SessionSimulator, keep: int) -> None:
    """The last check makes the handover."""
    check_a_cut_is_legal(simulator, keep)
    check_enough_tokens_stay(simulator, keep)
    check_a_handover_takes_effect(simulator)


def test_inside_a_turn_the_furthest_cut_that_keeps_enough_is_used() -> None:
    """The cut lies between steps of the running turn; its user message stays."""
    simulator = build_history(10, size=400)
    cut = furthest_range(simulator.transcript, 300)
    assert cut is not None
    later_items = [item for item in simulator.transcript.messages.items if item.seq > cut.upto]
    assert sum(item.tokens for item in later_items) >= 300
    assert isinstance(later_items[0].event, AssistantSpoke)
    step = later_items[0].step
    assert (
        sum(item.tokens for item in later_items if item.step > step) < 300
    )  # one step later would keep too little
    first = simulator.transcript.messages.items[0]
    assert cut.kept_seq == first.seq


def test_a_message_kept_back_is_covered_later() -> None:
    """A huge user message that a cut inside its turn kept is covered once the turn is over."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("word " * 800)
    for _ in range(3):
        simulator.step("Reading.", 1)
    handover_seq = simulator.hand_over(0)
    assert handover_seq is not None
    assert handover_seq.kept == 2
    simulator.step("Done.", 0)
    simulator.send_message("Next.")
    simulator.step("Done.", 0)
    again = simulator.hand_over(0)
    assert again is not None
    assert again.kept == 0
    assert simulator.transcript.window.handover == (max(simulator.transcript.rewrites.handovers), again)
    assert 2 not in {
        entry.seq for entry in simulator.transcript.window.entries() if isinstance(entry, LogItem)
    }
