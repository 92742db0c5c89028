"""Replays a recording, unmanaged and managed, and measures both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import chain, pairwise
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.context.errors import RequestInvalid, RequestTooLarge
from helix_desktop.context.message import Message
from helix_desktop.context.validity import problems
from helix_desktop.replay.figures import Faults, FileFigures, Measured, Timing
from helix_desktop.replay.ports import RawMessage, Replay
from helix_desktop.replay.reach import Originals, Reach, measure_reach
from helix_desktop.replay.recall_model import RecallModel, Recalls
from helix_desktop.replay.sending import Sending, Sent
from helix_desktop.replay.tokens import MessageTokens
from helix_desktop.replay.trajectory import as_message, read
from helix_desktop.replay.wire import Wire

REASONS = 5
"""How many reasons against requests a report gives."""

T = TypeVar("T")


class Options(msgspec.Struct, frozen=True):
    """How to measure: the window in tokens, how often outputs are fetched through it, and what is recalled.

    Outputs are fetched at the last model call of a recording; with `reach_every` n, at each n-th as well.
    `recall_rate` is that of the recall model; None leaves all recalls out, those before re-reads too.
    """

    window: int = 128_000
    reach_every: int = 0
    recall_rate: float | None = None


def measure_file(path: Path, make: Callable[[], Replay], tokens: MessageTokens, options: Options) -> Measured:
    """Replay one recording. Raises RecordingUnusable."""
    messages = list(read(path))
    unmanaged = _unmanaged(messages, tokens, options.window)
    with closing(make()) as replay:
        run = Run(replay, tokens, options)
        run.play(messages)
        return run.measured(path, unmanaged)


def _unmanaged(messages: Sequence[RawMessage], tokens: MessageTokens, window: int) -> Sent:
    """The baseline: everything is sent, each time."""
    sending = Sending(tokens, window)
    history: list[Message] = []
    for message in map(as_message, messages):
        if message.role == "assistant":
            sending.add(history)
        history.append(message)
    return sending.sums(())


def with_turn_ends(messages: Sequence[RawMessage]) -> Iterator[tuple[RawMessage, bool]]:
    """Each message, and whether a turn ends with it.

    It does when the agent's answer, or the last output of an agent that was stopped, comes before a person's
    message or the end.
    """
    for message, following in pairwise(chain(messages, [{"role": "user"}])):
        yield message, following["role"] == "user" and message["role"] in ("assistant", "tool")


class Run:
    """One managed replay under way."""

    def __init__(self, replay: Replay, tokens: MessageTokens, options: Options) -> None:
        self._replay, self._options = replay, options
        self._sending = Sending(tokens, options.window)
        self._originals, self._wire = Originals(), Wire()
        self._recalls: RecallModel | None = None
        if options.recall_rate is not None:
            self._recalls = RecallModel(options.recall_rate, tokens, replay.recall)
        self._request_s: list[float] = []
        self._feed_s: list[float] = []
        self._request: tuple[Message, ...] = ()
        self._by_rules = self._by_grammar = self._not_made = 0
        self._reasons: list[str] = []
        self._reaches: list[Reach] = []

    def play(self, messages: Sequence[RawMessage]) -> None:
        """Feed it all messages, and take a request before each of the assistant's."""
        calls = sum(message["role"] == "assistant" for message in messages)
        call = 0
        for message, turn_ends in with_turn_ends(messages):
            if message["role"] == "assistant":
                call += 1
                self._take_request()
                self._put_in_recalls(as_message(message))
                every = self._options.reach_every
                if call == calls or (every and call % every == 0):
                    self._look_for_outputs(call)
            self._feed(message)
            self._originals.keep(as_message(message))
            self._wire.know(as_message(message))
            if turn_ends:
                _timed(self._feed_s, self._replay.end_turn)

    def _look_for_outputs(self, call: int) -> None:
        found = measure_reach(call, self._request, self._originals, self._replay.recall)
        self._reaches.append(found)

    def _put_in_recalls(self, answer: Message) -> None:
        steps = self._recalls.before(answer, self._request, self._originals) if self._recalls else []
        for step in steps:
            for message in step:
                self._feed(message)
            self._take_request()

    def _take_request(self) -> None:
        """Take and judge the next request; where none is made, the former one stays the last."""
        try:
            raw = _timed(self._request_s, self._replay.request)
        except (RequestTooLarge, RequestInvalid) as error:
            self._not_made += 1
            self._note([str(error)])
            return
        self._request = tuple(map(as_message, raw))
        self._sending.add(self._request)
        by_rules, by_grammar = problems(self._request), self._wire.faults(self._request)
        self._by_rules += bool(by_rules)
        self._by_grammar += bool(by_grammar)
        self._note(by_rules or by_grammar)

    def _note(self, reasons: Sequence[str]) -> None:
        room = REASONS - len(self._reasons)
        self._reasons += [f"request {len(self._request_s)}: {why}" for why in reasons[:room]]

    def _feed(self, message: RawMessage) -> None:
        _timed(self._feed_s, lambda: self._replay.feed(message))

    def measured(self, path: Path, unmanaged: Sent) -> Measured:
        """The figures, beside those of the unmanaged replay."""
        summaries = self._replay.summaries
        figures = FileFigures(
            file=str(path),
            source=path.resolve().parent.name,
            window=self._options.window,
            managed=self._sending.sums(summaries),
            unmanaged=unmanaged,
            counts=self._replay.counts,
            summaries=len(summaries),
            summary_tokens=sum(summaries),
            faults=Faults(self._by_rules, self._by_grammar, self._not_made, tuple(self._reasons)),
            reach=self._reaches[-1],
            least_reachable=min(one.share for one in self._reaches),
            reach_checks=len(self._reaches),
            recalls=self._recalls.made if self._recalls else Recalls(),
            request_cpu=Timing.of(self._request_s),
            feed_cpu=Timing.of(self._feed_s),
        )
        return Measured(figures, tuple(self._request_s), tuple(self._feed_s))


def _timed(times: list[float], work: Callable[[], T]) -> T:
    """Do it, and note the processor time it took, of all threads."""
    began = time.process_time()
    try:
        return work()
    finally:
        times.append(time.process_time() - began)
