"""The user's settings as values of forms, and the page of the models that do each kind of work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal

import msgspec
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.config.role_suggestions import with_user_role
from helix_desktop.config.settings import NOTIFICATIONS, Settings, model_labels
from helix_desktop.domain.choices import EFFORT_LEVELS, Effort
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.permissions.reading_programs import reading_lines
from helix_desktop.services.file_history import file_coverage_settings
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import card, clear_layout, column, pane, row
from helix_desktop.ui.kit.forms import Choice, Choices, Field, Form, Values
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.model_names import demo_model_name, effort_name
from helix_desktop.words.translation import Translator, error_text
from helix_desktop.workspaces.registry import Grant, WorkspaceRecord
from helix_desktop.workspaces.saved_rules import SavedRules, demo_calls, demo_calls_run

tr = Translator("Settings: Models")
text = TextContext("Settings: Models")

Role = Literal["model", "fast", "summary", "long"]
ROLES: tuple[tuple[Role, str, str], ...] = (
    ("model", text("Main", "model role"), text("Answers you and calls tools.")),
    ("fast", text("Fast", "model role"), text("Picks parts of large outputs and names sessions.")),
    ("summary", text("Summaries"), text("Writes what replaces older messages when they are compacted.")),
    ("long", text("Long context"), text("Reads what is too long for the other models.")),
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
                f"role:{role}", name, note, choices=partial(models, role),
                format=lambda label: tr("{model} (not available)", model=label),  # any more
            )
            for role, name, note in ROLES
        ),
        Choice("background_effort", text("Background effort"),
               text("How much models think for summaries and parts of outputs."), choices=efforts),
    ]  # fmt: skip


class RolesPage(QWidget):
    """The model of each role, where a workspace does not say otherwise.

    Below stand the models that were too slow for large outputs, if there are any.
    """

    def __init__(self, values: Values) -> None:
        """`values` have the roles, the models that there are, and the slow models."""
        super().__init__()
        self._values = values
        self.form = Form(role_fields(values), values)
        words = tr(
            "They aren't asked until Helix restarts, at most for a day. The agent gets the first and last "
            "lines of large outputs, unless a faster model is chosen above."
        )
        self._slow_rows = column(gap=6)
        title = label(tr("Too slow for large outputs"), "section")
        note = label(words, "note", wrap=True)
        self._slow_card = card(column(title, self._slow_rows, note, margins=(16, 12, 16, 14), gap=8))
        lead = tr(
            "One model can do everything. Faster, cheaper or larger models can take over some work. The "
            "menu of models sets them for one workspace."
        )
        page, _ = scrolling_page(tr("Model roles"), lead, column(self.form, self._slow_card, gap=18))
        self.setLayout(column(page))
        values.changed.connect(self._on_changed)
        self._show_slow_models()

    def _on_changed(self, name: str) -> None:
        if name == "model_labels":
            self.form.refresh()
        if name == "slow_models":
            self._show_slow_models()

    def _show_slow_models(self) -> None:
        clear_layout(self._slow_rows)
        slow_models = self._values.get("slow_models")
        for model in slow_models:
            words = tr("{model} needed more than {seconds} s.", model=model.label, seconds=model.deadline_s)
            tip = tr("Try {model} again", model=model.label)
            button = PushButton(tr("Try again"), name="try_again", words=tip)
            others = tuple(other for other in slow_models if other != model)
            button.clicked.connect(lambda _=False, others=others: self._values.set("slow_models", others))
            sign = IconLabel("triangle-alert", px=16, color_token="warn")
            self._slow_rows.addWidget(pane(row(sign, label(words, wrap=True), button, gap=9, stretch=1)))
        self._slow_card.setVisible(bool(slow_models))


class _Part(msgspec.Struct, frozen=True):
    """A value that is a part of a setting, or several: how it is read, and which settings it changes."""

    read: Callable[[Settings], Any]
    change: Callable[[Settings, Any], dict[str, Any]]


def _notification(name: str) -> _Part:
    def change(settings: Settings, is_on: bool) -> dict[str, Any]:
        others = tuple(off for off in settings.notify_off if off != name)
        return {"notify_off": others if is_on else (*others, name)}

    return _Part(lambda settings: name not in settings.notify_off, change)


def _role(role: str) -> _Part:
    def change(settings: Settings, label: str) -> dict[str, Any]:
        changed = with_user_role(settings, role, label)
        return {role: label, "user_roles": changed.user_roles}

    return _Part(lambda settings: getattr(settings, role), change)


_PARTS = {
    **{f"notify_{name}": _notification(name) for name in NOTIFICATIONS},
    **{f"role:{role}": _role(role) for role, _, _ in ROLES},  # not its name alone: a workspace has its own
    "model_labels": _Part(model_labels, lambda _, labels: {}),
    "home_names": _Part(lambda settings: settings.home_names, lambda _, names: {}),
    "reading_lines": _Part(
        lambda settings: reading_lines(settings.reading_added, settings.reading_removed),
        lambda _, lines: {},
    ),
}

SETTING_NAMES = (*Settings.__struct_fields__, *_PARTS)
"""What forms can show and change."""


class AppSettings(Values):
    """The settings of the app by the names of their fields; a change holds at once, and is saved then.

    `slow_models` are the models that missed a deadline and are not asked.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._services = session.app
        self._services.settings_listeners.append(self._on_changed)
        unsubscribe = self._services.slow_models.listen(lambda: self.changed.emit("slow_models"))
        self.destroyed.connect(lambda _: unsubscribe())

    def get(self, name: str) -> Any:
        if name == "slow_models":
            return self._services.slow_models.remembered
        return read_setting(self._services.settings, name)

    def set(self, name: str, value: Any) -> None:
        if name == "slow_models":
            for model in set(self.get(name)) - set(value):
                self._services.slow_models.try_again(model.label)
            return
        settings = self._services.settings
        part = _PARTS.get(name)
        fields = part.change(settings, value) if part is not None else {name: value}
        changed = msgspec.structs.replace(settings, **fields)
        if changed != settings:
            self._services.use_settings(changed)
            self._session.start(self._save(name), f"save setting {name}")

    async def _save(self, name: str) -> None:
        await self._services.save_settings(self._services.settings)
        if name.startswith("role:") or name == "background_effort":
            await self._session.show_model()  # the open workspaces use it

    def _on_changed(self, before: Settings, after: Settings) -> None:
        for name in SETTING_NAMES:
            if read_setting(before, name) != read_setting(after, name):
                self.changed.emit(name)


