"""Says in the main window that another model would go on with a session, and asks before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.domain.errors import HelixError, ModelNotChosen
from helix_desktop.services.app_services import AppServices
from helix_desktop.ui.chat.rows.from_events import model_name
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.window_state import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.shell.main_window import MainWindow

_BANNER = "another-model"
_CHOOSE, _CONTINUE, _BACK = "choose", "go on", "back"
_DEMO = "demo/"
_EXPLANATION = "Nothing is sent until you choose. The model that goes on is sent everything said so far."


class ModelChangeBanner(QObject):
    """Blocks a session whose model is unavailable, or would give way to the demo, until the user chooses."""

    def __init__(
        self,
        window: MainWindow,
        session_controller: SessionController,
        async_actions: AsyncActions,
        services: AppServices,
        choose_model: Callable[[], object],
        use_model: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`choose_model` offers models to the user, `use_model` sets the session's model by label."""
        super().__init__(window)
        self._window, self._session_controller, self._async_actions, self._services = (
            window,
            session_controller,
            async_actions,
            services,
        )
        self._choose_model, self._use_model = choose_model, use_model
        self._accepted: dict[str, str] = {}  # by session, the label of the model that may go on
        session_controller.session_changing.connect(self._update)
        session_controller.model_changed.connect(self._update)
        session_controller.model_selected.connect(self._accept_model)
        window.banners.action_clicked.connect(self._on_action)

    def _update(self) -> None:
        self._window.banners.remove(_BANNER)
        conversation = self._session_controller.conversation
        if conversation is None:
            return
        transcript, now = conversation.session.transcript, conversation.model
        last, chosen_model = transcript.last_model, transcript.chosen_model
        settled = (
            self._accepted.get(conversation.session.id) == now.label
            or transcript.parent
            or conversation.is_running
        )
        here = self._is_configured(chosen_model or last)
        if chosen_model:
            blocked_model = chosen_model if chosen_model != now.label and not settled else ""
        else:
            foreign = last not in ("", now.label) and not last.startswith(_DEMO)
            blocked_model = last if foreign and not settled and (now.demo or not here) else ""
        conversation.block_until_model_chosen(blocked_model)
        if not blocked_model:
            self._window.banners.remove(ModelNotChosen.WHAT)
        if blocked_model:
            workspace, session = self._window.banners.context_ids
            banner = replace(_banner(conversation, here), workspace=workspace, session=session)
            self._window.banners.show_banner(banner)

    def _is_configured(self, label: str) -> bool:
        try:
            self._services.settings.find_model(label)
        except HelixError:
            return False
        return True

    def _accept_model(self) -> None:
        conversation = self._session_controller.conversation
        if conversation is not None:
            self._accepted[conversation.session.id] = conversation.model.label

    def _on_action(self, banner: str, action: str) -> None:
        conversation = self._session_controller.conversation
        if banner != _BANNER or conversation is None:
            return
        if action == _CHOOSE:
            self._choose_model()
        elif action == _BACK:
            self._async_actions.start(self._use_model(conversation.blocked_model), "use model")
        else:
            self._accept_model()
            self._async_actions.start(self._session_controller.show_model(), "go on")


def _banner(conversation: Conversation, is_configured: bool) -> Banner:
    last = conversation.blocked_model
    now = model_name(conversation.model.label, conversation.model.demo)
    go_on = BannerAction(_CONTINUE, f"Go on with {now if not conversation.model.demo else 'the demo model'}")
    if not is_configured and conversation.session.transcript.chosen_model:
        what = f"{last} is chosen for this session, but isn't set up here."
        first = BannerAction(_CHOOSE, "Choose a model…")
    elif is_configured:
        what = f"{last} answered in this session; this workspace uses the offline demo model."
        first = BannerAction(_BACK, f"Go on with {model_name(last, demo=False)}")
    else:
        what = f"{last} answered in this session, and is not set up here."
        first = BannerAction(_CHOOSE, "Choose a model…")
    return Banner(_BANNER, "warning", what, _EXPLANATION, actions=(first, go_on), dismissable=False)
