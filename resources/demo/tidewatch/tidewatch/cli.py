"""The command line: report, check, fit."""

import argparse
import sys

from tidewatch import __version__, quality
from tidewatch.harmonics import DEFAULT, fit
from tidewatch.readings import BadFile, load
from tidewatch.report import daily_report, prepared
from tidewatch.stations import UnknownStation, station_of
from tidewatch.surge import residuals, surges
from tidewatch.table import aligned


def main(arguments, out=None):
    """Run a command; 0 when all is well, 1 when findings need a person, 2 when it could not run."""
    out = out or sys.stdout
    options = _parser().parse_args(arguments)
    try:
        return options.run(options, out)
    except (BadFile, UnknownStation, OSError, ValueError) as error:
        print(f"tidewatch: {error}", file=sys.stderr)
        return 2


def _parser():
    parser = argparse.ArgumentParser(prog="tidewatch", description="High waters, surges and alerts.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True)
    _add(commands, "report", _report, "the high and low waters of a day").add_argument("--day", required=True)
    _add(commands, "check", _check, "look for spikes, gaps and stuck sensors")
    _add(commands, "fit", _fit, "fit a tide and list surges")
    return parser


def _add(commands, name, run, text):
    command = commands.add_parser(name, help=text)
    command.add_argument("data", help="a data file")
    command.add_argument("--station", default="harbour")
    command.set_defaults(run=run)
    return command


def _report(options, out):
    station = station_of(options.station)
    out.write(daily_report(load(options.data), station, options.day))
    return 0


def _check(options, out):
    found = quality.check(load(options.data))
    for line in quality.describe(found):
        print(line, file=out)
    print(f"{len(found)} finding{'' if len(found) == 1 else 's'}", file=out)
    return 1 if found else 0


def _fit(options, out):
    station = station_of(options.station)
    readings = prepared(load(options.data), station)
    tide = fit(readings, DEFAULT)
    rows = [(part.name, f"{part.amplitude:.3f}", f"{part.phase:.1f}") for part in tide.constituents]
    for line in aligned(rows, ("name", "amplitude m", "phase deg")):
        print(line, file=out)
    print(f"mean {tide.mean:.3f} m, rms {tide.rms:.3f} m", file=out)
    for event in surges(residuals(readings, tide)):
        print(f"surge of {event.peak:.2f} m, {event.start:%Y-%m-%d %H:%M} to {event.end:%H:%M} UTC", file=out)
    return 0
