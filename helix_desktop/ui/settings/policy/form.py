"""A policy as a form: every number in plain words, within its bounds, grouped by mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from helix_desktop.context.policy import PROFILES, ContextPolicy, conflicting_fields
from helix_desktop.ui.settings.forms import PolicyField, PolicyForm, PolicyGroup, PolicyValue, Profile
from helix_desktop.words.numbers import format_percent
from helix_desktop.words.policies import profile_name
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")


def policy_form(
    workspace_name: str, policy: ContextPolicy, restorable: Mapping[str, int] | None = None
) -> PolicyForm:
    """Return the form of a workspace's policy; `restorable` counts stored changes by profile."""
    groups = (
        _general(policy),
        _previous_turn(policy),
        _cached_outputs(policy),
        _cached_arguments(policy),
        _noted_steps(policy),
        _large_outputs(policy),
        _observations(policy),
        _compaction(policy),
        _overflow(policy),
        _budget(policy),
    )
    profiles = tuple(_profile(policy if name == policy.profile else own) for name, own in PROFILES.items())
    return PolicyForm(workspace_name, policy.profile, profiles, groups, policy.enabled, restorable or {})


def conflict_text(fields: Mapping[str, Any], form: PolicyForm) -> str:
    """Return why these numbers cannot work together, by their names in the form."""
    conflict = conflicting_fields(fields)
    if conflict is None:
        return tr("These numbers don't work together.")
    labels = {field.key: field.label for field in form.fields}
    lower, upper = (labels[key] for key in conflict)
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
    unit: str = "",
    note: str = "",
    *,
    minimum: float = 0,
    maximum: float = 10_000_000,
    choices: tuple[tuple[str, str], ...] = (),
    is_percent: bool = False,
    step: float = 0,
) -> PolicyField:
    value: PolicyValue = getattr(policy, key)
    default: PolicyValue = getattr(PROFILES[policy.profile], key)
    return PolicyField(key, label, value, unit, note, minimum, maximum, choices, default, is_percent, step)


def _share(
    policy: ContextPolicy, key: str, label: str, note: str = "", *, minimum: float = 0, maximum: float
) -> PolicyField:
    """Return the field of a share of the context window."""
    unit = tr("% of the context window")
    return _field(policy, key, label, unit, note, minimum=minimum, maximum=maximum, is_percent=True)


def _general(policy: ContextPolicy) -> PolicyGroup:
    note = tr("Off: requests are sent unchanged. One that doesn't fit is stopped with an error.")
    subagents = tr("A subagent keeps the profile it starts with. Budgets are those of this workspace.")
    profiles = [(name, profile_name(name)) for name in PROFILES if name != "off"]
    return PolicyGroup(tr("General"), "", (
        _field(policy, "enabled", tr("Manage the context"), "", note),
        _field(policy, "subagent_profile", tr("Profile for subagents"), "", subagents,
               choices=(("same", tr("Same as this workspace")), *profiles)),
    ))  # fmt: skip


def _previous_turn(policy: ContextPolicy) -> PolicyGroup:
    lead = tr(
        "While the context is small, outputs and arguments of the running turn and of the one before it stay "
        "whole, unless they are outdated. Above the limit, older turns are cached and compacted first."
    )
    note = tr("What you and the agent wrote in the previous turn always stays. 0 turns this off.")
    return PolicyGroup(tr("Previous turn"), lead, (
        _share(policy, "previous_turn_share", tr("Keep the previous turn whole below"), note, maximum=0.8),
    ))  # fmt: skip


