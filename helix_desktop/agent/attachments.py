"""Attachments and mentioned files: stores what a message brings, chooses its form; access to contents.

A mentioned file goes along as it is when the message is sent: until then a mention is text, and what is
typed, pasted or given to `run` means the same as what was completed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from helix_desktop.agent.intake import Intake, PreviewInput, decode_output
from helix_desktop.agent.ports import FileReader, TokenCounter
from helix_desktop.context.intake.descriptions import describe_text
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import (
    InvalidInput,
)
from helix_desktop.domain.events.conversation import Attachment, AttachmentKind
from helix_desktop.domain.files.content import PDF, PdfRefused, is_binary, kind_by_signature, utf16_encoding
from helix_desktop.domain.files.mention import find_mentions
from helix_desktop.domain.image import MAX_IMAGE_BYTES, Image, identify_image
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.text_format import count_lines, ellipsize
from helix_desktop.domain.translatable_text import (
    ByteSize,
    TextContext,
    TranslatableText,
)
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name

_text = TextContext("Agent")

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


async def attachments_as_sent(
    attachments: Sequence[Attachment], transcript: Transcript, counter: TokenCounter
) -> tuple[Attachment, ...]:
    """Return the attachments of a message; those that stand whole in the window now are only named again.

    A recalled text of a file says that the file was edited since.
    """
    standing = transcript.window.whole_attachments()
    result = list[Attachment]()
    for given in attachments:
        whole = given
        if given.again:  # its message is sent again, maybe where the other one is not
            whole = replace(given, again=False, tokens=given.full_tokens, full_tokens=0)
        changed_by = transcript.stale_digests.get(given.digest, 0) if given.kind == "cached" else 0
        if changed_by != given.changed_by:
            changed = replace(whole, changed_by=changed_by)
            headings = [attachment_text(replace(each, text="")) for each in (whole, changed)]
            before, after = await counter.count(headings)
            whole = replace(changed, tokens=whole.tokens + after - before)
        named = replace(whole, again=True, full_tokens=whole.tokens)
        if whole.is_whole and whole.digest in standing:
            (tokens,) = await counter.count([attachment_text(named)])
            named = replace(named, tokens=tokens)
        result.append(named if named.tokens < whole.tokens else whole)
    return tuple(result)


def _place(attachment: Attachment) -> tuple[str, int, int]:
    return attachment.path, attachment.first_line, attachment.last_line


MAX_TEXT_BYTES = 8 * 1024 * 1024  # two million tokens, more than any window; tools search what is larger
MAX_FILE_BYTES = 32 * 1024 * 1024  # of a PDF, most of which are pictures and fonts
_NAME_CHARS = 32  # of a pasted text that stand on its chip
IntakeLimits = Callable[[str], tuple[ContextPolicy, int]]
"""Returns the policy of a session and the tokens of its model's window."""
CommitContents = Callable[[Commit], Awaitable[None]]
"""Stores contents durably: Store.commit."""
replace = msgspec.structs.replace


