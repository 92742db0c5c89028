"""The command `replay`: replay recorded sessions under a policy and print the figures."""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from functools import partial
from pathlib import Path

from helix_desktop.cli.output import print_err, print_out
from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_from
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, error_reason, system_reason
from helix_desktop.replay import Replayer
from helix_desktop.replay.app_prompt import count_app_prompt
from helix_desktop.replay.measure import MeasureOptions
from helix_desktop.replay.parallel import measure_all
from helix_desktop.replay.recording import find_recordings
from helix_desktop.replay.report import (
    app_prompt_line,
    format_table,
    to_document,
    totals_by_column,
    warning_lines,
)
from helix_desktop.replay.simulated_recalls import DEFAULT_RATE
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
text = TextContext("Command line")

PROGRESS_INTERVAL_S = 5.0  # between two lines that say how far it is


def replay(args: argparse.Namespace) -> int:
    """Measure recordings and print the figures. Raises InvalidRecording, InvalidInput."""
    create_replayer = partial(Replayer, policy=load_policy(args.policy), window=args.window)
    default_rate = DEFAULT_RATE if args.recalls else None
    rate = default_rate if args.recall_rate is None else args.recall_rate
    options = MeasureOptions(args.window, args.reach_every, rate)
    paths = find_recordings(args.files)
    measurements = measure_all(paths, create_replayer, options, args.jobs, _Progress(len(paths)))
    if args.json:
        print_out(json.dumps(to_document(measurements, count_app_prompt()), indent=1))
        return 0
    print_out(format_table(totals_by_column(measurements)))
    print_out(app_prompt_line(count_app_prompt()))
    for line in warning_lines(measurements):
        print_err(line)
    return 0


def load_policy(name_or_path: str) -> ContextPolicy:
    """Return the profile of this name, as the window writes it or not, or the policy in this TOML file.

    Raises InvalidInput.
    """
    if name_or_path.lower() in PROFILES:
        return PROFILES[name_or_path.lower()]
    fix = text("Use one of {profiles}, or the path of a TOML file.", profiles=tuple(PROFILES))
    try:
        return policy_from(tomllib.loads(Path(name_or_path).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InvalidInput(
            text("Policy {name} not found.", name=repr(name_or_path)),
            text("No profile or file has this name."),
            fix,
        ) from error
    except OSError as error:
        raise InvalidInput(
            text("The policy {path} can't be read.", path=name_or_path),
            system_reason(error),
            fix,
        ) from error
    except ValueError as error:
        raise InvalidInput(
            text("The policy in {path} isn't valid.", path=name_or_path),
            text("{reason}.", reason=error_reason(error)),
            text("Correct the file."),
        ) from error


class _Progress:
    """Prints how many recordings are measured, if it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._reported_at = time.monotonic()

    def __call__(self, done: int) -> None:
        """Print the progress if the last line is old enough."""
        if time.monotonic() - self._reported_at >= PROGRESS_INTERVAL_S and done < self._total:
            self._reported_at = time.monotonic()
            print_err(tr("{done} of {total} recordings measured", done=done, total=self._total))
