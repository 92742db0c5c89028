"""Rows for how turns end, and for attempts that the user retried."""

from __future__ import annotations

from msgspec.structs import replace

from helix_desktop.domain.events.conversation import AssistantSpoke, TurnEnded, TurnRetried
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import StopReason, TurnOutcome
from helix_desktop.ui.chat.actions import ApplyRemedy, ButtonAction, ControlTurn
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import AssistantRow, DividerRow, NoticeRow, Row, TurnFooterRow
from helix_desktop.words.action_labels import supported_remedies
from helix_desktop.words.answer_ends import cut_off_fix, cut_off_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")


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
        return DividerRow(
            key, "interrupted", _stop_text(ended), actions=(ControlTurn("continue"), ControlTurn("retry"))
        )
    what, why = translate(ended.what), translate(ended.why)
    if ended.cause == "budget":
        fix = tr("Raise the budget to continue.")
        budget = ApplyRemedy("set_budget")
        return NoticeRow(key, "warning", what, why, fix, (budget, ControlTurn("retry")))
    remedies = map(ApplyRemedy, supported_remedies(ended.remedies))
    actions: tuple[ButtonAction, ...] = (*remedies, ControlTurn("retry"))
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
