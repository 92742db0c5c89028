"""The list of providers, and a provider's test, model figures and extra fields."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.model_spec import (
    LearnedWindow,
    ModelSpec,
    ResolvedModelSpec,
    SourcedSpec,
    resolve_spec,
)
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.services.provider_changes import DEMO
from helix_desktop.services.provider_check import UNTESTED_STEPS
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.settings.providers.editor import (
    CheckNotice,
    ExtrasForm,
    ProviderCheckView,
    ProviderEditor,
)
from helix_desktop.ui.settings.providers.model_spec_form import (
    ModelSpecForm,
    entry_with_figure,
    model_price_text,
)
from helix_desktop.ui.settings.providers.models import (
    EMPTY_DRAFT,
    ProviderDraft,
    ProviderModels,
    ProviderStatus,
)
from helix_desktop.ui.settings.providers.page import ProvidersPage
from tests.support.default_settings import NothingOnScreen, provider_errors
from tests.support.window.buttons import find_button, find_child, press
from tests.support.window.list_contents import cell_texts

THREE = [
    ProviderDraft(DEMO, "Demo", "", demo=True),
    ProviderDraft("box", "box", "http://127.0.0.1:1/v1"),
    ProviderDraft("lab", "lab", "http://127.0.0.1:2/v1"),
]


@pytest.fixture
def page(qtbot: QtBot) -> ProvidersPage:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    return page


def test_a_provider_is_shown_when_it_is_clicked_or_reached_with_a_key(
    qtbot: QtBot, page: ProvidersPage
) -> None:
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


def test_unsaved_edits_of_a_provider_stay_until_they_are_saved(qtbot: QtBot, page: ProvidersPage) -> None:
    models = (ModelEntry(name="m"),)
    forms = [ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=models, default_model="m")]
    page.show_providers(forms, [ProviderStatus("box", True, "none")])
    page.editor.enter_key("sk-secret", is_ready=False)
    page.show_providers(forms, [ProviderStatus("box", True, "none")])  # as when the settings open again
    assert (page.editor.form().key, page.has_unsaved_edits()) == ("sk-secret", True)
    with qtbot.waitSignal(page.editor.saved) as saved:
        find_button(page.editor.footer, "save_provider").click()
    page.show_providers(forms, [ProviderStatus("box", True, "none")])
    assert page.editor.form().key == "sk-secret", "saving may have failed"
    (form,) = saved.args
    page.note_saved(form, forms[0])
    page.show_providers(forms, [ProviderStatus("box", True, "keychain")])
    assert (page.editor.form().key, page.has_unsaved_edits()) == ("", False)


def test_what_is_edited_of_a_provider_waits_while_others_are_shown(page: ProvidersPage) -> None:
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


def test_half_typed_extras_wait_and_keep_a_provider_from_being_saved(
    qtbot: QtBot, page: ProvidersPage
) -> None:
    models = (ModelEntry(name="m"), ModelEntry(name="n"))
    forms = [
        ProviderDraft(name, name, "http://127.0.0.1:1/v1", models=models, default_model="m")
        for name in ("box", "lab")
    ]
    page.show_providers(forms, [ProviderStatus(form.id, form.id == "box", "none") for form in forms])
    extras = page.editor.extras_form
    find_button(extras, "provider_extras_add_header").click()
    value = find_child(extras, QLineEdit, "header_value")
    QTest.keyClicks(value, "eu")
    extras.body_field.setPlainText('{"top_p":')
    page.list.setCurrentRow(1)
    assert page.list.item(0).text() == "box · m · workspace default · not saved"
    assert page.editor.form() == forms[1]
    page.list.setCurrentRow(0)
    with qtbot.assertNotEmitted(page.editor.saved):
        find_button(page.editor.footer, "save_provider").click()
    assert extras.body_field.toPlainText() == '{"top_p":'
    assert "JSON object" in extras._body_row.error
    extras.body_field.setPlainText('{"top_p": 1}')
    with qtbot.assertNotEmitted(page.editor.saved):
        find_button(page.editor.footer, "save_provider").click()
    assert extras._body_row.error == "Enter a name for each header."
    find_button(page.editor.footer, "discard_provider").click()
    assert not extras.body_field.toPlainText()
    assert page.list.item(0).text() == "box · m · workspace default"


def test_a_long_line_of_the_list_is_cut(page: ProvidersPage) -> None:
    """A bar to scroll it took the place of the first line."""
    name = "a-provider-with-a-very-long-name-" * 4
    forms = [ProviderDraft(name, name, "http://127.0.0.1:1/v1", default_model="m" * 80)]
    page.show_providers(forms, [ProviderStatus(name, True, "none")])
    page.resize(500, 600)
    page.show()
    assert not page.list.horizontalScrollBar().isVisible()
    assert page.list.horizontalScrollBar().maximum() == 0


def test_a_figure_of_a_server_names_it(page: ProvidersPage) -> None:
    """It read "reported by any"."""
    reported = ModelEntry(name="m", reported=ModelSpec(window=8_192))
    form = ProviderDraft("box", "box", "http://127.0.0.1:1/v1", models=(reported,), default_model="m")
    page.show_providers([form], [ProviderStatus("box", True, "none")])
    assert page.editor.models.spec_form.form("window").rows["window"].note_text() == "reported by box"
    page.show_providers([replace(form, name="")], [ProviderStatus("box", True, "none")])
    assert page.editor.models.spec_form.form("window").rows["window"].note_text() == "reported by server"


def test_each_figure_that_cannot_be_used_says_why_and_stays_with_its_model(
    qtbot: QtBot, page: ProvidersPage
) -> None:
    """A reserve counts against the assumed window; what is refused changes no other figure, and is kept."""
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


def test_a_name_says_what_it_is_saved_as_and_is_refused_where_it_is_taken(
    qtbot: QtBot, page: ProvidersPage
) -> None:
    form = ProviderDraft("local-test", "local-test", "http://127.0.0.1:1/v1", models=(ModelEntry(name="m"),))
    page.show_providers([form], [ProviderStatus("local-test", True, "none")])
    editor = page.editor
    name = find_child(editor, QLineEdit, "provider_name")
    field = next(field for field in editor.findChildren(FieldRow) if field.isAncestorOf(name))
    assert not field.note_text()
    page.add()
    QTest.keyClicks(name, "Local test")
    assert field.note_text() == "Will be saved as local-test."
    with qtbot.assertNotEmitted(editor.saved):
        find_button(editor.footer, "save_provider").click()
    assert provider_errors(editor)["name"] == "The provider local-test already exists. Enter another name."


def test_the_name_of_a_model_that_is_typed_is_saved_without_the_button_to_add_it(
    qtbot: QtBot, page: ProvidersPage
) -> None:
    page.show_providers(THREE[:2], [ProviderStatus(form.id, form.demo, "none") for form in THREE[:2]])
    page.list.setCurrentRow(1)
    page.editor.models.name_field.setEditText("qwen3")
    with qtbot.waitSignal(page.editor.saved) as saved:
        find_button(page.editor.footer, "save_provider").click()
    assert [model.name for model in saved.args[0].models] == ["qwen3"]


def test_no_field_of_a_provider_moves_while_the_user_types(qtbot: QtBot, page: ProvidersPage) -> None:
    """Not at the first letter, nor where something is wrong."""
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
    name = find_child(editor, QLineEdit, "provider_name")
    QTest.keyClicks(name, "M")
    assert places() == before
    QTest.keyClicks(name, "y own server")
    assert places() == before
    find_button(editor.footer, "save_provider").click()
    assert "base_url" in provider_errors(editor)
    assert places() == before


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
    assert details.head.text() == "Server response"
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
    field = find_child(editor, QLineEdit, "base_url")
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


PLAIN = ModelEntry(name="qwen3", window=32_768)


def resolved(entry: ModelEntry, reported: ModelSpec | None = None) -> ResolvedModelSpec:
    """Return the figures that count, the user's own first."""
    return resolve_spec(
        SourcedSpec("you", "", entry.user_spec), SourcedSpec("server", "", reported or ModelSpec())
    )


