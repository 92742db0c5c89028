"""Lines of several facts."""

from __future__ import annotations

from collections.abc import Iterable


def dotted(parts: Iterable[str]) -> str:
    """Return the parts that are not empty as one line, separated by dots."""
    return " · ".join(filter(None, parts))
