"""`./helix bench --trajectories DIR OPTION...`: measure recorded sessions under one policy."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial

from helix_desktop.cli import argument_types
from helix_desktop.cli.output import print_err, print_out
from helix_desktop.cli.parsers.all_commands import add_json, add_policy, add_window
from helix_desktop.cli.replay import load_policy
from helix_desktop.domain.errors import HelixError
from helix_desktop.replay import Replayer
from helix_desktop.system.exit_codes import USAGE
from helix_desktop.words.translation import error_text
from tests.benchmarks.replay.measure import MeasureOptions, find_recordings, measure_all
from tests.benchmarks.replay.recalls import DEFAULT_RATE
from tests.benchmarks.replay.report import (
    app_prompt_line,
    count_app_prompt,
    format_table,
    to_document,
    totals_by_column,
    warning_lines,
)

MAX_JOBS = 64
PROGRESS_INTERVAL_S = 5.0  # between two lines that say how far it is


def main(words: Sequence[str]) -> int:
    """Measure, and print the figures; return the exit code."""
    args = _parser().parse_args(words)
    try:
        policy = load_policy(args.policy)
        create_replayer = partial(Replayer, policy=policy, window=args.window)
        default_rate = DEFAULT_RATE if args.recalls else None
        rate = default_rate if args.recall_rate is None else args.recall_rate
        options = MeasureOptions(args.window, args.reach_every, rate, manage_at_most=policy.manage_at_most)
        paths = find_recordings(args.files)
        measured = measure_all(paths, create_replayer, options, args.jobs, _Progress(len(paths)))
    except HelixError as error:
        print_err(error_text(error))
        return USAGE
    if args.json:
        print_out(json.dumps(to_document(measured, count_app_prompt()), indent=1))
        return 0
    print_out(format_table(totals_by_column(measured)))
    print_out(app_prompt_line(count_app_prompt()))
    for line in warning_lines(measured):
        print_err(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./helix bench --trajectories", description="Measure what a policy does with recorded sessions."
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=argument_types.path,
        metavar="FILE",
        help="recordings, or folders of recordings",
    )
    add_policy(parser)
    add_window(parser, default=128_000)
    parser.add_argument("--recalls", action="store_true", help="simulate recalls")
    parser.add_argument(
        "--recall-rate",
        type=_fraction,
        metavar="SHARE",
        help="share of model calls with a simulated recall, in addition to files that are read again",
    )
    parser.add_argument(
        "--reach-every",
        type=argument_types.number_between(0, sys.maxsize),
        default=0,
        metavar="N",
        help="recall every output at each Nth model call, not only at the last",
    )
    parser.add_argument(
        "--jobs",
        type=argument_types.number_between(1, MAX_JOBS),
        default=1,
        metavar="N",
        help="number of processes",
    )
    add_json(parser)
    return parser


def _fraction(word: str) -> float:
    """Parse a share from 0 to 1. Raises ValueError."""
    share = float(word)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1 (got {word!r})")
    return share


class _Progress:
    """Prints how many recordings are measured, if it takes long."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._reported_at = time.monotonic()

    def __call__(self, done: int) -> None:
        """Print the progress if the last line is old enough."""
        if time.monotonic() - self._reported_at >= PROGRESS_INTERVAL_S and done < self._total:
            self._reported_at = time.monotonic()
            print_err(f"{done} of {self._total} recordings measured")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
