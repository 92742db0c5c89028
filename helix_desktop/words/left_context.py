"""The three words for what left the context, explained in tooltips: cached, noted, summarized."""

from __future__ import annotations

from helix_desktop.words.translation import Translator

tr = Translator("Context")


def explain_cached() -> str:
    """Say what became of an output, of arguments or of an image that is cached."""
    return tr("Cached: replaced by a marker. The agent can recall it.")


def explain_noted() -> str:
    """Say what became of steps or older messages that are noted."""
    return tr("Noted: replaced by a shorter note. Undo puts the originals back into the context.")


def explain_summarized() -> str:
    """Say what became of messages that are summarized."""
    return tr("Summarized: replaced by a handover. Undo puts the messages back into the context.")
