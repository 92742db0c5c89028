"""Asks above a session about background work that would read much; the question waits for its answer."""

from __future__ import annotations

from typing import get_args

from PySide6.QtCore import QObject

from helix_desktop.agent.session_updates import SpendAsksChanged
from helix_desktop.domain.cost import BackgroundWork, SpendReply, SpendRequest
from helix_desktop.ui.design.window_state import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.costs import estimate_text
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_tokens

_BANNERS: dict[BackgroundWork, str] = {"handover": "spend-handover", "observations": "spend-observations"}
_WORK_BY_BANNER = {banner: work for work, banner in _BANNERS.items()}
_ANSWERS: dict[str, SpendReply] = {answer: answer for answer in get_args(SpendReply)}


class SpendApprovalBanners(QObject):
    """Shows the open questions of the conversation on screen, and takes the answers."""

    def __init__(self, window: MainWindow, session_controller: SessionController) -> None:
        super().__init__(window)
        self._banners, self._session_controller = window.banners, session_controller
        session_controller.session_changing.connect(self._refresh)
        session_controller.updated.connect(self._on_update)
        window.banners.action_clicked.connect(self._answer)

    def _on_update(self, update: object) -> None:
        if isinstance(update, SpendAsksChanged):
            self._refresh()

    def _refresh(self) -> None:
        conversation = self._session_controller.conversation
        asks = {ask.work: ask for ask in conversation.spend_asks} if conversation is not None else {}
        for work, banner in _BANNERS.items():
            self._banners.remove(banner)
            if work in asks:
                self._banners.show_banner(spend_banner(asks[work]))

    def _answer(self, banner: str, action: str) -> None:
        conversation = self._session_controller.conversation
        if conversation is not None and banner in _WORK_BY_BANNER:
            conversation.answer_spend_ask(_WORK_BY_BANNER[banner], _ANSWERS[action])


def spend_banner(ask: SpendRequest) -> Banner:
    """Return the question about some work: what it takes, why it is asked, and what happens without it."""
    estimate, refuse = ask.estimate, BannerAction("refuse", "Not now")
    model = model_name(estimate.model, estimate.demo)
    why = f"Model: {model}. Background work may read {format_tokens(ask.limit)} tokens without asking."
    actions: tuple[BannerAction, ...]
    if ask.work == "handover":
        what = f"Compact this conversation? {estimate_text(estimate)}."
        unless = "Otherwise, the context stays as it is; when it is full, it is compacted without a model."
        actions = (BannerAction("allow", "Compact"), BannerAction("no model", "Use no model"), refuse)
    else:
        what = f"Update observations? {estimate_text(estimate)}."
        unless = "Otherwise, the context stays as it is."
        actions = (BannerAction("allow", "Update"), refuse)
    return Banner(_BANNERS[ask.work], "info", what, why, unless, actions, dismissable=False)
