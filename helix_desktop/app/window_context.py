"""The window, its appearance, and the tasks that its actions start."""

from __future__ import annotations

import msgspec

from helix_desktop.app.window_frame import WindowFrame
from helix_desktop.app.window_state import WindowStateFile
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.kit.intents import ApplyRemedy
from helix_desktop.ui.kit.notices import ErrorNotices
from helix_desktop.ui.window.main_window import MainWindow

text = TextContext("Start")


class WindowContext(msgspec.Struct, frozen=True):
    """The window and what belongs to it; `scope` owns the tasks that its actions start."""

    frame: WindowFrame
    scope: TaskScope
    actions: AsyncActions

    @property
    def window(self) -> MainWindow:
        return self.frame.window

    @property
    def appearance(self) -> Appearance:
        return self.frame.appearance

    @property
    def window_state(self) -> WindowStateFile:
        return self.frame.window_state


def create_window_context(frame: WindowFrame) -> WindowContext:
    """Create the context of a frame; failures of its tasks are shown above the central page."""
    window = frame.window
    errors = ErrorNotices(window.notices, lambda remedy: window.perform(ApplyRemedy(remedy)))

    def on_task_error(error: BaseException) -> None:
        why = verbatim(f"{type(error).__name__}: {error}")
        errors.show(HelixError(text("Something went wrong."), why, remedies=("open_log",)))

    scope = TaskScope(on_task_error)
    return WindowContext(frame, scope, AsyncActions(scope, errors.show, errors.bind_place))
