"""The banners of the session on screen: paused compaction, a subagent's session, questions about cost."""

from __future__ import annotations

from typing import get_args

from PySide6.QtCore import QObject

from helix_desktop.agent.session import (
    EventRecorded,
    SpendRequestsChanged,
    SummaryAwaited,
    TurnChanged,
)
from helix_desktop.context.rewrites import planner
from helix_desktop.domain.cost import BackgroundWork, SpendReply, SpendRequest
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.summary import HandoverFailed, HandoverMade
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.shell_data import (
    AGENT_WORKING,
    FAILED_WRITE,
    REFUSED_COMPACTION,
    Banner,
    BannerAction,
)
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.shell.banners import BannerArea
from helix_desktop.words.action_labels import action_label
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_BREAKER = "breaker"
_SUBAGENT, _BACK = "subagent", "back"
_WAIT, _STOP = "summary-wait", "stop"
_NO_MODEL: SpendReply = "no model"
_SPENDING: dict[BackgroundWork, str] = {"handover": "spend-handover", "observations": "spend-observations"}
_WORK_BY_BANNER = {banner_id: work for work, banner_id in _SPENDING.items()}
_ANSWERS: dict[str, SpendReply] = {answer: answer for answer in get_args(SpendReply)}


class SessionBanners(QObject):
    """Shows what the session on screen has to say, and takes the answers."""

    def __init__(
        self, banners: BannerArea, session_controller: SessionController, async_actions: AsyncActions
    ) -> None:
        super().__init__(banners)
        self._banners, self._session_controller = banners, session_controller
        self._async_actions = async_actions
        session_controller.session_changing.connect(self._show_spend_requests)
        session_controller.session_changing.connect(self._show_wait)
        session_controller.session_changed.connect(self._show_subagent)
        session_controller.session_loaded.connect(self._show_breaker)
        session_controller.on(EventRecorded, lambda _: banners.remove(FAILED_WRITE))
        session_controller.on(SpendRequestsChanged, lambda _: self._show_spend_requests())
        session_controller.on(SummaryAwaited, lambda _: self._show_wait())
        session_controller.on(TurnChanged, self._on_turn)
        session_controller.on(HandoverFailed | HandoverMade, lambda _: self._show_breaker())
        session_controller.on(UserSpoke, lambda _: banners.remove(REFUSED_COMPACTION))
        banners.action_clicked.connect(self._on_action)

    def _on_turn(self, turn: TurnChanged) -> None:
        if not turn.running:
            self._banners.remove(AGENT_WORKING)

    def _show_spend_requests(self) -> None:
        conversation = self._session_controller.conversation
        open_requests = conversation.spend_requests if conversation is not None else ()
        requests = {request.work: request for request in open_requests}
        for work, banner_id in _SPENDING.items():
            self._banners.remove(banner_id)
            if work in requests:
                self._banners.show_banner(spend_banner(requests[work]))

    def _show_wait(self) -> None:
        """Say that the next step waits for the summary that makes room for it."""
        self._banners.remove(_WAIT)
        conversation = self._session_controller.conversation
        if conversation is not None and conversation.is_summary_awaited:
            self._banners.show_banner(_wait_banner())

    def _show_subagent(self) -> None:
        """Say that a subagent's session is one, and lead back."""
        self._banners.remove(_SUBAGENT)
        conversation = self._session_controller.conversation
        if conversation is not None and conversation.session.transcript.parent:
            workspace_id, session_id = self._banners.context_ids
            self._banners.show_banner(
                Banner(
                    _SUBAGENT,
                    "info",
                    tr("Subagent session."),
                    tr("Only its result goes to the parent session. Messages here go to the subagent."),
                    actions=(BannerAction(_BACK, tr("Open parent session")),),
                    dismissable=False,
                    workspace_id=workspace_id,
                    session_id=session_id,
                )
            )

    def _show_breaker(self) -> None:
        """Say that automatic compaction is paused."""
        self._banners.remove(_BREAKER)
        conversation = self._session_controller.conversation
        if conversation is not None and planner.is_breaker_open(conversation.session.transcript):
            workspace_id, session_id = self._banners.context_ids
            self._banners.show_banner(
                Banner(
                    _BREAKER,
                    "warning",
                    tr("Automatic compaction paused."),
                    tr.plural(
                        planner.BREAKER_FAILURES,
                        "The last attempt failed or freed too little.",
                        "The last %n attempts failed or freed too little.",
                    ),
                    tr("Compact now, or continue: oversized requests are trimmed or stopped."),
                    (BannerAction("compact", action_label("compact")),),
                    workspace_id=workspace_id,
                    session_id=session_id,
                )
            )

    def _on_action(self, banner_id: str, action: str) -> None:
        conversation = self._session_controller.conversation
        if conversation is None:
            return
        if banner_id in _WORK_BY_BANNER:
            conversation.answer_spend_request(_WORK_BY_BANNER[banner_id], _ANSWERS[action])
        elif banner_id == _WAIT and action == _STOP:
            self._async_actions.start(conversation.stop(), "stop")
        elif banner_id == _WAIT:
            conversation.continue_without_model()
        elif banner_id == _SUBAGENT:
            self._session_controller.session_requested.emit(conversation.session.transcript.parent)


def _wait_banner() -> Banner:
    """Return what says that a step waits for a summary, and how to go on without."""
    return Banner(
        _WAIT,
        "info",
        tr("Context full: waiting for the handover."),
        tr("The next step starts when older messages are compacted, in five minutes at the latest."),
        tr("Without a model, the handover is a list of files, commands and quotes."),
        (BannerAction("continue", tr("Continue without a model")), BannerAction(_STOP, tr("Stop"))),
        dismissable=False,
    )


def spend_banner(request: SpendRequest) -> Banner:
    """Return the question about some work: what it takes, why it is asked, and what happens without it."""
    estimate, refuse = request.estimate, BannerAction("refuse", tr("Not now"))
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
    actions: tuple[BannerAction, ...]
    if request.work == "handover":
        what = tr("Compact this conversation? {estimate}.", estimate=estimate_text(estimate))
        unless = tr(
            "Otherwise, the context stays as it is. Once it is full, it is compacted without a model."
        )
        allow = BannerAction("allow", tr("Compact"))
        actions = (allow, BannerAction(_NO_MODEL, tr("Compact without a model")), refuse)
    else:
        what = tr("Write observations? {estimate}.", estimate=estimate_text(estimate))
        unless = tr("Otherwise, the context stays as it is.")
        actions = (BannerAction("allow", tr("Write observations")), refuse)
    return Banner(_SPENDING[request.work], "info", what, why, unless, actions, dismissable=False)
