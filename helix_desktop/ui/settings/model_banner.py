"""Says in the main window that another model would go on with a session, and asks before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.errors import HelixError, ModelUnchosen
from helix_desktop.ui.chat.from_events import model_name
from helix_desktop.ui.frame.rows import Banner, BannerAction
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.work import Work

_ID = "another-model"
_CHOOSE, _GO_ON, _BACK = "choose", "go on", "back"
_DEMO = "demo/"
_WHY = "Nothing is sent until you choose. The model that goes on is sent everything said so far."


class ModelBanner(QObject):
    """Holds a session whose model is not to be had, or would give way to the demo, until the person chose."""

    def __init__(
        self,
        window: MainWindow,
        work: Work,
        intents: Intents,
        desk: Desk,
        choose: Callable[[], object],
        use: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`choose` offers models to the person, `use` lets the model of a label answer in the session."""
        super().__init__(window)
        self._window, self._work, self._intents, self._desk = window, work, intents, desk
        self._choose, self._use = choose, use
        self._agreed: dict[str, str] = {}  # by session, the label of the model that may go on
        work.opening.connect(self._look)
        work.model_shown.connect(self._look)
        work.model_chosen.connect(self._agree)
        window.banners.acted.connect(self._acted)

    def _look(self) -> None:
        self._window.banners.remove(_ID)
        talk = self._work.conversation
        if talk is None:
            return
        known, now = talk.session.transcript, talk.model
        last, chosen = known.last_model, known.chosen_model
        settled = self._agreed.get(talk.session.id) == now.label or known.parent or talk.running
        here = self._is_here(chosen or last)
        if chosen:
            held = chosen if chosen != now.label and not settled else ""
        else:
            foreign = last not in ("", now.label) and not last.startswith(_DEMO)
            held = last if foreign and not settled and (now.demo or not here) else ""
        talk.hold(held)
        if not held:
            self._window.banners.remove(ModelUnchosen.WHAT)
        if held:
            workspace, session = self._window.banners.place
            banner = replace(_banner(talk, here), workspace=workspace, session=session)
            self._window.banners.show_banner(banner)

    def _is_here(self, label: str) -> bool:
        try:
            self._desk.settings.find(label)
        except HelixError:
            return False
        return True

    def _agree(self) -> None:
        talk = self._work.conversation
        if talk is not None:
            self._agreed[talk.session.id] = talk.model.label

    def _acted(self, banner: str, action: str) -> None:
        talk = self._work.conversation
        if banner != _ID or talk is None:
            return
        if action == _CHOOSE:
            self._choose()
        elif action == _BACK:
            self._intents.start(self._use(talk.held), "use model")
        else:
            self._agree()
            self._intents.start(self._work.show_model(), "go on")


def _banner(talk: Conversation, here: bool) -> Banner:
    last = talk.held
    now = model_name(talk.model.label, talk.model.demo)
    go_on = BannerAction(_GO_ON, f"Go on with {now if not talk.model.demo else 'the demo model'}")
    if not here and talk.session.transcript.chosen_model:
        what = f"{last} is chosen for this session, but isn't set up here."
        first = BannerAction(_CHOOSE, "Choose a model…")
    elif here:
        what = f"{last} answered in this session; this workspace uses the offline demo model."
        first = BannerAction(_BACK, f"Go on with {model_name(last, demo=False)}")
    else:
        what = f"{last} answered in this session, and is not set up here."
        first = BannerAction(_CHOOSE, "Choose a model…")
    return Banner(_ID, "warning", what, _WHY, actions=(first, go_on), dismissable=False)
