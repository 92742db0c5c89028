"""The table's filters other than text, and the menu to choose them from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.store.entries import DEFAULT_FILTER, EntryFilter
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.ui.cache.rows import CACHE_STATES, CacheState

_KB, _HOUR_MS = 1024, 3_600_000
_DAY_MS = 24 * _HOUR_MS
_MAX_SESSIONS = 12
_MAX_NAME_CHARS = 48  # characters of a name on a chip or in the menu

OptionSlot: TypeAlias = Literal[
    "state", "tool", "session", "path", "size", "age", "unused", "orphan", "pinned"
]


@dataclass(frozen=True, slots=True)
class FilterOption:
    """One condition: its slot, which holds one at a time, its words, and what it asks of the store."""

    slot: OptionSlot
    label: str
    criteria: Mapping[str, Any]
    state: CacheState | None = None  # asked of the session's window, which the store does not know


SIZE_OPTIONS = (
    FilterOption("size", "10 KB and more", {"min_size": 10 * _KB}),
    FilterOption("size", "100 KB and more", {"min_size": 100 * _KB}),
    FilterOption("size", "1 MB and more", {"min_size": _KB * _KB}),
    FilterOption("size", "Less than 10 KB", {"max_size": 10 * _KB - 1}),
)
UNUSED_OPTION = FilterOption("unused", "Never recalled", {"unused": True})
PINNED_OPTION = FilterOption("pinned", "Pinned", {"pinned": True})
ORPHAN_OPTION = FilterOption("orphan", "Nothing refers to it", {"orphan": True})


def age_options(now_ms: int) -> tuple[FilterOption, ...]:
    """Return the choices of age at a time in milliseconds since 1970."""
    return (
        FilterOption("age", "Last hour", {"since": now_ms - _HOUR_MS}),
        FilterOption("age", "Last 24 hours", {"since": now_ms - _DAY_MS}),
        FilterOption("age", "Last 7 days", {"since": now_ms - 7 * _DAY_MS}),
        FilterOption("age", "Older than 30 days", {"until": now_ms - 30 * _DAY_MS}),
    )


def state_option(state: CacheState) -> FilterOption:
    """Only what stands so in the session's window."""
    return FilterOption("state", f"State: {state.replace('_', ' ')}", {}, state)


def tool_option(tool: str) -> FilterOption:
    """Only what one tool gave."""
    return FilterOption("tool", f"Tool: {_shorten(tool)}", {"tool": tool})


def target_option(target: str) -> FilterOption:
    """Only what has these words in its target."""
    return FilterOption("path", f"Target: {_shorten(target)}", {"target": target})


def session_option(session: str, title: str) -> FilterOption:
    """Only what one session stored first."""
    return FilterOption(
        "session", f"Session: {ellipsize(title or session[:8], _MAX_NAME_CHARS)}", {"session": session}
    )


def build_entry_filter(options: Iterable[FilterOption]) -> EntryFilter:
    """Return what all of them ask together."""
    criteria: dict[str, Any] = {}
    for choice in options:
        criteria |= choice.criteria
    return msgspec.structs.replace(DEFAULT_FILTER, **criteria)


def filter_menu(
    parent: QWidget,
    active: Mapping[OptionSlot, FilterOption],
    tools: Sequence[str],
    sessions: Sequence[tuple[str, str]],
    now_ms: int,
    toggle: Callable[[FilterOption], None],
) -> QMenu:
    """Return a menu of all options; active ones are checked, and removed by choosing them again."""
    menu = QMenu(parent)
    titled: tuple[tuple[str, Sequence[FilterOption]], ...] = (
        ("State", [state_option(state) for state in CACHE_STATES]),
        ("Tool", [tool_option(tool) for tool in tools]),
        ("Session", [session_option(*session) for session in sessions[:_MAX_SESSIONS]]),
        ("Size", SIZE_OPTIONS),
        ("Age", age_options(now_ms)),
    )
    for title, offered in titled:
        part = menu.addMenu(title)
        part.setEnabled(bool(offered))
        for choice in offered:
            part.addAction(_action(part, choice, active, toggle))
    menu.addSeparator()
    for choice in (PINNED_OPTION, UNUSED_OPTION, ORPHAN_OPTION):
        menu.addAction(_action(menu, choice, active, toggle))
    return menu


def _action(
    menu: QMenu,
    option: FilterOption,
    active: Mapping[OptionSlot, FilterOption],
    toggle: Callable[[FilterOption], None],
) -> QAction:
    current = active.get(option.slot)
    words = option.label.partition(": ")[2] or option.label
    action = QAction(
        words.replace("&", "&&"),
        menu,
        checkable=True,
        checked=current is not None and current.label == option.label,
    )
    action.triggered.connect(lambda _: toggle(option))
    return action


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else f"…{name[1 - _MAX_NAME_CHARS :]}"
