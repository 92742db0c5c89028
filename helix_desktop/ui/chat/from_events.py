"""Events to chat rows: a pure reduction, the same for a whole log and for one more event."""

from __future__ import annotations

from collections.abc import Iterator

from helix_desktop.agent.update import SubagentMoved
from helix_desktop.context.event import (
    AssistantSpoke,
    BudgetNeared,
    OutputHeld,
    Recorded,
    SubagentStarted,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.context.event_rewrite import (
    FoldMade,
    FormChosen,
    Pinned,
    Redone,
    SweepMade,
    Undone,
    Unpinned,
)
from helix_desktop.context.event_summary import (
    HandoverFailed,
    HandoverMade,
    ObservationsFailed,
    ObservationsPlaced,
)
from helix_desktop.context.spending import Budget, Spending
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.dividers import Dividers
from helix_desktop.ui.chat.live_strip import Live
from helix_desktop.ui.chat.rows import (
    AssistantRow,
    DividerRow,
    NoticeRow,
    Original,
    Row,
    ToolRow,
    ToolState,
    UserRow,
)
from helix_desktop.ui.chat.tool_rows import ToolRows
from helix_desktop.ui.chat.turn_ends import TurnEnds
from helix_desktop.ui.figures import tokens_text

_REWRITES = (
    SweepMade, HandoverMade, FoldMade, ObservationsPlaced, FormChosen, Pinned, Unpinned, Undone, Redone
)  # fmt: skip


class ChatRows:
    """Makes rows from one session's events. `apply` returns the rows that are new or changed."""

    def __init__(self) -> None:
        self._tools, self._dividers, self._ends = ToolRows(), Dividers(), TurnEnds()

    def apply(self, recorded: Recorded, after: Transcript) -> list[Row]:
        """The rows that this event adds or changes; `after` is the transcript with it applied."""
        rows = self.add(recorded, after)
        return [*rows, *self.rebadged(after)] if isinstance(recorded.event, _REWRITES) else rows

    def add(self, recorded: Recorded, after: Transcript) -> list[Row]:
        """Like `apply`, with the badges of former rows left as they were: for a log that is read whole."""
        rows: list[Row] = []
        match recorded.event:
            case UserSpoke() as said:
                rows = [*self._ends.resumed(new_turn=not said.steered), _said(recorded, said, after)]
            case AssistantSpoke() as spoke:
                rows = list(self._spoken(recorded, spoke))
                self._ends.answered(recorded, spoke, rows)
            case ToolAnswered() as answer:
                rows = [row for row in (self._tools.answered(recorded, answer, after),) if row]
            case SubagentStarted() as started:
                rows = [row for row in (self._tools.started(started),) if row]
            case OutputHeld(answer=answer):
                rows = [row for row in (self._tools.held(answer),) if row]
            case TurnEnded() | TurnRetried() as event:
                rows = self._ends.changed(recorded, event)
            case HandoverFailed() | ObservationsFailed() as failed:
                rows = [_not_made(recorded.seq, failed)]
            case BudgetNeared() as neared:
                rows = [_neared(recorded, neared)]
            case Undone() | Redone():
                rows = [*self._dividers.changed(after)]
            case _:
                rows = [row for row in (self._dividers.added(recorded, after),) if row]
        return rows

    def _spoken(self, recorded: Recorded, spoke: AssistantSpoke) -> Iterator[Row]:
        if spoke.text.strip():
            yield AssistantRow(
                f"e{recorded.seq}",
                spoke.text,
                recorded.at,
                model_name(spoke.model, spoke.demo),
                spoke.demo,
                reasoning=spoke.reasoning,
            )
        yield from self._tools.called(recorded.seq, spoke)

    def rebadged(self, after: Transcript) -> list[Row]:
        """The tool rows whose output or arguments stand elsewhere now."""
        return [*self._tools.changed(after)]

    def with_state(self, call_id: str, state: ToolState) -> ToolRow | None:
        """The row of a call that began to wait or to run; None when no such call is known."""
        return self._tools.with_state(call_id, state)

    def moved(self, moved: SubagentMoved) -> ToolRow | None:
        """The row of the call whose subagent went on; None when no such call is open."""
        return self._tools.moved(moved)

    def with_live(self, call_id: str, live: Live) -> ToolRow | None:
        """The row of a call at work with its newest lines; None when it is not known or has its answer."""
        return self._tools.with_live(call_id, live)

    def with_original(self, key: str, original: Original) -> ToolRow | None:
        """The row of a key with what the cache holds; None when no such row is known."""
        return self._tools.with_original(key, original)


def all_rows(log: list[Recorded]) -> tuple[ChatRows, list[Row]]:
    """The rows of a whole log in order, and the reduction that goes on from there."""
    rows, transcript = ChatRows(), Transcript()
    ordered: dict[str, Row] = {}
    for recorded in log:
        transcript.apply(recorded)
        for row in rows.add(recorded, transcript):
            for key in row.replaces if isinstance(row, DividerRow) else ():
                ordered.pop(key, None)
            ordered[row.key] = row
    for row in rows.rebadged(transcript):
        ordered[row.key] = row
    return rows, list(ordered.values())


def _said(recorded: Recorded, said: UserSpoke, after: Transcript) -> UserRow:
    attached = tuple(f"{one.label} · {tokens_text(one.tokens)} tokens" for one in said.attachments)
    return UserRow(f"e{recorded.seq}", said.text, recorded.at, after.turns, attached, said.steered)


def model_name(label: str, demo: bool) -> str:
    """A model as the person sees it, from PROVIDER/NAME."""
    return "Offline demo model" if demo else label.partition("/")[2] or label


def _not_made(seq: int, failed: HandoverFailed | ObservationsFailed) -> NoticeRow:
    """What was tried and not made; a summary that was not used can be asked for again."""
    again = "compact_again" if isinstance(failed, HandoverFailed) else "observe_again"
    actions = (again,) if failed.problem is not None else ()
    return NoticeRow(f"e{seq}", "warning", failed.what, failed.why, actions=actions)


def _neared(recorded: Recorded, neared: BudgetNeared) -> NoticeRow:
    what = "Most of this session's budget is spent."
    budget = Budget(neared.most_tokens, neared.most_cost)
    why = f"{budget.text(Spending(neared.tokens, neared.cost))}; at the end of it the turn ends."
    return NoticeRow(f"e{recorded.seq}", "info", what, why, actions=("set_budget",))
