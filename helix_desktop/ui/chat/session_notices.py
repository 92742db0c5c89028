"""What the session on screen has to say: paused compaction, costs, another model, missing keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import UnionType

from PySide6.QtCore import QObject, SignalInstance

from helix_desktop.agent.session import SpendRequestsChanged, SummaryAwaited, TurnChanged
from helix_desktop.config.settings import key_variable
from helix_desktop.context.rewrites import planner
from helix_desktop.domain.choices import AGENT_NAMES
from helix_desktop.domain.cost import BackgroundWork, SpendReply, SpendRequest
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.ui.chat.composer.strips import ComposerStrip
from helix_desktop.ui.kit.intents import (
    WORKSPACE_DEFAULT,
    ChooseModel,
    Compact,
    EnterKey,
    OpenSession,
    OpenSettings,
)
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.rewrites import breaker_text
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_BREAKER, _SUBAGENT, _WAIT = "breaker", "subagent", "summary-wait"
_SPENDING: dict[BackgroundWork, str] = {"handover": "spend-handover", "observations": "spend-observations"}


def follow_session(session: Session) -> None:
    """Show the notices of whatever session is on screen."""
    for work, name in _SPENDING.items():
        _follow(session, name, partial(_spending_notice, work), SpendRequestsChanged, session.shown)
    _follow(session, _WAIT, _wait_notice, SummaryAwaited, session.shown)
    _follow(session, _SUBAGENT, _subagent_notice, None, session.shown)
    _follow(session, _BREAKER, _breaker_notice, HandoverFailed | HandoverMade, session.loaded)


def _follow(
    session: Session,
    name: str,
    find: Callable[[Session], Notice | None],
    kind: type | UnionType | None,
    *signals: SignalInstance,
) -> None:
    """Show the notice of a name that there is after events and signals, or none."""

    def show(*_: object) -> None:
        session.notices.end(name)
        if session.has_conversation and (notice := find(session)) is not None:
            session.notices.notify_here(notice)

    for signal in signals:
        signal.connect(show)
    if kind is not None:
        session.on(kind, show)


def _spending_notice(work: BackgroundWork, session: Session) -> Notice | None:
    conversation = session.conversation
    request = next((request for request in conversation.spend_requests if request.work == work), None)
    return spend_notice(request, conversation.answer_spend_request) if request is not None else None


def _wait_notice(session: Session) -> Notice | None:
    """Say that the next step waits for the summary that makes room for it."""
    conversation = session.conversation
    if not conversation.summary_wait.is_active:
        return None
    what = tr("Context full: waiting for the summary.")
    why = tr("The next step starts when older messages are compacted, in five minutes at the latest.")
    fix = tr("Without a model, it is a list of files, commands and quotes.")
    go_on = conversation.summary_wait.continue_without_model
    answers = (
        Answer(tr("Continue without a model"), go_on, "continue"),
        Answer(tr("Stop"), lambda: session.start(conversation.stop(), "stop"), "stop"),
    )
    return Notice(_WAIT, what, why, fix, answers, can_dismiss=False)


def _subagent_notice(session: Session) -> Notice | None:
    parent = session.transcript.parent
    if not parent:
        return None
    why = tr("Only its result goes to the parent session. Messages here go to the subagent.")
    back = Answer(tr("Open parent session"), lambda: session.perform(OpenSession(parent)), "back")
    return Notice(_SUBAGENT, tr("Subagent session."), why, answers=(back,), can_dismiss=False)


def _breaker_notice(session: Session) -> Notice | None:
    """Say that automatic compaction is paused."""
    if not planner.is_breaker_open(session.transcript):
        return None
    fix = tr("Compact now, or continue: oversized requests are trimmed or stopped.")
    answer = Answer(action_label("compact"), lambda: session.perform(Compact()), "compact")
    what = tr("Automatic compaction paused.")
    return Notice(_BREAKER, what, breaker_text(), fix, (answer,), "warning")


def spend_notice(request: SpendRequest, reply: Callable[[BackgroundWork, SpendReply], object]) -> Notice:
    """Return the question about some work: what it takes, why it is asked, and what happens without it."""

    def answer(words: str, choice: SpendReply) -> Answer:
        return Answer(words, lambda: reply(request.work, choice), choice)

    estimate, refuse = request.estimate, answer(tr("Not now"), "refuse")
    model = model_name(estimate.model, estimate.demo)
    why = tr("Model: {model}.", model=model)
    if request.limit:
        why = tr(
            "Model: {model}. Background work may read {tokens} tokens without asking.",
            model=model, tokens=format_tokens(request.limit),
        )  # fmt: skip
    if request.work == "handover":
        what = tr("Compact this conversation? {estimate}.", estimate=estimate_text(estimate))
        unless = tr(
            "Otherwise, the context stays as it is. Once it is full, it is compacted without a model."
        )
        without = answer(tr("Compact without a model"), "no model")
        answers: tuple[Answer, ...] = (answer(tr("Compact"), "allow"), without, refuse)
    else:
        what = tr("Write the next summary? {estimate}.", estimate=estimate_text(estimate))
        unless = tr("Otherwise, the context stays as it is.")
        answers = (answer(tr("Write summary"), "allow"), refuse)
    return Notice(_SPENDING[request.work], what, why, unless, answers, can_dismiss=False)


_MODEL = "another-model"


def follow_model_change(session: Session) -> None:
    """Say that a session's model is unavailable, or would give way to the demo, until the user chooses."""
    # A running turn goes on with the model that it has.
    _follow(session, _MODEL, _model_notice, TurnChanged, session.changing, session.model_changed)


