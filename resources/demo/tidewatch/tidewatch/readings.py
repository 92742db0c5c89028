"""Readings: one water level at one time, and the files that hold them.

A data file is CSV with the header `time,level_m,flag`; see docs/formats.md. Levels are metres above the gauge's
own zero until a station's offset is added.
"""

import csv
from collections import namedtuple
from pathlib import Path

from tidewatch.clock import day_bounds, parse_time, show_time

Reading = namedtuple("Reading", "time level flag")
Reading.__doc__ = "A level in metres at a UTC time; flag is ok, suspect or maint."

FLAGS = ("ok", "suspect", "maint")
HEADER = ["time", "level_m", "flag"]
# Metres; outside of these, the sensor is broken.
LOWEST = -5.0
HIGHEST = 15.0


class BadFile(Exception):
    """A data file cannot be read; says which line and why."""


def load(path):
    """All readings of a file, in time order.

    Raises BadFile with the line number when a line is wrong, OSError when there is no such file.
    """
    path = Path(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(row for row in file if not row.startswith("#"))
        header = next(rows, None)
        if header != HEADER:
            raise BadFile(f"{path.name}: the header is {header}, not {HEADER}")
        readings = [_reading(path.name, number, row) for number, row in enumerate(rows, 2) if row]
    readings.sort(key=lambda reading: reading.time)
    _refuse_twins(path.name, readings)
    return readings


def _reading(name, number, row):
    if len(row) != 3:
        raise BadFile(f"{name}, line {number}: {len(row)} fields, not 3")
    try:
        time = parse_time(row[0])
        level = float(row[1])
    except ValueError as error:
        raise BadFile(f"{name}, line {number}: {error}") from error
    if row[2] not in FLAGS:
        raise BadFile(f"{name}, line {number}: unknown flag {row[2]!r}")
    if not LOWEST <= level <= HIGHEST:
        raise BadFile(f"{name}, line {number}: level {level} m cannot be")
    return Reading(time, level, row[2])


def _refuse_twins(name, readings):
    for first, second in zip(readings, readings[1:]):
        if first.time == second.time:
            raise BadFile(f"{name}: two readings at {show_time(first.time)}")


def save(path, readings):
    """Write readings as a data file, millimetres exact."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(HEADER)
        for reading in readings:
            rows.writerow([show_time(reading.time), f"{reading.level:.3f}", reading.flag])


def usable(readings):
    """Readings without those taken during maintenance."""
    return [reading for reading in readings if reading.flag != "maint"]


def shifted(readings, offset):
    """The same readings with a station's offset (metres) added to each level."""
    return [reading._replace(level=round(reading.level + offset, 3)) for reading in readings]


def of_day(readings, day, offset_minutes=0):
    """The readings of one local day (YYYY-MM-DD)."""
    start, end = day_bounds(day, offset_minutes)
    return [reading for reading in readings if start <= reading.time < end]


def interval_minutes(readings):
    """The commonest step between readings, in minutes; 0 when there are fewer than two."""
    steps = {}
    for first, second in zip(readings, readings[1:]):
        step = round((second.time - first.time).total_seconds() / 60)
        steps[step] = steps.get(step, 0) + 1
    return max(steps, key=steps.get) if steps else 0
