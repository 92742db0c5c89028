"""Replay a recording unmanaged and managed, measure both, and fetch every original output from its window.

The benchmarks measure more of a replay, and folders of recordings: `tests/benchmarks/replay`.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import accumulate
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.summaries.index_entry import HEAD
from helix_desktop.context.window.provider_cache import cache_prices
from helix_desktop.context.window.used_tokens import replayed_tokens
from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX, RECALL_TOOL
from helix_desktop.domain.errors import DigestUnknown, HelixError, RequestInvalid, RequestTooLarge, StoreError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.foreign import ForeignCompaction
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.messages import Message
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.replay.billing import RequestTotals, SentTotals
from helix_desktop.replay.next_call_identifiers import (
    IdentifierCoverage,
    IdentifierCoverageCounter,
    find_uses,
)
from helix_desktop.replay.policy.policy_replay import encode
from helix_desktop.replay.recording import (
    RawMessage,
    SessionFacts,
    as_message,
    messages_of_log,
    parse_arguments,
    read_messages,
    recording_facts,
    with_turn_ends,
)
from helix_desktop.replay.replayer import MechanismCounts, Replayer
from helix_desktop.replay.surviving_facts import ComparedFacts, compared_facts
from helix_desktop.replay.token_counters import MessageTokenCounter
from helix_desktop.system.worker_process import end_process, run_in_background, start_process

_text = TextContext("Replay")

_HANDLE = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{{MIN_PREFIX},{HEX_DIGITS}}}(?![0-9a-f])")
"""A digest, or as many of its first digits as a recall accepts; also any other number of so many digits."""
MAX_LOST_NAMED = 5
"""Maximum number of lost outputs that a report names."""


class Reachability(msgspec.Struct, frozen=True):
    """The tool outputs before one model call, in bytes: all, complete in its window, and reachable.

    An output is reachable if it is complete in the window, or can be fetched through handles in it; in one
    call, if its own handle is there. `argument_bytes` are those of the texts in the arguments of calls.
    """

    request: int
    outputs: int
    output_bytes: int
    window_bytes: int
    reachable_bytes: int
    argument_bytes: int = 0
    reachable_argument_bytes: int = 0
    lost: tuple[str, ...] = ()
    one_call_bytes: int = 0

    @property
    def reachable_share(self) -> float:
        """Return the share of output bytes that can be read; 1 if there are no outputs."""
        return self.reachable_bytes / self.output_bytes if self.output_bytes else 1.0


class OriginalOutputs:
    def __init__(self) -> None:
        self.outputs: dict[str, bytes] = {}
        self.calls: dict[str, tuple[bytes, ...]] = {}
        self._contents: set[bytes] = set()

    def add(self, message: Message) -> None:
        if message.role == "tool" and message.name != RECALL_TOOL:  # else part of another one, or all of it
            self.outputs[message.call_id] = _bytes(message.text)
            self._contents.add(self.outputs[message.call_id])
        for call in message.calls:
            self.calls[call.id] = argument_values(call.arguments)
            self._contents.update(self.calls[call.id])

    def is_original(self, content: bytes) -> bool:
        """Return True if the content is an original: handles inside it are mere quotations."""
        return content in self._contents


def argument_values(arguments: str) -> tuple[bytes, ...]:
    """Return a call's complete arguments, followed by each text in them."""
    return (_bytes(arguments), *map(_bytes, _texts(parse_arguments(arguments))))


def _json_texts(content: bytes) -> tuple[bytes, ...]:
    return argument_values(content.decode("utf-8", "replace"))[1:]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON can contain lone surrogates


def find_handles(request: Iterable[Message]) -> Iterator[str]:
    """Yield what may be a handle in a request's texts and arguments, in order of appearance."""
    for message in request:
        yield from _HANDLE.findall(message.text)
        for call in message.calls:
            yield from _HANDLE.findall(call.arguments)


def visible_call_ids(request: Iterable[Message], originals: OriginalOutputs) -> set[str]:
    return {
        message.call_id
        for message in request
        if message.role == "tool" and originals.outputs.get(message.call_id) == _bytes(message.text)
    }


