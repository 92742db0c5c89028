"""What a chip says of an attachment."""

from __future__ import annotations

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.ui.chat.composer.attachment_chips import ChipText
from helix_desktop.words.attachments import attachment_facts, attachment_icon, attachment_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_MAX_INSERTED_BYTES = 64 * 1024  # of a pasted text; the field lays out more too slowly


def attachment_key(attachment: Attachment) -> str:
    """Return what tells the attachments of a message apart."""
    lines = f"{attachment.first_line}-{attachment.last_line}"
    return f"{attachment.digest}:{attachment.label}:{lines}"


def chip_text(attachment: Attachment, model_sees_images: bool) -> ChipText:
    """Return a chip's text: name and price, or that the model sees no images."""
    lacks_images = attachment.image is not None and not model_sees_images
    return ChipText(
        attachment_key(attachment),
        attachment_name(attachment),
        tr("images not supported: left out") if lacks_images else attachment_facts(attachment),
        attachment_icon(attachment),
        has_text=_has_text(attachment),
        is_preview=attachment.form == "preview",
        is_warning=lacks_images,
    )


def _has_text(attachment: Attachment) -> bool:
    """Return True if it can stand in the message as text: what was pasted, and what was recalled."""
    size = attachment.size if attachment.kind == "paste" else len(attachment.text)
    return attachment.kind in ("paste", "cached") and not attachment.image and size <= _MAX_INSERTED_BYTES
