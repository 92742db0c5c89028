"""Rows for how turns end, and for attempts that the user retried."""

from __future__ import annotations

from dataclasses import replace

from helix_desktop.context.event import AssistantSpoke, Recorded, TurnEnded, TurnRetried
from helix_desktop.context.message import Ended
from helix_desktop.ui.action_text import known_remedies
from helix_desktop.ui.chat.rows import AssistantRow, DividerRow, NoticeRow, Row

_ENDED: dict[Ended, str] = {
    "stopped": "Stopped",
    "interrupted": "Interrupted: the app closed during this turn",
}


class TurnEnds:
    """Reduces the ends of turns; only the newest end offers something to do."""

    def __init__(self) -> None:
        self._end: DividerRow | NoticeRow | None = None
        self._how: Ended = "done"
        self._answer: AssistantRow | None = None  # the newest one that called no tools
        self._answer_seq = 0
        self._attempts = 0

    def answered(self, recorded: Recorded, spoke: AssistantSpoke, rows: list[Row]) -> None:
        """Note an answer and its rows: a retry may replace it."""
        first = rows[0] if rows and not spoke.calls else None
        self._answer = first if isinstance(first, AssistantRow) else None
        self._answer_seq = recorded.seq

    def changed(self, recorded: Recorded, event: TurnEnded | TurnRetried) -> list[Row]:
        """Return the row of a turn's end, none if it is done, or the line that an attempt folds to."""
        if isinstance(event, TurnRetried):
            return [self._folded(recorded, event)]
        self._how, self._end = event.how, _end_row(recorded, event)
        return [self._end] if self._end else []

    def _folded(self, recorded: Recorded, retried: TurnRetried) -> DividerRow:
        self._attempts += 1
        gone: list[Row] = [self._end] if self._end else []
        details = [self._end.what, self._end.why] if isinstance(self._end, NoticeRow) else []
        if self._answer is not None and self._answer_seq > retried.after:
            gone.append(self._answer)
            details.insert(0, self._answer.text)
        row = DividerRow(
            f"e{recorded.seq}",
            "attempt",
            f"Attempt {self._attempts} {self._how}",
            recorded.seq,
            quiet=True,
            details=tuple(text for text in details if text),
            replaces=tuple(one.key for one in gone),
        )
        self._end = self._answer = None
        return row

    def resumed(self, *, new_turn: bool) -> list[Row]:
        """Return the newest end without its actions: the user has sent another message."""
        end, self._end = self._end, None
        if new_turn:
            self._attempts = 0
        return [replace(end, actions=())] if end is not None and end.actions else []


def _end_row(recorded: Recorded, ended: TurnEnded) -> DividerRow | NoticeRow | None:
    key = f"e{recorded.seq}"
    if ended.how in _ENDED:
        actions = ("continue", "retry")
        return DividerRow(key, "interrupted", _ENDED[ended.how], recorded.seq, actions=actions)
    if ended.how == "done":
        return None
    if ended.cause == "budget":
        fix = "Set a larger one, and retry."
        return NoticeRow(key, "warning", ended.what, ended.why, fix, ("set_budget", "retry"))
    remedies = known_remedies(ended.remedies)
    return NoticeRow(key, "error", ended.what, ended.why, ended.fix, (*remedies, "retry"))
