"""How many tokens the message being written will take, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.intake.attachments import with_mentioned
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.drafts.attachments import DraftAttachments
from helix_desktop.words.numbers import format_token_count, format_tokens
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_COUNT_AFTER_MS = 250


class MessageEstimate(QObject):
    """Counts the message on screen, with its attachments and what it mentions, soon after it changed."""

    def __init__(self, context: ControllerContext, attachments: DraftAttachments) -> None:
        self._widget = context.views.chat.composer
        super().__init__(self._widget)
        self._services, self._attachments = context.services, attachments
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._mentioned: Sequence[Attachment] = ()  # files that the text mentions, as attachments
        self._timer = QTimer(self, singleShot=True, interval=_COUNT_AFTER_MS)
        self._timer.timeout.connect(lambda: context.async_actions.start(self._show(), "count draft"))

    def show(self, workspace: OpenWorkspace | None, conversation: Conversation | None) -> None:
        """Count for another conversation from now on."""
        if conversation is not self._conversation:
            self._mentioned = ()
        self._workspace, self._conversation = workspace, conversation

    def schedule(self) -> None:
        """Count once nothing more changes for a moment."""
        self._timer.start()

    def clear(self) -> None:
        """Show no estimate until the message changes."""
        self._widget.set_estimate("")

    def recount(self) -> None:
        """Count the message on screen again: what it has room for may be another."""
        if not self._timer.isActive() and (self._widget.text() or self._attachments.current()):
            self._timer.start()

    def count_mentioned(self, attachments: Sequence[Attachment]) -> None:
        """Count what the files that the text mentions will add to the message."""
        self._mentioned = attachments
        self.recount()

    async def _show(self) -> None:
        text, workspace, conversation = self._widget.text(), self._workspace, self._conversation
        if workspace is None or conversation is None:
            return
        sees_images = conversation.model.images
        message = await self._services.prompt_files.preview(workspace.id, text)
        tokens = await workspace.contents.count_tokens(message) if message.strip() else 0
        attachments = with_mentioned(self._attachments.current(), self._mentioned if text else ())
        total = tokens + sum(
            attachment.tokens - (attachment.image.tokens if attachment.image and not sees_images else 0)
            for attachment in attachments
        )
        total += FRAMING_TOKENS if total else 0  # as the inspector counts it once it is sent
        if text == self._widget.text() and conversation is self._conversation:
            now = conversation.window.measure()[1]
            limit = conversation.window.message_limit  # of a message that can be sent
            free = max(0, min(int((now.window - now.used - now.reserve) / now.ratio), limit))
            self._widget.set_estimate(_estimate_text(total, free))


def _estimate_text(tokens: int, free: int) -> str:
    """Return a message's tokens by Helix's count, as chips do; with its room if it doesn't fit."""
    if not tokens:
        return ""
    if tokens > free:
        room = format_tokens(free)
        return tr("Message: ≈ {tokens} tokens, room for {free}", tokens=format_tokens(tokens), free=room)
    return tr("Message: ≈ {tokens}", tokens=format_token_count(tokens))
