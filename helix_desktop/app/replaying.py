"""The command that replays recorded sessions under a policy, and says what it made of them."""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from functools import partial
from pathlib import Path

from helix_desktop.app.voice import err, out
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.policy import PROFILES, Policy, policy_from
from helix_desktop.replay import Replayer
from helix_desktop.replay.jobs import measure_all
from helix_desktop.replay.measure import Options
from helix_desktop.replay.recall_model import RATE
from helix_desktop.replay.report import columns, document, remarks, table
from helix_desktop.replay.trajectory import recordings

PATIENCE_S = 5.0  # between two lines that say how far it is


def replay(given: argparse.Namespace) -> int:
    """Measure recordings; the figures on standard output. Raises RecordingUnusable, InputUnusable."""
    make = partial(Replayer, policy=policy_named(given.policy), window=given.window)
    usual = RATE if given.recalls else None
    rate = usual if given.recall_rate is None else given.recall_rate
    options = Options(given.window, given.reach_every, rate)
    paths = recordings(given.files)
    measured = measure_all(paths, make, options, given.jobs, _Progress(len(paths)))
    if given.json:
        out(json.dumps(document(measured), indent=1))
        return 0
    out(table(columns(measured)))
    for line in remarks(measured):
        err(line)
    return 0


def policy_named(name: str) -> Policy:
    """The profile of that name, or the policy in that TOML file. Raises InputUnusable."""
    if name in PROFILES:
        return PROFILES[name]
    fix = f"Give {', '.join(PROFILES)}, or a TOML file."
    try:
        return policy_from(tomllib.loads(Path(name).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InputUnusable(f"There is no policy {name!r}.", "It is no profile and no file.", fix) from error
    except OSError as error:
        raise InputUnusable(
            f"The policy {name} cannot be read.", f"{error.strerror or error}.", fix
        ) from error
    except ValueError as error:
        raise InputUnusable(f"{name} is no policy.", f"{error}.", "Correct it.") from error


class _Progress:
    """Says how many are done, when it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._said = time.monotonic()

    def __call__(self, done: int) -> None:
        """So many are done."""
        if time.monotonic() - self._said >= PATIENCE_S and done < self._total:
            self._said = time.monotonic()
            err(f"{done} of {self._total} recordings measured")
