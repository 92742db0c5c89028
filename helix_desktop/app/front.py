"""The window with the tasks that its clicks start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from helix_desktop.agent.tasks import TaskScope
from helix_desktop.app.layout import LayoutFile
from helix_desktop.app.window import Frame
from helix_desktop.context.errors import HelixError
from helix_desktop.ui.frame.rows import error_banner
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.style import Appearance


@dataclass(frozen=True, slots=True)
class Front:
    """The window and what belongs to it; `scope` owns what its clicks start."""

    window: MainWindow
    appearance: Appearance
    layout: LayoutFile
    scope: TaskScope
    intents: Intents


def front_of(frame: Frame) -> Front:
    """Give a frame its scope; failures of its tasks are told on top of the centre."""
    window = frame.window

    def tell_here() -> Callable[[HelixError], None]:
        place = window.banners.place
        return lambda error: window.banners.show_banner(error_banner(error, *place))

    def tell(error: HelixError) -> None:
        tell_here()(error)

    def fail(error: BaseException) -> None:
        why = f"{type(error).__name__}: {error}"
        tell(HelixError("Something went wrong.", why, "See the log.", remedies=("open_log",)))

    scope = TaskScope(fail)
    return Front(window, frame.appearance, frame.layout, scope, Intents(scope, tell, tell_here))
