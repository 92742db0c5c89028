"""A policy as a form: every number in plain words, within its bounds, grouped by mechanism."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.ui.settings.forms import PolicyField, PolicyForm, PolicyGroup, PolicyValue, Profile

PROFILE_TEXTS = {
    "lean": "Sends least: little stays word for word, steps fold soon, observations go in place at once.",
    "balanced": "The default: old outputs become markers, old steps a note; observations wait till they pay.",
    "classic": "Markers in fixed batches and a handover at 85 %; no folds and no observations in between.",
    "plain": "Markers at once, then the handover, nothing else: easy to follow, but it rewrites most often.",
    "off": "Changes no request, not even in an emergency: one that does not fit is refused with an error.",
}
"""What each profile means, the price included."""

_STEPS, _TOKENS, _SECONDS, _SHARE = "model calls", "tokens", "seconds", "% of the window"
_NAMES = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def policy_form(
    workspace: str, policy: ContextPolicy, restorable: Mapping[str, int] | None = None
) -> PolicyForm:
    """Return the form of a workspace's policy; `restorable` counts stored changes by profile."""
    profiles = tuple(Profile(name, PROFILE_TEXTS[name]) for name in PROFILES)
    groups = (
        _general(policy),
        _sweep(policy),
        _arguments(policy),
        _fold(policy),
        _intake(policy),
        _observations(policy),
        _handover(policy),
        _panic(policy),
        _budget(policy),
    )
    return PolicyForm(workspace, policy.profile, profiles, groups, policy.enabled, restorable or {})


def policy_error_text(error: ValueError, form: PolicyForm) -> str:
    """Why a policy was refused, with its fields by the names that they have in the form."""
    labels = {field.key: f"“{field.label}”" for field in form.fields}
    text = _NAMES.sub(lambda match: labels.get(match[0], match[0]), str(error))
    return f"{text[:1].upper()}{text[1:]}."


def _field(
    policy: ContextPolicy,
    key: str,
    label: str,
    unit: str = "",
    note: str = "",
    *,
    minimum: float = 0,
    maximum: float = 10_000_000,
    choices: tuple[str, ...] = (),
) -> PolicyField:
    value: PolicyValue = getattr(policy, key)
    default: PolicyValue = getattr(PROFILES[policy.profile], key)
    percent = unit.startswith("%")
    return PolicyField(key, label, value, unit, note, minimum, maximum, choices, default, percent)


def _general(policy: ContextPolicy) -> PolicyGroup:
    note = "Off changes no request; one that does not fit is then refused with a clear error."
    field = _field(policy, "enabled", "Manage the window", "", note)
    return PolicyGroup("In general", "", (field,))


