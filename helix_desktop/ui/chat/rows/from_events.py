"""Events to chat rows: a pure reduction, the same for a whole log and for one more event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace
from PySide6.QtGui import QImage

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.window.window_breakdown import MessageStates
from helix_desktop.domain.choices import AGENT_NAMES, ForeignAgent
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
from helix_desktop.domain.events.foreign import (
    ForeignCompaction,
    ForeignRecords,
    RecordCount,
    SessionImported,
)
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import (
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
    ChangesRecorded,
    EffortRefused,
    FilesChanged,
    McpServerFailed,
    WindowLearned,
)
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
    Section,
)
from helix_desktop.domain.messages import StopReason, TurnOutcome
from helix_desktop.domain.slash_command import SLASH
from helix_desktop.ui.chat.actions import ControlTurn, OpenVersion, RowKey
from helix_desktop.ui.chat.rows.dividers import ContextLines, Dividers
from helix_desktop.ui.chat.rows.row_texts import context_note
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    AttachmentNote,
    DividerRow,
    NoticeRow,
    Row,
    TurnFooterRow,
    UserRow,
)
from helix_desktop.ui.chat.rows.tool_rows import ToolRows
from helix_desktop.ui.kit.intents import ApplyRemedy, Intent, RetrySummary
from helix_desktop.words.action_labels import supported_remedies
from helix_desktop.words.answer_ends import cut_off_fix, cut_off_text, window_learned_text
from helix_desktop.words.costs import cost_text
from helix_desktop.words.efforts import effort_refused_text, with_effort
from helix_desktop.words.models import model_name
from helix_desktop.words.numbers import format_usd
from helix_desktop.words.rewrite_reasons import next_try_text
from helix_desktop.words.rewrites import gist_bullets
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_REWRITES = (
    SweepMade, HandoverMade, FoldMade, ObservationsPlaced, FormChosen, Excluded, Pinned, Unpinned, Undone,
    Redone,
)  # fmt: skip

_Notice: TypeAlias = (
    HandoverFailed | ObservationsFailed | BudgetNeared | EffortRefused | WindowLearned | McpServerFailed
)


class AnswerRows:
    """Makes the rows of answers, and again those that rewrites took out of the context or put back."""

    def __init__(self) -> None:
        self._rows: dict[RowKey, AssistantRow] = {}
        self._speaker: str | None = None  # whose name stands above the answers of a message

    def end(self) -> None:
        """Note that what comes next is another answer: its model's name stands above it."""
        self._speaker = None

    def on_answer(self, recorded: RecordedEvent, event: AssistantSpoke) -> AssistantRow | None:
        """Return the row of an answer; without words it is a name above calls, or None below that name."""
        name = with_effort(model_name(event.model, event.demo), event.effort)
        words = event.text if event.text.strip() else ""
        if not words and (not event.calls or name == self._speaker):
            return None
        self._speaker = name
        reasoning = event.reasoning if words else ""
        row = AssistantRow(RowKey(recorded.seq), words, recorded.at, name, reasoning=reasoning)
        self._rows[row.key] = row
        return row

    def updated_states(self, transcript: Transcript) -> list[AssistantRow]:
        """Return the rows of answers that left the context, or came back; not of those tried again."""
        states = MessageStates(transcript)
        changed = []
        for key, row in self._rows.items():
            note = context_note(states.state_of(key.seq))
            if note != row.context_note and transcript.messages.item(key.seq) is not None:
                changed.append(replace(row, context_note=note))
        self._rows |= {row.key: row for row in changed}
        return changed


class FirstHandover:
    """The handover that a session starts from: gist, all of it on request, and the way back."""

    def __init__(self) -> None:
        self._seq, self._row = 0, NoticeRow(RowKey(0), "handover", "", "")

    def on_event(self, recorded: RecordedEvent, handover: HandoverMade, transcript: Transcript) -> NoticeRow:
        messages = translate(handover_counts(transcript, handover).text)
        self._seq = recorded.seq
        self._row = NoticeRow(
            RowKey(recorded.seq, part="handover"),
            "handover",
            _title(is_undone=False),
            tr("{messages} compacted", messages=messages),  # the inspector has its tokens
            "\n".join(f"- {bullet.text}" for bullet in gist_bullets(handover.sections)),
            (OpenVersion(handover.origin, is_source=True),),
            "\n\n".join(_markdown(section) for section in handover.sections if section.bullets),
        )
        return self._row

    def updated_states(self, transcript: Transcript) -> list[NoticeRow]:
        """Return the card if the handover was undone since, or redone."""
        updated = replace(self._row, what=_title(is_undone=transcript.can_redo(self._seq)))
        if not self._seq or updated == self._row:
            return []
        self._row = updated
        return [updated]


