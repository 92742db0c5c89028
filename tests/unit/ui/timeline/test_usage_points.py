"""The chart's points and the filter's counts match the log and the gauge, whatever was rewritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from helix_desktop.agent.session import EventRecorded
from helix_desktop.context.log.rewrite_state import RewriteEvent
from helix_desktop.context.log.steps import read_steps
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.used_tokens import UsageGauge, measure_usage
from helix_desktop.context.window.window import project
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    Excluded,
    FoldMade,
    HandoverTrigger,
    Redone,
    SweepMade,
    SweepReason,
    Undone,
)
from helix_desktop.domain.events.session import ModelChosen, OpeningGiven, StandingText, WindowLearned
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelRequest, Usage
from helix_desktop.ui.chat.rows.row_types import DividerRow
from helix_desktop.ui.chat.rows.rows_from_events import ChatRows, rows_from_log
from helix_desktop.ui.timeline.cards import Rewrite
from helix_desktop.ui.timeline.cards_from_events import build_cards, merge_changes
from helix_desktop.ui.timeline.summary_cards import ChangeCard, HandoverCard
from helix_desktop.ui.timeline.usage_points import PointKind, sent_points, usage_points
from helix_desktop.words.context_changes import context_change_text
from tests.support.agent_rig import SWEEPING, AgentRig
from tests.support.histories import SessionSimulator, build_history, histories
from tests.support.rewrite_histories import histories_with_rewrites, output_seqs
from tests.support.scripted_model import ScriptedModel, ScriptedReply, text_reply, tool_call_reply


@given(histories() | histories_with_rewrites(), st.sampled_from((None, 0.8, 1.3)), st.booleans())
def test_every_point_matches_the_gauge_at_that_time(
    simulator: SessionSimulator, ratio: float | None, rewrites_while_answering: bool
) -> None:
    """Messages, outputs, undone handovers and their sweeps, with and without a provider's reports."""
    log, used = measured(simulator, ratio, rewrites_while_answering)
    frame = simulator.frame
    points = {
        point.seq: point
        for point in usage_points(log, simulator.policy, frame.info.window, frame.fixed_tokens)
    }
    wrong = {seq: (point, used[seq]) for seq, point in points.items() if abs(point.used - used[seq].used) > 2}
    assert not wrong
    answers = {recorded.seq for recorded in log if isinstance(recorded.event, AssistantSpoke)}
    shown_as_reported = {seq for seq, point in points.items() if not point.is_estimated}
    assert shown_as_reported == {seq for seq in answers & points.keys() if used[seq].is_reported}
    assert {point.window for point in points.values()} <= {simulator.frame.info.window}


def by_the_user_and_by_helix_in_turn() -> SessionSimulator:
    """Return a history with rewrites by both before one request, and a handover that is made again."""
    simulator = build_history(12, size=2_000)
    simulator.step("Done.", 0)
    for seq, reason in zip(output_seqs(simulator), ("batch", "manual") * 2, strict=False):
        item = simulator.transcript.messages.item(seq)
        assert item is not None
        assert isinstance(item.event, ToolAnswered)
        saved = item.event.tokens - item.event.marker_tokens
        simulator.record(SweepMade((seq,), saved, SweepReason(reason)))
    simulator.send_message("Go on.")
    simulator.hand_over(1_000)
    simulator.record(Undone(max(simulator.transcript.rewrites.handovers)))
    simulator.hand_over(1_000)
    return simulator


