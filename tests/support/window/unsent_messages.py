"""Messages that reach no log: a draft that could not be saved, and one that stays on its way."""

from __future__ import annotations

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.chat.drafts.session_drafts import OutgoingMessage, UnsavedDraft
from tests.support.window.window_rig import WindowRig


def note_of(text: str) -> Attachment:
    return Attachment("0" * 64, "notes.txt", text, 5, len(text))


async def add_unsaved_draft(rig: WindowRig, session_id: str, text: str) -> None:
    """Do as if a draft could not be saved when its session was left."""
    conversation = await rig.workspace.open_session(session_id)
    error = StoreWriteFailed(verbatim("The disk is full."))
    draft = UnsavedDraft(rig.workspace, conversation, text, is_whole=True, error=error)
    composer = rig.wiring.composer
    async with composer.drafts._locks[session_id]:  # its draft may still be on its way to the store
        composer.drafts.unsaved.add(draft)


def add_late_message(rig: WindowRig, text: str) -> OutgoingMessage:
    """Return a message on its way, with a note, that never settles."""
    message = OutgoingMessage(rig.workspace, rig.conversation, text, [note_of(text)])
    rig.wiring.composer.outgoing.add(message)
    return message


def check_redacted(rig: WindowRig, message: OutgoingMessage, secret: str) -> None:
    """Check that a message on its way lost the secret, and let go of it."""
    (notes,) = message.attachments
    assert "[FORGOTTEN " in message.text
    assert notes.text == message.text
    assert secret not in message.text
    rig.wiring.composer.outgoing.remove(message)