def _title(*, is_undone: bool) -> str:
    """Return what the card says; from which session, the divider above it says."""
    if is_undone:
        return tr("Not in the context: the summary that this session starts from was undone")
    return tr("This session starts from a summary")


def _markdown(section: Section) -> str:
    return "\n".join((f"### {section.title}", "", *(f"- {bullet.text}" for bullet in section.bullets)))


class UserRows:
    """Makes the rows of the user's messages, and again those whose files or state in the context changed."""

    def __init__(self) -> None:
        self._rows: dict[RowKey, UserRow] = {}

    def on_message(self, recorded: RecordedEvent, event: UserSpoke, transcript: Transcript) -> UserRow:
        prompt = f"{SLASH}{event.prompt.command} · {event.prompt.path}" if event.prompt else ""
        row = UserRow(
            RowKey(recorded.seq),
            event.text,
            tuple(
                AttachmentNote(attachment, transcript.stale_digests.get(attachment.digest, 0))
                for attachment in event.attachments
            ),
            event.steered,
            prompt,
            is_editable=not transcript.parent,
        )
        self._rows[row.key] = row
        return row

    def updated_states(self, transcript: Transcript) -> list[UserRow]:
        """Return the rows of messages that rewrites took out of the context, or put back."""
        states = MessageStates(transcript)

        def updated(row: UserRow) -> UserRow:
            note, cover = context_note(states.state_of(row.key.seq)), states.cover_of(row.key.seq)
            cover_seq = cover.seq if cover is not None and note else 0
            is_same = (note, cover_seq) == (row.context_note, row.cover_seq)
            return row if is_same else replace(row, context_note=note, cover_seq=cover_seq)

        return self._update(updated)

    def _update(self, updated: Callable[[UserRow], UserRow]) -> list[UserRow]:
        """Keep and return the rows that are others now."""
        new = {key: updated(row) for key, row in self._rows.items()}
        changed = [row for key, row in new.items() if row is not self._rows[key]]
        self._rows = new
        return changed

    def _update_notes(self, updated: Callable[[UserRow, AttachmentNote], AttachmentNote]) -> list[UserRow]:
        def with_notes(row: UserRow) -> UserRow:
            notes = tuple(updated(row, note) for note in row.attachments)
            return row if notes == row.attachments else replace(row, attachments=notes)

        return self._update(with_notes)

    def updated_images(self, transcript: Transcript, *, are_sent: bool) -> list[UserRow]:
        """Return the rows whose images are left out now, or no longer; `are_sent`: the model sees images."""
        masked = transcript.window.masked
        return self._update_notes(
            lambda row, note: replace(
                note,
                is_left_out=bool(note.attachment.image) and (not are_sent or row.key.seq in masked),
            )
        )

    def with_thumbnail(self, key: RowKey, digest: str, thumbnail: QImage) -> list[UserRow]:
        return self._update_notes(
            lambda row, note: (
                replace(note, thumbnail=thumbnail)
                if row.key == key and note.attachment.image and note.attachment.digest == digest
                else note
            )
        )

    def updated_staleness(self, transcript: Transcript) -> list[UserRow]:
        """Return the rows whose attached files changed, or are again as they were."""
        stale = transcript.stale_digests
        return self._update_notes(
            lambda _, note: replace(note, changed_since=stale.get(note.attachment.digest, 0))
        )


class TurnEnds:
    """Reduces the ends of turns; only the newest end offers something to do."""

    def __init__(self) -> None:
        self._end: DividerRow | NoticeRow | None = None
        self._outcome: TurnOutcome = "done"
        self._answer: AssistantRow | None = None  # the newest one that called no tools
        self._answer_seq = 0
        self._cut: StopReason = "end"  # why the newest answer ended
        self._limited: tuple[RecordedEvent, TurnEnded] | None = None  # the newest end, for want of budget
        self._is_budget_spent = False  # still, after that
        self._attempts = 0

    def on_answer(self, recorded: RecordedEvent, response: AssistantSpoke, row: Row | None) -> None:
        """Note an answer and its first row: a retry may replace it."""
        self._answer = row if isinstance(row, AssistantRow) and not response.calls else None
        self._answer_seq, self._cut = recorded.seq, response.stop

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
        self._outcome, self._end = event.how, _end_row(recorded, event) or self._cut_row(recorded.seq)
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
        key, text = RowKey(seq, part="cut"), cut_off_text(self._cut)
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
            is_quiet=True,
            details=tuple(text for text in details if text),
            replaces=tuple(attempt.key for attempt in gone),
        )
        self._end = self._answer = None
        return [row]

    def on_user_message(self, *, new_turn: bool) -> list[Row]:
        """Return the newest end without its actions: the user has sent another message."""
        end, self._end = self._end, None
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
    what, why = translate(ended.what), translate(ended.why)
    if ended.cause == "budget":
        fix = tr("Raise the budget to continue.")
        budget = ApplyRemedy("set_budget")
        return NoticeRow(key, "warning", what, why, fix, (budget, ControlTurn("retry")))
    remedies = map(ApplyRemedy, supported_remedies(ended.remedies))
    actions: tuple[Intent, ...] = (*remedies, ControlTurn("retry"))
    return NoticeRow(key, "error", what, why, translate(ended.fix), actions, translate(ended.details))


