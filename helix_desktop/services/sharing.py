"""Sessions and summaries for others: without secrets, addresses and the home folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.ports import Store
from helix_desktop.domain.choices import HTML_SUFFIX, JSON_LINES_SUFFIX
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.private_details import REMOVED, PrivateDetails
from helix_desktop.domain.store import SessionVersions
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.store.archive_file import refused_write
from helix_desktop.system.files import write_text_durably
from helix_desktop.words.session_markdown import markdown_page, session_markdown
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

text = TextContext("Services")
tr = Translator("Transcript")


_MAX_LINES = 1_000  # that are listed of those in which something was removed
_BEFORE = 60  # characters of such a line before the first mark
_AFTER = 60  # and after it


class SharedText(msgspec.Struct, frozen=True):
    """A document to be shared, and at how many places of it something was removed.

    `removed_lines` are the lines with these places, as they are after it, the first ones and in part.
    """

    text: str
    removed: int = 0
    removed_lines: tuple[str, ...] = ()


class SharingService:
    def __init__(
        self,
        borrow_store: Callable[[str], AbstractAsyncContextManager[Store]],
        private_details: Callable[[], Awaitable[PrivateDetails]],
    ) -> None:
        self._borrow_store, self._private_details = borrow_store, private_details

    async def session_text(
        self, workspace_id: str, session_id: str, suffix: str, upto: int = 0
    ) -> SharedText:
        """Return a session in the format of a file's ending: with its versions, or up to event `upto` alone.

        Keys, tokens, addresses and the home folder are removed as in a diagnostics bundle. Raises StoreError,
        WorkspaceMissing.
        """
        async with self._borrow_store(workspace_id) as store:
            listed = await store.sessions()
            versions = (session_id,) if upto else SessionVersions(listed).ids_of(session_id)
            logs = {version: await store.events(version) for version in versions}
        if upto:
            logs[session_id] = logs[session_id][:upto]
        title = next((summary.title for summary in listed if summary.id == session_id), "")
        private_details = await self._private_details()
        return await asyncio.to_thread(_document, title, session_id, logs, suffix, private_details)

    async def handover_text(
        self, session_id: str, recorded: RecordedEvent, markdown: str, suffix: str
    ) -> SharedText:
        """Return a handover, and what it says as Markdown, in the format of a file's ending; as above."""
        private_details = await self._private_details()
        if suffix == JSON_LINES_SUFFIX:
            return await asyncio.to_thread(_json_lines, {session_id: [recorded]}, private_details)
        shared = await asyncio.to_thread(_redacted, markdown, private_details)
        return _page(tr("Summary"), shared) if suffix == HTML_SUFFIX else shared

    async def save(self, path: Path, shared: SharedText) -> int:
        """Write a document; return its size in bytes. Raises ArchiveWriteFailed."""
        try:
            await asyncio.to_thread(write_text_durably, path, shared.text)
        except OSError as error:
            raise refused_write(path, error) from error
        return len(shared.text.encode())


def _document(
    title: str,
    session_id: str,
    logs: Mapping[str, Sequence[RecordedEvent]],
    suffix: str,
    private_details: PrivateDetails,
) -> SharedText:
    if suffix == JSON_LINES_SUFFIX:
        return _json_lines(logs, private_details)
    numbered = {number: log for number, log in enumerate(logs.values(), 1) if log is not logs[session_id]}
    shared = _redacted(session_markdown(title, logs[session_id], numbered), private_details)
    return _page(private_details.redact(session_title(title)), shared) if suffix == HTML_SUFFIX else shared


def _page(title: str, shared: SharedText) -> SharedText:
    return msgspec.structs.replace(shared, text=markdown_page(title, shared.text))


def _redacted(text: str, private_details: PrivateDetails) -> SharedText:
    redacted = private_details.redact(text)
    removed = max(0, redacted.count(REMOVED) - text.count(REMOVED))
    if not removed:
        return SharedText(redacted)
    lines = (line for line in redacted.splitlines() if REMOVED in line)
    return SharedText(redacted, removed, tuple(_around_mark(line) for line in islice(lines, _MAX_LINES)))


def _around_mark(line: str) -> str:
    at = line.index(REMOVED)
    begin = max(0, at - _BEFORE)
    end = at + len(REMOVED) + _AFTER
    before = "…" if begin else ""
    after = "…" if end < len(line) else ""
    return f"{before}{line[begin:end].strip()}{after}"


def _json_lines(logs: Mapping[str, Sequence[RecordedEvent]], private_details: PrivateDetails) -> SharedText:
    """Return a line for each event, as `helix-desktop run --json` prints it."""
    documents = [
        {"session": session, "seq": entry.seq, "at": entry.at, "event": msgspec.to_builtins(entry.event)}
        for session, log in logs.items()
        for entry in log
    ]
    texts = texts_in(documents)
    mark = "\x1e"  # stands on a line of its own between two texts while all are redacted together
    while any(mark in text for text in texts):
        mark += "\x1e"
    shared = _redacted(f"\n{mark}\n".join(texts), private_details)
    redacted = iter(shared.text.split(f"\n{mark}\n"))
    lines = (json.dumps(_with_texts(document, redacted), ensure_ascii=False) for document in documents)
    return msgspec.structs.replace(shared, text="".join(f"{line}\n" for line in lines))


def texts_in(value: Any) -> list[str]:
    """Return every text in a value of JSON, keys aside, in order."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for inner in value.values() for text in texts_in(inner)]
        case list() | tuple():
            return [text for inner in value for text in texts_in(inner)]
    return []


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    """Return a value with other texts, in the order of `texts_in`."""
    match value:
        case str():
            return next(texts)
        case dict():
            return {key: _with_texts(inner, texts) for key, inner in value.items()}
        case list() | tuple():
            return [_with_texts(inner, texts) for inner in value]
    return value
