"""What goes along with a message, in words: its name and which lines, what it costs, its icon."""

from __future__ import annotations

from pathlib import PurePosixPath

from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.words.call_targets import shown_target
from helix_desktop.words.context_changes import preview_parts_text
from helix_desktop.words.numbers import format_token_count, format_tokens
from helix_desktop.words.translation import Translator

tr = Translator("Attachments")

IMAGE_ICON = "image"
_CODE_SUFFIXES = frozenset(
    ("c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "json", "jsx", "kt", "lua", "php",
     "pl", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts", "tsx", "vue", "xml", "yaml", "yml")
)  # fmt: skip


def attachment_name(attachment: Attachment) -> str:
    """Return what an attachment is: "Pasted text", or a path and which of its lines, "src/app.py:46-49"."""
    if attachment.kind == "paste":
        return tr("Pasted text")
    if attachment.kind == "cached":
        return shown_target(RECALL_TOOL, attachment.label, is_attached=True)
    if not attachment.first_line:
        return attachment.label
    is_one_line = attachment.first_line == attachment.last_line
    lines = f"{attachment.first_line}" if is_one_line else f"{attachment.first_line}-{attachment.last_line}"
    return f"{attachment.label}:{lines}"


def attachment_facts(attachment: Attachment) -> str:
    """Return how many lines or pages an attachment has, unless its name says which, and its tokens."""
    return " · ".join(part for part in (_extent(attachment), _cost(attachment)) if part)


def _extent(attachment: Attachment) -> str:
    if attachment.image is not None or attachment.kind == "cached" or attachment.first_line:
        return ""
    if attachment.kind == "pdf":
        return tr.plural(attachment.pages, "%n page", "%n pages")
    return tr.plural(attachment.lines, "%n line", "%n lines")


def _cost(attachment: Attachment) -> str:
    """Return what an attachment costs; of a large one also which lines are sent, and its cost in full."""
    if attachment.form == "preview":
        tokens = format_tokens(attachment.tokens)
        full = format_tokens(attachment.full_tokens)
        parts = preview_parts_text(attachment.text)
        return tr("{parts}, {tokens} of {full} tokens", parts=parts, tokens=tokens, full=full)
    return format_token_count(attachment.tokens)


def attachment_icon(attachment: Attachment) -> str:
    if attachment.image is not None:
        return IMAGE_ICON
    if attachment.kind == "cached":
        return "archive-restore"
    if attachment.kind == "paste":
        return "copy"
    suffix = PurePosixPath(attachment.label).suffix.removeprefix(".").lower()
    return "file-code" if suffix in _CODE_SUFFIXES else "file-text"