@pytest.mark.parametrize("name", ["price_in", "price_out"])
def test_a_price_of_zero_says_that_a_model_is_free(name: str) -> None:
    """An empty one says nothing, and one above zero that it is not."""
    entry = entry_with_figure(PLAIN, name, 0, 0)
    assert entry.free
    assert model_price_text(resolved(entry)) == "Free"
    assert model_price_text(resolved(PLAIN)) == "?"
    assert not entry_with_figure(entry, name, None, 0).free
    assert not entry_with_figure(entry, name, 3, 0).free
    assert entry_with_figure(entry, "output", 4_000, 0).free


def test_the_fields_show_who_says_that_a_model_is_free(qtbot: QtBot) -> None:
    form = ModelSpecForm()
    qtbot.addWidget(form)
    own, free = msgspec.structs.replace(PLAIN, free=True), ModelSpec(free=True)
    form.show_model(own, resolved(own), resolved(PLAIN), True, {})
    assert [form.form(name).line(name).text() for name in ("price_in", "price_out", "price_cached")] == [
        "0",
        "0",
        "",
    ]
    assert form.form("price_out").rows["price_out"].note_text() == "set by you"
    form.show_model(PLAIN, resolved(PLAIN, free), resolved(PLAIN, free), True, {})
    assert (
        form.form("price_in").line("price_in").text(),
        form.form("price_in").line("price_in").placeholderText(),
    ) == ("", "0")


