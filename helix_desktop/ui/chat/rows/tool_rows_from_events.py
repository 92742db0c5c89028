"""Tool calls to rows: the call, its output, and where both stand in the window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec.structs import replace

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.running_calls import running_target
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.message_states import MessageStates, is_repeated, sent_outputs
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnRetried
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.changed_file_rows import ChangedFilesContent
from helix_desktop.ui.chat.rows.row_types import (
    Badge,
    OriginalOutput,
    Row,
    RunningOutput,
    ToolRow,
    ToolState,
)
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_OUTCOMES: dict[str, ToolState] = {"denied": "denied", "interrupted": "interrupted", "stopped": "stopped"}

CardContent: TypeAlias = OriginalOutput | ChangedFilesContent
"""What a card shows once it is read."""


class ToolRows:
    """The rows of a session, in order; those of its calls as they go on. Methods return what is new or other.

    The other kinds of rows are those of `ChatRows`.
    """

    def __init__(self) -> None:
        self.rows: dict[RowKey, Row] = {}
        self.key_by_call: dict[str, RowKey] = {}  # by call id
        self._captures: dict[RowKey, str] = {}  # of calls that changed files
        self._keys_of_answers: list[RowKey] = []  # of calls that have one
        self._keys_by_digest: dict[str, list[RowKey]] = {}  # outputs, by content
        self._keys_by_source: dict[str, list[RowKey]] = {}  # the same, of a recall by what it recalled
        self._stale_digests: dict[str, int] = {}  # as the rows say
        # Calls whose arguments can stand as markers, by their step.
        self._swept_calls: dict[int, list[RowKey]] = {}

    def _change(self, key: RowKey, **fields: Any) -> list[Row]:
        """Give a row other values, if it does not have them; most of thousands do, and copies take long."""
        row = self.rows[key]
        if all(getattr(row, name) == value for name, value in fields.items()):
            return []
        self.rows[key] = replace(row, **fields)
        return [self.rows[key]]

    def _change_call(self, call_id: str, **fields: Any) -> list[Row]:
        key = self.key_by_call.get(call_id)
        return self._change(key, **fields) if key is not None else []

    def _row_of(self, call_id: str) -> ToolRow | None:
        key = self.key_by_call.get(call_id)
        row = self.rows[key] if key is not None else None
        return row if isinstance(row, ToolRow) else None

    def _call_rows(self, seq: int, response: AssistantSpoke, transcript: Transcript) -> Iterator[ToolRow]:
        short = {swept_call.call_id: swept_call.digests for swept_call in response.short}
        for call in response.calls:
            is_recalling = call.name == RECALL_TOOL and call.id in transcript.open_calls
            row = ToolRow(
                RowKey(seq, call.id, "call"),
                call,
                argument_digests=short.get(call.id, ()),
                recalled=running_target(call, transcript) if is_recalling else "",
            )
            self.key_by_call[call.id] = row.key
            if row.argument_digests:
                self._swept_calls.setdefault(seq, []).append(row.key)
            yield row

    def _on_answer(self, seq: int, output: ToolAnswered, transcript: Transcript) -> list[Row]:
        key = self.key_by_call.get(output.call_id)
        if key is None:
            return []
        self._keys_of_answers.append(key)
        if output.digest:
            self._keys_by_digest.setdefault(output.digest, []).append(key)
            self._keys_by_source.setdefault(output.recalled or output.digest, []).append(key)
        self._change(key, **outcome_fields(output), answer_seq=seq, auto_run=output.auto_run)
        self._update_badge(key, MessageStates(transcript), transcript)
        return [self.rows[key]]

    def _on_changes(self, changes: ChangesRecorded, transcript: Transcript) -> list[Row]:
        key = self.key_by_call.get(changes.call_id)
        if key is not None:
            self._captures[key] = changes.capture
            return self._change(key, changes=changes)
        if changes.source != "revert":
            return []
        is_reverted = transcript.reverted_files.is_reverted
        states = ((key, is_reverted(capture)) for key, capture in self._captures.items())
        return [row for key, state in states for row in self._change(key, is_reverted=state)]

    def on_subagent_progress(self, progress: SubagentProgress) -> list[Row]:
        row = self._row_of(progress.call_id)
        if row is None or row.answer_seq or row.subagent_session != progress.session_id:
            return []
        return self._change(row.key, progress=progress)

    def set_state(self, call_id: str, state: ToolState) -> list[Row]:
        return self._change_call(call_id, state=state)

    def interrupt(self, call_id: str) -> list[Row]:
        row = self._row_of(call_id)
        if row is None:
            return []
        ended = SubagentProgress(row.subagent_session, "interrupted", 0, 0, 0)
        return self._change(row.key, state="interrupted", progress=ended if row.subagent_session else None)

    def show_running_output(self, call_id: str, output: RunningOutput) -> list[Row]:
        row = self._row_of(call_id)
        is_running = row is not None and row.state == "running"
        return self._change_call(call_id, running_output=output) if is_running else []

    def show_content(self, key: RowKey, content: CardContent) -> list[Row]:
        match content:
            case _ if key not in self.rows:
                return []
            case OriginalOutput(tokens=tokens):
                return self._change(key, original=replace(content, tokens=tokens + FRAMING_TOKENS))
            case ChangedFilesContent():
                return self._change(key, changed_files=content)

    def mark_removed(self, removed: Mapping[str, int]) -> list[Row]:
        """Let outputs that the user removed as a secret lead nowhere.

        `removed`: when, in milliseconds since 1970, by digest.
        """
        keys = (
            (key, at_ms) for digest, at_ms in removed.items() for key in self._keys_by_digest.get(digest, ())
        )
        return [row for key, at_ms in keys for row in self._change(key, removed_at_ms=at_ms)]

    @property
    def change_ids(self) -> list[str]:
        changes = (change for row in self._auto_run_rows() for change in row.auto_run)
        return [change.change_id for change in changes if change.change_id]

    def mark_put(self, restored: Mapping[str, bool]) -> list[Row]:
        """Say what of that was restored (True) or taken back since, by its id."""
        rows = list[Row]()
        for row in self._auto_run_rows():
            changes = tuple(_mark(change, restored.get(change.change_id)) for change in row.auto_run)
            rows += self._change(row.key, auto_run=changes)
        return rows

    def _auto_run_rows(self) -> list[ToolRow]:
        return [row for row in self.rows.values() if isinstance(row, ToolRow) and row.auto_run]

    def _updated_staleness(self, transcript: Transcript) -> list[Row]:
        """Let rows say that their file changed, or is again as it was, since they were asked for last."""
        now = transcript.stale_digests
        before = self._stale_digests
        self._stale_digests = dict(now)
        changed = {digest for digest in {**before, **now} if now.get(digest) != before.get(digest)}
        keys = (key for digest in changed for key in self._keys_by_source.get(digest, ()))
        return [row for key in keys for row in self._change(key, **self._staleness(key, transcript))]

    def _staleness(self, key: RowKey, transcript: Transcript) -> dict[str, Any]:
        row = self.rows[key]
        assert isinstance(row, ToolRow)
        digest = row.digest and (row.answer.recalled or row.digest)
        outdated = is_outdated(digest, row.answer_seq, transcript)
        return {"changed_since": transcript.stale_digests.get(digest, 0), "is_outdated": outdated}

    def _is_seen_again(self, event: Event) -> bool:
        """Return True if an output is of a content that came before, or if some may be gone from the end."""
        if isinstance(event, ToolAnswered):
            return len(self._keys_by_source.get(event.recalled or event.digest, ())) > 1
        return isinstance(event, TurnRetried)

    def _updated_badges(self, transcript: Transcript) -> list[Row]:
        """Let calls say where their output stands, and in which form, since the window was rewritten."""
        states = MessageStates(transcript)
        rows = list[Row]()
        sent = sent_outputs(transcript.window.entries(), transcript)
        for key in self._keys_of_answers:
            rows += self._update_badge(key, states, transcript, sent)
        # Of an answer that the user left out, calls are sent, without the arguments.
        marked = transcript.window.swept | transcript.rewrites.excluded.keys()
        for seq, keys in self._swept_calls.items():
            is_cached = seq in marked and states.cover_of(seq) is None
            for key in keys:
                rows += self._change(key, arguments_cached=is_cached)
        return rows

    def _update_badge(
        self,
        key: RowKey,
        states: MessageStates,
        transcript: Transcript,
        sent: Mapping[str, bool] = MappingProxyType({}),
    ) -> list[Row]:
        row = self.rows[key]
        assert isinstance(row, ToolRow)
        badge: Badge = states.state_of(row.answer_seq) if row.digest or row.removed_at_ms else ""
        if badge == "in_window" and row.answer.recalled:
            badge = "recalled"
        elif badge == "cached" and is_repeated(row.answer, sent):
            badge = "repeated"
        form = transcript.rewrites.chosen_forms.get(row.answer_seq)
        return self._change(key, badge=badge, user_form=form, **self._staleness(key, transcript))


def is_outdated(digest: str, seq: int, transcript: Transcript) -> bool:
    """Return True if a content that came with an event was out of date then, or changed outside since."""
    since = transcript.stale_digests.get(digest, 0)
    changes = transcript.staleness.file_changes if since else ()
    return 0 < since < seq or any(at == since and not event.call_id for at, event in changes)


def _mark(change: AutoRunChange, is_restored: bool | None) -> AutoRunChange:
    """Return a change with its outcome; None leaves it as it is."""
    if is_restored is None:
        return change
    return replace(change, outcome="kept" if is_restored else "removed")


def outcome_fields(output: ToolAnswered) -> dict[str, Any]:
    """Return what the row of a call that is over says, although its output's form may still be chosen."""
    state: ToolState = "ok" if output.ok else "failed"
    outcome = output.delegated.how if output.delegated is not None else output.outcome
    state = _OUTCOMES.get(outcome, state)
    return {"state": state, "answer": output, "recalled": "", "running_output": None, "progress": None}
