"""The list of providers, by mouse and by keyboard."""

from __future__ import annotations

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry
from helix_desktop.domain.model_spec import ModelSpec
from helix_desktop.services.provider_changes import DEMO
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.settings.providers.models import ProviderDraft, ProviderStatus
from helix_desktop.ui.settings.providers.page import ProvidersPage
from tests.support.default_settings import NothingOnScreen, provider_errors
from tests.support.window.buttons import find_button
from tests.support.window.list_contents import cell_texts

THREE = [
    ProviderDraft(DEMO, "Demo", "", demo=True),
    ProviderDraft("box", "box", "http://127.0.0.1:1/v1"),
    ProviderDraft("lab", "lab", "http://127.0.0.1:2/v1"),
]


def test_a_provider_is_shown_when_it_is_clicked_or_reached_with_a_key(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    page.show_providers(THREE, [ProviderStatus(form.id, form.demo, "none") for form in THREE])
    page.resize(800, 600)
    with qtbot.waitExposed(page):
        page.show()
    assert not page.editor.isVisible()
    place = page.list.visualItemRect(page.list.item(1)).center()
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.editor.isVisible()
    assert page.editor.form().name == "box"
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    assert page.editor.form().name == "lab"
    page.add()
    assert page.editor.form().name == ""


def test_unsaved_edits_of_a_provider_stay_until_they_are_saved(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    models = (ModelEntry(name="m"),)
    forms = [ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=models, default_model="m")]
    page.show_providers(forms, [ProviderStatus("box", True, "none")])
    page.editor.enter_key("sk-secret", is_ready=False)
    page.show_providers(forms, [ProviderStatus("box", True, "none")])  # as when the settings open again
    assert page.editor.form().key == "sk-secret"
    with qtbot.waitSignal(page.editor.saved) as saved:
        find_button(page.editor.footer, "save_provider").click()
    page.show_providers(forms, [ProviderStatus("box", True, "none")])
    assert page.editor.form().key == "sk-secret", "saving may have failed"
    (form,) = saved.args
    page.note_saved(form, forms[0])
    page.show_providers(forms, [ProviderStatus("box", True, "keychain")])
    assert page.editor.form().key == ""


def test_another_key_drops_what_a_test_with_the_old_one_showed(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    page.show_providers(
        [ProviderDraft("box", "box", "http://127.0.0.1:1/v1")], [ProviderStatus("box", True, "keychain")]
    )
    field = page.editor.findChild(QLineEdit, "api_key")
    assert isinstance(field, QLineEdit)
    with qtbot.waitSignal(page.editor.server_edited):
        QTest.keyClicks(field, "s")
    with qtbot.waitSignal(page.editor.server_edited):
        find_button(page.editor, "remove_key").click()


def test_a_new_provider_stays_until_it_is_saved(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    forms = [ProviderDraft("box", "box", "http://127.0.0.1:1/v1")]
    states = [ProviderStatus("box", True, "none")]
    page.show_providers(forms, states)
    page.add()
    page.editor.enter_key("sk-secret", is_ready=False)
    page.show_providers(forms, states)  # as when the settings open again
    assert page.editor.form().key == "sk-secret"
    page.list.setCurrentRow(0)
    page.show_providers(forms, states)
    assert page.editor.form().name == "box"
    page.add()
    page.show_providers(forms, states)
    assert page.editor.form().name == "box", "nothing was typed"


def test_what_is_edited_of_a_provider_waits_while_others_are_shown(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    states = [ProviderStatus(form.id, form.id == "box", "none") for form in THREE]
    page.show_providers(THREE, states)
    page.editor.enter_key("sk-secret", is_ready=False)
    assert page.list.item(1).text() == "box · workspace default · not saved"
    page.add()
    page.editor.enter_key("sk-new", is_ready=False)
    page.add()
    page.list.setCurrentRow(2)
    assert page.editor.form().key == ""
    page.list.setCurrentRow(0)
    page.show_providers(THREE, states)
    titles = [page.list.item(row).text() for row in range(page.list.count())]
    assert titles[1:] == ["box · workspace default · not saved", "lab", "New provider · not saved"], (
        "the second new one had nothing typed"
    )
    page.list.setCurrentRow(3)
    assert page.editor.form().key == "sk-new"
    page.list.setCurrentRow(1)
    assert page.editor.form().key == "sk-secret"
    find_button(page.editor.footer, "discard_provider").click()
    assert (page.editor.form().key, page.list.item(1).text()) == ("", "box · workspace default")
    page.list.setCurrentRow(3)
    find_button(page.editor.footer, "discard_provider").click()
    assert page.list.count() == 3
    assert page.editor.form().name == "lab"


def test_half_typed_extras_wait_and_keep_a_provider_from_being_saved(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    models = (ModelEntry(name="m"), ModelEntry(name="n"))
    forms = [
        ProviderDraft(name, name, "http://127.0.0.1:1/v1", models=models, default_model="m")
        for name in ("box", "lab")
    ]
    page.show_providers(forms, [ProviderStatus(form.id, form.id == "box", "none") for form in forms])
    extras = page.editor.extras_form
    find_button(extras, "provider_extras_add_header").click()
    value = extras.findChild(QLineEdit, "header_value")
    assert isinstance(value, QLineEdit)
    QTest.keyClicks(value, "eu")
    extras.body_field.setPlainText('{"top_p":')
    page.list.setCurrentRow(1)
    assert page.list.item(0).text() == "box · m · workspace default · not saved"
    assert page.editor.form() == forms[1]
    page.list.setCurrentRow(0)
    with qtbot.assertNotEmitted(page.editor.saved):
        find_button(page.editor.footer, "save_provider").click()
    assert extras.body_field.toPlainText() == '{"top_p":'
    assert "JSON object" in extras._body_row.error_text()
    extras.body_field.setPlainText('{"top_p": 1}')
    with qtbot.assertNotEmitted(page.editor.saved):
        find_button(page.editor.footer, "save_provider").click()
    assert extras._body_row.error_text() == "Enter a name for each header."
    find_button(page.editor.footer, "discard_provider").click()
    assert not extras.body_field.toPlainText()
    assert page.list.item(0).text() == "box · m · workspace default"


def test_a_provider_is_not_saved_without_a_number_that_is_wrong(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    models = (ModelEntry(name="m"),)
    form = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=models, default_model="m")
    page.show_providers([form], [ProviderStatus("box", True, "none")])
    window = page.editor.models.spec_form.form("window").line("window")
    save = find_button(page.editor.footer, "save_provider")
    window.setText("many")
    window.editingFinished.emit()
    output = page.editor.models.spec_form.form("output").line("output")
    output.setText("4k")
    output.editingFinished.emit()
    assert window.text() == "many"  # an edit of another number leaves what was typed
    with qtbot.assertNotEmitted(page.editor.saved):
        save.click()
    assert provider_errors(page.editor)["models"] == "Correct the marked numbers of m."
    window.setText("32k")
    window.editingFinished.emit()
    with qtbot.waitSignal(page.editor.saved) as saved:
        save.click()
    assert saved.args[0].models[0].window == 32_000


def test_a_long_line_of_the_list_is_cut(qtbot: QtBot) -> None:
    """A bar to scroll it took the place of the first line."""
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    name = "a-provider-with-a-very-long-name-" * 4
    forms = [ProviderDraft(name, name, "http://127.0.0.1:1/v1", default_model="m" * 80)]
    page.show_providers(forms, [ProviderStatus(name, True, "none")])
    page.resize(500, 600)
    page.show()
    assert not page.list.horizontalScrollBar().isVisible()
    assert page.list.horizontalScrollBar().maximum() == 0


def test_a_figure_of_a_server_names_it(qtbot: QtBot) -> None:
    """It read "reported by any"."""
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    reported = ModelEntry(name="m", reported=ModelSpec(window=8_192))
    form = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=(reported,), default_model="m")
    page.show_providers([form], [ProviderStatus("box", True, "none")])
    assert page.editor.models.spec_form.form("window").rows["window"].note_text() == "reported by box"
    page.show_providers([replace(form, name="")], [ProviderStatus("box", True, "none")])
    assert page.editor.models.spec_form.form("window").rows["window"].note_text() == "reported by server"


def test_each_figure_that_cannot_be_used_says_why_and_stays_with_its_model(qtbot: QtBot) -> None:
    """A reserve counts against the assumed window; what is refused changes no other figure, and is kept."""
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    models = (ModelEntry(name="m"), ModelEntry(name="n"))
    form = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=models, default_model="m")
    page.show_providers(
        [form, replace(form, id="two", name="two")],
        [ProviderStatus("box", True, "none"), ProviderStatus("two", False, "none")],
    )
    figures, table = page.editor.models.spec_form, page.editor.models.table

    def type_figure(name: str, typed: str) -> None:
        figures.form(name).line(name).setText(typed)
        figures.form(name).line(name).editingFinished.emit()

    def source(name: str) -> str:
        return figures.form(name).rows[name].note_text()

    reserved = source("reserve")
    type_figure("window", "500")
    assert source("window") == "Enter at least 4,000 tokens."
    assert (source("reserve"), cell_texts(table)[0][1]) == (reserved, "≈ 128,000")
    type_figure("reserve", "128k")
    too_large = "Enter less than the context window of 128,000 tokens."
    assert source("reserve") == too_large
    type_figure("price_in", "1")
    page.list.setCurrentRow(1)
    assert (figures.form("window").line("window").text(), source("reserve")) == ("", reserved)
    page.list.setCurrentRow(0)
    table.select_model("n")
    with qtbot.assertNotEmitted(page.editor.saved):
        find_button(page.editor.footer, "save_provider").click()
    assert page.editor.models.selected_model == "m"
    assert [figures.form(name).line(name).text() for name in ("window", "reserve")] == ["500", "128k"]
    assert source("reserve") == too_large
    assert source("price_out") == "Enter both prices, or neither: the costs would be too low."
    type_figure("window", "200k")
    assert (source("window"), source("reserve")) == (
        "set by you",
        "set by you",
    )
    assert page.editor.models.entries[0].reserve == 128_000
    type_figure("price_out", "2")
    with qtbot.waitSignal(page.editor.saved):
        find_button(page.editor.footer, "save_provider").click()


def test_a_name_says_what_it_is_saved_as_and_is_refused_where_it_is_taken(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    form = ProviderDraft("local-test", "local-test", "http://127.0.0.1:1/v1", models=(ModelEntry(name="m"),))
    page.show_providers([form], [ProviderStatus("local-test", True, "none")])
    editor = page.editor
    name = editor.findChild(QLineEdit, "provider_name")
    assert isinstance(name, QLineEdit)
    field = next(field for field in editor.findChildren(FieldRow) if field.isAncestorOf(name))
    assert not field.note_text()
    page.add()
    QTest.keyClicks(name, "Local test")
    assert field.note_text() == "Will be saved as local-test."
    with qtbot.assertNotEmitted(editor.saved):
        find_button(editor.footer, "save_provider").click()
    assert provider_errors(editor)["name"] == "The provider local-test already exists. Enter another name."


def test_the_name_of_a_model_that_is_typed_is_saved_without_the_button_to_add_it(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    page.show_providers(THREE[:2], [ProviderStatus(form.id, form.demo, "none") for form in THREE[:2]])
    page.list.setCurrentRow(1)
    page.editor.models.name_field.setEditText("qwen3")
    with qtbot.waitSignal(page.editor.saved) as saved:
        find_button(page.editor.footer, "save_provider").click()
    assert [model.name for model in saved.args[0].models] == ["qwen3"]


def test_no_field_of_a_provider_moves_while_the_user_types(qtbot: QtBot) -> None:
    """Not at the first letter, nor where something is wrong."""
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    page.resize(760, 900)
    with qtbot.waitExposed(page):
        page.show()
    page.add()
    editor = page.editor
    fields = editor.findChildren(FieldRow)

    def places() -> list[tuple[int, int]]:
        QTest.qWait(0)
        return [(field.mapTo(page, field.rect().topLeft()).y(), field.height()) for field in fields]

    before = places()
    name = editor.findChild(QLineEdit, "provider_name")
    assert isinstance(name, QLineEdit)
    QTest.keyClicks(name, "M")
    assert places() == before
    QTest.keyClicks(name, "y own server")
    assert places() == before
    find_button(editor.footer, "save_provider").click()
    assert "base_url" in provider_errors(editor)
    assert places() == before