def _model_notice(session: Session) -> Notice | None:
    change, now = session.conversation.model_choice.pending, session.conversation.model
    if change is None:
        session.notices.end(ModelNotChosen.WHAT)
        return None

    def choose() -> None:
        """Offer those that are set up, else the page that sets them up."""
        session.perform(ChooseModel() if session.app.settings.providers else OpenSettings("providers"))

    def use(words: str, label: str, name: str) -> Answer:
        return Answer(words, partial(session.perform, ChooseModel(label)), name)

    last, first = change.label, Answer(tr("Choose model…"), choose, "choose")
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


_KEY = "missing-key"


class MissingKeys(QObject):
    def __init__(self, strip: ComposerStrip, session: Session) -> None:
        super().__init__(strip)
        self._session, self._services, self._strip = session, session.app, strip
        self._announced: tuple[str, ...] | None = None
        self._provider = ""
        strip.button.clicked.connect(lambda: session.perform(EnterKey(self._provider)))
        for changed in (session.changed, session.model_changed):
            changed.connect(lambda: self._session.start(self._refresh(), "missing keys"))
        session.on(AssistantSpoke, self._on_answer)

    def _on_answer(self, spoke: AssistantSpoke) -> None:
        """Know from an answer that came without the key that none is needed."""
        provider = spoke.model.partition("/")[0]
        if provider in (self._announced or ()):
            self._session.start(self._forget(provider), "forget a missing key")

    async def _forget(self, provider: str) -> None:
        if provider in await self._services.missing_keys():
            await self._services.save_key(provider, "")
        await self._refresh()

    async def _refresh(self) -> None:
        missing = await self._services.missing_keys()
        self._announce(missing)
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

    def _announce(self, missing: tuple[str, ...]) -> None:
        """Say it once at the start; the notice goes when the keys are there."""
        if self._announced is not None and not missing:
            self._session.notices.end(_KEY)
        if self._announced is None and missing:
            what = tr.plural(
                len(missing),
                "The API key for {providers} is missing.",
                "%n API keys are missing: {providers}.",
                providers=missing,
            )
            why = tr("API keys that aren't in a keychain last only until Helix closes.")
            enter = partial(self._session.perform, EnterKey(missing[0]))
            answers = (Answer(tr("Enter API key…"), enter, "enter"),)
            self._session.notify(Notice(_KEY, what, why, answers=answers))
        self._announced = missing