def _lifted_row(recorded: RecordedEvent, ended: TurnEnded) -> NoticeRow:
    """Return the end of a turn for want of budget when there is budget again."""
    return NoticeRow(
        RowKey(recorded.seq),
        "info",
        tr("The turn stopped because the budget was used up."),
        translate(ended.why),
        tr("You can continue now."),
        (ControlTurn("continue"), ControlTurn("retry")),
    )


def _stop_text(ended: TurnEnded) -> str:
    """Return why a turn that did not fail has no end of its own."""
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


class ChatRows:
    """Makes rows from one session's events. `apply` returns the rows that are new or changed."""

    def __init__(self) -> None:
        self.tools, self.users, self.ends = ToolRows(), UserRows(), TurnEnds()
        self._answers = AnswerRows()
        self._dividers, self._context, self._first_handover = Dividers(), ContextLines(), FirstHandover()
        self._refusals: set[str] = set()  # why handovers were refused
        self._agent: ForeignAgent = "chat-messages"  # of an imported session

    def apply(self, recorded: RecordedEvent, transcript: Transcript) -> list[Row]:
        """Return the rows that this event adds or changes; `after` is the transcript with it applied."""
        rows = self.add(recorded, transcript)
        match recorded.event:
            case ToolAnswered() | FilesChanged() | TurnRetried():
                return [*rows, *self.updated_staleness(transcript)]
            case event if isinstance(event, _REWRITES):
                return [*rows, *self.updated_states(transcript)]
        return rows

    def updated_states(self, transcript: Transcript) -> list[Row]:
        """Return the rows whose badge, buttons or words rewrites changed."""
        parts = self.users, self._answers, self._context, self._first_handover
        rows = (row for part in parts for row in part.updated_states(transcript))
        return [*self.tools.updated_badges(transcript), *rows]

    def updated_staleness(self, transcript: Transcript) -> list[Row]:
        """Return the rows that show a file which changed, or is again as it was."""
        return [*self.tools.updated_staleness(transcript), *self.users.updated_staleness(transcript)]

    def add(self, recorded: RecordedEvent, transcript: Transcript) -> list[Row]:
        """Like `apply`, but leave the states of previous rows: for reading a complete log."""
        rows: list[Row | None] = []
        self._dividers.end_mode_changes(recorded.event)
        match recorded.event:
            case UserSpoke() as message:
                self._answers.end()
                rows = [
                    *self.ends.on_user_message(new_turn=not message.steered),
                    self.users.on_message(recorded, message, transcript),
                ]
            case AssistantSpoke() as response:
                answer = self._answers.on_answer(recorded, response)
                rows = [*([answer] if answer else []), *self.tools.on_call(recorded.seq, response)]
                self.ends.on_answer(recorded, response, rows[0] if rows else None)
                self._context.on_answer(response, transcript)
            case ToolAnswered() as output:
                rows = [self.tools.on_answer(recorded, output, transcript)]
            case SideQuestionAnswered() as side_question:
                self._answers.end()
                rows = [*side_question_rows(recorded, side_question)]
            case SubagentStarted() as started:
                rows = [self.tools.on_subagent_started(started)]
            case OutputHeld(answer=output):
                rows = [self.tools.on_output_held(output)]
            case ChangesRecorded() as changes:
                card, seq = self.tools.on_changes(changes), recorded.seq
                rows = [card, self._dividers.on_changes(seq, changes, transcript, has_card=card is not None)]
            case TurnEnded() | TurnRetried() as event:
                self._answers.end()
                rows = [*self.ends.on_turn_event(recorded, event, is_subagent=bool(transcript.parent))]
            case (
                HandoverFailed()
                | ObservationsFailed()
                | BudgetNeared()
                | EffortRefused()
                | WindowLearned()
                | McpServerFailed()
            ) as notice:
                rows = [self._notice(recorded, notice, transcript)]
            case SessionImported() | ForeignRecords() | ForeignCompaction() as foreign:
                self._agent = foreign.agent if isinstance(foreign, SessionImported) else self._agent
                rows = [_foreign_notice(recorded.seq, foreign, AGENT_NAMES.get(self._agent, ""))]
            case HandoverMade() | SweepMade() | FoldMade() | ObservationsPlaced() | Excluded() as rewrite:
                rows = [self._context.on_rewrite(recorded, rewrite, transcript)]
                if isinstance(rewrite, HandoverMade) and rewrite.origin:
                    rows.append(self._first_handover.on_event(recorded, rewrite, transcript))
            case _:
                rows = [self._dividers.on_event(recorded)]
        return [row for row in rows if row is not None]

    def _notice(self, recorded: RecordedEvent, event: _Notice, transcript: Transcript) -> NoticeRow | None:
        """Return what an event tells; that a handover isn't worth it, only once per reason."""
        if isinstance(event, HandoverFailed) and event.is_refusal:
            if event.why in self._refusals:
                return None
            self._refusals.add(event.why)
            return NoticeRow(RowKey(recorded.seq), "info", translate(event.what), translate(event.why))
        return _notice(recorded, event, transcript)


