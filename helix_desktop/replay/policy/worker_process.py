"""The worker process of policy replays: one session, one replay at a time, until the next request comes."""

from __future__ import annotations

import gc
from multiprocessing.connection import Connection
from time import monotonic

from msgspec.structs import replace

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.replay.policy.policy_replay import (
    AddEvents,
    EffectDone,
    OpenSession,
    ReplayDone,
    ReplayFailed,
    Reply,
    StartReplay,
    decode_request,
    effect_of,
    encode,
)
from helix_desktop.replay.policy.replay import ReplayStopped, SessionReplay, ShouldStop
from helix_desktop.replay.token_counters import LineTokenCounter
from helix_desktop.system.worker_process import run_in_background

_QUIET_S = 0.05  # a session comes in parts
_PICTURE_EVERY_S = 0.3
_NICENESS = 5  # sessions are replayed ahead: what the user and the agent run goes first


def serve(connection: Connection) -> None:
    """Answer requests until the other end is closed."""
    run_in_background(_NICENESS)
    gc.disable()  # replays make few cycles, and a pause would be seen
    server = ReplayServer(connection)
    try:
        while True:
            if not connection.poll(_QUIET_S):
                server.prepare()
            server.receive()
    except (EOFError, OSError):
        return


class ReplayServer:
    """Answers one request after the other; whatever comes meanwhile ends what runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session: SessionReplay | None = None

    def receive(self) -> None:
        """Take the next message, and answer it."""
        match decode_request(self._connection.recv_bytes()):
            case OpenSession(facts=facts):
                self._session = SessionReplay(facts, LineTokenCounter.bundled())
            case AddEvents(events=events) if self._session is not None:
                self._session.add(events)
            case StartReplay() as request if self._session is not None:
                try:
                    self._answer(request, self._session)
                except ReplayStopped:
                    pass  # nobody waits for it any more
                except Exception as error:  # noqa: BLE001 - told to the window: the next policy may do
                    self._send(ReplayFailed(request.number, f"{type(error).__name__}: {error}"))

    def prepare(self) -> None:
        """Read and replay ahead until a message comes: the profiles, which are requested most.

        Then free what replays left behind, a quarter of a second long.
        """
        if self._session is None:
            return
        try:
            for policy in PROFILES.values():
                self._session.run(policy, self._connection.poll)
        except ReplayStopped:
            return
        except Exception:  # noqa: BLE001 - the window gets it once it requests that policy
            return
        gc.collect()

    def _answer(self, request: StartReplay, session: SessionReplay) -> None:
        number = request.number
        policy = request.policy
        should_stop: ShouldStop = self._connection.poll
        if request.field:
            default = getattr(PROFILES[policy.profile], request.field)
            own = session.run(policy, should_stop)
            other = session.run(replace(policy, **{request.field: default}), should_stop)
            self._send(EffectDone(number, effect_of(request.field, own, other)))
            return
        if request.is_growing and not session.is_exact(policy):
            should_stop = self._growing_picture(number, session, policy)
        self._send(ReplayDone(number, session.run(policy, should_stop)))

    def _growing_picture(self, number: int, session: SessionReplay, policy: ContextPolicy) -> ShouldStop:
        """Send a first picture; return a `should_stop` that now and then sends what is exact by then."""
        estimate = session.approximate(policy)
        sent_at = monotonic()
        self._send(ReplayDone(number, estimate))

        def should_stop() -> bool:
            nonlocal sent_at
            if self._connection.poll():
                return True
            if monotonic() - sent_at >= _PICTURE_EVERY_S:
                picture = session.picture(estimate)
                if picture.exact_points:  # while names are read, it is the first one still
                    self._send(ReplayDone(number, picture))
                sent_at = monotonic()
            return False

        return should_stop

    def _send(self, reply: Reply) -> None:
        self._connection.send_bytes(encode(reply))
