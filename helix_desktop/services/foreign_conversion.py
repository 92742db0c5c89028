"""Makes sessions of the items that a reader found in another agent's records: events, and contents by digest.

The same records give the same events, and more records give the same events and more: so importing again
extends what was imported. For that, `marks` has after how many records earlier imports ended, and what they
wrote down there about records kept as data: what was still open was written down then, and what stands beside
the records says other things now.

What the user went back on becomes a branch, what a subagent did a session of its own. Outputs are shown as
the default policy would have shown them; their bytes are stored whole.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.intake import Intake
from helix_desktop.context.intake.descriptions import describe_output
from helix_desktop.context.intake.marker import large_arguments
from helix_desktop.context.intake.output_forms import names_in_output
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.attachment_text import cached_attachment_text
from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.choices import AGENT_NAMES, ForeignAgent
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.events.conversation import (
    Attachment,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.foreign import (
    ForeignCompaction,
    ForeignRecords,
    RecordCount,
    SessionImported,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import SessionBranched, SessionRenamed, SessionStarted
from helix_desktop.domain.files.file_use import call_target, decode_arguments
from helix_desktop.domain.image import identify_image
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.messages import ModelInfo, ModelResponse, ToolCall, Usage
from helix_desktop.domain.store import BranchPoint, Content, SessionSummary
from helix_desktop.domain.text_format import first_line, title_line
from helix_desktop.domain.typed_text import is_of_programs, typed_text
from helix_desktop.foreign.items import (
    About,
    AnswerPart,
    AnyItem,
    CallUsage,
    Compacted,
    Damaged,
    DataRecord,
    Output,
    Reader,
    Record,
    RolledBack,
    Title,
    TurnOver,
    UserMessage,
)
from helix_desktop.foreign.left_branches import LeftBranches
from helix_desktop.foreign.record_order import RecordOrder
from helix_desktop.foreign.sources import Source
from helix_desktop.providers.tiktoken_counter import PrefetchingTokenCounter

POLICY = ContextPolicy()
"""What outputs are shown by, whatever the workspace's policy is: so the same records give the same events."""

_KEPT_BYTES = 1024 * 1024  # of records kept as data, in one content
_LISTED_LINES = 10
# So many are read before what is in them is recorded.
_GROUP_RECORDS = 200
_GROUP_BYTES = 1024 * 1024
_READ_CHARS = 4_000  # of an output, in which names are looked for
_DESCRIBED_CHARS = 2_000  # of an output, in which a description of it is looked for
# A preview's two ends: together about as many as the policy's tokens.
_HEAD_CHARS = 1_500
_TAIL_CHARS = 700
_MAX_IDENTIFIERS = 300  # of one output
_MAX_WHY = 2_000  # characters of what an agent said about an error
_BEGINNING = "(The beginning of this session isn't in the file.)"
_ALL_RECORDS = 2**62
_NO_OUTPUT = "(No output was recorded for this call.)"


Marks = Mapping[tuple[int, bool], Sequence[ForeignRecords]]
"""What the imports of a session wrote down about records kept as data.

By how many records there were, and whether some of them went on waiting for an earlier one.
"""
EMPTY_MARKS: Marks = MappingProxyType({})


def session_id_of(agent: ForeignAgent, source: str, part: str = "") -> str:
    """Return the id of an imported session: the same for the same session, and a part of it (a branch)."""
    return hashlib.sha256("\n".join((agent, source, part)).encode("utf-8", "replace")).hexdigest()[:32]


class ConvertedRecords(Protocol):
    """Takes what comes of records: an `ArchiveSpool`, to be stored."""

    def add_content(self, content: Content, at_ms: int, session_id: str) -> None:
        """Add a content that was stored at a time, by a session first."""

    def add_event(self, session_id: str, recorded: RecordedEvent) -> None:
        """Add the next event of a session."""


