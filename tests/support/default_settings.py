"""What the pages of the settings stand on, without a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.kit.forms import Draft, Values
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.ui.kit.notices import NoticeArea
from helix_desktop.ui.settings.app_settings import SETTING_NAMES, read_setting
from helix_desktop.ui.settings.page_layout import OnScreen
from helix_desktop.ui.settings.policy.files import PolicyFiles
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.view import SettingsPage, SettingsView
from helix_desktop.workspaces.registry import WorkspaceRecord


def default_settings(**changes: Any) -> Draft:
    """Return the defaults, those of a workspace among them, with some changes."""
    record = msgspec.structs.asdict(WorkspaceRecord(id="", path="", name=""))
    app = {name: read_setting(Settings(), name) for name in SETTING_NAMES}
    return Draft(
        {
            **record,
            "unused_days": 0,
            "is_confined": True,
            "demo_calls": "",
            "runs_demo_calls": False,
            "slow_models": (),
            "role_reasons": {},
            **app,
            **changes,
        }
    )


class NothingOnScreen(QObject):
    """What pages know of a window without a workspace: services that have stored nothing."""

    session_changed = Signal()
    workspace_id, workspace, conversation = "", None, None

    def __init__(self, folder: Path = Path("/home/mara/.local/share/helix-desktop")) -> None:
        """`folder` is that of the data: by default one that can be shown, and isn't there."""
        super().__init__()
        self.notices = NoticeArea()
        self.services = AppServices(DataDir(folder), {})
        self.async_actions = AsyncActions(TaskScope(), _fail)

    async def run(self, intent: Intent) -> None:
        raise AssertionError(f"no window performs {intent}")


def settings_view(
    values: Values, on_screen: OnScreen, pages: Mapping[SettingsPage, Callable[[], QWidget]] | None = None
) -> SettingsView:
    """Return the settings without a window; `pages` make those that know one."""
    files, replays = PolicyFiles(on_screen), SessionReplays(PolicyReplayWorker)
    return SettingsView(
        on_screen, values, {"policy": lambda: PolicyPage(on_screen, files, replays), **(pages or {})}
    )


def _fail(error: HelixError) -> NoReturn:
    raise error
