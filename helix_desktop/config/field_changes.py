"""Changes of settings, made field by field, so that what another process has changed stays."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any


def apply_changes(
    target: MutableMapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Make the changes in `target` that lead from `before` to `after`; all else of it stays.

    Tables change field by field, and lists of tables with names, such as those of providers, by name.
    """
    for name in before:
        if name not in after:
            target.pop(name, None)
    for name, value in after.items():
        old = before.get(name)
        if name in before and old == value:
            continue
        current = target.get(name)
        if isinstance(value, Mapping) and isinstance(current, MutableMapping):
            apply_changes(current, _table(old), value)
        elif _has_names(value, old) and isinstance(current, MutableSequence) and _are_named(current):
            _apply_list_changes(current, _tables(old), value)
        else:
            target[name] = value


def named_table(tables: Sequence[Any], name: str) -> Any:
    """Return the first table of that name; None if there is none."""
    return next((table for table in tables if table.get("name") == name), None)


def _apply_list_changes(
    target: MutableSequence[Any], before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> None:
    names = [table["name"] for table in after]
    for old in before:
        if old["name"] not in names:
            _remove(target, old["name"])
    for new in after:
        old = named_table(before, new["name"])
        if old == new:
            continue
        current = named_table(target, new["name"])
        if current is None:
            target.append(dict(new))
        else:
            apply_changes(current, old or {}, new)
    _sort(target, names)


def _remove(target: MutableSequence[Any], name: str) -> None:
    for place, table in enumerate(target):
        if table.get("name") == name:
            del target[place]
            return


def _sort(target: MutableSequence[Any], names: Sequence[str]) -> None:
    """Put the tables of these names into this order; the others follow in theirs."""
    first: dict[str, Any] = {}
    others: list[Any] = []
    for table in target:
        name = table.get("name")
        if name in names and name not in first:
            first[name] = table
        else:
            others.append(table)
    ordered = [*(first[name] for name in names if name in first), *others]
    if any(table is not place for table, place in zip(ordered, target, strict=True)):
        target.clear()
        target.extend(ordered)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _tables(value: Any) -> Sequence[Mapping[str, Any]]:
    return value if isinstance(value, Sequence) and _are_named(value) else ()


def _has_names(value: Any, old: Any) -> bool:
    """Return True for a list of tables with names, also for an empty one that had such tables before."""
    lists = [each for each in (value, old) if isinstance(each, list | tuple)]
    is_list = isinstance(value, list | tuple)
    return is_list and any(lists) and all(_are_named(each) for each in lists)


def _are_named(tables: Sequence[Any]) -> bool:
    return all(isinstance(table, Mapping) and isinstance(table.get("name"), str) for table in tables)