class ConvertedSession:
    """One session in the making: what is open in it, and what lists show of it."""

    def __init__(
        self, session_id: str, title: str = "", parent: str = "", branch: BranchPoint | None = None
    ) -> None:
        self.id = session_id
        self.title = title
        self.parent = parent
        self.branch = branch
        self.seq = branch.seq if branch is not None else 0
        self.created = self.updated = 0
        self.messages = self.calls = 0
        self.is_started = False
        self.has_user = branch is not None
        self.turn_open = False
        self.is_answered = False  # the newest message is an answer that calls nothing
        self.open_calls: dict[str, ToolCall] = {}
        self.pending: AnswerPart | None = None
        self.steered: list[UserMessage] = []
        self.notices: list[UserMessage] = []  # of programs, that the model has not answered
        self.branched_for = ""  # the message that it begins with
        self.kept_notices = 0  # of these, those that are kept as data
        self.talks = 0  # messages of user and agent, the pending one among them
        self.talk_seqs: list[int] = []  # the event with which each begins
        self.user_seqs: list[int] = []
        self.marked_seq = 0  # the last event that an import ended with

    def take_notices(self) -> list[UserMessage]:
        """Return the notices, which are gone from here then."""
        notices = self.notices
        self.notices = []
        self.kept_notices = 0
        return notices

    @property
    def summary(self) -> SessionSummary:
        return SessionSummary(
            self.id,
            self.title,
            self.created,
            self.updated,
            messages=self.messages,
            calls=self.calls,
            events=self.seq,
            parent=self.parent,
            branch_of=self.branch.parent if self.branch is not None else "",
            branch_seq=self.branch.seq if self.branch is not None else 0,
            interrupted=self.turn_open,
        )


