"""The replay of a session of 10,000 events under a changed policy: the first picture and the exact one."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from statistics import median

from msgspec.structs import replace

from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay import Replayer
from helix_desktop.replay.policy.line_tokens import LineTokenCounter
from helix_desktop.replay.policy.replay import SessionReplay
from helix_desktop.replay.policy.session import SessionFacts
from helix_desktop.replay.recording import with_turn_ends
from tests.support.synthetic_recordings import make_session

EVENTS = 10_000
WINDOW = 128_000
FIRST_S, EXACT_S = 0.1, 1.0  # what they may take
_ROUNDS = 3
_CHANGES = {"protect_steps": 5, "sweep_fixed": 9_000}  # one that matters at once, and one that does not
_FURTHER = 20  # events by which the session goes on at last


def main() -> list[tuple[str, float, str]]:
    """Measure processor seconds in this process: the worker of the window does the same."""
    replay = SessionReplay(SessionFacts(ModelInfo("replay", "recorded", WINDOW)), LineTokenCounter.bundled())
    with closing(Replayer("off", window=1 << 40)) as replayer:
        for message, is_turn_end in with_turn_ends(make_session(20, EVENTS // 2)):
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        log = replayer.session.log[:EVENTS]
    replay.add(log[:-_FURTHER])
    loading = _seconds(replay.prepare)
    figures = [(f"policy replay: read {len(log):,} events, once", loading * 1e3, "ms")]
    for name in ("balanced", "classic"):
        policy = PROFILES[name]
        first = median(_seconds(partial(replay.approximate, policy)) for _ in range(_ROUNDS))
        exact = _seconds(partial(replay.run, policy))
        figures += [
            (f"policy replay per change, {name}: first picture", first / FIRST_S, "of 100 ms"),
            (f"policy replay per change, {name}: exact", exact / EXACT_S, "of 1 s"),
        ]
    for field, value in _CHANGES.items():
        changed = replace(PROFILES["balanced"], **{field: value})
        exact = _seconds(partial(replay.run, changed))
        figures.append((f"policy replay, balanced with {field} {value}: exact", exact / EXACT_S, "of 1 s"))
    replay.add(log[-_FURTHER:])
    further = _seconds(partial(replay.run, PROFILES["balanced"]))
    return [
        *figures,
        (f"policy replay, balanced: exact after {_FURTHER} further events", further / EXACT_S, "of 1 s"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # as in the worker
    started = time.process_time()
    work()
    duration = time.process_time() - started
    gc.enable()
    return duration
