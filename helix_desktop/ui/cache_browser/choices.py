"""What the table can be narrowed to beside words, and the menu to choose it from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.context.content import EVERYTHING, Filter
from helix_desktop.context.digest import ellipsize
from helix_desktop.ui.cache_browser.rows import CACHE_STATES, CacheState

_KB, _HOUR_MS = 1024, 3_600_000
_DAY_MS = 24 * _HOUR_MS
_MOST_SESSIONS = 12
_NAMED = 48  # characters of a name on a chip or in the menu

Slot: TypeAlias = Literal["state", "tool", "session", "path", "size", "age", "unused", "orphan", "pinned"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One condition: its slot, which holds one at a time, its words, and what it asks of the store."""

    slot: Slot
    words: str
    asks: Mapping[str, Any]
    state: CacheState | None = None  # asked of the session's window, which the store does not know


SIZES = (
    Choice("size", "10 KB and more", {"least_size": 10 * _KB}),
    Choice("size", "100 KB and more", {"least_size": 100 * _KB}),
    Choice("size", "1 MB and more", {"least_size": _KB * _KB}),
    Choice("size", "Less than 10 KB", {"most_size": 10 * _KB - 1}),
)
UNUSED = Choice("unused", "Never recalled", {"unused": True})
PINNED = Choice("pinned", "Pinned", {"pinned": True})
ORPHAN = Choice("orphan", "Nothing refers to it", {"orphan": True})


def ages(now: int) -> tuple[Choice, ...]:
    """The choices of age at a time in milliseconds since 1970."""
    return (
        Choice("age", "Last hour", {"since": now - _HOUR_MS}),
        Choice("age", "Last 24 hours", {"since": now - _DAY_MS}),
        Choice("age", "Last 7 days", {"since": now - 7 * _DAY_MS}),
        Choice("age", "Older than 30 days", {"until": now - 30 * _DAY_MS}),
    )


def of_state(state: CacheState) -> Choice:
    """Only what stands so in the session's window."""
    return Choice("state", f"State: {state}", {}, state)


def of_tool(tool: str) -> Choice:
    """Only what one tool gave."""
    return Choice("tool", f"Tool: {_short(tool)}", {"tool": tool})


def of_path(path: str) -> Choice:
    """Only what has these words in its target."""
    return Choice("path", f"Target: {_short(path)}", {"target": path})


def of_session(session: str, title: str) -> Choice:
    """Only what one session stored first."""
    return Choice("session", f"Session: {ellipsize(title or session[:8], _NAMED)}", {"session": session})


def filter_of(chosen: Iterable[Choice]) -> Filter:
    """What all of them ask together."""
    asked: dict[str, Any] = {}
    for choice in chosen:
        asked |= choice.asks
    return msgspec.structs.replace(EVERYTHING, **asked)


def choices_menu(
    parent: QWidget,
    chosen: Mapping[Slot, Choice],
    tools: Sequence[str],
    sessions: Sequence[tuple[str, str]],
    now: int,
    toggle: Callable[[Choice], None],
) -> QMenu:
    """A menu of everything that can be chosen; what holds is checked, and let go by choosing it again."""
    menu = QMenu(parent)
    titled: tuple[tuple[str, Sequence[Choice]], ...] = (
        ("State", [of_state(state) for state in CACHE_STATES]),
        ("Tool", [of_tool(tool) for tool in tools]),
        ("Session", [of_session(*one) for one in sessions[:_MOST_SESSIONS]]),
        ("Size", SIZES),
        ("Age", ages(now)),
    )
    for title, offered in titled:
        part = menu.addMenu(title)
        part.setEnabled(bool(offered))
        for choice in offered:
            part.addAction(_action(part, choice, chosen, toggle))
    menu.addSeparator()
    for choice in (PINNED, UNUSED, ORPHAN):
        menu.addAction(_action(menu, choice, chosen, toggle))
    return menu


def _action(
    menu: QMenu, choice: Choice, chosen: Mapping[Slot, Choice], toggle: Callable[[Choice], None]
) -> QAction:
    held = chosen.get(choice.slot)
    words = choice.words.partition(": ")[2] or choice.words
    action = QAction(
        words.replace("&", "&&"),
        menu,
        checkable=True,
        checked=held is not None and held.words == choice.words,
    )
    action.triggered.connect(lambda _: toggle(choice))
    return action


def _short(name: str) -> str:
    return name if len(name) <= _NAMED else f"…{name[1 - _NAMED :]}"
