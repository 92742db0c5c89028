"""Many turns against llmock, which fails on purpose: soak.py [--turns N] [--per-session N] [--seed N].

Prints a table of the process's resources, and the results. Exit code 1 if there was any problem.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "packaging")]

from tests.support.model_servers.llmock import run_llmock  # noqa: E402 - found by the path above
from tests.support.peer_processes import missing_module_reason  # noqa: E402 - found by the path above
from tests.support.soak import ResourceSample, SoakRun, memory_slope  # noqa: E402 - found by the path above

WARM = 600  # turns in which caches fill
ENOUGH = 1_000  # turns after which memory is judged
FLAT = 10.0  # KiB of its own that a turn may add for good
_ROWS = 25
_COLUMNS = ("turn", "RSS MiB", "own MiB", "held MiB", "tasks", "threads", "children", "files", "iterators")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=2_000)
    parser.add_argument("--per-session", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    lacking = missing_module_reason("llmock")
    if lacking:
        sys.stdout.write(f"{lacking}\n")
        return 1
    started = time.monotonic()
    # Piece by piece, or it has sent everything before anybody can hang up.
    slowly = ("--stream-chunk-delay-ms", "5")
    with (
        tempfile.TemporaryDirectory(prefix="helix-soak-") as folder,
        run_llmock(Path(folder), *slowly) as server,
    ):
        soak = SoakRun(Path(folder), server, args.turns, args.per_session, seed=args.seed)
        _row(*_COLUMNS)
        step = max(1, args.turns // (20 * _ROWS)) * 20
        asyncio.run(soak.run(lambda sample: _print_sample(sample) if sample.turn % step == 0 else None))
    return _print_report(soak, time.monotonic() - started)


def _print_sample(sample: ResourceSample) -> None:
    sizes = (f"{size / 1024:.1f}" for size in (sample.rss, sample.anon, sample.leveldb_log))
    _row(
        str(sample.turn),
        *sizes,
        *map(str, (sample.tasks, sample.threads, sample.children, sample.files, sample.iterators)),
    )


def _row(*cells: str) -> None:
    _say(" ".join(f"{cell:>9}" for cell in cells))


def _print_report(soak: SoakRun, duration_s: float) -> int:
    tally = soak.report
    warm = [sample for sample in soak.monitor.samples if sample.turn > WARM]
    rise = memory_slope(warm)
    sessions = [sample for sample in warm if sample.turn % soak.turns_per_session == 0]
    between = memory_slope(sessions)
    counts = f"{tally.requests} requests, {tally.attempts} attempts, {tally.faults} faults"
    _say(f"\n{soak.turn_count} turns in {duration_s:.0f} s: {counts}")
    if soak.turn_count >= ENOUGH:
        _say(f"own memory, without what LevelDB held, after the first {WARM} turns:")
        _say(f"  {rise:+.2f} KiB a turn; at the ends of sessions {between:+.2f}")
    for name, counted in (("turns", tally.turn_ends), ("events", tally.events), ("verdict", tally.findings)):
        _say(f"{name}: {', '.join(f'{key} {value}' for key, value in sorted(counted.items())) or 'clean'}")
    _say(f"alive before closing: {', '.join(f'{key} {value}' for key, value in tally.live_objects.items())}")
    _say(f"cache verify: {tally.verify_result}")
    if soak.turn_count >= ENOUGH and between > FLAT:
        tally.add_problem(f"memory grows by {between:.1f} KiB a turn; {FLAT} are allowed")
    for problem in tally.problems:
        _say(f"WRONG: {problem}")
    _say("all sound" if not tally.problems else f"{len(tally.problems)} problems")
    return 1 if tally.problems else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
