"""The window, its appearance, and the tasks that its actions start."""

from __future__ import annotations

from typing import NamedTuple

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


class WindowContext(NamedTuple):
    """A window with what belongs to it; `scope` owns the tasks that its actions start."""

    window: MainWindow
    appearance: Appearance
    window_state: WindowStateFile
    scope: TaskScope
    actions: AsyncActions

    @property
    def frame(self) -> WindowFrame:
        return WindowFrame(self.window, self.appearance, self.window_state)


def create_window_context(frame: WindowFrame) -> WindowContext:
    """Create the context of a frame; failures of its tasks are shown above the central page."""
    window = frame.window
    errors = ErrorNotices(window.notices, lambda remedy: window.perform(ApplyRemedy(remedy)))

    def on_task_error(error: BaseException) -> None:
        why = verbatim(f"{type(error).__name__}: {error}")
        errors.show(HelixError(text("Something went wrong."), why, remedies=("open_log",)))

    scope = TaskScope(on_task_error)
    actions = AsyncActions(scope, errors.show, errors.bind_place)
    return WindowContext(*frame, scope, actions)
