"""What the pages of the settings stand on, without a window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import msgspec
from PySide6.QtWidgets import QWidget

from helix_desktop.config.paths import DataDir
from helix_desktop.config.settings import Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.replay.policy.worker import PolicyReplayWorker
from helix_desktop.services.app_services import AppServices
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.kit.commands import WindowCommands
from helix_desktop.ui.kit.forms import Draft, Values
from helix_desktop.ui.kit.intents import Intent, IntentHandlers
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.app_settings import SETTING_NAMES, read_setting
from helix_desktop.ui.settings.policy.form import PolicyFiles
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.preview import ReplayPreparation
from helix_desktop.ui.settings.view import SettingsPage, SettingsView
from helix_desktop.workspaces.registry import WorkspaceRecord

T = TypeVar("T")


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
            **app,
            **changes,
        }
    )


class _EndedTask:
    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        callback(self)

    def done(self) -> bool:
        return True


class _NothingRuns(TaskScope):
    """A scope without an event loop: what a page starts ends at once."""

    def start(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        coroutine.close()
        return cast("asyncio.Task[T]", _EndedTask())


class NoWindow(QWidget):
    """A window that shows nothing of what its session says."""

    def __init__(self) -> None:
        super().__init__()
        self.intents = IntentHandlers()
        self.commands = WindowCommands(self)
        self.notices: Any = self
        self.jobs: Any = self

    async def run(self, *_: Any) -> NoReturn:
        raise AssertionError("no window shows a job")

    def notify(self, notice: Notice) -> None:
        raise AssertionError(f"no window shows {notice}")

    def end(self, name: str) -> None: ...

    def names(self) -> tuple[str, ...]:
        return ()

    def page(self) -> str:
        return "settings"

    def perform(self, intent: Intent) -> None:
        raise AssertionError(f"no window performs {intent}")


class NothingOnScreen(Session):
    """The session of a window without a workspace: services that have stored nothing."""

    def __init__(
        self,
        folder: Path = Path("/home/mara/.local/share/helix-desktop"),
        scope: TaskScope | None = None,
    ) -> None:
        """`folder` is that of the data: by default one that can be shown, and isn't there.

        Without a `scope` what a page starts ends at once.
        """
        actions = AsyncActions(scope or _NothingRuns(), _fail)
        super().__init__(NoWindow(), AppServices(DataDir(folder), {}), actions)


def settings_view(
    values: Values, session: Session, pages: Mapping[SettingsPage, Callable[[], QWidget]] | None = None
) -> SettingsView:
    """Return the settings without a window; `pages` make those that know one."""
    files = PolicyFiles(session)
    replays = SessionReplays(PolicyReplayWorker)
    preparation = ReplayPreparation(session, replays)
    policy_page = partial(PolicyPage, session, files, replays, preparation)
    return SettingsView(session, values, {"policy": policy_page, **(pages or {})})


def _fail(error: HelixError) -> NoReturn:
    raise error
