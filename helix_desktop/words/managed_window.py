"""The managed window: what Helix keeps the context within, of what the model has."""

from __future__ import annotations

from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.words.numbers import format_window
from helix_desktop.words.translation import Translator

tr = Translator("Managed window")


def managed_window_text(managed: int, model_window: int) -> str:
    """Return the managed window as part of the model's: `128k of 1M`; `128k` where they are the same."""
    if managed >= model_window:
        return format_window(model_window)
    return tr("{managed} of {window}", managed=format_window(managed), window=format_window(model_window))


def explain_managed_window(gauge: UsageGauge) -> str:
    """Return what the managed window means; empty where the policy manages all of the model's."""
    if not gauge.is_managed_in_part:
        return ""
    return tr(
        "Helix keeps the context within {managed} of the model's {window}, and lets a message or recall that "
        "needs more have it.",
        managed=format_window(gauge.window),
        window=format_window(gauge.model_window),
    )


def larger_request_text(gauge: UsageGauge) -> str:
    """Return that the next request gets more than the managed window; empty where it doesn't need it."""
    if not gauge.exceeds_managed:
        return ""
    return tr(
        "The next request needs more than {managed} and gets it: the model has {window}.",
        managed=format_window(gauge.window),
        window=format_window(gauge.model_window),
    )
