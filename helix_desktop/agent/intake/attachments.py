"""Intake of attachments: stores what the user puts into a message, and chooses the form it enters in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from helix_desktop.agent.intake.intake import Intake, Previewed
from helix_desktop.agent.ports import FileReader, Store, TokenCounter
from helix_desktop.context.intake.describe import describe_text
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.session import Attachment
from helix_desktop.domain.files.encoding import is_binary, kind_by_signature, utf16_encoding
from helix_desktop.domain.image import MAX_IMAGE_BYTES, Image, identify_image
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.domain.text_format import count_lines
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.domain.user_text import ByteSize, TextContext

_text = TextContext("Agent")

MAX_ATTACHED_BYTES = (
    8 * 1024 * 1024
)  # two million tokens: more than any window; the agent searches larger ones
IntakeLimits = Callable[[str], tuple[ContextPolicy, int]]
"""Returns the policy of a session and the tokens of its model's window."""


class AttachmentIntake:
    """Makes attachments; the bytes are stored before one names them."""

    def __init__(
        self, store: Store, counter: TokenCounter, files: FileReader | None, limits: IntakeLimits
    ) -> None:
        """Without `files` no file can be attached by its path."""
        self._store, self._counter, self._files, self._limits = store, counter, files, limits
        self._intake = Intake(counter)

    async def from_workspace(self, session: str, path: str, first_line: int, last_line: int) -> Attachment:
        """Return a file of the workspace, or lines of it, attached. Raises InvalidInput, StoreError."""
        if self._files is None:
            raise InvalidInput(
                _text("Couldn't attach {file}.", file=escape_hidden_name(path)),
                _text("The workspace's folder is missing."),
            )
        data, version = await self._files.read(path, MAX_ATTACHED_BYTES)
        attachment = Attachment("", version.path, "", 0, len(data), kind="file", path=version.path)
        attachment = msgspec.structs.replace(attachment, version=version)
        return await self._from_bytes(session, attachment, data, first_line, last_line)

    async def _from_bytes(
        self, session: str, attachment: Attachment, data: bytes, first_line: int = 0, last_line: int = 0
    ) -> Attachment:
        """Complete an attachment whose name is set with what its bytes are."""
        if len(data) <= MAX_IMAGE_BYTES and (
            image := identify_image(data, digest_of(data), attachment.label)
        ):
            return await self.with_image(session, attachment, image, data)
        text = await asyncio.to_thread(_decode, attachment.label, data)
        return await self._from_text(session, attachment, text, first_line, last_line)

    async def with_image(
        self, session: str, attachment: Attachment, image: Image, data: bytes | None = None
    ) -> Attachment:
        """Complete an attachment with an image; store its bytes, unless they come from the store."""
        if data is not None:
            content = Content(image.digest, data, "image", image.label, image.summary, image.tokens)
            await self._store.commit(Commit(session, contents=[content]))
        text_tokens, marker_tokens = await self._counter.count([image.text, image.marker])
        return msgspec.structs.replace(
            attachment,
            digest=image.digest,
            label=image.label,
            tokens=image.tokens + text_tokens,
            size=image.size,
            image=image,
            marker_tokens=marker_tokens,
        )

    async def _from_text(
        self, session: str, attachment: Attachment, text: str, first_line: int, last_line: int
    ) -> Attachment:
        data = text.encode("utf-8", "surrogatepass")
        policy, window = self._limits(session)
        lines = count_lines(text)
        part, first, last = text, 0, 0
        if first_line or last_line:
            part, first, last = _part(attachment.label, text, lines, first_line, last_line)
        attachment = msgspec.structs.replace(
            attachment,
            digest=await asyncio.to_thread(digest_of, data),
            size=len(data),
            text=_numbered(part, first) if first else part,
            lines=lines,
            first_line=first,
            last_line=last,
            handle_digits=policy.handle_digits,
        )
        whole_tokens, tokens = await self._counter.count([text, attachment_text(attachment)])
        await self._store.commit(Commit(session, contents=[_content(attachment, data, text, whole_tokens)]))
        if policy.is_large(tokens, window):
            return await self._as_preview(attachment, part, tokens, policy)
        return msgspec.structs.replace(attachment, tokens=tokens)

    async def _as_preview(
        self, attachment: Attachment, part: str, full_tokens: int, policy: ContextPolicy
    ) -> Attachment:
        marker = bare_marker(attachment.digest, attachment.handle_digits)
        (marker_tokens,) = await self._counter.count([marker])
        content = Previewed(
            "read_file",
            attachment.digest,
            marker_tokens,
            handle_digits=attachment.handle_digits,
            lines_before=max(0, attachment.first_line - 1),
        )
        text, _ = await self._intake.preview_content(part, content, policy.preview_tokens)
        attachment = msgspec.structs.replace(attachment, text=text, form="preview", full_tokens=full_tokens)
        (tokens,) = await self._counter.count([attachment_text(attachment)])
        return msgspec.structs.replace(attachment, tokens=tokens)


def _content(attachment: Attachment, data: bytes, text: str, tokens: int) -> Content:
    tool = "pasted text" if attachment.kind == "paste" else "attached file"
    return Content(attachment.digest, data, tool, attachment.label, describe_text(text), tokens)


def _decode(name: str, data: bytes) -> str:
    """Return the text of a file, as read_file gives it. Raises InvalidInput if it is none."""
    if encoding := utf16_encoding(data):
        return data.decode(encoding, "replace").removeprefix("\ufeff")
    if is_binary(data):
        raise InvalidInput(
            _text("Couldn't attach {file}.", file=escape_hidden_name(name)),
            _text(
                "It isn't text ({kind}, {size}).",
                kind=kind_by_signature(data) or "binary data",
                size=ByteSize(len(data)),
            ),
            _text("Attach text, code, a PDF or an image (PNG, JPEG, GIF, WebP)."),
        )
    return data.decode("utf-8", "replace")


def _part(name: str, text: str, lines: int, first_line: int, last_line: int) -> tuple[str, int, int]:
    """Return the requested lines, the number of the first and of the last. Raises InvalidInput."""
    first, last = max(1, first_line), min(last_line or lines, lines)
    if first > lines or last < first:
        raise InvalidInput(
            _text("Couldn't attach {file}.", file=escape_hidden_name(name)),
            _text.plural(lines, "It has %n line.", "It has %n lines."),
            _text("Choose lines in it, such as {example}.", example=f"1-{max(1, min(lines, 40))}"),
        )
    rows = text.split("\n")
    return "\n".join(rows[first - 1 : last]) + ("\n" if last < len(rows) else ""), first, last


def _numbered(part: str, first_line: int) -> str:
    """Return lines with their numbers, as recall has them."""
    rows = part.removesuffix("\n").split("\n")
    end = "\n" if part.endswith("\n") else ""
    return "\n".join(f"{number}:{row}" for number, row in enumerate(rows, first_line)) + end
