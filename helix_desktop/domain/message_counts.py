"""How much of a conversation there is, as its chat shows it: messages, and tool calls apart."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.translatable_text import TextContext, TranslatableText

_text = TextContext("Session")


class MessageCounts(msgspec.Struct, frozen=True):
    """Messages of the user and of the agent that have a text, and tool calls that have their output."""

    messages: int = 0
    calls: int = 0

    @property
    def text(self) -> TranslatableText:
        """Return both in words: `6 messages, 21 tool calls`; calls only where there are any."""
        messages = _text.plural(self.messages, "%n message", "%n messages")
        if not self.calls:
            return messages
        calls = _text.plural(self.calls, "%n tool call", "%n tool calls")
        return _text("{messages}, {calls}", messages=messages, calls=calls)
