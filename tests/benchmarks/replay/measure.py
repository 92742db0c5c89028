"""Replay recordings unmanaged and managed, one after the other or in several processes, and measure both."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from helix_desktop.context.policy_numbers import REFERENCE_WINDOW
from helix_desktop.context.window.request_validation import problems
from helix_desktop.domain.errors import HelixError, InvalidRecording, RequestInvalid, RequestTooLarge
from helix_desktop.domain.messages import Message
from helix_desktop.domain.translatable_text import system_reason, verbatim
from helix_desktop.replay.measure import OriginalOutputs, Reachability, measure_reachability
from helix_desktop.replay.next_call_identifiers import find_uses, message_texts
from helix_desktop.replay.recording import (
    RawMessage,
    as_message,
    read_messages,
    with_turn_ends,
)
from helix_desktop.replay.token_counters import MessageTokenCounter
from tests.benchmarks.replay.figures import (
    AbsenceCounter,
    InvalidRequests,
    MeasuredRecording,
    RecordingResult,
    Timing,
)
from tests.benchmarks.replay.recalls import LookupCounter, RecallModel, Recalls, Replay, draw_sample
from tests.benchmarks.replay.request_bills import (
    BilledTotals,
    RequestBills,
    draw_gaps,
    messages_digest,
)
from tests.support.message_linter import lint

MAX_REASONS = 5
"""Maximum number of reasons for invalid requests in a report."""

T = TypeVar("T")


class MeasureOptions(msgspec.Struct, frozen=True):
    """How to measure: the model's window in tokens, how often reachability is checked, and the recall rate.

    Shares are of the window, but of at most `manage_at_most` tokens of it: what the policy manages.

    All outputs are fetched at the last model call of a recording; with `reach_every` n, at each n-th as well.
    `recall_rate` is that of the recall model; None disables all recalls, those before re-reads too. Of
    every `long_message_every` recordings about one, drawn by hash, is replayed again with a long message.
    """

    window: int = 128_000
    reach_every: int = 0
    recall_rate: float | None = None
    long_message_every: int = 10
    manage_at_most: int = REFERENCE_WINDOW

    @property
    def managed_window(self) -> int:
        return min(self.window, self.manage_at_most) if self.manage_at_most else self.window


def measure_file(
    path: Path, create_replay: Callable[[], Replay], counter: MessageTokenCounter, options: MeasureOptions
) -> MeasuredRecording:
    """Replay one recording and return its measurements. Raises InvalidRecording."""
    messages = list(read_messages(path))
    gaps_s = draw_gaps(messages)
    unmanaged = _measure_unmanaged(messages, counter, options.window, gaps_s)
    is_rule_in_window = _check_rule(messages, create_replay, options.long_message_every)
    with closing(create_replay()) as replay:
        run = MeasuredRun(replay, counter, options)
        run.play(messages, gaps_s)
        return run.result(path, unmanaged, is_rule_in_window)


def _check_rule(
    messages: Sequence[RawMessage], create_replay: Callable[[], Replay], every: int
) -> bool | None:
    """Return whether a rule in a long message stays in the window; None if the recording is not drawn."""
    if not every or int.from_bytes(messages_digest(messages)) % every:
        return None
    with closing(create_replay()) as replay:
        return is_rule_visible(messages, replay)


def _measure_unmanaged(
    messages: Sequence[RawMessage], counter: MessageTokenCounter, window_size: int, gaps_s: Sequence[float]
) -> BilledTotals:
    """Return the totals of the baseline, which sends the whole history with each request."""
    totals = RequestBills(counter, window_size)
    history: list[Message] = []
    for message in map(as_message, messages):
        if message.role == "assistant":
            totals.add(history, gaps_s[totals.requests])
        history.append(message)
    return totals.result(())


class MeasuredRun:
    """One managed replay in progress."""

    def __init__(self, replay: Replay, counter: MessageTokenCounter, options: MeasureOptions) -> None:
        self._replay = replay
        self._options = options
        self._totals = RequestBills(counter, options.window)
        self._originals = OriginalOutputs()
        self._recalls: RecallModel | None = None
        if options.recall_rate is not None:
            self._recalls = RecallModel(options.recall_rate, replay)
        self._request_s: list[float] = []
        self._feed_s: list[float] = []
        self._request: tuple[Message, ...] = ()
        self._coverage = AbsenceCounter()
        self._lookups = LookupCounter(replay, counter)
        self._invalid_by_rules = self._invalid_by_grammar = self._failed_requests = 0
        self._reasons: list[str] = []
        self._reachability: list[Reachability] = []

    def play(self, messages: Sequence[RawMessage], gaps_s: Sequence[float]) -> None:
        """Feed all messages, and take a request before each message of the assistant, after its gap."""
        uses = find_uses(list(map(as_message, messages)))
        sample = draw_sample(uses)
        call = 0
        for message, turn_ends in with_turn_ends(messages):
            if message["role"] == "assistant":
                call += 1
                failed_before = self._failed_requests
                self._take_request(gaps_s[call - 1])
                self._insert_recalls(as_message(message))
                if self._failed_requests == failed_before:
                    for use in self._coverage.add(call, uses[call - 1], self._request):
                        if (call, use.name) in sample:
                            self._lookups.look_up(use.name, self._request)
                every = self._options.reach_every
                if call == len(uses) or (every and call % every == 0):
                    self._check_reachability(call)
            self._feed(message)
            self._originals.add(as_message(message))
            if turn_ends:
                _measure_time(self._feed_s, self._replay.end_turn)

    def _check_reachability(self, call: int) -> None:
        reachability = measure_reachability(call, self._request, self._originals, self._replay.recall)
        self._reachability.append(reachability)

    def _insert_recalls(self, answer: Message) -> None:
        steps = self._recalls.steps_before(answer, self._request, self._originals) if self._recalls else []
        for step in steps:
            for message in step:
                self._feed(message)
            self._take_request()

    def _take_request(self, gap_s: float = 0.0) -> None:
        """Take and validate the next request; if none can be made, keep the previous one as the last.

        A recall follows at once: its gap is too short to matter. The processor time is that of preparing the
        request, not of turning it into the shape of a recording, which only a replay does.
        """
        try:
            _measure_time(self._request_s, self._replay.prepare_request)
            raw = self._replay.request()
        except (RequestTooLarge, RequestInvalid) as error:
            self._failed_requests += 1
            self._add_reasons([str(error)])
            return
        self._request = tuple(map(as_message, raw))
        self._totals.add(self._request, gap_s)
        by_rules = problems(self._request)
        by_grammar = lint(self._request)
        self._invalid_by_rules += bool(by_rules)
        self._invalid_by_grammar += bool(by_grammar)
        self._add_reasons(by_rules or by_grammar)

    def _add_reasons(self, reasons: Sequence[str]) -> None:
        remaining = MAX_REASONS - len(self._reasons)
        self._reasons += [f"request {len(self._request_s)}: {reason}" for reason in reasons[:remaining]]

    def _feed(self, message: RawMessage) -> None:
        _measure_time(self._feed_s, lambda: self._replay.feed(message))

    def result(
        self, path: Path, unmanaged: BilledTotals, is_rule_in_window: bool | None
    ) -> MeasuredRecording:
        """Return the figures, together with those of the other replays of the recording."""
        summaries = self._replay.summaries
        figures = RecordingResult(
            file=str(path),
            source=path.resolve().parent.name,
            window=self._options.managed_window,
            managed=self._totals.result(summaries),
            unmanaged=unmanaged,
            counts=self._replay.counts,
            summaries=len(summaries),
            summary_tokens=sum(summaries),
            checkpoint_tokens=tuple(self._replay.checkpoints),
            longest_stretch=self._replay.longest_stretch,
            faults=InvalidRequests(
                self._invalid_by_rules, self._invalid_by_grammar, self._failed_requests, tuple(self._reasons)
            ),
            reach=self._reachability[-1],
            least_reachable=min(reachability.reachable_share for reachability in self._reachability),
            reach_checks=len(self._reachability),
            recalls=self._recalls.totals if self._recalls else Recalls(),
            coverage=self._coverage.result,
            lookups=self._lookups.result,
            is_rule_in_window=is_rule_in_window,
            request_cpu=Timing.from_seconds(self._request_s),
            feed_cpu=Timing.from_seconds(self._feed_s),
        )
        return MeasuredRecording(
            figures,
            tuple(self._request_s),
            tuple(self._feed_s),
            tuple(self._coverage.absences),
            tuple(self._lookups.tokens),
        )


def _measure_time(times: list[float], function: Callable[[], T]) -> T:
    """Call the function and append the processor time of all threads, in seconds, to `times`.

    Garbage is collected between two calls, as the app collects it: once a second, not where it accumulates.
    """
    gc.disable()
    started_at_s = time.process_time()
    try:
        return function()
    finally:
        times.append(time.process_time() - started_at_s)
        gc.enable()


RULE = "store every amount of money as a whole number of cents, never as a float or a text with a comma."
_RULES = 120  # lines
_VERBS = ("check", "name", "sort", "group", "test", "log", "document")
_THINGS = ("reports", "invoices", "exports", "migrations", "endpoints", "screens", "jobs", "queries")
_WAYS = ("before a release", "by their owner", "in one place", "with a date", "without a network")
_REASONS = ("a reader finds them", "a change is seen at once", "nobody has to ask")


def long_message() -> str:
    """Return the numbered rules, with the one to look for in their middle."""
    rules = [_rule(number) for number in range(1, _RULES + 1)]
    rules[_RULES // 2] = RULE
    return "\n".join(f"{number}. In this project, {rule}" for number, rule in enumerate(rules, 1))


def _rule(number: int) -> str:
    verb = _VERBS[number % len(_VERBS)]
    thing = _THINGS[number % len(_THINGS)]
    way = _WAYS[number % len(_WAYS)]
    reason = _REASONS[number % len(_REASONS)]
    return f"{verb} the {thing} of part {number} {way}, so that {reason}."


def is_rule_visible(messages: Sequence[RawMessage], replay: Replay) -> bool:
    """Replay a recording with the long message, and return True if the rule is in the last request."""
    request: Iterable[dict[str, Any]] = ()
    for message, turn_ends in with_turn_ends(with_long_message(messages)):
        if message["role"] == "assistant":
            # If one cannot be made, the one before counts.
            with suppress(RequestTooLarge, RequestInvalid):
                request = replay.request()
        replay.feed(message)
        if turn_ends:
            replay.end_turn()
    return any(RULE in text for message in request for text in message_texts(as_message(message)))


def with_long_message(messages: Sequence[RawMessage]) -> list[RawMessage]:
    """Return a recording in which the rules follow the text of the first user message."""
    first = next(number for number, message in enumerate(messages) if message["role"] == "user")
    longer = {**messages[first], "content": f"{messages[first]['content']}\n\n{long_message()}"}
    return [*messages[:first], longer, *messages[first + 1 :]]


SUFFIXES = (".jsonl", ".jsonl.gz")
ReplayFactory = Callable[[], Replay]
"""Creates a managed session; must be picklable when several processes measure."""


def find_recordings(paths: Iterable[Path]) -> list[Path]:
    """Return the recordings among files and folders, in order; folders are searched recursively.

    Raises InvalidRecording for a folder without any, and for one that can't be read.
    """
    recordings: list[Path] = []
    for path in paths:
        if not path.is_dir():
            recordings.append(path)
            continue
        in_folder = sorted(_recordings_in(path))
        if not in_folder:
            raise InvalidRecording(
                verbatim(f"No recordings in {path}."),
                verbatim(f"Recordings end in {SUFFIXES[0]} or {SUFFIXES[1]}."),
                verbatim("Give files, or another folder."),
            )
        recordings += in_folder
    return list(dict.fromkeys(recordings))


def _recordings_in(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise InvalidRecording(
            verbatim(f"The folder {error.filename or root} can't be read."),
            system_reason(error),
            verbatim("Make it readable, then try again."),
        ) from error

    for folder, _, names in os.walk(root, onerror=refuse):
        yield from (
            file for name in names if name.endswith(SUFFIXES) and (file := Path(folder, name)).is_file()
        )


def measure_all(
    paths: Sequence[Path],
    create_replay: ReplayFactory,
    options: MeasureOptions,
    jobs: int,
    on_progress: Callable[[int], None],
) -> list[MeasuredRecording]:
    """Measure recordings, in their order; `on_progress` gets the number done. The first error ends it.

    Raises InvalidRecording, and HelixError when a process dies.
    """
    if jobs == 1 or len(paths) <= 1:
        measured = []
        for done, path in enumerate(paths, 1):
            measured.append(_measure_bundled(path, create_replay, options))
            on_progress(done)
        return measured
    for path in paths:  # before any process, each of which takes a second to start
        next(read_messages(path), None)
    with _pool(min(jobs, len(paths))) as pool:
        # The largest first: a long recording started last would leave the other processes idle.
        order = sorted(range(len(paths)), key=lambda index: -_size(paths[index]))
        running = {
            pool.submit(_measure_bundled, paths[index], create_replay, options): index for index in order
        }
        return _collect(running, on_progress)


def _measure_bundled(path: Path, create_replay: ReplayFactory, options: MeasureOptions) -> MeasuredRecording:
    """Measure one recording with the bundled vocabulary. Raises InvalidRecording."""
    return measure_file(path, create_replay, MessageTokenCounter.bundled(), options)


def _collect(
    running: dict[Future[MeasuredRecording], int], on_progress: Callable[[int], None]
) -> list[MeasuredRecording]:
    results: dict[int, MeasuredRecording] = {}
    try:
        for done, future in enumerate(as_completed(running), 1):
            results[running[future]] = future.result()
            on_progress(done)
    except BrokenProcessPool as error:
        raise HelixError(
            verbatim("A measuring process ended unexpectedly."),
            verbatim("The system may be out of memory."),
            verbatim("Try again with --jobs 1."),
        ) from error
    return [results[index] for index in sorted(results)]


@contextmanager
def _pool(size: int) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of spawned processes: none inherits threads, loops or locks of this one."""
    pool = ProcessPoolExecutor(size, mp_context=get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ignore Ctrl+C, which reaches every process of a terminal: the parent process ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading the file reports the error
        return 0
