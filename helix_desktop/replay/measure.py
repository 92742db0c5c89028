"""Replay a recording unmanaged and managed, and measure both.

The benchmarks measure more of a replay, and folders of recordings: `tests/benchmarks/replay`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import RequestInvalid, RequestTooLarge
from helix_desktop.domain.messages import Message
from helix_desktop.replay.identifier_coverage import IdentifierCoverage, IdentifierCoverageCounter, find_uses
from helix_desktop.replay.reachability import OriginalOutputs, Reachability, measure_reachability
from helix_desktop.replay.recording import RawMessage, as_message, read_messages, with_turn_ends
from helix_desktop.replay.replayer import MechanismCounts, Replayer
from helix_desktop.replay.request_totals import RequestTotals, SentTotals
from helix_desktop.replay.token_counters import MessageTokenCounter

MAX_REASONS = 5
"""Maximum number of reasons, of one recording, for requests that couldn't be made."""

CountsT = TypeVar("CountsT", bound=msgspec.Struct)


class FailedRequests(msgspec.Struct, frozen=True):
    """How many requests couldn't be made (`managed` leaves them out), and the first reasons."""

    not_made: int = 0
    reasons: tuple[str, ...] = ()


class RecordingFigures(msgspec.Struct, frozen=True):
    """The figures of one recording.

    `checkpoint_tokens` are the input of each call for a checkpoint, which is no summary and not billed;
    `longest_stretch` is the most history, in tokens, without a handover or checkpoint. `reach` is of the last
    request.
    """

    file: str
    window: int
    managed: SentTotals
    unmanaged: SentTotals
    counts: MechanismCounts
    summaries: int
    summary_tokens: int
    checkpoint_tokens: tuple[int, ...]
    longest_stretch: int
    faults: FailedRequests
    reach: Reachability
    coverage: IdentifierCoverage


class Totals(msgspec.Struct, frozen=True):
    """Sums of some recordings, and shares of these sums; 0.25 is a quarter."""

    files: int
    requests: int
    input_tokens: int
    unmanaged_input_tokens: int
    billed: float
    unmanaged_billed: float
    input_of_sums: float
    billed_of_sums: float
    tool_saved: float
    reachable: float
    in_window: float
    arguments_reachable: float
    counts: MechanismCounts
    summaries: int
    summary_tokens: int
    coverage: IdentifierCoverage
    coverage_share: float
    coverage_share_old: float
    coverage_share_very_old: float
    peak_window: int
    rewrites: int
    over_window: int
    not_made: int


def measure_recording(path: Path, policy: ContextPolicy, window: int) -> RecordingFigures:
    """Replay one recording under a policy, with a window in tokens. Raises InvalidRecording."""
    messages = list(read_messages(path))
    counter = MessageTokenCounter.bundled()
    with closing(Replayer(policy, window)) as replayer:
        totals, originals, coverage = (
            RequestTotals(counter, window),
            OriginalOutputs(),
            IdentifierCoverageCounter(),
        )
        request: tuple[Message, ...] = ()  # if one can't be made, the one before counts
        failures: list[str] = []
        reach = Reachability(request=0, outputs=0, output_bytes=0, window_bytes=0, reachable_bytes=0)
        uses = find_uses(list(map(as_message, messages)))
        call = 0
        for message, turn_ends in with_turn_ends(messages):
            if message["role"] == "assistant":
                call += 1
                try:
                    request = tuple(map(as_message, replayer.request()))
                except (RequestTooLarge, RequestInvalid) as error:
                    failures.append(f"request {call}: {error}")
                else:
                    totals.add(request)
                    coverage.add(call, uses[call - 1], request)
                if call == len(uses):
                    reach = measure_reachability(call, request, originals, replayer.recall)
            replayer.feed(message)
            originals.add(as_message(message))
            if turn_ends:
                replayer.end_turn()
        return RecordingFigures(
            file=str(path),
            window=window,
            managed=totals.result(replayer.summaries),
            unmanaged=_measure_unmanaged(messages, RequestTotals(counter, window)),
            counts=replayer.counts,
            summaries=len(replayer.summaries),
            summary_tokens=sum(replayer.summaries),
            checkpoint_tokens=tuple(replayer.checkpoints),
            longest_stretch=replayer.longest_stretch,
            faults=FailedRequests(len(failures), tuple(failures[:MAX_REASONS])),
            reach=reach,
            coverage=coverage.result,
        )


def _measure_unmanaged(messages: Sequence[RawMessage], totals: RequestTotals) -> SentTotals:
    """Return the totals of the baseline, which sends the whole history with each request."""
    history: list[Message] = []
    for message in map(as_message, messages):
        if message.role == "assistant":
            totals.add(history)
        history.append(message)
    return totals.result(())


def totals_of(files: Sequence[RecordingFigures]) -> Totals:
    """Return the totals of some recordings, one at least."""
    managed = sum_structs(SentTotals, [figures.managed for figures in files])
    unmanaged = sum_structs(SentTotals, [figures.unmanaged for figures in files])
    coverage = sum_structs(IdentifierCoverage, [figures.coverage for figures in files])
    outputs = sum(figures.reach.output_bytes for figures in files)
    arguments = sum(figures.reach.argument_bytes for figures in files)
    return Totals(
        files=len(files),
        requests=managed.requests,
        input_tokens=managed.input_tokens,
        unmanaged_input_tokens=unmanaged.input_tokens,
        billed=managed.billed,
        unmanaged_billed=unmanaged.billed,
        input_of_sums=share_of(managed.input_tokens, unmanaged.input_tokens),
        billed_of_sums=share_of(managed.billed, unmanaged.billed),
        tool_saved=1 - share_of(managed.tool_tokens, unmanaged.tool_tokens),
        reachable=share_of(sum(figures.reach.reachable_bytes for figures in files), outputs),
        in_window=share_of(sum(figures.reach.window_bytes for figures in files), outputs),
        arguments_reachable=share_of(
            sum(figures.reach.reachable_argument_bytes for figures in files), arguments
        ),
        counts=sum_structs(MechanismCounts, [figures.counts for figures in files]),
        summaries=sum(figures.summaries for figures in files),
        summary_tokens=sum(figures.summary_tokens for figures in files),
        coverage=coverage,
        coverage_share=coverage.share,
        coverage_share_old=coverage.share_old,
        coverage_share_very_old=coverage.share_very_old,
        peak_window=max(figures.managed.peak_window for figures in files),
        rewrites=managed.rewrites,
        over_window=managed.over_window,
        not_made=sum(figures.faults.not_made for figures in files),
    )


def share_of(part: float, total: float) -> float:
    """Return the share of a total; 1 if the total is 0."""
    return part / total if total else 1.0


def sum_structs(struct_type: type[CountsT], structs: Iterable[CountsT]) -> CountsT:
    """Add structs of numbers field by field."""
    rows = map(msgspec.structs.astuple, structs)
    return struct_type(*(sum(column) for column in zip(*rows, strict=True)))
