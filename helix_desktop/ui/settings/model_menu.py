"""The menu behind the name of the model: another one for this workspace, the roles, the providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

DEMO_LABEL = "demo/offline"
_MOST = 25  # models that a menu lists; the others stand in the settings


def model_menu(
    parent: QWidget,
    labels: Sequence[str],
    current: str,
    use: Callable[[str], object],
    show: Callable[[str], object],
) -> QMenu:
    """A menu of models with the current one marked; `use` takes a label, `show` a page of the settings."""
    menu = QMenu(parent)
    group = QActionGroup(menu)
    for label in [*labels[:_MOST], DEMO_LABEL]:
        words = "Offline demo model" if label == DEMO_LABEL else label
        action = QAction(words, menu)
        action.setCheckable(True)
        action.setChecked(label == current)
        action.triggered.connect(lambda _=False, chosen=label: use(chosen))
        group.addAction(action)
        menu.addAction(action)
    menu.addSeparator()
    for words, page in (("Which model does what…", "roles"), ("Providers and models…", "providers")):
        action = QAction(words, menu)
        action.triggered.connect(lambda _=False, wanted=page: show(wanted))
        menu.addAction(action)
    return menu
