"""Events to chat rows: a pure reduction, the same for a whole log and for one more event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias

import msgspec
from msgspec.structs import replace
from PySide6.QtGui import QImage

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import covers_around
from helix_desktop.context.policy_numbers import policy_from_event
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.sections import gist_bullets
from helix_desktop.context.window.message_states import MessageStates
from helix_desktop.context.window.rewrite_sizes import ContextRewrite, RewriteSizes
from helix_desktop.domain.answer_bounds import AnswerBound
from helix_desktop.domain.choices import AGENT_NAMES, ForeignAgent, PermissionMode
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    OutputHeld,
    SideQuestionAnswered,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.foreign import ForeignCompaction, ForeignRecords, SessionImported
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.domain.events.session import (
    BudgetNeared,
    BudgetSet,
    ChangesRecorded,
    EffortChosen,
    EffortRefused,
    FilesChanged,
    HoldSet,
    InstructionsAdded,
    McpServerFailed,
    ModeChanged,
    ModelChosen,
    PolicyChosen,
    SessionBranched,
    WindowLearned,
)
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.domain.file_history.changes import RevertDirections
from helix_desktop.domain.messages import StopReason, TurnOutcome
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.domain.typed_text import program_texts, typed_text
from helix_desktop.ui.chat.actions import ControlTurn, OpenChanges, OpenVersion, RowKey
from helix_desktop.ui.chat.rows.row_texts import context_note
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    AttachmentNote,
    DividerRow,
    NoticeLevel,
    NoticeRow,
    Row,
    TurnFooterRow,
    UserRow,
    stays_below,
)
from helix_desktop.ui.chat.rows.tool_rows_from_events import ToolRows, is_outdated, outcome_fields
from helix_desktop.ui.kit.intents import ApplyRemedy, Intent, Redo, RetryFailed, ShowInTimeline, Undo
from helix_desktop.words.answer_ends import cut_off_fix, cut_off_text, window_learned_text
from helix_desktop.words.button_labels import supported_remedies
from helix_desktop.words.context_changes import (
    context_change_text,
    count_contents,
    divider_change_text,
    handover_text,
    is_by_user,
    retaken_text,
    swept_contents_text,
    unusual_reason_text,
)
from helix_desktop.words.costs import budget_text, cost_text
from helix_desktop.words.file_changes import changed_file_text, files_changed_text, recorded_changes_text
from helix_desktop.words.instructions import instructions_text
from helix_desktop.words.model_names import (
    effort_refused_text,
    effort_text,
    model_name,
    model_text,
    recorded_writer,
    with_effort,
)
from helix_desktop.words.next_compaction import next_try_text
from helix_desktop.words.numbers import format_usd
from helix_desktop.words.policies import session_policy_text
from helix_desktop.words.sessions import mode_text
from helix_desktop.words.state_words import hold_text
from helix_desktop.words.summaries import summary_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

MIN_FREED_SHARE = 0.05
"""Share of the context window that the rewrites before a request have to free for a line in the chat."""


class _Group(msgspec.Struct, eq=False):
    """The rewrites before one request, by their events; sizes in tokens, as `RewriteSizes` has them.

    Those of the user have a line of their own.
    """

    is_by_user: bool
    seqs: list[int] = []
    text: str = ""  # in place of the sizes
    handover_seq: int = 0
    is_refused: bool = False  # the model's summary of that handover
    summaries: list[FoldMade | ObservationsPlaced | HandoverMade | Excluded] = []
    """A handover stands for the others."""
    swept: list[int] = []  # messages
    freed: int = 0
    reasons: dict[str, None] = {}
    before: int = 0
    after: int = 0
    retaken: int = 0  # messages among what left that the user had brought back

    def row(self, transcript: Transcript, around: Mapping[int, int]) -> DividerRow:
        """Return the line about them; of those inside later ones (`around`) it says which to undo first."""
        change = context_change_text(self.before, self.after) if self.before else tr("Context")
        titles = dict.fromkeys(divider_change_text(event, transcript) for event in self.summaries)
        items = filter(None, map(transcript.messages.item, self.swept))
        cached = swept_contents_text(*count_contents(item.event for item in items)) if self.swept else ""
        refused = tr("the model's summary wasn't used") if self.is_refused else ""
        words = (*titles, cached, next(iter(self.reasons), ""), refused, retaken_text(self.retaken))
        text = self.text or " · ".join(filter(None, (change, *words)))
        seq = self.handover_seq or self.seqs[0]
        is_handover = bool(self.handover_seq)
        active = tuple(
            seq
            for seq in self.seqs
            if transcript.can_undo(seq) and (seq not in around or around[seq] in self.seqs)
        )
        undone = tuple(seq for seq in self.seqs if transcript.can_redo(seq))
        redoable = tuple(seq for seq in undone if seq not in around)
        actions: list[Intent] = [ShowInTimeline(seq, is_handover)]
        if active:
            actions.append(Undo(active))
        elif redoable:
            actions.append(Redo(redoable))
        is_undone = bool(undone) and not any(map(transcript.can_undo, self.seqs))
        undo_first = "" if active or redoable else self._undo_first(transcript, around)
        key = RowKey(self.seqs[0])
        return DividerRow(key, "context", text, is_undone, tuple(actions), undo_first=undo_first)

    def _undo_first(self, transcript: Transcript, around: Mapping[int, int]) -> str:
        for seq in self.seqs:
            outer = transcript.rewrites.by_seq.get(around.get(seq, 0))
            is_change = transcript.can_undo(seq) or transcript.can_redo(seq)
            if is_change and isinstance(outer, FoldMade | ObservationsPlaced | HandoverMade):
                return tr("Undo “{title}” first", title=summary_title(outer, transcript))
        return ""


class ContextLines:
    """One line for all rewrites before a request that freed enough for one.

    An output that comes between begins another: figures are those of the request at their place. So does a
    second handover that replaces none.
    Also if a handover is among them, or they took what the user had brought back.
    """

    def __init__(self) -> None:
        self._group = _Group(False)
        self._shown: list[_Group] = []  # those that have a line
        self._sizes = RewriteSizes()

    def on_answer(self, recorded: RecordedEvent, transcript: Transcript) -> None:
        self._sizes.apply(recorded, transcript)
        self._group = _Group(False)

    def on_output(self) -> None:
        self._group = _Group(False)

    def on_rewrite(
        self, recorded: RecordedEvent, event: ContextRewrite, transcript: Transcript
    ) -> DividerRow | None:
        """Return the line of the group with this rewrite; None as long as it frees too little for one."""
        seq = recorded.seq
        is_attached = isinstance(event, SweepMade) and event.reason in ATTACHED_SWEEP_REASONS
        is_others = not is_attached and is_by_user(event) != self._group.is_by_user
        is_handover = isinstance(event, HandoverMade) and not (event.revises or event.replaces)
        if is_others or (is_handover and self._group.handover_seq):
            self._group = _Group(is_by_user(event))
        group = self._group
        if not (is_attached and seq - 1 in group.seqs):  # it falls and returns with the one before it
            group.seqs.append(seq)
        size = self._sizes.apply(recorded, transcript)
        freed = 0
        if size is not None:
            freed = size.before - size.after
            # What came between two of them, as an undo, counts before both: they freed no other tokens.
            group.before = group.before - group.after + size.before
            group.after = size.after
        elif not isinstance(event, HandoverMade):
            freed = event.saved
        group.retaken += transcript.retaken.get(seq, 0)
        if isinstance(event, HandoverMade):
            group.handover_seq = group.handover_seq if event.revises else seq
            group.text = handover_text(event, transcript) if event.origin else ""
            group.is_refused = bool(event.refused) and not recorded_writer(event.model)
            group.summaries = [event]
        elif isinstance(event, SweepMade):
            group.swept += event.swept if freed else ()
        elif freed and not group.handover_seq:
            group.summaries.append(event)
        group.freed += freed
        if not is_attached and (reason := unusual_reason_text(event)):
            group.reasons[reason] = None
        is_large = group.freed >= MIN_FREED_SHARE * self._sizes.window
        if not (group.handover_seq or group.retaken or is_large):
            return None
        if group not in self._shown:
            self._shown.append(group)
        return group.row(transcript, {})

    def rows(self, transcript: Transcript) -> list[DividerRow]:
        around = covers_around(transcript) if self._shown else {}
        return [group.row(transcript, around) for group in self._shown]


def handover_row(recorded: RecordedEvent, handover: HandoverMade, transcript: Transcript) -> NoticeRow:
    """Return the handover that a session starts from: gist, all of it on request, and the way back."""
    messages = translate(handover_counts(transcript, handover).text)
    return NoticeRow(
        RowKey(recorded.seq, part="handover"),
        "handover",
        handover_title(is_undone=False),
        tr("{messages} compacted", messages=messages),  # the panel has its tokens
        "\n".join(f"- {bullet.text}" for bullet in gist_bullets(handover.sections)),
        (OpenVersion(handover.origin, is_source=True),),
        "\n\n".join(
            "\n".join((f"### {section.title}", "", *(f"- {bullet.text}" for bullet in section.bullets)))
            for section in handover.sections
            if section.bullets
        ),
    )


def handover_title(*, is_undone: bool) -> str:
    """Return what the card says; from which session, the divider above it says."""
    if is_undone:
        return tr("Not in the context: the handover summary that this session starts from was undone")
    return tr("This session starts from a handover summary")


_REWRITES = (
    SweepMade, HandoverMade, FoldMade, ObservationsPlaced, FormChosen, Excluded, Pinned, Unpinned, Undone,
    Redone,
)  # fmt: skip

_Notice: TypeAlias = (
    HandoverFailed | ObservationsFailed | BudgetNeared | EffortRefused | WindowLearned | McpServerFailed
)


def _message_row(recorded: RecordedEvent, event: UserSpoke, transcript: Transcript) -> UserRow:
    prompt = f"{SLASH}{event.prompt.command} · {event.prompt.path}" if event.prompt else ""
    seq = recorded.seq
    notes = (AttachmentNote(each, is_outdated(each.digest, seq, transcript)) for each in event.attachments)
    is_editable = not transcript.parent
    return UserRow(
        RowKey(recorded.seq), _shown_text(event), tuple(notes), event.steered, prompt, is_editable=is_editable
    )


def _shown_text(event: UserSpoke) -> str:
    """Return a message as the chat shows it, with a line for what a program put in and the cache holds."""
    programs = program_texts(event.text)
    if event.short is None or not programs:
        return event.text
    lines = "\n".join(program.line for program in programs)
    return "\n\n".join(filter(None, (typed_text(event.text), lines)))


class TurnEnds:
    """Reduces the ends of turns; only the newest end offers something to do."""

    def __init__(self) -> None:
        self._end: DividerRow | NoticeRow | None = None
        self._outcome: TurnOutcome = "done"
        self._answer: AssistantRow | None = None  # the newest one that called no tools
        self._answer_seq = 0
        self._cut: StopReason = "end"  # why the newest answer ended
        self._bound: AnswerBound = ""  # of ours, if one ended it
        self._limited: tuple[RecordedEvent, TurnEnded] | None = None  # the newest end, for want of budget
        self._is_budget_spent = False  # still, after that
        self._attempts = 0

    def on_answer(self, recorded: RecordedEvent, response: AssistantSpoke, row: Row | None) -> None:
        """Note an answer and its first row: a retry may replace it."""
        self._answer = row if isinstance(row, AssistantRow) and not response.calls else None
        self._answer_seq = recorded.seq
        self._cut = response.stop
        self._bound = response.bound

    def on_turn_event(
        self, recorded: RecordedEvent, event: TurnEnded | TurnRetried, *, is_subagent: bool = False
    ) -> list[Row]:
        """Return the row of a turn's end, or the line that an attempt folds to.

        A subagent's turn that is done has none: it cannot be answered again, nor branch.
        """
        if isinstance(event, TurnRetried):
            return self._attempt_rows(recorded, event)
        self._is_budget_spent = event.how == "failed" and event.cause == "budget"
        self._limited = (recorded, event) if self._is_budget_spent else None
        self._outcome = event.how
        self._end = _end_row(recorded, event) or self._cut_row(recorded.seq)
        if event.how != "done":
            return [self._end] if self._end else []
        footer: list[Row] = [] if is_subagent else [TurnFooterRow(RowKey(recorded.seq))]
        return [self._end, *footer] if self._end else footer

    def on_budget(self, *, is_spent: bool) -> list[Row]:
        """Return the newest end, if it came for want of budget, when there is some again or none any more."""
        if self._end is None or self._limited is None or is_spent == self._is_budget_spent:
            return []
        self._is_budget_spent = is_spent
        self._end = _end_row(*self._limited) if is_spent else _lifted_row(*self._limited)
        return [self._end] if self._end is not None else []

    def _cut_row(self, seq: int) -> DividerRow | NoticeRow | None:
        """Return the line that says why the answer of a turn that is done is not whole; None if it is."""
        key = RowKey(seq, part="cut")
        text = cut_off_text(self._cut, self._bound)
        actions = (ControlTurn("continue" if self._cut in ("length", "context", "paused") else "retry"),)
        if self._cut in ("length", "paused"):
            return DividerRow(key, "interrupted", text, actions=actions)
        return NoticeRow(key, "warning", text, "", cut_off_fix(self._cut), actions) if text else None

    def _attempt_rows(self, recorded: RecordedEvent, event: TurnRetried) -> list[Row]:
        """Return the line that an attempt folds to; none in a branch that begins with the retry."""
        gone: list[Row] = [self._end] if self._end else []
        end = self._end
        details = [end.what, end.why, end.details] if isinstance(end, NoticeRow) else []
        if self._answer is not None and self._answer_seq > event.after:
            gone.append(self._answer)
            details.insert(0, self._answer.text)
        if not gone:
            return []
        self._attempts += 1
        row = DividerRow(
            RowKey(recorded.seq),
            "attempt",
            _attempt_text(self._attempts, self._outcome),
            details=tuple(text for text in details if text),
            replaces=tuple(attempt.key for attempt in gone),
        )
        self._end = self._answer = None
        return [row]

    def on_user_message(self, *, new_turn: bool) -> list[Row]:
        end = self._end
        self._end = None
        if new_turn:
            self._attempts = 0
        if end is None or not end.actions:
            return []
        if self._limited is not None:  # another message went on
            end = replace(_lifted_row(*self._limited), fix="")
        return [replace(end, actions=())]


def _end_row(recorded: RecordedEvent, ended: TurnEnded) -> DividerRow | NoticeRow | None:
    key = RowKey(recorded.seq)
    if ended.how == "done":
        return None
    if ended.how != "failed":
        both = ControlTurn("continue"), ControlTurn("retry")
        return DividerRow(key, "interrupted", _stop_text(ended), actions=both)
    what = translate(ended.what)
    why = translate(ended.why)
    if ended.cause == "budget":
        fix = tr("Raise the budget to continue.")
        budget = ApplyRemedy("set_budget")
        return NoticeRow(key, "warning", what, why, fix, (budget, ControlTurn("retry")))
    remedies = map(ApplyRemedy, supported_remedies(ended.remedies))
    actions: tuple[Intent, ...] = (*remedies, ControlTurn("retry"))
    return NoticeRow(key, "error", what, why, translate(ended.fix), actions, translate(ended.details))


def _lifted_row(recorded: RecordedEvent, ended: TurnEnded) -> NoticeRow:
    return NoticeRow(
        RowKey(recorded.seq),
        "info",
        tr("The turn stopped because the budget was used up."),
        translate(ended.why),
        tr("You can continue now."),
        (ControlTurn("continue"), ControlTurn("retry")),
    )


def _stop_text(ended: TurnEnded) -> str:
    if ended.how == "stopped":
        return tr("Stopped: {reason}", reason=translate(ended.why)) if ended.why else tr("Stopped")
    if ended.cause == "closed":
        return tr("Stopped: Helix or the workspace was closed")
    match ended.interruption:
        case "crash":
            return tr("Interrupted: Helix ended during this turn")
        case "unsaved":
            return tr("Interrupted: what came next couldn't be saved")
        case "":
            return tr("Interrupted")


def _attempt_text(number: int, outcome: TurnOutcome) -> str:
    match outcome:
        case "done":
            return tr("Attempt {number} finished", number=number)
        case "stopped":
            return tr("Attempt {number} stopped", number=number)
        case "failed":
            return tr("Attempt {number} failed", number=number)
        case "interrupted":
            return tr("Attempt {number} interrupted", number=number)


def side_question_rows(recorded: RecordedEvent, event: SideQuestionAnswered) -> list[Row]:
    cost = cost_text(event.spent, event.cost, event.demo, event.estimated, event.unpriced)
    note = " · ".join((tr("not in context"), cost))
    if event.stopped:
        note = f"{tr('canceled')} · {note}"
    name = model_name(event.model, event.demo)
    answer_key = RowKey(recorded.seq)
    return [
        UserRow(RowKey(recorded.seq, part="side"), event.question, is_side=True),
        AssistantRow(answer_key, event.answer, recorded.at, name, side_note=note),
    ]


class ChatRows(ToolRows):
    """Makes rows from one session's events. `apply` returns the rows that are new or changed."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = TurnEnds()
        self._context = ContextLines()
        self._turns: dict[str, int] = {}  # by the id of the capture
        self._directions = RevertDirections()
        self._changed_paths: set[str] = set()  # that lines name since the last message
        self._mode: PermissionMode = "ask"
        self._mode_before: PermissionMode | None = None  # the mode changes since the last message
        self._mode_key: RowKey | None = None  # of their row
        self._speaker: str | None = None  # whose name stands above the answers of a message
        self._keys_with_attachments: list[RowKey] = []
        self._first_handover: RowKey | None = None
        self._refusals: set[str] = set()  # why handovers were refused
        self._agent: ForeignAgent = "chat-messages"  # of an imported session

    def apply(self, recorded: RecordedEvent, transcript: Transcript) -> list[Row]:
        """Return the rows that this event adds or changes; `after` is the transcript with it applied."""
        rows = self.add(recorded, transcript)
        match recorded.event:
            case ToolAnswered() | FilesChanged() | TurnRetried():
                rows += self._updated_staleness(transcript)
                if self._is_seen_again(recorded.event):
                    rows += self._updated_badges(transcript)
                rows += self._update_notes(
                    lambda row, note: replace(
                        note, is_outdated=is_outdated(note.attachment.digest, row.key.seq, transcript)
                    )
                )
            case event if isinstance(event, _REWRITES):
                return [*rows, *self.updated_states(transcript)]
        return rows

    def updated_states(self, transcript: Transcript) -> list[Row]:
        rows = self._updated_badges(transcript)
        states = MessageStates(transcript)
        for key, row in self.rows.items():
            if isinstance(row, UserRow) and not row.is_side:
                note = context_note(states.state_of(key.seq))
                cover = states.cover_of(key.seq)
                cover_seq = cover.seq if cover is not None and note else 0
                rows += self._change(key, context_note=note, cover_seq=cover_seq)
            elif isinstance(row, AssistantRow) and transcript.messages.item(key.seq) is not None:
                rows += self._change(key, context_note=context_note(states.state_of(key.seq)))
        changed = [line for line in self._context.rows(transcript) if line != self.rows[line.key]]
        self.rows |= {line.key: line for line in changed}
        rows += changed
        if (first := self._first_handover) is not None:
            rows += self._change(first, what=handover_title(is_undone=transcript.can_redo(first.seq)))
        return rows

    def _update_notes(self, change: Callable[[UserRow, AttachmentNote], AttachmentNote]) -> list[Row]:
        rows = list[Row]()
        for key in self._keys_with_attachments:
            row = self.rows[key]
            assert isinstance(row, UserRow)
            rows += self._change(key, attachments=tuple(change(row, note) for note in row.attachments))
        return rows

    def updated_images(self, transcript: Transcript, *, are_sent: bool) -> list[Row]:
        """Let images say whether they are left out; `are_sent`: the model sees images."""
        swept = transcript.window.swept

        def change(row: UserRow, note: AttachmentNote) -> AttachmentNote:
            is_left_out = bool(note.attachment.image) and (not are_sent or row.key.seq in swept)
            return replace(note, is_left_out=is_left_out)

        return self._update_notes(change)

    def show_thumbnail(self, key: RowKey, digest: str, thumbnail: QImage) -> list[Row]:
        def change(row: UserRow, note: AttachmentNote) -> AttachmentNote:
            is_it = row.key == key and note.attachment.image and note.attachment.digest == digest
            return replace(note, thumbnail=thumbnail) if is_it else note

        return self._update_notes(change)

    def add(self, recorded: RecordedEvent, transcript: Transcript) -> list[Row]:
        if isinstance(recorded.event, UserSpoke | AssistantSpoke | ToolAnswered):
            self._mode_before = self._mode_key = None  # the next mode change has a row of its own
        rows = [row for row in self._rows_of(recorded, transcript) if row is not None]
        for row in rows:
            for key in row.replaces if isinstance(row, DividerRow) else ():
                self.rows.pop(key, None)
            if not isinstance(row, DividerRow) or row.text:
                below = [] if row.key in self.rows else self._rows_below(row)
                self.rows[row.key] = row
                self.rows |= {key: self.rows.pop(key) for key in below}
        return rows

    def _rows_below(self, row: Row) -> list[RowKey]:
        """Return the keys of the last rows, in order, that stay below a new one."""
        return [*takewhile(lambda key: stays_below(self.rows[key], row), reversed(self.rows))][::-1]

    def _rows_of(self, recorded: RecordedEvent, transcript: Transcript) -> Sequence[Row | None]:
        seq = recorded.seq
        match recorded.event:
            case UserSpoke() as message:
                self._speaker = None
                self._changed_paths.clear()
                if message.attachments:
                    self._keys_with_attachments.append(RowKey(seq))
                ended = self.ends.on_user_message(new_turn=not message.steered)
                return [*ended, _message_row(recorded, message, transcript)]
            case AssistantSpoke() as response:
                answer = self._answer_row(recorded, response)
                rows: list[Row] = [*([answer] if answer else []), *self._call_rows(seq, response, transcript)]
                self.ends.on_answer(recorded, response, rows[0] if rows else None)
                self._context.on_answer(recorded, transcript)
                return rows
            case ToolAnswered() as output:
                self._context.on_output()
                return self._on_answer(seq, output, transcript)
            case SideQuestionAnswered() as side_question:
                self._speaker = None
                return side_question_rows(recorded, side_question)
            case SubagentStarted() as started:
                return self._change_call(started.call_id, started=started)
            case OutputHeld(answer=output):
                return self._change_call(output.call_id, **outcome_fields(output))
            case ChangesRecorded() as changes:
                has_card = changes.call_id in self.key_by_call
                cards = self._on_changes(changes, transcript)
                return [*cards, self._changes_row(seq, changes, transcript, has_card=has_card)]
            case TurnEnded() | TurnRetried() as event:
                self._speaker = None
                return self.ends.on_turn_event(recorded, event, is_subagent=bool(transcript.parent))
            case notice if isinstance(notice, _Notice):
                return [self._notice(recorded, notice, transcript)]
            case SessionImported() | ForeignRecords() | ForeignCompaction() as foreign:
                self._agent = foreign.agent if isinstance(foreign, SessionImported) else self._agent
                return [_foreign_notice(seq, foreign, AGENT_NAMES.get(self._agent, ""))]
            case HandoverMade() | SweepMade() | FoldMade() | ObservationsPlaced() | Excluded() as rewrite:
                line = self._context.on_rewrite(recorded, rewrite, transcript)
                if not (isinstance(rewrite, HandoverMade) and rewrite.origin):
                    return [line]
                first = handover_row(recorded, rewrite, transcript)
                self._first_handover = first.key
                return [line, first]
        return [self._setting_row(recorded)]

    def _changes_row(
        self, seq: int, event: ChangesRecorded, transcript: Transcript, *, has_card: bool
    ) -> DividerRow | None:
        """Return the line about files that changed; None if the card of their call shows it."""
        self._turns[event.capture] = transcript.messages.turns
        is_redo = self._directions.add(event.capture, event.source, event.scope, event.reverts)
        if has_card:
            return None
        turns = {self._turns.get(capture, 0) for capture in event.reverts}
        self._changed_paths.update(event.paths)
        words = recorded_changes_text(event, turns.pop() if len(turns) == 1 else 0, is_redo=is_redo)
        return DividerRow(RowKey(seq), "note", words, actions=(OpenChanges(event.capture),))

    def _setting_row(self, recorded: RecordedEvent) -> DividerRow | None:
        """Return the line about a setting, changed files, instructions that came, or where a branch begins.

        Where a message or answer has another version, buttons below it say so.
        """
        key = RowKey(recorded.seq)
        match recorded.event:
            case ModeChanged(mode=mode):
                return self._mode_row(recorded.seq, mode)
            case ModelChosen(model=model):
                words = model_text(model)
            case EffortChosen(effort=effort):
                words = effort_text(effort)
            case PolicyChosen(policy=fields):
                words = session_policy_text(policy_from_event(fields))
            case HoldSet(on=on):
                words = hold_text(on)
            case BudgetSet() as budget:
                words = budget_text(budget)
            case FilesChanged():
                files = [file for file in recorded.event.files if file.path not in self._changed_paths]
                if not files:  # as after a revert, which its own line says
                    return None
                each = tuple(map(changed_file_text, files)) if len(files) > 1 else ()
                return DividerRow(key, "note", files_changed_text(files), details=each)
            case InstructionsAdded() as added:
                words = instructions_text(added)
            case SessionBranched(how=how, parent=parent) if how not in ("edit", "retry"):
                words = tr("Rewound to here") if how else tr("Branch begins here")
                return DividerRow(key, "note", words, actions=(OpenVersion(parent),))
            case _:
                return None
        return DividerRow(key, "note", words)

    def _mode_row(self, seq: int, mode: PermissionMode) -> DividerRow | None:
        """Return the one row of successive mode changes; without text if the mode is the former one again."""
        if self._mode_before is None:
            self._mode_before = self._mode
        self._mode = mode
        replaced = (self._mode_key,) if self._mode_key else ()
        text = "" if mode == self._mode_before else mode_text(mode)
        self._mode_key = RowKey(seq) if text else None
        if not text and not replaced:
            return None
        return DividerRow(RowKey(seq), "note", text, replaces=replaced)

    def _answer_row(self, recorded: RecordedEvent, event: AssistantSpoke) -> AssistantRow | None:
        """Return the row of an answer; without words it is a name above calls, or None below that name."""
        name = with_effort(model_name(event.model, event.demo), event.effort)
        words = event.text if event.text.strip() else ""
        if not words and (not event.calls or name == self._speaker):
            return None
        self._speaker = name
        reasoning = event.reasoning if words else ""
        return AssistantRow(RowKey(recorded.seq), words, recorded.at, name, reasoning=reasoning)

    def _notice(
        self, recorded: RecordedEvent, event: _Notice, transcript: Transcript
    ) -> NoticeRow | DividerRow | None:
        """Return what an event tells; that a handover isn't worth it, only once per reason."""
        if isinstance(event, HandoverFailed) and event.is_refusal:
            if event.why in self._refusals:
                return None
            self._refusals.add(event.why)
            return NoticeRow(RowKey(recorded.seq), "info", translate(event.what), translate(event.why))
        key = RowKey(recorded.seq)
        match event:
            case ObservationsFailed(what=what, why=why, is_error=False):
                return DividerRow(key, "note", " ".join((translate(what), translate(why))))
            case BudgetNeared(tokens=tokens, most_tokens=most_tokens, cost=cost, most_cost=most_cost):
                usage = []
                if most_tokens:
                    usage.append(tr("{used} of {budget} tokens", used=tokens, budget=most_tokens))
                if most_cost:
                    used = format_usd(cost)
                    budget = format_usd(most_cost)
                    usage.append(tr("{used} of {budget}", "money used of a budget", used=used, budget=budget))
                what = tr("The session budget is almost used up.")
                fix = tr("The turn stops when the budget runs out.")
                return NoticeRow(key, "info", what, " · ".join(usage), fix, (ApplyRemedy("set_budget"),))
            case EffortRefused(reason=reason):
                fix = tr("Choose another effort in the model menu, or leave it to the provider.")
                return NoticeRow(key, "info", effort_refused_text(event), reason, fix)
            case McpServerFailed(server=server, reason=reason):
                what = tr("The MCP server {server} wasn't running in this turn.", server=server)
                return NoticeRow(key, "warning", what, translate(reason))
            case WindowLearned(reason=reason):
                fix = tr("To use another size, reset or enter it in Settings → Providers.")
                return NoticeRow(key, "info", window_learned_text(event), reason, fix)
        # What was tried and not made, and what comes next; an unused summary can be asked for again.
        is_handover = isinstance(event, HandoverFailed)
        again = RetryFailed("handover" if is_handover else "observations")
        failures = transcript.handover_failures if is_handover else transcript.observation_failures
        actions = (again,) if event.problem is not None else ()
        spent = cost_text(event.spent, event.cost, demo=not event.cost, is_estimated=event.estimated)
        attempt = tr("This attempt used {usage}.", usage=spent) if spent else ""
        fix = " ".join(filter(None, (attempt, next_try_text(failures))))
        return NoticeRow(key, "warning", translate(event.what), translate(event.why), fix, actions)


