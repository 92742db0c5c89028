"""The versions of a handover on record, and which of them can be edited."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import newest_checkpoint
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.ui.kit.intents import Intent, Redo
from helix_desktop.words.state_words import STATE_WORDS
from helix_desktop.words.summaries import checkpoint_state, handover_titles
from helix_desktop.words.times import format_moment
from helix_desktop.words.translation import Translator, translate

tr = Translator("Handover")

NOTHING = 0
"""Stands for no handover, where other numbers stand for the event of one."""
NOW = -1
"""Stands for the handover as it would be now."""
DRAFT = -2
"""Stands for the draft."""
FORMER_DRAFT = -3
"""Stands for the draft before it."""


class ChooseVersion(Intent, frozen=True):
    seq: int


class Version(msgspec.Struct, frozen=True):
    """One that can be read: its name, when it was written or how, what the context has of it."""

    seq: int
    title: str
    note: str = ""
    state: str = ""


class EditRefusal(msgspec.Struct, frozen=True):
    """Why a handover cannot be edited now, and what can be done instead."""

    reason: str
    label: str = ""
    intent: Intent | None = None


def recorded_versions(
    transcript: Transcript, log: Sequence[RecordedEvent], *, is_managed: bool
) -> list[Version]:
    """Return the handovers and checkpoints on record, the newest first."""
    return [
        Version(seq, title, format_moment(log[seq - 1].at), _state(transcript, seq, is_managed=is_managed))
        for seq, title in reversed(handover_titles(transcript).items())
        if seq <= len(log)  # else it is being stored
    ]


def _state(transcript: Transcript, seq: int, *, is_managed: bool) -> str:
    active = transcript.window.handover
    if active is not None and active[0] == seq:
        return translate(STATE_WORDS["in_window"].label)
    if transcript.can_redo(seq):
        return tr("Undone")
    return checkpoint_state(transcript, seq, is_managed=is_managed)


def version_before(transcript: Transcript, seq: int) -> int:
    """Return the handover that was made before one, or NOTHING; before others, the active one."""
    if seq < NOTHING:
        return transcript.window.handover[0] if transcript.window.handover else NOTHING
    return max((other for other in transcript.written_handovers if other < seq), default=NOTHING)


def edit_refusal(transcript: Transcript, seq: int) -> EditRefusal | None:
    """Return why a handover cannot be edited; None if it can: the active one, the newest checkpoint."""
    if seq == NOW:
        return EditRefusal("")  # what is said of it is what it would replace
    titles = handover_titles(transcript)
    newest = transcript.window.handover
    if seq in transcript.checkpoints:
        newest = newest_checkpoint(transcript) or newest  # the next handover begins with it
        if newest is None:
            return EditRefusal(tr("Its messages were compacted, so it can't be edited."))
        words = tr("“{title}” updates this one, so only that one can be edited.", title=titles[newest[0]])
    elif transcript.rewrites.handovers[seq].origin:
        return EditRefusal(tr("This handover summary is of another session. Edit it there."))
    elif transcript.can_redo(seq):
        reason = tr("This handover summary is undone: it isn't in the context. Redo it to edit it.")
        return EditRefusal(reason, tr("Redo"), Redo((seq,)))
    elif newest is None:
        return None
    else:
        words = tr(
            "“{title}” replaces this one in the context, so only that one can be edited.",
            title=titles[newest[0]],
        )
    return EditRefusal(words, tr("Edit that one"), ChooseVersion(newest[0])) if newest[0] != seq else None


def rerun_seq(transcript: Transcript, seq: int) -> int | None:
    """Return which handover writing would replace, 0 for none; None where nothing can be written."""
    active = transcript.window.handover
    if seq == NOW:
        return 0
    return seq if active is not None and active[0] == seq and not active[1].origin else None
