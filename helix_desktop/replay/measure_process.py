"""Measure a session in a low-priority process of its own, which reports its progress and can be canceled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.replay.measure import RecordingFigures, measure_messages
from helix_desktop.replay.policy.policy_replay import encode
from helix_desktop.replay.recording import SessionFacts, messages_of_log
from helix_desktop.system.worker_process import end_process, run_in_background, start_process

_text = TextContext("Replay")

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
    log, contents = list[RecordedEvent](), dict[str, bytes]()
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
