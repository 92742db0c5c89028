"""Says in the main window that another model would continue a session, and asks before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject

from helix_desktop.agent.session import TurnChanged
from helix_desktop.agent.session_runtime import ModelChange
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.models import model_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_BANNER = "another-model"
_CHOOSE, _CONTINUE, _BACK = "choose", "continue", "back"


class ModelChangeBanner(QObject):
    """Shows that a session's model is unavailable, or would give way to the demo, until the user chooses."""

    def __init__(
        self,
        context: ControllerContext,
        session_controller: SessionController,
        choose_model: Callable[[], object],
        use_model: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """`choose_model` offers models to the user, `use_model` sets the session's model by label.

        The label is empty for the workspace's model.
        """
        super().__init__(context.window)
        self._banners, self._session_controller = context.window.banners, session_controller
        self._async_actions = context.async_actions
        self._choose_model, self._use_model = choose_model, use_model
        session_controller.session_changing.connect(self._refresh)
        session_controller.model_changed.connect(self._refresh)
        # A running turn goes on with the model that it has.
        session_controller.on(TurnChanged, lambda _: self._refresh())
        self._banners.action_clicked.connect(self._on_action)

    def _refresh(self) -> None:
        self._banners.remove(_BANNER)
        conversation = self._session_controller.conversation
        if conversation is None:
            return
        change = conversation.model_choice.pending
        if change is None:
            self._banners.remove(ModelNotChosen.WHAT)
            return
        workspace_id, session_id = self._banners.context_ids
        banner = replace(
            _banner(change, conversation.model), workspace_id=workspace_id, session_id=session_id
        )
        self._banners.show_banner(banner)

    def _on_action(self, banner_id: str, action: str) -> None:
        conversation = self._session_controller.conversation
        if banner_id != _BANNER or conversation is None:
            return
        if action == _CHOOSE:
            self._choose_model()
        elif action == _BACK:
            change = conversation.model_choice.pending
            if change is not None:
                self._async_actions.start(self._use_model(change.label), "use model")
        else:
            self._async_actions.start(self._use_model(""), "continue")


def _banner(change: ModelChange, now: ModelInfo) -> Banner:
    last = change.label
    first = BannerAction(_CHOOSE, tr("Choose model…"))
    if change.is_configured:
        what = tr(
            "{model} answered in this session. The workspace now uses the offline demo model.", model=last
        )
        first = BannerAction(_BACK, _continue_label(model_name(last, demo=False)))
    elif change.is_chosen:
        what = tr("{model} is chosen for this session, but isn't set up.", model=last)
    else:
        what = tr("{model} answered in this session, but isn't set up.", model=last)
    why = tr(
        "Nothing is sent until you choose, and tokens are counted for {model}. The model you choose receives "
        "this conversation.",
        model=model_name(now.label, now.demo),
    )
    go_on = BannerAction(
        _CONTINUE,
        tr("Continue with the demo model")
        if now.demo
        else _continue_label(model_name(now.label, demo=False)),
    )
    return Banner(_BANNER, "warning", what, why, actions=(first, go_on), dismissable=False)


def _continue_label(model: str) -> str:
    return tr("Continue with {model}", model=model)
