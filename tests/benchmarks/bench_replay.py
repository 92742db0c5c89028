"""What each profile makes of recorded sessions: of those in the folder TRAJECTORIES, else of made-up ones."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from helix_desktop.context.policy import PROFILES
from helix_desktop.replay import Replayer
from helix_desktop.replay.figures import Measured
from helix_desktop.replay.jobs import measure_all
from helix_desktop.replay.measure import Options
from helix_desktop.replay.recall_model import RATE
from helix_desktop.replay.report import remarks, table
from helix_desktop.replay.totals import by_source, totals_of
from helix_desktop.replay.trajectory import recordings
from tests.support.recordings import session, write

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
    given = os.environ.get("TRAJECTORIES", "")
    if given:
        return _tables(recordings([Path(given)]))
    with tempfile.TemporaryDirectory() as folder:
        made = [session(seed, steps) for seed, steps in enumerate(STEPS)]
        return _tables(write(Path(folder, "generated"), made))


def _tables(paths: list[Path]) -> str:
    measured: dict[str, list[Measured]] = {}
    for recalls in (None, RATE):
        for profile in MEASURED:
            name = profile if recalls is None else f"{profile}, recalls"
            measured[name] = _measure(paths, profile, recalls)
            sys.stderr.write("".join(f"{name}: {line}\n" for line in remarks(measured[name])))
    sources = by_source(measured[MEASURED[0]])
    found = [table({name: totals_of(ones) for name, ones in measured.items()}, "all")]
    for source in sources if len(sources) > 1 else ():
        column = {name: totals_of(by_source(ones)[source]) for name, ones in measured.items()}
        found.append(table(column, source))
    return "\n\n".join(found) + "\n"


def _measure(paths: list[Path], profile: str, recalls: float | None) -> list[Measured]:
    sys.stderr.write(f"replaying {len(paths)} sessions: {profile}{', with recalls' if recalls else ''}\n")
    make = partial(Replayer, policy=PROFILES[profile], window=WINDOW)
    return measure_all(paths, make, Options(WINDOW, recall_rate=recalls), os.cpu_count() or 1, lambda _: None)


if __name__ == "__main__":
    print(main())  # noqa: T201 - run by hand
