"""What the model reads of an attachment: its heading, its lines, and the text of an image or a repeat."""

from __future__ import annotations

from helix_desktop.domain.digest import bare_marker
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.text_format import pluralize, utc_minute
from helix_desktop.domain.unicode_safety import escape_hidden_name


def attachment_text(attachment: Attachment, swept: bool = False) -> str:
    """Return an attachment as the user's message holds it.

    When `swept`, an image is text and hash, and what a program put in its heading and hash.
    """
    if attachment.image is not None:
        return attachment.image.marker if swept else attachment.image.text
    if swept and attachment.marker_tokens:
        return cached_attachment_text(attachment)
    if attachment.again:
        handle = bare_marker(attachment.digest, attachment.handle_digits)
        return f"[{_attachment_heading(attachment)}, attached again: it stands in a message above. {handle}]"
    return f"[{_attachment_heading(attachment)}]\n{attachment.text}"


def cached_attachment_text(attachment: Attachment) -> str:
    """Return the line that stands for the text of an attachment: its heading, its label and its hash."""
    heading = _attachment_heading(attachment)
    label = " ".join(attachment.label.split())
    return f"[{heading}: {label}] {bare_marker(attachment.digest, attachment.handle_digits)}"


def _attachment_heading(attachment: Attachment) -> str:
    """Return what an attachment is, on one line: its kind, its path or name, and which lines of how many."""
    name = escape_hidden_name(attachment.path or attachment.label)
    match attachment.kind:
        case "cached":
            stored = f", stored {utc_minute(attachment.stored)} UTC" if attachment.stored else ""
            edited = f" (edited since, e{attachment.changed_by})" if attachment.changed_by else ""
            return f"Recalled from the cache: {attachment.label}{stored}{edited}"
        case "file":
            return f"Attached file {name}, {_lines(attachment)}"
        case "pdf":
            pages = pluralize(attachment.pages, "page")
            return f"Attached PDF {name}, the text of {pages}, {_lines(attachment)}"
        case "paste":
            return f"Pasted text, {_lines(attachment)}"


def _lines(attachment: Attachment) -> str:
    part = " in part:" if attachment.form == "preview" else ""
    if attachment.first_line:
        return f"{part} lines {attachment.first_line}-{attachment.last_line} of {attachment.lines:,}".strip()
    return f"{part or 'whole:'} {pluralize(attachment.lines, 'line')}".strip()
