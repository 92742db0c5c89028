"""The form of extra headers and fields: what it takes, what it refuses, and that typing is left alone."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.settings.providers.editor import ExtrasForm, ProviderEditor
from helix_desktop.ui.settings.providers.models import EMPTY_DRAFT, ProviderDraft, ProviderStatus
from tests.support.default_settings import provider_errors
from tests.support.window.buttons import press


def _add_header(form: ExtrasForm, name: str, value: str, *, is_secret: bool = False) -> None:
    press(form, f"{form.objectName()}_add_header")
    for field_name, text in (("header_name", name), ("header_value", value)):
        field = form.findChildren(QLineEdit, field_name)[-1]
        field.setText(text)
        field.editingFinished.emit()
    if is_secret:
        form.findChildren(IconButton, "header_secret")[-1].setChecked(True)


def test_headers_secrets_and_fields_come_out_as_they_were_filled_in(qtbot: QtBot) -> None:
    form, changes = ExtrasForm("x"), list[RequestExtras]()
    qtbot.addWidget(form)
    form.edited.connect(lambda: changes.append(form.extras()))
    form.show_extras("box", RequestExtras({"X-Title": "Helix"}, ("X-Token",)), {"X-Token"}, {})
    assert not changes
    _add_header(form, "X-Gateway", "s3cret", is_secret=True)
    form.body_field.setPlainText('{"service_tier": "flex"}')
    assert changes[-1] == RequestExtras(
        {"X-Title": "Helix"}, ("X-Token", "X-Gateway"), {"service_tier": "flex"}
    )
    assert form.secret_values() == {"X-Gateway": "s3cret"}
    assert "(4)" in form.head.text()
    value = form.findChildren(QLineEdit, "header_value")[-1]
    assert value.echoMode() == QLineEdit.EchoMode.Password
    form.show_extras("box", changes[-1], set(), {})
    assert form.findChildren(QLineEdit, "header_value")[-1] is value, "what is being typed stays"
    form.clear()
    assert (form.extras(), form.secret_values()) == (RequestExtras(), {})


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("Authorization", "", "carries the API key"),
        ("", "[1, 2]", "JSON object"),
        ("", '{"messages": []}', "Helix sets it"),
        ("", '{"stream": false}', "Helix sets it"),
    ],
)
def test_a_provider_is_not_saved_with_what_breaks_requests(
    qtbot: QtBot, name: str, body: str, words: str
) -> None:
    editor, saved = ProviderEditor(), list[ProviderDraft]()
    for part in (editor, editor.footer):
        qtbot.addWidget(part)
    editor.saved.connect(saved.append)
    model = ModelEntry(name="small")
    filled = ProviderDraft("", "box", "http://127.0.0.1:1/v1", models=(model,), default_model="small")
    editor.show_provider(filled, ProviderStatus("", False, "none"))
    if name:
        _add_header(editor.extras_form, name, "x")
    editor.extras_form.body_field.setPlainText(body)
    press(editor.footer, "save_provider")
    assert not saved
    assert words in provider_errors(editor)["extras"]
    editor.show_provider(filled, ProviderStatus("", False, "none"))
    press(editor.footer, "save_provider")
    assert saved == [filled]


def test_a_models_extras_of_the_file_are_saved_with_its_provider(qtbot: QtBot) -> None:
    editor, saved = ProviderEditor(), list[ProviderDraft]()
    for part in (editor, editor.footer):
        qtbot.addWidget(part)
    editor.saved.connect(saved.append)
    assert EMPTY_DRAFT.extras == RequestExtras()
    model = ModelEntry(name="large", secret_headers=("X-Own",), body={"top_p": 0.5})
    filled = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=(model,), default_model="large")
    editor.show_provider(filled, ProviderStatus("box", False, "none"))
    _add_header(editor.extras_form, "X-Title", "Helix")
    press(editor.footer, "save_provider")
    assert [(form.models, form.extras.headers) for form in saved] == [((model,), {"X-Title": "Helix"})]