def rows_from_log(log: list[RecordedEvent]) -> tuple[ChatRows, list[Row]]:
    rows = ChatRows()
    transcript = Transcript()
    for recorded in log:
        transcript.apply(recorded)
        rows.add(recorded, transcript)
    rows.updated_states(transcript)
    return rows, list(rows.rows.values())


def _foreign_notice(
    seq: int, event: SessionImported | ForeignRecords | ForeignCompaction, agent: str
) -> NoticeRow | None:
    key = RowKey(seq)
    match event:
        case SessionImported(folder=folder):
            return NoticeRow(key, "info", tr("Imported from {agent}.", agent=agent), folder)
        case ForeignCompaction(summary=summary, tokens=tokens, before=before):
            what = tr("{agent} compacted its context here.", agent=agent)
            sizes = tr("{before} → {after} tokens.", before=before, after=tokens) if before and tokens else ""
            kept = tr("Nothing left this session for it: all messages above are still here.")
            return NoticeRow(key, "info", what, " ".join(filter(None, (sizes, kept))), details=summary)
        case ForeignRecords(records=records, by_kind=by_kind, damaged=damaged) if records:
            count = sum(record.count for record in by_kind)
            if not (count or damaged):
                return None
            what = tr.plural(count, "%n record is kept as data.", "%n records are kept as data.")
            skipped = tr.plural(damaged, "%n damaged record was skipped.", "%n damaged records were skipped.")
            kinds = "\n".join(f"{record.count} × {record.kind}" for record in by_kind)
            level: NoticeLevel = "warning" if damaged else "info"
            return NoticeRow(key, level, what, skipped if damaged else "", details=kinds)
    return None
