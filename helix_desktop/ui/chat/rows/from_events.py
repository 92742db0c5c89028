"""Events to chat rows: a pure reduction, the same for a whole log and for one more event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.rewrites.planner import BREAKER_FAILURES
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
from helix_desktop.domain.events.session import BudgetNeared, EffortRefused, McpServerFailed, WindowLearned
from helix_desktop.domain.events.summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.domain.events.workspace import ChangesRecorded, FilesChanged
from helix_desktop.ui.chat.actions import ApplyRemedy, RetrySummary
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.answer_rows import AnswerRows
from helix_desktop.ui.chat.rows.dividers import Dividers
from helix_desktop.ui.chat.rows.handover_card import FirstHandover
from helix_desktop.ui.chat.rows.row_types import (
    DividerRow,
    NoticeRow,
    Row,
    UserRow,
)
from helix_desktop.ui.chat.rows.side_questions import side_question_rows
from helix_desktop.ui.chat.rows.tool_rows import ToolRows
from helix_desktop.ui.chat.rows.turn_ends import TurnEnds
from helix_desktop.ui.chat.rows.user_rows import UserRows
from helix_desktop.words.answer_ends import window_learned_text
from helix_desktop.words.costs import cost_text
from helix_desktop.words.efforts import effort_refused_text
from helix_desktop.words.numbers import format_usd
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

_REWRITES = (
    SweepMade, HandoverMade, FoldMade, ObservationsPlaced, FormChosen, Excluded, Pinned, Unpinned, Undone,
    Redone,
)  # fmt: skip

_Notice: TypeAlias = (
    HandoverFailed | ObservationsFailed | BudgetNeared | EffortRefused | WindowLearned | McpServerFailed
)


class ChatRows:
    """Makes rows from one session's events. `apply` returns the rows that are new or changed."""

    def __init__(self) -> None:
        self.tools, self.users, self._ends = ToolRows(), UserRows(), TurnEnds()
        self._answers = AnswerRows()
        self._dividers, self._first_handover = Dividers(), FirstHandover()
        self._refusals: set[str] = set()  # why handovers were refused

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
        parts = self.users, self._answers, self._dividers, self._first_handover
        rows = (row for part in parts for row in part.updated_states(transcript))
        return [*self.tools.updated_badges(transcript), *rows]

    def updated_images(self, transcript: Transcript, *, are_sent: bool) -> list[UserRow]:
        """Return the messages whose images are left out now, or no longer; see `UserRows`."""
        return self.users.updated_images(transcript, are_sent=are_sent)

    def updated_end(self, *, is_budget_spent: bool) -> list[Row]:
        """Return the newest turn's end, if a budget ended it and that was raised since, or lowered again."""
        return self._ends.on_budget(is_spent=is_budget_spent)

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
                    *self._ends.on_user_message(new_turn=not message.steered),
                    self.users.on_message(recorded, message, transcript),
                ]
            case AssistantSpoke() as response:
                rows = [*self._assistant_rows(recorded, response)]
                self._ends.on_answer(recorded, response, rows[0] if rows else None)
            case ToolAnswered() as output:
                rows = [self.tools.on_answer(recorded, output, transcript)]
            case SideQuestionAnswered() as side_question:
                self._answers.end()
                rows = [*side_question_rows(recorded, side_question)]
            case SubagentStarted() | OutputHeld() as event:
                rows = [self.tools.on_call_event(event)]
            case ChangesRecorded() as changes:
                rows = [*self._changed_files_rows(recorded.seq, changes, transcript)]
            case TurnEnded() | TurnRetried() as event:
                self._answers.end()
                rows = [*self._ends.on_turn_event(recorded, event, is_subagent=bool(transcript.parent))]
            case (
                HandoverFailed()
                | ObservationsFailed()
                | BudgetNeared()
                | EffortRefused()
                | WindowLearned()
                | McpServerFailed()
            ) as notice:
                rows = [self._notice(recorded, notice, transcript)]
            case HandoverMade(origin=origin) as handover if origin:
                divider = self._dividers.on_event(recorded, transcript)
                rows = [divider, self._first_handover.on_event(recorded, handover, transcript)]
            case _:
                rows = [self._dividers.on_event(recorded, transcript)]
        return [row for row in rows if row is not None]

    def _notice(self, recorded: RecordedEvent, event: _Notice, transcript: Transcript) -> NoticeRow | None:
        """Return what an event tells; that a handover isn't worth it, only once per reason."""
        if isinstance(event, HandoverFailed) and event.is_refusal:
            if event.why in self._refusals:
                return None
            self._refusals.add(event.why)
            return NoticeRow(RowKey(recorded.seq), "info", translate(event.what), translate(event.why))
        return _notice(recorded, event, transcript)

    def _changed_files_rows(
        self, seq: int, changes: ChangesRecorded, transcript: Transcript
    ) -> Iterator[Row | None]:
        card = self.tools.on_changes(changes)
        yield card
        yield self._dividers.on_changes(seq, changes, transcript, has_card=card is not None)

    def _assistant_rows(self, recorded: RecordedEvent, event: AssistantSpoke) -> Iterator[Row]:
        row = self._answers.on_answer(recorded, event)
        if row is not None:
            yield row
        yield from self.tools.on_call(recorded.seq, event)


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
        case EffortRefused():
            return _effort_notice(recorded.seq, event)
        case McpServerFailed(server=server, reason=reason):
            what = tr("The MCP server {server} wasn't running in this turn.", server=server)
            return NoticeRow(RowKey(recorded.seq), "warning", what, translate(reason))
        case WindowLearned(reason=reason):
            fix = tr("To use another size, reset or enter it in Settings → Providers.")
            return NoticeRow(RowKey(recorded.seq), "info", window_learned_text(event), reason, fix)
    return _failure_notice(recorded.seq, event, transcript)


def _effort_notice(seq: int, event: EffortRefused) -> NoticeRow:
    """Say that a server refused an effort, in its words."""
    return NoticeRow(
        RowKey(seq),
        "info",
        effort_refused_text(event),
        event.reason,
        tr("Choose another effort in the model menu, or leave it to the provider."),
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
    fix = " ".join(filter(None, (used, _next_try_text(failures))))
    return NoticeRow(RowKey(seq), "warning", translate(event.what), translate(event.why), fix, actions)


def _next_try_text(failures: int) -> str:
    """Return whether Helix tries again by itself after so many failures in a row."""
    if failures >= BREAKER_FAILURES:
        return tr.plural(
            failures,
            "Helix doesn't try again by itself: %n attempt failed.",
            "Helix doesn't try again by itself: %n attempts in a row failed.",
        )
    return tr.plural(
        BREAKER_FAILURES,
        "Helix tries again later, until %n attempt has failed.",
        "Helix tries again later, until %n attempts in a row have failed.",
    )


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
