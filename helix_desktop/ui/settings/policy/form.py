"""A policy as a form: the numbers that people change, in words and within bounds; the file has all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helix_desktop.context.policy import PROFILES, ContextPolicy, conflicting_fields
from helix_desktop.ui.settings.forms import PolicyField, PolicyForm, PolicyGroup, Profile
from helix_desktop.words.numbers import format_percent
from helix_desktop.words.policies import policy_name, profile_name
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")

SLIDER_FIELDS = frozenset({"profile", "enabled"})
FILE_FIELDS = frozenset(
    {
        *("subagent_profile", "intake_ask", "preview_above", "preview_tokens", "least_saving"),
        *("protect_argument_steps", "protect_recalls", "sweep", "sweep_min", "sweep_max", "sweep_fixed"),
        *(
            "cache_ttl_s",
            "fold_after_steps",
            "fold_least",
            "condense_at",
            "condense_keep",
            "condense_message",
        ),
        *("observe_place_at", "handover_least_messages", "handover_least_gain", "handover_keep"),
        *("user_text_tokens", "ledger_tokens", "handle_digits", "anchor_tokens", "panic_at", "panic_to"),
    }
)
"""What only `policy.toml` has; the form leaves it as it is."""


def policy_form(workspace_name: str, policy: ContextPolicy) -> PolicyForm:
    """Return the form of a workspace's policy; Plain is a stop of its slider only where a file chose it."""
    profile = policy.profile if policy.enabled else "off"
    names = [name for name in PROFILES if name != "plain" or profile == "plain"]
    profiles = tuple(_profile(policy if name == policy.profile else PROFILES[name]) for name in names)
    groups = (_cache(policy), _compact(policy), _budget(policy))
    is_changed = policy.enabled and policy != PROFILES[policy.profile]
    return PolicyForm(workspace_name, profile, profiles, groups, policy_name(policy), is_changed)


def conflict_text(fields: Mapping[str, Any], form: PolicyForm) -> str:
    """Return why these numbers cannot work together, by their names in the form, else in the file."""
    conflict = conflicting_fields(fields)
    if conflict is None:
        return tr("These numbers don't work together.")
    labels = {field.key: field.label for field in form.fields}
    lower, upper = (labels.get(key, key) for key in conflict)
    if fields[conflict[0]] == fields[conflict[1]]:
        return tr("“{lower}” must be below “{upper}”.", lower=lower, upper=upper)
    return tr("“{lower}” can't be above “{upper}”.", lower=lower, upper=upper)


def _profile(policy: ContextPolicy) -> Profile:
    """Return the profile of a policy, described with the policy's own numbers."""
    name, handover_at = policy.profile, format_percent(policy.handover_at)
    match name:
        case "lean":
            description = tr(
                "Sends the least: outputs are cached, old steps become short notes, and observations replace "
                "older messages, each early."
            )
        case "balanced":
            description = tr(
                "The default: old outputs are cached, old steps become short notes, and observations "
                "replace older messages, each when that pays off."
            )
        case "classic":
            description = tr(
                "For comparison: caches old outputs in fixed batches and writes a handover at {share}. No "
                "notes before that.",
                share=handover_at,
            )
        case "plain":
            description = tr(
                "For comparison: caches old outputs at once and writes a handover at {share}. Changes the "
                "context most often, and loses the prompt cache of what follows each time: can cost more "
                "than Off.",
                share=handover_at,
            )
        case _:
            description = tr(
                "Sends every request unchanged. A request that doesn't fit is stopped with an error."
            )
    return Profile(name, profile_name(name), description)


def _field(
    policy: ContextPolicy,
    key: str,
    label: str,
    unit: str,
    note: str = "",
    *,
    minimum: float = 0,
    maximum: float = 10_000_000,
    is_percent: bool = False,
) -> PolicyField:
    default: float = getattr(PROFILES[policy.profile], key)
    return PolicyField(key, label, getattr(policy, key), unit, note, minimum, maximum, default, is_percent)


def _share(
    policy: ContextPolicy, key: str, label: str, note: str, *, minimum: float = 0, maximum: float
) -> PolicyField:
    """Return the field of a share of the context window."""
    return _field(policy, key, label, "%", note, minimum=minimum, maximum=maximum, is_percent=True)


def _cache(policy: ContextPolicy) -> PolicyGroup:
    tokens = tr("tokens")
    return PolicyGroup(tr("Cache"), (
        _field(policy, "intake_above", tr("Large outputs over"), tokens,
               tr("A large output is saved whole, and only a part enters the context. The agent can recall "
                  "it. 0: only outputs over a share of the context window are large.")),
        _field(policy, "intake_deadline_s", tr("Preview after"), "s",
               tr("The agent chooses the full output, a preview or an extract. After that time, previews are "
                  "used. 0: the agent doesn't choose.")),
        _field(policy, "protect_steps", tr("Newest steps kept"), tr("steps"),
               tr("Older tool outputs are cached: a marker replaces each one, and the agent can recall it. "
                  "At least 2 steps are always kept.")),
        _field(policy, "protect_tokens", tr("Newest outputs kept"), tokens,
               tr("The newest part ends at the limit that is reached first. Less in a context window below "
                  "128,000 tokens.")),
        _share(policy, "previous_turn_share", tr("Previous turn kept below"),
               tr("While the context is below this share of the window, outputs of the running turn and of "
                  "the one before it stay whole. 0 turns this off."), maximum=0.8),
    ))  # fmt: skip


def _compact(policy: ContextPolicy) -> PolicyGroup:
    return PolicyGroup(tr("Compact"), (
        _share(policy, "handover_at", tr("Compact at"),
               tr("Share of the context window from which a handover replaces older messages."),
               minimum=0.30, maximum=0.95),
        _field(policy, "handover_cooldown_s", tr("At most every"), "s",
               tr("Doubles after each failure, up to four times as long.")),
        _field(policy, "checkpoint_tokens", tr("Prepare a handover every"), tr("tokens"),
               tr("A model writes the handover ahead of time; requests stay as they are. Each reads about "
                  "5,000 tokens. 0 turns this off.")),
        _share(policy, "observe_at", tr("Observations from"),
               tr("Share of the context window from which a model writes dated facts about older turns. They "
                  "replace the turns when that pays off. 0 turns this off."), maximum=0.9),
        _share(policy, "reflect_at", tr("Merge above"),
               tr("Share of the context window above which observations become fewer: outdated ones are "
                  "dropped."), minimum=0.05, maximum=0.9),
    ))  # fmt: skip


def _budget(policy: ContextPolicy) -> PolicyGroup:
    return PolicyGroup(tr("Session budget"), (
        _field(policy, "budget_tokens", tr("Tokens sent and received"), tr("tokens, 0: no limit"),
               tr("What a session may spend before its turn stops."), maximum=10**12),
        _field(policy, "budget_cost", tr("Cost"), tr("US dollars, 0: no limit"),
               tr("Only models with known prices count."), maximum=10**6),
        _field(policy, "ask_above", tr("Ask before background work"), tr("tokens, 0: never"),
               tr("Handovers and observations that read more than that. The session budget holds anyway.")),
    ))  # fmt: skip
