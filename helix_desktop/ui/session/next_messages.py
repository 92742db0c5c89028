"""What comes next in a session: the messages that wait for the agent, else one that the user may send."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.message_queue import MessageQueue
from helix_desktop.domain.choices import SamplePlace
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.ui.chat.composer.queue_list import (
    EditQueued,
    MoveQueued,
    PutIntoMessage,
    RemoveQueued,
    SendQueued,
    SteerQueued,
)
from helix_desktop.ui.chat.page import NextMessages
from helix_desktop.ui.kit.intents import StopAndSend, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.composer_controller import ComposerController

CONTINUE = "Continue."
"""What is sent to go on with a turn that was broken off."""
_UNFINISHED = ("stopped", "interrupted")


class NextMessagesController(QObject):
    def __init__(self, view: NextMessages, session: Session, composer: ComposerController) -> None:
        super().__init__(view)
        self._view, self._session, self._composer = view, session, composer
        self.sample_messages: Mapping[str, SamplePlace] = {}
        """The messages of the sample on screen, in order, each with where to look; none elsewhere."""
        view.suggestion_accepted.connect(composer.send_proposal)
        session.on_refresh(self._refresh)

    def _refresh(self) -> None:
        """Show what waits to be sent, else what the user may send next."""
        if not self._session.has_conversation:
            return
        conversation = self._session.conversation
        if self._session.transcript.queued_messages:
            self._view.show_waiting(
                conversation.queue.pending,
                is_paused=not conversation.is_running,
                is_call_running=bool(conversation.running_calls.running),
            )
        else:
            message = _suggested_message(conversation, self.sample_messages)
            self._view.show_suggestion(message, self.sample_messages.get(message, ""))

    @property
    def _queue(self) -> MessageQueue:
        return self._session.conversation.queue

    @handles(EditQueued)
    async def edit(self, seq: int, text: str) -> None:
        """Change a message that waits; of one that was sent a moment before, the text is not lost."""
        if not await self._queue.edit(seq, text):
            self._composer.prepend(text)
        self._session.schedule_refresh()

    @handles(MoveQueued, RemoveQueued, SteerQueued)
    async def change(self, intent: MoveQueued | RemoveQueued | SteerQueued) -> None:
        match intent:
            case MoveQueued(seq=seq, by=by):
                await self._queue.move(seq, by)
            case RemoveQueued(seq=seq):
                await self._queue.remove(seq)
            case SteerQueued(seq=seq, is_on=is_on):
                await self._queue.steer(seq, is_on)
        self._session.schedule_refresh()

    @handles(StopAndSend)
    async def stop_and_send(self, seq: int) -> None:
        """Stop the running calls and send a message; none named: the first that steers, else the first."""
        waiting = self._queue.pending
        if not seq and waiting:
            seq = next((message for message in waiting if message.steer), waiting[0]).seq
        if seq:
            await self._session.conversation.stop_step_and_steer(seq)

    @handles(SendQueued)
    def send(self) -> None:
        """Send the first message of a paused queue."""
        self._session.conversation.send_next_queued()

    @handles(PutIntoMessage)
    def put_into_message(self, text: str) -> None:
        """Put an edit that came too late into the message field."""
        self._composer.prepend(text)


def _suggested_message(conversation: Conversation, sample_messages: Iterable[str]) -> str:
    """Return the sample's next message that was not sent yet, or `CONTINUE` after a broken-off turn.

    Empty while a turn runs, outside a sample, and at its end.
    """
    if conversation.is_running or not sample_messages:
        return ""
    events = (entry.event for entry in reversed(conversation.session.log))
    ended = next((event for event in events if isinstance(event, TurnEnded)), None)
    if ended is not None and ended.how in _UNFINISHED:
        return CONTINUE
    items = conversation.session.transcript.messages.items
    sent_texts = {item.event.text for item in items if isinstance(item.event, UserSpoke)}
    return next((text for text in sample_messages if text not in sent_texts), "")
