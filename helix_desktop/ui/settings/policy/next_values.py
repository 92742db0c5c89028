"""The values beside the one that a policy field has: what its arrows lead to, in round steps."""

from __future__ import annotations

from itertools import chain, zip_longest
from math import ceil, floor, log10

from helix_desktop.ui.settings.forms import PolicyField, PolicyValue

_STEPS_EACH_WAY = 3
_PARTS = 8  # a step is about so small a part of a number


def next_value(field: PolicyField, value: float, direction: int) -> int | float | None:
    """Return the next round value above (1) or below (-1) a number; None at the end of what is allowed."""
    scale = 100 if field.is_percent else 1
    number = round(value * scale, 6)
    step = field.step or (1 if field.is_percent else _round_step(max(number, _default(field))))
    steps = floor(number / step) + 1 if direction > 0 else ceil(number / step) - 1
    following = min(max(steps * step, field.minimum * scale), field.maximum * scale)
    return field.parse(str(following)) if (following - number) * direction > 0 else None


def near_values(field: PolicyField, direction: int = 0) -> tuple[PolicyValue, ...]:
    """Return what a field may be changed to next, likeliest first.

    The last step went in a `direction`, and the next one probably does too; 0: there was none.
    """
    if isinstance(field.value, bool):
        return (not field.value,)
    if isinstance(field.value, str):
        return tuple(value for value, _ in field.choices if value != field.value)
    ways = [_steps(field, field.value, way) for way in (direction or 1, -direction or -1)]
    in_turns = chain(*ways) if direction else chain.from_iterable(zip_longest(*ways))
    return tuple(value for value in in_turns if value is not None)


def _steps(field: PolicyField, value: float, direction: int) -> tuple[int | float, ...]:
    """Return the next values in a direction."""
    values: list[int | float] = []
    while len(values) < _STEPS_EACH_WAY:
        following = next_value(field, values[-1] if values else value, direction)
        if following is None:
            break
        values.append(following)
    return tuple(values)


def _default(field: PolicyField) -> float:
    return field.default if isinstance(field.default, int | float) else 0


def _round_step(number: float) -> int:
    """Return 1, 2 or 5 times a power of ten: at most an eighth of a number, and at least 1."""
    max_step = max(number / _PARTS, 1)
    power: int = 10 ** floor(log10(max_step))
    return next(factor * power for factor in (5, 2, 1) if factor * power <= max_step)
