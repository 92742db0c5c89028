"""The replay of a session of 10,000 events under a changed policy: the first picture and the exact one."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.replay import Replayer
from helix_desktop.replay.policy.policy_replay import PolicyReplay
from helix_desktop.replay.policy.replay import SessionReplay
from helix_desktop.replay.policy.session_replays import StoredReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.replay.recording import SessionFacts, with_turn_ends
from helix_desktop.replay.token_counters import LineTokenCounter
from tests.benchmarks.timing import seconds
from tests.support.synthetic_recordings import make_session

EVENTS = 10_000
WINDOW = 128_000
# What the first picture and the exact one may take.
FIRST_S = 0.1
EXACT_S = 1.0
_ROUNDS = 3
_CHANGES = {"protect_steps": 5, "sweep_fixed": 9_000}  # one that matters at once, and one that does not
_FACTS = SessionFacts(ModelInfo("replay", "recorded", WINDOW))
_FURTHER = 20  # events by which the session goes on at last
_RULES_CHARS = 6_000  # of what the user pastes into each message of the session with source


def main() -> list[tuple[str, float, str]]:
    """Measure processor seconds in this process: the worker of the window does the same."""
    gc.disable()  # as in the window, which collects between events, and in the worker
    session = make_session(20, EVENTS // 2)
    log = _recorded(session)
    figures = _figures_per_change(log) + _figures_with_source(_recorded([*_with_source(session)]))
    return figures + asyncio.run(_figures_of_slider(log))


def _recorded(session: Sequence[dict[str, Any]]) -> list[RecordedEvent]:
    with closing(Replayer("off", window=1 << 40)) as replayer:
        for message, is_turn_end in with_turn_ends(session):
            replayer.feed(message)
            if is_turn_end:
                replayer.end_turn()
        return list(replayer.session.log[:EVENTS])


def _with_source(session: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the messages with slices of Python's library as outputs, and the same rules in each request."""
    library = Path(statistics.__file__).parent
    pool = "\n".join(path.read_text(errors="replace") for path in sorted(library.glob("*.py")))
    chance = random.Random(7)
    for message in session:
        content = message["content"]
        size = len(message["content"])
        if message["role"] == "tool":
            at = chance.randrange(len(pool) - size)
            content = pool[at : at + size]
        elif message["role"] == "user":
            content = f"{pool[:_RULES_CHARS]}\n{content}"
        yield message | {"content": content}


def _figures_with_source(log: Sequence[RecordedEvent]) -> list[tuple[str, float, str]]:
    """Return how long a change takes once the profiles were replayed, as in the window."""
    replay = _replay()
    replay.add(log)
    for policy in PROFILES.values():
        replay.run(policy)
    figures = []
    for name, policy in PROFILES.items():
        changed = replace(policy, protect_steps=policy.protect_steps + 1)
        exact = seconds(partial(replay.run, changed))
        figures.append((f"policy replay of source, {name} changed: exact", exact / EXACT_S, "of 1 s"))
    return figures


def _replay() -> SessionReplay:
    return SessionReplay(_FACTS, LineTokenCounter.bundled())


def _figures_per_change(log: Sequence[RecordedEvent]) -> list[tuple[str, float, str]]:
    replay = _replay()
    replay.add(log[:-_FURTHER])
    loading = seconds(replay.prepare)
    figures = [(f"policy replay: read {len(log):,} events, once", loading * 1e3, "ms")]
    for name in ("balanced", "classic"):
        policy = PROFILES[name]
        first = median(seconds(partial(replay.approximate, policy)) for _ in range(_ROUNDS))
        exact = seconds(partial(replay.run, policy))
        figures += [
            (f"policy replay per change, {name}: first picture", first / FIRST_S, "of 100 ms"),
            (f"policy replay per change, {name}: exact", exact / EXACT_S, "of 1 s"),
        ]
    for field, value in _CHANGES.items():
        changed = replace(PROFILES["balanced"], **{field: value})
        exact = seconds(partial(replay.run, changed))
        figures.append((f"policy replay, balanced with {field} {value}: exact", exact / EXACT_S, "of 1 s"))
    replay.add(log[-_FURTHER:])
    further = seconds(partial(replay.run, PROFILES["balanced"]))
    return [
        *figures,
        (f"policy replay, balanced: exact after {_FURTHER} further events", further / EXACT_S, "of 1 s"),
    ]


async def _figures_of_slider(log: Sequence[RecordedEvent]) -> list[tuple[str, float, str]]:
    """Return what the policy page waits for, in seconds by the clock: at its opening, and per stop then."""
    worker = PolicyReplayWorker()
    started = time.perf_counter()
    await worker.first_picture(log, _FACTS, PROFILES["balanced"])
    first = time.perf_counter() - started
    await worker.load(log, _FACTS)
    loaded = time.perf_counter() - started
    exact = loaded + (await _pictures(worker, PROFILES["balanced"]))[-1]
    for policy in PROFILES.values():
        await _pictures(worker, policy)
    all_ready = time.perf_counter() - started
    stops = [(await _pictures(worker, policy))[-1] for policy in PROFILES.values()]
    replays = {policy: await worker.replay_in_background(policy) for policy in PROFILES.values()}
    await worker.close()
    return [
        *_figures_of_stored(log, replays),
        ("policy page opened: first picture", first / FIRST_S, "of 100 ms"),
        ("policy page opened: exact", exact, "s"),
        ("policy page opened: all stops of the slider", all_ready, "s"),
        ("policy slider, a stop after that: exact", max(stops) * 1e3, "ms"),
    ]


def _figures_of_stored(
    log: Sequence[RecordedEvent], replays: Mapping[ContextPolicy, PolicyReplay]
) -> list[tuple[str, float, str]]:
    """Return how long all stops of the slider take that were replayed before the page is opened."""
    with TemporaryDirectory() as folder:
        stored = StoredReplays(Path(folder))
        session_id = "0" * 32
        stored.save(session_id, log, _FACTS, replays)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.msgpack"))
        reading = seconds(lambda: stored.load(session_id, log, _FACTS))
    return [
        ("policy page opened, replayed before: all stops exact", reading / EXACT_S, "of 1 s"),
        ("the stored replays of a session", size / 1e6, "MB"),
    ]


async def _pictures(worker: PolicyReplayWorker, policy: ContextPolicy) -> list[float]:
    """Return how long each picture of a policy took to come, the exact one last."""
    started = time.perf_counter()
    async with aclosing(worker.replay(policy)) as pictures:
        return [time.perf_counter() - started async for _ in pictures]