class Conversion:
    """Converts the records of one source. `sessions` begins with the session, parents before branches."""

    def __init__(
        self,
        source: Source,
        source_id: str,
        spool: ConvertedRecords,
        counter: PrefetchingTokenCounter,
        *,
        parent: str = "",
        title: str = "",
        subagents: Mapping[str, str] | None = None,
    ) -> None:
        """`subagents` are the sessions of subagents, by the ids that the source knows them by."""
        self._source = source
        self._source_id = source_id
        self._spool = spool
        self._counter = counter
        self._agent: ForeignAgent = source.agent
        self._intake = Intake(counter)
        self._about = About()
        main = ConvertedSession(session_id_of(self._agent, source_id), title, parent)
        self.main = main
        self.sessions = [main]
        self._current = main
        self._threads: dict[str, ConvertedSession] = {}
        self._prompts: dict[str, str] = {}  # of subagents in the same source, the thread by its first message
        self._nodes: dict[str, tuple[ConvertedSession, int]] = {}
        self._subagents = dict(subagents or {})
        self.subagent_titles: dict[str, str] = {}
        self.data_counts: Counter[tuple[str, bool]] = Counter()
        self.damaged: list[int] = []
        self._new_counts: Counter[tuple[str, bool]] = Counter()
        self._new_damaged: list[int] = []
        self._kept_lines: list[bytes] = []
        self._kept_size = 0
        self._usage: Usage | None = None
        self._window = self._requests = 0
        self._cost = 0.0
        self._call_usage: CallUsage | None = None
        self._counted_usage: dict[str, CallUsage] = {}  # by group: an import can end in one
        self._last_at = 0
        self._marks: Marks = EMPTY_MARKS
        self._left_nodes = frozenset[str]()  # of messages with which a branch begins
        self._left_numbers = frozenset[int]()  # the same, by how many messages there were
        self._message_count = 0
        self._left_for: dict[str, ConvertedSession] = {}  # branches, each with what the user went back to
        self._answered = set[str]()  # calls, by their ids
        self._early: dict[str, Output] = {}  # outputs whose calls have not come yet
        self._noted = set[str]()  # of these, those that an import kept as data at its end
        self._notes_in_row = 0  # at the end of the session, about records kept as data

    async def run(
        self, marks: Marks = EMPTY_MARKS, on_progress: OnProgress = no_progress, *, is_growing: bool = False
    ) -> None:
        """Convert all records, and report progress with each. Raises OSError, sqlite3.Error.

        Of a source that `is_growing`, records whose earlier ones are not there yet are left to the next time.
        It reads files, and reckons for seconds: run it in a thread and an event loop of its own.
        """
        reader = self._source.reader()
        read = 0
        number = 0
        size = self._source.size
        self._marks = marks
        ends = sorted(marks)
        numbers = {records for records, _ in ends}
        order = RecordOrder(reader)
        left = LeftBranches(self._source)
        self._look_ahead(left, ends, is_growing=is_growing)
        ended = (-1, False)
        for records in _groups(self._source.records(), numbers):
            number = records[-1].number
            await self._add_all([item for record in records for item in order.read(record)])
            for end in (each for each in sorted(marks, reverse=True) if each[0] == number and each in ends):
                ends.remove(end)
                ended = end
                await self._end(reader, order, end)
                self._look_ahead(left, ends, is_growing=is_growing)
            read += sum(len(record.raw) + 1 for record in records)
            on_progress(min(read, size or read), size or read)
        if is_growing and number != ended[0]:
            await self._add_all(list(order.pause()))
        is_open = order.waiting > 0 or any(map(self._is_running, self.sessions))
        is_waiting = is_growing and is_open
        if number != ended[0] or (is_open and not is_waiting):
            await self._end(reader, order, (number, is_waiting))

    def _look_ahead(self, left: LeftBranches, ends: Sequence[tuple[int, bool]], *, is_growing: bool) -> None:
        """Learn what the user went back on, as far as the next end of an import could know it."""
        upto = _ALL_RECORDS
        is_waiting = is_growing
        if ends:
            upto = min(ends)[0]
            is_waiting = (upto, True) in ends
        self._left_nodes = left.nodes(upto, with_waiting=not is_waiting)
        self._left_numbers = left.numbers(upto, with_waiting=not is_waiting)

    async def _add_all(self, items: Sequence[AnyItem]) -> None:
        self._counter.prefetch(_texts_of(items))
        for item in items:
            await self._add(item)

    async def _end(self, reader: Reader, order: RecordOrder, end: tuple[int, bool]) -> None:
        """End an import behind so many records, of which some go on waiting or none."""
        number, is_waiting = end
        await self._add_all(list(order.pause() if is_waiting else order.end()))
        for item in reader.end():
            await self._add(item)
        if is_waiting:
            waiting = order.waiting + sum(map(self._is_running, self.sessions))
            await self._end_import(number, waiting)
            return
        for session in self.sessions:
            await self._flush(session)
            await self._keep_notices(session)
        for call_id, output in self._early.items():
            if call_id not in self._noted:
                self._noted.add(call_id)
                await self._keep_output(output)
        await self._end_import(number, 0)

    def _is_running(self, session: ConvertedSession) -> bool:
        """Return True if a call has no output yet that must stand before, or in, what comes next."""
        pending = session.pending
        if pending is None:
            return False
        return bool(session.open_calls) or any(call.id not in self._early for call in pending.calls)

    async def _add(self, item: AnyItem) -> None:
        self._last_at = item.at_ms or self._last_at
        match item:
            case DataRecord(kind=kind, data=data, is_known=is_known):
                await self._keep(kind, data, is_known=is_known)
            case Damaged(record=record):
                self._new_damaged.append(record)
            case About():
                self._about = item if not self._about.source else self._about
            case CallUsage():
                self._add_usage(item)
            case _:
                session = self._session_of(item)
                self._message_count += _begins_turn(item)
                if self._can_branch(item):
                    session = await self._left_branch(session, item)
                await self._add_message(session, item)
                if item.node and (not _is_notice(item) or session.branched_for == item.node):
                    self._nodes[item.node] = session, session.talks
                if not _is_notice(item):
                    return
        if item.node and item.node not in self._nodes:  # what follows it follows what it followed
            place = self._nodes.get(item.parent)
            thread = self._threads.get(item.thread) if item.thread else None
            session = thread or (place[0] if place is not None else self._current)
            self._nodes[item.node] = session, place[1] if place is not None else session.talks

    def _session_of(self, item: AnyItem) -> ConvertedSession:
        """Return the session of an item: a new branch for a message that follows an older one."""
        if item.thread:
            if item.thread not in self._threads:
                session_id = session_id_of(self._agent, self._source_id, item.thread)
                thread = ConvertedSession(session_id, parent=self.main.id)
                self._threads[item.thread] = thread
                self.sessions.append(thread)
            return self._threads[item.thread]
        place = self._nodes.get(item.parent) if item.parent else None
        if place is None:
            return self._current
        session, talk = place
        if self._can_branch(item) and session.talks > talk:
            session = self._branch(session, talk, item.node)
        if not session.parent:
            self._current = session
        return session

    def _can_branch(self, item: AnyItem) -> bool:
        return _begins_turn(item) or (_is_notice(item) and item.node in self._left_nodes)

    async def _left_branch(self, session: ConvertedSession, item: AnyItem) -> ConvertedSession:
        """Return a new branch of a session for a message that the user went back on; else the session."""
        is_left = item.node in self._left_nodes or self._message_count in self._left_numbers
        is_branch = item.node != "" and session.branched_for == item.node
        if not is_left or is_branch or item.thread or not session.talks:
            return session
        await self._flush(session)
        self._close_calls(session)
        if session.turn_open:
            self._end_turn(session, TurnEnded("done" if session.is_answered else "stopped"))
        branch = self._branch(session, session.talks, item.node or f"left-{self._message_count}")
        if branch is not session:
            self._left_for[branch.id] = session
            self._current = branch
        return branch

    def _branch(self, session: ConvertedSession, talk: int, name: str) -> ConvertedSession:
        """Return a branch of a session behind its message number `talk`."""
        point = session.talk_seqs[talk] - 1 if talk < len(session.talk_seqs) else session.seq
        if point < 1:
            return session
        branch_id = session_id_of(self._agent, self._source_id, name)
        branch = ConvertedSession(branch_id, session.title, session.parent, BranchPoint(session.id, point))
        branch.talks = talk
        branch.talk_seqs = session.talk_seqs[:talk]
        branch.user_seqs = [seq for seq in session.user_seqs if seq <= point]
        branch.branched_for = name
        self.sessions.append(branch)
        return branch

    async def _add_message(self, session: ConvertedSession, item: AnyItem) -> None:
        match item:
            case UserMessage():
                await self._add_user_message(session, item)
            case AnswerPart():
                await self._add_answer(session, item)
            case Output():
                await self._add_output(session, item)
            case Compacted(summary=summary) if summary and not session.talks:
                await self._add_user_message(session, UserMessage(at_ms=item.at_ms, text=summary))
            case Compacted(summary=summary, tokens=tokens, trigger=trigger):
                await self._flush(session)
                count = (await self._counter.count([summary]))[0] if summary else 0
                self._record(session, ForeignCompaction(summary, count, tokens, trigger))
            case TurnOver(how=how, why=why):
                await self._flush(session)
                self._close_calls(session)
                if session.turn_open:
                    what = f"The turn failed in {AGENT_NAMES[self._agent]}." if how == "failed" else ""
                    self._end_turn(session, TurnEnded(how, what, why[:_MAX_WHY]))
            case RolledBack(messages=count):
                await self._flush(session)
                self._close_calls(session)
                if session.id in self._left_for:
                    self._current = self._left_for[session.id]
                elif 0 < count <= len(session.user_seqs):
                    first = session.user_seqs[-count]
                    talk = session.talk_seqs.index(first)
                    self._current = self._branch(session, talk, f"rolled-back-{session.seq}")
            case Title(text=text) if title := title_line(text):
                if session.is_started and session.title != title:
                    self._record(session, SessionRenamed(title))
                session.title = title

    async def _add_user_message(self, session: ConvertedSession, item: UserMessage) -> None:
        if item.steered and (session.pending is not None or session.open_calls):
            session.steered.append(item)
            return
        if _is_notice(item):
            session.notices.append(item)
            return
        await self._flush(session)
        await self._keep_notices(session)
        session.take_notices()
        self._close_calls(session)
        if session.turn_open and not item.steered:
            self._end_turn(session, TurnEnded("done" if session.is_answered else "stopped"))
        if item.thread and not session.talks:
            self._prompts[item.text.strip()] = session.id
        session.talks += 1
        await self._record_user_message(session, item)

    async def _keep_notices(self, session: ConvertedSession) -> None:
        """Keep what programs said as data, once: the model wasn't asked about it, or not yet."""
        for notice in session.notices[session.kept_notices :]:
            data = msgspec.json.encode({"text": notice.text})
            await self._keep("user: text of programs", data, is_known=True)
        session.kept_notices = len(session.notices)

    async def _record_user_message(self, session: ConvertedSession, item: UserMessage) -> None:
        attachments = [await self._pasted(*pasted) for pasted in item.pasted]
        for picture in item.pictures:
            digest = digest_of(picture.data)
            image = identify_image(picture.data, digest, picture.label)
            assert image is not None  # the reader looked
            text, marker = await self._counter.count([image.text, image.marker])
            content = Content(digest, picture.data, "image", image.label, image.summary, image.tokens)
            self._store(session, content)
            attachments.append(
                Attachment(digest, image.label, "", image.tokens + text, image.size, image, marker)
            )
        (tokens,) = await self._counter.count([item.text])
        title = title_line(typed_text(item.text))
        total = tokens + sum(attachment.tokens for attachment in attachments)
        steered = item.steered and session.turn_open
        short, contents = await self._intake.shorten(item.text, POLICY.handle_digits, tokens)
        for content in contents:
            self._store(session, content)
        event = UserSpoke(item.text, total, tuple(attachments), steered=steered, short=short)
        self._start(session, title, item.at_ms)
        session.user_seqs.append(session.seq + 1)
        session.talk_seqs.append(session.seq + 1)
        self._record(session, event)
        session.messages += bool(item.text.strip()) and not is_of_programs(item.text)
        session.has_user = session.turn_open = True
        session.is_answered = False

    async def _pasted(self, label: str, text: str) -> Attachment:
        data = text.encode()
        content = Content(digest_of(data), data, "paste", title_line(label), first_line(text))
        (tokens,) = await self._counter.count([text])
        self._store(self.main, replace(content, tokens=tokens))
        attachment = Attachment(content.digest, title_line(label), text, tokens, len(data), kind="paste")
        lines = text.count("\n") + 1
        attachment = replace(attachment, lines=lines, handle_digits=POLICY.handle_digits)
        (marker_tokens,) = await self._counter.count([cached_attachment_text(attachment)])
        return replace(attachment, marker_tokens=marker_tokens) if marker_tokens < tokens else attachment

    async def _add_answer(self, session: ConvertedSession, item: AnswerPart) -> None:
        pending = session.pending
        if pending is not None and pending.group != item.group:
            await self._flush(session)
            pending = None
        if pending is None:
            if session.notices:
                await self._add_notices(session)
            if not session.has_user:
                session.talks += 1
                await self._record_user_message(session, UserMessage(at_ms=item.at_ms, text=_BEGINNING))
            session.talks += 1
            session.pending = item
            return
        known = {call.id for call in pending.calls}
        session.pending = replace(
            pending,
            at_ms=item.at_ms or pending.at_ms,
            model=item.model or pending.model,
            text="\n\n".join(filter(None, (pending.text, item.text))),
            reasoning="\n\n".join(filter(None, (pending.reasoning, item.reasoning))),
            calls=(*pending.calls, *(call for call in item.calls if call.id not in known)),
            stop=item.stop if item.stop != "end" else pending.stop,
        )

    async def _add_notices(self, session: ConvertedSession) -> None:
        """Record what programs said as one message: the model answers it."""
        notices = session.take_notices()
        text = "\n\n".join(notice.text for notice in notices)
        await self._flush(session)
        self._close_calls(session)
        if session.turn_open and session.is_answered:
            self._end_turn(session, TurnEnded("done"))
        session.talks += 1
        message = replace(notices[0], text=text, steered=session.turn_open)
        await self._record_user_message(session, message)

    async def _flush(self, session: ConvertedSession) -> None:
        """Record the answer that waited for more parts, and what the user sent meanwhile."""
        pending = session.pending
        session.pending = None
        if pending is not None:
            self._close_calls(session)
            await self._record_steered(session)
            await self._record_answer(session, pending)
            for output in [one for one in self._early.values() if one.call_id in session.open_calls]:
                del self._early[output.call_id]
                await self._add_output(session, output)
        if not session.open_calls:
            await self._record_steered(session)

    async def _record_steered(self, session: ConvertedSession) -> None:
        steered = session.steered
        session.steered = []
        for message in steered:
            session.talks += 1
            await self._record_user_message(session, message)

    async def _record_answer(self, session: ConvertedSession, part: AnswerPart) -> None:
        calls = tuple({call.id: call for call in part.calls}.values())
        if not (part.text.strip() or calls):
            session.talks -= 1
            if part.reasoning:
                await self._keep(
                    "answer: only thinking", msgspec.json.encode({"thinking": part.reasoning}), is_known=True
                )
            return
        provider, _, name = part.model.rpartition("/")
        info = ModelInfo(provider, name)
        response = ModelResponse(part.text, calls, part.reasoning, stop=part.stop)
        event, contents = await self._intake.from_response(response, info, 0, digits=POLICY.handle_digits)
        event = replace(event, model=part.model, window=0, cost=0.0, unpriced=None, agent=self._agent)
        for content in contents:
            self._store(session, content)
        session.talk_seqs.append(session.seq + 1)
        self._record(session, event, part.at_ms)
        session.messages += bool(part.text.strip())
        session.open_calls = {call.id: call for call in calls}
        session.turn_open = True
        session.is_answered = not calls

    async def _add_output(self, session: ConvertedSession, item: Output) -> None:
        """Record an output; one whose answer has not ended, or not come yet, waits for it."""
        call = session.open_calls.get(item.call_id)
        if call is None:
            pending = session.pending.calls if session.pending is not None else ()
            is_pending = any(call.id == item.call_id for call in pending)
            if item.call_id in self._early or (item.call_id in self._answered and not is_pending):
                await self._keep_output(item)
            else:
                self._early[item.call_id] = item
            return
        self._answered.add(call.id)
        subagent = self._subagent_of(call, item)
        if subagent:
            title = _subagent_title(call)
            self.subagent_titles[subagent] = title
            self._record(session, SubagentStarted(call.id, subagent, title), item.at_ms)
        del session.open_calls[call.id]
        self._record(session, await self._output_event(session, call, item, subagent), item.at_ms)
        session.calls += 1
        if not session.open_calls and session.pending is None:
            await self._record_steered(session)

    async def _keep_output(self, item: Output) -> None:
        data = msgspec.json.encode({"call_id": item.call_id, "output": item.text})
        await self._keep("output without its call", data, is_known=True)

    async def _output_event(
        self, session: ConvertedSession, call: ToolCall, item: Output, subagent: str
    ) -> ToolAnswered:
        """Return the event of an output, whose bytes are stored; a large one is shown as a preview.

        Months of outputs come at once, so that less is read of each than `Intake` does as they arrive: what
        an output holds is looked for at its ends.
        """
        data = item.text.encode()
        digest = digest_of(data)
        target = call_target(call.arguments)
        images = []
        for picture in item.pictures:
            image_digest = digest_of(picture.data)
            image = identify_image(picture.data, image_digest, picture.label)
            assert image is not None  # the reader looked
            images.append(image)
            content = Content(image_digest, picture.data, call.name, target, image.summary, image.tokens)
            self._store(session, content)
        marks = "".join(f"\n{image.marker.replace('Image left out', 'Image', 1)}" for image in images)
        answer = ToolAnswered(
            call.id,
            call.name,
            item.text + marks,
            digest,
            len(data),
            0,
            0,
            target,
            first_line(item.text),
            item.ok,
            item.exit_code,
            whole=not images,
            subagent=subagent,
            images=tuple(images),
            about=describe_output(call.name, _ends_of(item.text, _DESCRIBED_CHARS), item.exit_code),
            handle_digits=POLICY.handle_digits,
            identifiers=names_in_output(_ends_of(item.text, _READ_CHARS), _MAX_IDENTIFIERS),
        )
        marker = output_marker(answer)
        full_tokens, marker_tokens = await self._counter.count([item.text, marker])
        self._store(session, Content(digest, data, call.name, target, answer.about, full_tokens))
        image_tokens = sum(image.tokens for image in images)
        if not POLICY.is_large(full_tokens, ModelInfo("", "").window):
            tokens = (await self._counter.count([answer.text]))[0] if marks else full_tokens
            return replace(answer, tokens=tokens + image_tokens, marker_tokens=marker_tokens)
        shown = _preview(item.text, bare_marker(digest, POLICY.handle_digits), item.exit_code) + marks
        (shown_tokens,) = await self._counter.count([shown])
        return replace(
            answer,
            text=shown,
            tokens=shown_tokens + image_tokens,
            marker_tokens=marker_tokens,
            whole=False,
            form="preview",
            full_tokens=full_tokens + image_tokens,
        )

    def _subagent_of(self, call: ToolCall, item: Output) -> str:
        """Return the session of the subagent whose result an output is; empty for other outputs."""
        if item.subagent:
            return self._subagents.get(item.subagent, "")
        if not self._prompts:
            return ""
        arguments = decode_arguments(call.arguments)
        prompt = arguments.get("prompt") if isinstance(arguments, dict) else None
        return self._prompts.get(prompt.strip(), "") if isinstance(prompt, str) else ""

    def _close_calls(self, session: ConvertedSession) -> None:
        """Answer the calls without an output: the next message comes, or the turn ended."""
        for call in session.open_calls.values():
            text = _NO_OUTPUT
            self._answered.add(call.id)
            self._record(
                session,
                ToolAnswered(
                    call.id, call.name, text, "", 0, 10, 10, call_target(call.arguments), text, False,
                    outcome="interrupted",
                ),
            )  # fmt: skip
        session.open_calls = {}

    def _end_turn(self, session: ConvertedSession, ended: TurnEnded, at_ms: int = 0) -> None:
        self._record(session, ended, at_ms)
        session.turn_open = False

    def _add_usage(self, item: CallUsage) -> None:
        if self._call_usage is not None and self._call_usage.group != item.group:
            self._count_usage()
        self._call_usage = item

    def _count_usage(self) -> None:
        item = self._call_usage
        self._call_usage = None
        if item is None:
            return
        total = self._usage or Usage(0, 0)
        self._requests += item.group not in self._counted_usage
        counted = self._counted_usage.get(item.group) or CallUsage(group=item.group, usage=Usage(0, 0))
        more = item.usage
        less = counted.usage
        self._usage = Usage(
            total.input + more.input - less.input,
            total.output + more.output - less.output,
            total.cached + more.cached - less.cached,
            total.cache_writes + more.cache_writes - less.cache_writes,
            total.cache_writes_1h + more.cache_writes_1h - less.cache_writes_1h,
            reports_cache=True,
        )
        self._cost += item.cost - counted.cost
        self._window = item.window or self._window
        if item.group:
            self._counted_usage[item.group] = item

    async def _keep(self, kind: str, data: bytes, *, is_known: bool) -> None:
        self._new_counts[kind, is_known] += 1
        self._kept_lines.append(data)
        self._kept_size += len(data)
        if self._kept_size >= _KEPT_BYTES and self.main.is_started:
            await self._record_kept(0, 0)

    async def _record_kept(self, records: int, waiting: int) -> None:
        """Record what is kept as data since the last time; with `records` an import ends."""
        self._count_usage()
        data = b"\n".join(self._kept_lines)
        digest = digest_of(data) if data else ""
        kinds = tuple(
            RecordCount(kind, count, is_known) for (kind, is_known), count in sorted(self._new_counts.items())
        )
        if data:
            name = AGENT_NAMES[self._agent]
            words = ", ".join(each.kind for each in kinds)
            self._store(
                self.main, Content(digest, data, f"{name} records", "", title_line(words), kind="record")
            )
        event = ForeignRecords(
            digest, len(data), kinds, records, len(self._new_damaged),
            tuple(self._new_damaged[:_LISTED_LINES]), self._usage, self._cost, waiting,
            self._window, self._requests,
        )  # fmt: skip
        self._record(self.main, event)
        self._forget_kept()

    def _forget_kept(self) -> None:
        self.data_counts += self._new_counts
        self.damaged += self._new_damaged
        self._new_counts = Counter()
        self._new_damaged = []
        self._kept_lines = []
        self._kept_size = 0
        self._usage = None
        self._cost = 0.0
        self._window = self._requests = 0

    async def _end_import(self, records: int, waiting: int) -> None:
        """Write down what is open, so that a later import can go on from here."""
        for session in self.sessions:
            if not (waiting and self._is_running(session)):
                await self._flush(session)
            if session.is_started and session.turn_open and session.is_answered:
                self._end_turn(session, TurnEnded("done"), self._end_of(session))
        if before := self._marks.get((records, waiting > 0)):
            self._count_usage()
            for event in before[self._notes_in_row :]:
                self._record(self.main, event)
            self._forget_kept()
        elif self.main.is_started and (
            self._new_counts or self._new_damaged or any(map(self._has_news, self.sessions))
        ):
            await self._record_kept(records, waiting)
        for session in self.sessions:
            if session is not self.main and session.is_started and self._has_news(session):
                event = ForeignRecords(records=records, waiting=waiting)
                self._record(session, event, self._end_of(session))
            session.marked_seq = session.seq

    def _end_of(self, session: ConvertedSession) -> int:
        """Return when a session ends: a branch does with its own last record, not with that of the file."""
        return self._last_at if session is self.main else session.updated

    def _has_news(self, session: ConvertedSession) -> bool:
        return session.seq > session.marked_seq

    def _start(self, session: ConvertedSession, title: str, at_ms: int) -> None:
        """Record how a session begins, once."""
        if session.is_started:
            return
        session.is_started = True
        session.title = session.title or title or f"{AGENT_NAMES[self._agent]} {self._source_id[:8]}"
        session.created = at_ms or self._last_at
        if session.branch is not None:
            point = session.branch
            self._record(session, SessionBranched(point.parent, point.seq, session.title, "rewind"), at_ms)
            return
        self._record(session, SessionStarted(session.title, session.parent), at_ms)
        about = self._about
        self._record(
            session, SessionImported(self._agent, self._source_id, about.folder, about.version), at_ms
        )

    def _record(self, session: ConvertedSession, event: Event, at_ms: int = 0) -> None:
        if session is self.main:
            self._notes_in_row = self._notes_in_row + 1 if isinstance(event, ForeignRecords) else 0
        session.seq += 1
        session.updated = max(session.updated, at_ms or self._last_at)
        self._spool.add_event(session.id, RecordedEvent(session.seq, at_ms or self._last_at, event))

    def _store(self, session: ConvertedSession, content: Content) -> None:
        self._spool.add_content(content, self._last_at, session.id)