@example(by_the_user_and_by_helix_in_turn(), None, False)
@given(histories_with_rewrites(), st.sampled_from((None, 0.8, 1.3)), st.booleans())
def test_the_chat_and_the_timeline_say_the_same_of_each_rewrite(
    simulator: SessionSimulator, ratio: float | None, rewrites_while_answering: bool
) -> None:
    """Each as the gauge had it then; a line of the chat has the figures of its row in the timeline."""
    log, used = measured(simulator, ratio, rewrites_while_answering)
    transcript = Transcript(log)
    frame = simulator.frame
    points = usage_points(log, simulator.policy, frame.info.window, frame.fixed_tokens)
    sizes = {point.seq: (point.before, point.after) for point in points if point.before}
    answers = [recorded.seq for recorded in log if isinstance(recorded.event, AssistantSpoke)]
    for seq, (before, after) in sizes.items():
        end = transcript.rewrites.attached_to(seq) or seq
        event = log[seq - 1].event
        if isinstance(event, HandoverMade):
            assert after == used[end].used
            continue
        assert abs(after - used[seq].used) <= 2
        if not isinstance(event, FoldMade):  # its figure here is of the plain words
            assert abs(before - used[seq - 1].used) <= 2
    shown: dict[int, Rewrite] = {}  # the rows of the timeline, by the events that they are about
    for card in merge_changes(build_cards(log, transcript, points=points), read_steps(log)):
        if isinstance(card, Rewrite):
            parts = card.parts if isinstance(card, ChangeCard | HandoverCard) else ()
            shown |= dict.fromkeys((card.seq, *(part.seq for part in parts)), card)
    for row in rows_from_log(log)[1]:
        if isinstance(row, DividerRow) and row.kind == "context" and row.text.startswith("Context"):
            card = shown[row.key.seq]
            if card.before:
                assert row.text.partition(" · ")[0] == context_change_text(card.before, card.after)
            else:
                assert row.key.seq < answers[0], "how much prompt and tools are is not known yet"
                assert "→" not in row.text


async def test_no_figure_of_a_change_is_another_one_later() -> None:
    """Outputs that came after it, and then the model's count, changed what its line had said."""
    rows = ChatRows()
    seen = dict[int, set[str]]()
    gauge = dict[int, int]()

    def lines() -> list[DividerRow]:
        return [row for row in rows.rows.values() if isinstance(row, DividerRow) and row.kind == "context"]

    steps = count(1)

    def answer(_: ModelRequest) -> ScriptedReply:
        if (step := next(steps)) > 8:
            return text_reply("Done.")
        return tool_call_reply(
            ("say", {"text": f"word{step}", "times": 300}), text="So.", id_prefix=f"s{step}-"
        )

    policy = msgspec.structs.replace(SWEEPING, sweep="fixed", sweep_fixed=1_000)
    rig = AgentRig(ScriptedModel(answer), policy)
    await rig.begin()
    session = rig.conversation.session

    def show(update: EventRecorded) -> None:
        rows.apply(update.recorded, session.transcript)
        gauge[update.recorded.seq] = rig.conversation.window.measure()[1].used
        for row in lines():
            seen.setdefault(row.key.seq, set()).add(row.text.partition(" · ")[0])

    session.on(EventRecorded, show)
    await rig.run_and_wait("Work.")

    assert len(seen) > 1
    fixed = rig.conversation.window.frame.fixed_tokens
    points = usage_points(session.log, policy, rig.model.info.window, fixed)
    swept = {point.seq: point for point in points if point.kind == "sweep"}
    for seq, texts in seen.items():
        assert texts == {context_change_text(swept[seq].before, swept[seq].after)}
        assert swept[seq].used == swept[seq].after == gauge[seq], "chart, timeline, chat, panel"


def measured(
    simulator: SessionSimulator, ratio: float | None, rewrites_while_answering: bool
) -> tuple[list[RecordedEvent], dict[int, UsageGauge]]:
    """Return the log with the engine's recorded figures, and the gauge after each event.

    `rewrites_while_answering`: what was rewritten just before an answer came after its request.
    """
    transcript = Transcript()
    used = dict[int, UsageGauge]()
    sent = transcript
    log: list[RecordedEvent] = []
    policy = simulator.policy
    frame = simulator.frame
    for recorded, after in zip(simulator.log, [*simulator.log[1:], None], strict=True):
        event = recorded.event
        if isinstance(event, AssistantSpoke):
            state = sent if rewrites_while_answering else transcript
            estimate = project(state, policy, frame).estimate
            usage = Usage(round(estimate * ratio), event.tokens) if ratio else None
            size = frame.info.window
            event = msgspec.structs.replace(
                event, estimate=estimate, usage=usage, window=size,
                sent_after=transcript.rewritten_after(state.last_seq),
            )  # fmt: skip
        if isinstance(event, HandoverMade):
            twin = transcript.fork()
            twin.apply(recorded)
            if after and isinstance(after.event, SweepMade) and after.event.reason is SweepReason.HANDOVER:
                twin.apply(after)
            now = measure_usage(project(twin, policy, frame), twin, policy, frame)
            event = msgspec.structs.replace(event, after=now.used)
        log.append(msgspec.structs.replace(recorded, event=event))
        if isinstance(event, RewriteEvent) and sent is transcript:
            sent = transcript.fork()
        elif not isinstance(event, RewriteEvent):
            sent = transcript
        transcript.apply(log[-1])
        used[recorded.seq] = measure_usage(project(transcript, policy, frame), transcript, policy, frame)
    return log, used


