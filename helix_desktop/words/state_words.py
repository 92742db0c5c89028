"""Where a message of the log is now, in words; pauses; what is out of date; who counted a gauge's tokens."""

from __future__ import annotations

from typing import Literal, NamedTuple

from helix_desktop.context.window.message_states import MessageState
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.translation import Translator, current_language

tr = Translator("Context")
text = TextContext("Context")

_IN_CONTEXT = text("In context")
_UNDO = text("Undo")
OUTDATED = text("Edited since")


class StateWords(NamedTuple):
    """The words of a state: the name of it, what it means, the verb that reverses it, if anything can.

    What stands in its place, where a compaction has several forms, is in the meaning, never another state.
    `color` is the token of the dot that stands for it in the window.
    """

    label: TranslatableText
    tooltip: TranslatableText
    verb: str = ""
    color: str = ""


_COMPACTED = StateWords(
    text("Compacted"), text("In a shorter form. The agent can recall all of it."), _UNDO, "seg_handover"
)
STATE_WORDS: dict[MessageState | Literal["in_part"], StateWords] = {
    "in_window": StateWords(_IN_CONTEXT, text("The model sees all of it."), color="seg_turn"),
    "in_part": StateWords(
        text("In context in part"),
        text("The model sees a part of it; the rest can be recalled."),
        color="seg_part",
    ),
    "pinned": StateWords(
        _IN_CONTEXT, text("Pinned: it always stays in the context."), text("Unpin"), "seg_turn"
    ),
    "cached": StateWords(
        text("Cached"),
        text("Replaced by a short description. The agent can recall it."),
        text("Undo caching"),
        "seg_output",
    ),
    "folded": _COMPACTED,
    "observed": _COMPACTED,
    "handed_over": _COMPACTED,
    "truncated": _COMPACTED,
    "excluded": StateWords(text("Left out"), text("Left out by you. The agent can recall it."), _UNDO),
}
"""The one place of these words and colors: chat, panel, timeline, cache and command line show them."""
REPEATED = StateWords(
    _IN_CONTEXT,
    text("A short description in its place; the same content is in the context elsewhere."),
    color="seg_turn",
)
"""Of an output that is cached where it was, and in the context elsewhere."""


def explain_observations() -> str:
    return tr("The context is unchanged until it replaces these messages.")


def explain_merged_observations() -> str:
    return tr("What was compacted before, in fewer words. The context is unchanged until it replaces that.")


def explain_checkpoint() -> str:
    return tr(
        "The context is unchanged. When Helix compacts these messages, it starts from this handover summary."
    )


def hold_text(on: bool) -> str:
    return tr("Context changes paused") if on else tr("Context changes resumed")


def explain_hold() -> str:
    return tr("Paused: the context stays as it is while it fits, until you resume.")


def explain_outdated() -> str:
    return tr("The file has changed since. This is what it was then.")


def gauge_source_text(gauge: UsageGauge) -> str:
    """Return who counted the tokens: the provider, or Helix from what the provider reported before."""
    if gauge.is_reported:
        return tr("By the provider's count")
    if gauge.report_count:
        return tr("Estimated from the provider's last report")
    ratio = current_language().show_decimal(gauge.ratio, 2)
    if ratio == current_language().show_decimal(1, 2):
        return tr("Estimated")
    return tr("Estimated: {ratio} × Helix's count, from earlier sessions", ratio=ratio)