def rows_from_log(log: list[RecordedEvent]) -> tuple[ChatRows, list[Row]]:
    """Return the rows of a whole log in order, and the reduction that goes on from there."""
    rows, transcript = ChatRows(), Transcript()
    ordered: dict[RowKey, Row] = {}
    for recorded in log:
        transcript.apply(recorded)
        for row in rows.add(recorded, transcript):
            for key in row.replaces if isinstance(row, DividerRow) else ():
                ordered.pop(key, None)
            if not isinstance(row, DividerRow) or row.text:
                ordered[row.key] = row
    for row in rows.updated_states(transcript):
        ordered[row.key] = row
    return rows, list(ordered.values())


def _notice(recorded: RecordedEvent, event: _Notice, transcript: Transcript) -> NoticeRow:
    match event:
        case BudgetNeared():
            return _budget_notice(recorded, event)
        case EffortRefused(reason=reason):
            fix = tr("Choose another effort in the model menu, or leave it to the provider.")
            return NoticeRow(RowKey(recorded.seq), "info", effort_refused_text(event), reason, fix)
        case McpServerFailed(server=server, reason=reason):
            what = tr("The MCP server {server} wasn't running in this turn.", server=server)
            return NoticeRow(RowKey(recorded.seq), "warning", what, translate(reason))
        case WindowLearned(reason=reason):
            fix = tr("To use another size, reset or enter it in Settings → Providers.")
            return NoticeRow(RowKey(recorded.seq), "info", window_learned_text(event), reason, fix)
    return _failure_notice(recorded.seq, event, transcript)


def _foreign_notice(
    seq: int, event: SessionImported | ForeignRecords | ForeignCompaction, agent: str
) -> NoticeRow | None:
    """Return what there is to say about a session of another agent."""
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
            return _records_notice(key, by_kind, damaged)
    return None


def _records_notice(key: RowKey, by_kind: Sequence[RecordCount], damaged: int) -> NoticeRow | None:
    """Say how many records are kept as data, and how many could not be read."""
    count = sum(record.count for record in by_kind)
    if not (count or damaged):
        return None
    skipped = tr.plural(damaged, "%n damaged record was skipped.", "%n damaged records were skipped.")
    return NoticeRow(
        key,
        "warning" if damaged else "info",
        tr.plural(count, "%n record is kept as data.", "%n records are kept as data."),
        skipped if damaged else "",
        details="\n".join(f"{record.count} × {record.kind}" for record in by_kind),
    )


def _failure_notice(
    seq: int, event: HandoverFailed | ObservationsFailed, transcript: Transcript
) -> NoticeRow:
    """Return what was tried and not made, and what comes next; an unused summary can be asked for again."""
    is_handover = isinstance(event, HandoverFailed)
    again = RetrySummary("handover" if is_handover else "observations")
    failures = transcript.handover_failures if is_handover else transcript.observation_failures
    actions = (again,) if event.problem is not None else ()
    usage = cost_text(event.spent, event.cost, demo=not event.cost, is_estimated=event.estimated)
    used = tr("This attempt used {usage}.", usage=usage) if usage else ""
    fix = " ".join(filter(None, (used, next_try_text(failures))))
    return NoticeRow(RowKey(seq), "warning", translate(event.what), translate(event.why), fix, actions)


def _budget_notice(recorded: RecordedEvent, event: BudgetNeared) -> NoticeRow:
    usage = []
    if event.most_tokens:
        usage.append(tr("{used} of {budget} tokens", used=event.tokens, budget=event.most_tokens))
    if event.most_cost:
        used, budget = format_usd(event.cost), format_usd(event.most_cost)
        usage.append(tr("{used} of {budget}", "money used of a budget", used=used, budget=budget))
    return NoticeRow(
        RowKey(recorded.seq),
        "info",
        tr("The session budget is almost used up."),
        " · ".join(usage),
        tr("The turn stops when the budget runs out."),
        (ApplyRemedy("set_budget"),),
    )
