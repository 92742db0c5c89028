"""Which page of the settings is highlighted, and the checklist of a server's models."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.settings.providers.editor import ProviderEditor
from helix_desktop.ui.settings.providers.models import ProviderDraft, ProviderStatus
from tests.support.default_settings import NothingOnScreen, default_settings, settings_view
from tests.support.intents import take_intents


def test_never_two_pages_are_highlighted(qtbot: QtBot) -> None:
    """The focus ring follows the page: by mouse, by arrow keys, and when another page is asked for."""
    frame, view = QWidget(), settings_view(default_settings(), NothingOnScreen())
    view.head.hide()  # there is room for the list
    frame.setLayout(row(view.names, view, view.head, gap=0))
    qtbot.addWidget(frame)
    names = ("providers", "data", "roles", "about")
    buttons = {name: view.names.findChild(QPushButton, f"page:{name}") for name in names}
    with qtbot.waitActive(frame):
        frame.show()
        frame.activateWindow()
    view.focus_name()

    def highlighted() -> set[str]:
        return {
            name
            for name, button in buttons.items()
            if button is not None and (button.hasFocus() or button.isChecked())
        }

    assert highlighted() == {"providers"}
    data = buttons["data"]
    assert data is not None
    QTest.mouseClick(data, Qt.MouseButton.LeftButton)
    assert (view.current_page(), highlighted()) == ("data", {"data"})
    QTest.keyClick(data, Qt.Key.Key_Down)
    assert (view.current_page(), highlighted()) == ("roles", {"roles"})
    view.show_page("about")
    assert highlighted() == {"about"}


def test_the_keys_of_a_command_count_as_use_of_the_keyboard(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    commands = WindowCommands(window)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    opened: list[bool] = []
    is_by_keyboard = Qt.WidgetAttribute.WA_KeyboardFocusChange
    take_intents(window, lambda _: opened.append(window.testAttribute(is_by_keyboard)))
    commands.settings.trigger()
    QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    assert opened == [False, True]


def test_listed_models_are_checked_and_added_together(qtbot: QtBot) -> None:
    editor = ProviderEditor()
    qtbot.addWidget(editor)
    qtbot.addWidget(editor.footer)
    models = (ModelEntry(name="kept"),)
    form = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=models, default_model="kept")
    editor.show_provider(form, ProviderStatus("box", False, "none", ""))
    priced = SourcedSpec("server", "its list", ModelSpec(window=8_192, price_in=1, price_out=2))
    bare = SourcedSpec("server", "its list", ModelSpec())
    editor.show_offered({"kept": bare, "small": priced, "small-vision": bare, "large": bare})
    checklist = editor.models.checklist
    assert not checklist.isHidden()

    items = {item.text(0): item for item in map(checklist.list.topLevelItem, range(4)) if item is not None}
    texts = {name: (item.text(1), item.text(2)) for name, item in items.items()}
    assert texts["small"] == ("8,192", "1 / 2")
    assert texts["large"] == ("—", "—")
    assert not items["kept"].flags() & Qt.ItemFlag.ItemIsEnabled, "it is in the list already"
    items["large"].setCheckState(0, Qt.CheckState.Checked)
    assert checklist.add.text() == "Add 1 model"
    QTest.keyClicks(checklist.filter, "small")
    assert [name for name, item in items.items() if not item.isHidden()] == ["small", "small-vision"]
    items["small"].setCheckState(0, Qt.CheckState.Checked)
    assert checklist.add.text() == "Add 2 models", "what the filter hides stays checked"
    checklist.add.click()
    assert [entry.name for entry in editor.form().models] == ["kept", "small", "large"]
    assert editor.form().models[1].reported == ModelSpec(window=8_192, price_in=1, price_out=2)
    assert editor.form().default_model == "kept"
    assert checklist.isHidden()
