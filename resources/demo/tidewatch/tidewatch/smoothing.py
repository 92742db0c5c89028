"""Smoothing: waves and ships out, tide in."""

from statistics import median


def moving_mean(levels, width):
    """The mean over `width` values (odd) around each; shorter at the ends, so that no value is lost.

    Raises ValueError for an even or non-positive width, which would shift the tide in time.
    """
    _check(width)
    half = width // 2
    smoothed = []
    for index in range(len(levels)):
        part = levels[max(0, index - half) : index + half + 1]
        smoothed.append(sum(part) / len(part))
    return smoothed


def moving_median(levels, width):
    """The median over `width` values (odd) around each; keeps steps, drops single outliers."""
    _check(width)
    half = width // 2
    return [median(levels[max(0, index - half) : index + half + 1]) for index in range(len(levels))]


def smooth_readings(readings, width=5, keep_mm=True):
    """The readings with smoothed levels, rounded to millimetres as the gauge gives them."""
    levels = moving_mean([reading.level for reading in readings], width)
    places = 3 if keep_mm else 6
    return [reading._replace(level=round(level, places)) for reading, level in zip(readings, levels)]


def _check(width):
    if width < 1 or width % 2 == 0:
        raise ValueError(f"the width must be odd and positive, not {width}")
