"""Says in the main window that another model would continue a session, and asks before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from helix_desktop.agent.session import TurnChanged
from helix_desktop.agent.session_runtime import ModelChange
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.models import model_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_NOTICE = "another-model"


def follow_model_change(
    context: ControllerContext,
    session_controller: SessionController,
    choose_model: Callable[[], object],
    use_model: Callable[[str], Coroutine[Any, Any, None]],
) -> None:
    """Say that a session's model is unavailable, or would give way to the demo, until the user chooses.

    `choose_model` offers models to the user, `use_model` sets the session's model by label; empty: the
    workspace's model.
    """
    notices = context.window.notices

    def use(label: str) -> None:
        context.async_actions.start(use_model(label), "use model")

    def refresh(*_: object) -> None:
        notices.end(_NOTICE)
        conversation = session_controller.conversation
        if conversation is None:
            return
        change = conversation.model_choice.pending
        if change is None:
            notices.end(ModelNotChosen.WHAT)
        else:
            notices.notify_here(_notice(change, conversation.model, choose_model, use))

    session_controller.session_changing.connect(refresh)
    session_controller.model_changed.connect(refresh)
    # A running turn goes on with the model that it has.
    session_controller.on(TurnChanged, refresh)


def _notice(
    change: ModelChange, now: ModelInfo, choose_model: Callable[[], object], use: Callable[[str], None]
) -> Notice:
    last = change.label
    first = Answer(tr("Choose model…"), choose_model, "choose")
    if change.is_configured:
        what = tr(
            "{model} answered in this session. The workspace now uses the offline demo model.", model=last
        )
        first = Answer(_continue_label(model_name(last, demo=False)), lambda: use(last), "back")
    elif change.is_chosen:
        what = tr("{model} is chosen for this session, but isn't set up.", model=last)
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
        lambda: use(""),
        "continue",
    )
    return Notice(_NOTICE, what, why, answers=(first, go_on), level="warning", can_dismiss=False)


def _continue_label(model: str) -> str:
    return tr("Continue with {model}", model=model)
