"""A policy as a form: which numbers are shown, under which words, within which bounds."""

from __future__ import annotations

from helix_desktop.context.policy import PROFILES, Policy
from helix_desktop.ui.settings.rows import PolicyField, PolicyForm, PolicyGroup


def policy_form(workspace: str, policy: Policy) -> PolicyForm:
    """The form of a workspace's policy."""
    return PolicyForm(workspace, policy.profile, tuple(PROFILES), _groups(policy))


def _groups(policy: Policy) -> tuple[PolicyGroup, ...]:
    return (
        PolicyGroup("In general", _general(policy)),
        PolicyGroup("Sweep: old outputs become markers", _sweep(policy)),
        PolicyGroup("Handover: older messages become a summary", _handover(policy)),
        PolicyGroup("Large outputs and recall", _outputs(policy)),
    )


def _general(policy: Policy) -> tuple[PolicyField, ...]:
    note = "Off changes no request; one that does not fit is then refused with a clear error."
    return (PolicyField("enabled", "Manage the window", policy.enabled, note=note),)


def _sweep(policy: Policy) -> tuple[PolicyField, ...]:
    modes = ("rent", "fixed", "at once")
    return (
        PolicyField(
            "sweep", "When", policy.sweep, note="Rent: as soon as waiting costs more.", choices=modes
        ),
        PolicyField(
            "protect_steps", "Newest steps kept whole", policy.protect_steps, "model calls", most=200
        ),
        PolicyField("protect_tokens", "and at most", policy.protect_tokens, "tokens"),
        PolicyField("least_saving", "A marker saves at least", policy.least_saving, "tokens", most=10_000),
        PolicyField("sweep_min", "Smallest batch", policy.sweep_min, "tokens"),
        PolicyField("sweep_max", "Largest batch", policy.sweep_max, "tokens"),
        PolicyField("sweep_fixed", "Batch when fixed", policy.sweep_fixed, "tokens"),
    )


def _handover(policy: Policy) -> tuple[PolicyField, ...]:
    return (
        PolicyField("handover_at", "Starts at", policy.handover_at, "of the window", least=0.30, most=0.95),
        PolicyField(
            "handover_cooldown_s", "Wait between two", policy.handover_cooldown_s, "seconds", most=86_400
        ),
        PolicyField(
            "handover_least_messages",
            "Covers at least",
            policy.handover_least_messages,
            "messages",
            most=1_000,
        ),
        PolicyField(
            "handover_least_gain", "Frees at least", policy.handover_least_gain, "of the window", most=0.5
        ),
        PolicyField(
            "handover_keep",
            "Keeps of a running turn",
            policy.handover_keep,
            "of the window",
            least=0.02,
            most=0.5,
        ),
        PolicyField("user_text_tokens", "Your words kept verbatim", policy.user_text_tokens, "tokens"),
        PolicyField("ledger_tokens", "Ledger of artifacts", policy.ledger_tokens, "tokens", most=20_000),
    )


def _outputs(policy: Policy) -> tuple[PolicyField, ...]:
    return (
        PolicyField(
            "preview_above", "Preview above", policy.preview_above, "of the window", least=0.05, most=0.8
        ),
        PolicyField("preview_tokens", "A preview has", policy.preview_tokens, "tokens", most=20_000),
    )
