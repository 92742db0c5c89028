"""Harmonics: a tide as a sum of cosines, fitted to readings and continued.

The level at time t (hours since EPOCH) is taken to be mean + sum of a_k cos(s_k t) + b_k sin(s_k t), with the speed
s_k of each constituent known from astronomy. The fit is ordinary least squares by the normal equations; nodal
corrections are left out, which is fair for records of weeks (docs/method.md).
"""

import math
from collections import namedtuple
from datetime import datetime

from tidewatch.clock import UTC, hours_between

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

# Degrees per hour.
SPEEDS = {
    "M2": 28.9841042,
    "S2": 30.0,
    "N2": 28.4397295,
    "K2": 30.0821373,
    "K1": 15.0410686,
    "O1": 13.9430356,
    "P1": 14.9589314,
    "M4": 57.9682084,
    "MS4": 58.9841042,
}
DEFAULT = ("M2", "S2", "K1", "O1", "M4")

Constituent = namedtuple("Constituent", "name amplitude phase")
Constituent.__doc__ = "A cosine: amplitude in metres, phase lag in degrees behind EPOCH."
Tide = namedtuple("Tide", "mean constituents rms")
Tide.__doc__ = "A fitted tide: mean level (m), its constituents, and the root mean square of what is left (m)."


def fit(readings, names=DEFAULT):
    """Fit a tide to readings.

    Raises ValueError when there are fewer readings than unknowns, or when the record is too short to tell two
    constituents apart.
    """
    unknowns = 1 + 2 * len(names)
    if len(readings) < unknowns:
        raise ValueError(f"{len(readings)} readings cannot give {unknowns} unknowns")
    rows = [_row(reading.time, names) for reading in readings]
    levels = [reading.level for reading in readings]
    solution = _solve(*_normal(rows, levels))
    left = [level - _dot(row, solution) for row, level in zip(rows, levels)]
    rms = math.sqrt(sum(value * value for value in left) / len(left))
    return Tide(solution[0], _constituents(names, solution), rms)


def predict(tide, time):
    """The level (metres) of a tide at a time."""
    hours = hours_between(EPOCH, time)
    level = tide.mean
    for part in tide.constituents:
        level += part.amplitude * math.cos(math.radians(SPEEDS[part.name] * hours - part.phase))
    return level


def predict_many(tide, times):
    """The levels of a tide at many times."""
    return [predict(tide, time) for time in times]


def _row(time, names):
    hours = hours_between(EPOCH, time)
    row = [1.0]
    for name in names:
        angle = math.radians(SPEEDS[name] * hours)
        row += [math.cos(angle), math.sin(angle)]
    return row


def _constituents(names, solution):
    found = []
    for index, name in enumerate(names):
        cosine, sine = solution[1 + 2 * index : 3 + 2 * index]
        phase = math.degrees(math.atan2(sine, cosine)) % 360.0
        found.append(Constituent(name, math.hypot(cosine, sine), phase))
    return tuple(found)


def _normal(rows, levels):
    size = len(rows[0])
    matrix = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    for row, level in zip(rows, levels):
        for i in range(size):
            right[i] += row[i] * level
            for j in range(i, size):
                matrix[i][j] += row[i] * row[j]
    for i in range(size):
        for j in range(i):
            matrix[i][j] = matrix[j][i]
    return matrix, right


def _solve(matrix, right):
    """Gauss with partial pivoting; matrix and right side are used up."""
    size = len(right)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        if abs(matrix[pivot][column]) < 1e-6:
            raise ValueError("the record is too short to tell these constituents apart")
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        right[column], right[pivot] = right[pivot], right[column]
        for row in range(column + 1, size):
            factor = matrix[row][column] / matrix[column][column]
            right[row] -= factor * right[column]
            for k in range(column, size):
                matrix[row][k] -= factor * matrix[column][k]
    solution = [0.0] * size
    for row in reversed(range(size)):
        rest = _dot(matrix[row][row + 1 :], solution[row + 1 :])
        solution[row] = (right[row] - rest) / matrix[row][row]
    return solution


def _dot(first, second):
    return sum(a * b for a, b in zip(first, second))
