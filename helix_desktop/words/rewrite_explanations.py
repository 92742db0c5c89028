"""What left the context, explained in tooltips: cached, noted, summarized; on hold; what is out of date."""

from __future__ import annotations

from helix_desktop.words.translation import Translator

tr = Translator("Context")


def explain_cached() -> str:
    """Say what became of an output, of arguments or of an image that is cached."""
    return tr("Cached: replaced by a marker. The agent can recall it.")


def explain_noted() -> str:
    """Say what became of steps or older messages that are noted."""
    return tr("Noted: replaced by a shorter note. Undo puts the originals back into the context.")


def explain_facts() -> str:
    """Say what facts are that a model noted."""
    return tr("Facts about older messages, noted in the background. They replace these messages later.")


def explain_merged_facts() -> str:
    """Say what became of noted facts that took too much of the context."""
    return tr("Noted facts merged into fewer. Outdated facts are dropped.")


def explain_summarized() -> str:
    """Say what became of messages that are summarized."""
    return tr("Summarized: replaced by a handover. Undo puts the messages back into the context.")


def explain_checkpoint() -> str:
    """Say what a checkpoint is, and that no request has it."""
    return tr(
        "A handover written ahead of time, while the context stays as it is. The next compaction begins "
        "with the newest one."
    )


def hold_text(on: bool) -> str:
    """Say that the user put the context on hold, or let it go."""
    return tr("Compaction on hold") if on else tr("Compaction resumed")


def explain_hold() -> str:
    """Say what on hold means, and until when."""
    return tr("On hold: the context stays as it is while it fits, until you resume compaction.")


def changed_since(seq: int) -> str:
    """Say in two words, and with the event, that the file of a content has changed."""
    return tr("Changed since (e{event})", event=str(seq))


def explain_changed(seq: int) -> str:
    """Say that the file of a content has changed, and what the content shows."""
    return tr("Changed since (e{event}): this is the file as it was then.", event=str(seq))
