"""Asks above a session about background work that would read much; the question waits for its answer."""

from __future__ import annotations

from typing import get_args

from PySide6.QtCore import QObject

from helix_desktop.agent.update import SpendAsksChanged
from helix_desktop.context.spending import BackgroundWork, SpendAnswer, SpendAsk
from helix_desktop.ui.chat.from_events import model_name
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.spending.rows import estimate_text
from helix_desktop.ui.work import Work

_BANNERS: dict[BackgroundWork, str] = {"handover": "spend-handover", "observations": "spend-observations"}
_WORKS = {banner: work for work, banner in _BANNERS.items()}
_ANSWERS: dict[str, SpendAnswer] = {answer: answer for answer in get_args(SpendAnswer)}


class SpendBanners(QObject):
    """Shows the open questions of the conversation on screen, and takes the answers."""

    def __init__(self, window: MainWindow, work: Work) -> None:
        super().__init__(window)
        self._banners, self._work = window.banners, work
        work.opening.connect(self._show)
        work.heard.connect(self._hear)
        window.banners.acted.connect(self._answer)

    def _hear(self, update: object) -> None:
        if isinstance(update, SpendAsksChanged):
            self._show()

    def _show(self) -> None:
        talk = self._work.conversation
        asks = {ask.work: ask for ask in talk.spend_asks} if talk is not None else {}
        for work, banner in _BANNERS.items():
            self._banners.remove(banner)
            if work in asks:
                self._banners.show_banner(spend_banner(asks[work]))

    def _answer(self, banner: str, action: str) -> None:
        talk = self._work.conversation
        if talk is not None and banner in _WORKS:
            talk.answer_spend_ask(_WORKS[banner], _ANSWERS[action])


def spend_banner(ask: SpendAsk) -> Banner:
    """The question about some work: what it takes, why it is asked, and what happens without it."""
    estimate, refuse = ask.estimate, BannerAction("refuse", "Not now")
    model = model_name(estimate.model, estimate.demo)
    why = f"Model: {model}. Background work may read {tokens_text(ask.limit)} tokens without asking."
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
