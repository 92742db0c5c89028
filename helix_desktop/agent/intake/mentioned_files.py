"""Files that a message mentions go along with it, as they are when it is sent.

Until then a mention is text: what is typed, pasted or given to `run` means the same as what was completed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.files.mention import find_mentions

AttachFile: TypeAlias = Callable[[str, str, int, int], Awaitable[Attachment]]
"""Attaches a file of a session's workspace: session, path, first and last line. Raises InvalidInput."""


async def attach_mentioned_files(
    attach_file: AttachFile, session_id: str, text: str, attachments: Sequence[Attachment]
) -> tuple[Attachment, ...]:
    """Return what goes along with a message: its attachments, then each file that it mentions, once.

    A mention of no file or of reversed lines, or of a file that cannot be attached, is text and nothing else.
    Raises StoreError.
    """
    mentioned = []
    for mention in find_mentions(text):
        if mention.is_reversed:
            continue
        try:
            mentioned.append(await attach_file(session_id, *mention[:3]))
        except InvalidInput:
            continue
    return with_mentioned(attachments, mentioned)


def with_mentioned(
    attachments: Sequence[Attachment], mentioned: Sequence[Attachment]
) -> tuple[Attachment, ...]:
    """Return the attachments of a message with those of files that it mentions, each place once."""
    result = list(attachments)
    places = {_place(attachment) for attachment in attachments}
    for attachment in mentioned:
        if _place(attachment) not in places:
            places.add(_place(attachment))
            result.append(attachment)
    return tuple(result)


def _place(attachment: Attachment) -> tuple[str, int, int]:
    return attachment.path, attachment.first_line, attachment.last_line