def _sweep(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = (
        "Old outputs become markers; the agent recalls them by hash. In a window below 128,000 tokens the "
        "batches and the tail below shrink with it."
    )
    when = (
        "Rent: when waiting has cost what the rewrite costs. Fixed: when a batch is full. At once: each time."
    )
    return PolicyGroup("Sweep", lead, (
        field("sweep", "When", "", when, choices=("rent", "fixed", "at once")),
        field("protect_steps", "Newest steps that stay whole", _STEPS, "At least 2, whatever stands here."),
        field("protect_tokens", "Newest tokens that stay whole", _TOKENS, "Whichever of the two ends first."),
        field("protect_recalls", "Recalled so often, it stays", "times",
              "The newest copy of what the agent keeps asking for. 0 turns this off."),
        field("least_saving", "A marker saves at least", _TOKENS),
        field("sweep_min", "Smallest batch", _TOKENS, "By rent, no sweep saves less."),
        field("sweep_max", "Largest batch", _TOKENS, "By rent, so much is swept without waiting."),
        field("sweep_fixed", "Batch when fixed", _TOKENS),
        field("cache_ttl_s", "The provider's cache is cold after", _SECONDS,
              "Idle for longer, a smaller batch pays, because the request is read afresh anyway."),
    ))  # fmt: skip


def _arguments(policy: ContextPolicy) -> PolicyGroup:
    lead = "Large arguments of calls, such as the text of a file that the agent wrote, become markers too."
    note = "0 turns this off: arguments stay word for word."
    return PolicyGroup("Arguments", lead, (
        _field(policy, "protect_argument_steps", "Newest steps that keep theirs", _STEPS, note),
    ))  # fmt: skip


def _fold(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = (
        "Whole old steps become one note: what was said stays, calls are short lines, the rest is an index."
    )
    return PolicyGroup("Fold", lead, (
        field("fold_after_steps", "Steps fold when they are older than", _STEPS,
              "0 turns folding off."),
        field("fold_least", "A fold frees at least", _TOKENS, "Shrinks with a small window."),
        field("condense_at", "Notes are condensed above", _SHARE,
              "The older notes become one shorter note. 0 turns this off.", maximum=0.5),
        field("condense_keep", "A condensed note leaves", "% of that", "The newest notes stay as they are.",
              minimum=0.1, maximum=0.9),
        field("condense_message", "Of each of your messages keep", _TOKENS,
              "In a condensed note; a longer message keeps its beginning and its end."),
    ))  # fmt: skip


def _intake(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = "A large output is stored whole and shown in part; the rest is a recall away."
    return PolicyGroup("Intake", lead, (
        field("intake_above", "An output is large above", _TOKENS,
              "0 turns this off; what takes too much of the window is still shown in part."),
        field("preview_above", "Also large: what takes above", _SHARE, minimum=0.05, maximum=0.8),
        field("intake_ask", "Let the agent choose the form", "",
              "An extract in its own words, a preview, or all of it. Off: always a preview."),
        field("intake_deadline_s", "Time to choose and extract", _SECONDS,
              "Then it is a preview. 0: the agent is not asked."),
        field("preview_tokens", "A preview has", _TOKENS),
    ))  # fmt: skip


def _observations(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = "Older turns become dated facts, prepared while nobody waits and put in place when it pays."
    return PolicyGroup("Observations", lead, (
        field("observe_at", "Prepare when unobserved turns pass", _SHARE,
              "0 turns observations and reflections off.", maximum=0.9),
        field("observe_place_at", "Put in place at", _SHARE,
              "Of the whole window. With the same number as above: as soon as they are ready.", maximum=0.9),
        field("reflect_at", "Refine when observations pass", _SHARE,
              "A reflection merges them and drops what is out of date.", minimum=0.05, maximum=0.9),
    ))  # fmt: skip


def _handover(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = "Older messages become a summary in six sections, with a ledger of everything that was touched."
    return PolicyGroup("Handover", lead, (
        field("handover_at", "Starts at", _SHARE, minimum=0.30, maximum=0.95),
        field("handover_least_messages", "Covers at least", "messages"),
        field("handover_least_gain", "Frees at least", _SHARE, "One that would not is refused.", maximum=0.5),
        field("handover_keep", "Keeps of a running turn", _SHARE, minimum=0.02, maximum=0.5),
        field("handover_cooldown_s", "Waits between two", _SECONDS,
              "Doubled after each failure, twice at most."),
        field("user_text_tokens", "Your words kept verbatim", _TOKENS, "The newest that fit; also in notes."),
        field("ledger_tokens", "Ledger of files, commands, errors", _TOKENS,
              "Also of notes and observations."),
    ))  # fmt: skip


def _panic(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = "When a request would not fit, room is made at once, step by step and without a model."
    return PolicyGroup("Panic", lead, (
        field("panic_at", "Begins at", _SHARE, "Not below the handover.", minimum=0.5, maximum=1.0),
        field("panic_to", "Ends at", _SHARE, minimum=0.1, maximum=0.9),
    ))  # fmt: skip


def _budget(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = (
        "What a session may spend before a turn ends. It can have a budget of its own: click the figures "
        "below the chat."
    )
    return PolicyGroup("Budget of a session", lead, (
        field("budget_tokens", "Tokens, in and out", _TOKENS, "0: as many as it takes.", maximum=10**12),
        field("budget_cost", "US dollars", "$",
              "0: as much as it takes. Counted where a model's prices are known.", maximum=10**6),
        field("ask_above", "Background work asks above", _TOKENS,
              "Compacting and observing that would read more than this, or than half the context, ask first. "
              "0: they never ask."),
    ))  # fmt: skip
