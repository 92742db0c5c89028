"""The user's settings as values of forms: read, watched and saved in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.config.settings import NOTIFICATIONS, Settings
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.kit.forms import Values


class _Part(msgspec.Struct, frozen=True):
    """A value that is a part of a setting, or several: how it is read, and which settings it changes."""

    read: Callable[[Settings], Any]
    change: Callable[[Settings, Any], dict[str, Any]]


def _notification(name: str) -> _Part:
    def change(settings: Settings, is_on: bool) -> dict[str, Any]:
        others = tuple(off for off in settings.notify_off if off != name)
        return {"notify_off": others if is_on else (*others, name)}

    return _Part(lambda settings: name not in settings.notify_off, change)


_PARTS = {f"notify_{name}": _notification(name) for name in NOTIFICATIONS}

SETTING_NAMES = (*Settings.__struct_fields__, *_PARTS)
"""What forms can show and change."""


class AppSettings(Values):
    """The settings of the app by the names of their fields; a change holds at once, and is saved then."""

    def __init__(self, parent: QObject, services: AppServices, async_actions: AsyncActions) -> None:
        super().__init__(parent)
        self._services, self._async_actions = services, async_actions
        services.settings_listeners.append(self._on_changed)

    def get(self, name: str) -> Any:
        return read_setting(self._services.settings, name)

    def set(self, name: str, value: Any) -> None:
        settings, part = self._services.settings, _PARTS.get(name)
        fields = part.change(settings, value) if part is not None else {name: value}
        changed = msgspec.structs.replace(settings, **fields)
        if changed != settings:
            self._services.use_settings(changed)
            self._async_actions.start(self._save(), f"save setting {name}")

    async def _save(self) -> None:
        await self._services.save_settings(self._services.settings)

    def _on_changed(self, before: Settings, after: Settings) -> None:
        for name in SETTING_NAMES:
            if read_setting(before, name) != read_setting(after, name):
                self.changed.emit(name)


def read_setting(settings: Settings, name: str) -> Any:
    """Return the value that a form shows under a name."""
    part = _PARTS.get(name)
    return part.read(settings) if part is not None else getattr(settings, name)
