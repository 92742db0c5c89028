"""What the fields of a model's figures take and show, and what resets them."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot

from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.domain.model_spec import (
    LearnedWindow,
    ModelSpec,
    ResolvedModelSpec,
    SourcedSpec,
    resolve_spec,
)
from helix_desktop.ui.settings.providers.model_spec_form import (
    ModelSpecForm,
    entry_with_figure,
    model_price_text,
)

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
    reset = form.findChild(QAbstractButton, "forget_figures")
    assert isinstance(reset, QAbstractButton)
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
