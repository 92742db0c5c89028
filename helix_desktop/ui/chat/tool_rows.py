"""Tool calls to rows: the call, its output, and where both stand in the window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from helix_desktop.agent.update import SubagentMoved
from helix_desktop.context.event import AssistantSpoke, Recorded, SubagentStarted, ToolAnswered
from helix_desktop.context.event_rewrite import Form, FormChosen
from helix_desktop.context.message import ToolCall
from helix_desktop.context.todo import TODO, items_in
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.errand import Errand
from helix_desktop.ui.chat.live_strip import Live
from helix_desktop.ui.chat.rows import Badge, Chooser, Ends, Original, ToolRow, ToolState
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.standing import Standings

HEAD_LINES, TAIL_LINES = 14, 6
_TARGET_NAMES = ("path", "command", "pattern", "hash", "query", "title", "task")
_OUTCOMES: dict[str, ToolState] = {"denied": "denied", "interrupted": "interrupted", "stopped": "stopped"}


class ToolRows:
    """The rows of one session's tool calls by their key."""

    def __init__(self) -> None:
        self._rows: dict[str, ToolRow] = {}
        self._keys: dict[str, str] = {}  # by call id
        self._answers: dict[int, str] = {}
        self._todo = ""  # key of the newest list
        self._recalled: set[int] = set()
        self._short: dict[int, list[str]] = {}  # calls whose arguments can stand as markers, by their step

    def called(self, seq: int, spoke: AssistantSpoke) -> Iterator[ToolRow]:
        """A row for each call of an answer."""
        short = {one.call_id: one.digests for one in spoke.short}
        for call in spoke.calls:
            digests = short.get(call.id, ())
            row = ToolRow(f"t{seq}:{call.id}", call.id, call.name, target_of(call), arguments=digests)
            if call.name == TODO and (todo := items_in(call.arguments)):
                row = replace(row, todo=todo, newest=True)
                yield from self._superseded(row.key)
            self._keys[call.id] = row.key
            self._rows[row.key] = row
            if digests:
                self._short.setdefault(seq, []).append(row.key)
            yield row

    def _superseded(self, key: str) -> Iterator[ToolRow]:
        """The card of the list that a newer one, of this key, takes the place of."""
        former, self._todo = self._rows.get(self._todo), key
        if former is not None:
            self._rows[former.key] = replace(former, newest=False)
            yield self._rows[former.key]

    def answered(self, recorded: Recorded, answer: ToolAnswered, after: Transcript) -> ToolRow | None:
        """The row of a call that has its output now; None when no such call is known."""
        key = self._keys.get(answer.call_id)
        if key is None:
            return None
        self._answers[recorded.seq] = key
        if answer.recalled:
            self._recalled.add(recorded.seq)
        failed: ToolState = "ok" if answer.ok else "failed"
        told = self._rows[key].target
        row = replace(
            self._rows[key],
            target=told if answer.subagent and told else answer.target or told,
            state=_OUTCOMES.get(answer.outcome, failed),
            size=answer.size,
            duration_ms=answer.duration_ms if answer.outcome in ("ran", "stopped") else None,
            exit_code=answer.exit_code,
            digest=answer.digest,
            answer=recorded.seq,
            choosing=False,
            subagent=answer.subagent,
            errand=_errand(answer),
            live=None,
        )
        self._rows[key] = self._standing(_shown(row, answer, after), Standings(after))
        return self._rows[key]

    def started(self, event: SubagentStarted) -> ToolRow | None:
        """The row of a call that has its subagent now; None when no such call is known."""
        key = self._keys.get(event.call_id)
        if key is None:
            return None
        row = self._rows[key]
        self._rows[key] = replace(row, subagent=event.session, target=event.title or row.target)
        return self._rows[key]

    def moved(self, moved: SubagentMoved) -> ToolRow | None:
        """The row of the call whose subagent went on; None when there is none, or it has its answer."""
        key = self._keys.get(moved.call)
        row = self._rows[key] if key is not None else None
        if row is None or row.answer or row.subagent != moved.child:
            return None
        self._rows[row.key] = replace(row, errand=Errand.moving(moved))
        return self._rows[row.key]

    def held(self, answer: ToolAnswered) -> ToolRow | None:
        """The row of a call whose output is there, its form being chosen; None when it is not known."""
        key = self._keys.get(answer.call_id)
        if key is None:
            return None
        row = replace(self._rows[key], size=answer.size, digest=answer.digest, choosing=True)
        self._rows[key] = row
        return row

    def changed(self, after: Transcript) -> list[ToolRow]:
        """The rows that stand elsewhere, or in another form, since the window was rewritten."""
        standings = Standings(after)
        new = {key: self._now(seq, self._rows[key], after, standings) for seq, key in self._answers.items()}
        for seq, keys in self._short.items():
            cached = seq in after.masked and standings.cover(seq) is None
            new |= {key: replace(new.get(key, self._rows[key]), arguments_cached=cached) for key in keys}
        changed = [row for key, row in new.items() if row != self._rows[key]]
        self._rows |= {row.key: row for row in changed}
        return changed

    def _now(self, seq: int, row: ToolRow, after: Transcript, standings: Standings) -> ToolRow:
        item = after.item(seq)
        assert item is not None  # every answer here was applied
        assert isinstance(item.event, ToolAnswered)
        if _form(seq, item.event, after) != (row.form, row.asked, row.chosen):
            row = _shown(row, item.event, after)
        return self._standing(row, standings)

    def _standing(self, row: ToolRow, standings: Standings) -> ToolRow:
        badge: Badge = standings.of(row.answer) if row.digest else ""
        if badge == "in window" and row.answer in self._recalled:
            badge = "recalled"
        return replace(row, badge=badge)

    def with_state(self, call_id: str, state: ToolState) -> ToolRow | None:
        """The row of a call that began to wait or to run; None when no such call is known."""
        key = self._keys.get(call_id)
        if key is None:
            return None
        self._rows[key] = replace(self._rows[key], state=state)
        return self._rows[key]

    def with_live(self, call_id: str, live: Live) -> ToolRow | None:
        """The row of a call at work with its newest lines; None when it is not known or has its answer."""
        key = self._keys.get(call_id)
        row = self._rows[key] if key is not None else None
        if row is None or row.state != "running":
            return None
        self._rows[row.key] = replace(row, live=live)
        return self._rows[row.key]

    def with_original(self, key: str, original: Original) -> ToolRow | None:
        """The row of a key with what the cache holds; None when no such row is known."""
        row = self._rows.get(key)
        if row is None:
            return None
        self._rows[key] = replace(row, original=original)
        return self._rows[key]


