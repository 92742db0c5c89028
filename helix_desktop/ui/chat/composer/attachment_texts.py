"""What a chip says of an attachment."""

from __future__ import annotations

from PySide6.QtGui import QImage

from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.ui.chat.composer.attachment_chips import ChipText
from helix_desktop.words.attachments import attachment_facts, attachment_icon, attachment_name
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_MAX_INSERTED_BYTES = 64 * 1024  # of a pasted text; the field lays out more too slowly


def attachment_key(attachment: Attachment) -> str:
    """Return what tells the attachments of a message apart."""
    lines = f"{attachment.first_line}-{attachment.last_line}"
    return f"{attachment.digest}:{attachment.label}:{lines}"


def chip_text(attachment: Attachment, model: ModelInfo | None, thumbnail: QImage | None = None) -> ChipText:
    """Return a chip's text: name and tokens, or that the model sees no images, or may not see them."""
    image, note = attachment.image, attachment_facts(attachment)
    lacks_images = image is not None and (model is None or not model.images)
    may_lack_images = image is not None and model is not None and not model.images_known
    if lacks_images:
        note = tr("images not supported: left out")
    elif may_lack_images:
        note = f"{note} · {tr('images may not be supported')}"
    return ChipText(
        attachment_key(attachment),
        attachment_name(attachment),
        note,
        attachment_icon(attachment),
        has_text=_has_text(attachment),
        is_preview=attachment.form == "preview",
        is_warning=lacks_images or may_lack_images,
        image_size=(image.width, image.height) if image is not None else None,
        thumbnail=thumbnail,
    )


def _has_text(attachment: Attachment) -> bool:
    """Return True if it can stand in the message as text: what was pasted, and what was recalled."""
    size = attachment.size if attachment.kind == "paste" else len(attachment.text)
    return attachment.kind in ("paste", "cached") and not attachment.image and size <= _MAX_INSERTED_BYTES
