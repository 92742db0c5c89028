"""Holds the context of the session on screen, and says after an undo that it will be compacted again."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.agent.session import EventRecorded, Update
from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, Redone, SweepMade, Undone
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.ui.design.shell_data import Banner, BannerAction
from helix_desktop.ui.kit.intents import PauseCompaction, handles
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.rewrite_explanations import hold_text
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_BANNER = "hold"
_ENDS_NOTICE = (Redone, UserSpoke, HandoverMade, FoldMade, SweepMade, ObservationsPlaced)


class HoldController(QObject):
    """Binds Hold in menus, palette and banner to the conversation on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._banners, self._session_controller = context.window.banners, session_controller
        self._async_actions, self._announce = context.async_actions, context.views.chat.view.announce
        self._action = context.window.commands.hold_compaction
        context.window.intents.add(self)
        self._banners.action_clicked.connect(
            lambda banner_id, action: self._set(action == "hold") if banner_id == _BANNER else None
        )
        session_controller.session_changed.connect(self._show)
        session_controller.updated.connect(self._on_update)

    def _on_update(self, update: Update) -> None:
        match update:
            case EventRecorded(recorded=RecordedEvent(event=HoldSet(on=on))):
                self._show()
                self._announce(hold_text(on))
            case EventRecorded(recorded=RecordedEvent(event=Undone(refused=False))):
                self._show_after_undo()
            case EventRecorded(recorded=RecordedEvent(event=event)) if isinstance(event, _ENDS_NOTICE):
                if not self._is_on_hold:
                    self._banners.remove(_BANNER)

    @property
    def _is_on_hold(self) -> bool:
        conversation = self._session_controller.conversation
        return conversation is not None and conversation.session.transcript.on_hold

    def _show(self) -> None:
        self._action.setChecked(self._is_on_hold)
        self._banners.remove(_BANNER)
        if self._is_on_hold:
            self._show_banner(
                tr("Compaction paused."),
                tr("The context stays as it is while it fits, until you resume."),
                BannerAction("resume", tr("Resume compaction")),
            )

    def _show_after_undo(self) -> None:
        """Say that the context will be compacted again, and offer Hold while the next request fits."""
        conversation = self._session_controller.conversation
        if conversation is None or self._is_on_hold or not conversation.window.policy.enabled:
            return
        (_, gauge), outlook = conversation.window.measure(), conversation.window.compaction_outlook()
        if outlook.state == "full" and not gauge.fits:
            self._show_banner(
                tr("The next message makes room in the context."),
                tr("After the undo, the request doesn't fit the context window."),
            )
        elif outlook.state in ("due", "waiting", "facts", "full"):
            self._show_banner(
                tr("The context will be compacted again."),
                tr("It is above the threshold after the undo. Pause keeps it as it is."),
                BannerAction("hold", tr("Pause compaction")),
            )
        else:
            self._banners.remove(_BANNER)

    def _show_banner(self, what: str, why: str, *actions: BannerAction) -> None:
        workspace_id, session_id = self._banners.context_ids
        self._banners.show_banner(
            Banner(
                _BANNER, "info", what, why, actions=actions, workspace_id=workspace_id, session_id=session_id
            )
        )

    @handles(PauseCompaction)
    def pause(self) -> None:
        """Keep the context as it is, or no longer."""
        self._set(not self._is_on_hold)

    def _set(self, on: bool) -> None:
        conversation = self._session_controller.conversation
        if conversation is not None:
            self._async_actions.start(conversation.hold(on), "hold")
