"""The window, its appearance, and the tasks that its actions start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from helix_desktop.app.window_frame import WindowFrame
from helix_desktop.app.window_state import WindowStateFile
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.shell_data import error_banner
from helix_desktop.ui.design.style.stylesheet import Appearance
from helix_desktop.ui.shell.main_window import MainWindow

text = TextContext("Start")


@dataclass(frozen=True, slots=True)
class WindowContext:
    """The window and what belongs to it; `scope` owns the tasks that its actions start."""

    window: MainWindow
    appearance: Appearance
    window_state: WindowStateFile
    scope: TaskScope
    actions: AsyncActions


def create_window_context(frame: WindowFrame) -> WindowContext:
    """Create the context of a frame; failures of its tasks are shown above the central page."""
    window = frame.window

    def bind_banner() -> Callable[[HelixError], None]:
        place = window.banners.context_ids
        return lambda error: window.banners.show_banner(error_banner(error, *place))

    def show_error(error: HelixError) -> None:
        bind_banner()(error)

    def on_task_error(error: BaseException) -> None:
        why = verbatim(f"{type(error).__name__}: {error}")
        show_error(HelixError(text("Something went wrong."), why, remedies=("open_log",)))

    scope = TaskScope(on_task_error)
    return WindowContext(
        window, frame.appearance, frame.window_state, scope, AsyncActions(scope, show_error, bind_banner)
    )
