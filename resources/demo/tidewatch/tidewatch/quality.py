"""Quality: spikes, gaps and stuck sensors, found before anybody trusts a level.

A spike is a single reading that leaves the line between its neighbours by more than SPIKE_M. A gap is a step of
more than GAP_FACTOR times the usual interval. A sensor is stuck when STUCK_COUNT readings in a row are equal.
"""

from collections import namedtuple

from tidewatch.clock import show_time
from tidewatch.readings import interval_minutes

SPIKE_M = 0.35
GAP_FACTOR = 2.5
STUCK_COUNT = 6

Finding = namedtuple("Finding", "kind time detail")
Finding.__doc__ = "Something wrong with readings: spike, gap or stuck; where, and by how much."


def find_spikes(readings):
    """Readings that stand alone, away from the line between their neighbours."""
    found = []
    for before, here, after in zip(readings, readings[1:], readings[2:]):
        expected = _between(before, after, here.time)
        if abs(here.level - expected) > SPIKE_M:
            found.append(Finding("spike", here.time, f"{here.level - expected:+.3f} m"))
    return found


def _between(before, after, time):
    span = (after.time - before.time).total_seconds()
    share = (time - before.time).total_seconds() / span if span else 0.5
    return before.level + (after.level - before.level) * share


def find_gaps(readings):
    """Steps that are much longer than the usual one."""
    usual = interval_minutes(readings)
    found = []
    for first, second in zip(readings, readings[1:]):
        minutes = (second.time - first.time).total_seconds() / 60
        if usual and minutes > GAP_FACTOR * usual:
            found.append(Finding("gap", first.time, f"{minutes:.0f} min"))
    return found


def find_stuck(readings):
    """Runs of equal readings too long to be water."""
    found = []
    start = 0
    for index in range(1, len(readings) + 1):
        if index < len(readings) and readings[index].level == readings[start].level:
            continue
        if index - start >= STUCK_COUNT:
            found.append(Finding("stuck", readings[start].time, f"{index - start} readings"))
        start = index
    return found


def check(readings):
    """All findings, in time order."""
    found = find_spikes(readings) + find_gaps(readings) + find_stuck(readings)
    return sorted(found, key=lambda finding: (finding.time, finding.kind))


def without_spikes(readings):
    """The readings with each spike put on the line between its neighbours and flagged suspect."""
    spikes = {finding.time for finding in find_spikes(readings)}
    cleaned = list(readings)
    for index in range(1, len(readings) - 1):
        here = readings[index]
        if here.time in spikes:
            level = round(_between(readings[index - 1], readings[index + 1], here.time), 3)
            cleaned[index] = here._replace(level=level, flag="suspect")
    return cleaned


def describe(findings):
    """Findings as lines of text."""
    return [f"{show_time(finding.time)}  {finding.kind:<5}  {finding.detail}" for finding in findings]
