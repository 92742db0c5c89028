"""What a provider's test shows: its notices, and what it says of a model."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.model_spec import ModelSpec, ResolvedModelSpec, SourcedSpec
from helix_desktop.services.provider_check import UNTESTED_STEPS
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.settings.providers.editor import CheckNotice, ProviderCheckView, ProviderEditor
from helix_desktop.ui.settings.providers.models import ProviderDraft, ProviderModels, ProviderStatus
from tests.support.window.list_contents import cell_texts


def test_what_a_server_said_is_shown_on_request(qtbot: QtBot) -> None:
    view = ProviderCheckView()
    qtbot.addWidget(view)
    message = "Incorrect API key provided"
    view.show_notices(
        [CheckNotice("Saved", "ok", "my-box"), CheckNotice("my-box rejected the key.", "failed", "", message)]
    )
    view.show()
    (text,) = (text for text in view.findChildren(SelectableText) if text.text() == message)
    assert not text.isVisible()
    (details,) = (fold for fold in view.findChildren(Disclosure) if fold.isVisible())
    details.head.click()
    assert text.isVisible()


def test_what_a_test_shows_of_tools_counts_more_than_the_server_list(qtbot: QtBot) -> None:
    models = ProviderModels()
    qtbot.addWidget(models)
    models.set_spec_lookup(_resolve)
    models.add("small")
    models.set_offered({"small": SourcedSpec("server", "/v1/models", ModelSpec(tools=True))})
    assert cell_texts(models.table)[0][4] == "yes"
    models.show_tool_test("small", False)
    models.show_models(models.entries, "small", _resolve)
    models.set_offered({"small": SourcedSpec("server", "/v1/models", ModelSpec(tools=True))})
    assert cell_texts(models.table)[0][4] == "no"
    assert models.spec_form.form("tools").rows["tools"].note_text() == "shown by a test"


def test_what_a_server_told_and_showed_does_not_pass_for_another_ones(qtbot: QtBot) -> None:
    editor = ProviderEditor()
    for part in (editor, editor.footer):
        qtbot.addWidget(part)
    reported = ModelEntry(
        name="small", reported=ModelSpec(window=8_192), reported_by="/v1/models", tested_tools=False
    )
    filled = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=(reported,), default_model="small")
    editor.show_provider(filled, ProviderStatus("box", False, "none"))
    field = editor.findChild(QLineEdit, "base_url")
    assert field is not None
    editor.check_view.show_steps(UNTESTED_STEPS)
    (view,) = editor.footer.findChildren(ProviderCheckView)
    QTest.keyClick(field, Qt.Key.Key_Slash)
    assert view.isHidden()
    QTest.keyClicks(field, "2")
    assert editor.form().models == (ModelEntry(name="small"),)
    editor.models.show_tool_test("small", True)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert editor.form().models == (ModelEntry(name="small", tested_tools=True),)
    tested = replace(reported, tested_tools=True)
    editor.update_form(msgspec.structs.replace(filled, models=(tested,)))
    for _ in "/2":
        QTest.keyClick(field, Qt.Key.Key_Backspace)
    assert editor.form().models == (tested,), "as it is saved now"


def _resolve(entry: ModelEntry) -> ResolvedModelSpec:
    return Provider(name="box", base_url="", models=(entry,)).resolved_spec(entry.name)


def test_the_sign_of_a_short_notice_stands_beside_its_words(qtbot: QtBot) -> None:
    view = ProviderCheckView()
    qtbot.addWidget(view)
    view.resize(600, 40)
    view.show_notices((CheckNotice("Saved", "ok", "box"),))
    view.show()
    qtbot.waitExposed(view)
    sign, words = (label for label in view.findChildren(QLabel) if label.isVisible())
    places = [label.mapTo(view, label.rect().center()).y() for label in (sign, words)]
    assert abs(places[0] - places[1]) <= 1
