"""Events to chat rows: a pure reduction, the same for a whole log and for one more event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from helix_desktop.context.event import (
    AssistantSpoke,
    HandoverFailed,
    HandoverMade,
    Recorded,
    Redone,
    SweepMade,
    ToolAnswered,
    TurnEnded,
    Undone,
    UserSpoke,
)
from helix_desktop.context.message import ToolCall
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.rows import (
    AssistantRow,
    Badge,
    DividerRow,
    NoticeRow,
    Row,
    ToolRow,
    ToolState,
    UserRow,
)
from helix_desktop.ui.figures import tokens_text

HEAD_LINES, TAIL_LINES = 14, 6
_TARGET_NAMES = ("path", "command", "pattern", "hash", "query")
_OUTCOMES: dict[str, ToolState] = {"denied": "denied", "interrupted": "interrupted"}


class ChatRows:
    """Makes rows from one session's events. `apply` returns the rows that are new or changed."""

    def __init__(self) -> None:
        self._tools: dict[str, ToolRow] = {}
        self._tool_keys: dict[str, str] = {}
        self._answers: dict[int, str] = {}
        self._recalled: set[int] = set()
        self._dividers: dict[int, DividerRow] = {}

    def apply(self, recorded: Recorded, after: Transcript) -> list[Row]:
        """The rows that this event adds or changes; `after` is the transcript with it applied."""
        rows = self.add(recorded, after)
        rewrote = isinstance(recorded.event, SweepMade | HandoverMade | Undone | Redone)
        return [*rows, *self.rebadged(after)] if rewrote else rows

    def add(self, recorded: Recorded, after: Transcript) -> list[Row]:
        """Like `apply`, with the badges of former rows left as they were: for a log that is read whole."""
        rows: list[Row] = []
        match recorded.event:
            case UserSpoke() as said:
                attached = tuple(
                    f"{one.label} · {tokens_text(one.tokens)} tokens" for one in said.attachments
                )
                rows = [UserRow(f"e{recorded.seq}", said.text, recorded.at, after.turns, attached)]
            case AssistantSpoke() as spoke:
                rows = list(self._spoken(recorded, spoke))
            case ToolAnswered() as answer:
                rows = self._answered(recorded, answer, after)
            case TurnEnded() as ended:
                rows = _ended(recorded, ended)
            case HandoverFailed() as failed:
                rows = [NoticeRow(f"e{recorded.seq}", "warning", failed.what, failed.why)]
            case SweepMade() | HandoverMade() | Undone() | Redone():
                rows = self._rewritten(recorded, after)
            case _:
                pass
        return rows

    def _spoken(self, recorded: Recorded, spoke: AssistantSpoke) -> Iterator[Row]:
        if spoke.text.strip():
            yield AssistantRow(
                f"e{recorded.seq}",
                spoke.text,
                recorded.at,
                model_name(spoke.model, spoke.demo),
                spoke.demo,
                stopped=spoke.stop == "stopped",
                reasoning=spoke.reasoning,
            )
        for call in spoke.calls:
            row = ToolRow(f"t{recorded.seq}:{call.id}", call.id, call.name, target_of(call))
            self._tool_keys[call.id] = row.key
            self._tools[row.key] = row
            yield row

    def _answered(self, recorded: Recorded, answer: ToolAnswered, after: Transcript) -> list[Row]:
        key = self._tool_keys.get(answer.call_id)
        if key is None:
            return []
        self._answers[recorded.seq] = key
        if answer.recalled:
            self._recalled.add(recorded.seq)
        head, tail, lines = _ends(answer.text)
        failed: ToolState = "ok" if answer.ok else "failed"
        row = replace(
            self._tools[key],
            target=answer.target or self._tools[key].target,
            state=_OUTCOMES.get(answer.outcome, failed),
            head=head,
            tail=tail,
            lines=lines,
            size=answer.size,
            tokens=answer.tokens,
            duration_ms=answer.duration_ms if answer.outcome == "ran" else None,
            exit_code=answer.exit_code,
            digest=answer.digest,
            badge=self._badge(recorded.seq, after) if answer.digest else "",
        )
        self._tools[key] = row
        return [row]

    def _badge(self, seq: int, transcript: Transcript) -> Badge:
        held = transcript.handover
        if held is not None and seq <= held[1].upto:
            return "handed over"
        if seq in transcript.masked:
            return "cached"
        return "recalled" if seq in self._recalled else "in window"

    def _rewritten(self, recorded: Recorded, after: Transcript) -> list[Row]:
        changed: list[Row] = []
        match recorded.event:
            case SweepMade() as sweep:
                changed.append(self._divide(recorded.seq, "sweep", sweep_text(sweep)))
            case HandoverMade() as handover:
                changed.append(self._divide(recorded.seq, "handover", handover_text(handover)))
            case _:
                changed += self._redivided(after)
        return changed

    def _redivided(self, after: Transcript) -> list[Row]:
        """The dividers that an undo or redo touched: a handover's, and the sweep's that rides on it."""
        changed: list[Row] = []
        for seq, row in self._dividers.items():
            undone = not after.rewrites.holds(seq)
            if undone != row.undone:
                way = ("undo",) if after.can_undo(seq) else ("redo",) if after.can_redo(seq) else ()
                self._dividers[seq] = replace(row, undone=undone, actions=("view", *way))
                changed.append(self._dividers[seq])
        return changed

    def _divide(self, seq: int, kind: str, text: str) -> DividerRow:
        shown = DividerRow(
            f"e{seq}", "sweep" if kind == "sweep" else "handover", text, seq, actions=("view", "undo")
        )
        self._dividers[seq] = shown
        return shown

    def rebadged(self, after: Transcript) -> list[Row]:
        """The tool rows whose badge is another one now."""
        changed: list[Row] = []
        for seq, key in self._answers.items():
            row = self._tools[key]
            badge = self._badge(seq, after) if row.digest else ""
            if badge != row.badge:
                self._tools[key] = replace(row, badge=badge)
                changed.append(self._tools[key])
        return changed

    def with_state(self, call_id: str, state: ToolState) -> ToolRow | None:
        """The row of a call that began to wait or to run; None when no such call is known."""
        key = self._tool_keys.get(call_id)
        if key is None:
            return None
        self._tools[key] = replace(self._tools[key], state=state)
        return self._tools[key]


