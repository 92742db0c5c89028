"""The transcript: a session's events reduced to what the window is made of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from copy import copy

import msgspec

from helix_desktop.context.event import (
    AssistantSpoke,
    HandoverFailed,
    HandoverMade,
    MessageQueued,
    Recorded,
    Redone,
    SessionRenamed,
    SessionStarted,
    SweepMade,
    ToolAnswered,
    TurnEnded,
    Undone,
    UserSpoke,
)
from helix_desktop.context.message import ToolCall

FRAMING = 4  # tokens that a wire format adds to each message, and to each call


class Item(msgspec.Struct, frozen=True):
    """One message of the log; `step` counts model calls, `cumulative` tokens up to and with it."""

    seq: int
    at: int
    step: int
    turn: int
    event: UserSpoke | AssistantSpoke | ToolAnswered
    tokens: int
    cumulative: int


def tokens_of(event: UserSpoke | AssistantSpoke | ToolAnswered) -> int:
    """Tokens of a message in its full shown form, framing included."""
    match event:
        case UserSpoke(tokens=tokens, attachments=attachments):
            return tokens + sum(one.tokens for one in attachments) + FRAMING
        case AssistantSpoke(tokens=tokens, calls=calls):
            return tokens + FRAMING * (1 + len(calls))
        case ToolAnswered(tokens=tokens):
            return tokens + FRAMING


class Transcript:
    """The state of a session after its events so far; only `apply` changes it."""

    def __init__(self, events: Iterable[Recorded] = ()) -> None:
        self.title = ""
        self.created = 0
        self.last_seq = 0
        self.last_at = 0
        self.items: list[Item] = []
        self.steps = 0
        self.turns = 0
        self.turn_open = False
        self.open_calls: dict[str, ToolCall] = {}
        self.queued: dict[int, MessageQueued] = {}
        self.sweeps: dict[int, SweepMade] = {}
        self.handovers: dict[int, HandoverMade] = {}
        self.undone: set[int] = set()
        self.last_rewrite = 0
        self.last_compaction_at = 0
        self.failures = 0
        self._seqs: list[int] = []
        self._masked: frozenset[int] = frozenset()
        self._released: frozenset[int] = frozenset()
        for recorded in events:
            self.apply(recorded)

    def apply(self, recorded: Recorded) -> None:
        """Take in the next event. Raises ValueError when it does not follow the last one."""
        if recorded.seq != self.last_seq + 1:
            raise ValueError(f"event {recorded.seq} cannot follow event {self.last_seq}")
        self.last_seq, self.last_at = recorded.seq, recorded.at
        match recorded.event:
            case UserSpoke() | AssistantSpoke() | ToolAnswered() as event:
                self._add(recorded, event)
            case SweepMade() | HandoverMade() | Undone() | Redone():
                self._rewrite(recorded)
            case SessionStarted(title=title):
                self.title, self.created = title, recorded.at
            case SessionRenamed(title=title):
                self.title = title
            case MessageQueued() as event:
                self.queued[recorded.seq] = event
            case TurnEnded():
                self.turn_open = False
            case HandoverFailed():
                self.failures += 1
                self.last_compaction_at = recorded.at

    def _add(self, recorded: Recorded, event: UserSpoke | AssistantSpoke | ToolAnswered) -> None:
        match event:
            case UserSpoke(queued=queued):
                self.turns += 1
                self.turn_open = True
                self.queued.pop(queued, None)
            case AssistantSpoke(calls=calls):
                self.steps += 1
                self.open_calls = {call.id: call for call in calls}
            case ToolAnswered(call_id=call_id):
                self.open_calls.pop(call_id, None)
        tokens = tokens_of(event)
        before = self.items[-1].cumulative if self.items else 0
        self.items.append(
            Item(recorded.seq, recorded.at, self.steps, self.turns, event, tokens, before + tokens)
        )
        self._seqs.append(recorded.seq)

    def _rewrite(self, recorded: Recorded) -> None:
        match recorded.event:
            case SweepMade() as sweep:
                self.sweeps[recorded.seq] = sweep
            case HandoverMade() as handover:
                self.handovers[recorded.seq] = handover
                self.failures = 0
                self.last_compaction_at = recorded.at
            case Undone(target=target):
                self.undone.add(target)
                self.last_compaction_at = recorded.at
            case Redone(target=target):
                self.undone.discard(target)
                self.last_compaction_at = recorded.at
        self.last_rewrite = recorded.seq
        self._masked = frozenset(
            seq for made, sweep in self.sweeps.items() if self.holds(made) for seq in sweep.masked
        )
        undone = (self.sweeps[made].masked for made in self.undone if made in self.sweeps)
        self._released = frozenset(seq for masked in undone for seq in masked) - self._masked

    def fork(self) -> Transcript:
        """A copy that may take in rewrites (sweep, handover, undo, redo) without touching this one."""
        twin = copy(self)
        twin.sweeps, twin.handovers, twin.undone = dict(self.sweeps), dict(self.handovers), set(self.undone)
        return twin

    @property
    def masked(self) -> frozenset[int]:
        """Seqs of the outputs that stand as markers, by all sweeps that hold."""
        return self._masked

    @property
    def released(self) -> frozenset[int]:
        """Seqs of the outputs that the person took out of a sweep: no sweep of our own takes them again."""
        return self._released

    def holds(self, seq: int) -> bool:
        """Whether a rewrite is in force; the sweep recorded with a handover holds and falls with it."""
        sweep = self.sweeps.get(seq)
        if sweep is not None and sweep.reason == "handover" and seq - 1 in self.undone:
            return False
        return seq not in self.undone

    @property
    def handover(self) -> tuple[int, HandoverMade] | None:
        """The handover that holds and reaches furthest, with its seq."""
        held = [(seq, one) for seq, one in self.handovers.items() if seq not in self.undone]
        return max(held, key=lambda pair: (pair[1].upto, pair[0])) if held else None

    def position(self, seq: int) -> int:
        """How many items lie at or before `seq`."""
        return bisect_right(self._seqs, seq)

    def item(self, seq: int) -> Item | None:
        """The message recorded as `seq`, if that event is one."""
        at = self.position(seq) - 1
        return self.items[at] if at >= 0 and self.items[at].seq == seq else None

    def live(self) -> list[Item]:
        """The messages that stand in the window one by one, in order."""
        held = self.handover
        if held is None:
            return list(self.items)
        handover = held[1]
        kept = self.item(handover.kept) if handover.kept else None
        rest = self.items[self.position(handover.upto) :]
        return [kept, *rest] if kept is not None else rest

    def shown_tokens(self, item: Item) -> int:
        """Tokens of a message in the form that stands in the window now, framing included."""
        if item.seq in self._masked and isinstance(item.event, ToolAnswered):
            return item.event.marker_tokens + FRAMING
        return item.tokens

    def can_undo(self, seq: int) -> bool:
        """Whether a sweep or handover of that seq holds now."""
        return (seq in self.sweeps or seq in self.handovers) and self.holds(seq)

    def can_redo(self, seq: int) -> bool:
        """Whether a sweep or handover of that seq was undone."""
        return seq in self.undone
