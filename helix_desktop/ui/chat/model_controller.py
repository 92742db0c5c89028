"""Which model answers in the session on screen, with which effort: its menu, commands, notices; its key."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from PySide6.QtCore import QObject
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.agent.session import TurnChanged
from helix_desktop.config.settings import key_variable, model_labels
from helix_desktop.domain.choices import AGENT_NAMES, Effort, EffortLevel
from helix_desktop.domain.errors import InvalidInput, ModelNotChosen
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.provider_changes import DEMO_LABEL
from helix_desktop.ui.chat.composer_controller import SESSION_MODEL
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.session_notices import follow_notice
from helix_desktop.ui.design.buttons import popup_above
from helix_desktop.ui.kit.commands import EntryMenu
from helix_desktop.ui.kit.context_menu import context_choice_text, context_menu
from helix_desktop.ui.kit.intents import (
    WORKSPACE_DEFAULT,
    AddProvider,
    ApplyRemedy,
    ChooseEffort,
    ChooseModel,
    EnterKey,
    OpenSettings,
    handles,
)
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.app_settings import ROLES, Role
from helix_desktop.words.model_names import demo_model_name, effort_name, model_name
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import MAIN

tr = Translator("Session")
_text = TextContext("Session")

_Value = TypeVar("_Value", bound=str)
_DEFAULT: Effort = "default"
# Names of notices.
_MODEL = "another-model"
_KEY = "missing-key"
_MAX_PROPOSED = 5  # models that an error names
_MAX_MODELS = 25  # models that a menu lists; the others stand in the settings


def find_model(query: str, labels: Sequence[str]) -> str:
    """Return the label that was meant: it, or the only one with these words in it; empty: the default.

    Raises InvalidInput for none, or several.
    """
    typed = query.casefold()
    if typed.split() == [WORKSPACE_DEFAULT]:
        return ""
    found = matching_models(query, labels)
    exact = [label for label in found if typed in (label.casefold(), *label.casefold().split("/", 1))]
    matches = exact if len(exact) == 1 else found
    if len(matches) == 1:
        return matches[0]
    why = _text("No model that is set up has this name.")
    fix = _text("Choose a model.")
    if matches:
        why = _text("It fits {models}.", models=tuple(matches[:_MAX_PROPOSED]))
        fix = _text("Type more of its name.")
    what = _text("{words} isn't one model.", words=repr(query[:80]))
    raise InvalidInput(what, why, fix, remedies=("choose_model",))


def matching_models(query: str, labels: Sequence[str]) -> list[str]:
    """Return the labels with all words of a query in them, those that begin with it first."""
    typed = query.casefold().strip()

    def begins(label: str) -> bool:
        return any(name.startswith(typed) for name in (label, label.partition("/")[2]))

    found = (label for label in labels if all(word in label.casefold() for word in typed.split()))
    return sorted(found, key=lambda label: not begins(label.casefold()))


def _display_label(label: str) -> str:
    return model_name(label, demo=True) if label == DEMO_LABEL else label


class ModelController(QObject):
    """Lets the user choose which model answers in the session on screen, and says what keeps it from that."""

    def __init__(self, page: ChatPage, session: Session) -> None:
        super().__init__(page)
        self._session = session
        self._services = session.app
        self._composer = page.composer
        self._strip = page.key_strip
        self._announced: tuple[str, ...] | None = None  # providers whose keys are missing
        self._provider = ""  # of the model on screen
        self._composer.model_button.clicked.connect(self._offer_models)
        session.handle(self)
        # A running turn goes on with the model that it has.
        follow_notice(session, _MODEL, _model_notice, TurnChanged, session.changing, session.model_changed)
        self._strip.button.clicked.connect(lambda: session.perform(EnterKey(self._provider)))
        for changed in (session.changed, session.model_changed):
            changed.connect(lambda: session.start(self._look_for_keys(), "missing keys"))
        session.on(AssistantSpoke, self._on_answer)

    @handles(ChooseModel)
    async def choose_model(self, name: str) -> None:
        """Let the model that is meant answer in the session on screen; nothing typed: offer the models.

        Raises InvalidInput.
        """
        if name:
            await self._use_model(find_model(name, (*model_labels(self._services.settings), DEMO_LABEL)))
        else:
            self._offer_models()

    @handles(ApplyRemedy)
    def apply_remedy(self, remedy: str) -> None:
        if remedy == "choose_model":
            self._offer_models()

    async def _use_model(self, label: str) -> None:
        """Let a model answer in the session on screen; empty: the workspace's default."""
        workspace = self._session.workspace
        conversation = self._session.conversation
        await workspace.choose_model(conversation.session.id, label)
        if self._session.shows(conversation):
            await self._session.show_model()

    async def _use_in_workspace(self, role: Role, label: str) -> None:
        await self._services.use_model(self._session.workspace_id, label, role)
        await self._session.show_model()

    def _offer_models(self) -> None:
        session = self._session
        if not session.has_conversation:
            session.perform(OpenSettings("providers"))
            return
        chosen = session.transcript.chosen_model
        default = session.workspace.model.info.label
        menu = EntryMenu(self._composer)
        menu.setAccessibleName(translate(SESSION_MODEL))
        menu.addAction(translate(SESSION_MODEL)).setEnabled(False)
        listed = list(model_labels(self._services.settings)[:_MAX_MODELS])
        if chosen not in ("", DEMO_LABEL, *listed):
            listed.insert(0, chosen)
        texts = {"": tr("Workspace default ({model})", model=_display_label(default))}
        texts |= {label: _display_label(label) for label in (*listed, DEMO_LABEL)}
        self._add_choices(menu, "model", texts, chosen, self._use_model)
        menu.addSeparator()
        menu.addMenu(self._effort_menu(menu))
        menu.addMenu(self._roles_menu(menu))
        menu.addSeparator()
        self._add_context(menu)
        menu.addSeparator()
        menu.add("page:add_provider", tr("Add provider…"), AddProvider())
        popup_above(menu, self._composer.model_button)

    def _add_context(self, menu: EntryMenu) -> None:
        """Add how much of the context stays, in the workspace unless the session has its own policy."""
        session = self._session
        model_window = session.conversation.model.window
        own_policy = session.transcript.session_policy
        if own_policy is None:
            menu.addMenu(context_menu(menu, session.workspace.policy, model_window))
            return
        words = tr("Context: {choice}, this session", choice=context_choice_text(own_policy, model_window))
        menu.add("page:policy", words, OpenSettings("policy"))

    def _roles_menu(self, parent: QWidget) -> QMenu:
        settings = self._services.settings
        record = self._services.registry.get(self._session.workspace_id)
        menu = EntryMenu(parent, tr("Model roles"))
        for role, name, _ in ROLES:
            part = menu.addMenu(translate(name))
            part.setObjectName(f"role:{role}")
            chosen = str(getattr(record, role))
            default = str(getattr(settings, role))
            nobody, own = (demo_model_name(), DEMO_LABEL) if role == "model" else (tr("Main model"), MAIN)
            texts = {"": tr("Default ({model})", model=default or nobody), own: nobody}
            listed = dict.fromkeys((*model_labels(settings)[:_MAX_MODELS], chosen))
            texts |= {label: label for label in listed if label not in texts}
            use = partial(self._use_in_workspace, role)
            self._add_choices(part, f"role:{role}", texts, chosen, use)
        menu.addSeparator()
        menu.add("page:roles", tr("In all workspaces…"), OpenSettings("roles"))
        return menu

    def _effort_menu(self, parent: QWidget) -> EntryMenu:
        """Make a menu of levels with the session's one marked, and one for the workspace in it.

        Without levels the model can't think.
        """
        conversation = self._session.conversation
        info = conversation.model
        sent = effort_name(conversation.session.effort)
        title = tr("Reasoning effort: {effort}", effort=sent) if sent else tr("Reasoning effort")
        menu = EntryMenu(parent, title)
        menu.setAccessibleName(tr("Reasoning effort"))
        if info.offered_efforts:
            provider = self._services.settings.provider(info.provider)
            of_model: Effort = provider.entry(info.name).effort if provider is not None else ""
            of_workspace = self._services.registry.get(self._session.workspace.id).effort
            menu.addAction(tr("Reasoning effort for this session")).setEnabled(False)
            default = effort_name(of_workspace or of_model or _DEFAULT)
            chosen = self._session.transcript.chosen_effort
            inherited = tr("Workspace default ({effort})", effort=default)
            texts = _effort_names(inherited, info.offered_efforts, chosen)
            self._add_choices(menu, "effort", texts, chosen, self._set_for_session)
            menu.addSeparator()
            workspace_menu = menu.addMenu(tr("Default for this workspace"))
            workspace_menu.setObjectName("workspace_effort")
            inherited = tr("As set for the model ({effort})", effort=effort_name(of_model or _DEFAULT))
            texts = _effort_names(inherited, info.offered_efforts, of_workspace)
            use = self._set_for_workspace
            self._add_choices(workspace_menu, "workspace_effort", texts, of_workspace, use)
        else:
            menu.addAction(tr("This model has no reasoning effort")).setEnabled(False)
        menu.add("page:providers", tr("Effort of each model…"), OpenSettings("providers"))
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
            popup_above(self._effort_menu(self._composer), self._composer.model_button)
            return
        levels = self._session.conversation.model.offered_efforts
        efforts: tuple[Effort, ...] = (_DEFAULT, *levels)
        effort = next((effort for effort in efforts if effort == level.casefold()), None)
        if effort is None or not levels:
            known = _text("Efforts are {efforts}.", efforts=efforts)
            raise InvalidInput(
                _text("{words} isn't an effort of this model.", words=repr(level[:40])),
                known if levels else _text("It has no reasoning effort."),
            )
        await self._set_for_session(effort)

    def _add_choices(
        self,
        menu: QMenu,
        name: str,
        texts: Mapping[_Value, str],
        current: _Value,
        choose: Callable[[_Value], Coroutine[Any, Any, None]],
    ) -> None:
        """Add values to choose one of, by what each is called; the current one is marked."""
        group = QActionGroup(menu)
        for value, text in texts.items():
            action = menu.addAction(text.replace("&", "&&"))
            action.triggered.connect(lambda _=False, to=value: self._session.start(choose(to), name))
            action.setObjectName(f"{name}:{value}")
            action.setCheckable(True)
            action.setChecked(value == current)
            group.addAction(action)

    def _on_answer(self, spoke: AssistantSpoke) -> None:
        """Know from an answer that came without the key that none is needed."""
        provider = spoke.model.partition("/")[0]
        if provider in (self._announced or ()):
            self._session.start(self._forget(provider), "forget a missing key")

    async def _forget(self, provider: str) -> None:
        if provider in await self._services.missing_keys():
            await self._services.save_key(provider, "")
        await self._look_for_keys()

    async def _look_for_keys(self) -> None:
        missing = await self._services.missing_keys()
        if not missing:
            self._session.notices.end(_KEY)
        elif self._announced is None:  # it is said once, at the start
            what = tr.plural(
                len(missing),
                "The API key for {providers} is missing.",
                "%n API keys are missing: {providers}.",
                providers=missing,
            )
            why = tr("API keys that aren't in a keychain last only until Helix closes.")
            enter = Answer(
                tr("Enter API key…"), partial(self._session.perform, EnterKey(missing[0])), "enter"
            )
            self._session.notify(Notice(_KEY, what, why, answers=(enter,)))
        self._announced = missing
        label = ""
        if self._session.has_conversation:
            change = self._session.conversation.model_choice.pending
            label = change.label if change else self._session.conversation.model.label
        self._provider = label.partition("/")[0]
        if self._provider in missing:
            how = tr(
                "It was kept only until Helix closed. Enter it again, or set {variable} before you "
                "start Helix.",
                variable=key_variable(self._provider),
            )
            self._strip.show_text(tr("API key for {provider} is missing", provider=self._provider), how)
        self._strip.setVisible(self._provider in missing)


