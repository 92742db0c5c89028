"""What the session on screen has to say: paused compaction, a subagent's session, questions about cost."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import SpendRequestsChanged, SummaryAwaited
from helix_desktop.context.rewrites import planner
from helix_desktop.domain.cost import BackgroundWork, SpendReply, SpendRequest
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.ui.kit.notices import Answer, Notice, NoticeArea
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
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


def follow_session(context: ControllerContext, session_controller: SessionController) -> None:
    """Show the notices of whatever session is on screen."""
    notices, start = context.window.notices, context.async_actions.start

    def with_conversation(show: Callable[[NoticeArea, Conversation], object]) -> None:
        if session_controller.conversation is not None:
            show(notices, session_controller.conversation)

    def show_wait(notices: NoticeArea, conversation: Conversation) -> None:
        _show_wait(notices, conversation, lambda: start(conversation.stop(), "stop"))

    def show_subagent(notices: NoticeArea, conversation: Conversation) -> None:
        parent = conversation.session.transcript.parent
        _show_subagent(notices, parent, lambda: session_controller.session_requested.emit(parent))

    def show_breaker(notices: NoticeArea, conversation: Conversation) -> None:
        _show_breaker(notices, conversation, context.window.commands.compact_now.trigger)

    session_controller.session_changing.connect(lambda: with_conversation(_show_spend_requests))
    session_controller.session_changing.connect(lambda: with_conversation(show_wait))
    session_controller.session_changed.connect(lambda: with_conversation(show_subagent))
    session_controller.session_loaded.connect(lambda: with_conversation(show_breaker))
    session_controller.on(SpendRequestsChanged, lambda _: with_conversation(_show_spend_requests))
    session_controller.on(SummaryAwaited, lambda _: with_conversation(show_wait))
    session_controller.on(HandoverFailed | HandoverMade, lambda _: with_conversation(show_breaker))


def _show_spend_requests(notices: NoticeArea, conversation: Conversation) -> None:
    requests = {request.work: request for request in conversation.spend_requests}
    for work, name in _SPENDING.items():
        notices.end(name)
        if work in requests:
            notices.notify_here(spend_notice(requests[work], conversation.answer_spend_request))


def _show_wait(notices: NoticeArea, conversation: Conversation, stop: Callable[[], object]) -> None:
    """Say that the next step waits for the summary that makes room for it."""
    notices.end(_WAIT)
    if conversation.is_summary_awaited:
        notices.notify_here(
            Notice(
                _WAIT,
                tr("Context full: waiting for the handover."),
                tr("The next step starts when older messages are compacted, in five minutes at the latest."),
                tr("Without a model, the handover is a list of files, commands and quotes."),
                (
                    Answer(tr("Continue without a model"), conversation.continue_without_model, "continue"),
                    Answer(tr("Stop"), stop, "stop"),
                ),
                can_dismiss=False,
            )
        )


def _show_subagent(notices: NoticeArea, parent: str, open_parent: Callable[[], object]) -> None:
    """Say that a subagent's session is one, and lead back."""
    notices.end(_SUBAGENT)
    if parent:
        notices.notify_here(
            Notice(
                _SUBAGENT,
                tr("Subagent session."),
                tr("Only its result goes to the parent session. Messages here go to the subagent."),
                answers=(Answer(tr("Open parent session"), open_parent, "back"),),
                can_dismiss=False,
            )
        )


def _show_breaker(notices: NoticeArea, conversation: Conversation, compact: Callable[[], object]) -> None:
    """Say that automatic compaction is paused."""
    notices.end(_BREAKER)
    if planner.is_breaker_open(conversation.session.transcript):
        notices.notify_here(
            Notice(
                _BREAKER,
                tr("Automatic compaction paused."),
                breaker_text(),
                tr("Compact now, or continue: oversized requests are trimmed or stopped."),
                (Answer(action_label("compact"), compact, "compact"),),
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
