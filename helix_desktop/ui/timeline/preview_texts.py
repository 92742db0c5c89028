"""How full the context is, what keeps it there, and when it is compacted; no Qt."""

from __future__ import annotations

from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.timeline.card_data import (
    FoldCard,
    HandoverCard,
    PlacedCard,
    SweepCard,
    TimelineState,
)
from helix_desktop.words.numbers import format_token_count, format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator, translate

tr = Translator("Timeline")


def preview_status_text(state: TimelineState) -> str:
    """Return how full the context is, what keeps it there, and when it is compacted."""
    used = _share(state, state.used, is_estimated=state.is_estimated)
    sentences = [_what_keeps(state, used)]
    full = state.used + state.saved
    if state.saved and state.window:
        sentences.append(_in_full(state, full))
    threshold = format_whole_percent(state.threshold)
    if state.is_managed and state.used >= state.window * state.threshold:
        sentences.append(tr("Above {share}, it is compacted once that pays.", share=threshold))
    elif state.is_managed:
        sentences.append(tr("Compaction starts at {share}.", share=threshold))
    else:
        sentences.append(tr("Context management is off."))
    return translate(join_sentences(*sentences))


def _in_full(state: TimelineState, full: int) -> str:
    """Return what every message in full would take: a share of the context window, or more than all of it."""
    if full <= state.window:
        return tr(
            "With every message in full, it would be {share}.", share=_share(state, full, is_estimated=True)
        )
    return tr(
        "Every message in full would take ≈ {tokens}; the context window has room for {window}.",
        tokens=format_token_count(full),
        window=format_tokens(state.window),
    )


def _share(state: TimelineState, tokens: int, *, is_estimated: bool) -> str:
    """Return tokens as a share of the context window, which says so where it is an estimate."""
    return format_whole_percent(tokens / state.window if state.window else 0, is_estimated=is_estimated)


def _what_keeps(state: TimelineState, used: str) -> str:
    handovers = [card for card in state.cards if isinstance(card, HandoverCard)]
    if any(not (card.origin or card.is_checkpoint) for card in handovers):  # or undone
        return tr("The context is {used} full.", used=used)
    holding = [card for card in state.cards if not getattr(card, "is_undone", False)]
    has_facts, has_notes, has_cached = (
        any(isinstance(card, kind) for card in holding) for kind in (PlacedCard, FoldCard, SweepCard)
    )
    match has_facts, has_notes, has_cached:
        case True, True, True:
            return tr(
                "No handover yet: noted facts, notes and cached outputs keep the context at {used}.",
                used=used,
            )
        case True, True, False:
            return tr("No handover yet: noted facts and notes keep the context at {used}.", used=used)
        case True, False, True:
            return tr(
                "No handover yet: noted facts and cached outputs keep the context at {used}.", used=used
            )
        case True, False, False:
            return tr("No handover yet: noted facts keep the context at {used}.", used=used)
        case False, True, True:
            return tr("No handover yet: notes and cached outputs keep the context at {used}.", used=used)
        case False, True, False:
            return tr("No handover yet: notes keep the context at {used}.", used=used)
        case False, False, True:
            return tr("No handover yet: cached outputs keep the context at {used}.", used=used)
    return tr("Nothing was compacted yet. The context is {used} full.", used=used)