class AttachmentIntake:
    """Makes attachments; the bytes are stored before one names them. Everything raises StoreError."""

    def __init__(
        self, commit: CommitContents, counter: TokenCounter, files: FileReader | None, limits: IntakeLimits
    ) -> None:
        """Without `files` nothing that has to be read can be attached: the workspace's folder is missing."""
        self._commit = commit
        self._counter = counter
        self._files = files
        self._limits = limits
        self._intake = Intake(counter)

    async def attach_file(
        self, session_id: str, path: str, first_line: int = 0, last_line: int = 0
    ) -> Attachment:
        """Store a file of the workspace and return it, or its lines (from 1), as an attachment.

        A `last_line` of 0 is the end. A large one enters the window as a preview. Raises InvalidInput for
        what is no text or image of the workspace or too large.
        """
        data, version = await self._reader(escape_hidden_name(path)).read(path, MAX_FILE_BYTES)
        attachment = _unread(escape_hidden_name(version.path), "file")
        attachment = replace(attachment, path=version.path, version=version)
        return await self._from_bytes(session_id, attachment, data, first_line, last_line)

    async def attach_data(
        self, session_id: str, data: bytes, name: str, first_line: int = 0, last_line: int = 0
    ) -> Attachment:
        """Store a file from outside the workspace and return it, or its lines, as an attachment.

        It is an image, the text of a PDF, or text. Raises InvalidInput for anything else and for what is too
        large.
        """
        attachment = _unread(escape_hidden_name(name), "file")
        return await self._from_bytes(session_id, attachment, data, first_line, last_line)

    async def attach_paste(self, session_id: str, text: str) -> Attachment:
        """Store a pasted text and return it attached. Raises InvalidInput if it is too large."""
        name = ellipsize(" ".join(escape_hidden(text[: 4 * _NAME_CHARS]).split()), _NAME_CHARS)
        data = text.encode("utf-8", "replace")
        _require_size(name, len(data), MAX_TEXT_BYTES)
        return await self._from_text(session_id, _unread(name, "paste"), data.decode(), data)

    def _reader(self, name: str) -> FileReader:
        if self._files is None:
            raise InvalidInput(_not_attached(name), _text("The workspace's folder is missing."))
        return self._files

    async def _from_bytes(
        self, session_id: str, attachment: Attachment, data: bytes, first_line: int = 0, last_line: int = 0
    ) -> Attachment:
        name = attachment.label
        if (image := identify_image(data, "", name)) is not None:
            _require_size(name, len(data), MAX_IMAGE_BYTES)
            return await self.with_image(session_id, attachment, replace(image, digest=digest_of(data)), data)
        if kind_by_signature(data) == PDF:
            _require_size(name, len(data), MAX_FILE_BYTES)
            try:
                pdf = await self._reader(name).pdf_text(data)
            except PdfRefused as error:
                raise InvalidInput(_not_attached(name), *_refusal(error)) from error
            text = pdf.text
            pages = pdf.pages
            # Its text is what the model reads, and recalls by lines; of other files the bytes are stored.
            attachment = replace(attachment, kind="pdf", pages=pages)
            data = text.encode()
        else:
            text, data = await asyncio.to_thread(_decode, name, data)
        return await self._from_text(session_id, attachment, text, data, first_line, last_line)

    async def with_image(
        self, session_id: str, attachment: Attachment, image: Image, data: bytes | None = None
    ) -> Attachment:
        """Complete an attachment with an image; store its bytes, unless they come from the store."""
        if data is not None:
            content = Content(image.digest, data, "image", image.label, image.summary, image.tokens)
            await self._commit(Commit(session_id, contents=[content]))
        text_tokens, marker_tokens = await self._counter.count([image.text, image.marker])
        return replace(
            attachment,
            digest=image.digest,
            label=image.label,
            tokens=image.tokens + text_tokens,
            size=image.size,
            image=image,
            marker_tokens=marker_tokens,
        )

    async def _from_text(
        self,
        session_id: str,
        attachment: Attachment,
        text: str,
        data: bytes,
        first_line: int = 0,
        last_line: int = 0,
    ) -> Attachment:
        policy, window_size = self._limits(session_id)
        attachment = replace(attachment, size=len(data), handle_digits=policy.handle_digits)
        attachment, part = await asyncio.to_thread(_cut, attachment, text, data, first_line, last_line)
        other_text = [attachment.text] if attachment.text != text else []
        counted = [attachment_text(replace(attachment, text="")), text, *other_text]
        heading_tokens, whole_tokens, *other_tokens = await self._counter.count(counted)
        tokens = heading_tokens + (other_tokens[0] if other_text else whole_tokens)
        await self._commit(Commit(session_id, contents=[_content(attachment, data, text, whole_tokens)]))
        if policy.is_large(tokens, window_size):
            return await self._as_preview(attachment, part, tokens, policy)
        return replace(attachment, tokens=tokens)

    async def in_full(self, attachment: Attachment, data: bytes) -> Attachment:
        text = data.decode("utf-8", "replace")
        lines = (attachment.first_line, attachment.last_line)
        full, _ = await asyncio.to_thread(_cut, attachment, text, data, *lines)
        return replace(full, form="full", tokens=attachment.full_tokens, full_tokens=0)

    async def _as_preview(
        self, attachment: Attachment, part: str, full_tokens: int, policy: ContextPolicy
    ) -> Attachment:
        marker = bare_marker(attachment.digest, attachment.handle_digits)
        (marker_tokens,) = await self._counter.count([marker])
        content = PreviewInput(
            "read_file",
            attachment.digest,
            marker_tokens,
            handle_digits=attachment.handle_digits,
            lines_before=max(0, attachment.first_line - 1),
        )
        text, _ = await self._intake.preview_content(part, content, policy.preview_tokens)
        attachment = replace(attachment, text=text, form="preview", full_tokens=full_tokens)
        (tokens,) = await self._counter.count([attachment_text(attachment)])
        return replace(attachment, tokens=tokens)


