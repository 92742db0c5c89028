"""What the dialog that edits a recorded handover shows: plain facts; no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from helix_desktop.agent.window.handover_writer import RevisionDraft
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import newest_checkpoint
from helix_desktop.context.summaries.handover_revision import editable_sections, to_fields
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.words.handover_titles import handover_titles
from helix_desktop.words.numbers import format_token_count, format_token_difference
from helix_desktop.words.summary_coverage import MissingText, missing_rules_text
from helix_desktop.words.translation import Translator

tr = Translator("Edit handover")


class EditRefusal(msgspec.Struct, frozen=True):
    """Why a handover cannot be edited now, and what can be done: redo it, or edit `seq` instead."""

    reason: str
    action: Literal["redo", "open", ""] = ""
    seq: int = 0
    label: str = ""


class EditedField(msgspec.Struct, frozen=True):
    """One section: its title, its sentences as lines, and those of the handover as it was first recorded."""

    title: str
    text: str
    original: str


class RevisionCheck(msgspec.Struct, frozen=True):
    """What the edited sections take, and what they do not name, as text."""

    tokens: str
    missing: MissingText


def edit_refusal(transcript: Transcript, seq: int) -> EditRefusal | None:
    """Return why handover `seq` cannot be edited; None if it can: only the active one."""
    rewrites, active = transcript.rewrites, transcript.window.handover
    if seq in transcript.checkpoints:
        return _checkpoint_refusal(transcript, seq)
    if rewrites.handovers[seq].origin:
        return EditRefusal(tr("This handover is of another session. Edit it there."))
    if transcript.can_redo(seq):
        reason = tr("This handover is undone: it isn't in the context. Redo it to edit it.")
        return EditRefusal(reason, "redo", seq, tr("Redo"))
    if active is not None and active[0] != seq:
        title = handover_titles(transcript.written_handovers, transcript.checkpoints)[active[0]]
        reason = tr(
            "“{title}” replaces this one in the context, so only that one can be edited.", title=title
        )
        return EditRefusal(reason, "open", active[0], tr("Edit that one"))
    return None


def _checkpoint_refusal(transcript: Transcript, seq: int) -> EditRefusal | None:
    """Return why a checkpoint cannot be edited; None if the next handover begins with it."""
    newest = newest_checkpoint(transcript)
    if newest is not None and newest[0] == seq:
        return None
    following = (
        newest[0]
        if newest is not None
        else transcript.window.handover[0]
        if transcript.window.handover
        else 0
    )
    if not following:
        return EditRefusal(tr("The messages of this prepared handover were replaced, so it can't be edited."))
    title = handover_titles(transcript.written_handovers, transcript.checkpoints)[following]
    reason = tr("“{title}” updates this one, so only that one can be edited.", title=title)
    return EditRefusal(reason, "open", following, tr("Edit that one"))


def edited_fields(draft: RevisionDraft) -> Sequence[EditedField]:
    original = to_fields(editable_sections(draft.original))
    return [
        EditedField(title, text, original.get(title, ""))
        for title, text in to_fields(editable_sections(draft.handover)).items()
    ]


def revision_check(draft: RevisionDraft, event: HandoverMade, sent: int) -> RevisionCheck:
    """Return what a handover takes and names with the sections as they are now.

    `sent` are the tokens of the recorded one in the context, with all that stands around its text.
    """
    is_changed = event.sections != draft.handover.sections
    now = sent + event.tokens - draft.handover.tokens
    change = now - sent if is_changed else 0
    tokens = format_token_count(now)
    if change:
        tokens = tr("{tokens} ({change})", tokens=tokens, change=format_token_difference(change))
    return RevisionCheck(tokens, missing_rules_text(event.coverage))
