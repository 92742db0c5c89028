"""The reasoning effort of the session on screen: its menu, its command, and what the composer says of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.choices import Effort, EffortLevel, SentEffort
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.menus import popup_above
from helix_desktop.ui.kit.intents import ChooseEffort, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.efforts import effort_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")
text = TextContext("Session")

_DEFAULT: Effort = "default"


class EffortState(msgspec.Struct, frozen=True):
    """What is set for a session, its workspace and its model, and what follows.

    `levels` are those that the model takes, none if it cannot think; `sent` is the one of the next request.
    """

    levels: tuple[EffortLevel, ...]
    session: Effort
    workspace: Effort
    model: Effort
    sent: SentEffort


class EffortController(QObject):
    def __init__(
        self,
        window: MainWindow,
        session: Session,
        show_models: Callable[[], object],
    ) -> None:
        super().__init__(window)
        self._session, self._services, self._show_models = session, session.app, show_models
        self._composer = window.pages.chat.composer
        window.intents.add(self)

    def menu(self, parent: QWidget) -> QMenu:
        menu = effort_menu(parent, self.state(), self._choose_for_session, self._choose_for_workspace)
        action = QAction(tr("Effort of each model…"), menu)
        action.setObjectName("page:providers")
        action.triggered.connect(lambda _=False: self._show_models())
        menu.addAction(action)
        return menu

    def state(self) -> EffortState:
        workspace, conversation = self._session.workspace, self._session.conversation
        info = conversation.model
        provider = self._services.settings.provider(info.provider)
        return EffortState(
            info.offered_efforts,
            conversation.session.transcript.chosen_effort,
            self._services.registry.get(workspace.id).effort,
            provider.entry(info.name).effort if provider is not None else "",
            conversation.effort,
        )

    def _pop_up(self) -> None:
        menu = self.menu(self._composer)
        menu.aboutToHide.connect(menu.deleteLater)
        popup_above(menu, self._composer.model_button)

    def _choose_for_session(self, effort: Effort) -> None:
        self._session.start(self._set_for_session(effort), "effort of a session")

    async def _set_for_session(self, effort: Effort) -> None:
        await self._session.workspace.choose_effort(self._session.conversation.session.id, effort)

    @handles(ChooseEffort)
    async def choose(self, level: str) -> None:
        """Let the model of the session think as much as was typed; nothing typed: offer the levels.

        Raises InvalidInput.
        """
        if not level:
            self._pop_up()
            return
        levels = self.state().levels
        efforts: tuple[Effort, ...] = (_DEFAULT, *levels)
        effort = next((effort for effort in efforts if effort == level.casefold()), None)
        if effort is None or not levels:
            raise InvalidInput(
                text("{words} isn't an effort of this model.", words=repr(level[:40])),
                text("Efforts are {efforts}.", efforts=efforts)
                if levels
                else text("It has no reasoning effort."),
            )
        await self._set_for_session(effort)

    def _choose_for_workspace(self, effort: Effort) -> None:
        self._session.start(self._set_for_workspace(effort), "effort of a workspace")

    async def _set_for_workspace(self, effort: Effort) -> None:
        await self._services.use_effort(self._session.workspace.id, effort)
        await self._session.show_model()


def effort_menu(
    parent: QWidget,
    state: EffortState,
    choose_for_session: Callable[[Effort], object],
    choose_for_workspace: Callable[[Effort], object],
) -> QMenu:
    """Make a menu of levels with the session's one marked, and one for the workspace in it."""
    sent = effort_name(state.sent)
    menu = QMenu(tr("Reasoning effort: {effort}", effort=sent) if sent else tr("Reasoning effort"), parent)
    menu.setAccessibleName(tr("Reasoning effort"))
    if not state.levels:
        nothing = QAction(tr("This model has no reasoning effort"), menu)
        nothing.setEnabled(False)
        menu.addAction(nothing)
        return menu
    title = QAction(tr("Reasoning effort for this session"), menu)
    title.setEnabled(False)
    menu.addAction(title)
    workspace_default = effort_name(state.workspace or state.model or _DEFAULT)
    inherit = tr("Workspace default ({effort})", effort=workspace_default)
    _add_levels(menu, "effort", inherit, state.levels, state.session, choose_for_session)
    menu.addSeparator()
    workspace_menu = QMenu(tr("Default for this workspace"), menu)
    workspace_menu.setObjectName("workspace_effort")
    inherit = tr("As set for the model ({effort})", effort=effort_name(state.model or _DEFAULT))
    _add_levels(
        workspace_menu, "workspace_effort", inherit, state.levels, state.workspace, choose_for_workspace
    )
    menu.addMenu(workspace_menu)
    return menu


def _add_levels(
    menu: QMenu,
    name: str,
    inherit: str,
    levels: Sequence[EffortLevel],
    current: Effort,
    choose: Callable[[Effort], object],
) -> None:
    """Add the levels to choose from; one that is set and not offered is listed too."""
    group = QActionGroup(menu)
    efforts: list[Effort] = ["", _DEFAULT, *levels]
    if current not in efforts:
        efforts.append(current)
    for effort in efforts:
        action = QAction(effort_name(effort) if effort else inherit, menu)
        action.setObjectName(f"{name}:{effort}")
        action.setCheckable(True)
        action.setChecked(effort == current)
        action.triggered.connect(lambda _=False, effort=effort: choose(effort))
        group.addAction(action)
        menu.addAction(action)
