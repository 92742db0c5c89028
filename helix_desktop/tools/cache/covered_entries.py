"""What an index covers, however deep; and the words, calls and outputs of some events of a session."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.index_entry import IndexLine, index_text, parse_index
from helix_desktop.domain.digest import CACHE_TOOLS, RECALL_TOOL
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.tools.cache.origins import CallingSession, Origins
from helix_desktop.tools.cache.session_words import newest_searchable_seq

_RECALLED_ENTRIES = re.compile(rf"{RECALL_TOOL} e(\d+)\b")


@dataclass(frozen=True)
class CoveredEntry:
    """One content, message or call that is covered, and the session it is of; empty: not known.

    `is_conclusion` is True for a message of the agent without calls: what it came to in a turn.
    """

    line: IndexLine
    session_id: str
    is_conclusion: bool = False

    @property
    def seq(self) -> int:
        """Return its event."""
        return self.line.seq

    @property
    def digest(self) -> str:
        """Return the digest of a content; empty for words and calls."""
        return self.line.digest


@dataclass(frozen=True)
class CoveredEntries:
    """What an index covers, newest first; `unreadable` counts the earlier indexes that were not read."""

    entries: tuple[CoveredEntry, ...]
    unreadable: int = 0


_Entries = dict[tuple[str, int, str, str], CoveredEntry]


def _no_time_limit() -> bool:
    """Return True: nothing limits the time."""
    return True


async def read_index(contents: ContentReader, origins: Origins, digest: str) -> tuple[list[IndexLine], str]:
    """Return the lines of one index, and the session whose events it numbers. Raises StoreError."""
    data, entry = await contents.get(digest), await contents.entry(digest)
    text = data.decode("utf-8", "surrogatepass")
    return await asyncio.to_thread(parse_index, text), origins.session_of_index(entry)


async def read_covered_entries(
    contents: ContentReader,
    origins: Origins,
    digest: str,
    should_continue: Callable[[], bool] = _no_time_limit,
) -> CoveredEntries:
    """Return everything that an index leads to, through earlier ones too. Raises StoreError for the first."""
    found: _Entries = {}
    waiting, visited, unreadable = [digest], {digest}, 0
    for name in waiting:
        if name != digest and not should_continue():
            unreadable += 1
            continue
        try:
            lines, session_id = await read_index(contents, origins, name)
        except StoreError:
            if name == digest:
                raise
            unreadable += 1
            continue
        earlier = await asyncio.to_thread(_add_lines, found, lines, session_id)
        waiting += [name for name in earlier if name not in visited]
        visited.update(earlier)
    entries = await asyncio.to_thread(lambda: _newest_first(without_questions(found.values())))
    return CoveredEntries(entries, unreadable)


def _add_lines(found: _Entries, lines: Sequence[IndexLine], session_id: str) -> list[str]:
    """Add the entries of an index, each once; return the digests of the earlier indexes that it names."""
    for entry in _covered_entries(lines, session_id):
        if entry.seq:
            found.setdefault((session_id, entry.seq, entry.digest, entry.line.text), entry)
    return list(dict.fromkeys(line.digest for line in lines if not line.seq))


def _covered_entries(lines: Sequence[IndexLine], session_id: str) -> list[CoveredEntry]:
    """Return the entries of lines, which hold all calls of the messages that they hold."""
    calling = {line.seq for line in lines if line.label == "call"}
    return [
        CoveredEntry(line, session_id, line.label == "agent" and not line.digest and line.seq not in calling)
        for line in lines
    ]


def entries_between(transcript: Transcript, session_id: str, first: int, last: int) -> list[CoveredEntry]:
    """Return the words, calls and contents of the events `first` to `last` of a session, in their order."""
    items = transcript.messages.between(first - 1, last)
    text, _ = index_text(items)
    lines = parse_index(text)
    lines += [
        IndexLine(item.seq, item.event.name, text=item.event.text)
        for item in items
        if isinstance(item.event, ToolAnswered) and not item.event.digest
    ]
    return _covered_entries(sorted(lines, key=lambda line: line.seq), session_id)


def session_entries(session: CallingSession) -> CoveredEntries:
    """Return everything in the log of a session before the step that asks, newest first."""
    transcript = session.transcript
    entries = entries_between(transcript, session.id, 1, newest_searchable_seq(transcript))
    return CoveredEntries(_newest_first(without_questions(entries)))


def without_questions(entries: Collection[CoveredEntry]) -> list[CoveredEntry]:
    """Return the entries without those of the cache's tools: questions, and answers that repeat others.

    A recall stays where no other entry is the origin of what it recalled.
    """
    sources = [entry for entry in entries if not _is_of_cache_tool(entry)]
    origins = {entry.digest for entry in sources}
    first_seqs: dict[str, int] = {}
    for entry in sources:
        first_seqs[entry.session_id] = min(entry.seq, first_seqs.get(entry.session_id, entry.seq))
    return [
        entry
        for entry in entries
        if not _is_of_cache_tool(entry)
        or (
            entry.digest
            and entry.digest not in origins
            and entry.line.label.startswith(RECALL_TOOL)
            and not _repeats_entries(entry, first_seqs.get(entry.session_id, entry.seq))
        )
    ]


def _repeats_entries(entry: CoveredEntry, first_seq: int) -> bool:
    """Return True for a recall of entries of its own session from `first_seq` on."""
    entries = _RECALLED_ENTRIES.match(entry.line.label)
    return entries is not None and first_seq <= int(entries[1])


def _is_of_cache_tool(entry: CoveredEntry) -> bool:
    line = entry.line
    return (line.text if line.label == "call" else line.label).startswith(CACHE_TOOLS)


def _newest_first(entries: Collection[CoveredEntry]) -> tuple[CoveredEntry, ...]:
    """Return entries by session in the order of their indexes, in each the newest first."""
    ranks: dict[str, int] = {}
    for entry in entries:
        ranks.setdefault(entry.session_id, len(ranks))
    return tuple(sorted(entries, key=lambda entry: (ranks[entry.session_id], -entry.seq)))