def _is_notice(item: AnyItem) -> bool:
    """Return True for a message that programs wrote alone, between the turns."""
    if not isinstance(item, UserMessage) or item.steered or item.pictures or item.pasted:
        return False
    return is_of_programs(item.text)


def _begins_turn(item: AnyItem) -> bool:
    return isinstance(item, UserMessage) and not item.steered and not _is_notice(item)


def _groups(records: Iterator[Record], ends: Container[int]) -> Iterator[list[Record]]:
    """Yield records in groups; those where an import ended end one."""
    group = list[Record]()
    size = 0
    for record in records:
        group.append(record)
        size += len(record.raw)
        if size >= _GROUP_BYTES or len(group) >= _GROUP_RECORDS or record.number in ends:
            yield group
            group = []
            size = 0
    if group:
        yield group


def _texts_of(items: Sequence[AnyItem]) -> Iterator[str]:
    """Yield the texts whose tokens will be asked for."""
    for item in items:
        match item:
            case Output(text=text) | UserMessage(text=text):
                yield text
            case AnswerPart(text=text, calls=calls):
                yield text
                yield from (call.name + call.arguments for call in calls)
                for call in calls:
                    yield from large_arguments(call)[1].values()


def _ends_of(text: str, chars: int) -> str:
    """Return a text, of a long one its beginning and its end."""
    return text if len(text) <= chars else f"{text[: chars * 3 // 4]}\n{text[-chars // 4 :]}"


def _preview(text: str, marker: str, exit_code: int | None) -> str:
    """Return the beginning and the end of a large output, in whole lines where these are short."""
    head = text[:_HEAD_CHARS]
    tail = text[-_TAIL_CHARS:]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    lines = text.count("\n", len(head), len(text) - len(tail))
    gap = f"[… {lines:,} lines not shown …]" if lines else "[… the middle of this line is not shown …]"
    ended = [f"exit code {exit_code}"] if exit_code is not None else []
    return "\n".join((*ended, head.rstrip("\n"), gap, tail.rstrip("\n"), marker))


def _subagent_title(call: ToolCall) -> str:
    arguments = decode_arguments(call.arguments)
    description = arguments.get("description") if isinstance(arguments, dict) else None
    return title_line(description) if isinstance(description, str) else call_target(call.arguments)


def converted(sessions: Sequence[ConvertedSession]) -> Iterator[ConvertedSession]:
    """Yield the sessions in which something was said."""
    return (session for session in sessions if session.is_started)
