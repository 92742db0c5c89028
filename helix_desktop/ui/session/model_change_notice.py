"""Says in the main window that another model would continue a session, and asks before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from helix_desktop.agent.session import TurnChanged
from helix_desktop.agent.session_runtime import ModelChange
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.models import model_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_NOTICE = "another-model"


def follow_model_change(
    session: Session,
    choose_model: Callable[[], object],
    use_model: Callable[[str], Coroutine[Any, Any, None]],
) -> None:
    """Say that a session's model is unavailable, or would give way to the demo, until the user chooses.

    `choose_model` offers models to the user, `use_model` sets the session's model by label; empty: the
    workspace's model.
    """
    notices = session.notices

    def use(label: str) -> None:
        session.start(use_model(label), "use model")

    def refresh(*_: object) -> None:
        notices.end(_NOTICE)
        if not session.has_conversation:
            return
        change = session.conversation.model_choice.pending
        if change is None:
            notices.end(ModelNotChosen.WHAT)
        else:
            notices.notify_here(_notice(change, session.conversation.model, choose_model, use))

    session.changing.connect(refresh)
    session.model_changed.connect(refresh)
    # A running turn goes on with the model that it has.
    session.on(TurnChanged, refresh)


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
