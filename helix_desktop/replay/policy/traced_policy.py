"""Which fields of a policy a replay has read, and how: whatever the others are, it comes to the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import floor, inf
from operator import attrgetter
from typing import Any, TypeAlias, Union

from helix_desktop.context.policy import ContextPolicy

Number: TypeAlias = int | float
Operand: TypeAlias = Union[int, float, "TracedNumber"]
Operation: TypeAlias = Callable[[Number, Number], Number]


class TracedNumber:
    """A number as the engine uses it, and how it comes from a policy.

    What it is compared with bounds what it may be otherwise. What is computed from it is traced as well, and
    what is read in any other way (as text, as an index) may be nothing else. It is no `int` or `float`: what
    would use it unseen fails.
    """

    def __init__(
        self, value: Number, of: Callable[[ContextPolicy], Number], trace: list[TracedNumber]
    ) -> None:
        self.value, self._of, self._trace = value, of, trace
        self._low, self._high, self._is_fixed = -inf, inf, False
        self._others: dict[TracedNumber, int] = {}  # what it was compared with: 1 if above that, -1 if below
        self._results: dict[tuple[Operation, Number, type, bool], TracedNumber] = {}
        trace.append(self)

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if under another policy each comparison so far has the same answer."""
        value = self._of(policy)
        if any(_order(value, other._of(policy)) != order for other, order in self._others.items()):
            return False
        return value == self.value or (not self._is_fixed and self._low < value < self._high)

    def _compare(self, other: Operand) -> int:
        """Return 1, 0 or -1 for above, equal or below, and note what that rests on."""
        if isinstance(other, TracedNumber):
            order = self._others[other] = _order(self.value, other.value)
            return order
        order = _order(self.value, other)
        if order > 0:
            self._low = max(self._low, other)
        elif order < 0:
            self._high = min(self._high, other)
        else:
            self._is_fixed = True
        return order

    def _fixed(self) -> Number:
        """Return the plain number, for what has to be the same."""
        self._is_fixed = True
        return self.value

    def _derive(self, operation: Operation, other: Operand, *, is_right: bool = False) -> Operand:
        """Return what an operation makes of it; `is_right`: it is the right operand."""
        if isinstance(other, TracedNumber):
            left, right = (other, self) if is_right else (self, other)
            return operation(left._fixed(), right._fixed())
        key = operation, other, type(other), is_right
        result = self._results.get(key)
        if result is None:
            of = self._of
            value = operation(other, self.value) if is_right else operation(self.value, other)
            if is_right:
                result = TracedNumber(value, lambda policy: operation(other, of(policy)), self._trace)
            else:
                result = TracedNumber(value, lambda policy: operation(of(policy), other), self._trace)
            self._results[key] = result
        return result

    def __lt__(self, other: Operand) -> bool:
        return self._compare(other) < 0

    def __le__(self, other: Operand) -> bool:
        return self._compare(other) <= 0

    def __gt__(self, other: Operand) -> bool:
        return self._compare(other) > 0

    def __ge__(self, other: Operand) -> bool:
        return self._compare(other) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float | TracedNumber):
            return False
        return self is other or self._compare(other) == 0

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        return self._compare(0) != 0

    def __add__(self, other: Operand) -> Operand:
        return self._derive(operator.add, other)

    def __radd__(self, other: Operand) -> Operand:
        return self._derive(operator.add, other, is_right=True)

    def __sub__(self, other: Operand) -> Operand:
        return self._derive(operator.sub, other)

    def __rsub__(self, other: Operand) -> Operand:
        return self._derive(operator.sub, other, is_right=True)

    def __mul__(self, other: Operand) -> Operand:
        return self._derive(operator.mul, other)

    def __rmul__(self, other: Operand) -> Operand:
        return self._derive(operator.mul, other, is_right=True)

    def __truediv__(self, other: Operand) -> Operand:
        return self._derive(operator.truediv, other)

    def __floordiv__(self, other: Operand) -> Operand:
        return self._derive(operator.floordiv, other)

    def __lshift__(self, other: Operand) -> Operand:
        return self._derive(_shifted, other)

    def __floor__(self) -> Operand:
        return self._derive(_floor, 0)

    def __int__(self) -> int:
        return int(self._fixed())

    def __float__(self) -> float:
        return float(self._fixed())

    def __index__(self) -> int:
        number = self._fixed()
        if isinstance(number, float):
            raise TypeError("a share is no index")
        return number

    def __round__(self, digits: int | None = None) -> Number:
        return round(self._fixed(), digits)

    def __str__(self) -> str:
        return str(self._fixed())

    def __format__(self, spec: str) -> str:
        return format(self._fixed(), spec)


def _order(left: Number, right: Number) -> int:
    return (left > right) - (left < right)


def _floor(number: Number, _: Number) -> int:
    return floor(number)


def _shifted(number: Number, bits: Number) -> int:
    return int(number) << int(bits)


_FIELDS = frozenset(ContextPolicy.__struct_fields__)
THRESHOLDS = frozenset({
    "intake_above", "preview_above", "sweep_min", "sweep_max", "sweep_fixed", "protect_recalls",
    "previous_turn_share", "cache_ttl_s", "fold_least", "condense_at", "observe_at", "observe_place_at",
    "reflect_at", "handover_at", "handover_cooldown_s", "handover_least_gain", "panic_at",
})  # fmt: skip
"""Fields that others are compared with: most of a session is far from them."""


class TracedPolicy:
    """A policy that remembers which fields were read; it has no methods, for theirs would not be seen."""

    def __init__(self, policy: ContextPolicy) -> None:
        self._policy = policy
        self._numbers: list[TracedNumber] = []

    def __getattr__(self, name: str) -> Any:
        """Return a field when it is read for the first time; from then on it is an attribute."""
        if name not in _FIELDS:
            raise AttributeError(name)
        value = getattr(self._policy, name)
        if name in THRESHOLDS:
            value = TracedNumber(value, attrgetter(name), self._numbers)
        self.__dict__[name] = value
        return value

    def decides_as(self, policy: ContextPolicy) -> bool:
        """Return True if all that was read so far is the same in another policy, or leads to the same."""
        read = self.__dict__.keys() & _FIELDS
        different = {name for name in read if getattr(self._policy, name) != getattr(policy, name)}
        if different - THRESHOLDS:
            return False
        return not different or all(number.decides_as(policy) for number in self._numbers)