def follow_handles(
    request: Sequence[Message], originals: OriginalOutputs, recall: Callable[[str], bytes]
) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield each content that a request's handles lead to, nearest first, with the path of handles."""
    paths: deque[tuple[str, ...]] = deque((handle,) for handle in dict.fromkeys(find_handles(request)))
    visited = {path[0] for path in paths}
    while paths:
        path = paths.popleft()
        try:
            content = recall(path[-1])
        except DigestUnknown:  # texts may quote foreign digests
            continue
        yield path, content
        if originals.is_original(content):
            continue
        new_handles = [
            match for match in _HANDLE.findall(content.decode("utf-8", "replace")) if match not in visited
        ]
        for handle in dict.fromkeys(new_handles):
            visited.add(handle)
            paths.append((*path, handle))


def measure_reachability(
    request_number: int,
    request: Sequence[Message],
    originals: OriginalOutputs,
    recall: Callable[[str], bytes],
) -> Reachability:
    """Measure what can be read from the request of this number by fetching every content."""
    visible = visible_call_ids(request, originals)
    paths = [(len(path), content) for path, content in follow_handles(request, originals, recall)]
    fetched = {content for _, content in paths}
    at_once = {content for calls, content in paths if calls == 1}
    lost = [
        call_id
        for call_id, content in originals.outputs.items()
        if call_id not in visible and content not in fetched
    ]
    sizes = {call_id: len(content) for call_id, content in originals.outputs.items()}
    total = sum(sizes.values())
    arguments, reachable_arguments = _argument_bytes(request, originals, fetched)
    return Reachability(
        request_number,
        len(sizes),
        total,
        sum(sizes[call_id] for call_id in visible),
        total - sum(sizes[call_id] for call_id in lost),
        arguments,
        reachable_arguments,
        tuple(lost_id for lost_id in lost if sizes[lost_id])[:MAX_LOST_NAMED],
        sum(
            len(content)
            for call_id, content in originals.outputs.items()
            if call_id in visible or content in at_once
        ),
    )


def _argument_bytes(
    request: Iterable[Message], originals: OriginalOutputs, fetched: set[bytes]
) -> tuple[int, int]:
    """Return the bytes of the texts in all calls' arguments, and of those in their call or fetched.

    An index entry contains each call with its arguments, so small ones can be read there. A large list or
    object is stored as JSON, with the texts in it.
    """
    call_arguments = {
        call.id: argument_values(call.arguments) for message in request for call in message.calls
    }
    in_fetched = {text for content in fetched if content[:1] in (b"[", b"{") for text in _json_texts(content)}
    index_text = b"\n".join(content for content in fetched if content.startswith(HEAD.encode()))
    total = reachable = 0
    for call_id, (complete, *texts) in originals.calls.items():
        in_call = call_arguments.get(call_id, ())
        at_once = complete in fetched or complete in index_text
        for text in texts or [complete]:
            total += len(text)
            is_fetched = text in fetched or text in in_fetched
            if at_once or is_fetched or text in in_call or _as_json(text) in index_text:
                reachable += len(text)
    return total, reachable


def _as_json(text: bytes) -> bytes:
    return msgspec.json.encode(text.decode("utf-8", "replace"))


MAX_REASONS = 5
"""Maximum number of reasons, of one recording, for requests that couldn't be made."""

CountsT = TypeVar("CountsT", bound=msgspec.Struct)


class FailedRequests(msgspec.Struct, frozen=True):
    """How many requests couldn't be made (`managed` leaves them out), and the first reasons."""

    not_made: int = 0
    reasons: tuple[str, ...] = ()


class ComparedCompaction(msgspec.Struct, frozen=True):
    """A compaction of another agent in front of model call `request`, and what it kept.

    `before` are the tokens in its context by its own count; 0: not recorded. `tokens` are those of its
    summary. Without a summary, as where it is encrypted, no facts are compared.
    """

    request: int
    before: int
    tokens: int
    facts: tuple[ComparedFacts, ...] = ()