def all_rows(log: list[Recorded]) -> tuple[ChatRows, list[Row]]:
    """The rows of a whole log in order, and the reduction that goes on from there."""
    rows, transcript = ChatRows(), Transcript()
    ordered: dict[str, Row] = {}
    for recorded in log:
        transcript.apply(recorded)
        for row in rows.add(recorded, transcript):
            ordered[row.key] = row
    for row in rows.rebadged(transcript):
        ordered[row.key] = row
    return rows, list(ordered.values())


def _ends(text: str) -> tuple[str, str, int]:
    """The first lines of a text, its last ones as far as they are others, and how many lines it has."""
    whole = text.removesuffix("\n")
    if not whole:
        return "", "", 0
    lines = whole.count("\n") + 1
    head = "\n".join(whole.split("\n", HEAD_LINES)[:HEAD_LINES])
    left = min(TAIL_LINES, lines - HEAD_LINES)
    tail = "\n".join(whole.rsplit("\n", left)[-left:]) if left > 0 else ""
    return head, tail, lines


def target_of(call: ToolCall) -> str:
    """What a call is about, read from its arguments; empty when they do not say."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    return next((str(given[name]) for name in _TARGET_NAMES if given.get(name)), "")


def sweep_text(sweep: SweepMade) -> str:
    """A sweep in a few words."""
    count = len(sweep.masked)
    what = "1 output became a marker" if count == 1 else f"{count} outputs became markers"
    return f"{what} · \N{MINUS SIGN}{tokens_text(sweep.saved)} tokens"


def handover_text(handover: HandoverMade) -> str:
    """A handover in a few words."""
    change = f"{tokens_text(handover.before)} → {tokens_text(handover.after)} tokens"
    return f"{handover.messages} messages handed over · {change}"


def model_name(label: str, demo: bool) -> str:
    """A model as the person sees it, from PROVIDER/NAME."""
    return "Offline demo model" if demo else label.partition("/")[2] or label


def _ended(recorded: Recorded, ended: TurnEnded) -> list[Row]:
    key = f"e{recorded.seq}"
    if ended.how == "failed":
        return [NoticeRow(key, "error", ended.what, ended.why, ended.fix, ("retry",))]
    if ended.how == "interrupted":
        text = "Interrupted: the app stopped in the middle of this turn"
        return [DividerRow(key, "interrupted", text, recorded.seq, actions=("continue",))]
    if ended.how == "stopped":
        return [DividerRow(key, "interrupted", "You stopped this turn", recorded.seq)]
    return []
