"""Rewrites of the window to dividers: what became of what, and whether it can be undone."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import policy_from_event
from helix_desktop.context.window.message_states import covers_around
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FoldMade,
    FormChosen,
    Pinned,
    SweepMade,
    Unpinned,
)
from helix_desktop.domain.events.session import (
    BudgetSet,
    EffortChosen,
    HoldSet,
    ModeChanged,
    ModelChosen,
    PolicyChosen,
    SessionBranched,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade, ObservationsPlaced
from helix_desktop.domain.events.workspace import ChangesRecorded, FilesChanged, InstructionsAdded
from helix_desktop.domain.file_history.revert import RevertDirections
from helix_desktop.ui.chat.actions import (
    ButtonAction,
    CompareHandover,
    EditHandover,
    OpenChanges,
    OpenVersion,
    Pin,
    Redo,
    ShowInChat,
    ShowInTimeline,
    Undo,
    Unpin,
)
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.row_types import TOPICS, DividerKind, DividerRow
from helix_desktop.words.file_changes import recorded_changes_text
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.instructions import instructions_text
from helix_desktop.words.policies import session_policy_text
from helix_desktop.words.rewrite_explanations import hold_text
from helix_desktop.words.rewrites import (
    budget_text,
    changed_file_text,
    chosen_form_text,
    effort_text,
    excluded_text,
    files_changed_text,
    fold_text,
    handover_text,
    mode_text,
    model_text,
    observations_placed_text,
    observations_prepared_text,
    pin_text,
    sweep_text,
)
from helix_desktop.words.translation import Translator

tr = Translator("Chat")


class Dividers:
    """The dividers of one session's rewrites by the seq of their event."""

    def __init__(self) -> None:
        self._rows: dict[int, DividerRow] = {}
        self._turns: dict[str, int] = {}  # by the id of the capture
        self._directions = RevertDirections()
        self._topics: set[str] = set()  # that have a row
        self._pins: dict[int, Pinned | Unpinned] = {}  # by the seq of their event
        self._mode: PermissionMode = "ask"
        self._mode_before: PermissionMode | None = None  # the mode changes since the last message
        self._mode_key: RowKey | None = None  # of their row

    def on_changes(
        self, seq: int, event: ChangesRecorded, transcript: Transcript, *, has_card: bool
    ) -> DividerRow | None:
        """Return the line about files that changed; None if the card of their call shows it."""
        self._turns[event.capture] = transcript.messages.turns
        is_redo = self._directions.add(event.capture, event.source, event.scope, event.reverts)
        if has_card:
            return None
        turns = {self._turns.get(capture, 0) for capture in event.reverts}
        words = recorded_changes_text(event, turns.pop() if len(turns) == 1 else 0, is_redo=is_redo)
        kind: DividerKind = "changes"
        if event.source == "revert":
            kind = "redo" if is_redo else "revert"
        return DividerRow(RowKey(seq), kind, words, actions=(OpenChanges(event.capture),), is_quiet=True)

    def on_event(self, recorded: RecordedEvent, transcript: Transcript) -> DividerRow | None:
        """Return the divider that an event adds; None when it adds none."""
        if isinstance(recorded.event, ModeChanged):
            return self._on_mode(recorded.seq, recorded.event.mode)
        row = _divider(recorded, transcript)
        if row is not None:
            topic = "" if row.is_quiet else TOPICS.get(row.kind, "")
            if topic and topic not in self._topics:
                row = replace(row, first_of=topic)
                self._topics.add(topic)
            self._rows[recorded.seq] = row
        if isinstance(recorded.event, Pinned | Unpinned):
            self._pins[recorded.seq] = recorded.event
        return row

    def end_mode_changes(self, event: Event) -> None:
        """Let the next mode change have a row of its own, if this event is a message."""
        if isinstance(event, UserSpoke | AssistantSpoke | ToolAnswered):
            self._mode_before = self._mode_key = None

    def _on_mode(self, seq: int, mode: PermissionMode) -> DividerRow | None:
        """Return the one row of successive mode changes; without text if the mode is the former one again."""
        if self._mode_before is None:
            self._mode_before = self._mode
        self._mode = mode
        replaced = (self._mode_key,) if self._mode_key else ()
        text = "" if mode == self._mode_before else mode_text(mode)
        self._mode_key = RowKey(seq) if text else None
        if not text and not replaced:
            return None
        return DividerRow(RowKey(seq), "mode", text, is_quiet=True, replaces=replaced)

    def updated_states(self, transcript: Transcript) -> list[DividerRow]:
        """Return the dividers that other rewrites touched: undone, redone, replaced or inside a later one."""
        rows: list[DividerRow] = []
        rewrites, around = transcript.rewrites, covers_around(transcript)
        names = _cover_names(set(around.values()), transcript)
        newest_pins = {pin.target: seq for seq, pin in self._pins.items()}
        for seq, row in self._rows.items():
            undone = rewrites.is_undoable(seq) and not rewrites.is_active(seq)
            undone = undone and not rewrites.replaced_by(seq)
            actions: list[ButtonAction] = [
                action for action in row.actions if not isinstance(action, Undo | Redo | Pin | Unpin)
            ]
            if seq in self._pins:
                target = self._pins[seq].target
                newest = newest_pins[target]
                undone = type(self._pins[newest]) is not type(self._pins[seq])
                if seq == newest:
                    actions.append(Unpin(target) if target in rewrites.pinned else Pin(target))
            inside = names[around[seq]] if seq in around else ""
            if transcript.can_undo(seq) and not inside:
                actions.append(Undo(seq))
            elif transcript.can_redo(seq):
                actions.append(Redo(seq))
            updated = replace(row, is_undone=undone, inside=inside, actions=tuple(actions))
            if updated != row:
                self._rows[seq] = updated
                rows.append(updated)
        return rows


