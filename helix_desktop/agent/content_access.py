"""Recall of stored contents: as attachments, as matching lines, and verified against their digests."""

from __future__ import annotations

import asyncio
import re

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.attachments import AttachmentIntake, IntakeLimits
from helix_desktop.agent.ports import FileReader, LineSearch, Store, TokenCounter
from helix_desktop.context.intake.descriptions import number_of_first_line
from helix_desktop.context.window.used_tokens import content_tokens
from helix_desktop.domain.digest import is_digest, is_digest_prefix
from helix_desktop.domain.errors import (
    ContentDamaged,
    ContentRedacted,
    DigestAmbiguous,
    DigestUnknown,
    InvalidInput,
)
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.store import CacheEntry, Commit
from helix_desktop.domain.text_format import count_lines, ellipsize
from helix_desktop.domain.translatable_text import TextContext, join_sentences, verbatim

_text = TextContext("Agent")

_MAX_WORDS_CHARS = 48  # that lines were looked for by, in an attachment's name


class RecalledMatches(msgspec.Struct, frozen=True):
    """The lines of a content that match a pattern, attached; None where no line does."""

    attachment: Attachment | None
    count: int
    is_complete: bool


class VerifyResult(msgspec.Struct, frozen=True):
    digest: str
    is_valid: bool
    text: str


class ContentAccess(AttachmentIntake):
    def __init__(
        self,
        store: Store,
        counter: TokenCounter,
        files: FileReader | None,
        limits: IntakeLimits,
        line_search: LineSearch | None = None,
    ) -> None:
        self._line_search = line_search
        super().__init__(store.commit, counter, files, limits)
        self.store = store
        self._trial = AttachmentIntake(_store_nothing, counter, files, limits)

    async def resolve(self, prefix: str) -> str:
        """Return the one digest that begins with `prefix`. Raises DigestUnknown, DigestAmbiguous."""
        plain = prefix.strip().lower()
        digests = await self.store.find(plain, 6) if is_digest_prefix(plain) else []
        if len(digests) == 1:
            return digests[0]
        if not digests and is_digest(plain):
            await self._check_redacted(plain)
        if not digests:
            raise DigestUnknown(
                _text("No cached output starts with {digest}.", digest=repr(prefix[:64])),
                _text("Each workspace keeps its own cache."),
                _text("List the cache entries to find it."),
            )
        raise DigestAmbiguous(
            _text("Several cached outputs start with {digest}.", digest=repr(plain)),
            verbatim(f"{', '.join(digest[:16] for digest in digests)}."),
            _text("Enter more digits."),
            near=tuple(digests),
        )

    async def _check_redacted(self, digest: str) -> None:
        """Raise ContentRedacted with words for the user if the content was removed, else DigestUnknown."""
        try:
            await self.store.entry(digest)
        except ContentRedacted as error:
            fix = error.fix if error.near else _text("It can't be restored.")
            raise ContentRedacted(error.what, error.why, fix, error.near) from error

    async def verify(self, digest: str) -> VerifyResult:
        try:
            data = await self.store.get(digest)
        except ContentDamaged as error:
            return VerifyResult(digest, False, join_sentences(error.what, error.why, error.fix))
        matched = _text.plural(len(data), "Verified: %n byte unchanged", "Verified: %n bytes unchanged")
        return VerifyResult(digest, True, matched)

    async def attach(self, digest: str, first_line: int = 0, last_line: int = 0) -> Attachment:
        """Return a content, or its lines `first_line` to `last_line` (from 1, 0: the end), as an attachment.

        It says which of these lines there are, and how many in all.
        """
        first_line = first_line or min(1, last_line)
        data = await self.store.get(digest)
        entry = await self.store.entry(digest)
        label = _name_of(entry)
        image = identify_image(data, digest, label) if len(data) <= MAX_IMAGE_BYTES else None
        if image is not None:
            return await self.with_image("", Attachment("", label, "", 0, 0), image)
        first = number_of_first_line(entry.tool, data)
        text, lines = await asyncio.to_thread(_lines, data, first_line, last_line, first)
        tokens = await self._recalled_tokens(entry, text)
        last_line = min(last_line or lines, lines) if first_line else 0
        if first_line:
            label = f"{label}, lines {first_line}-{last_line}"
        return Attachment(
            digest,
            label,
            text,
            tokens,
            len(data),
            first_line=first_line,
            last_line=last_line,
            lines=lines,
            stored=entry.created,
        )

    async def attach_matches(self, digest: str, words: str) -> RecalledMatches:
        """Return the lines of a content in which words stand, in upper or lower case, attached.

        Raises InvalidInput, StoreError.
        """
        if self._line_search is None:
            raise InvalidInput(_text("Lines can't be searched here."))
        data = await self.store.get(digest)
        entry = await self.store.entry(digest)
        first = number_of_first_line(entry.tool, data)
        found = await self._line_search.find(data, f"(?i){re.escape(words)}", 0, first)
        if not found.count:
            return RecalledMatches(None, 0, found.is_complete)
        label = f"{_name_of(entry)}, lines with “{ellipsize(words, _MAX_WORDS_CHARS)}”"
        tokens = await self._recalled_tokens(entry, found.text)
        attachment = Attachment(
            digest, label, found.text, tokens, len(data), stored=entry.created, words=words
        )
        return RecalledMatches(attachment, found.count, found.is_complete)

    async def try_attach_file(
        self, session_id: str, path: str, first_line: int = 0, last_line: int = 0
    ) -> Attachment:
        """Return what `attach_file` would, without storing anything. Raises InvalidInput."""
        return await self._trial.attach_file(session_id, path, first_line, last_line)

    async def attach_in_full(self, attachment: Attachment) -> Attachment:
        """Return an attachment that is a preview in full, on the user's word. Raises StoreError."""
        return await self.in_full(attachment, await self.store.get(attachment.digest))

    async def _recalled_tokens(self, entry: CacheEntry, text: str) -> int:
        """Return the tokens of a content, or a part of it, as `content_tokens` does of a stored one.

        What names an output in a message costs about as much as what frames it in one of its own: so it has
        one number, wherever it stands.
        """
        return content_tokens(replace(entry, tokens=await self.count_tokens(text)))

    async def count_tokens(self, text: str) -> int:
        (tokens,) = await self._counter.count([text])
        return tokens


def _name_of(entry: CacheEntry) -> str:
    return " ".join(part for part in (display_name(entry.tool), entry.target) if part) or entry.digest[:12]


def _lines(data: bytes, first_line: int, last_line: int, file_line: int) -> tuple[str, int]:
    """Return a content's text, or its lines `first_line` (0: all) to `last_line` (0: the end), and its count.

    Lines end at newlines only, as the agent's recall counts them; `file_line` is the number of the first one.
    """
    text = data.decode("utf-8", "replace")
    count = count_lines(text) + file_line - 1
    if not first_line:
        return text, count
    last = min(last_line or count, count)
    lines = enumerate(text.split("\n"), file_line)
    return "\n".join(line for number, line in lines if first_line <= number <= last), count


async def _store_nothing(commit: Commit) -> None:
    """Take the place of a store where it is only tried what an attachment would be."""