def _cached_outputs(policy: ContextPolicy) -> PolicyGroup:
    field, tokens, steps = partial(_field, policy), tr("tokens"), tr("steps")
    lead = tr(
        "Old tool outputs are cached: a marker replaces each one, and the agent can recall it. In a context "
        "window below 128,000 tokens, batches and the newest tokens to keep shrink in proportion."
    )
    when = tr(
        "When it pays off: once keeping outputs has cost as much as resending what follows them. In fixed "
        "batches: when a batch is full. At once: before each request."
    )
    modes = (
        ("rent", tr("When it pays off")), ("fixed", tr("In fixed batches")), ("at once", tr("At once")),
    )  # fmt: skip
    return PolicyGroup(tr("Cached outputs"), lead, (
        field("sweep", tr("When to cache"), "", when, choices=modes),
        field("protect_steps", tr("Newest steps to keep"), steps, tr("At least 2 are always kept.")),
        field("protect_tokens", tr("Newest tokens to keep"), tokens,
              tr("The newest part ends at the limit that is reached first.")),
        field("protect_recalls", tr("Keep outputs recalled at least"), tr("times"),
              tr("Keeps the newest copy of what the agent recalls again and again. 0 turns this off.")),
        field("least_saving", tr("A marker saves at least"), tokens, tr("Smaller outputs stay as they are.")),
        field("handle_digits", tr("Digest in a marker"), tr("hex digits"),
              tr("The agent recalls an output by them. 64 is the whole digest."), minimum=8, maximum=64),
        field("sweep_min", tr("Smallest batch"), tokens,
              tr("When it pays off: smaller batches wait.")),
        field("sweep_max", tr("Largest batch"), tokens,
              tr("When it pays off: a batch of this size is cached without waiting.")),
        field("sweep_fixed", tr("Fixed batch"), tokens),
        field("cache_ttl_s", tr("Prompt cache expires after"), tr("seconds"),
              tr("After a longer pause a quarter of the smallest batch is enough: the provider reads the "
                 "whole request again anyway. Where Helix asked for a longer lifetime, that counts.")),
    ))  # fmt: skip


def _cached_arguments(policy: ContextPolicy) -> PolicyGroup:
    lead = tr("Large arguments of old tool calls are cached too, such as the text of a file.")
    note = tr("0: arguments are never cached. Otherwise the newest 2 always keep theirs.")
    return PolicyGroup(tr("Cached arguments"), lead, (
        _field(policy, "protect_argument_steps", tr("Newest steps that keep arguments"), tr("steps"), note),
    ))  # fmt: skip


def _noted_steps(policy: ContextPolicy) -> PolicyGroup:
    field, share, tokens = partial(_field, policy), partial(_share, policy), tr("tokens")
    lead = tr(
        "Old steps are compacted: one note replaces them, written without a model. It keeps what was said "
        "and a few words for each call. The agent can recall the outputs."
    )
    return PolicyGroup(tr("Notes"), lead, (
        field("fold_after_steps", tr("Compact steps older than"), tr("steps"),
              tr("What the running turn works on stays longer. 0 turns notes off.")),
        field("fold_least", tr("A note frees at least"), tokens,
              tr("Less in a context window below 128,000 tokens, and after a long pause.")),
        share("condense_at", tr("Merge notes above"),
              tr("The older notes become one shorter note. 0 turns this off."), maximum=0.5),
        field("condense_keep", tr("Newest notes to keep"), tr("% of that limit"),
              tr("They stay as they are when older notes are merged."), minimum=0.1, maximum=0.9,
              is_percent=True),
        field("condense_message", tr("Your messages in merged notes"), tr("tokens each"),
              tr("A longer message keeps its beginning and its end.")),
        field("anchor_tokens", tr("Names kept beside notes"), tokens,
              tr("File names, symbols and numbers of these steps. 0 turns this off.")),
    ))  # fmt: skip


def _large_outputs(policy: ContextPolicy) -> PolicyGroup:
    field = partial(_field, policy)
    lead = tr("A large output is saved whole, and only a part enters the context. The agent can recall it.")
    return PolicyGroup(tr("Large outputs"), lead, (
        field("intake_above", tr("An output is large above"), tr("tokens"),
              tr("0: only the limit below counts, and the agent doesn't choose.")),
        _share(policy, "preview_above", tr("Also large above"), minimum=0.05, maximum=0.8),
        field("intake_ask", tr("Let the agent choose"), "",
              tr("It chooses the full output, a preview or an extract. Off: always a preview.")),
        field("intake_deadline_s", tr("Time to choose and extract"), tr("seconds"),
              tr("After that, previews are used, and the model isn't asked again until Helix restarts. "
                 "0: the agent doesn't choose.")),
        field("preview_tokens", tr("Preview size"), tr("tokens")),
    ))  # fmt: skip