def _errand(answer: ToolAnswered) -> Errand | None:
    """What an answer says of the subagent that gave it, or was to give it."""
    if answer.delegated is not None:
        return Errand.ended(answer.delegated, answer.duration_ms)
    return Errand("interrupted") if answer.subagent and answer.outcome == "interrupted" else None


def _shown(row: ToolRow, answer: ToolAnswered, after: Transcript) -> ToolRow:
    """The row with the form of its output that the agent is shown."""
    form, asked, chooser = _form(row.answer, answer, after)
    chosen = after.rewrites.forms.get(row.answer)
    ends = ends_of(chosen.text if chosen else answer.text)
    return replace(
        row,
        head=ends.head,
        tail=ends.tail,
        lines=ends.lines,
        tokens=chosen.tokens if chosen else answer.tokens,
        form=form,
        asked=asked,
        chosen=chooser,
        cost=cost_of(chosen or answer),
        note="" if chosen else answer.intake_note,
    )


def _form(seq: int, answer: ToolAnswered, after: Transcript) -> tuple[Form, str, Chooser]:
    """The form of an output, what was asked for in a compact one, and who chose."""
    chosen = after.rewrites.forms.get(seq)
    if chosen is not None:
        return chosen.form, chosen.asked, "user"
    in_part = not answer.whole and not answer.recalled
    form: Form = "preview" if answer.form == "full" and in_part else answer.form
    return form, answer.asked, answer.chosen


def cost_of(chosen: FormChosen | ToolAnswered) -> str:
    """What choosing and making a form took; empty when no model was asked."""
    if not chosen.intake_tokens:
        return ""
    cached = f" ({tokens_text(chosen.intake_cached)} cached)" if chosen.intake_cached else ""
    parts = [f"{tokens_text(chosen.intake_tokens)} tokens{cached}", f"{chosen.intake_ms / 1000:.1f} s"]
    return ", ".join([*parts, chosen.intake_model] if chosen.intake_model else parts)


def ends_of(text: str, head: int = HEAD_LINES, tail: int = TAIL_LINES) -> Ends:
    """The first lines of a text, its last ones as far as they are others, and how many lines it has."""
    whole = text.removesuffix("\n")
    if not whole:
        return Ends()
    lines = whole.count("\n") + 1
    left = min(tail, lines - head)
    last = "\n".join(whole.rsplit("\n", left)[-left:]) if left > 0 else ""
    return Ends("\n".join(whole.split("\n", head)[:head]), last, lines)


def target_of(call: ToolCall) -> str:
    """What a call is about, read from its arguments; empty when they do not say."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    return next((str(given[name]) for name in _TARGET_NAMES if given.get(name)), "")
