"""The menu of saved filters, and what a filter is when it is saved and when it is chosen again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.store.entries import SavedCondition, SavedFilter
from helix_desktop.ui.cache.filter_options import (
    ORPHAN_OPTION,
    PINNED_OPTION,
    SIZE_OPTIONS,
    UNUSED_OPTION,
    FilterOption,
    age_options,
    session_option,
    state_option,
    target_option,
    tool_option,
)
from helix_desktop.ui.cache.rows import SAME_STATES, CacheState
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_OLD_STATES: dict[str, CacheState] = {
    "pinned": "in_window",
    "in_part": "in_window",
    "marker": "cached",
    "noted": "handed_over",
    "left_out": "handed_over",
    "stored": "elsewhere",
}
"""Names of states that earlier versions stored."""


class SavedFilterActions(msgspec.Struct, frozen=True):
    """What the menu does: choose a filter, save the current one, rename one or delete one by its name."""

    choose: Callable[[SavedFilter], None]
    save: Callable[[], None]
    rename: Callable[[str], None]
    delete: Callable[[str], None]


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


def saved_menu(
    parent: QWidget,
    filters: Sequence[SavedFilter],
    current: SavedFilter,
    can_save: bool,
    actions: SavedFilterActions,
) -> QMenu:
    """Return the saved filters and what can be done with them; the one in force is checked."""
    menu = QMenu(parent)
    menu.setAccessibleName(tr("Saved filters"))
    is_saved = False
    for saved in filters:
        is_current = replace(saved, name="") == current
        is_saved = is_saved or is_current
        action = _action(menu, saved.name, partial(actions.choose, saved))
        action.setObjectName(f"saved-filter:{saved.name}")
        action.setCheckable(True)
        action.setChecked(is_current)
    menu.addSeparator()
    save_action = _action(menu, "", actions.save)
    save_action.setText(tr("Save this filter…"))
    save_action.setObjectName("save-filter")
    save_action.setEnabled(can_save and not is_saved)
    on_one = ((tr("Rename"), "rename", actions.rename), (tr("Delete"), "delete", actions.delete))
    for title, name, request in on_one:
        part = menu.addMenu(title)
        part.setObjectName(f"{name}-filter")
        part.setEnabled(bool(filters))
        for saved in filters:
            _action(part, saved.name, partial(request, saved.name))
    return menu


def _action(menu: QMenu, name: str, callback: Callable[[], None]) -> QAction:
    return menu.addAction(name.replace("&", "&&"), callback)
