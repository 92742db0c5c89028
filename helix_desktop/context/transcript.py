"""The transcript: a session's events reduced to what the window is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from copy import copy

from msgspec.structs import replace

from helix_desktop.context.event import (
    AssistantSpoke,
    BudgetNeared,
    BudgetSet,
    MessageQueued,
    ModeChanged,
    ModelChosen,
    ModelRole,
    OutputHeld,
    QueueChanged,
    Recorded,
    SessionRenamed,
    SessionStarted,
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
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.context.history import FRAMING, History
from helix_desktop.context.image import Image
from helix_desktop.context.layout import Block, Cover, Entry, Item, PinnedCopy, arrange, covers_of, in_force
from helix_desktop.context.message import ToolCall
from helix_desktop.context.mode import UNSURE
from helix_desktop.context.policy import Policy, policy_kept
from helix_desktop.context.rewrites import Rewrite, Rewrites
from helix_desktop.context.spending import Budget, Spending, spent_in
from helix_desktop.context.tool import Mode

PINNED_LABEL = 24  # tokens of the line above a pinned output
OBSERVED_LABEL = 70  # tokens of the line above the observations


class Transcript(History):
    """The state of a session after its events so far; only `apply` changes it."""

    def __init__(self, events: Iterable[Recorded] = ()) -> None:
        super().__init__()
        self.title, self.parent = "", ""
        self.mode: Mode = "ask"
        self.told_mode: Mode | str = "ask"
        self.answering: ModelRole = "main"
        self.chosen_model = ""  # PROVIDER/NAME for this session alone; empty: the workspace's default
        self.own_policy: Policy | None = None
        self.created = 0
        self.last_seq = 0
        self.last_at = 0
        self.turn_open = False
        self.refused: TurnEnded | None = None  # the newest turn's end, if an image was refused
        self.unfinished = 0  # the event that ended the newest turn before it was done; 0: none did
        self.open_calls: dict[str, ToolCall] = {}
        self.held: dict[str, ToolAnswered] = {}
        self.queued: dict[int, MessageQueued] = {}
        self.subagents: dict[str, str] = {}  # the sessions of subagents by the calls that began them
        self.spent = Spending()
        self.budget: Budget | None = None
        self.neared: Budget | None = None
        self.rewrites = Rewrites()
        self.last_model, self.last_answer_at = "", 0
        self.recalls: Counter[str] = Counter()
        self.newest_recall: dict[str, int] = {}
        self.last_rewrite = 0
        self.last_compaction_at = 0
        self.failures = 0
        self.last_observation_at = 0
        self.observation_failures = 0
        self._live: list[Entry] = []
        self._live_tokens: tuple[int, int] | None = (0, 0)  # and those of images; None: to be counted
        self._covers: list[Cover] = []
        for recorded in events:
            self.apply(recorded)

    def apply(self, recorded: Recorded) -> None:
        """Take in the next event. Raises ValueError when it does not follow the last one."""
        if recorded.seq != self.last_seq + 1:
            raise ValueError(f"event {recorded.seq} cannot follow event {self.last_seq}")
        self.last_seq, self.last_at = recorded.seq, recorded.at
        self.spent += spent_in(recorded.event)
        match recorded.event:
            case UserSpoke() | AssistantSpoke() | ToolAnswered() as event:
                self._add(recorded, event)
            case HandoverFailed() | ObservationsFailed() | ObservationsMade() as tried:
                self._tried(recorded, tried)
            case SweepMade() | FoldMade() | ObservationsPlaced() | HandoverMade() | FormChosen() as made:
                self._rewrite(recorded, made)
            case Pinned() | Unpinned() | Undone() | Redone() as changed:
                self._rewrite(recorded, changed)
            case _:
                self._about_session(recorded)

    def _choose(self, choice: ModeChanged | ModelChosen) -> None:
        if isinstance(choice, ModeChanged):
            self.mode = choice.mode
        else:
            self.chosen_model = choice.model

    def _about_session(self, recorded: Recorded) -> None:
        match recorded.event:
            case SessionStarted(title=title, parent=parent, model=model, policy=policy):
                self.title, self.parent, self.created = title, parent, recorded.at
                self.answering, self.own_policy = model, policy_kept(policy)
            case SessionRenamed(title=title):
                self.title = title
            case ModeChanged() | ModelChosen() as choice:
                self._choose(choice)
            case MessageQueued() | QueueChanged() as event:
                self._line_up(recorded.seq, event)
            case TurnEnded() | TurnRetried() as event:
                self._end_or_reopen(recorded.seq, event)
            case SubagentStarted(call_id=call_id, session=session):
                self.subagents[call_id] = session
            case BudgetSet(tokens=tokens, cost=cost):
                self.budget = Budget(tokens, cost)
            case BudgetNeared(most_tokens=tokens, most_cost=cost):
                self.neared = Budget(tokens, cost)
            case OutputHeld(answer=answer) if answer.call_id in self.open_calls:
                self.held[answer.call_id] = answer

    def _line_up(self, seq: int, event: MessageQueued | QueueChanged) -> None:
        if isinstance(event, MessageQueued):
            self.queued[seq] = event
            return
        known = [(one, self.queued[one.seq]) for one in event.waiting if one.seq in self.queued]
        self.queued = {one.seq: replace(was, text=one.text, steer=one.steer) for one, was in known}

    def _end_or_reopen(self, seq: int, event: TurnEnded | TurnRetried) -> None:
        if isinstance(event, TurnEnded):
            self.turn_open = False
            self.unfinished = 0 if event.how == "done" else seq
            self.refused = event if event.images else None
            return
        self.turn_open, self.unfinished, self.refused = True, 0, None
        self._drop_behind(event.after)
        self._lay_out()

    def _tried(
        self, recorded: Recorded, event: HandoverFailed | ObservationsFailed | ObservationsMade
    ) -> None:
        match event:
            case HandoverFailed():
                self.failures += 1
                self.last_compaction_at = recorded.at
            case ObservationsFailed():
                self.observation_failures += 1
                self.last_observation_at = recorded.at
            case ObservationsMade():
                self.rewrites.observed[recorded.seq] = event
                self.observation_failures = 0
                self.last_observation_at = recorded.at

    def _add(self, recorded: Recorded, event: UserSpoke | AssistantSpoke | ToolAnswered) -> None:
        match event:
            case UserSpoke(queued=queued, steered=steered, mode=mode):
                self.turns += not steered
                self.turn_open, self.unfinished, self.refused = True, 0, None
                self.queued.pop(queued, None)
                self.told_mode = mode
            case AssistantSpoke(calls=calls, model=model):
                self.steps += 1
                self.last_model, self.last_answer_at = model, recorded.at
                self.open_calls = {call.id: call for call in calls}
                self.held, self.subagents = {}, {}
            case ToolAnswered(call_id=call_id, recalled=recalled):
                self.open_calls.pop(call_id, None)
                self.held.pop(call_id, None)
                if recalled:
                    self.recalls[recalled] += 1
                    self.newest_recall[recalled] = recorded.seq
        item = self._append(recorded, event)
        self._live.append(item)
        if self._live_tokens is not None:
            entries, images = self._live_tokens
            seen = sum(one.tokens for one in self.images_of(item))
            self._live_tokens = entries + item.tokens, images + seen

    def _rewrite(self, recorded: Recorded, rewrite: Rewrite) -> None:
        self.rewrites.apply(recorded.seq, rewrite)
        match rewrite:
            case HandoverMade():
                self.failures = 0
                self.last_compaction_at = recorded.at
            case Undone() | Redone():
                self.last_compaction_at = recorded.at
        self.last_rewrite = recorded.seq
        self._live_tokens = None
        if isinstance(rewrite, HandoverMade | FoldMade | ObservationsPlaced) and self.told_mode != "ask":
            self.told_mode = UNSURE  # the note may be among what is covered now
        if isinstance(rewrite, FoldMade):
            self._cover(Cover(recorded.seq, rewrite.after, rewrite.upto, rewrite))
        elif not isinstance(rewrite, SweepMade | FormChosen):
            self.rearrange()

    def _cover(self, cover: Cover) -> None:
        """Take in a new fold, which covers what stands raw, or whole notes."""
        inside = [one for one in self._covers if cover.after <= one.after and one.upto <= cover.upto]
        others = [one for one in self._covers if one not in inside]
        if all(isinstance(one.event, FoldMade) for one in inside) and not any(
            one.after < cover.upto and cover.after < one.upto for one in others
        ):
            self._covers = sorted([*others, cover], key=lambda one: one.after)
            self._lay_out()
        else:
            self.rearrange()

    def rearrange(self) -> None:
        """Find out again what stands in the window, from the rewrites that hold."""
        covers = covers_of(self.rewrites.held_handovers, self.rewrites.in_place, self.rewrites.held_folds)
        self._covers = in_force(covers)
        self._lay_out()

    def _lay_out(self) -> None:
        pinned = [item for seq in sorted(self.rewrites.pinned) if (item := self.item(seq)) is not None]
        self._live_tokens = None
        self._live = arrange(self.items, self.position, self._covers, pinned)

    def retry(self) -> TurnRetried | None:
        """Return the event that repeats the last step of the newest turn; None if that turn is done or runs.

        A step that called tools stays with its answers: the model has to know what it changed.
        """
        if not self.unfinished or not self.items:
            return None
        last = self.items[-1]
        if isinstance(last.event, AssistantSpoke) and not last.event.calls:
            last = self.items[-2]
        return TurnRetried(self.unfinished, last.seq)

    def fork(self) -> Transcript:
        """A copy that may take in further events without touching this one."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict):
                setattr(twin, name, copy(value))
        twin.rewrites = self.rewrites.fork()
        return twin

    @property
    def masked(self) -> Set[int]:
        """Seqs of the messages whose content stands as markers, by all sweeps that hold."""
        return self.rewrites.masked

    @property
    def released(self) -> frozenset[int]:
        """Seqs of what the person took out of a sweep or chose the form of: no sweep of our own takes it."""
        return self.rewrites.released

    @property
    def handover(self) -> tuple[int, HandoverMade] | None:
        """The handover that holds and reaches furthest, with its seq."""
        first = self._covers[0] if self._covers else None
        return (first.seq, first.event) if first and isinstance(first.event, HandoverMade) else None

    @property
    def covers(self) -> tuple[Cover, ...]:
        """The covers in force, in the order of what they cover."""
        return tuple(self._covers)

    def live(self) -> list[Entry]:
        """What stands in the window, one by one, in order. Not to be changed."""
        return self._live

    def shown_tokens(self, entry: Entry) -> int:
        """Tokens of an entry in the form that stands in the window now, framing included.

        A handover's do not count the user's own words in it, which depend on the policy.
        """
        if isinstance(entry, Item):
            return self._item_tokens(entry)
        if isinstance(entry, PinnedCopy):
            return self._item_tokens(entry.item) + PINNED_LABEL
        label = OBSERVED_LABEL if isinstance(entry.event, ObservationsMade) else 0
        return sum(cover.event.tokens for cover in entry.covers) + label + FRAMING

    @property
    def live_tokens(self) -> tuple[int, int]:
        """Tokens of all entries as they stand now, and those of their images among them; no handover's."""
        if self._live_tokens is None:
            entries = [one for one in self._live if not _is_handover(one)]
            items = (one.item if isinstance(one, PinnedCopy) else one for one in entries)
            images = (one for item in items if isinstance(item, Item) for one in self.images_of(item))
            self._live_tokens = sum(map(self.shown_tokens, entries)), sum(one.tokens for one in images)
        return self._live_tokens

    def images_of(self, item: Item) -> tuple[Image, ...]:
        """The images that are sent with a message: none once it is swept, or shown in another form."""
        if item.seq in self.masked or item.seq in self.rewrites.forms:
            return ()
        match item.event:
            case UserSpoke(attachments=attachments):
                return tuple(one.image for one in attachments if one.image)
            case ToolAnswered(images=images):
                return images
        return ()

    def _item_tokens(self, item: Item) -> int:
        if item.seq in self.rewrites.masked:
            return item.tokens - item.saving
        chosen = self.rewrites.forms.get(item.seq)
        return chosen.tokens + FRAMING if chosen else item.tokens

    def can_undo(self, seq: int) -> bool:
        """Whether a rewrite of that seq holds now."""
        return self.rewrites.knows(seq) and self.rewrites.holds(seq)

    def can_redo(self, seq: int) -> bool:
        """Whether a rewrite of that seq was undone."""
        return seq in self.rewrites.undone


def _is_handover(entry: Entry) -> bool:
    return isinstance(entry, Block) and isinstance(entry.event, HandoverMade)