def _observations(policy: ContextPolicy) -> PolicyGroup:
    share = partial(_share, policy)
    lead = tr(
        "A model writes dated facts about older turns in the background. They replace the turns when that "
        "pays off."
    )
    return PolicyGroup(tr("Observations"), lead, (
        share("observe_at", tr("Write observations above"),
              tr("Counts messages without observations. 0 turns this off."), maximum=0.9),
        share("observe_place_at", tr("Use observations above"),
              tr("Counts the whole context. With the same number as above: at once."),
              maximum=0.9),
        share("reflect_at", tr("Merge observations above"),
              tr("They become fewer: outdated facts are dropped."), minimum=0.05, maximum=0.9),
    ))  # fmt: skip


def _compaction(policy: ContextPolicy) -> PolicyGroup:
    field, share, tokens = partial(_field, policy), partial(_share, policy), tr("tokens")
    lead = tr(
        "A handover in six sections replaces older messages, with a list of files, commands and errors."
    )
    return PolicyGroup(tr("Handovers"), lead, (
        share("handover_at", tr("Compact above"), minimum=0.30, maximum=0.95),
        field("handover_least_messages", tr("Replace at least"), tr("messages and outputs"),
              tr("Your messages, the agent's answers and tool outputs, each counted as one.")),
        share("handover_least_gain", tr("Free at least"),
              tr("A compaction that would free less is refused."), maximum=0.5),
        share("handover_keep", tr("Newest part to keep"),
              tr("Between turns, the newest turn always stays whole."), minimum=0.02, maximum=0.5),
        field("handover_cooldown_s", tr("Wait between compactions"), tr("seconds"),
              tr("Doubles after each failure, up to four times as long.")),
        field("checkpoint_tokens", tr("Write a checkpoint every"), tr("tokens of history"),
              tr("A model updates the handover ahead of time; requests stay as they are. Each checkpoint "
                 "reads about 5,000 tokens. 0 turns them off."), step=5_000),
        field("user_text_tokens", tr("Your messages kept word for word"), tokens,
              tr("The newest that fit, at most 16 % of the context window. Also in notes and observations.")),
        field("ledger_tokens", tr("List of files, commands, errors"), tokens,
              tr("Also in merged notes and observations.")),
    ))  # fmt: skip


def _overflow(policy: ContextPolicy) -> PolicyGroup:
    lead = tr(
        "A full context is reduced by what is needed: outputs, images, then steps. If that isn't enough, "
        "the next step waits for the handover. Without one, a short note replaces the oldest messages."
    )
    return PolicyGroup(tr("Overflow"), lead, (
        _share(policy, "panic_at", tr("Make room above"),
               tr("Can't be below the limit for compaction."), minimum=0.5, maximum=1.0),
        _share(policy, "panic_to", tr("Make room down to"), tr("When a short note has to replace messages."),
               minimum=0.1, maximum=0.9),
    ))  # fmt: skip


def _budget(policy: ContextPolicy) -> PolicyGroup:
    field, tokens = partial(_field, policy), tr("tokens")
    lead = tr(
        "What a session may spend before its turn stops. To set the budget of one session, click the figures "
        "below the chat."
    )
    return PolicyGroup(tr("Session budget"), lead, (
        field("budget_tokens", tr("Tokens sent and received"), tokens, tr("0: no limit."), maximum=10**12,
              step=1_000_000),
        field("budget_cost", tr("Cost in US dollars"), "$",
              tr("0: no limit. Only models with known prices count."), maximum=10**6),
        field("ask_above", tr("Ask before background work reads more than"), tokens,
              tr("Handovers and observations. 0: never asks; the session budget is the only limit.")),
    ))  # fmt: skip
