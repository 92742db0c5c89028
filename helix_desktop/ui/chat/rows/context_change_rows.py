"""The line about a change of the context: which changes share one, what it says and offers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.undo_targets import covers_around
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.sections import gist_bullets
from helix_desktop.context.window.rewrite_sizes import ContextRewrite, RewriteSizes
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import ATTACHED_SWEEP_REASONS, SweepMade
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.ui.chat.actions import OpenVersion, RowKey
from helix_desktop.ui.chat.rows.row_types import DividerRow, NoticeRow
from helix_desktop.ui.kit.intents import Intent, Redo, ShowInTimeline, Undo
from helix_desktop.words.compaction import (
    context_change_text,
    divider_change_text,
    handover_text,
    is_by_user,
    reasons_text,
    retaken_text,
    rewrite_reason_text,
)
from helix_desktop.words.model_names import recorded_writer
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

MIN_FREED_SHARE = 0.05
"""Share of the context window that the rewrites before a request have to free for a line in the chat."""


class _Group(msgspec.Struct, eq=False):
    """The rewrites before one request, by their events; sizes in tokens, as `RewriteSizes` has them.

    Those of the user have a line of their own.
    """

    is_by_user: bool
    seqs: list[int] = []
    text: str = ""  # in place of the sizes
    handover_seq: int = 0
    handover: tuple[str, ...] = ()  # what it did and why: stands for all others
    changes: dict[str, int] = {}  # with what each freed
    reasons: dict[str, None] = {}
    before: int = 0
    after: int = 0
    retaken: int = 0  # messages among what left that the user had brought back

    def row(self, transcript: Transcript, around: Mapping[int, int]) -> DividerRow:
        """Return the line about them; of those inside others (`around`) nothing is offered."""
        change = context_change_text(self.before, self.after) if self.before else tr("Context")
        by_size = sorted(self.changes, key=lambda words: (words[:1].islower(), -self.changes[words]))
        words = self.handover if self.handover_seq else (*by_size, reasons_text(self.reasons))
        retaken = retaken_text(self.retaken)
        text = self.text or " · ".join(filter(None, (change, *words, retaken)))
        seq, is_handover = self.handover_seq or self.seqs[0], bool(self.handover_seq)
        active = tuple(seq for seq in self.seqs if transcript.can_undo(seq) and seq not in around)
        undone = tuple(seq for seq in self.seqs if transcript.can_redo(seq))
        redoable = tuple(seq for seq in undone if seq not in around)
        actions: list[Intent] = [ShowInTimeline(seq, is_handover)]
        actions += [Undo(active)] if active else [Redo(redoable)] if redoable else []
        is_undone = bool(undone) and not any(map(transcript.can_undo, self.seqs))
        return DividerRow(RowKey(self.seqs[0]), "context", text, is_undone, tuple(actions))


class ContextLines:
    """One line for all rewrites before a request that freed enough for one.

    Also if a handover is among them, or they took what the user had brought back.
    """

    def __init__(self) -> None:
        self._group = _Group(False)
        self._shown: list[_Group] = []  # those that have a line
        self._sizes = RewriteSizes()

    def on_answer(self, recorded: RecordedEvent, transcript: Transcript) -> None:
        self._sizes.apply(recorded, transcript)
        self._group = _Group(False)

    def on_rewrite(
        self, recorded: RecordedEvent, event: ContextRewrite, transcript: Transcript
    ) -> DividerRow | None:
        """Return the line of the group with this rewrite; None as long as it frees too little for one."""
        change, seq = divider_change_text(event, transcript), recorded.seq
        is_attached = isinstance(event, SweepMade) and event.reason in ATTACHED_SWEEP_REASONS
        if not is_attached and is_by_user(event) != self._group.is_by_user:
            self._group = _Group(is_by_user(event))
        group = self._group
        if not (is_attached and seq - 1 in group.seqs):  # it falls and returns with the one before it
            group.seqs.append(seq)
        size = self._sizes.apply(recorded, transcript)
        freed = 0
        if size is not None:
            freed = size.before - size.after
            group.before, group.after = group.before or size.before, size.after
        elif not isinstance(event, HandoverMade):
            freed = event.saved
        group.retaken += transcript.retaken.get(seq, 0)
        reason = rewrite_reason_text(event)
        if isinstance(event, HandoverMade):
            group.handover_seq = group.handover_seq if event.revises else seq
            group.text = handover_text(event, transcript) if event.origin else ""
            is_refused = bool(event.refused) and not recorded_writer(event.model)
            group.handover = change, reason, tr("the model's summary wasn't used") if is_refused else ""
        if freed:
            group.changes[change] = group.changes.get(change, 0) + freed
            group.reasons |= {reason: None} if reason and not is_attached else {}
        is_large = sum(group.changes.values()) >= MIN_FREED_SHARE * self._sizes.window
        if not (group.handover_seq or group.retaken or is_large):
            return None
        if group not in self._shown:
            self._shown.append(group)
        return group.row(transcript, {})

    def rows(self, transcript: Transcript) -> list[DividerRow]:
        """Return all lines as they are now: something may be undone, redone, or inside a later rewrite."""
        around = covers_around(transcript) if self._shown else {}
        return [group.row(transcript, around) for group in self._shown]


def handover_row(recorded: RecordedEvent, handover: HandoverMade, transcript: Transcript) -> NoticeRow:
    """Return the handover that a session starts from: gist, all of it on request, and the way back."""
    messages = translate(handover_counts(transcript, handover).text)
    return NoticeRow(
        RowKey(recorded.seq, part="handover"),
        "handover",
        handover_title(is_undone=False),
        tr("{messages} compacted", messages=messages),  # the inspector has its tokens
        "\n".join(f"- {bullet.text}" for bullet in gist_bullets(handover.sections)),
        (OpenVersion(handover.origin, is_source=True),),
        "\n\n".join(
            "\n".join((f"### {section.title}", "", *(f"- {bullet.text}" for bullet in section.bullets)))
            for section in handover.sections
            if section.bullets
        ),
    )


def handover_title(*, is_undone: bool) -> str:
    """Return what the card says; from which session, the divider above it says."""
    if is_undone:
        return tr("Not in the context: the summary that this session starts from was undone")
    return tr("This session starts from a summary")
