"""Keeps the chat's rows in step with one conversation, and with the answer that arrives."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import (
    ApprovalRequested,
    AutoRunPut,
    CallOutput,
    CallStarted,
    ErrorRaised,
    EventRecorded,
    ModelCalled,
    QuestionAsked,
    ResponseDelta,
    Session,
    SideQuestionProgress,
    SubagentProgress,
    TurnChanged,
)
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import (
    ApprovalGiven,
    AssistantSpoke,
    SideQuestionAnswered,
    SubagentStarted,
    ToolAnswered,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileChange
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.messages import RetryScheduled
from helix_desktop.domain.question import Question, ServerQuestion
from helix_desktop.domain.redaction import has_redaction_mark
from helix_desktop.domain.tools import ApprovalRequest
from helix_desktop.ui.chat.actions import ControlTurn, ReadContent, RowKey, row_key_of_event
from helix_desktop.ui.chat.rows.changed_file_rows import (
    MAX_FILES,
    MAX_LINES,
    ChangedFilesContent,
    changed_files_content,
)
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AskRow,
    AssistantRow,
    ChatModel,
    DividerRow,
    HeadAndTail,
    NoticeLevel,
    NoticeRow,
    OriginalOutput,
    QuestionRow,
    Row,
    RunningOutput,
    ToolRow,
    ToolState,
    TurnFooterRow,
    UserRow,
    Versions,
    head_and_tail,
)
from helix_desktop.ui.chat.rows.rows_from_events import ChatRows, rows_from_log
from helix_desktop.ui.chat.rows.tool_rows_from_events import CardContent
from helix_desktop.ui.chat.session_drafts import stored_thumbnail
from helix_desktop.ui.kit.intents import ApplyRemedy, Intent, handles
from helix_desktop.ui.kit.session import Session as WindowSession
from helix_desktop.words.button_labels import supported_remedies
from helix_desktop.words.model_names import model_name
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")


class AskRows:
    """The rows of open approval requests and questions, in the order in which they came."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._numbers: dict[RowKey, int] = {}  # of those that came while others waited, answered ones too
        self._numbers_by_session: dict[str, dict[RowKey, int]] = {}

    def show_session(self, session_id: str) -> None:
        """Number the rows of another session, by id; its cards have the numbers that they had."""
        self._numbers = self._numbers_by_session.setdefault(session_id, {})

    def show(self, ask: ApprovalRequest | Question, is_late: bool = False) -> bool:
        """Show an open request or question; `is_late` if its turn has ended. Return True if it is new."""
        key = RowKey(0, ask.call_id, "approval")
        rows = self._model.asks()
        row = QuestionRow(key, ask, is_late=is_late) if isinstance(ask, Question) else ApprovalRow(key, ask)
        if not rows and key not in self._numbers:
            self._numbers.clear()  # those of cards that were answered while another session was shown
        self._numbers.setdefault(key, len(self._numbers) + 1)
        self._model.put(row)
        self._number()
        return all(other.key != key for other in rows)

    def drop_others(self, call_ids: Iterable[str] = ()) -> None:
        waiting = set(call_ids)
        gone = [row.key for row in self._model.asks() if row.key.call_id not in waiting]
        for key in gone:
            self._model.remove(key)
        if gone:
            self._number()

    def _number(self) -> None:
        """Say at each card which of how many it is; the last one of the agent offers to allow all."""
        rows = self._model.asks()
        if not rows:
            self._numbers.clear()
        own = [row for row in rows if isinstance(row, ApprovalRow) and not row.request.subagent_title]
        if len(own) == 1 or not all(row.request.is_safe for row in own):
            own = []
        total = len(self._numbers)
        together = tuple(row.key.call_id for row in own)
        for row in rows:
            place = tr("{place} of {total}", place=self._numbers[row.key], total=total) if total > 1 else ""
            numbered: AskRow = replace(row, position=place)
            if isinstance(numbered, ApprovalRow):
                numbered = replace(numbered, allowed_together=together if row in own[-1:] else ())
            if row != numbered:
                self._model.replace(row.key, numbered)


_MAX_INLINE_EVENTS = 2_000  # a log up to this many events is read without a thread
_RUNNING_DELAY_MS = 1_000

_TICK_MS = 200  # often enough that each second is seen to change in time

