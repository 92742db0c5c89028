"""The results of each profile on recorded sessions: those in the folder TRAJECTORIES, else synthetic ones."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.replay import Replayer
from tests.benchmarks.replay.figures import MeasuredRecording, group_by_source, totals_of
from tests.benchmarks.replay.measure import MeasureOptions, find_recordings, measure_all
from tests.benchmarks.replay.recalls import DEFAULT_RATE
from tests.benchmarks.replay.report import app_prompt_line, count_app_prompt, format_table, warning_lines
from tests.support.synthetic_recordings import make_session, write_recordings

MEASURED = ("balanced", "lean", "classic", "plain")
WINDOW = 128_000
STEPS = (
    40,
    80,
    120,
    160,
    240,
    320,
)  # model calls of the made-up sessions; the last three press on the window


def main() -> str:
    """A table for all recordings, and one for each source if there are several."""
    recordings = os.environ.get("TRAJECTORIES", "")
    if recordings:
        return _tables(find_recordings([Path(recordings)]))
    with tempfile.TemporaryDirectory() as folder:
        sessions = [make_session(seed, steps) for seed, steps in enumerate(STEPS)]
        return _tables(write_recordings(Path(folder, "generated"), sessions))


def _tables(paths: list[Path]) -> str:
    measured: dict[str, list[MeasuredRecording]] = {}
    for recalls in (None, DEFAULT_RATE):
        for profile in MEASURED:
            name = profile if recalls is None else f"{profile}, recalls"
            measured[name] = _measure(paths, profile, recalls)
            sys.stderr.write("".join(f"{name}: {line}\n" for line in warning_lines(measured[name])))
    sources = group_by_source(measured[MEASURED[0]])
    tables = [format_table({name: totals_of(ones) for name, ones in measured.items()}, "all")]
    for source in sources if len(sources) > 1 else ():
        column = {name: totals_of(group_by_source(ones)[source]) for name, ones in measured.items()}
        tables.append(format_table(column, source))
    return "\n\n".join([*tables, app_prompt_line(count_app_prompt())]) + "\n"


def _measure(paths: list[Path], profile: str, recalls: float | None) -> list[MeasuredRecording]:
    sys.stderr.write(f"replaying {len(paths)} sessions: {profile}{', with recalls' if recalls else ''}\n")
    make = partial(Replayer, policy=PROFILES[profile], window=WINDOW)
    return measure_all(
        paths, make, MeasureOptions(WINDOW, recall_rate=recalls), os.cpu_count() or 1, lambda _: None
    )
