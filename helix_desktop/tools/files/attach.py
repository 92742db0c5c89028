"""Reads files of the workspace for the user, who attaches them; always inside the workspace's jail."""

from __future__ import annotations

import asyncio
import os

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput, ToolError
from helix_desktop.domain.files.content import FINGERPRINT_DIGITS, FileVersion, PdfText
from helix_desktop.domain.translatable_text import ByteSize, TextContext, TranslatableText, join_sentences
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.files.file_versions import version_of
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.files.pdf_text import pdf_text

_text = TextContext("Agent")


class JailedFileReader:
    """Reads files of one workspace."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    async def read(self, path: str, max_bytes: int) -> tuple[bytes, FileVersion]:
        """Return a file's bytes and its version. Raises InvalidInput, also for more than `max_bytes`."""
        return await asyncio.to_thread(self._read, path, max_bytes)

    async def pdf_text(self, data: bytes) -> PdfText:
        """Return the text of a PDF. Raises PdfRefused."""
        return await asyncio.to_thread(pdf_text, data)

    def _read(self, path: str, max_bytes: int) -> tuple[bytes, FileVersion]:
        name = escape_hidden_name(path)
        try:
            with self._jail.open_file(path) as opened:
                data = opened.file.read(max_bytes + 1)
                size, version = opened.stamp.size, version_of(opened)
        except ToolError as error:
            raise InvalidInput(_not_attached(name), *_reason(error)) from error
        except OSError as error:
            raise InvalidInput(
                _not_attached(name), _text("{reason}.", reason=error.strerror or str(error))
            ) from error
        if len(data) > max_bytes:
            raise InvalidInput(
                _not_attached(name),
                _text("It has {size}; the limit is {limit}.", size=ByteSize(size), limit=ByteSize(max_bytes)),
                _text("Ask the agent to search it in the workspace."),
            )
        if not version.fingerprint.startswith(digest_of(data)[:FINGERPRINT_DIGITS]):
            version = msgspec.structs.replace(version, fingerprint="")  # it was written meanwhile
        return data, version


def _not_attached(name: str) -> TranslatableText:
    return _text("Couldn't attach {file}.", file=name)


def _reason(error: ToolError) -> tuple[TranslatableText, TranslatableText]:
    """Return why the jail did not open a file, and what to do."""
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError | NotADirectoryError):
        return _text("This file was not found in the workspace."), _text("Check the path.")
    if isinstance(cause, OSError):
        return (
            _text("{reason}.", reason=cause.strerror or os.strerror(cause.errno or 0)),
            _text("Check the file's permissions."),
        )
    return join_sentences(error.what, error.why), _text("Attach a regular file inside the workspace.")
