"""Tool calls to rows: the call, its output, and where both stand in the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from itertools import islice

from msgspec.structs import replace

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.window_breakdown import MessageStates
from helix_desktop.domain.events.conversation import AssistantSpoke, SubagentStarted, ToolAnswered
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.changed_files import ChangedFilesContent
from helix_desktop.ui.chat.rows.row_types import (
    MAX_BYTES,
    MAX_LINES,
    Badge,
    ExcerptContent,
    OriginalOutput,
    RunningOutput,
    ToolRow,
    ToolState,
)
from helix_desktop.ui.design.viewer.picture import read_image
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_OUTCOMES: dict[str, ToolState] = {"denied": "denied", "interrupted": "interrupted", "stopped": "stopped"}


class ToolRows:
    def __init__(self) -> None:
        self._rows: dict[RowKey, ToolRow] = {}
        self._key_by_call: dict[str, RowKey] = {}  # by call id
        self._key_by_answer: dict[int, RowKey] = {}
        self._keys_by_digest: dict[str, list[RowKey]] = {}  # outputs, by content
        self._stale_digests: dict[str, int] = {}  # as the rows say
        # Calls whose arguments can stand as markers, by their step.
        self._masked_calls: dict[int, list[RowKey]] = {}

    def on_call(self, seq: int, response: AssistantSpoke) -> Iterator[ToolRow]:
        short = {masked_call.call_id: masked_call.digests for masked_call in response.short}
        for call in response.calls:
            row = ToolRow(RowKey(seq, call.id, "call"), call, argument_digests=short.get(call.id, ()))
            self._key_by_call[call.id] = row.key
            if row.argument_digests:
                self._masked_calls.setdefault(seq, []).append(row.key)
            yield self._put(row)

    def on_answer(
        self, recorded: RecordedEvent, output: ToolAnswered, transcript: Transcript
    ) -> ToolRow | None:
        before = self._row_of(output.call_id)
        if before is None:
            return None
        if output.excerpt is not None:
            return self._put(replace(before, state="ok", answer=output))
        row = replace(_with_outcome(before, output), answer_seq=recorded.seq, auto_run=output.auto_run)
        self._key_by_answer[recorded.seq] = row.key
        if output.digest:
            self._keys_by_digest.setdefault(output.digest, []).append(row.key)
        row = replace(row, user_form=transcript.rewrites.chosen_forms.get(recorded.seq))
        return self._put(self._with_badge(row, MessageStates(transcript), transcript))

    def on_changes(self, event: ChangesRecorded) -> ToolRow | None:
        """Return the row of the call that changed files; None if no call of this session did."""
        return self._change(event.call_id, lambda row: replace(row, changes=event))

    def on_subagent_started(self, event: SubagentStarted) -> ToolRow | None:
        return self._change(event.call_id, lambda row: replace(row, started=event))

    def on_subagent_progress(self, progress: SubagentProgress) -> ToolRow | None:
        """Return the row of the call whose subagent went on; None if there is none, or it has its answer."""
        row = self._row_of(progress.call_id)
        if row is None or row.answer_seq or row.subagent_session != progress.session_id:
            return None
        return self._put(replace(row, progress=progress))

    def on_output_held(self, output: ToolAnswered) -> ToolRow | None:
        """Return the row of a call whose output has no form yet; None if it is unknown."""
        return self._change(output.call_id, lambda row: _with_outcome(row, output))

    def key_of_call(self, call_id: str) -> RowKey | None:
        return self._key_by_call.get(call_id)

    def with_state(self, call_id: str, state: ToolState) -> ToolRow | None:
        """Return the row of a call that began to wait or to run; None when no such call is known."""
        return self._change(call_id, lambda row: replace(row, state=state))

    def on_interrupted(self, call_id: str) -> ToolRow | None:
        def end(row: ToolRow) -> ToolRow:
            ended = SubagentProgress(row.subagent_session, "interrupted", 0, 0, 0)
            return replace(row, state="interrupted", progress=ended if row.subagent_session else None)

        return self._change(call_id, end)

    def with_running_output(self, call_id: str, output: RunningOutput) -> ToolRow | None:
        """Return the row of a running call with its newest lines; None if it is unknown or has its answer."""
        row = self._row_of(call_id)
        if row is None or row.state != "running":
            return None
        return self._put(replace(row, running_output=output))

    def with_content(
        self, key: RowKey, content: OriginalOutput | ExcerptContent | ChangedFilesContent
    ) -> ToolRow | None:
        row = self._rows.get(key)
        match content:
            case _ if row is None:
                return None
            case OriginalOutput():
                original = replace(content, tokens=content.tokens + FRAMING_TOKENS)
                return self._put(replace(row, original=original))
            case ExcerptContent():
                return self._put(replace(row, excerpt_content=content))
            case ChangedFilesContent():
                return self._put(replace(row, changed_files=content))

    def _row_of(self, call_id: str) -> ToolRow | None:
        key = self._key_by_call.get(call_id)
        return self._rows[key] if key is not None else None

    def _change(self, call_id: str, change: Callable[[ToolRow], ToolRow]) -> ToolRow | None:
        """Return the changed row of a call; None if it is unknown."""
        row = self._row_of(call_id)
        return self._put(change(row)) if row is not None else None

    def _put(self, row: ToolRow) -> ToolRow:
        self._rows[row.key] = row
        return row

    def mark_removed(self, removed: Mapping[str, int]) -> list[ToolRow]:
        """Return the rows whose outputs the user removed as a secret, which lead nowhere now.

        `removed`: when, in milliseconds since 1970, by digest.
        """
        return [
            self._put(replace(self._rows[key], removed_at_ms=at_ms))
            for digest, at_ms in removed.items()
            for key in self._keys_by_digest.get(digest, ())
        ]

    @property
    def change_ids(self) -> list[str]:
        """Return the ids of what calls changed that runs by itself."""
        return [
            change.change_id for row in self._rows.values() for change in row.auto_run if change.change_id
        ]

    def mark_put(self, restored: Mapping[str, bool]) -> list[ToolRow]:
        """Return the rows of calls of which something was restored (True) or taken back since, by its id."""
        rows = []
        for row in list(self._rows.values()):
            changes = tuple(
                replace(change, outcome="kept" if restored[change.change_id] else "removed")
                if change.change_id in restored
                else change
                for change in row.auto_run
            )
            if changes != row.auto_run:
                rows.append(self._put(replace(row, auto_run=changes)))
        return rows

    def updated_staleness(self, transcript: Transcript) -> list[ToolRow]:
        """Return the rows whose file changed, or is again as it was, since they were asked for last."""
        now, before = transcript.stale_digests, self._stale_digests
        if now == before:
            return []
        digests = [digest for digest in {**before, **now} if now.get(digest) != before.get(digest)]
        self._stale_digests = dict(now)
        rows = [
            replace(self._rows[key], changed_since=now.get(digest, 0))
            for digest in digests
            for key in self._keys_by_digest.get(digest, ())
        ]
        return [self._put(row) for row in rows if row != self._rows[row.key]]

    def updated_badges(self, transcript: Transcript) -> list[ToolRow]:
        """Return the rows that stand elsewhere, or in another form, since the window was rewritten."""
        standings = MessageStates(transcript)
        new = {
            key: self._updated(seq, self._rows[key], transcript, standings)
            for seq, key in self._key_by_answer.items()
        }
        # Of an answer that the user left out, calls are sent, without the arguments.
        marked = transcript.window.masked | transcript.rewrites.excluded.keys()
        for seq, keys in self._masked_calls.items():
            cached = seq in marked and standings.cover_of(seq) is None
            new |= {key: replace(new.get(key, self._rows[key]), arguments_cached=cached) for key in keys}
        changed = [row for key, row in new.items() if row != self._rows[key]]
        self._rows |= {row.key: row for row in changed}
        return changed

    def _updated(
        self, seq: int, row: ToolRow, transcript: Transcript, window_states: MessageStates
    ) -> ToolRow:
        chosen = transcript.rewrites.chosen_forms.get(seq)
        if chosen != row.user_form:
            row = replace(row, user_form=chosen)
        return self._with_badge(row, window_states, transcript)

    def _with_badge(self, row: ToolRow, window_states: MessageStates, transcript: Transcript) -> ToolRow:
        badge: Badge = window_states.state_of(row.answer_seq) if row.digest or row.removed_at_ms else ""
        if badge == "in_window" and row.answer.recalled:
            badge = "recalled"
        changed_since = transcript.stale_digests.get(row.digest, 0)
        if (badge, changed_since) == (row.badge, row.changed_since):
            return row  # as most of thousands are: to copy one takes longer than all else here
        return replace(row, badge=badge, changed_since=changed_since)


def _with_outcome(row: ToolRow, output: ToolAnswered) -> ToolRow:
    """Return the row of a call that is over, although its output's form may still be chosen."""
    state: ToolState = "ok" if output.ok else "failed"
    outcome = output.delegated.how if output.delegated is not None else output.outcome
    return replace(
        row, state=_OUTCOMES.get(outcome, state), answer=output, running_output=None, progress=None
    )


FIRST_LINES, FIRST_BYTES = 80, 16 * 1024  # that a card shows until the user asks for all


def excerpt_content(data: bytes, excerpt: Excerpt, in_full: bool) -> ExcerptContent:
    """Return what a card shows of an excerpt of these bytes: the first lines, or with `in_full` all."""
    if excerpt.image is not None:
        image = read_image(data)
        return (
            ExcerptContent(image=image) if image else ExcerptContent(problem=tr("Couldn't read the image."))
        )
    max_lines, max_bytes = (MAX_LINES, MAX_BYTES) if in_full else (FIRST_LINES, FIRST_BYTES)
    count = min(excerpt.lines, max_lines)
    first = excerpt.start_line - 1
    part = b"".join(islice(BytesIO(data), first, first + count))
    if len(part) > max_bytes:
        part = part[: part.rfind(b"\n", 0, max_bytes) + 1 or max_bytes]
        count = part.count(b"\n")
    hidden = excerpt.lines - count
    fits = excerpt.lines <= MAX_LINES and excerpt.size <= MAX_BYTES
    return ExcerptContent(part.decode("utf-8", "replace").removesuffix("\n"), hidden, hidden > 0 and fits)
