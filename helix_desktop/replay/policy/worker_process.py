"""The worker process of policy replays: one session, one replay at a time, the newest change first."""

from __future__ import annotations

import gc
from collections import deque
from multiprocessing.connection import Connection
from time import monotonic

from msgspec.structs import replace

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.replay.policy.policy_replay import (
    AddEvents,
    EffectDone,
    OpenSession,
    PolicyReplay,
    ReplayDone,
    ReplayEnded,
    Reply,
    Request,
    StartReplay,
    StopReplay,
    decode_request,
    effect_of,
    encode,
)
from helix_desktop.replay.policy.replay import ReplayStopped, SessionReplay, ShouldStop
from helix_desktop.replay.token_counters import LineTokenCounter
from helix_desktop.system.worker_process import run_in_background

_MAX_RESULTS = 32  # exact replays that are remembered until the session goes on
_QUIET_S = 0.05  # a session comes in parts
_PICTURE_EVERY_S = 0.3
_NICENESS = 5  # sessions are replayed ahead: what the user and the agent run goes first


def serve(connection: Connection) -> None:
    """Answer requests until the other end is closed."""
    run_in_background(_NICENESS)
    gc.disable()  # replays make few cycles, and a pause would be seen
    try:
        _Server(connection).run()
    except (EOFError, OSError):
        return


class _Server:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._jobs: deque[StartReplay] = deque()
        self._session: SessionReplay | None = None
        self._results: dict[ContextPolicy, PolicyReplay] = {}
        self._current: StartReplay | None = None
        self._is_stopped = self._has_garbage = False

    def run(self) -> None:
        while True:
            if not self._jobs and self._prepare():
                continue
            if self._jobs:
                self._work(self._jobs.popleft())
            else:
                self._receive()

    def _prepare(self) -> bool:
        """Read and replay ahead while no request comes; return True if one was received meanwhile.

        The profiles, which are requested most, are exact at once then.
        """
        if self._session is None or self._connection.poll(_QUIET_S):
            return False
        try:
            self._session.prepare(self._connection.poll)
            for policy in PROFILES.values():
                self._exact(policy, self._connection.poll)
        except ReplayStopped:
            self._receive()
            return True
        except Exception:  # noqa: BLE001 - the window gets it once it requests that policy
            return False
        self._collect()
        return False

    def _collect(self) -> None:
        """Free what replays left behind; not between two answers, it takes a quarter of a second."""
        if self._has_garbage:
            self._has_garbage = False
            gc.collect()

    def _receive(self) -> None:
        """Take the next message; what runs is called off by another replay, or by other events."""
        request: Request = decode_request(self._connection.recv_bytes())
        match request:
            case OpenSession(facts=facts):
                self._session = SessionReplay(facts, LineTokenCounter.bundled())
                self._results.clear()
            case AddEvents(events=events) if self._session is not None:
                self._session.add(events)
                self._results.clear()
            case StartReplay(in_background=True):
                self._jobs.append(request)
                return
            case StartReplay():
                for job in [job for job in self._jobs if not job.in_background]:
                    self._jobs.remove(job)
                    self._send(ReplayEnded(job.number))
                self._jobs.appendleft(request)
            case StopReplay(number=number):
                self._jobs = deque(job for job in self._jobs if job.number != number)
                if self._current is None or self._current.number != number:
                    return
        self._is_stopped = self._current is not None

    def _should_stop(self) -> bool:
        while not self._is_stopped and self._connection.poll():
            self._receive()
        return self._is_stopped

    def _work(self, job: StartReplay) -> None:
        self._current, self._is_stopped = job, False
        try:
            self._answer(job)
        except ReplayStopped:
            self._send(ReplayEnded(job.number))
        except Exception as error:  # noqa: BLE001 - told to the window: the next policy may do
            self._send(ReplayEnded(job.number, f"{type(error).__name__}: {error}"))
        finally:
            self._current = None

    def _answer(self, job: StartReplay) -> None:
        if self._session is None:
            raise ReplayStopped
        policy = job.policy
        if job.field:
            default = getattr(PROFILES[policy.profile], job.field)
            own = self._exact(policy, self._should_stop)
            other = self._exact(replace(policy, **{job.field: default}), self._should_stop)
            self._send(EffectDone(job.number, effect_of(job.field, own, other)))
            return
        if policy not in self._results and not job.in_background:
            estimate = self._session.approximate(policy)
            self._send(ReplayDone(job.number, estimate))
            self._exact(policy, self._growing_picture(job.number, self._session, estimate))
        self._send(ReplayDone(job.number, self._exact(policy, self._should_stop)))

    def _growing_picture(self, number: int, session: SessionReplay, estimate: PolicyReplay) -> ShouldStop:
        """Return a `should_stop` that now and then sends what is exact by then."""
        sent_at = monotonic()

        def should_stop() -> bool:
            nonlocal sent_at
            if self._should_stop():
                return True
            if monotonic() - sent_at >= _PICTURE_EVERY_S:
                picture = session.picture(estimate)
                if picture.exact_points:  # while names are read, it is the first one still
                    self._send(ReplayDone(number, picture))
                sent_at = monotonic()
            return False

        return should_stop

    def _exact(self, policy: ContextPolicy, should_stop: ShouldStop) -> PolicyReplay:
        result = self._results.get(policy)
        if result is None:
            if self._session is None:
                raise ReplayStopped
            self._has_garbage = True
            result = self._session.run(policy, should_stop)
            while len(self._results) >= _MAX_RESULTS:
                del self._results[next(iter(self._results))]
            self._results[policy] = result
        return result

    def _send(self, reply: Reply) -> None:
        self._connection.send_bytes(encode(reply))
