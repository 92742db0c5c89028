"""Extremes: the high and low waters in a row of readings.

A high water is a reading above what comes before and after it; of several within LEAST_GAP_H hours only the
highest counts, because a semidiurnal tide has about 12.4 hours between two high waters.
"""

from collections import namedtuple

from tidewatch.clock import hours_between

Extreme = namedtuple("Extreme", "kind time level")
Extreme.__doc__ = "A high or low water: kind is high or low, level in metres."

LEAST_GAP_H = 4.0


def find_extremes(readings, least_gap_h=LEAST_GAP_H):
    """High and low waters in time order.

    The first and the last reading are never one: what lies outside is not known.
    """
    highs = _strongest(_turns(readings, +1), +1, least_gap_h)
    lows = _strongest(_turns(readings, -1), -1, least_gap_h)
    return sorted(highs + lows, key=lambda extreme: extreme.time)


def _turns(readings, sign):
    """Every reading at which the level turns: down for sign +1, up for sign -1."""
    kind = "high" if sign > 0 else "low"
    found = []
    for before, here, after in zip(readings, readings[1:], readings[2:]):
        if sign * (here.level - before.level) > 0 and sign * (here.level - after.level) > 0:
            found.append(Extreme(kind, here.time, here.level))
    return found


def _strongest(extremes, sign, least_gap_h):
    """Of extremes closer together than the least gap, only the strongest."""
    kept = []
    for extreme in extremes:
        if kept and hours_between(kept[-1].time, extreme.time) < least_gap_h:
            if sign * (extreme.level - kept[-1].level) > 0:
                kept[-1] = extreme
        else:
            kept.append(extreme)
    return kept


def highest(extremes):
    """The highest high water, or None."""
    highs = [extreme for extreme in extremes if extreme.kind == "high"]
    return max(highs, key=lambda extreme: extreme.level) if highs else None


def ranges(extremes):
    """The tidal range (metres) of each step from one extreme to the next of the other kind."""
    found = []
    for first, second in zip(extremes, extremes[1:]):
        if first.kind != second.kind:
            found.append(round(abs(second.level - first.level), 3))
    return found


def mean_range(extremes):
    """The mean tidal range in metres, or None when there is none."""
    found = ranges(extremes)
    return round(sum(found) / len(found), 3) if found else None
