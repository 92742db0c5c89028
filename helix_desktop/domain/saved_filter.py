"""A filter of the cache browser that the user named."""

from __future__ import annotations

import msgspec

MAX_NAME_CHARS = 60


class SavedCondition(msgspec.Struct, frozen=True):
    """One condition: what it is about, its value, and the name of what that stands for (of a session)."""

    about: str
    value: str = ""
    label: str = ""


class SavedFilter(msgspec.Struct, frozen=True):
    """What the table is narrowed to: words, the session on screen only, conditions."""

    name: str
    text: str = ""
    session_only: bool = False
    conditions: tuple[SavedCondition, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Return all that the user or the workspace wrote in it."""
        values = (word for condition in self.conditions for word in (condition.value, condition.label))
        return self.name, self.text, *values


def with_filter(filters: tuple[SavedFilter, ...], added: SavedFilter) -> tuple[SavedFilter, ...]:
    """Return filters with one more; it takes the place of one with the same name, whatever its case."""
    names = [existing.name.casefold() for existing in filters]
    if added.name.casefold() not in names:
        return (*filters, added)
    at = names.index(added.name.casefold())
    return (*filters[:at], added, *filters[at + 1 :])