def test_a_learned_window_is_shown_with_its_reason_and_reset(qtbot: QtBot) -> None:
    """What the user enters replaces it too."""
    learned = LearnedWindow(8_192, "prompt is over n_ctx (8192)")
    entry = ModelEntry(name="qwen3", reported=ModelSpec(window=32_768), learned=learned)
    box = Provider(name="box", base_url="http://127.0.0.1:1/v1", models=(entry,))
    form = ModelSpecForm()
    qtbot.addWidget(form)
    changed: list[ModelEntry] = []
    form.changed.connect(changed.append)
    spec = box.resolved_spec("qwen3")
    form.show_model(entry, spec, spec, True, {})
    assert form.form("window").line("window").placeholderText() == "8,192"
    assert "prompt is over n_ctx (8192)" in form.form("window").rows["window"].note_text()
    reset = find_child(form, QAbstractButton, "forget_figures")
    assert reset.isVisibleTo(form)
    reset.click()
    unlearned = msgspec.structs.replace(entry, learned=None)
    assert changed == [unlearned]

    own = box.with_entry(unlearned).resolved_spec("qwen3")
    form.show_model(unlearned, own, own, True, {})
    assert form.form("window").line("window").placeholderText() == "32,768"
    assert not reset.isVisibleTo(form)

    form.show_model(entry, spec, spec, True, {})
    form.form("window").line("window").setText("16,384")
    form.form("window").line("window").editingFinished.emit()
    assert (changed[-1].window, changed[-1].learned) == (16_384, None)


def test_a_refused_part_is_shown_with_the_server_s_words_and_reset(qtbot: QtBot) -> None:
    refused = {"cache": "cachePoint is not accepted", "later": "of a later release"}
    entry = ModelEntry(name="qwen3", refused=refused)
    box = Provider(name="box", base_url="http://127.0.0.1:1/v1", models=(entry,))
    form = ModelSpecForm()
    qtbot.addWidget(form)
    changed: list[ModelEntry] = []
    form.changed.connect(changed.append)
    spec = box.resolved_spec("qwen3")
    form.show_model(entry, spec, spec, True, {})
    assert form.refused.isVisibleTo(form)
    assert "hints for the provider's discount (“cachePoint is not accepted”)" in form.refused.text()
    assert "later (“of a later release”)" in form.refused.text()

    find_child(form, QAbstractButton, "forget_figures").click()
    assert changed == [msgspec.structs.replace(entry, refused={})]
    form.show_model(changed[0], spec, spec, True, {})
    assert not form.refused.isVisibleTo(form)


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
