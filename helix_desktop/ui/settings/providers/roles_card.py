"""Which model does what in workspaces that do not say otherwise; which models are too slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from helix_desktop.agent.models import SlowModel
from helix_desktop.config.settings import FILLED_ROLES, FilledRole
from helix_desktop.domain.choices import EFFORT_LEVELS, Effort
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.efforts import effort_name
from helix_desktop.words.models import demo_model_name
from helix_desktop.words.numbers import format_tokens, format_usd
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

Role = Literal["model", "fast", "summary", "long"]
ROLES: tuple[tuple[Role, str, str], ...] = (
    ("model", text("Main", "model role"), text("Answers you and calls tools.")),
    ("fast", text("Large outputs"), text("Extracts details from large outputs. Use a fast model.")),
    ("summary", text("Compaction"), text("Writes handovers and observations.")),
    ("long", text("Long texts"), text("Reads texts that fit no other model's context window.")),
)
"""The roles, their names, and what they do."""


class RolesCard(Themed, QWidget):
    """The model of each role, where a workspace does not say otherwise.

    Above it stand the models that were too slow for large outputs, if there are any.
    """

    try_again_requested = Signal(str)
    """The label of a model that was too slow."""
    model_chosen = Signal(str, str)
    """A role, and the label of its model; empty: the main model."""
    background_effort_chosen = Signal(str)
    """How much models think for summaries and extracts; empty: as is set for each."""

    def __init__(self) -> None:
        """Start without models."""
        super().__init__()
        self._choices: dict[Role, ComboBox] = {}
        self._reasons: dict[Role, QLabel] = {}
        body = column(margins=(16, 12, 16, 15), gap=5)
        for role, name, words in ROLES:
            self._choices[role] = choice = _choice(translate(name))
            choice.activated.connect(
                lambda _, role=role, choice=choice: self.model_chosen.emit(role, choice.currentData())
            )
            self._reasons[role] = reason = label("", "faint", wrap=True)
            reason.hide()
            body.addLayout(_heading(translate(name), translate(words)))
            body.addWidget(choice)
            body.addWidget(reason)
        self._background_effort = _choice(tr("Reasoning effort for summaries and extracts"))
        self._background_effort.activated.connect(
            lambda _: self.background_effort_chosen.emit(self._background_effort.currentData())
        )
        words = tr("How much models think for summaries and extracts.")
        body.addLayout(_heading(tr("Background effort"), words))
        body.addWidget(self._background_effort)
        self._slow_rows = column(gap=6)
        self._slow_card = self._build_slow_card()
        self.setLayout(column(self._slow_card, card(body), gap=12))

    def _build_slow_card(self) -> QFrame:
        words = tr(
            "Helix doesn't ask these models about large outputs until it restarts, at most for a day. "
            "Meanwhile the model set for large outputs is asked, if it is faster. Otherwise the agent gets "
            "previews."
        )
        title, note = label(tr("Too slow for large outputs"), "section"), label(words, "note", wrap=True)
        slow_card = card(column(title, self._slow_rows, note, margins=(16, 12, 16, 14), gap=8))
        slow_card.hide()
        return slow_card

    def show_background_effort(self, effort: Effort) -> None:
        """Show how much models think for summaries and extracts."""
        choice = self._background_effort
        choice.clear()
        choice.addItem(tr("As set for the role's model"), "")
        levels: tuple[Effort, ...] = ("default", *EFFORT_LEVELS)
        for level in levels:
            choice.addItem(effort_name(level), level)
        choice.setCurrentIndex(choice.findData(effort))

    def show_roles(self, models: Sequence[str], chosen: Mapping[Role, str]) -> None:
        """Show which model each role has."""
        for role, choice in self._choices.items():
            nobody = demo_model_name() if role == "model" else tr("Main model")
            _fill(choice, [(nobody, "")], models, chosen[role])

    def show_reasons(self, reasons: Mapping[FilledRole, str]) -> None:
        """Show why the catalog chose the model of a role, or what to do where it chose none."""
        for role, reason in self._reasons.items():
            show_text(reason, reasons.get(role, "") if role in FILLED_ROLES else "")

    def show_slow_models(self, models: Sequence[SlowModel]) -> None:
        """Show the models that missed the deadline for large outputs, each with a way to ask it again."""
        clear_layout(self._slow_rows)
        for model in models:
            text = tr("{model} needed more than {seconds} s.", model=model.label, seconds=model.deadline_s)
            button = PushButton(tr("Try again"), name="try_again")
            button.setAccessibleName(tr("Try {model} again", model=model.label))
            button.clicked.connect(lambda _, slow=model.label: self.try_again_requested.emit(slow))
            words = label(text, wrap=True)
            line = row(IconLabel("triangle-alert", px=16, color_token="warn"), words, button, gap=9)
            line.setStretch(1, 1)
            holder = QWidget()
            holder.setLayout(line)
            self._slow_rows.addWidget(holder)
            retint(holder, self._theme)
        self._slow_card.setVisible(bool(models))

    def choice(self, role: Role) -> ComboBox:
        """Return the choice of a role."""
        return self._choices[role]


def role_reason_text(role: FilledRole, model: ModelInfo, main: ModelInfo) -> str:
    """Return why the catalog chose a model for a role beside the main one."""
    if role == "long":
        return tr(
            "Chosen by Helix: reads {window} tokens, {main} reads {least}.",
            window=format_tokens(model.window),
            main=main.name,
            least=format_tokens(main.window),
        )
    return tr(
        "Chosen by Helix: {price} per million tokens in and out, {main} costs {highest}.",
        price=_prices(model),
        main=main.name,
        highest=_prices(main),
    )


def fast_suggestion_text(main: str, label: str) -> str:
    """Return what to do for a fast model on a server of this computer, where none is loaded with `main`."""
    if not label:
        return tr(
            "Not chosen by Helix: another model would unload {main}. Keep a small one loaded with it, then "
            "choose it here.",
            main=main,
        )
    return tr(
        "Not chosen by Helix: another model would unload {main}. Keep {model} loaded with it, then choose it "
        "here.",
        main=main,
        model=label,
    )


def _prices(model: ModelInfo) -> str:
    return f"{format_usd(model.price_in)} / {format_usd(model.price_out)}"


def _heading(title: str, explanation: str) -> QHBoxLayout:
    """Return a title with what it means beside it, their first lines at one height."""
    name = label(title, "strong")
    heading = row(name, label(explanation, "faint", wrap=True), margins=(0, 7, 0, 0), gap=8)
    heading.setAlignment(name, Qt.AlignmentFlag.AlignTop)
    heading.setStretch(1, 1)
    return heading


def _choice(name: str) -> ComboBox:
    choice = ComboBox()
    choice.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    choice.setMinimumContentsLength(6)
    choice.setAccessibleName(name)
    return choice


def _fill(choice: ComboBox, special: Sequence[tuple[str, str]], models: Sequence[str], selected: str) -> None:
    choice.clear()
    for words, value in special:
        choice.addItem(words, value)
    for model in models:
        choice.addItem(model, model)
    place = choice.findData(selected)
    if place < 0:  # its provider is gone, or has it no longer
        choice.addItem(tr("{model} (not available)", model=selected), selected)
        place = choice.count() - 1
    choice.setCurrentIndex(place)
    choice.setToolTip(choice.currentText())