class WorkspaceSettings(Values):
    """The settings of the workspace on screen by the fields of its record, and those of the app.

    `is_confined` is whether something holds commands back; `demo_calls` is empty but in a sample.
    """

    def __init__(self, settings: Values, session: Session) -> None:
        super().__init__(settings)
        self._settings = settings
        self._services = session.app
        self._session = session
        self._is_confined = False
        settings.changed.connect(self.changed)
        settings.refused.connect(self.refused)

    @property
    def record(self) -> WorkspaceRecord:
        """Return what is stored of the workspace; a new record without one."""
        identity = self._session.workspace_id
        return self._services.registry.get(identity) if identity else WorkspaceRecord(id="", path="", name="")

    def get(self, name: str) -> Any:
        if name == "is_confined":
            return self._is_confined
        if name == "demo_calls":
            return demo_calls(self.record) if self.record.demo else ""
        if name == "runs_demo_calls":
            return demo_calls_run(self.record, self.record.demo)
        if name == "unused_days":
            return self.record.unused_ms // DAY_MS
        if name in WorkspaceRecord.__struct_fields__:
            return getattr(self.record, name)
        return self._settings.get(name)

    def set(self, name: str, value: Any) -> None:
        identity = self._session.workspace_id
        if name == "is_confined":
            self._is_confined = value
            self.changed.emit(name)
        elif name == "runs_demo_calls":
            SavedRules(self._services.registry, identity).set_demo_calls("allow" if value else "ask")
            for changed in (name, "demo_calls"):
                self.changed.emit(changed)
            self._session.start(self._session.show_model(), "demo calls")
        elif name in _GRANTS:
            self._start(name, self._services.tools.set_grant(identity, _GRANTS[name], value))
        elif name in _COVERAGE:
            before = file_coverage_settings(self.record)
            coverage = msgspec.structs.replace(before, **{_COVERAGE[name]: value})
            self._start(name, self._services.file_histories.use_settings(identity, coverage))
        elif name == "unused_days" or name in WorkspaceRecord.__struct_fields__:
            stored = {"unused_ms": value * DAY_MS} if name == "unused_days" else {name: value}
            self._services.registry.change(identity, **stored)
            self.changed.emit(name)
        else:
            self._settings.set(name, value)

    def _start(self, name: str, change: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await change
            except InvalidInput as error:
                self.refused.emit(name, error_text(error))
            else:
                self.changed.emit(name)

        self._session.start(run(), f"change {name} of a workspace")


_GRANTS: dict[str, Grant] = {"sandbox": "sandbox", "network": "network", "fetch": "fetch"}
_COVERAGE = {"history_included": "included", "history_max_file": "max_file", "history_quota": "quota"}


def read_setting(settings: Settings, name: str) -> Any:
    part = _PARTS.get(name)
    return part.read(settings) if part is not None else getattr(settings, name)
