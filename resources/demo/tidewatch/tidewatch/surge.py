"""Surge: what the weather adds to the tide.

The residual is the observed level minus the predicted one. A surge event is a stretch of residuals at or above a
limit that lasts long enough to be weather and not a passing ship.
"""

from collections import namedtuple

from tidewatch.harmonics import predict

Residual = namedtuple("Residual", "time value")
Residual.__doc__ = "Observed minus predicted level in metres."
Surge = namedtuple("Surge", "start end peak peak_time")
Surge.__doc__ = "A surge event; peak in metres above the predicted tide."

LIMIT_M = 0.30
LEAST_MINUTES = 60


def residuals(readings, tide):
    """The residual of each reading."""
    return [Residual(reading.time, round(reading.level - predict(tide, reading.time), 3)) for reading in readings]


def surges(values, limit=LIMIT_M, least_minutes=LEAST_MINUTES):
    """Surge events in a row of residuals, in time order."""
    found = []
    run = []
    for value in [*values, None]:
        if value is not None and value.value >= limit:
            run.append(value)
            continue
        if run and _minutes(run) >= least_minutes:
            peak = max(run, key=lambda residual: residual.value)
            found.append(Surge(run[0].time, run[-1].time, peak.value, peak.time))
        run = []
    return found


def skew(observed_high, predicted_high):
    """The skew surge in metres: highest observed minus highest predicted level, whatever their times."""
    return round(observed_high - predicted_high, 3)


def _minutes(run):
    return (run[-1].time - run[0].time).total_seconds() / 60
