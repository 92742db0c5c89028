"""The words for where a content is now, and the tooltips that explain them."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.cache.rows import CacheState
from helix_desktop.words.rewrite_explanations import STATE_WORDS

text = TextContext("Cache")

STATE_LABELS: dict[CacheState, TranslatableText] = {
    **{state: words.label for state, words in STATE_WORDS.items()},
    "in_part": text("In part"),
    "elsewhere": text("Not in session"),
    "index": text("Recall list", "state: the list of what was compacted"),
    "damaged": text("Damaged"),
    "in_trash": text("In trash"),
}
INDEX_LABELS: dict[str, TranslatableText] = {
    "handover": text("Handover"),
    "observations": text("Facts"),
    "fold": text("Steps"),
}
"""For what wrote an index, in place of a tool's name."""
STATE_TIPS: dict[CacheState, TranslatableText] = {
    **{state: words.tooltip for state, words in STATE_WORDS.items()},
    "in_part": text("The model sees a preview, an extract or some lines."),
    "elsewhere": text("This session doesn't use it."),
    "index": text("The list of what was compacted. The agent looks in it for what to recall."),
    "damaged": text("Its bytes no longer match their SHA-256."),
    "in_trash": text("You can restore it."),
}
