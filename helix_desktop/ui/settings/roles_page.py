"""Which model does what in workspaces that do not say otherwise; which models are too slow."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Literal

from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.settings import FILLED_ROLES, FilledRole, Settings, unloaded_fast_model
from helix_desktop.domain.choices import EFFORT_LEVELS, Effort
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, pane, row
from helix_desktop.ui.kit.forms import Choice, Choices, Field, Form, Values
from helix_desktop.ui.settings.page_layout import scrolling_page
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
    ("summary", text("Compaction"), text("Sums up older messages when they are compacted.")),
    ("long", text("Long texts"), text("Reads texts that fit no other model's context window.")),
)
"""The roles, their names, and what they do."""


class _ModelChoice(Choice, frozen=True):
    def make(self, form: Form) -> QWidget:
        box = super().make(form)
        assert isinstance(box, ComboBox)
        box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(6)
        box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        return box


def role_fields(values: Values) -> list[Field]:
    def models(role: Role) -> Choices:
        nobody = demo_model_name() if role == "model" else tr("Main model")
        return [("", nobody), *((label, label) for label in values.get("model_labels"))]

    def efforts() -> Choices:
        levels: tuple[Effort, ...] = ("default", *EFFORT_LEVELS)
        return [("", tr("As set for the role's model")), *((level, effort_name(level)) for level in levels)]

    return [
        *(
            _ModelChoice(
                f"role:{role}", name, note, room=2 if role in FILLED_ROLES else 0,
                choices=partial(models, role),
                format=lambda label: tr("{model} (not available)", model=label),  # any more
            )
            for role, name, note in ROLES
        ),
        Choice("background_effort", text("Background effort"),
               text("How much models think for summaries and extracts."), choices=efforts),
    ]  # fmt: skip


class RolesPage(QWidget):
    """The model of each role, where a workspace does not say otherwise, and why.

    Below stand the models that were too slow for large outputs, if there are any.
    """

    def __init__(self, values: Values) -> None:
        """`values` have the roles, the models that there are, the catalog's reasons, and the slow models."""
        super().__init__()
        self._values = values
        self.form = Form(role_fields(values), values)
        words = tr(
            "They aren't asked until Helix restarts, at most for a day. The agent gets previews of large "
            "outputs, unless a faster model is chosen above."
        )
        self._slow_rows = column(gap=6)
        title, note = label(tr("Too slow for large outputs"), "section"), label(words, "note", wrap=True)
        self._slow_card = card(column(title, self._slow_rows, note, margins=(16, 12, 16, 14), gap=8))
        page, _ = scrolling_page(
            tr("Model roles"),
            tr(
                "One model can do everything. Faster, cheaper or larger models can take over some work. The "
                "menu of models sets them for one workspace."
            ),
            column(self.form, self._slow_card, gap=18),
        )
        self.setLayout(column(page))
        values.changed.connect(self._on_changed)
        self._show_reasons()
        self._show_slow_models()

    def _on_changed(self, name: str) -> None:
        if name == "model_labels":
            self.form.refresh()
        if name == "slow_models":
            self._show_slow_models()
        elif name.startswith("role:") or name in ("model_labels", "role_reasons"):
            self._show_reasons()

    def _show_reasons(self) -> None:
        reasons = self._values.get("role_reasons")
        for role, _, note in ROLES:
            self.form.rows[f"role:{role}"].show_note(join_sentences(translate(note), reasons.get(role, "")))

    def _show_slow_models(self) -> None:
        """Show the models that missed the deadline for large outputs, each with a way to ask it again."""
        clear_layout(self._slow_rows)
        slow_models = self._values.get("slow_models")
        for model in slow_models:
            words = tr("{model} needed more than {seconds} s.", model=model.label, seconds=model.deadline_s)
            button = PushButton(tr("Try again"), name="try_again")
            button.setAccessibleName(tr("Try {model} again", model=model.label))
            others = tuple(other for other in slow_models if other != model)
            button.clicked.connect(lambda _=False, others=others: self._values.set("slow_models", others))
            sign = IconLabel("triangle-alert", px=16, color_token="warn")
            holder = pane(row(sign, label(words, wrap=True), button, gap=9, stretch=1))
            self._slow_rows.addWidget(holder)
        self._slow_card.setVisible(bool(slow_models))


def role_reasons(settings: Settings, catalog: ModelCatalog) -> dict[FilledRole, str]:
    """Return why the catalog chose the model of a role, for the roles that it filled.

    For an open fast role beside a server on this computer, what to do about it.
    """
    reasons: dict[FilledRole, str] = {}
    with suppress(HelixError):
        if (unloaded := unloaded_fast_model(settings, catalog)) is not None:
            reasons["fast"] = _fast_suggestion(*unloaded)
    for role in FILLED_ROLES:
        if role not in settings.catalog_roles:
            continue
        with suppress(HelixError):  # its provider may have been edited outside
            provider, model = settings.find_model(getattr(settings, role), catalog)
            _, _, name = settings.model.partition("/")
            main = provider.model_info(
                name if settings.model.startswith(f"{provider.name}/") else "", catalog
            )
            reasons[role] = _role_reason(role, model, main)
    return reasons


def _role_reason(role: FilledRole, model: ModelInfo, main: ModelInfo) -> str:
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


def _fast_suggestion(main: str, label: str) -> str:
    """Return what to do for a fast model on a server of this computer, where none is loaded with `main`."""
    if not label:
        return tr("It could unload {main}: load a small one with it first.", main=main)
    return tr("It could unload {main}: load {model} with it first.", main=main, model=label)


def _prices(model: ModelInfo) -> str:
    return f"{format_usd(model.price_in)} / {format_usd(model.price_out)}"
