"""Notices of the session on screen: what it may spend, a wait for a summary, subagents, paused compaction."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType

from PySide6.QtCore import SignalInstance

from helix_desktop.agent.compaction.summarizer import MAX_WAIT_S
from helix_desktop.agent.session import SpendRequestsChanged, SummaryAwaited
from helix_desktop.context.rewrites import compaction_due
from helix_desktop.domain.cost import SpendReply, SpendRequest
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.ui.kit.intents import Compact, OpenSession
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.button_labels import action_label
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.model_names import model_name
from helix_desktop.words.next_compaction import breaker_text
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_BREAKER = "breaker"
_SUBAGENT = "subagent"
_WAIT = "summary-wait"
_SPENDING = "spend-observations"


def show_session_notices(session: Session) -> None:
    follow_notice(session, _SPENDING, _spending_notice, SpendRequestsChanged, session.shown)
    follow_notice(session, _WAIT, _wait_notice, SummaryAwaited, session.shown)
    follow_notice(session, _SUBAGENT, _subagent_notice, None, session.shown)
    follow_notice(session, _BREAKER, _breaker_notice, HandoverFailed | HandoverMade, session.loaded)


def follow_notice(
    session: Session,
    name: str,
    find: Callable[[Session], Notice | None],
    kind: type | UnionType | None,
    *signals: SignalInstance,
) -> None:
    def show(*_: object) -> None:
        session.notices.end(name)
        if session.has_conversation and (notice := find(session)) is not None:
            session.notices.notify_here(notice)

    for signal in signals:
        signal.connect(show)
    if kind is not None:
        session.on(kind, show)


def _spending_notice(session: Session) -> Notice | None:
    conversation = session.conversation
    request = next(iter(conversation.spend_requests), None)
    return spend_notice(request, conversation.answer_spend_request) if request is not None else None


def _wait_notice(session: Session) -> Notice | None:
    conversation = session.conversation
    if not conversation.summary_wait.is_active:
        return None
    what = tr("Context full: waiting for the handover summary.")
    why = tr.plural(
        round(MAX_WAIT_S / 60),
        "The next step starts when older messages are compacted, in %n minute at the latest.",
        "The next step starts when older messages are compacted, in %n minutes at the latest.",
    )
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
    if not compaction_due.is_breaker_open(session.transcript):
        return None
    fix = tr("Compact now, or continue: oversized requests are trimmed or stopped.")
    answer = Answer(action_label("compact"), lambda: session.perform(Compact()), "compact")
    what = tr("Automatic compaction paused.")
    return Notice(_BREAKER, what, breaker_text(), fix, (answer,), "warning")


def spend_notice(request: SpendRequest, reply: Callable[[SpendReply], object]) -> Notice:
    """Return the question about a summary that the user started, with its price."""

    def answer(words: str, choice: SpendReply) -> Answer:
        return Answer(words, lambda: reply(choice), choice)

    estimate = request.estimate
    what = tr("Summarize older messages? {estimate}.", estimate=estimate_text(estimate))
    why = tr("Model: {model}.", model=model_name(estimate.model, estimate.demo))
    unless = tr("Otherwise, the context stays as it is.")
    answers = (answer(tr("Summarize"), "allow"), answer(tr("Not now"), "refuse"))
    return Notice(_SPENDING, what, why, unless, answers, can_dismiss=False)