def _cover_names(seqs: Iterable[int], transcript: Transcript) -> dict[int, str]:
    """Return what rewrites are called, inside which others stand."""
    titles = handover_titles(transcript.rewrites.handovers)
    return {seq: titles.get(seq, tr("a later note")) for seq in seqs}


def _divider(recorded: RecordedEvent, transcript: Transcript) -> DividerRow | None:
    seq, quiet = recorded.seq, False
    actions: tuple[ButtonAction, ...] = (ShowInTimeline(seq), Undo(seq))
    kind: DividerKind
    match recorded.event:
        case SweepMade() as sweep:
            kind, text = "sweep", sweep_text(sweep, transcript)
            quiet = sweep.reason in ATTACHED_SWEEP_REASONS
        case ModelChosen() | EffortChosen() | PolicyChosen() | HoldSet() | BudgetSet() as setting:
            (kind, text), quiet, actions = _setting_change(setting), True, ()
        case HandoverMade() as handover:
            kind, text = "handover", handover_text(handover, transcript)
            actions = (ShowInTimeline(seq), *_handover_actions(seq, handover), Undo(seq))
        case FoldMade() as fold:
            kind, text = "left_out" if fold.how == "truncate" else "fold", fold_text(fold, transcript)
        case ObservationsPlaced() as placed:
            kind, text = "observations", observations_placed_text(placed, transcript)
        case ObservationsMade() as observations:
            kind, text, quiet, actions = (
                "observations",
                observations_prepared_text(observations, transcript),
                True,
                (ShowInTimeline(seq),),
            )
        case FormChosen() | Excluded() | Pinned() | Unpinned() as manual:
            (kind, text, about), quiet = _manual_change(manual, transcript), True
            undo = () if kind == "pin" else (Undo(seq),)
            actions = (ShowInChat(about), *undo)
        case FilesChanged() | InstructionsAdded() | SessionBranched() as event:
            return _quiet_row(seq, event)
        case _:
            return None
    return DividerRow(RowKey(seq), kind, text, actions=actions, is_quiet=quiet)


def _handover_actions(seq: int, handover: HandoverMade) -> tuple[ButtonAction, ...]:
    if handover.origin:
        return ()
    return (CompareHandover(seq), EditHandover(seq)) if handover.former else (EditHandover(seq),)


def _manual_change(
    event: FormChosen | Excluded | Pinned | Unpinned, transcript: Transcript
) -> tuple[DividerKind, str, int]:
    """Return what the user changed by hand, in words, and the event it is about."""
    match event:
        case FormChosen(target=target):
            return "form", chosen_form_text(event, transcript), target
        case Excluded(targets=targets):
            return "exclude", excluded_text(event, transcript), targets[0]
        case Pinned(target=target) | Unpinned(target=target):
            return "pin", pin_text(event, transcript), target


def _quiet_row(seq: int, event: FilesChanged | InstructionsAdded | SessionBranched) -> DividerRow | None:
    """Return the divider of changed files, of instructions that came, or of where a branch begins.

    Where a message or answer has another version, buttons below it say so.
    """
    if isinstance(event, FilesChanged):
        return _changed_files_row(seq, event)
    if isinstance(event, InstructionsAdded):
        return DividerRow(RowKey(seq), "instructions", instructions_text(event), is_quiet=True)
    if event.how in ("edit", "retry"):
        return None
    words = tr("Rewound to here") if event.how else tr("Branch begins here")
    return DividerRow(RowKey(seq), "branch", words, actions=(OpenVersion(event.parent),), is_quiet=True)


def _changed_files_row(seq: int, event: FilesChanged) -> DividerRow:
    """Return the divider of changed files; of several, each is a detail."""
    details = tuple(map(changed_file_text, event.files)) if len(event.files) > 1 else ()
    return DividerRow(RowKey(seq), "files", files_changed_text(event), is_quiet=True, details=details)


def _setting_change(
    event: ModelChosen | EffortChosen | PolicyChosen | HoldSet | BudgetSet,
) -> tuple[DividerKind, str]:
    match event:
        case ModelChosen(model=model):
            return "model", model_text(model)
        case EffortChosen(effort=effort):
            return "model", effort_text(effort)
        case PolicyChosen(policy=fields):
            return "policy", session_policy_text(policy_from_event(fields))
        case HoldSet(on=on):
            return "hold" if on else "resume", hold_text(on)
        case BudgetSet():
            return "budget", budget_text(event)
