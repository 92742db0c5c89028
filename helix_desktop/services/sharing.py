"""Sessions and summaries for others: without secrets, addresses and home folders, unless put back."""

from __future__ import annotations

import asyncio
import json
import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.agent.ports import Store
from helix_desktop.domain.choices import HTML_SUFFIX, JSON_LINES_SUFFIX
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.private_details import (
    HOME_MARK,
    REMOVED,
    PrivateDetails,
    is_part_of_secret,
    value_pattern,
)
from helix_desktop.domain.secret_forms import PrivateKind, PrivateValue
from helix_desktop.domain.store import SessionVersions
from helix_desktop.domain.text_variants import encoded_variants
from helix_desktop.domain.translatable_text import TextContext, plain_text
from helix_desktop.store.archive_file import refused_write
from helix_desktop.system.files import write_text_durably
from helix_desktop.words.private_values import place_text
from helix_desktop.words.session_markdown import markdown_page, session_markdown
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator

text = TextContext("Services")
tr = Translator("Transcript")

_BEFORE = 60  # characters of a line before a removed value
_AFTER = 60  # and after it
_NO_TEXTS = frozenset((
    "kind", "id", "call_id", "digest", "digests", "recalled", "index", "session", "subagent",
    "capture", "parent", "parent_call", "source", "signature", "thought_signature",
    "encrypted_content", "data", "mode", "outcome", "form", "how", "stop", "decision", "chosen",
    "cause", "effort", "agent", "bound",
))  # fmt: skip
"""Fields that hold ids, digests, one of a few words, and what only the model's server can read."""
_ON_THEIR_OWN = frozenset(("configured", "card", "account", "email", "home", "name"))
"""Kinds of values that are no part of a secret, also where one has them."""
_DERIVED = "identifiers"
"""The field with the names in a text: one can be a part of a secret."""


class Removal(msgspec.Struct, frozen=True):
    """A value that was taken out, or can be: why, at how many places, and the first of them.

    `line` is what stands around it there, with a mark in its place.
    """

    kind: PrivateKind
    value: str
    label: str
    count: int
    place: str
    line: str


class SharedSession:
    """A session or a summary to be shared, as a document in several formats; its methods reckon for long."""

    def __init__(
        self,
        title: str,
        session_id: str,
        logs: Mapping[str, Sequence[RecordedEvent]],
        private_details: PrivateDetails,
        markdown: str = "",
    ) -> None:
        """`markdown` is what the document says; empty: what the logs say, that of `session_id` first."""
        self._title = title
        self._session_id = session_id
        self._logs = logs
        self._markdown = markdown
        self._private_details = private_details
        self._documents = [
            {
                "session": session,
                "seq": entry.seq,
                "at": entry.at,
                "event": msgspec.to_builtins(entry.event, enc_hook=plain_text),
            }
            for session, log in logs.items()
            for entry in log
        ]
        self._texts = [title, markdown, *_texts(self._documents)]
        self._joint = _joint(self._texts)
        self._whole = self._joint.join(self._texts)
        self._found = private_details.find(self._whole)
        self._wholes = _wholes(self._found.values())
        self.removals = tuple(self._removals())

    def document(self, suffix: str, put_back: Set[str] = frozenset()) -> str:
        """Return it in the format of a file's ending, with the values that are to be `put_back`."""
        removed = [
            private
            for value, private in self._found.items()
            if value not in put_back and not self._wholes.get(value, frozenset()) & put_back
        ]
        texts = self._private_details.remove(self._whole, removed).split(self._joint)
        title, markdown, *others = texts
        rest = iter(others)
        documents = [_with_texts(document, rest, removed) for document in self._documents]
        if suffix == JSON_LINES_SUFFIX:
            return "".join(f"{json.dumps(document, ensure_ascii=False)}\n" for document in documents)
        markdown = markdown or self._session_markdown(title, documents)
        heading = tr("Handover summary") if self._markdown else session_title(title)
        return markdown_page(heading, markdown) if suffix == HTML_SUFFIX else markdown

    def _session_markdown(self, title: str, documents: Sequence[Mapping[str, Any]]) -> str:
        logs: dict[str, list[RecordedEvent]] = {session: [] for session in self._logs}
        for document in documents:
            event: Event = msgspec.convert(document["event"], Event)
            logs[document["session"]].append(RecordedEvent(document["seq"], document["at"], event))
        main = logs[self._session_id]
        versions = {number: log for number, log in enumerate(logs.values(), 1) if log is not main}
        return session_markdown(title, main, versions)

    def _removals(self) -> Iterator[Removal]:
        """Yield the values that the texts have, with their first places; each part with its whole."""
        step = len(self._joint)
        starts = [0, *accumulate(len(each) + step for each in self._texts)]
        places = [*_places(self._documents)]
        for private in self._found.values():
            if private.value in self._wholes:
                continue
            parts = [part for part, wholes in self._wholes.items() if private.value in wholes]
            forms = [private, *(self._found[part] for part in sorted(parts, key=len, reverse=True))]
            pattern = re.compile("|".join(value_pattern(form).pattern for form in forms))
            matches = [match.span() for match in pattern.finditer(self._whole)]
            if not matches:
                continue
            start, end = matches[0]
            number = bisect_right(starts, start) - 1
            yield Removal(
                private.kind,
                private.value,
                private.label,
                count=len(matches),
                place=place_text(places[number - 2] if number > 1 else None),
                line=_around(self._texts[number], start - starts[number], end - starts[number], private),
            )


