"""One recording, unmanaged and managed: figures checked by manual calculation. A token is a character."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.errors import InvalidRecording, RequestTooLarge
from helix_desktop.domain.messages import Message
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.replay.next_call_identifiers import IdentifierCoverage, IdentifierUse
from helix_desktop.replay.recording import with_turn_ends
from helix_desktop.replay.replayer import MechanismCounts
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import (
    Absence,
    AbsenceCounter,
    InvalidRequests,
    MeasuredRecording,
    RecallDistance,
    Timing,
    group_by_source,
    lossy,
    totals_of,
)
from tests.benchmarks.replay.measure import MeasureOptions, measure_all, measure_file
from tests.benchmarks.replay.recalls import Recalls
from tests.support.replay_fakes import (
    FoldingReplay,
    MarkerReplay,
    UnmanagedReplay,
    assistant_message,
    file_read_step,
    tool_call_message,
    tool_message,
    user_message,
)
from tests.support.synthetic_recordings import write_recordings

# 6 tokens, then per step 4 + 4 + 4 + 13 = 25 for the call and 1,004 for the output.
LONG = [
    user_message("Go"),
    *file_read_step("1", "a", "A" * 1000),
    *file_read_step("2", "b", "B" * 1000),
    *file_read_step("3", "c", "C" * 1000),
    assistant_message("ok"),
]
MARKER = len('[CACHED] recall_cached_content("")') + 64


def measure(
    folder: Path, session: list[dict[str, Any]], make: Callable[[], UnmanagedReplay], **options: int
) -> MeasuredRecording:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, session)), encoding="utf-8")
    return measure_file(path, make, MessageTokenCounter(len), MeasureOptions(**options))


def test_an_unmanaged_replay_is_the_baseline(tmp_path: Path) -> None:
    measured = measure(tmp_path / "here", LONG, UnmanagedReplay, window=3000).result
    sizes = [6, 6 + 1029, 6 + 2 * 1029, 6 + 3 * 1029]
    assert (measured.source, measured.window) == ("here", 3000)
    assert measured.managed == measured.unmanaged
    assert (measured.managed.requests, measured.managed.input_tokens) == (4, sum(sizes))
    assert measured.managed.billed == pytest.approx(1.25 * sizes[-1] + 0.1 * sum(sizes[:-1]))
    assert (measured.managed.peak_window, measured.managed.over_window) == (3093, 1)
    assert measured.managed.tool_tokens == 6000
    assert measured.is_heavy
    assert (measured.reach.reachable_share, measured.reach.window_bytes, measured.reach.output_bytes) == (
        1,
        3000,
        3000,
    )
    assert (measured.faults.by_rules, measured.faults.by_grammar, measured.recalls) == (0, 0, Recalls())


def test_markers_at_once(tmp_path: Path) -> None:
    measured = measure(tmp_path, LONG, MarkerReplay).result
    step = 25 + 4 + MARKER
    sizes = [6, 6 + 1029, 6 + step + 1029, 6 + 2 * step + 1029]
    input_tokens = [0, 6, 6 + 25, 6 + step + 25]
    assert not measured.is_heavy
    assert measured.managed.input_tokens == sum(sizes)
    assert measured.managed.billed == pytest.approx(
        1.25 * (sum(sizes) - sum(input_tokens)) + 0.1 * sum(input_tokens)
    )
    assert (measured.managed.rewrites, measured.managed.tool_tokens) == (2, 3000 + 3 * MARKER)
    assert measured.reach.reachable_share == 1
    assert measured.reach.window_bytes == measured.reach.output_bytes / 3


def test_reachability_is_measured_at_the_last_request_and_before(tmp_path: Path) -> None:
    class Forgetful(MarkerReplay):
        def recall(self, digest: str) -> bytes:
            self.contents.pop(next(iter(self.contents)))
            return super().recall(digest)

    assert measure(tmp_path, LONG, FoldingReplay, reach_every=1).result.least_reachable == 1
    lossy = measure(tmp_path, LONG, Forgetful, reach_every=3).result
    assert (lossy.reach_checks, lossy.reach.request) == (2, 4)
    assert lossy.least_reachable == lossy.reach.reachable_share
    assert lossy.reach.lost == ("1", "2")


def test_an_output_that_no_request_had_is_not_counted(tmp_path: Path) -> None:
    measured = measure(tmp_path, LONG[:-3], MarkerReplay).result
    assert (measured.reach.outputs, measured.reach.request) == (1, 2)


def test_broken_requests_are_counted_with_reasons(tmp_path: Path) -> None:
    session = [
        user_message("Go"),
        *file_read_step("1", "a", ""),
        assistant_message("One"),
        assistant_message("Two"),
        user_message("More"),
        assistant_message("Three"),
    ]
    measured = measure(tmp_path, session, UnmanagedReplay).result
    assert (measured.faults.by_rules, measured.faults.by_grammar) == (3, 3)
    assert measured.faults.reasons[0] == "request 2: message 2: empty text"
    assert any("the last message is the assistant's" in reason for reason in measured.faults.reasons)


def test_omitted_requests_are_counted_and_the_replay_goes_on(tmp_path: Path) -> None:
    class Full(MarkerReplay):
        def prepare_request(self) -> None:
            if len(self.messages) == 5:
                raise RequestTooLarge(verbatim("It does not fit."), verbatim("Too much."))

    measured = measure(tmp_path, LONG, Full)
    assert measured.result.faults == InvalidRequests(
        not_made=1, reasons=("request 3: It does not fit. Too much.",)
    )
    assert (measured.result.managed.requests, measured.result.unmanaged.requests) == (3, 4)
    assert measured.result.reach.reachable_share == 1
    assert len(measured.request_s) == 4
    assert totals_of([measured]).not_made == 1


def test_turns_end_at_a_user_message_or_the_end() -> None:
    session = [
        user_message("a"),
        user_message("b"),
        *file_read_step("1", "p", "x"),
        assistant_message("c"),
        assistant_message("d"),
        user_message("e"),
        *file_read_step("2", "p", "y"),
    ]
    session += [user_message("stop"), assistant_message("f")]
    ends = [message for message, over in with_turn_ends(session) if over]
    assert [message["content"] for message in ends] == ["d", "y", "f"]
    assert [message for message, _ in with_turn_ends(session)] == session


def test_the_replay_gets_everything_and_is_closed_even_after_a_failure(tmp_path: Path) -> None:
    replays: list[UnmanagedReplay] = []

    class Failing(UnmanagedReplay):
        def end_turn(self) -> None:
            raise ZeroDivisionError

    def make(kind: type[UnmanagedReplay]) -> UnmanagedReplay:
        replays.append(kind())
        return replays[-1]

    measure(tmp_path, LONG, lambda: make(UnmanagedReplay))
    assert replays[0].messages == LONG
    assert (replays[0].turns, replays[0].closed) == (1, True)
    with pytest.raises(ZeroDivisionError):
        measure(tmp_path, LONG, lambda: make(Failing))
    assert replays[1].closed


def test_an_invalid_recording_creates_no_replay(tmp_path: Path) -> None:
    def never() -> UnmanagedReplay:
        raise AssertionError

    with pytest.raises(InvalidRecording):
        measure(tmp_path, [user_message("Go")], never)


def test_summaries_are_paid_and_counted(tmp_path: Path) -> None:
    class Summing(UnmanagedReplay):
        def end_turn(self) -> None:
            self.summaries += [40, 2]
            self.counts = MechanismCounts(handovers=1, observations=3, reflections=1, sweeps=9)

    measured = measure(tmp_path, LONG, Summing).result
    assert measured.managed.billed == pytest.approx(measured.unmanaged.billed + 42)
    assert (measured.summaries, measured.summary_tokens, lossy(measured.counts)) == (2, 42, 5)


def test_timing_is_by_nearest_rank() -> None:
    assert Timing.from_seconds([index / 1024 for index in range(100, 0, -1)]) == Timing(
        50e3 / 1024, 95e3 / 1024, 50.5e3 / 1024
    )
    assert Timing.from_seconds([0.002]) == Timing(2.0, 2.0, 2.0)
    assert Timing.from_seconds([]) == Timing(0.0, 0.0, 0.0)


def test_every_request_and_every_message_is_timed(tmp_path: Path) -> None:
    measured = measure(tmp_path, LONG, UnmanagedReplay)
    assert (len(measured.request_s), len(measured.feed_s)) == (
        4,
        len(LONG) + 1,
    )  # one more for the turn's end


def test_totals_add_up_all_recordings(tmp_path: Path) -> None:
    short = [user_message("Go"), *file_read_step("1", "a", "A" * 10), assistant_message("ok")]
    heavy = measure(tmp_path / "one", LONG, MarkerReplay, window=3000)
    light = measure(tmp_path / "two", short, UnmanagedReplay, window=3000)
    sources = group_by_source([heavy, light])
    assert {name: len(files) for name, files in sources.items()} == {"one": 1, "two": 1}
    total = totals_of([heavy, light])
    step = 29 + MARKER
    managed, unmanaged = 6 + 1035 + (1035 + step) + (1035 + 2 * step), 6 + 1035 + 2064 + 3093
    assert (total.files, total.requests) == (2, 6)
    assert total.input_of_sums == pytest.approx((managed + 51) / (unmanaged + 51))
    assert total.input_of_files == pytest.approx((managed / unmanaged + 1) / 2)
    assert total.billed_of_sums == pytest.approx(total.billed / total.unmanaged_billed)
    assert total.tool_saved == pytest.approx(1 - (3000 + 3 * MARKER + 10) / 6010)
    assert total.in_window == pytest.approx(1010 / 3010)
    assert (total.reachable, total.least_reachable) == (1, 1)
    assert total.rewrites == 2
    assert total.heavy is not None
    assert total.heavy.files == 1
    assert total.heavy.mean_window_of_unmanaged == pytest.approx(managed / unmanaged)
    assert total.heavy.mean_window_of_window == pytest.approx(managed / 4 / 3000)
    assert total.heavy.median_peak_of_unmanaged == pytest.approx((1035 + 2 * step) / 3093)
    assert total.heavy.median_peak_of_window == pytest.approx((1035 + 2 * step) / 3000)
    assert totals_of([light]).heavy is None
    with pytest.raises(ValueError, match="nothing to add up"):
        totals_of([])


def test_totals_add_counts(tmp_path: Path) -> None:
    class Counting(UnmanagedReplay):
        def __init__(self) -> None:
            super().__init__()
            self.counts = MechanismCounts(1, 2, 3, 4, 5, 6)
            self.summaries = [10]

    files = [measure(tmp_path / name, LONG, Counting, window=3000) for name in ("one", "two")]
    total = totals_of(files)
    assert total.counts == MechanismCounts(2, 4, 6, 8, 10, 12)
    assert (total.summaries, total.summary_tokens) == (2, 20)
    assert total.heavy is not None
    assert (total.heavy.summaries, total.heavy.lossy) == (1.0, 12.0)


def test_parallel_calls_are_one_step(tmp_path: Path) -> None:
    session = [
        user_message("Go"),
        tool_call_message(("1", "read", "{}"), ("2", "read", "{}")),
        tool_message("1", "A"),
        tool_message("2", "B"),
        assistant_message("ok"),
    ]
    measured = measure(tmp_path, session, MarkerReplay).result
    assert measured.managed.requests == 2
    assert measured.reach.window_bytes == measured.reach.output_bytes > 0


def test_each_recording_and_the_total_have_the_coverage(tmp_path: Path) -> None:
    session = [
        user_message("Go"),
        *file_read_step("1", "a.py", "import parse_row"),
        *file_read_step("2", "b.py", "B"),
        *file_read_step("3", "a.py", "C"),  # of call 1's arguments, which stay
        *[tool_call_message(("4", "grep", '{"q": "parse_row a.py"}')), tool_message("4", "D")],
        assistant_message("ok"),
    ]
    (path,) = write_recordings(tmp_path, [session])
    managed, unmanaged = (
        measure_all([path], make, MeasureOptions(), 1, lambda _: None)
        for make in (MarkerReplay, UnmanagedReplay)
    )
    assert managed[0].result.coverage == IdentifierCoverage(3, 2)
    assert unmanaged[0].result.coverage == IdentifierCoverage(3, 3)
    total = totals_of([*managed, *unmanaged])
    assert (total.coverage, total.coverage_share_old) == (IdentifierCoverage(6, 5), 1.0)
    assert total.coverage_share == pytest.approx(5 / 6)


def test_a_call_without_a_request_does_not_count(tmp_path: Path) -> None:
    class Full(UnmanagedReplay):
        def request(self) -> list[dict[str, object]]:
            if len(self.messages) == 3:
                raise RequestTooLarge(verbatim("It does not fit."))
            return super().request()

    session = [user_message("Go"), *file_read_step("1", "a.py", "A"), *file_read_step("2", "a.py", "A")]
    (path,) = write_recordings(tmp_path, [[*session, *file_read_step("3", "a.py", "A")]])
    (measured,) = measure_all([path], Full, MeasureOptions(), 1, lambda _: None)
    assert measured.result.coverage == IdentifierCoverage(1, 1)


def test_the_distance_of_what_was_absent() -> None:
    assert RecallDistance.from_absences([Absence(7, 4), Absence(7, 7)]) == RecallDistance(7, 7, 4, 7)
    assert RecallDistance.from_absences([]) == RecallDistance(0, 0, 0, 0)


def test_an_absence_lasts_since_the_last_request_with_the_text_as_it_was() -> None:
    """Used at call 9: of a text of call 2 that requests 3 to 5 had, and of one that none ever had."""

    def output(text: str) -> Message:
        return Message("tool", text, call_id="c", name="run")

    source, counter = output("see a.py and b.py"), AbsenceCounter()
    for number in range(1, 9):
        counter.add(number, [], [source if 3 <= number <= 5 else output("see a.p")])
    uses = [IdentifierUse("a.py", 7, source.text), IdentifierUse("b.py", 7, "b.py in another text")]
    counter.add(9, uses, [output("see ...")])
    assert counter.absences == [Absence(7, 4), Absence(7, 7)]
