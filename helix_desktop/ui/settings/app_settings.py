"""The user's settings as values of forms: read, watched and saved in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from helix_desktop.config.settings import NOTIFICATIONS, Settings, model_labels, with_user_role
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.retention import DAY_MS
from helix_desktop.permissions.home_folder import home_changes
from helix_desktop.permissions.reading_programs import reading_changes, reading_lines
from helix_desktop.services.file_history import file_coverage_settings
from helix_desktop.ui.kit.forms import Values
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.roles_page import ROLES, role_reasons
from helix_desktop.words.errors import error_text
from helix_desktop.workspaces.registry import Grant, WorkspaceRecord
from helix_desktop.workspaces.saved_rules import SavedRules, demo_calls, demo_calls_run


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
        return {name: getattr(changed, name) for name in (role, "catalog_roles", "user_roles")}

    return _Part(lambda settings: getattr(settings, role), change)


def _changed_names(names: Sequence[str]) -> dict[str, Any]:
    shown, hidden = home_changes(names)
    return {"home_shown": shown, "home_hidden": hidden}


def _changed_lines(lines: Sequence[str]) -> dict[str, Any]:
    added, removed = reading_changes(lines)
    return {"reading_added": added, "reading_removed": removed}


_PARTS = {
    **{f"notify_{name}": _notification(name) for name in NOTIFICATIONS},
    **{f"role:{role}": _role(role) for role, _, _ in ROLES},  # not its name alone: a workspace has its own
    "model_labels": _Part(model_labels, lambda _, labels: {}),
    "home_names": _Part(lambda settings: settings.home_names, lambda _, names: _changed_names(names)),
    "reading_lines": _Part(
        lambda settings: reading_lines(settings.reading_added, settings.reading_removed),
        lambda _, lines: _changed_lines(lines),
    ),
}

SETTING_NAMES = (*Settings.__struct_fields__, *_PARTS)
"""What forms can show and change."""


class AppSettings(Values):
    """The settings of the app by the names of their fields; a change holds at once, and is saved then.

    `slow_models` are the models that missed a deadline and are not asked; `role_reasons` say why the catalog
    chose the models of roles.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session, self._services = session, session.app
        self._services.settings_listeners.append(self._on_changed)
        unsubscribe = self._services.slow_models.listen(lambda: self.changed.emit("slow_models"))
        self.destroyed.connect(lambda _: unsubscribe())

    def get(self, name: str) -> Any:
        if name == "slow_models":
            return self._services.slow_models.remembered
        if name == "role_reasons":
            return role_reasons(self._services.settings, self._services.models.catalog)
        return read_setting(self._services.settings, name)

    def set(self, name: str, value: Any) -> None:
        if name == "slow_models":
            for model in set(self.get(name)) - set(value):
                self._services.slow_models.try_again(model.label)
            return
        settings, part = self._services.settings, _PARTS.get(name)
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
        self._settings, self._services, self._session = settings, session.app, session
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
            coverage = msgspec.structs.replace(
                file_coverage_settings(self.record), **{_COVERAGE[name]: value}
            )
            self._start(name, self._services.file_histories.use_settings(identity, coverage))
        elif name == "unused_days":
            self._services.registry.change(identity, unused_ms=value * DAY_MS)
            self.changed.emit(name)
        elif name in WorkspaceRecord.__struct_fields__:
            self._services.registry.change(identity, **{name: value})
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
