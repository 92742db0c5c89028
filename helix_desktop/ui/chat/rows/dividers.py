"""What stands between messages: what became of the context before a request, and what was set or changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import policy_from_event
from helix_desktop.context.window.usage_gauge import estimate_of, latest_report, projected_tokens
from helix_desktop.context.window.window_breakdown import covers_around
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import (
    ATTACHED_SWEEP_REASONS,
    Excluded,
    FoldMade,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.session import (
    BudgetSet,
    ChangesRecorded,
    EffortChosen,
    FilesChanged,
    HoldSet,
    InstructionsAdded,
    ModeChanged,
    ModelChosen,
    PolicyChosen,
    SessionBranched,
)
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.file_history.changes import RevertDirections
from helix_desktop.ui.chat.actions import OpenChanges, OpenVersion, RowKey
from helix_desktop.ui.chat.rows.row_types import DividerKind, DividerRow
from helix_desktop.ui.kit.intents import Intent, Redo, ShowInTimeline, Undo
from helix_desktop.words.file_changes import recorded_changes_text
from helix_desktop.words.instructions import instructions_text
from helix_desktop.words.message_states import hold_text
from helix_desktop.words.policies import session_policy_text
from helix_desktop.words.rewrite_reasons import divider_change_text, divider_reason_text, retaken_text
from helix_desktop.words.rewrites import (
    budget_text,
    changed_file_text,
    context_change_text,
    effort_text,
    files_changed_text,
    handover_text,
    mode_text,
    model_text,
)
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

MIN_FREED_SHARE = 0.05
"""Share of the context window that the rewrites before a request have to free for a line in the chat."""

ContextRewrite: TypeAlias = SweepMade | FoldMade | ObservationsPlaced | HandoverMade | Excluded


class _Group(msgspec.Struct, eq=False):
    """The rewrites before one request, by their events; sizes in tokens as the model counts them.

    `used` is the size of the next request right after the newest of them, which would have had `freed` more.
    It stays: what comes later is not what they did.
    """

    seqs: list[int] = []
    text: str = ""  # in place of the sizes
    handover_seq: int = 0
    handover: tuple[str, str] = ("", "")  # what it did and why: stands for all others
    changes: dict[str, int] = {}  # with what each freed
    reasons: dict[str, None] = {}
    used: int = 0
    retaken: int = 0  # outputs among what left that the user had brought back

    @property
    def freed(self) -> int:
        return sum(self.changes.values())

    def row(self, transcript: Transcript, around: Mapping[int, int]) -> DividerRow:
        """Return the line about them; `around` are the rewrites inside others, which can't be undone."""
        change = context_change_text(self.used + self.freed, self.used)
        by_size = sorted(self.changes, key=lambda words: -self.changes[words])
        words = self.handover if self.handover_seq else (*by_size, *self.reasons)
        retaken = retaken_text(self.retaken)
        text = self.text or " · ".join(filter(None, (change, *words, retaken)))
        seq, is_handover = self.handover_seq or self.seqs[0], bool(self.handover_seq)
        active = tuple(seq for seq in self.seqs if transcript.can_undo(seq) and seq not in around)
        undone = tuple(seq for seq in self.seqs if transcript.can_redo(seq))
        actions: list[Intent] = [ShowInTimeline(seq, is_handover)]
        actions += [Undo(active)] if active else [Redo(undone)] if undone else []
        is_undone = bool(undone) and not any(map(transcript.can_undo, self.seqs))
        return DividerRow(RowKey(self.seqs[0]), "context", text, is_undone, tuple(actions))


