"""What comes next in a session: the messages that wait for the agent, else one that the user may send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.message_queue import MessageQueue
from helix_desktop.domain.choices import SamplePlace
from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
from helix_desktop.ui.chat.page import NextMessages
from helix_desktop.ui.kit.intents import StopAndSend, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.session.composer_controller import ComposerController

CONTINUE = "Continue."
"""What is sent to go on with a turn that was broken off."""
_UNFINISHED = ("stopped", "interrupted")


class NextMessagesController(QObject):
    """Binds the lines above the composer to the queue of one conversation at a time."""

    def __init__(self, view: NextMessages, session: Session, composer: ComposerController) -> None:
        super().__init__(view)
        self._view, self._session, self._composer = view, session, composer
        self.sample_messages: Mapping[str, SamplePlace] = {}
        """The messages of the sample on screen, in order, each with where to look; none elsewhere."""
        waiting = view.queue
        waiting.edited.connect(lambda seq, text: self._change("edit", lambda q: self._edit(q, seq, text)))
        waiting.moved.connect(lambda seq, by: self._change("move", lambda q: q.move(seq, by)))
        waiting.removed.connect(lambda seq: self._change("remove", lambda q: q.remove(seq)))
        waiting.steered.connect(lambda seq, on: self._change("steer", lambda q: q.steer(seq, on)))
        waiting.send_now_requested.connect(self._stop_and_send)
        waiting.resumed.connect(self._resume)
        waiting.edit_orphaned.connect(composer.prepend)
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

    def _change(self, action: str, change: Callable[[MessageQueue], Awaitable[object]]) -> None:
        async def run(queue: MessageQueue) -> None:
            await change(queue)
            self._session.schedule_refresh()

        self._session.start(run(self._session.conversation.queue), f"{action} waiting message")

    async def _edit(self, queue: MessageQueue, seq: int, text: str) -> None:
        if not await queue.edit(seq, text):
            self._composer.prepend(text)  # it was sent a moment before

    @handles(StopAndSend)
    def stop_and_send_first(self) -> None:
        """Stop the running calls and send the first message that steers, else the first that waits."""
        waiting = self._session.conversation.queue.pending
        if waiting:
            self._stop_and_send(next((message for message in waiting if message.steer), waiting[0]).seq)

    def _stop_and_send(self, seq: int) -> None:
        self._session.start(self._session.conversation.stop_step_and_steer(seq), "stop and send")

    def _resume(self) -> None:
        self._session.conversation.send_next_queued()


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
