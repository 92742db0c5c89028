"""What a command without a window reports about its spending."""

from __future__ import annotations

import sys

import pytest

from helix_desktop.agent.session import (
    EventRecorded,
    ModelCalled,
    ResponseDelta,
    SummaryAwaited,
)
from helix_desktop.cli.output import ProgressPrinter, TurnPrinter, print_remaining_work
from helix_desktop.cli.rewrite_lines import rewrite_lines
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.messages import RetryScheduled
from tests.support.histories import build_history
from tests.support.session_rewrites import cached_outputs
from tests.support.session_simulator import SessionSimulator


def text_printer(as_json: bool = False, transcript: Transcript | None = None) -> TurnPrinter:
    return TurnPrinter(as_json, lambda _: transcript, on_output_error=list)


def test_a_full_context_is_reported_with_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for update in (SummaryAwaited(True, "Read the logs"), SummaryAwaited(False, "Read the logs")):
        text_printer().on_update("s", update)
    assert "The context of the subagent “Read the logs” is full" in capsys.readouterr().err
    text_printer().on_update("s", SummaryAwaited(True))
    assert capsys.readouterr().err.startswith("[The context is full: ")


def test_what_a_call_changed_of_files_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    event = ChangesRecorded("c1", "0" * 64, "command", created=1, changed=2, added_lines=12, removed_lines=4)
    update = EventRecorded(RecordedEvent(9, 1, event))
    text_printer().on_update("s", update)
    assert capsys.readouterr().err == "[3 files changed +12 \N{MINUS SIGN}4]\n"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            ChangesRecorded("c1", "0" * 64, "command", created=1, first_path="a.png", binary=1),
            "a.png changed (binary)",
        ),
        (
            ChangesRecorded("c1", "0" * 64, "command", changed=3, added_lines=2, binary=2),
            "+2 \N{MINUS SIGN}0, 2 binary files",
        ),
        (ChangesRecorded("c1", "0" * 64, "command", changed=3, binary=2), "3 files changed (2 binary files)"),
        (ChangesRecorded("c1", "0" * 64, "command", changed=1, first_path="run.sh"), "run.sh changed"),
    ],
)
def test_binary_files_have_no_counts_of_lines(
    event: ChangesRecorded, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text_printer().on_update("s", EventRecorded(RecordedEvent(9, 1, event)))
    assert capsys.readouterr().err.endswith(f"{words}]\n")


def test_on_a_terminal_an_answer_that_broke_off_ends_its_line_and_says_that_it_does_not_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    printer = text_printer()
    answer = AssistantSpoke("The whole answer.", "box/small", tokens=4)
    for update in (
        ModelCalled(),
        ResponseDelta("Half of"),
        RetryScheduled(2, 0.0, "The response stopped early"),
        ResponseDelta("The whole answer."),
        EventRecorded(RecordedEvent(9, 1, answer)),
        ModelCalled(),
    ):
        printer.on_update("s", update)
    captured = capsys.readouterr()
    assert captured.out == "Half of\nThe whole answer.\n"
    lost, retry = captured.err.splitlines()
    assert lost == "[The answer was interrupted and starts over; ignore the text above]"
    assert retry == "Retrying now (attempt 2): The response stopped early"


def test_a_rewrite_is_printed_as_the_timeline_lists_it(capsys: pytest.CaptureFixture[str]) -> None:
    """With the tokens that it saved, by Helix's count: the request that it was made for is still to come."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    for step in range(40):
        simulator.step("Next.", 1, usage_ratio=1.5)
        simulator.answer_call(0, f"{step} line of output\n" * 100)
    printer = text_printer(transcript=simulator.transcript)
    for recorded in simulator.log:
        if isinstance(recorded.event, SweepMade):
            printer.on_update("s", EventRecorded(recorded))
    printed = [line.strip("[]").split(" · ") for line in capsys.readouterr().err.splitlines()]
    listed = [line.partition("  ")[2].split(" · ") for line in rewrite_lines(simulator.log)]
    cached = [words for words in listed if words[0].startswith("Cached ")]
    assert [(title, *why) for title, _, *why in printed] == [(title, *why) for title, _, *why in cached] != []
    assert all(saved.endswith(" tokens saved") for _, saved, *_ in printed)


@pytest.mark.parametrize(
    ("reason", "printed"),
    [
        (
            SweepReason.OVERFLOW,
            "[Cached 2 outputs · 4,354 tokens saved · to make room]\n",
        ),
        (SweepReason.COLD, ""),
    ],
)
def test_what_left_a_request_that_was_too_long_is_printed_beside_json_too(
    reason: SweepReason, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    simulator = build_history(3)
    outputs = (item.seq for item in cached_outputs(simulator))
    (swept,) = simulator.record(SweepMade((*outputs,)[:2], 4_354, reason))
    text_printer(as_json=True, transcript=simulator.transcript).on_update("s", EventRecorded(swept))
    captured = capsys.readouterr()
    assert captured.err == printed
    assert len(captured.out.splitlines()) == 1


def test_what_is_still_done_after_a_turn_is_said_wherever_the_output_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_remaining_work(is_compacting=False, is_noting=False)
    assert capsys.readouterr().err == ""
    print_remaining_work(is_compacting=True, is_noting=False)
    print_remaining_work(is_compacting=False, is_noting=True)
    assert capsys.readouterr().err.splitlines() == [
        "[the turn is done; still compacting: Ctrl+C stops it]",
        "[the turn is done; still summarizing older messages: Ctrl+C stops it]",
    ]


def test_progress_stays_on_one_line_of_a_terminal_and_goes_at_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = ProgressPrinter("Verifying")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    printer = ProgressPrinter("Verifying")
    for done in range(101):
        printer.update(done, 100)
        quiet.update(done, 100)
    lines = capsys.readouterr().err
    assert "\n" not in lines
    assert "Verifying: 95 %\x1b[K\r" in lines
    assert lines.endswith("\r\x1b[K\r")