class ContextLines:
    """One line for all rewrites before a request that freed enough for one.

    Also if a handover is among them, or they took what the user had brought back. Sizes are counted event by
    event, as the gauge does, from the newest report of the model.
    """

    def __init__(self) -> None:
        self._group = _Group()
        self._shown: dict[RowKey, tuple[_Group, DividerRow]] = {}  # groups that have a line, with it
        self._overhead = 0  # tokens by our count of what is sent beside messages and handover
        self._handover_tokens: dict[int, int] = {}  # by our count, with the user's words that it quotes
        self._window = 0  # tokens of the context window; 0: not known yet

    def on_answer(self, response: AssistantSpoke, transcript: Transcript) -> None:
        """Begin a new group: the request was answered."""
        if response.estimate and not response.sent_after:  # else the window is not what was sent
            answer = transcript.window.entry_tokens(transcript.messages.items[-1])
            self._overhead = max(0, response.estimate - (self._messages(transcript) - answer))
        self._window, self._group = response.window or self._window, _Group()

    def on_rewrite(
        self, recorded: RecordedEvent, event: ContextRewrite, transcript: Transcript
    ) -> DividerRow | None:
        """Return the line of the group with this rewrite; None as long as it frees too little for one."""
        group, seq = self._group, recorded.seq
        change = divider_change_text(event)
        is_attached = isinstance(event, SweepMade) and event.reason in ATTACHED_SWEEP_REASONS
        if not (is_attached and seq - 1 in group.seqs):  # it falls and returns with the one before it
            group.seqs.append(seq)
        handover = transcript.rewrites.handovers.get(seq - 1)
        match event:
            case HandoverMade(origin=origin):
                self._learn_handover(seq, event, transcript)
                freed = event.before - event.after
                group.handover_seq = group.handover_seq if event.revises else seq
                group.text = handover_text(event, transcript) if origin else ""
            case SweepMade(reason=SweepReason.HANDOVER) if handover is not None:
                self._learn_handover(seq - 1, handover, transcript)
                freed = 0  # the handover's sizes count it
            case _:
                freed = self._used(transcript, event.saved) - self._used(transcript)
        group.used = self._used(transcript)
        group.retaken += transcript.retaken.get(seq, 0)
        reason = divider_reason_text(event)
        if isinstance(event, HandoverMade):
            group.handover = change, reason
        if freed:
            group.changes[change] = group.changes.get(change, 0) + freed
            group.reasons |= {reason: None} if reason and not is_attached else {}
        return self._row(transcript)

    def _row(self, transcript: Transcript) -> DividerRow | None:
        group = self._group
        is_large = group.freed >= MIN_FREED_SHARE * self._window
        if not (group.handover_seq or group.retaken or is_large):
            return None
        row = group.row(transcript, {})
        self._shown[row.key] = group, row
        return row

    def updated_states(self, transcript: Transcript) -> list[DividerRow]:
        """Return the lines of which something was undone, redone, or is inside a later rewrite since."""
        around, changed = covers_around(transcript) if self._shown else {}, []
        for key, (group, before) in self._shown.items():
            row = group.row(transcript, around)
            if row != before:
                self._shown[key] = group, row
                changed.append(row)
        return changed

    def _learn_handover(self, seq: int, handover: HandoverMade, transcript: Transcript) -> None:
        """Learn how much a handover is with the user's words in it, which depend on the policy."""
        report = latest_report(transcript, transcript.last_model)
        after = estimate_of(handover.after, report, report.ratio if report is not None else 1.0)
        quoted = after - self._overhead - transcript.window.tokens[0]
        self._handover_tokens[seq] = max(handover.tokens, quoted)

    def _messages(self, transcript: Transcript) -> int:
        """Return the tokens by our count of the messages in the window, and of the handover before them."""
        tokens, active = transcript.window.tokens[0], transcript.window.handover
        if active is None:
            return tokens
        excluded = transcript.rewrites.excluded.get(active[0])
        if excluded is not None:
            return tokens + excluded.tokens
        return tokens + self._handover_tokens.get(active[0], active[1].tokens)

    def _used(self, transcript: Transcript, more: int = 0) -> int:
        """Return the tokens of the next request as the model counts them, with so `more` by our count."""
        report = latest_report(transcript, transcript.last_model)
        ratio = report.ratio if report is not None else 1.0
        return projected_tokens(self._overhead + self._messages(transcript) + more, report, ratio)


class Dividers:
    """The lines of one session about what was set, and about files that changed."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}  # by the id of the capture
        self._directions = RevertDirections()
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

    def on_event(self, recorded: RecordedEvent) -> DividerRow | None:
        """Return the line about a setting, changed files, instructions that came, or where a branch begins.

        Where a message or answer has another version, buttons below it say so.
        """
        kind: DividerKind
        key = RowKey(recorded.seq)
        match recorded.event:
            case ModeChanged(mode=mode):
                return self._on_mode(recorded.seq, mode)
            case ModelChosen(model=model):
                kind, words = "model", model_text(model)
            case EffortChosen(effort=effort):
                kind, words = "model", effort_text(effort)
            case PolicyChosen(policy=fields):
                kind, words = "policy", session_policy_text(policy_from_event(fields))
            case HoldSet(on=on):
                kind, words = "hold" if on else "resume", hold_text(on)
            case BudgetSet() as budget:
                kind, words = "budget", budget_text(budget)
            case FilesChanged(files=files) as changed:
                each = tuple(map(changed_file_text, files)) if len(files) > 1 else ()
                return DividerRow(key, "files", files_changed_text(changed), is_quiet=True, details=each)
            case InstructionsAdded() as added:
                kind, words = "instructions", instructions_text(added)
            case SessionBranched(how=how, parent=parent) if how not in ("edit", "retry"):
                words = tr("Rewound to here") if how else tr("Branch begins here")
                return DividerRow(key, "branch", words, actions=(OpenVersion(parent),), is_quiet=True)
            case _:
                return None
        return DividerRow(key, kind, words, is_quiet=True)

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
