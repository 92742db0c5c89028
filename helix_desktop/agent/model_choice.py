"""Model choice: no model is sent a session that another one answered, until the user agrees."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.session import Session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.messages import ModelInfo

_DEMO = "demo/"


class ModelChange(msgspec.Struct, frozen=True):
    """A change of models that the user has to agree to; `label` is the model that the session had.

    `is_chosen` is True if that one was chosen for this session, else it gave the last answer.
    `is_configured` is True if it is set up here.
    """

    label: str
    is_chosen: bool
    is_configured: bool


def pending_change(
    transcript: Transcript, now: ModelInfo, accepted: str, is_configured: Callable[[str], bool]
) -> ModelChange | None:
    """Return the change that the user has to agree to before `now` answers; None if there is none.

    `accepted` is the label of a model that the user agreed to, besides the one on record. A running turn goes
    on. Subagents work with the model of a role, so for them only a choice counts.
    """
    if transcript.turn_open or now.label in (accepted, transcript.accepted_model):
        return None
    label, last = transcript.chosen_model, transcript.last_model
    if label:
        return ModelChange(label, True, is_configured(label)) if label != now.label else None
    if transcript.parent or last in ("", now.label) or last.startswith(_DEMO):
        return None
    is_here = is_configured(last)
    return ModelChange(last, False, is_here) if now.demo or not is_here else None


class ModelChoice:
    """The choice of the model that goes on with one session."""

    def __init__(
        self,
        session: Session,
        settings: RunSettingsSource,
        is_configured: Callable[[str], bool] = lambda _: True,
        is_overridden: Callable[[], bool] = lambda: True,
    ) -> None:
        """`is_overridden` returns True while one model answers in every session, whatever was chosen."""
        self._session, self._settings = session, settings
        self._is_configured, self._is_overridden = is_configured, is_overridden
        self._accepted = ""

    @property
    def pending(self) -> ModelChange | None:
        """The change of models that the user has to agree to; None if the model may answer."""
        if self._is_overridden():
            return None
        _, frame, _ = self._settings()
        return pending_change(self._session.transcript, frame.info, self._accepted, self._is_configured)

    def accept(self) -> None:
        """Let the model that would answer now go on, as long as this session is open."""
        self._accepted = self._settings()[1].info.label

    def require(self) -> None:
        """Raise ModelNotChosen while the user has to agree to a change."""
        change = self.pending
        if change is not None:
            raise ModelNotChosen(change.label, is_chosen=change.is_chosen)
