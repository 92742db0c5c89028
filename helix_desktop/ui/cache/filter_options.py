"""The table's filters other than text, and the menu to choose them from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.store import DEFAULT_FILTER, EntryFilter, SavedCondition
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.ui.cache.rows import SAME_STATES, CacheState
from helix_desktop.ui.cache.state_labels import INDEX_LABELS, STATE_LABELS
from helix_desktop.words.translation import Translator, current_language, translate

text = TextContext("Cache")
tr = Translator("Cache")

_KB, _HOUR_MS = 1024, 3_600_000
_DAY_MS = 24 * _HOUR_MS
_MAX_SESSIONS = 12
_MAX_NAME_CHARS = 48  # characters of a name on a chip or in the menu

OptionSlot: TypeAlias = Literal[
    "state", "tool", "session", "path", "size", "age", "unused", "orphan", "pinned"
]


class FilterOption(msgspec.Struct, frozen=True):
    """One condition: its slot, which holds one at a time, its key, its name, what it asks of the store."""

    slot: OptionSlot
    key: str
    name: str  # to be translated
    criteria: Mapping[str, Any]
    state: CacheState | None = None  # asked of the session's window, which the store does not know

    @property
    def label(self) -> str:
        name = translate(self.name)
        match self.slot:
            case "state":
                return tr("State: {state}", state=name)
            case "tool":
                return tr("Tool: {tool}", tool=name)
            case "path":
                return tr("Target: {target}", target=name)
            case "session":
                return tr("Session: {session}", session=name)
        return name

    def is_same(self, other: FilterOption | None) -> bool:
        """Return True if it is the same condition, possibly asked at another time."""
        return other is not None and (self.slot, self.key) == (other.slot, other.key)


SIZE_OPTIONS = (
    FilterOption("size", "10-", text("{size} or more", size=ByteSize(10 * _KB)), {"min_size": 10 * _KB}),
    FilterOption("size", "100-", text("{size} or more", size=ByteSize(100 * _KB)), {"min_size": 100 * _KB}),
    FilterOption("size", "1000-", text("{size} or more", size=ByteSize(_KB * _KB)), {"min_size": _KB * _KB}),
    FilterOption(
        "size", "-10", text("Less than {size}", size=ByteSize(10 * _KB)), {"max_size": 10 * _KB - 1}
    ),
)
UNUSED_OPTION = FilterOption("unused", "", text("Never recalled"), {"unused": True})
PINNED_OPTION = FilterOption("pinned", "", text("Pinned"), {"pinned": True})
ORPHAN_OPTION = FilterOption("orphan", "", text("Unreferenced"), {"orphan": True})


def age_options(now_ms: int) -> tuple[FilterOption, ...]:
    """Return the choices of age at a time in milliseconds since 1970."""
    return (
        FilterOption("age", "hour", text("Last hour"), {"since": now_ms - _HOUR_MS}),
        FilterOption("age", "day", text("Last 24 hours"), {"since": now_ms - _DAY_MS}),
        FilterOption("age", "week", text("Last 7 days"), {"since": now_ms - 7 * _DAY_MS}),
        FilterOption("age", "older", text("Older than 30 days"), {"until": now_ms - 30 * _DAY_MS}),
    )


def state_option(state: CacheState) -> FilterOption:
    return FilterOption("state", state, STATE_LABELS[state], {}, state)


def tool_option(tool: str) -> FilterOption:
    """Only what one tool gave, or what wrote an index."""
    name = INDEX_LABELS.get(tool, _shorten(display_name(tool)))
    return FilterOption("tool", tool, name, {"tool": tool})


def target_option(target: str) -> FilterOption:
    return FilterOption("path", target, _shorten(target), {"target": target})


def session_option(session_id: str, title: str) -> FilterOption:
    """Only what one session stored first."""
    name = ellipsize_title(title or session_id[:8], _MAX_NAME_CHARS)
    return FilterOption("session", session_id, name, {"session": session_id})


def build_entry_filter(options: Iterable[FilterOption]) -> EntryFilter:
    criteria: dict[str, Any] = {}
    for choice in options:
        criteria |= choice.criteria
    return msgspec.structs.replace(DEFAULT_FILTER, **criteria)


_OLD_STATES: dict[str, CacheState] = {
    "pinned": "in_window",
    "in_part": "in_window",
    "marker": "cached",
    "noted": "handed_over",
    "left_out": "handed_over",
    "stored": "elsewhere",
}
"""Names of states that earlier versions stored."""


def saved_conditions(options: Iterable[FilterOption]) -> tuple[SavedCondition, ...]:
    """Return what is stored of these conditions; an age is stored by its name, and counts from each use."""
    return tuple(
        SavedCondition(option.slot, option.key, option.name if option.slot == "session" else "")
        for option in options
    )


def restored_options(conditions: Iterable[SavedCondition], now_ms: int) -> list[FilterOption]:
    """Return stored conditions as they are at a time; those of another version are left out."""
    found = (_restored(condition, now_ms) for condition in conditions)
    return [option for option in found if option is not None]


def _restored(condition: SavedCondition, now_ms: int) -> FilterOption | None:
    value = condition.value
    match condition.about:
        case "state":
            current = _OLD_STATES.get(value, value)
            return next((state_option(state) for state in SAME_STATES if state == current), None)
        case "tool":
            return tool_option(value)
        case "path":
            return target_option(value)
        case "session":
            return session_option(value, condition.label)
    fixed = (*SIZE_OPTIONS, *age_options(now_ms), UNUSED_OPTION, ORPHAN_OPTION, PINNED_OPTION)
    return next((option for option in fixed if (option.slot, option.key) == (condition.about, value)), None)


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
    sort_key = current_language().sort_key
    by_name = sorted(map(tool_option, tools), key=lambda option: sort_key(translate(option.name)))
    titled: tuple[tuple[str, Sequence[FilterOption]], ...] = (
        (tr("State"), [state_option(state) for state in SAME_STATES]),
        (tr("Tool"), by_name),
        (tr("Session"), [session_option(*session) for session in sessions[:_MAX_SESSIONS]]),
        (tr("Size"), SIZE_OPTIONS),
        (tr("Age"), age_options(now_ms)),
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
    name = translate(option.name).replace("&", "&&")
    action = QAction(name, menu, checkable=True, checked=option.is_same(active.get(option.slot)))
    action.triggered.connect(lambda _: toggle(option))
    return action


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else f"…{name[1 - _MAX_NAME_CHARS :]}"
