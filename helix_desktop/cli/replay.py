"""The command `replay`: replay recorded sessions under a policy and print the figures."""

from __future__ import annotations

import argparse
import json
import math
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from helix_desktop.cli.output import print_err, print_out
from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_from
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, error_reason, system_reason
from helix_desktop.replay.measure import RecordingFigures, Totals, measure_recording, totals_of
from helix_desktop.words.numbers import format_integer
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Command line")
text = TextContext("Command line")

PROGRESS_INTERVAL_S = 5.0  # between two lines that say how far it is


def replay(args: argparse.Namespace) -> int:
    """Measure recordings and print the figures. Raises InvalidRecording, InvalidInput."""
    policy = load_policy(args.policy)
    paths = dict.fromkeys(args.files)
    figures, progress = [], _Progress(len(paths))
    for done, path in enumerate(paths, 1):
        figures.append(measure_recording(path, policy, args.window))
        progress(done)
    if args.json:
        document = {
            "files": [_document(one) for one in figures],
            "total": msgspec.to_builtins(totals_of(figures)),
        }
        print_out(json.dumps(document, indent=1))
        return 0
    totals = totals_of(figures)
    names = [translate(name) for name, _ in _ROWS]
    cells = [cell(totals) for _, cell in _ROWS]
    name_width, cell_width = max(map(len, names)), max(map(len, cells))
    for name, cell in zip(names, cells, strict=True):
        print_out(f"{name:<{name_width}}  {cell:>{cell_width}}")
    for one in figures:
        if one.reach.lost:
            print_err(tr("{file}: lost {calls}", file=one.file, calls=one.reach.lost))
        for reason in one.faults.reasons:
            print_err(tr("{file}: {problem}", file=one.file, problem=reason))
    return 0


def _document(figures: RecordingFigures) -> dict[str, object]:
    own = totals_of([figures])
    return {
        **msgspec.to_builtins(figures),
        "input_of_unmanaged": own.input_of_sums,
        "billed_of_unmanaged": own.billed_of_sums,
        "tool_saved": own.tool_saved,
        "reachable": own.reachable,
        "in_window": own.in_window,
        "coverage_share": own.coverage_share,
        "coverage_share_old": own.coverage_share_old,
        "coverage_share_very_old": own.coverage_share_very_old,
    }


def _percent(share: float) -> str:
    return current_language().show_decimal(share * 100, 1)


def _percent_floor(share: float) -> str:
    """Format a share as percent, rounded down: 100.0 means that nothing is missing."""
    return current_language().show_decimal(math.floor(share * 1000) / 10, 1)


_ROWS: Sequence[tuple[TranslatableText, Callable[[Totals], str]]] = (
    (text("recordings"), lambda totals: format_integer(totals.files)),
    (text("model calls"), lambda totals: format_integer(totals.requests)),
    (text("input tokens"), lambda totals: format_integer(totals.input_tokens)),
    (text("input tokens, unmanaged"), lambda totals: format_integer(totals.unmanaged_input_tokens)),
    (text("input, % of unmanaged"), lambda totals: _percent(totals.input_of_sums)),
    (text("billed, % of unmanaged"), lambda totals: _percent(totals.billed_of_sums)),
    (text("largest request, tokens"), lambda totals: format_integer(totals.peak_window)),
    (text("output tokens saved, %"), lambda totals: _percent(totals.tool_saved)),
    (text("outputs that can be recalled, % of bytes"), lambda totals: _percent_floor(totals.reachable)),
    (text("outputs in the context, % of bytes"), lambda totals: _percent(totals.in_window)),
    (
        text("call arguments that can be recalled, % of bytes"),
        lambda totals: _percent_floor(totals.arguments_reachable),
    ),
    (
        text("identifiers of the next call in the context, %"),
        lambda totals: _percent(totals.coverage_share),
    ),
    (
        text("of those last seen more than 5 model calls ago, %"),
        lambda totals: _percent(totals.coverage_share_old),
    ),
    (
        text("of those last seen more than 20 model calls ago, %"),
        lambda totals: _percent(totals.coverage_share_very_old),
    ),
    (text("requests over the context window"), lambda totals: format_integer(totals.over_window)),
    (text("requests that couldn't be made"), lambda totals: format_integer(totals.not_made)),
    (text("times outputs were cached"), lambda totals: format_integer(totals.counts.sweeps)),
    (text("times steps were compacted as notes"), lambda totals: format_integer(totals.counts.folds)),
    (
        text("times messages were compacted as handovers"),
        lambda totals: format_integer(totals.counts.handovers),
    ),
    (text("prepared handovers"), lambda totals: format_integer(totals.counts.checkpoints)),
    (text("times facts were written"), lambda totals: format_integer(totals.counts.observations)),
    (text("times facts were merged"), lambda totals: format_integer(totals.counts.reflections)),
    (text("of these without a model"), lambda totals: format_integer(totals.counts.fallbacks)),
    (
        text("requests that don't continue the one before"), lambda totals: format_integer(totals.rewrites)
    ),
)  # fmt: skip


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
    def __init__(self, total: int) -> None:
        self._total = total
        self._reported_at = time.monotonic()

    def __call__(self, done: int) -> None:
        if time.monotonic() - self._reported_at >= PROGRESS_INTERVAL_S and done < self._total:
            self._reported_at = time.monotonic()
            print_err(tr("{done} of {total} recordings measured", done=done, total=self._total))
