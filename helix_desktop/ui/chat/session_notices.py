"""What the session on screen has to say: paused compaction, costs, another model, missing keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from helix_desktop.agent.session import ModelChange, SpendRequestsChanged, SummaryAwaited, TurnChanged
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
_NO_MODEL: SpendReply = "no model"


def follow_session(session: Session) -> None:
    """Show the notices of whatever session is on screen."""
    session.shown.connect(lambda: _show_spend_requests(session))
    session.shown.connect(lambda: _show_wait(session))
    session.shown.connect(lambda: _show_subagent(session))
    session.loaded.connect(lambda: _show_breaker(session))
    session.on(SpendRequestsChanged, lambda _: _show_spend_requests(session))
    session.on(SummaryAwaited, lambda _: _show_wait(session))
    session.on(HandoverFailed | HandoverMade, lambda _: _show_breaker(session))


def _show_spend_requests(session: Session) -> None:
    conversation, notices = session.conversation, session.notices
    requests = {request.work: request for request in conversation.spend_requests}
    for work, name in _SPENDING.items():
        notices.end(name)
        if work in requests:
            notices.notify_here(spend_notice(requests[work], conversation.answer_spend_request))


def _show_wait(session: Session) -> None:
    """Say that the next step waits for the summary that makes room for it."""
    session.notices.end(_WAIT)
    conversation = session.conversation
    if conversation.summary_wait.is_active:
        session.notices.notify_here(
            Notice(
                _WAIT,
                tr("Context full: waiting for the summary."),
                tr("The next step starts when older messages are compacted, in five minutes at the latest."),
                tr("Without a model, it is a list of files, commands and quotes."),
                (
                    Answer(
                        tr("Continue without a model"),
                        conversation.summary_wait.continue_without_model,
                        "continue",
                    ),
                    Answer(tr("Stop"), lambda: session.start(conversation.stop(), "stop"), "stop"),
                ),
                can_dismiss=False,
            )
        )


def _show_subagent(session: Session) -> None:
    session.notices.end(_SUBAGENT)
    parent = session.transcript.parent
    if parent:
        session.notices.notify_here(
            Notice(
                _SUBAGENT,
                tr("Subagent session."),
                tr("Only its result goes to the parent session. Messages here go to the subagent."),
                answers=(
                    Answer(tr("Open parent session"), lambda: session.perform(OpenSession(parent)), "back"),
                ),
                can_dismiss=False,
            )
        )


def _show_breaker(session: Session) -> None:
    """Say that automatic compaction is paused."""
    session.notices.end(_BREAKER)
    if planner.is_breaker_open(session.transcript):
        session.notices.notify_here(
            Notice(
                _BREAKER,
                tr("Automatic compaction paused."),
                breaker_text(),
                tr("Compact now, or continue: oversized requests are trimmed or stopped."),
                (Answer(action_label("compact"), lambda: session.perform(Compact()), "compact"),),
                "warning",
            )
        )


def spend_notice(request: SpendRequest, reply: Callable[[BackgroundWork, SpendReply], object]) -> Notice:
    """Return the question about some work: what it takes, why it is asked, and what happens without it."""

    def answer(words: str, choice: SpendReply) -> Answer:
        return Answer(words, lambda: reply(request.work, choice), choice)

    estimate, refuse = request.estimate, answer(tr("Not now"), "refuse")
    model = model_name(estimate.model, estimate.demo)
    why = (
        tr(
            "Model: {model}. Background work may read {tokens} tokens without asking.",
            model=model,
            tokens=format_tokens(request.limit),
        )
        if request.limit
        else tr("Model: {model}.", model=model)
    )
    if request.work == "handover":
        what = tr("Compact this conversation? {estimate}.", estimate=estimate_text(estimate))
        unless = tr(
            "Otherwise, the context stays as it is. Once it is full, it is compacted without a model."
        )
        answers: tuple[Answer, ...] = (
            answer(tr("Compact"), "allow"),
            answer(tr("Compact without a model"), _NO_MODEL),
            refuse,
        )
    else:
        what = tr("Write a summary for later? {estimate}.", estimate=estimate_text(estimate))
        unless = tr("Otherwise, the context stays as it is.")
        answers = (answer(tr("Write summary"), "allow"), refuse)
    return Notice(_SPENDING[request.work], what, why, unless, answers, can_dismiss=False)


_MODEL = "another-model"


def follow_model_change(session: Session) -> None:
    """Say that a session's model is unavailable, or would give way to the demo, until the user chooses."""
    notices = session.notices

    def refresh(*_: object) -> None:
        notices.end(_MODEL)
        if not session.has_conversation:
            return
        change = session.conversation.model_choice.pending
        if change is None:
            notices.end(ModelNotChosen.WHAT)
        else:
            notices.notify_here(_model_notice(change, session))

    session.changing.connect(refresh)
    session.model_changed.connect(refresh)
    # A running turn goes on with the model that it has.
    session.on(TurnChanged, refresh)


def _model_notice(change: ModelChange, session: Session) -> Notice:
    last, now = change.label, session.conversation.model

    def choose() -> None:
        """Offer those that are set up, else the page that sets them up."""
        session.perform(ChooseModel() if session.app.settings.providers else OpenSettings("providers"))

    def use(label: str) -> Callable[[], object]:
        return partial(session.perform, ChooseModel(label))

    first = Answer(tr("Choose model…"), choose, "choose")
    if change.is_configured:
        what = tr(
            "{model} answered in this session. The workspace now uses the offline demo model.", model=last
        )
        first = Answer(_continue_label(model_name(last, demo=False)), use(last), "back")
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
    go_on = Answer(
        tr("Continue with the demo model")
        if now.demo
        else _continue_label(model_name(now.label, demo=False)),
        use(WORKSPACE_DEFAULT),
        "continue",
    )
    return Notice(_MODEL, what, why, answers=(first, go_on), level="warning", can_dismiss=False)


def _continue_label(model: str) -> str:
    return tr("Continue with {model}", model=model)


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
            variable = key_variable(self._provider)
            self._strip.show_text(
                tr("API key for {provider} is missing", provider=self._provider),
                tr(
                    "It was kept only until Helix closed. Enter it again, or set {variable} before you "
                    "start Helix.",
                    variable=variable,
                ),
            )
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
