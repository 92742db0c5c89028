"""Which model answers in the session on screen, with which effort: the menu behind its name, and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.choices import Effort, EffortLevel
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.provider_changes import DEMO_LABEL
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer_controller import SESSION_MODEL
from helix_desktop.ui.design.menus import popup_above
from helix_desktop.ui.kit.intents import WORKSPACE_DEFAULT, ChooseEffort, OpenSettings, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.roles_page import ROLES, Role
from helix_desktop.words.efforts import effort_name
from helix_desktop.words.models import demo_model_name, model_name
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import MAIN

tr = Translator("Session")
_text = TextContext("Session")

ADD_PROVIDER = "add_provider"
"""What the menu asks for instead of a page: the form of a new provider."""
_Value = TypeVar("_Value", bound=str)
_DEFAULT: Effort = "default"
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
    menu.addAction(translate(SESSION_MODEL)).setEnabled(False)
    listed = list(labels[:_MAX_MODELS])
    if session_model not in ("", DEMO_LABEL, *listed):
        listed.insert(0, session_model)
    texts = {"": tr("Workspace default ({model})", model=_display_label(default_model))}
    texts |= {label: _display_label(label) for label in (*listed, DEMO_LABEL)}
    _add_choices(menu, "model", texts, session_model, use_model)
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
        action = place.addAction(text)
        action.setObjectName(f"page:{page}")
        action.triggered.connect(lambda _=False, page=page: show_page(page))
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
        nobody, own = (demo_model_name(), DEMO_LABEL) if role == "model" else (tr("Main model"), MAIN)
        listed = dict.fromkeys((*labels[:_MAX_MODELS], chosen[role]))
        texts = {"": tr("Default ({model})", model=defaults[role] or nobody), own: nobody}
        texts |= {label: label for label in listed if label not in texts}
        _add_choices(part, f"role:{role}", texts, chosen[role], partial(use_model, role))
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


class EffortController(QObject):
    def __init__(self, composer: Composer, session: Session) -> None:
        super().__init__(composer)
        self._session, self._services, self._composer = session, session.app, composer
        session.handle(self)

    def menu(self, parent: QWidget) -> QMenu:
        """Make a menu of levels with the session's one marked, and one for the workspace in it.

        Without levels the model can't think.
        """
        conversation, start = self._session.conversation, self._session.start
        info, sent = conversation.model, effort_name(conversation.session.effort)
        menu = QMenu(
            tr("Reasoning effort: {effort}", effort=sent) if sent else tr("Reasoning effort"), parent
        )
        menu.setAccessibleName(tr("Reasoning effort"))
        if info.offered_efforts:
            provider = self._services.settings.provider(info.provider)
            of_model: Effort = provider.entry(info.name).effort if provider is not None else ""
            of_workspace = self._services.registry.get(self._session.workspace.id).effort
            menu.addAction(tr("Reasoning effort for this session")).setEnabled(False)
            default = effort_name(of_workspace or of_model or _DEFAULT)
            _add_levels(
                menu,
                "effort",
                tr("Workspace default ({effort})", effort=default),
                info.offered_efforts,
                self._session.transcript.chosen_effort,
                lambda effort: start(self._set_for_session(effort), "effort of a session"),
            )
            menu.addSeparator()
            workspace_menu = menu.addMenu(tr("Default for this workspace"))
            workspace_menu.setObjectName("workspace_effort")
            _add_levels(
                workspace_menu,
                "workspace_effort",
                tr("As set for the model ({effort})", effort=effort_name(of_model or _DEFAULT)),
                info.offered_efforts,
                of_workspace,
                lambda effort: start(self._set_for_workspace(effort), "effort of a workspace"),
            )
        else:
            menu.addAction(tr("This model has no reasoning effort")).setEnabled(False)
        show_models = partial(self._session.perform, OpenSettings("providers"))
        menu.addAction(tr("Effort of each model…"), show_models).setObjectName("page:providers")
        return menu

    async def _set_for_session(self, effort: Effort) -> None:
        await self._session.workspace.choose_effort(self._session.conversation.session.id, effort)

    async def _set_for_workspace(self, effort: Effort) -> None:
        await self._services.use_effort(self._session.workspace.id, effort)
        await self._session.show_model()

    @handles(ChooseEffort)
    async def choose(self, level: str) -> None:
        """Let the model of the session think as much as was typed; nothing typed: offer the levels.

        Raises InvalidInput.
        """
        if not level:
            menu = self.menu(self._composer)
            menu.aboutToHide.connect(menu.deleteLater)
            popup_above(menu, self._composer.model_button)
            return
        levels = self._session.conversation.model.offered_efforts
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


def _add_levels(
    menu: QMenu,
    name: str,
    inherit: str,
    levels: Sequence[EffortLevel],
    current: Effort,
    choose: Callable[[Effort], object],
) -> None:
    """Add the levels to choose from; one that is set and not offered is listed too."""
    efforts: tuple[Effort, ...] = ("", _DEFAULT, *levels, current)
    texts = {effort: effort_name(effort) if effort else inherit for effort in efforts}
    _add_choices(menu, name, texts, current, choose)


def _add_choices(
    menu: QMenu, name: str, texts: Mapping[_Value, str], current: _Value, choose: Callable[[_Value], object]
) -> None:
    """Add values to choose one of, by what each is called; the current one is marked."""
    group = QActionGroup(menu)
    for value, text in texts.items():
        action = menu.addAction(text.replace("&", "&&"))
        action.triggered.connect(lambda _=False, value=value: choose(value))
        action.setObjectName(f"{name}:{value}")
        action.setCheckable(True)
        action.setChecked(value == current)
        group.addAction(action)