def _effort_names(inherit: str, levels: Sequence[EffortLevel], current: Effort) -> dict[Effort, str]:
    """Return the levels to choose from; one that is set and not offered is listed too."""
    efforts: tuple[Effort, ...] = ("", _DEFAULT, *levels, current)
    return {effort: effort_name(effort) if effort else inherit for effort in efforts}


def _model_notice(session: Session) -> Notice | None:
    change = session.conversation.model_choice.pending
    now = session.conversation.model
    if change is None:
        session.notices.end(ModelNotChosen.WHAT)
        return None

    def choose() -> None:
        """Offer those that are set up, else the page that sets them up."""
        session.perform(ChooseModel() if session.app.settings.providers else OpenSettings("providers"))

    def use(words: str, label: str, name: str) -> Answer:
        return Answer(words, partial(session.perform, ChooseModel(label)), name)

    last = change.label
    first = Answer(tr("Choose model…"), choose, "choose")
    if change.is_configured:
        what = tr(
            "{model} answered in this session. The workspace now uses the offline demo model.", model=last
        )
        first = use(tr("Continue with {model}", model=model_name(last, demo=False)), last, "back")
    elif change.is_chosen:
        what = tr("{model} is chosen for this session, but isn't set up.", model=last)
    elif last in AGENT_NAMES.values():
        what = tr("The records of this session name no model.")
    else:
        what = tr("{model} answered in this session, but isn't set up.", model=last)
    why = tr(
        "Nothing is sent until you choose, and tokens are counted for {model}. The model you choose receives "
        "this conversation.",
        model=model_name(now.label, now.demo),
    )
    words = tr("Continue with {model}", model=model_name(now.label, demo=False))
    words = tr("Continue with the demo model") if now.demo else words
    go_on = use(words, WORKSPACE_DEFAULT, "continue")
    return Notice(_MODEL, what, why, answers=(first, go_on), level="warning", can_dismiss=False)