FindLog = Callable[[str, str], Sequence[RecordedEvent] | None]
"""Return the log of a workspace's session if it is open here, by both ids."""


class SharingService:
    def __init__(
        self,
        borrow_store: Callable[[str], AbstractAsyncContextManager[Store]],
        private_details: Callable[[], Awaitable[PrivateDetails]],
        find_log: FindLog = lambda *_: None,
    ) -> None:
        """`find_log` returns the log of a session that is open, with what is only shown of it."""
        self._borrow_store = borrow_store
        self._private_details = private_details
        self._find_log = find_log

    async def session(self, workspace_id: str, session_id: str, upto: int = 0) -> SharedSession:
        """Return a session with its versions, or up to event `upto` alone, to be shared.

        Raises StoreError, WorkspaceMissing.
        """
        async with self._borrow_store(workspace_id) as store:
            listed = await store.sessions()
            versions = (session_id,) if upto else SessionVersions(listed).ids_of(session_id)
            logs = {version: await self._read_log(store, workspace_id, version) for version in versions}
        if upto:
            logs[session_id] = logs[session_id][:upto]
        title = next((summary.title for summary in listed if summary.id == session_id), "")
        private_details = await self._private_details()
        return await asyncio.to_thread(SharedSession, title, session_id, logs, private_details)

    async def _read_log(self, store: Store, workspace_id: str, session_id: str) -> list[RecordedEvent]:
        open_log = self._find_log(workspace_id, session_id)
        return list(open_log) if open_log is not None else await store.events(session_id)

    async def handover(self, session_id: str, recorded: RecordedEvent, markdown: str) -> SharedSession:
        """Return a handover, and what it says as Markdown, to be shared."""
        private_details = await self._private_details()
        logs = {session_id: [recorded]}
        return await asyncio.to_thread(SharedSession, "", session_id, logs, private_details, markdown)

    async def save(self, path: Path, document: str) -> int:
        """Write a document; return its size in bytes. Raises ArchiveWriteFailed."""
        try:
            await asyncio.to_thread(write_text_durably, path, document)
        except OSError as error:
            raise refused_write(path, error) from error
        return len(document.encode())


def _wholes(found: Iterable[PrivateValue]) -> dict[str, Set[str]]:
    """Return the secrets that are parts of others, with these: they go and come back together.

    A form of another, as in JSON, is one of its parts.
    """
    secrets = [private.value for private in found if private.kind not in _ON_THEIR_OWN]
    forms = {secret: "\n".join(encoded_variants(secret)) for secret in secrets}
    wholes = {
        part: {whole for whole in secrets if part in forms[whole] and part != whole} for part in secrets
    }
    return {part: longer for part, longer in wholes.items() if longer}


def _around(whole: str, start: int, end: int, private: PrivateValue) -> str:
    """Return what stands around a place of a text on its line, a mark in its place."""
    first = whole.rfind("\n", 0, start) + 1
    last = whole.find("\n", end)
    last = len(whole) if last < 0 else last
    begin = max(first, start - _BEFORE)
    stop = min(last, end + _AFTER)
    before = "…" if begin > first else ""
    after = "…" if stop < last else ""
    mark = HOME_MARK if private.kind == "home" else REMOVED
    return f"{before}{whole[begin:start]}{mark}{whole[end:stop]}{after}".strip()


def _joint(texts: Sequence[str]) -> str:
    """Return a line that stands in none of the texts, between which it stands while all are searched."""
    mark = "\x1e"
    while any(mark in each for each in texts):
        mark += "\x1e"
    return f"\n{mark}\n"


def texts_in(value: Any) -> list[str]:
    """Return every text in a value of JSON, keys aside, in order."""
    match value:
        case str():
            return [value]
        case dict():
            return [each for inner in value.values() for each in texts_in(inner)]
        case list() | tuple():
            return [each for inner in value for each in texts_in(inner)]
    return []


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value of JSON, keys, ids and digests aside, in order."""
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                if name not in _NO_TEXTS:
                    yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)


def _places(documents: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield for each of the texts of documents its event, and the field of that in which it stands."""
    for document in documents:
        event = document["event"]
        for name, inner in event.items():
            if name not in _NO_TEXTS:
                yield from ((event, name) for _ in _texts(inner))


def _with_texts(value: Any, texts: Iterator[str], removed: Collection[PrivateValue], name: str = "") -> Any:
    """Return a value with other texts, in the order of `_texts`; no name in it is a part of a secret."""
    match value:
        case str():
            new = next(texts)
            return REMOVED if name == _DERIVED and is_part_of_secret(new, removed) else new
        case dict():
            return {
                key: inner if key in _NO_TEXTS else _with_texts(inner, texts, removed, key)
                for key, inner in value.items()
            }
        case list() | tuple():
            return [_with_texts(inner, texts, removed, name) for inner in value]
    return value
