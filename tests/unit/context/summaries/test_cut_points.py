"""Where a handover may end."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy, SummaryBlock, WindowEntry
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries import cut_points as cuts
from helix_desktop.domain.events.rewrite import Undone
from helix_desktop.domain.events.session import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from tests.support.histories import SessionSimulator, build_history, histories


def open_calls(entries: Sequence[WindowEntry]) -> set[str]:
    """The calls of the newest answer in these entries that have no answer there, counted afresh."""
    waiting: set[str] = set()
    for entry in entries:
        event = entry.event if isinstance(entry, LogItem) else None
        if isinstance(event, AssistantSpoke):
            waiting = {call.id for call in event.calls}
        elif isinstance(event, ToolAnswered):
            waiting -= {event.call_id}
    return waiting


def end_of(entry: LogItem | SummaryBlock) -> int:
    """The last event that an entry stands for."""
    return entry.upto if isinstance(entry, SummaryBlock) else entry.seq


def messages_in(entry: LogItem | SummaryBlock, transcript: Transcript) -> int:
    """How many messages of the log an entry stands for."""
    if not isinstance(entry, SummaryBlock):
        return 1
    return sum(one.after < item.seq <= one.upto for one in entry.covers for item in transcript.items)


def coverable(transcript: Transcript) -> list[LogItem | SummaryBlock]:
    """What stands in the window but the handover and pinned copies, which no new handover covers."""
    live = [one for one in transcript.window_entries() if not isinstance(one, PinnedCopy)]
    return [one for one in live if not isinstance(one.event, HandoverMade)]


@given(histories(), st.integers(0, 500))
def test_a_cut_is_legal(simulator: SessionSimulator, keep: int) -> None:
    """It splits no call from its answer, keeps what must stay, and covers more than the last one."""
    transcript = simulator.transcript
    cut = cuts.choose_cut(transcript, keep)
    if cut is None:
        return
    live = coverable(transcript)
    covered = [one for one in live if end_of(one) <= cut.upto and one.seq != cut.kept_seq]
    rest = [one for one in live if one not in covered]
    assert not open_calls(covered)
    assert not (rest and isinstance(rest[0], LogItem) and isinstance(rest[0].event, ToolAnswered))
    assert cut.messages == sum(messages_in(one, transcript) for one in covered)
    assert cut.tokens == sum(map(transcript.entry_tokens, covered))
    assert covered
    if transcript.handover is not None:
        assert cut.upto >= transcript.handover[1].upto
    items = [one for one in live if isinstance(one, LogItem)]
    users = [item for item in items if isinstance(item.event, UserSpoke)]
    if transcript.turn_open:
        assert users[-1] in rest  # the running turn's message
    else:
        newest = [item for item in items if item.turn == users[-1].turn]
        assert all(item in rest for item in newest)  # the newest complete turn, whole


@given(histories(), st.integers(0, 500))
def test_enough_stays(simulator: SessionSimulator, keep: int) -> None:
    """Behind the cut stand at least the tokens to be kept."""
    cut = cuts.choose_cut(simulator.transcript, keep)
    if cut is not None:
        behind = [one for one in coverable(simulator.transcript) if end_of(one) > cut.upto]
        kept = [one for one in coverable(simulator.transcript) if one.seq == cut.kept_seq]
        assert sum(map(simulator.transcript.entry_tokens, [*behind, *kept])) >= keep


@given(histories())
def test_a_handover_takes_effect(simulator: SessionSimulator) -> None:
    """What a chosen cut covers has left the window as soon as the handover is made."""
    cut = cuts.choose_cut(simulator.transcript, 0)
    if cut is not None:
        simulator.record(simulator.handover_at(cut))
        live = {one.seq for one in simulator.transcript.window_entries() if isinstance(one, LogItem)}
        assert all(seq > cut.upto or seq == cut.kept_seq for seq in live)


def test_inside_a_turn_the_furthest_cut_that_keeps_enough() -> None:
    """The cut lies between steps of the running turn; its user message stays."""
    simulator = build_history(10, size=400)
    cut = cuts.choose_cut(simulator.transcript, 300)
    assert cut is not None
    behind = [item for item in simulator.transcript.items if item.seq > cut.upto]
    assert sum(item.tokens for item in behind) >= 300
    assert isinstance(behind[0].event, AssistantSpoke)
    step = behind[0].step
    assert (
        sum(item.tokens for item in behind if item.step > step) < 300
    )  # one step later would keep too little
    first = simulator.transcript.items[0]
    assert cut.kept_seq == first.seq


def test_between_turns_nothing_of_the_newest_is_covered() -> None:
    """With only one complete turn there is no cut; with two the first is covered whole."""
    simulator = build_history(4)
    simulator.step("Done.", 0)
    assert cuts.choose_cut(simulator.transcript, 0) is None
    simulator.send_message("And now?")
    simulator.step("Fine.", 0)
    cut = cuts.choose_cut(simulator.transcript, 0)
    assert cut is not None
    second = [item for item in simulator.transcript.items if isinstance(item.event, UserSpoke)][1]
    before = [item for item in simulator.transcript.items if item.seq < second.seq]
    assert (cut.upto, cut.kept_seq, cut.messages) == (before[-1].seq, 0, len(before))


def test_a_message_kept_back_is_covered_later() -> None:
    """A huge user message that a cut inside its turn had kept is covered once the turn is over."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("word " * 800)
    for _ in range(3):
        simulator.step("Reading.", 1)
    made = simulator.hand_over(0)
    assert made is not None
    assert made.kept == 2
    simulator.step("Done.", 0)
    simulator.send_message("Next.")
    simulator.step("Done.", 0)
    again = simulator.hand_over(0)
    assert again is not None
    assert again.kept == 0
    assert simulator.transcript.handover == (max(simulator.transcript.rewrites.handovers), again)
    assert 2 not in {one.seq for one in simulator.transcript.window_entries() if isinstance(one, LogItem)}


def test_one_rewrite_undone_leaves_the_other() -> None:
    """A handover that falls takes the sweep made with it along, and no other."""
    simulator = build_history(40, size=2_000)
    assert simulator.transcript.rewrites.sweeps
    by_batch = min(simulator.transcript.rewrites.sweeps)
    simulator.hand_over(100)
    made = max(simulator.transcript.rewrites.handovers)
    riding = [seq for seq, one in simulator.transcript.rewrites.sweeps.items() if one.reason == "handover"]
    simulator.record(Undone(made))
    assert simulator.transcript.rewrites.is_active(by_batch)
    assert not any(
        simulator.transcript.rewrites.is_active(seq) or simulator.transcript.can_undo(seq) for seq in riding
    )
