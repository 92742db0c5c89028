"""Holds the context of the session on screen, and says after an undo that it will be compacted again."""

from __future__ import annotations

from PySide6.QtCore import QObject

from helix_desktop.domain.events.conversation import UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, Redone, SweepMade, Undone
from helix_desktop.domain.events.session import HoldSet
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.ui.kit.intents import PauseCompaction, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.words.rewrite_explanations import hold_text
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_NOTICE = "hold"
_ENDS_NOTICE = (Redone, UserSpoke, HandoverMade, FoldMade, SweepMade, ObservationsPlaced)


class HoldController(QObject):
    """Binds Hold in menus, palette and notice to the conversation on screen."""

    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._notices, self._session = window.notices, session
        self._announce, self._action = window.pages.chat.view.announce, window.commands.hold_compaction
        window.intents.add(self)
        session.changed.connect(self._show)
        session.on(HoldSet, self._on_hold_set)
        session.on(Undone, self._on_undone)

    def _on_hold_set(self, event: HoldSet) -> None:
        self._show()
        self._announce(hold_text(event.on))

    def _on_undone(self, event: Undone) -> None:
        if not event.refused:
            self._show_after_undo()

    def _show(self) -> None:
        is_on_hold = self._session.transcript.on_hold
        self._action.setChecked(is_on_hold)
        self._notices.end(_NOTICE)
        if is_on_hold:
            self._notices.notify_here(
                Notice(
                    _NOTICE,
                    tr("Compaction paused."),
                    tr("The context stays as it is while it fits, until you resume."),
                    answers=(Answer(tr("Resume compaction"), lambda: self._set(False), "resume"),),
                )
            )

    def _show_after_undo(self) -> None:
        """Say that the context will be compacted again, and offer Hold while the next request fits."""
        conversation = self._session.conversation
        if self._session.transcript.on_hold or not conversation.window.policy.enabled:
            return
        (_, gauge), outlook = conversation.window.measure(), conversation.window.compaction_outlook()
        if not gauge.fits:
            self._say_after_undo(
                tr("The next message makes room in the context."),
                tr("After the undo, the request doesn't fit the context window."),
            )
        elif outlook.is_coming:
            self._say_after_undo(
                tr("The context will be compacted again."),
                tr("It is above the threshold after the undo. Pause keeps it as it is."),
                Answer(tr("Pause compaction"), lambda: self._set(True), "hold"),
            )
        else:
            self._notices.end(_NOTICE)

    def _say_after_undo(self, what: str, why: str, *answers: Answer) -> None:
        self._notices.notify_here(Notice(_NOTICE, what, why, answers=answers, ends_with=_ENDS_NOTICE))

    @handles(PauseCompaction)
    def pause(self) -> None:
        """Keep the context as it is, or no longer."""
        self._set(not self._session.transcript.on_hold)

    def _set(self, on: bool) -> None:
        self._session.start(self._session.conversation.hold(on), "hold")