def test_what_comes_after_a_change_of_the_model_counts_by_the_new_one() -> None:
    """It reads all that came before; what it was not asked about yet counts by Helix's count."""
    events: tuple[Event, ...] = (
        UserSpoke("All of this", 9_000),
        AssistantSpoke("Yes.", "lab/m", 6, usage=Usage(15_000, 6), estimate=10_000, window=64_000),
        ModelChosen("lab/other"),
        SweepMade((), 0, SweepReason.MANUAL),
        AssistantSpoke("On.", "lab/other", 6, usage=Usage(5_010, 6), estimate=10_020, window=64_000),
        ModelChosen("lab/m"),
        SweepMade((), 0, SweepReason.MANUAL),
        ModelChosen(""),
    )
    log = _recorded(events)
    points = [
        (point.seq, point.used) for point in usage_points(log, ContextPolicy()) if point.kind == "sweep"
    ]
    assert points == [(4, 10_010), (7, 15_045)]


def test_what_comes_after_a_change_of_the_model_is_measured_by_the_window_that_answers_next() -> None:
    """The same label may have another window than before: what stands in it isn't overfull by the old one."""
    events: tuple[Event, ...] = (
        UserSpoke("All of this", 60_000),
        AssistantSpoke("Yes.", "lab/m", 6, estimate=61_000, window=64_000),
        ModelChosen("lab/other"),
        SweepMade((), 0, SweepReason.MANUAL),
        AssistantSpoke("On.", "lab/other", 6, estimate=61_010, window=32_000),
        ModelChosen("lab/m"),
        UserSpoke("More of this", 9_000),
        SweepMade((), 0, SweepReason.MANUAL),
        ModelChosen(""),
        Undone(8),
    )
    points = usage_points(_recorded(events), ContextPolicy(), 128_000)
    windows = [(point.seq, point.window) for point in points]
    assert windows == [(2, 64_000), (4, 32_000), (5, 32_000), (8, 128_000), (8, 128_000), (10, 128_000)]


def test_what_is_rewritten_for_a_request_is_measured_by_the_window_of_that_request() -> None:
    """Its server named a smaller one, or the user set another: the sweep before the answer has that one."""
    events: tuple[Event, ...] = (
        UserSpoke("All of this", 20_000),
        AssistantSpoke("Yes.", "lab/m", 6, estimate=21_000, window=24_000),
        SweepMade((), 0, SweepReason.MANUAL),
        UserSpoke("More of this", 500),
        SweepMade((), 0, SweepReason.OVERFLOW),
        WindowLearned("lab/m", 9_000, 24_000, "n_ctx is 9000"),
        SweepMade((), 0, SweepReason.OVERFLOW),
        AssistantSpoke("On.", "lab/m", 6, estimate=21_510, window=9_000),
        UserSpoke("The user has set 32,000 by now", 500),
        SweepMade((), 0, SweepReason.BATCH),
        AssistantSpoke("Well.", "lab/m", 6, estimate=22_000, window=32_000),
    )
    points = usage_points(_recorded(events), ContextPolicy(), 32_000)
    assert {point.seq: point.window for point in points} == {
        **{2: 24_000, 3: 24_000, 5: 24_000, 7: 9_000, 8: 9_000},
        **{10: 32_000, 11: 32_000},
    }


def test_what_an_undo_made_of_the_context_goes_unless_it_is_sent() -> None:
    undone_and_redone: tuple[Event, ...] = (
        UserSpoke("Hello", 2),
        AssistantSpoke("Hello.", "lab/m", 10, estimate=506, window=64_000),
        UserSpoke("All of this", 20_000),
        AssistantSpoke("Read.", "lab/m", 10, estimate=20_524, window=64_000),
        HandoverMade(3, 0, (), "", "", 0, 400, 20_540, 1_000, 3, "m", HandoverTrigger.MANUAL),
        Undone(5),
        Redone(5),
    )
    rewritten: tuple[Event, ...] = (*undone_and_redone[:-1], SweepMade((), 0, SweepReason.OVERFLOW))
    sent: tuple[Event, ...] = (*undone_and_redone[:-1], UserSpoke("On.", 2))
    sent = (*sent, AssistantSpoke("On.", "lab/m", 10, estimate=20_550, window=64_000))
    points = usage_points(_recorded(undone_and_redone), ContextPolicy())
    assert [(point.used, point.kind) for point in points[2:]] == [(1_000, "handover"), (1_000, "redo")]
    grown = (*undone_and_redone[:-2], UserSpoke("More", 96), *undone_and_redone[-2:])
    marks = [(point.seq, point.used, point.kind) for point in usage_points(_recorded(grown), ContextPolicy())]
    assert marks[2:] == [(5, 1_000, "handover"), (8, 1_100, "turn"), (8, 1_100, "redo")]
    kinds = [point.kind for point in usage_points(_recorded(rewritten), ContextPolicy())[2:]]
    assert kinds == ["handover", "undo", "sweep"], "what left next left from there"
    assert [point.kind for point in usage_points(_recorded(sent), ContextPolicy())[2:]] == [
        "handover",
        "undo",
        "turn",
    ]