class RecordingFigures(msgspec.Struct, frozen=True):
    """The figures of one recording.

    `checkpoint_tokens` are the input of each call for a checkpoint, which is no summary and not billed;
    `longest_stretch` is the most history, in tokens, without a handover or checkpoint. `reach` is of the last
    request. `managed_sizes` and `unmanaged_sizes` are the tokens of each request: one that could not be made
    counts as the one before. `at_end` compares the facts of a session with its last request; of a plain
    recording none are.
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
    managed_sizes: tuple[int, ...] = ()
    unmanaged_sizes: tuple[int, ...] = ()
    compactions: tuple[ComparedCompaction, ...] = ()
    at_end: tuple[ComparedFacts, ...] = ()


def as_model_counts(
    figures: RecordingFigures, answers: Sequence[AssistantSpoke], ratio: float
) -> RecordingFigures:
    """Return figures as the panel and the policy's replay count, `ratio` tokens per token of ours.

    `answers` are those to the requests. An unmanaged request has what the one before had, so that it has as
    many tokens at least.
    """

    def sizes(own: Sequence[int]) -> tuple[int, ...]:
        pairs = zip(own, answers, strict=True)
        return tuple(replayed_tokens(tokens, answer, ratio) for tokens, answer in pairs)

    def totals(of: SentTotals, own: Sequence[int], sent: Sequence[int]) -> SentTotals:
        return replace(
            of,
            input_tokens=sum(sent),
            billed=of.billed * sum(sent) / max(1, sum(own)),
            mean_window=sum(sent) / max(1, len(sent)),
            peak_window=max(sent, default=0),
            over_window=sum(size > figures.window for size in sent),
        )

    managed = sizes(figures.managed_sizes)
    unmanaged = tuple(accumulate(sizes(figures.unmanaged_sizes), max))
    return replace(
        figures,
        managed=totals(figures.managed, figures.managed_sizes, managed),
        unmanaged=totals(figures.unmanaged, figures.unmanaged_sizes, unmanaged),
        managed_sizes=managed,
        unmanaged_sizes=unmanaged,
    )


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
    return measure_messages(str(path), list(read_messages(path)), policy, recording_facts(window))


def measure_messages(
    name: str,
    messages: Sequence[RawMessage],
    policy: ContextPolicy,
    facts: SessionFacts,
    compactions: Sequence[tuple[int, ForeignCompaction]] | None = None,
    on_progress: OnProgress = no_progress,
) -> RecordingFigures:
    """Replay messages under a policy.

    `compactions` are those of another agent, each with the number of messages in front of it; with None no
    facts are compared, which would take as long as the replay.
    """
    counter = MessageTokenCounter.bundled()
    window = facts.info.window
    prices = cache_prices(facts.info)
    with closing(Replayer(policy, facts=facts)) as replayer:
        totals = RequestTotals(counter, window, facts.fixed_tokens, prices)
        originals = OriginalOutputs()
        coverage = IdentifierCoverageCounter()
        request: tuple[Message, ...] = ()  # if one can't be made, the one before counts
        failures: list[str] = []
        reach = Reachability(request=0, outputs=0, output_bytes=0, window_bytes=0, reachable_bytes=0)
        uses = find_uses(list(map(as_message, messages)))
        call = 0
        sizes = list[int]()
        waiting = deque(compactions or ())
        compared = list[ComparedCompaction]()
        at_end: tuple[ComparedFacts, ...] = ()
        for number, (message, turn_ends) in enumerate(with_turn_ends(messages)):
            on_progress(number, len(messages))
            if message["role"] == "assistant":
                call += 1
                try:
                    request = tuple(map(as_message, replayer.request()))
                except (RequestTooLarge, RequestInvalid) as error:
                    failures.append(f"request {call}: {error}")
                else:
                    totals.add(request)
                    coverage.add(call, uses[call - 1], request)
                sizes.append(totals.sizes[-1] if totals.requests else 0)
                while waiting and waiting[0][0] <= number:
                    event = waiting.popleft()[1]
                    survived = (
                        compared_facts(replayer, request, event.summary) if event.summary.strip() else ()
                    )
                    compared.append(ComparedCompaction(call, event.before, event.tokens, survived))
                if call == len(uses):
                    at_end = compared_facts(replayer, request, "") if compactions is not None else ()
                    reach = measure_reachability(call, request, originals, replayer.recall)
            replayer.feed(message)
            originals.add(as_message(message))
            if turn_ends:
                replayer.end_turn()
        unmanaged = RequestTotals(counter, window, facts.fixed_tokens, prices)
        return RecordingFigures(
            file=name,
            window=window,
            managed=totals.result(replayer.summaries),
            unmanaged=_measure_unmanaged(messages, unmanaged),
            counts=replayer.counts,
            summaries=len(replayer.summaries),
            summary_tokens=sum(replayer.summaries),
            checkpoint_tokens=tuple(replayer.checkpoints),
            longest_stretch=replayer.longest_stretch,
            faults=FailedRequests(len(failures), tuple(failures[:MAX_REASONS])),
            reach=reach,
            coverage=coverage.result,
            managed_sizes=tuple(sizes),
            unmanaged_sizes=unmanaged.sizes,
            compactions=tuple(compared),
            at_end=at_end,
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
    return part / total if total else 1.0


def sum_structs(struct_type: type[CountsT], structs: Iterable[CountsT]) -> CountsT:
    """Add structs of numbers field by field."""
    rows = map(msgspec.structs.astuple, structs)
    return struct_type(*(sum(column) for column in zip(*rows, strict=True)))


_EVENTS_AT_ONCE = 250  # encoded while the interpreter's lock is held
_NICENESS = 10


class _Session(msgspec.Struct, frozen=True):
    """What comes behind the events, and the contents of outputs by digest."""

    name: str
    policy: ContextPolicy
    facts: SessionFacts


class _Progress(msgspec.Struct, frozen=True, tag="progress"):
    done: int
    total: int


class _Measured(msgspec.Struct, frozen=True, tag="measured"):
    figures: RecordingFigures


class _Failed(msgspec.Struct, frozen=True, tag="failed"):
    reason: str


_decode_reply = msgspec.msgpack.Decoder(_Progress | _Measured | _Failed).decode


async def measure_session(
    name: str,
    log: Sequence[RecordedEvent],
    read: Callable[[str], Awaitable[bytes]],
    policy: ContextPolicy,
    facts: SessionFacts,
    on_progress: OnProgress = no_progress,
) -> RecordingFigures:
    """Return what `helix-desktop replay` says of a session; `read` returns an output by its digest.

    The session needs an answer of an agent. Raises HelixError.
    """
    what = _text("This session can't be replayed.")
    fix = _text("Close other programs and try again.")
    in_thread = asyncio.get_running_loop().run_in_executor
    starting = in_thread(None, start_process, _serve, "replay")
    receiving: asyncio.Future[bytes] | None = None
    try:
        _, connection = await asyncio.shield(starting)
        for begin in range(0, len(log), _EVENTS_AT_ONCE):
            await in_thread(None, _send, connection, list(log[begin : begin + _EVENTS_AT_ONCE]))
        await in_thread(None, _send, connection, [])
        outputs = (recorded.event for recorded in log if isinstance(recorded.event, ToolAnswered))
        for digest in dict.fromkeys(output.digest for output in outputs if output.digest):
            with suppress(StoreError):  # its shown form counts then
                await in_thread(None, _send, connection, (digest, await read(digest)))
        await in_thread(None, _send, connection, ("", b""))
        await in_thread(None, _send, connection, _Session(name, policy, facts))
        while True:
            receiving = in_thread(None, connection.recv_bytes)
            match _decode_reply(await asyncio.shield(receiving)):
                case _Progress(done=done, total=total):
                    on_progress(done, total)
                case _Measured(figures=figures):
                    return figures
                case _Failed(reason=reason):
                    raise HelixError(what, verbatim(reason))
    except EOFError as error:
        raise HelixError(what, _text("The process that replays it ended."), fix) from error
    except OSError as error:
        raise HelixError(what, verbatim(str(error)), fix) from error
    finally:
        await asyncio.wait([starting])  # canceled, it is started nevertheless
        if starting.exception() is None:
            process, connection = starting.result()
            await in_thread(None, end_process, process)
            if receiving is not None:  # its thread reads until the process has ended
                await asyncio.wait([receiving])
                receiving.exception()
            connection.close()


def _send(connection: Connection, part: object) -> None:
    connection.send_bytes(encode(part))


def _serve(connection: Connection) -> None:
    """Measure one session, and send how far it is now and then."""
    run_in_background(_NICENESS)
    with suppress(EOFError, OSError):  # nobody waits any more
        try:
            reply: _Measured | _Failed = _Measured(_measure(connection))
        except (EOFError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - shown to the user
            reply = _Failed(f"{type(error).__name__}: {error}")
        _send(connection, reply)


def _measure(connection: Connection) -> RecordingFigures:
    decode = msgspec.msgpack.decode
    log = list[RecordedEvent]()
    contents = dict[str, bytes]()
    while events := decode(connection.recv_bytes(), type=list[RecordedEvent]):
        log += events
    while (content := decode(connection.recv_bytes(), type=tuple[str, bytes]))[0]:
        contents[content[0]] = content[1]
    session = decode(connection.recv_bytes(), type=_Session)
    messages, compactions = messages_of_log(log, contents)
    return measure_messages(
        session.name,
        messages,
        session.policy,
        session.facts,
        compactions,
        lambda done, total: _send(connection, _Progress(done, total)),
    )
