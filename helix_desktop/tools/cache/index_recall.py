"""The arguments of recall_cached_content."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.choices import MAX_RECALL_CONTEXT, MAX_RECALL_TOKENS, MIN_RECALL_TOKENS
from helix_desktop.domain.digest import SHORT_DIGITS
from helix_desktop.domain.errors import StoreError, ToolError
from helix_desktop.domain.store import CacheEntry, ContentReader
from helix_desktop.domain.text_format import ellipsize, pluralize
from helix_desktop.domain.tool_arguments import Arguments, Line
from helix_desktop.domain.tools import CountTokens, ToolResult
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.cache.answer_writer import AnswerWriter, name_hits, table_rows
from helix_desktop.tools.cache.entry_search import (
    ALL_LINES,
    LINES_OF_ONE,
    CoveredEntries,
    CoveredEntry,
    EntryHit,
    EntrySearcher,
    EntrySearchResult,
    entries_between,
    read_covered_entries,
    read_index,
    session_entries,
    without_questions,
)
from helix_desktop.tools.cache.lines import NEAR, Paginator, decode_lines, is_any_case, widths
from helix_desktop.tools.cache.origins import CallingSession, EntryRange, Origin, Origins
from helix_desktop.tools.process import Ripgrep

_MAX_QUOTE = 80  # characters of a pattern that are quoted


class RecallArguments(Arguments, frozen=True):
    """A hash or entry numbers, and what of it: lines count from 1, start_char in start_line from 0.

    `max_tokens` and `context`, the lines around a match, depend on what is recalled if they are left out.
    """

    hash: str
    start_line: Line | None = None
    end_line: Line | None = None
    pattern: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=MIN_RECALL_TOKENS, le=MAX_RECALL_TOKENS)] | None = None
    start_char: Annotated[int, msgspec.Meta(ge=0)] = 0
    context: Annotated[int, msgspec.Meta(ge=0, le=MAX_RECALL_CONTEXT)] | None = None

    @property
    def quoted_pattern(self) -> str:
        """Return the pattern as it was written, in one line."""
        return f"'{ellipsize(escape_hidden_name(self.pattern), _MAX_QUOTE)}'"

    @property
    def missed_pattern(self) -> str:
        """Return the quoted pattern, with what may be why nothing matches: case, printed numbers."""
        hints = [] if is_any_case(self.pattern) else ["this case only"]
        if _WITH_NUMBER.match(self.pattern):
            hints.append("it is matched without the numbers before lines")
        return self.quoted_pattern + (f" ({'; '.join(hints)})" if hints else "")


_MAX_BYTES = 4 * 1024 * 1024  # bytes of outputs that are read for a range of entries
_NOTHING = "nothing found"
_WITH_NUMBER = re.compile(
    r"\^?\s*(?:\\d|\[0-9\]|\d)[+*?\d]*:"
)  # a pattern for lines as an answer prints them
# A pattern with so few lines in an index may be meant for what lies elsewhere.
_FEW_LINES = 3
_FEW_WEAK = 12
_MAX_SEQS = 6  # events that the description of an answer names


class RecallLimits(msgspec.Struct, frozen=True):
    """The limits of one call: seconds of a search, tokens of its answer, of a table, and of entries."""

    max_seconds: float = 2.0
    search_tokens: int = 1_000
    table_tokens: int = 2_000
    entry_tokens: int = 3_000  # below what an output may have before its form is asked for


class RecalledText(msgspec.Struct, frozen=True):
    """What is recalled: its text, in a few words which part of the content it is, and the lines `of` it.

    A search is final if something was found, or not all could be searched; `count` lines were found. They are
    weak if none has the pattern as whole words, or all are calls and descriptions.
    """

    text: str
    part: str = ""
    of: str = ""
    is_final: bool = True
    count: int = 0
    is_weak: bool = False


class IndexRecall:
    def __init__(
        self,
        contents: ContentReader,
        count_tokens: CountTokens,
        ripgrep: Ripgrep,
        limits: RecallLimits,
        clock: Callable[[], float],
    ) -> None:
        self._contents = contents
        self._count_tokens = count_tokens
        self._ripgrep = ripgrep
        self._limits = limits
        self._clock = clock

    async def recall_index(self, entry: CacheEntry, args: RecallArguments, origins: Origins) -> ToolResult:
        """Return the table of contents of an index, or the lines in all that it covers. Raises ToolError."""
        answer = (
            await self._search_index(entry, args, origins)
            if args.pattern
            else await self._table(entry, args, origins)
        )
        data = await self._contents.get(entry.digest)
        return ToolResult(
            data,
            target=_target("index", args),
            model_text=answer.text,
            recalled=entry.digest,
            about=answer.part,
        )

    async def _search_index(self, entry: CacheEntry, args: RecallArguments, origins: Origins) -> RecalledText:
        may_go_on = self._time_limit()
        covered = await read_covered_entries(self._contents, origins, entry.digest, may_go_on)
        name = f"Recalled {entry.digest[:SHORT_DIGITS]} · index{_span(covered.entries)}"
        session_id = origins.session_of_index(entry)
        if not origins.is_of_caller(session_id) and (session_name := await origins.name_of(session_id)):
            name = (
                f'{name}, {session_name}, whose entries are hash="{_example(entry.digest, covered.entries)}"'
            )
        answer = await self._search(f"{name} · ", covered, args, origins, may_go_on)
        few = _FEW_WEAK if answer.is_weak else _FEW_LINES
        if 0 < answer.count <= few and origins.session is not None:
            elsewhere = await self._elsewhere(covered, args, origins.session, may_go_on)
            return replace(answer, text="\n".join(filter(None, (answer.text, elsewhere))))
        if answer.is_final:
            return answer
        return await self.search_session(answer.text, args, origins, may_go_on)

    async def _elsewhere(
        self,
        covered: CoveredEntries,
        args: RecallArguments,
        session: CallingSession,
        should_continue: Callable[[], bool],
    ) -> str:
        """Return where else in the calling session a pattern is, of which an index has few lines."""
        covered_seqs = {entry.seq for entry in covered.entries}
        everything = await asyncio.to_thread(session_entries, session)
        others = [entry for entry in without_questions(everything.entries) if entry.seq not in covered_seqs]
        hits = await self._find(others, args, should_continue)
        count = sum(hit.count or 1 for hit in hits)
        return f"{count:,} more elsewhere in this session, in {name_hits(hits)}." if hits else ""

    async def others_of_index(
        self, index: str, handle: EntryRange, args: RecallArguments, origins: Origins
    ) -> str:
        """Return which entries of an index have a pattern beside those of a range; empty if none has."""
        may_go_on = self._time_limit()
        covered = await read_covered_entries(self._contents, origins, index, may_go_on)
        others = [entry for entry in covered.entries if not handle.first <= entry.seq <= handle.last]
        hits = await self._find(others, args, may_go_on)
        return f"Also matches in {name_hits(hits)} of this index." if hits else ""

    async def _find(
        self, entries: Sequence[CoveredEntry], args: RecallArguments, should_continue: Callable[[], bool]
    ) -> list[EntryHit]:
        searcher = EntrySearcher(self._contents, self._ripgrep, should_continue, ALL_LINES)
        return (await searcher.search(entries, args.pattern, 0)).hits

    async def search_session(
        self,
        nothing: str,
        args: RecallArguments,
        origins: Origins,
        should_continue: Callable[[], bool] | None = None,
    ) -> RecalledText:
        """Return the lines of everything in the calling session, after a search that found nothing.

        `nothing` says where; without a calling session there is no more to say. `should_continue` returns
        False when the time of that search is over.
        """
        if origins.session is None:
            text = f"{nothing}. search_cached_content looks everywhere else."
            return RecalledText(text, _NOTHING)
        covered = await asyncio.to_thread(session_entries, origins.session)
        opening = f"{nothing}; elsewhere in this session: "
        answer = await self._search(opening, covered, args, origins, should_continue or self._time_limit())
        if answer.is_final:
            return answer
        return RecalledText(f"{nothing}, nor in messages and outputs of this session.", _NOTHING)

    async def _search(
        self,
        opening: str,
        covered: CoveredEntries,
        args: RecallArguments,
        origins: Origins,
        should_continue: Callable[[], bool],
        others: str | None = None,
    ) -> RecalledText:
        """Return the lines that match; `others`: where else, for some entries of an index."""
        is_single = len({(entry.session_id, entry.seq) for entry in covered.entries}) == 1
        all_lines = LINES_OF_ONE if is_single else ALL_LINES
        searcher = EntrySearcher(self._contents, self._ripgrep, should_continue, all_lines)
        search = await searcher.search(covered.entries, args.pattern, args.context or 0)
        notes = _notes(search, covered)
        ending = [others] if others else []
        is_partial = bool(search.skipped or covered.unreadable)
        if not search.hits:
            text = "\n".join([f"{opening}{args.missed_pattern} is nowhere in it", *notes, *ending])
            return RecalledText(text, _NOTHING, is_final=is_partial)
        count = sum(hit.count or 1 for hit in search.hits)
        lines = pluralize(count, "line")
        places = pluralize(len(search.hits), "place")
        has_conclusion = any(hit.entry.is_conclusion and hit.has_words for hit in search.hits)
        has_definition = any(hit.defines and hit.has_words for hit in search.hits)
        first = [
            *(["the rarest alternative"] if len({hit.rarity for hit in search.hits}) > 1 else []),
            *(["the agent's conclusions"] if has_conclusion else []),
            *(["definitions"] if has_definition else []),
        ]
        order = (
            f"{first[0]} first, then {', then '.join([*first[1:], 'the newest'])}"
            if first
            else "newest first"
        )
        head = "\n".join([f"{opening}{lines} for {args.quoted_pattern} in {places}, {order}", *notes])
        (head_tokens,) = await self._count_tokens(["\n".join([head, *ending, ""])])
        limits = self._limits
        max_tokens = limits.entry_tokens if is_single and count > 1 else limits.search_tokens
        budget = max(1, (args.max_tokens or max_tokens) - head_tokens)
        is_near = others is not None and args.context is None
        around = NEAR if is_near else widths(args.context)
        writer = AnswerWriter(
            budget, self._count_tokens, lambda entry: self._origin_of(entry, origins), is_near
        )
        text = "\n".join([head, await writer.write(search.hits, around), *ending])
        is_weak = not any(hit.has_words and hit.entry.line.label != "call" for hit in search.hits)
        return RecalledText(text, f"{lines} in {_seqs(search.hits)}", count=count, is_weak=is_weak)

    async def _origin_of(self, entry: CoveredEntry, origins: Origins) -> Origin:
        if origins.is_of_caller(entry.session_id):
            return origins.of_event(entry.seq, entry.digest)
        if not entry.digest:
            return Origin()
        try:
            return Origin(at_ms=(await self._contents.entry(entry.digest)).created)
        except StoreError:
            return Origin()

    async def _table(self, entry: CacheEntry, args: RecallArguments, origins: Origins) -> RecalledText:
        lines, session_id = await read_index(self._contents, origins, entry.digest)
        rows = await asyncio.to_thread(table_rows, lines, session_id, origins)
        covered = [CoveredEntry(line, session_id) for line in lines if line.seq]
        span = _span(covered)
        parts = (f"Recalled {entry.digest[:SHORT_DIGITS]}", f"index{span}", await origins.name_of(session_id))
        head = " · ".join(part for part in parts if part)
        example = _example(entry.digest, covered)
        how = (
            f'Words and outputs of entries: hash="{example}"; a pattern searches all of it.'
            if covered
            else ""
        )
        count = pluralize(len(rows), "content")
        text = await self._paged(f"{head} · {count}. {how}".strip(), rows, args, self._limits.table_tokens)
        return RecalledText(text, f"table of {count}")

    async def entries(self, handle: EntryRange, index: str, origins: Origins) -> list[CoveredEntry]:
        """Return the entries of a range, in their order. Raises ToolError if there are none."""
        if index:
            covered = await read_covered_entries(self._contents, origins, index)
            found = [entry for entry in covered.entries if handle.first <= entry.seq <= handle.last]
            entries = sorted(found, key=lambda entry: entry.seq)
            where = f"what {index[:SHORT_DIGITS]} covers"
        elif (session := origins.session) is None:
            raise ToolError(
                f"{handle.text} names entries of a session, and this call comes from none.",
                fix=f'Write the hash of an index before it: "<hash> {handle.text}".',
            )
        else:
            entries = entries_between(session.transcript, session.id, handle.first, handle.last)
            where = f"this session, which has entries up to e{session.transcript.last_seq}"
        if not entries:
            earlier = origins.continued if not index else None
            raise ToolError(
                f"{handle.text} names no words and no output in {where}.",
                fix=f'Of the session that it continues: hash="{earlier.index[:SHORT_DIGITS]} {handle.text}".'
                if earlier
                else "Copy the numbers from a note, a handover or a table of contents.",
            )
        return entries

    async def recall_entries(
        self,
        entries: Sequence[CoveredEntry],
        handle: EntryRange,
        args: RecallArguments,
        origins: Origins,
        others: str | None,
    ) -> ToolResult:
        """Return the words, calls and outputs of entries, or the lines in them that match a pattern.

        `others` says which other entries of an index have it; None: they are not those of an index.
        """
        of = " of this session" if origins.continued and not handle.index else ""
        name = f"Recalled · {f'{handle.index[:SHORT_DIGITS]} {handle.text}'.strip()}{of}"
        if args.pattern:
            sources = without_questions(entries) or entries
            newest_first = CoveredEntries(tuple(sorted(sources, key=lambda entry: -entry.seq)))
            limit = self._time_limit()
            found = await self._search(f"{name} · ", newest_first, args, origins, limit, others)
            text = found.text
            about = found.part
        else:
            lines, left_out = await self._entry_lines(entries, origins)
            if left_out:
                name = f"{name} · only up to e{left_out - 1}: the rest is too large for one call"
            text = await self._paged(f"{name} ·", lines, args, self._limits.entry_tokens)
            about = ""
        is_own = origins.is_of_caller(entries[0].session_id)
        what = handle.text if is_own else f"{handle.index[:SHORT_DIGITS]} {handle.text}"
        return ToolResult(text.encode("utf-8", "replace"), target=_target(what, args), about=about)

    async def _entry_lines(self, entries: Sequence[CoveredEntry], origins: Origins) -> tuple[list[str], int]:
        """Return the lines of entries, and the first event that was left out for its size; 0: none was."""
        lines: list[str] = []
        size = 0
        for entry in entries:
            if size > _MAX_BYTES:
                return lines, entry.seq
            data = entry.line.text.encode("utf-8", "replace")
            if entry.digest:
                try:
                    data = await self._contents.get(entry.digest)
                except StoreError as error:
                    data = f"({error.what})".encode()
            size += len(data)
            body = await asyncio.to_thread(decode_lines, data)
            lines += [f"{await self._entry_head(entry, origins)}\n", *body]
            if not data.endswith(b"\n"):
                lines[-1] += "\n"
        return lines, 0

    async def _entry_head(self, entry: CoveredEntry, origins: Origins) -> str:
        origin = await self._origin_of(entry, origins)
        name = f"{entry.digest[:SHORT_DIGITS]} {escape_hidden_name(entry.line.label)}".strip()
        return f"[{', '.join(part for part in (f'e{entry.seq} {name}', origin.time, origin.change) if part)}]"

    async def _paged(self, head: str, lines: Sequence[str], args: RecallArguments, max_tokens: int) -> str:
        """Return a page of lines from `start_line` on, with what to ask for next."""
        first = args.start_line or 1
        last = min(args.end_line or len(lines), len(lines))
        if not lines:
            return head
        if first > len(lines) or last < first:
            raise ToolError(
                f"There are no lines {first} to {args.end_line or 'the end'}.",
                f"There {'is' if len(lines) == 1 else 'are'} {pluralize(len(lines), 'line')}.",
            )
        pages = Paginator(lines[:last], args.max_tokens or max_tokens, self._count_tokens)
        page = await pages.page_at(first, args.start_char)
        if page.is_only and first == 1:
            return f"{head.removesuffix(' ·')}\n{page.text}"
        char = f", start_char={page.next_char}" if page.next_char else ""
        following = f"; next: start_line={page.next_line}{char}" if page.next_line else ""
        return f"{head} lines {page.first}-{page.last} of {len(lines):,}{following}.\n{page.text}"

    def _time_limit(self) -> Callable[[], bool]:
        deadline = self._clock() + self._limits.max_seconds
        return lambda: self._clock() < deadline


def _span(entries: Sequence[CoveredEntry]) -> str:
    seqs = [entry.seq for entry in entries]
    return f" of e{min(seqs)}-e{max(seqs)}" if seqs else ""


def _example(index: str, entries: Sequence[CoveredEntry]) -> str:
    return f"{index[:SHORT_DIGITS]} e{entries[0].seq if entries else 1}"


def _target(what: str, args: RecallArguments) -> str:
    return f"{what}, {args.quoted_pattern}" if args.pattern else what


def _seqs(hits: Sequence[EntryHit]) -> str:
    """Return the events of some hits, each once; of many the first."""
    seqs = list(dict.fromkeys(hit.entry.seq for hit in hits))
    more = f" and {len(seqs) - _MAX_SEQS} more" if len(seqs) > _MAX_SEQS else ""
    return ", ".join(f"e{seq}" for seq in seqs[:_MAX_SEQS]) + more


def _notes(search: EntrySearchResult, covered: CoveredEntries) -> list[str]:
    """Return what keeps a search from being complete, as lines."""
    notes = []
    if search.skipped or covered.unreadable:
        missing = search.skipped + covered.unreadable
        notes.append(
            f"Partial: the time is over. The newest {search.searched:,} were searched, {missing:,} were not; "
            "words without signs of a regular expression are searched faster."
        )
    if search.unreadable:
        notes.append(f"{search.unreadable:,} can't be read any more.")
    return notes