def test_what_was_rewritten_before_a_request_had_it_is_not_drawn() -> None:
    """The chart had 38,500 tokens in a window of 24,000, in red; but room was made before the request."""
    made: tuple[Event, ...] = (
        UserSpoke("Hello", 2),
        AssistantSpoke("Hello.", "lab/m", 10, estimate=506, window=24_000),
        UserSpoke("All of this", 38_000),
        FoldMade(0, 2, "They said hello.", 5, "", 0, 1, saved=2),
        HandoverMade(3, 0, (), "", "", 0, 400, 38_540, 1_000, 3, "m", HandoverTrigger.MANUAL),
    )

    def drawn(*events: Event) -> list[tuple[int, PointKind, int]]:
        points = usage_points(_recorded((*made, *events)), ContextPolicy(), 24_000)
        assert max(point.used for point in points) > 24_000, "what a rewrite made of it is known"
        return [(point.seq, point.kind, point.used) for point in sent_points(points)]

    levels: list[tuple[int, PointKind, int]] = [(2, "turn", 520), (4, "fold", 1_000), (5, "handover", 1_000)]
    assert drawn() == levels
    answer = AssistantSpoke("On.", "lab/m", 10, estimate=1_000, window=24_000)
    assert drawn(answer) == [*levels, (6, "turn", 1_014)]
    late = msgspec.structs.replace(answer, estimate=38_512, sent_after=3)
    assert (4, "turn", 38_524) in drawn(late), "the request was on its way"


def test_excluding_from_the_sessions_start_moves_the_line_at_once() -> None:
    """What is told there stands in every request: less of it is seen before the next report, and put back."""
    events: tuple[Event, ...] = (
        OpeningGiven((StandingText("project", "Work like this.", 300), StandingText("environment", "", 50))),
        UserSpoke("Hello", 2),
        AssistantSpoke("Hello.", "lab/m", 10, usage=Usage(1_000, 10), estimate=500, window=64_000),
        Excluded((1,), "Left out.", 20, "0" * 64, saved=280, part=1),
        Undone(4),
    )
    points = usage_points(_recorded(events), ContextPolicy())
    before = 1_000 + 2 * 14
    assert [(point.seq, point.used) for point in points] == [(3, before), (4, before - 2 * 280), (5, before)]


def _recorded(events: Sequence[Event]) -> list[RecordedEvent]:
    return [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]


@given(histories() | histories_with_rewrites())
def test_the_filter_shows_what_its_labels_say(simulator: SessionSimulator) -> None:
    """An undone handover is one handover, and its undo none; what failed is with all else alone."""
    cards = build_cards(simulator.log, simulator.transcript)
    counts = Counter(group for card in cards for group in card.filters)
    kinds = Counter(type(recorded.event).__name__ for recorded in simulator.log)
    outputs = [
        recorded.event
        for recorded in simulator.log
        if isinstance(recorded.event, ToolAnswered) and recorded.event.outcome == "ran"
    ]
    handovers = kinds["HandoverMade"] + len(simulator.transcript.checkpoints)
    choices = ("Pinned", "Unpinned", "FormChosen", "Excluded", "HoldSet")
    undos = (recorded.event for recorded in simulator.log if isinstance(recorded.event, Undone | Redone))
    assert counts == Counter(
        compacted=handovers + kinds["ObservationsMade"] + kinds["FoldMade"],
        cached=kinds["SweepMade"] + sum(not output.recalled and output.form != "full" for output in outputs),
        yours=sum(kinds[name] for name in choices) + len({undo.target for undo in undos}),
    )
