"""What the session on screen has to say: paused compaction, a subagent's session, questions about cost."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.session import SpendRequestsChanged, SummaryAwaited
from helix_desktop.context.rewrites import planner
from helix_desktop.domain.cost import BackgroundWork, SpendReply, SpendRequest
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.ui.kit.intents import Compact, OpenSession
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.rewrite_reasons import breaker_text
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
    if conversation.is_summary_awaited:
        session.notices.notify_here(
            Notice(
                _WAIT,
                tr("Context full: waiting for the handover."),
                tr("The next step starts when older messages are compacted, in five minutes at the latest."),
                tr("Without a model, the handover is a list of files, commands and quotes."),
                (
                    Answer(tr("Continue without a model"), conversation.continue_without_model, "continue"),
                    Answer(tr("Stop"), lambda: session.start(conversation.stop(), "stop"), "stop"),
                ),
                can_dismiss=False,
            )
        )


def _show_subagent(session: Session) -> None:
    """Say that a subagent's session is one, and lead back."""
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
        what = tr("Write down facts about older messages? {estimate}.", estimate=estimate_text(estimate))
        unless = tr("Otherwise, the context stays as it is.")
        answers = (answer(tr("Write down facts"), "allow"), refuse)
    return Notice(_SPENDING[request.work], what, why, unless, answers, can_dismiss=False)
