"""The list of providers, the fields of one, which hold at once, its test, and the figures of its models."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.model_spec import LearnedWindow, ModelSpec
from helix_desktop.services.provider_changes import ProviderEdit
from helix_desktop.services.provider_check import UNTESTED_STEPS
from helix_desktop.ui.design.cards import Disclosure
from helix_desktop.ui.design.labels import SelectableText
from helix_desktop.ui.kit.forms import FieldRow
from helix_desktop.ui.settings.providers.editor import (
    CheckNotice,
    NewServer,
    ProviderCheckView,
    ProviderEditor,
)
from helix_desktop.ui.settings.providers.model_spec_form import ModelSpecForm
from helix_desktop.ui.settings.providers.models import ShownProvider
from helix_desktop.ui.settings.providers.page import ProvidersPage
from tests.support.default_settings import NothingOnScreen
from tests.support.window.buttons import find_child, press
from tests.support.window.list_contents import cell_texts

BOX = Provider(name="box", base_url="http://127.0.0.1:1/v1")
LAB = Provider(name="lab", base_url="http://127.0.0.1:2/v1")
THREE = [ShownProvider(None, in_use=True), ShownProvider(BOX), ShownProvider(LAB)]


@pytest.fixture
def page(qtbot: QtBot) -> ProvidersPage:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    return page


def collect_edits(editor: ProviderEditor) -> list[tuple[str, ProviderEdit]]:
    """Return what the editor will ask to be stored: the name of a provider, and its change."""
    edits: list[tuple[str, ProviderEdit]] = []
    editor.edited.connect(lambda name, edit: edits.append((name, edit)))
    return edits


def stored(provider: Provider, edits: Sequence[tuple[str, ProviderEdit]]) -> Provider:
    for _, edit in edits:
        provider = edit(provider)
    return provider


def append(field: QLineEdit, words: str) -> None:
    """Type at the end of a field, and stay in it."""
    QTest.keyClick(field, Qt.Key.Key_End)
    QTest.keyClicks(field, words)


def type_into(field: QLineEdit, words: str) -> None:
    """Type in a field and press Enter."""
    field.clear()
    QTest.keyClicks(field, words)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_a_provider_is_shown_when_it_is_clicked_or_reached_with_a_key(
    qtbot: QtBot, page: ProvidersPage
) -> None:
    page.show_providers(THREE)
    page.resize(800, 600)
    with qtbot.waitExposed(page):
        page.show()
    assert not page.editor.isVisible()
    place = page.list.visualItemRect(page.list.item(1)).center()
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.editor.isVisible()
    assert page.editor.provider == BOX
    QTest.keyClick(page.list, Qt.Key.Key_Down)
    assert page.editor.provider == LAB


def test_each_field_of_a_provider_holds_when_it_is_done(page: ProvidersPage) -> None:
    page.show_providers(THREE)
    page.list.setCurrentRow(1)
    editor = page.editor
    edits = collect_edits(editor)
    append(editor.form.line("base_url"), "/more")
    assert not edits, "nothing is stored of what is being typed"
    editor.form.line("base_url").editingFinished.emit()
    type_into(editor.form.line("name"), "My Box")
    assert [name for name, _ in edits] == ["box", "box"]
    assert stored(BOX, edits) == replace(BOX, name="my-box", base_url=f"{BOX.base_url}/more")
    assert editor.form.line("name").text() == "my-box", "as it is stored"

    keys: list[tuple[str, str]] = []
    editor.key_entered.connect(lambda name, key: keys.append((name, key)))
    type_into(editor.key, " sesame ")
    assert keys == [("my-box", "sesame")]
    assert editor.key.text() == "", "it is not shown again"


def test_what_cannot_be_is_said_beside_the_field_and_not_stored(page: ProvidersPage) -> None:
    page.show_providers(THREE)
    page.list.setCurrentRow(1)
    editor = page.editor
    edits = collect_edits(editor)
    type_into(editor.form.line("base_url"), "not an address")
    type_into(editor.form.line("name"), "Lab")
    assert not edits
    assert editor.form.errors() == {
        "base_url": "Enter a web address such as http://localhost:11434/v1.",
        "name": "The provider lab already exists. Enter another name.",
    }
    tests: list[None] = []
    editor.test_requested.connect(lambda: tests.append(None))
    press(editor, "test_provider")
    assert not tests, "another address than the typed one would be tested"
    page.show_providers(THREE)
    assert editor.form.line("base_url").text() == "not an address", "what is typed stays"
    type_into(editor.form.line("base_url"), "localhost:5/v1")
    type_into(editor.form.line("name"), "box")
    assert not editor.form.errors()
    assert stored(BOX, edits).base_url == "http://localhost:5/v1"
    press(editor, "test_provider")
    assert tests == [None]


def test_what_is_typed_holds_before_a_test_begins(page: ProvidersPage) -> None:
    page.show_providers(THREE)
    page.list.setCurrentRow(1)
    editor = page.editor
    edits = collect_edits(editor)
    count: list[int] = []
    editor.test_requested.connect(lambda: count.append(len(edits)))
    append(editor.form.line("base_url"), "2")
    press(editor, "test_provider")
    assert count == [1]


def test_a_change_elsewhere_is_shown_and_a_field_that_is_being_typed_in_stays(page: ProvidersPage) -> None:
    page.show_providers(THREE)
    page.list.setCurrentRow(1)
    editor = page.editor
    append(editor.form.line("name"), "-two")
    QTest.keyClicks(editor.key, "sk-")
    elsewhere = replace(BOX, base_url="http://127.0.0.1:9/v1", models=(ModelEntry(name="m"),))
    page.show_providers([THREE[0], ShownProvider(elsewhere), THREE[2]])
    assert editor.form.line("base_url").text() == "http://127.0.0.1:9/v1"
    assert editor.models.entries == elsewhere.models
    assert (editor.form.line("name").text(), editor.key.text()) == ("box-two", "sk-")


def test_an_api_type_that_forbids_a_field_of_the_file_is_refused(page: ProvidersPage) -> None:
    limited = replace(BOX, body={"max_tokens": 5})
    page.show_providers([THREE[0], ShownProvider(limited)])
    page.list.setCurrentRow(1)
    edits = collect_edits(page.editor)
    page.editor.form.write("dialect", "anthropic")
    assert "max_tokens can't be added" in page.editor.form.errors()["dialect"]
    assert not edits
    page.editor.form.write("dialect", "openai-responses")
    assert stored(limited, edits).dialect == "openai-responses"


def test_one_line_names_what_the_file_adds_to_requests(page: ProvidersPage) -> None:
    words = page.file_line.words
    assert words.text() == "Extra headers, body fields and other figures of models are set in the file."
    model = ModelEntry(name="large", secret_headers=("X-Own",), body={"top_p": 0.5})
    gated = replace(BOX, headers={"X-Title": "Helix"}, body={"service_tier": "flex"}, models=(model,))
    page.show_extras([gated, LAB])
    names = "X-Title, service_tier, X-Own, top_p"
    assert words.text() == f"Requests have extra headers and fields from the file: {names}."


def test_a_new_server_needs_an_address(qtbot: QtBot) -> None:
    new = NewServer()
    qtbot.addWidget(new)
    added: list[tuple[str, str]] = []
    new.add_requested.connect(lambda address, key: added.append((address, key)))
    new.ask("sk-1")
    type_into(new.form.line("base_url"), "nothing here")
    assert not added
    assert not new.isHidden()
    assert "web address" in new.form.errors()["base_url"]
    type_into(new.form.line("base_url"), "gateway.example/v1")
    assert added == [("https://gateway.example/v1", "sk-1")]
    assert new.isHidden()
    new.ask()
    assert new.form.line("base_url").text() == new.form.line("key").text() == ""


def test_a_long_line_of_the_list_is_cut(page: ProvidersPage) -> None:
    """A bar to scroll it took the place of the first line."""
    name = "a-provider-with-a-very-long-name-" * 4
    page.show_providers([ShownProvider(replace(BOX, name=name, default_model="m" * 80), in_use=True)])
    page.resize(500, 600)
    page.show()
    assert not page.list.horizontalScrollBar().isVisible()
    assert page.list.horizontalScrollBar().maximum() == 0


def test_a_figure_that_cannot_be_used_says_why_and_the_others_hold(page: ProvidersPage) -> None:
    models = (ModelEntry(name="m", reserve=8_000), ModelEntry(name="n"))
    provider = replace(BOX, models=models)
    page.show_providers([ShownProvider(provider, in_use=True)])
    edits = collect_edits(page.editor)
    figures = page.editor.models.spec_form.form
    table = page.editor.models.table

    def said(name: str) -> str:
        return figures.rows[name].note_text()

    type_into(figures.line("window"), "500")
    assert said("window") == "Enter at least 4,000 tokens."
    type_into(figures.line("window"), "8k")
    assert said("window") == "Enter more than the 8,000 tokens of room for the answer."
    assert (edits, cell_texts(table)[0][1]) == ([], "≈ 128,000")
    type_into(figures.line("window"), "many")
    assert said("window") == "Enter a number."
    type_into(figures.line("window"), "200k")
    assert (said("window"), cell_texts(table)[0][1]) == ("", "200,000")
    assert stored(provider, edits).entry("m") == replace(models[0], window=200_000)
    table.select_model("n")
    type_into(figures.line("window"), "500")
    table.select_model("m")
    assert (figures.line("window").text(), said("window")) == ("200,000", "")


def test_a_price_waits_for_the_other_one(page: ProvidersPage) -> None:
    """With one price its costs would be too low; a comma that separates no groups is the decimal point."""
    provider = replace(BOX, models=(ModelEntry(name="m"), ModelEntry(name="n")))
    page.show_providers([ShownProvider(provider, in_use=True)])
    edits = collect_edits(page.editor)
    figures = page.editor.models.spec_form.form
    table = page.editor.models.table
    both = "Enter both prices, or neither: the costs would be too low."
    type_into(figures.line("price_out"), "1,5")
    assert figures.errors() == {"price_in": both}
    assert not edits
    page.show_providers([ShownProvider(provider, in_use=True)])
    assert figures.line("price_out").text() == "1,5", "it waits, also while others change settings"
    type_into(figures.line("price_in"), "1")
    assert not figures.errors()
    entry = stored(provider, edits).entry("m")
    assert (entry.price_in, entry.price_out, entry.free) == (1.0, 1.5, False)
    assert cell_texts(table)[0][2] == "1 / 1.5"
    figures.line("price_in").clear()
    figures.line("price_in").editingFinished.emit()
    assert figures.errors() == {"price_in": both}
    figures.line("price_out").clear()
    figures.line("price_out").editingFinished.emit()
    assert not figures.errors()
    assert stored(provider, edits).entry("m") == ModelEntry(name="m")

    for name in ("price_in", "price_out"):
        type_into(figures.line(name), "0")
        assert stored(provider, edits).entry("m").free
        assert cell_texts(table)[0][2] == "Free"
        assert [figures.line(price).text() for price in ("price_in", "price_out")] == ["0", "0"]
        press(page.editor, "forget_figures")
        assert stored(provider, edits).entry("m") == ModelEntry(name="m")


def test_a_name_says_what_it_is_saved_as(page: ProvidersPage) -> None:
    page.show_providers(THREE)
    page.list.setCurrentRow(1)
    name = page.editor.form.line("name")
    field = page.editor.form.rows["name"]
    assert not field.note_text()
    name.clear()
    QTest.keyClicks(name, "Local test")
    assert field.note_text() == "Will be saved as local-test."
    QTest.keyClick(name, Qt.Key.Key_Return)
    assert (name.text(), field.note_text()) == ("local-test", "")


def test_no_field_of_a_provider_moves_while_the_user_types(qtbot: QtBot, page: ProvidersPage) -> None:
    """Not at the first letter, nor where something is wrong."""
    page.resize(760, 900)
    with qtbot.waitExposed(page):
        page.show()
    page.show_providers(THREE)
    page.list.setCurrentRow(1)
    editor = page.editor
    fields = editor.findChildren(FieldRow)

    def places() -> list[tuple[int, int]]:
        QTest.qWait(0)
        return [(field.mapTo(page, field.rect().topLeft()).y(), field.height()) for field in fields]

    before = places()
    name = editor.form.line("name")
    append(name, " M")
    assert places() == before
    QTest.keyClicks(name, "y own server")
    assert places() == before
    type_into(editor.form.line("base_url"), "no address")
    assert "base_url" in editor.form.errors()
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


def test_what_another_server_said_does_not_pass_for_this_one(page: ProvidersPage) -> None:
    reported = ModelEntry(
        name="small", window=9_000, reported=ModelSpec(window=8_192), reported_by="/v1/models",
        tested_tools=False, learned=LearnedWindow(4_096), refused={"usage": "no"},
    )  # fmt: skip
    provider = replace(BOX, models=(reported,))
    page.show_providers([ShownProvider(provider)])
    editor = page.editor
    edits = collect_edits(editor)
    editor.check_view.show_steps(UNTESTED_STEPS)
    field = editor.form.line("base_url")
    append(field, "2")
    assert editor.check_view.isHidden()
    assert not edits
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert stored(provider, edits).models == (ModelEntry(name="small", window=9_000),)


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


def test_a_learned_window_is_shown_and_reset(qtbot: QtBot) -> None:
    """What the user enters replaces it too."""
    learned = LearnedWindow(8_192, "prompt is over n_ctx (8192)")
    entry = ModelEntry(name="qwen3", reported=ModelSpec(window=32_768), learned=learned)
    box = Provider(name="box", base_url="http://127.0.0.1:1/v1", models=(entry,))
    form = ModelSpecForm()
    qtbot.addWidget(form)
    changed: list[dict[str, object]] = []
    form.changed.connect(changed.append)
    spec = box.resolved_spec("qwen3")
    form.show_model(entry, spec, spec, is_default=True)
    assert form.form.line("window").placeholderText() == "8,192"
    reset = find_child(form, QAbstractButton, "forget_figures")
    assert reset.isVisibleTo(form)
    reset.click()
    unlearned = msgspec.structs.replace(entry, learned=None)
    assert msgspec.structs.replace(entry, **changed[0]) == unlearned

    own = box.with_entry(unlearned).resolved_spec("qwen3")
    form.show_model(unlearned, own, own, is_default=True)
    assert form.form.line("window").placeholderText() == "32,768"
    assert not reset.isVisibleTo(form)

    form.show_model(entry, spec, spec, is_default=True)
    type_into(form.form.line("window"), "16,384")
    assert changed[-1] == {"window": 16_384, "learned": None}


def test_a_refused_part_is_shown_with_the_server_s_words_and_reset(qtbot: QtBot) -> None:
    refused = {"cache": "cachePoint is not accepted", "later": "of a later release"}
    entry = ModelEntry(name="qwen3", refused=refused)
    box = Provider(name="box", base_url="http://127.0.0.1:1/v1", models=(entry,))
    form = ModelSpecForm()
    qtbot.addWidget(form)
    changed: list[dict[str, object]] = []
    form.changed.connect(changed.append)
    spec = box.resolved_spec("qwen3")
    form.show_model(entry, spec, spec, is_default=True)
    assert form.refused.isVisibleTo(form)
    assert "hints for the provider's discount (“cachePoint is not accepted”)" in form.refused.text()
    assert "later (“of a later release”)" in form.refused.text()

    find_child(form, QAbstractButton, "forget_figures").click()
    asked_again = msgspec.structs.replace(entry, **changed[0])
    assert asked_again == msgspec.structs.replace(entry, refused={})
    form.show_model(asked_again, spec, spec, is_default=True)
    assert not form.refused.isVisibleTo(form)
