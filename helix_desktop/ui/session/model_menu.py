"""Which model answers in the session on screen, with which effort: the menu behind its name, and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.choices import Effort, EffortLevel, SentEffort
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.provider_changes import DEMO_LABEL
from helix_desktop.ui.design.menus import popup_above
from helix_desktop.ui.kit.intents import ChooseEffort, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.composer_controller import SESSION_MODEL
from helix_desktop.ui.settings.roles_page import ROLES, Role
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.efforts import effort_name
from helix_desktop.words.models import demo_model_name, model_name
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import MAIN

tr = Translator("Session")
_text = TextContext("Session")

ADD_PROVIDER = "add_provider"
"""What the menu asks for instead of a page: the form of a new provider."""
WORKSPACE_DEFAULT = "default"
"""What is typed for the model of the workspace."""
_MAX_PROPOSED = 5  # models that an error names
_MAX_MODELS = 25  # models that a menu lists; the others stand in the settings


def model_menu(
    parent: QWidget,
    labels: Sequence[str],
    session_model: str,
    default_model: str,
    use_model: Callable[[str], object],
    show_page: Callable[[str], object],
    effort_menu: Callable[[QWidget], QMenu],
    roles_menu: Callable[[QWidget], QMenu],
) -> QMenu:
    """Make a menu of models with the session's one marked.

    `session_model` is empty where the session follows the workspace's `default_model`. `use_model` takes a
    label, empty for the default; `show_page` a page of the settings, or ADD_PROVIDER. `effort_menu` makes the
    menu of efforts, `roles_menu` that of the workspace's roles.
    """
    menu = QMenu(parent)
    menu.setAccessibleName(translate(SESSION_MODEL))
    title = QAction(translate(SESSION_MODEL), menu)
    title.setEnabled(False)
    menu.addAction(title)
    group = QActionGroup(menu)
    listed = list(labels[:_MAX_MODELS])
    if session_model not in ("", DEMO_LABEL, *listed):
        listed.insert(0, session_model)
    for label in ("", *listed, DEMO_LABEL):
        text = (
            _display_label(label)
            if label
            else tr("Workspace default ({model})", model=_display_label(default_model))
        )
        action = QAction(text, menu)
        action.setObjectName(f"model:{label}")
        action.setCheckable(True)
        action.setChecked(label == session_model)
        action.triggered.connect(lambda _=False, label=label: use_model(label))
        group.addAction(action)
        menu.addAction(action)
    menu.addSeparator()
    menu.addMenu(effort_menu(menu))
    roles = roles_menu(menu)
    roles.addSeparator()
    menu.addMenu(roles)
    menu.addSeparator()
    for text, page, place in (
        (tr("In all workspaces…"), "roles", roles),
        (tr("Add provider…"), ADD_PROVIDER, menu),
    ):
        action = QAction(text, menu)
        action.setObjectName(f"page:{page}")
        action.triggered.connect(lambda _=False, page=page: show_page(page))
        place.addAction(action)
    return menu


def workspace_roles_menu(
    parent: QWidget,
    labels: Sequence[str],
    chosen: Mapping[Role, str],
    defaults: Mapping[Role, str],
    use_model: Callable[[Role, str], object],
) -> QMenu:
    """Make a menu of the roles in a workspace, each with its models: the `chosen` ones are marked.

    An empty label is the model of `defaults`, MAIN the workspace's main model.
    """
    menu = QMenu(tr("Model roles"), parent)
    for role, name, _ in ROLES:
        part = menu.addMenu(translate(name))
        part.setObjectName(f"role:{role}")
        group = QActionGroup(part)
        nobody, own = (demo_model_name(), DEMO_LABEL) if role == "model" else (tr("Main model"), MAIN)
        listed = dict.fromkeys((*labels[:_MAX_MODELS], chosen[role]))
        texts = {"": tr("Default ({model})", model=defaults[role] or nobody), own: nobody}
        texts |= {label: label for label in listed if label not in texts}
        for label, text in texts.items():
            action = QAction(text.replace("&", "&&"), part)
            action.setObjectName(f"role:{role}:{label}")
            action.setCheckable(True)
            action.setChecked(label == chosen[role])
            action.triggered.connect(lambda _=False, role=role, label=label: use_model(role, label))
            group.addAction(action)
            part.addAction(action)
    return menu


def find_model(query: str, labels: Sequence[str]) -> str:
    """Return the label that was meant: it, or the only one with these words in it; empty: the default.

    Raises InvalidInput for none, or several.
    """
    needles = query.casefold().split()
    if needles == [WORKSPACE_DEFAULT]:
        return ""
    found = [label for label in labels if _has_words(label, needles)]
    exact = [
        label for label in found if query.casefold() in (label.casefold(), *label.casefold().split("/", 1))
    ]
    matches = exact if len(exact) == 1 else found
    if len(matches) == 1:
        return matches[0]
    what = _text("{words} isn't one model.", words=repr(query[:80]))
    if not matches:
        raise InvalidInput(
            what,
            _text("No model that is set up has this name."),
            _text("Choose a model."),
            remedies=("choose_model",),
        )
    raise InvalidInput(
        what,
        _text("It fits {models}.", models=tuple(matches[:_MAX_PROPOSED])),
        _text("Type more of its name."),
        remedies=("choose_model",),
    )


def matching_models(query: str, labels: Sequence[str]) -> list[str]:
    """Return the labels with all words of a query in them, those that begin with it first."""
    needles = query.casefold().split()
    found = [label for label in labels if _has_words(label, needles)]
    names = {label: (label.casefold(), label.casefold().partition("/")[2]) for label in found}
    typed = query.casefold().strip()
    return sorted(found, key=lambda label: not any(name.startswith(typed) for name in names[label]))


def _has_words(label: str, needles: Sequence[str]) -> bool:
    return all(needle in label.casefold() for needle in needles)


def _display_label(label: str) -> str:
    return model_name(label, demo=True) if label == DEMO_LABEL else label


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
                _text("{words} isn't an effort of this model.", words=repr(level[:40])),
                _text("Efforts are {efforts}.", efforts=efforts)
                if levels
                else _text("It has no reasoning effort."),
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
