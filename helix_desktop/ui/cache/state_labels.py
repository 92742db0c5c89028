"""The words for where a content is now, and the tooltips that explain them."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.cache.rows import CacheState

text = TextContext("Cache")

STATE_LABELS: dict[CacheState, TranslatableText] = {
    "in_window": text("In context"),
    "pinned": text("Pinned"),
    "in_part": text("Partial"),
    "marker": text("Cached"),
    "excluded": text("Excluded"),
    "noted": text("Noted"),
    "handed_over": text("Summarized"),
    "left_out": text("Removed"),
    "stored": text("Stored"),
    "index": text("Index"),
    "damaged": text("Damaged"),
    "in_trash": text("In trash"),
}
INDEX_LABELS: dict[str, TranslatableText] = {
    "handover": text("Handover"),
    "observations": text("Noted facts"),
    "fold": text("Note"),
}
"""For what wrote an index, in place of a tool's name."""
STATE_TIPS: dict[CacheState, TranslatableText] = {
    "in_window": text("The model sees all of it."),
    "pinned": text("Pinned: always kept in context."),
    "in_part": text("The model sees a preview, an extract or some lines."),
    "marker": text("Replaced by a marker. The agent can recall it."),
    "excluded": text("Excluded by you. The agent can recall it."),
    "noted": text("Replaced by a note. The agent can recall it."),
    "handed_over": text("Replaced by a handover. The agent can recall it."),
    "left_out": text("Removed to fit the context window. The agent can recall it."),
    "stored": text("Not in the context of this session."),
    "index": text("Lists what a note or summary replaced."),
    "damaged": text("Its bytes no longer match their SHA-256."),
    "in_trash": text("You can restore it."),
}