def _unread(name: str, kind: AttachmentKind) -> Attachment:
    return Attachment("", name, "", 0, 0, kind=kind)


def _content(attachment: Attachment, data: bytes, text: str, tokens: int) -> Content:
    tool = "pasted text" if attachment.kind == "paste" else "attached file"
    return Content(attachment.digest, data, tool, attachment.label, describe_text(text), tokens)


def _not_attached(name: str) -> TranslatableText:
    return _text("Couldn't attach {file}.", file=name)


def _require_size(name: str, size: int, limit: int) -> None:
    if size > limit:
        raise InvalidInput(
            _not_attached(name),
            _text("It has {size}; the limit is {limit}.", size=ByteSize(size), limit=ByteSize(limit)),
            _text("Attach a part of it, or ask the agent to search it in the workspace."),
        )


def _refusal(error: PdfRefused) -> tuple[TranslatableText, TranslatableText]:
    """Return why a PDF gives no text, and what to do."""
    match error.reason:
        case "password":
            return _text("It is protected by a password."), _text("Attach a copy without one.")
        case "pictures":
            return (
                _text.plural(
                    error.page_count,
                    "Its %n page holds pictures, without text.",
                    "Its %n pages hold pictures, without text.",
                ),
                _text("Attach its pages as images."),
            )
        case "slow":
            return _text("Reading its text takes too long."), _text("Attach fewer pages of it.")
        case "damaged":
            return _text("It can't be read as a PDF."), _text("Attach its text in another format.")


def _decode(name: str, data: bytes) -> tuple[str, bytes]:
    """Return the text of a file, as read_file gives it, and the bytes to store. Raises InvalidInput."""
    kind = kind_by_signature(data)
    if kind or is_binary(data):
        raise InvalidInput(
            _not_attached(name),
            _text("It isn't text ({kind}, {size}).", kind=kind or "binary data", size=ByteSize(len(data))),
            _text("Attach text, code, a PDF or an image (PNG, JPEG, GIF, WebP)."),
        )
    _require_size(name, len(data), MAX_TEXT_BYTES)
    if encoding := utf16_encoding(data):
        text = data.decode(encoding, "replace").removeprefix("\ufeff")
        return text, text.encode()
    return data.decode("utf-8", "replace"), data


def _cut(
    attachment: Attachment, text: str, data: bytes, first_line: int, last_line: int
) -> tuple[Attachment, str]:
    """Return an attachment with its digest and the requested lines, and these without numbers."""
    digest = digest_of(data)
    lines = count_lines(text)
    part, _ = decode_output(data, digest)  # it says so if not all of it is text
    first = 0
    last = 0
    if first_line or last_line:
        part, first, last = _part(attachment.label, text, lines, first_line, last_line)
    shape = {"lines": lines, "first_line": first, "last_line": last}
    window_text = _numbered(part, first) if first else part
    return replace(attachment, digest=digest, text=window_text, **shape), part


def _part(name: str, text: str, lines: int, first_line: int, last_line: int) -> tuple[str, int, int]:
    """Return the requested lines, the number of the first and of the last. Raises InvalidInput."""
    first = max(1, first_line)
    last = min(last_line or lines, lines)
    if first > lines or last < first:
        raise InvalidInput(
            _not_attached(name),
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