_RETRY_SHOWN_S = 2  # how long a repeated request says that it is one, unless it fails again
_MINUTE_S = 60
_RETRY_KEY = RowKey(part="retry")


class ArrivingAnswer:
    """The rows of an answer until it is recorded: its text, and the notice of a request that is repeated."""

    def __init__(
        self, model: ChatModel, on_sent: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`on_sent` follows a repeated request, `clock` gives seconds."""
        self._model = model
        self._on_sent = on_sent
        self._clock = clock
        self._count = 1
        self._retry = RetryScheduled(0, 0.0, "")  # the newest one
        self._until_s = 0.0
        self._left_s = -1
        self._timer = QTimer(model, interval=_TICK_MS)
        self._timer.timeout.connect(self.tick)

    @property
    def _key(self) -> RowKey:
        return RowKey(self._count, part="arriving")

    def stop_countdown(self) -> None:
        self._timer.stop()

    def show_waiting(self, since_ms: int, model: str) -> None:
        """Say that the model of this name is silent since a time in milliseconds since 1970."""
        self._model.put(AssistantRow(self._key, "", model=model, streaming=True, waiting_since_ms=since_ms))

    def add_text(self, text: str, model: str) -> None:
        self.clear_retry()
        index = self._model.index_of(self._key)
        row = self._model.raw_row(index) if index is not None else None
        if isinstance(row, AssistantRow) and row.waiting_since_ms:
            self._drop()  # the text begins behind a side question that was asked meanwhile, as in the log
            row = None
        if row is None:
            self._model.put(AssistantRow(self._key, "", model=model, streaming=True))
        self._model.stream(self._key, text)

    def settle(self, rows: list[Row]) -> list[Row]:
        """Put the row of the recorded answer in the place of its own; return the rows still to be shown."""
        self.clear_retry()
        if rows and isinstance(rows[0], AssistantRow) and self._model.index_of(self._key) is not None:
            self._model.replace(self._key, rows[0])
            self._count += 1
            return rows[1:]
        self._drop()
        return rows

    def drop(self) -> None:
        self._drop()
        self.clear_retry()

    def show_retry(self, retry: RetryScheduled) -> None:
        self._drop()
        self._retry = retry
        self._until_s = self._clock() + retry.wait_s + _RETRY_SHOWN_S
        self._left_s = -1
        self._timer.start()
        self.tick()

    def tick(self) -> None:
        """Show how many seconds are left, if that has changed."""
        left_s = math.ceil(self._until_s - self._clock())
        if left_s <= 0:  # nothing refused the request meanwhile: the model is silent
            self.clear_retry()
            self._on_sent()
        elif left_s != self._left_s:
            self._left_s = left_s
            self._model.put(_retry_row(self._retry, left_s - _RETRY_SHOWN_S))

    def clear_retry(self) -> None:
        self._timer.stop()
        self._model.discard(_RETRY_KEY)

    def _drop(self) -> None:
        """Remove the text, and take an unused key: the view keeps what it drew under one."""
        self._model.discard(self._key)
        self._count += 1


def _retry_row(retry: RetryScheduled, left_s: int) -> NoticeRow:
    """Return what there is to say so many seconds before the attempt, or after it; and when retries end."""
    what = tr("Retrying now (attempt {attempt})", attempt=retry.attempt)
    actions = list[Intent]()
    if left_s > 0:
        what = tr("Retrying in {seconds} s (attempt {attempt})", seconds=left_s, attempt=retry.attempt)
        actions.append(ControlTurn("try_now"))
    if "provider_settings" in retry.remedies:
        actions.append(ApplyRemedy("provider_settings"))
    minutes = round(retry.patience_s / _MINUTE_S)
    end = tr("Retries end {minutes} min after the first failure.", minutes=minutes) if minutes else ""
    shown = (*actions, ControlTurn("stop"))
    return NoticeRow(_RETRY_KEY, "warning", what, translate(retry.reason), end, shown)


class LiveSideQuestion:
    """A question beside the conversation and the answer that arrives, until both are recorded."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._count = 0
        self._answer: str | None = None  # what is shown of it

    @property
    def _keys(self) -> tuple[RowKey, RowKey]:
        return RowKey(self._count, "question", "side"), RowKey(self._count, "answer", "side")

    def forget(self) -> None:
        self._answer = None

    def show(self, question: str, answer: str, name: str) -> None:
        if self._answer is None:
            self._count += 1
            self._model.append(UserRow(self._keys[0], question, is_side=True))
        key = self._keys[1]
        shown = self._answer
        if shown is None or not answer.startswith(shown):
            shown = ""
            note = tr("not in context")
            self._model.put(AssistantRow(key, "", model=name, streaming=True, side_note=note))
        self._model.stream(key, answer[len(shown) :])
        self._answer = answer

    def settle(self, rows: list[Row]) -> bool:
        """Put the recorded rows in the place of those shown. Return False if none are shown."""
        if self._answer is None:
            return False
        self._answer = None
        for key, row in zip(self._keys, rows, strict=True):
            self._model.replace(key, row)
        return True

    def drop(self) -> None:
        if self._answer is not None:
            self._answer = None
            for key in reversed(self._keys):
                self._model.remove(key)


async def removed_outputs(session: Session, log: Iterable[RecordedEvent]) -> Mapping[str, int]:
    """Return when each was removed, in milliseconds since 1970, by digest.

    Only those with a mark in place of the secret are looked up: an output may also quote such a mark.
    """
    marked = {
        recorded.event.digest
        for recorded in log
        if isinstance(recorded.event, ToolAnswered)
        and recorded.event.digest
        and has_redaction_mark(recorded.event.text)
    }
    times = {digest: await session.redacted_at(digest) for digest in marked}
    return {digest: at_ms for digest, at_ms in times.items() if at_ms}


_Shown = (
    EventRecorded | ResponseDelta | RetryScheduled | ApprovalRequested | QuestionAsked | AutoRunPut
    | CallStarted | ModelCalled | SubagentProgress | SideQuestionProgress | CallOutput | TurnChanged
    | ErrorRaised
)  # fmt: skip


class ChatPresenter:
    """Shows the session on screen, and announces answers, approvals and questions as they come."""

    def __init__(self, model: ChatModel, announce: Callable[[str], None], session: WindowSession) -> None:
        self._model = model
        self._announce = announce
        self._session = session
        self._rows = ChatRows()
        self._asks = AskRows(model)
        self._side_question = LiveSideQuestion(model)
        self._arriving = ArrivingAnswer(model, self._show_waiting)
        self._versions: Mapping[RowKey, Versions] = {}
        self._shown: Conversation | None = None  # whose errors are shown
        self._is_loaded = self._takes_long = False  # whether its rows are shown, and are many
        self._unsubscribe: Callable[[], None] = lambda: None
        self._is_past = False
        self._error_rows: dict[RowKey, NoticeRow] = {}  # of the session on screen: no event brings them back
        self._unsaved_keys: set[RowKey] = set()  # of those, what could not be saved since
        self._error_count = 0
        # What is over by then needs no clock.
        self._running_timer = QTimer(model, singleShot=True, interval=_RUNNING_DELAY_MS)
        self._running_timer.timeout.connect(self._show_clocks)
        session.changed.connect(self._leave)
        session.handle(self)

    def _leave(self) -> None:
        self._stop()
        conversation = self._session.find_conversation()
        if conversation is not self._shown:
            self._shown = conversation
            self._error_rows = {}
            self._unsaved_keys = set()
            self._takes_long = bool(conversation and len(conversation.session.log) > _MAX_INLINE_EVENTS)
            if self._takes_long:
                self._rows = ChatRows()
                self._reset([], is_loading=True)

    def _stop(self) -> None:
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self._arriving.stop_countdown()
        self._running_timer.stop()
        self._versions = {}
        self._is_past = False
        self._is_loaded = False

    async def load(self) -> None:
        if not self._session.has_conversation:
            self._reset([])
            return
        conversation = self._session.conversation
        if self._takes_long and not self._is_loaded:
            await self._session.refresh()
        self._stop()
        log = list(conversation.session.log)
        if len(log) > _MAX_INLINE_EVENTS:
            rows, folded = await asyncio.to_thread(rows_from_log, log)
        else:
            rows, folded = rows_from_log(log)
        removed = await removed_outputs(conversation.session, log)
        put = await conversation.auto_run_outcomes(rows.change_ids)
        if not self._session.shows(conversation) or self._is_loaded:
            return  # the user went on to another session meanwhile, or came back to it
        self._rows = rows
        self._reset(folded)
        self._model.put_all(rows.mark_removed(removed))
        self._model.put_all(rows.mark_put(put))
        for recorded in conversation.session.log[len(log) :]:
            self._on_recorded(recorded)
        self._catch_up(conversation)
        self._is_loaded = True
        self._unsubscribe = conversation.session.on(
            _Shown, lambda update: self._update_unseen(update) if self._is_past else self._update(update)
        )

    async def show_past(self, seq: int, below: Row) -> None:
        """Show the session as it was after an event, with one more row, until `show_now`."""
        conversation = self._session.conversation
        log = conversation.session.log[:seq]
        rows, ordered = await asyncio.to_thread(rows_from_log, log)
        removed = await removed_outputs(conversation.session, log)
        if self._session.shows(conversation):
            self._arriving.stop_countdown()
            self._is_past = True
            self._rows = rows
            # The buttons of dividers and notices would change the session as it is now.
            kinds = DividerRow | NoticeRow
            past = [replace(row, actions=()) if isinstance(row, kinds) else row for row in ordered]
            self._reset([*past, below])
            self._model.put_all(rows.mark_removed(removed))

    async def show_now(self) -> None:
        if not self._is_past:
            return
        conversation = self._session.conversation
        versions = self._versions
        await self.load()
        if self._session.shows(conversation):  # else another one came meanwhile
            self._model.put_all(self._error_rows.values())
            self.show_versions(versions)

    def recount(self) -> None:
        if self._is_loaded and not self._is_past:
            conversation = self._session.conversation
            transcript = self._session.transcript
            self._put_all(self._rows.updated_images(transcript, are_sent=conversation.model.images))
            self._show_budget(conversation)

    def _show_budget(self, conversation: Conversation) -> None:
        self._put_all(self._rows.ends.on_budget(is_spent=conversation.budget.is_exhausted))

    def _put_all(self, rows: Iterable[Row]) -> None:
        """Show rows, laid out once for all; messages with their other versions."""
        self._model.put_all(
            replace(row, versions=self._versions[row.key])
            if isinstance(row, UserRow) and row.key in self._versions
            else row
            for row in rows
        )

    def _reset(self, rows: Sequence[Row], *, is_loading: bool = False) -> None:
        self._asks.show_session(self._session.id)
        self._side_question.forget()
        self._model.reset(rows, is_loading=is_loading)

    @handles(ReadContent)
    async def read_content(self, key: RowKey, section: Literal["card", "changes"], in_full: bool) -> None:
        """Show what is read, or why it can't be; an image that cannot be read keeps its icon."""
        conversation = self._session.conversation
        workspace = self._session.workspace
        row = self._rows.rows.get(key)
        kind: type[CardContent] = OriginalOutput
        if isinstance(row, UserRow):
            for digest in [note.attachment.digest for note in row.attachments if note.attachment.image]:
                image = await stored_thumbnail(workspace, digest)
                if image is not None and self._session.shows(conversation):
                    self._put_all(self._rows.show_thumbnail(key, digest, image))
        if not isinstance(row, ToolRow):
            return
        try:
            match row:
                case ToolRow(changes=ChangesRecorded(capture=capture)) if section == "changes":
                    kind = ChangedFilesContent
                    content: CardContent = await _read_changes(workspace.changes, self._session.id, capture)
                case _:
                    data = await workspace.store.get(row.digest)
                    tokens = (await workspace.store.entry(row.digest)).tokens
                    content = OriginalOutput(await asyncio.to_thread(_split_ends, data, in_full), tokens)
        except HelixError as error:
            content = kind(problem=translate(error.what))
        if self._session.shows(conversation):  # else the user went on meanwhile
            self._model.put_all(self._rows.show_content(key, content))

    def key_of_event(self, recorded: RecordedEvent, transcript: Transcript) -> RowKey:
        event = recorded.event
        call_id = event.call_id if isinstance(event, ChangesRecorded | SubagentStarted) else ""
        return self._rows.key_by_call.get(call_id) or row_key_of_event(transcript, recorded.seq)

    def show_versions(self, versions: Mapping[RowKey, Versions]) -> None:
        changed: list[Row] = []
        for key in self._versions.keys() | versions.keys():
            index = self._model.index_of(key)
            row = self._model.raw_row(index) if index is not None else None
            if isinstance(row, UserRow | TurnFooterRow) and row.versions != versions.get(key):
                changed.append(replace(row, versions=versions.get(key)))
        self._model.put_all(changed)
        self._versions = versions

    def _catch_up(self, conversation: Conversation) -> None:
        self._show_budget(conversation)
        if conversation.is_running:
            for running in conversation.running_calls.running:
                self._set_tool_state(running.call.id, "running")
                self._show_running_output(running.call.id)
            for moved in conversation.subagents.progress:
                self._on_subagent_progress(moved)
        else:
            self._show_interrupted_calls()
        for ask in conversation.asks:
            self._show_ask(ask)
        self._show_missed_questions()
        self._on_side_question(conversation.side_questions.progress)
        if conversation.response.text:
            self._arriving.add_text(conversation.response.text, self._model_name())
        if conversation.response.retry_state:
            self._arriving.show_retry(conversation.response.retry_state)
        else:
            self._show_waiting()

    def _update(self, update: _Shown) -> None:
        match update:
            case EventRecorded(recorded=recorded):
                self._on_saved(recorded.at)
                self._on_recorded(recorded)
            case ResponseDelta(text=text, is_reasoning=reasoning):
                self._arriving.add_text("" if reasoning else text, self._model_name())
            case RetryScheduled():
                self._arriving.show_retry(update)
            case ApprovalRequested(ask=ask) | QuestionAsked(ask=ask):
                self._show_ask(ask)
            case AutoRunPut(change_ids=change_ids, restore=restore):
                self._model.put_all(self._rows.mark_put(dict.fromkeys(change_ids, restore)))
            case CallStarted() | ModelCalled():
                if isinstance(update, CallStarted):
                    self._drop_answered_asks()  # it goes on after a question of its server
                    self._set_tool_state(update.call.id, "running")
                self._running_timer.start()
            case SubagentProgress():
                self._on_subagent_progress(update)
            case SideQuestionProgress():
                self._on_side_question(update)
            case CallOutput(call_id=call_id):
                self._show_running_output(call_id)
            case TurnChanged(running=False):
                self._arriving.drop()
                self._show_interrupted_calls()
                self._asks.drop_others()
                self._show_missed_questions()
                self._announce(tr("Reply finished"))
            case ErrorRaised():
                self._model.put(self._error_row(update))

    def _update_unseen(self, update: _Shown) -> None:
        """Say what matters of what comes while the past is on screen; `show_now` shows the rest."""
        match update:
            case EventRecorded(recorded=recorded):
                self._on_saved(recorded.at)
            case ApprovalRequested(ask=ask) | QuestionAsked(ask=ask):
                self._announce_ask(ask)
            case TurnChanged(running=False):
                self._announce(tr("Reply finished"))
            case ErrorRaised():
                self._error_row(update)

    def _error_row(self, error: ErrorRaised) -> Row:
        self._error_count += 1
        key = RowKey(self._error_count, part="error")
        actions: tuple[Intent, ...] = tuple(map(ApplyRemedy, supported_remedies(error.remedies)))
        if error.is_unsaved and self._session.transcript.turn_open:
            actions = (*actions, ControlTurn("retry"))
        what, why, fix = map(translate, (error.what, error.why, error.fix))
        level: NoticeLevel = "warning" if error.is_warning else "error"
        self._error_rows[key] = NoticeRow(key, level, what, why, fix, actions, translate(error.details))
        if error.is_unsaved:
            self._unsaved_keys.add(key)
        return self._error_rows[key]

    def _on_saved(self, at_ms: int) -> None:
        """Let errors of saving say that it works again: an event was saved."""
        for key in sorted(self._unsaved_keys):
            row = self._error_rows[key]
            what = tr("Saving resumed at {time}.", time=format_moment(at_ms))
            why = tr("It failed earlier: {reason}", reason=row.why or row.what)
            self._error_rows[key] = NoticeRow(key, "info", what, why)
            if not self._is_past:
                self._model.put(self._error_rows[key])
        self._unsaved_keys.clear()

    def _on_recorded(self, recorded: RecordedEvent) -> None:
        if isinstance(recorded.event, ApprovalGiven | ToolAnswered | UserSpoke):
            self._drop_answered_asks()
        if isinstance(recorded.event, ApprovalGiven) and recorded.event.decision != "deny":
            self._set_tool_state(recorded.event.call_id, "waiting")
        rows = self._rows.apply(recorded, self._session.transcript)
        if isinstance(recorded.event, SideQuestionAnswered) and self._side_question.settle(rows):
            return
        if isinstance(recorded.event, AssistantSpoke):
            rows = self._arriving.settle(rows)
        new_rows: dict[RowKey, Row] = {}
        for row in rows:
            for key in row.replaces if isinstance(row, DividerRow) else ():
                self._model.discard(key)
                new_rows.pop(key, None)
            if not isinstance(row, DividerRow) or row.text:
                new_rows[row.key] = row
        self._put_all(new_rows.values())

    def _show_waiting(self) -> None:
        if self._is_past:
            return
        conversation = self._session.conversation
        since_ms = conversation.response.waiting_since_ms
        retry = conversation.response.retry_state
        if since_ms and (retry is None or not retry.wait_s):  # until the countdown ends nothing is asked
            self._arriving.show_waiting(since_ms, self._model_name())

    def _model_name(self) -> str:
        info = self._session.conversation.model
        return model_name(info.label, info.demo)

    def _show_ask(self, ask: ApprovalRequest | Question) -> None:
        self._set_tool_state(ask.call_id, "question" if isinstance(ask, Question) else "approval")
        if self._asks.show(ask):
            self._announce_ask(ask)

    def _announce_ask(self, ask: ApprovalRequest | Question) -> None:
        if isinstance(ask, ApprovalRequest):
            self._announce(tr("Approval needed: {request}", request=translate(ask.summary)))
        elif isinstance(ask, ServerQuestion):
            self._announce(tr("{server} asks: {question}", server=ask.server, question=ask.text))
        else:
            self._announce(tr("The agent asks: {question}", question=ask.text))

    def _drop_answered_asks(self) -> None:
        self._asks.drop_others(ask.call_id for ask in self._session.conversation.asks)

    def _show_missed_questions(self) -> None:
        """Show the questions that the newest turn ended without: they can still be answered."""
        for question in self._session.conversation.missed_questions:
            self._asks.show(question, is_late=True)

    def _on_side_question(self, progress: SideQuestionProgress) -> None:
        if progress.is_running:
            self._side_question.show(progress.question, progress.answer, self._model_name())
        else:
            self._side_question.drop()

    def _on_subagent_progress(self, progress: SubagentProgress) -> None:
        self._drop_answered_asks()
        self._model.put_all(self._rows.on_subagent_progress(progress))

    def _show_running_output(self, call_id: str) -> None:
        running = self._session.conversation.running_calls.find(call_id)
        if running is not None:
            output = RunningOutput.from_output(running.started_at_ms, running.tail)
            self._model.put_all(self._rows.show_running_output(call_id, output))

    def _show_clocks(self) -> None:
        for call_id in () if self._is_past else tuple(self._session.transcript.open_calls):
            self._show_running_output(call_id)
        self._show_waiting()

    def _set_tool_state(self, call_id: str, state: ToolState) -> None:
        self._model.put_all(self._rows.set_state(call_id, state))

    def _show_interrupted_calls(self) -> None:
        for call_id in tuple(self._session.transcript.open_calls):
            self._model.put_all(self._rows.interrupt(call_id))


async def _read_changes(changes: WorkspaceChanges, session_id: str, capture_id: str) -> ChangedFilesContent:
    captures = (await changes.of_session(session_id)).captures
    found = next((capture for capture in captures if capture.capture_id == capture_id), None)
    if found is None or found.is_removed:
        return ChangedFilesContent(problem=tr("These changes aren't in the file history."))
    diffs: list[tuple[FileChange, FileDiff]] = []
    lines = 0
    for change in found.changes[:MAX_FILES]:
        if lines >= MAX_LINES:
            break
        diff = await changes.diff(change.before, change.after)
        lines += sum(len(hunk.lines) for hunk in diff.hunks)
        diffs.append((change, diff))
    return await asyncio.to_thread(changed_files_content, diffs, len(found.changes))


def _split_ends(data: bytes, in_full: bool) -> HeadAndTail:
    text = data.decode("utf-8", "replace")
    ends = head_and_tail(text)
    return HeadAndTail(text.removesuffix("\n"), "", ends.lines) if in_full else ends
