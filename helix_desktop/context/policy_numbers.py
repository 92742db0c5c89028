"""The policy of a workspace: every number by which its window is managed.

The numbers of the defaults and profiles were measured by replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from helix_desktop.domain.decoding_faults import decoding_fault, fault_field
from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Settings: Policy")

SweepMode = Literal["rent", "fixed", "at once"]
SubagentProfile = Literal["same", "lean", "balanced", "classic", "plain"]
"""The profile of a workspace's subagents; "same": they work under the workspace's own numbers."""
REFERENCE_WINDOW = 128_000  # tokens of the window that the numbers below were measured for
LEAST_MANAGED = 8_000  # tokens: prompt, tools, and an answer hardly fit less
_MIN_SCALE = 0.125  # share of the numbers that a small window has at least
_MAX_CHECKPOINT_SHARE = 0.35  # of the window that comes as history, at most, before a checkpoint is written


class ContextPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers of one workspace; tokens unless a name says otherwise. Raise ValueError if invalid.

    Names ending in `_at`, `_keep` and `_share` are shares of the managed window, and those of `panic_at` and
    `panic_to` of the model's own. The managed window is as large as the model's, but has at most
    `manage_at_most` tokens; 0: no limit. 0 turns intake, arguments, folding and observations off where it is
    allowed. A session may spend `budget_tokens` in and out, and `budget_cost` US dollars; 0: as much as it
    takes. Markers name a digest by `handle_digits` of its hex digits; notes may
    keep `anchor_tokens` of identifiers in the window that their steps took out of it. A checkpoint is written
    whenever `checkpoint_tokens` of history came since the last one, outputs in full; 0: never. With
    `prepare_early`, titles, checkpoints, observations and reflections are written beside the turns; without
    it, only what a full window needs. Outputs of the tools in `never_cache` become neither markers nor notes.
    """

    profile: str = "balanced"
    enabled: bool = True
    subagent_profile: SubagentProfile = "lean"
    manage_at_most: int = REFERENCE_WINDOW
    intake_above: int = 4_000
    intake_ask: bool = True
    intake_deadline_s: int = 10
    preview_above: float = 0.25
    preview_tokens: int = 600
    least_saving: int = 100
    protect_steps: int = 4
    protect_tokens: int = 1_600
    protect_argument_steps: int = 3
    protect_recalls: int = 2
    previous_turn_share: float = 0.30
    sweep: SweepMode = "rent"
    sweep_min: int = 2_000
    sweep_max: int = 20_000
    sweep_fixed: int = 10_000
    never_cache: tuple[str, ...] = ()
    cache_ttl_s: int = 300
    fold_after_steps: int = 5  # what a turn works on stays longer: see `due_folds`
    fold_least: int = 5_500
    condense_at: float = 0.05
    condense_keep: float = 0.4
    condense_message: int = 600
    # As specified. In windows of 32,000 tokens 0.55 (and 0.65 to place) would bill 14.9 % of unmanaged,
    # not 16.1; in those of 128,000 one recorded session of 249 has facts noted at all.
    observe_at: float = 0.30
    observe_place_at: float = 0.38
    reflect_at: float = 0.50
    handover_at: float = 0.85
    handover_cooldown_s: int = 60
    handover_least_messages: int = 8
    handover_least_gain: float = 0.10
    handover_keep: float = 0.10
    prepare_early: bool = True
    checkpoint_tokens: int = 40_000
    user_text_tokens: int = 20_000
    ledger_tokens: int = 600
    handle_digits: int = 12
    anchor_tokens: int = 3_200
    panic_at: float = 0.95
    panic_to: float = 0.70
    budget_tokens: int = 0
    budget_cost: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError if the numbers cannot work together."""
        for name, field in FIELDS.items():
            low = field.minimum
            high = field.maximum
            value = getattr(self, name)
            if high is not None and not low <= value <= high:
                raise ValueError(
                    _text(
                        "{field} must be between {low} and {high}", field=name, low=f"{low}", high=f"{high}"
                    )
                )
            if high is None and not field.is_names and value < low:
                raise ValueError(_text("{field} must be at least 0", field=name))
        if 0 < self.manage_at_most < LEAST_MANAGED:
            raise ValueError(_text("manage_at_most must be 0 or at least {least}", least=LEAST_MANAGED))
        conflict = conflicting_fields(msgspec.structs.asdict(self))
        if conflict is not None:
            lower, upper = conflict
            if self.panic_to == self.panic_at:
                raise ValueError(_text("{lower} must be below {upper}", lower=lower, upper=upper))
            raise ValueError(_text("{lower} must not be above {upper}", lower=lower, upper=upper))

    def for_subagents(self) -> ContextPolicy | None:
        """Return the subagents' policy: their profile's numbers, and this one's of what no profile sets.

        The managed window is this one's, too. None if they share this one.
        """
        if not self.enabled or self.subagent_profile == "same":
            return None
        own = (name for name in FIELDS if not any(getattr(it, name) for it in PROFILES.values()))
        limits = {name: getattr(self, name) for name in own}
        limits["manage_at_most"] = self.manage_at_most
        limits["prepare_early"] = self.prepare_early
        return msgspec.structs.replace(PROFILES[self.subagent_profile], **limits)

    def is_large(self, tokens: int, model_window: int) -> bool:
        """Return True if text of so many tokens enters the window as a preview, unless it is asked for."""
        if not self.enabled:
            return False
        return (
            bool(self.intake_above and tokens > self.intake_above)
            or tokens > managed_window(self, model_window) * self.preview_above
        )

    def scaled(self, model_window: int) -> ContextPolicy:
        """Return the numbers for a model's window: batches and protection shrink below 128,000 tokens.

        As they are, they would fill the window of a local model. A checkpoint is written before the window is
        first full, whatever its size. The managed window counts.
        """
        managed = managed_window(self, model_window)
        most = int(managed * _MAX_CHECKPOINT_SHARE)
        policy = self
        if policy.checkpoint_tokens > most:
            policy = msgspec.structs.replace(policy, checkpoint_tokens=most)
        scale = max(managed / REFERENCE_WINDOW, _MIN_SCALE)
        if scale >= 1:
            return policy
        scaled = [name for name, field in FIELDS.items() if field.is_scaled and getattr(self, name)]
        return msgspec.structs.replace(policy, **{name: int(getattr(self, name) * scale) for name in scaled})


def managed_window(policy: ContextPolicy, model_window: int) -> int:
    """Return the tokens that the shares of a policy count from, with a model that has such a window."""
    if not policy.enabled or not policy.manage_at_most:
        return model_window
    return min(model_window, policy.manage_at_most)


class PolicyField(msgspec.Struct, frozen=True):
    """What a field of the policy is: its words on the page of Settings, if that shows it, and its bounds.

    A share of the window (`is_share`) is stored as a part of 1. What has no `maximum` is bounded only where
    it is typed. One that `is_scaled` is less in a window below 128,000 tokens. `is_names`: names of tools.
    `is_switch`: on or off, with its unit as the words beside it.
    """

    label: str = ""
    unit: str = ""
    hint: str = ""
    minimum: float = 0
    maximum: float | None = None
    is_share: bool = False
    is_scaled: bool = False
    is_names: bool = False
    is_switch: bool = False


def _share(low: float, high: float, label: str = "", hint: str = "") -> PolicyField:
    return PolicyField(label, "%", hint, low, high, is_share=True)


_COUNT = PolicyField()
_SCALED = PolicyField(is_scaled=True)
FIELDS: Mapping[str, PolicyField] = {
    "manage_at_most": _COUNT,
    "intake_above": PolicyField(
        _text("Large outputs over"), _text("tokens"),
        _text("The agent gets a part of them, and can recall the rest.")),
    "intake_deadline_s": PolicyField(
        _text("Time to choose the part"), "s",
        _text("For the agent. After that, or with 0, it gets the first and last lines.")),
    "preview_above": _share(0.05, 0.8),
    "preview_tokens": _COUNT,
    "least_saving": _COUNT,
    "protect_steps": PolicyField(
        _text("Newest steps kept"), _text("steps"),
        _text("A step is one answer of the model with its tool calls. Older outputs are cached.")),
    "protect_tokens": PolicyField(
        _text("Newest outputs kept"), _text("tokens"),
        _text("At most, of these steps. Less in a context window below 128,000 tokens."),
        is_scaled=True),
    "protect_argument_steps": _COUNT,
    "protect_recalls": _COUNT,
    "previous_turn_share": _share(
        0.0, 0.8, _text("Keep two turns below"),
        _text("While the context is smaller, no output of this turn and the one before is cached.")),
    "never_cache": PolicyField(
        _text("Never cache"), _text("tools"),
        _text("Their outputs are only compacted. Names with commas, such as run_command, read_file."),
        is_names=True),
    "sweep_min": _SCALED,
    "sweep_max": _SCALED,
    "sweep_fixed": _SCALED,
    "cache_ttl_s": _COUNT,
    "fold_after_steps": _COUNT,
    "fold_least": _SCALED,
    "condense_at": _share(0.0, 0.5),
    "condense_keep": _share(0.1, 0.9),
    "condense_message": _COUNT,
    "observe_at": _share(
        0.0, 0.9, _text("Compact early from"),
        _text("To save tokens, once new messages fill this much of the context. 0: never.")),
    "observe_place_at": _share(0.0, 0.9),
    "reflect_at": _share(
        0.05, 0.9, _text("Shorten what was compacted above"),
        _text("Once they fill this much of the context. What is outdated is dropped.")),
    "handover_at": _share(
        0.30, 0.95, _text("Compact at"),
        _text("At the latest. Lower where the answer needs the room.")),
    "handover_cooldown_s": PolicyField(
        _text("At most every"), "s",
        _text("Between two compactions; after failures, up to four times as long.")),
    "handover_least_messages": _COUNT,
    "handover_least_gain": _share(0.0, 0.5),
    "handover_keep": _share(0.02, 0.5),
    "prepare_early": PolicyField(
        _text("Prepare early"), _text("Titles and summaries"),
        _text("A model writes them beside your turns. Off: only what a full context needs."),
        is_switch=True),
    "checkpoint_tokens": PolicyField(
        _text("Write a handover summary every"), _text("tokens"),
        _text("Of new messages and outputs, to compact them later. 0: never.")),
    "user_text_tokens": _COUNT,
    "ledger_tokens": _COUNT,
    "handle_digits": PolicyField(minimum=MIN_PREFIX, maximum=HEX_DIGITS),
    "anchor_tokens": _SCALED,
    "panic_at": _share(0.5, 1.0),
    "panic_to": _share(0.1, 0.9),
    "budget_tokens": _COUNT,
    "budget_cost": _COUNT,
}  # fmt: skip
"""The numbers and names of a policy; `CHOICES` are the fields with a few values."""
UNREAD_FIELDS = frozenset(("ask_above",))
"""Fields of earlier versions: a file that has one is read without it."""
CHOICES = frozenset(("profile", "enabled", "subagent_profile", "intake_ask", "sweep"))
FORM: Sequence[tuple[str, Sequence[str]]] = (
    (_text("Cache"), ("intake_above", "intake_deadline_s", "protect_steps", "protect_tokens",
                      "previous_turn_share", "never_cache")),
    (_text("Compact"), ("handover_at", "handover_cooldown_s", "prepare_early",
                        "checkpoint_tokens", "observe_at", "reflect_at")),
)  # fmt: skip
"""The fields that people change, in the order of the page of Settings; the others are in the file alone."""


def conflicting_fields(fields: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return two fields of which the first must not be above the second, and is; None if there are none."""
    if fields["panic_to"] == fields["panic_at"]:
        return "panic_to", "panic_at"
    return next(((low, high) for low, high in _ORDERED if fields[low] > fields[high]), None)


_ORDERED = (
    ("sweep_min", "sweep_max"),
    ("observe_at", "observe_place_at"),
    ("panic_to", "panic_at"),
    ("handover_at", "panic_at"),
)

PROFILES: Mapping[str, ContextPolicy] = {
    "lean": ContextPolicy(
        profile="lean",
        protect_steps=3,
        protect_tokens=600,
        protect_argument_steps=2,
        fold_after_steps=3,
        condense_at=0.04,
        anchor_tokens=1_900,
        previous_turn_share=0.07,
        observe_place_at=0.30,
    ),
    "balanced": ContextPolicy(),
    "classic": ContextPolicy(
        profile="classic",
        handle_digits=64,
        anchor_tokens=600,
        protect_steps=20,
        protect_tokens=15_000,
        protect_argument_steps=5,
        sweep="fixed",
        fold_after_steps=0,
        condense_at=0.0,
        observe_at=0.0,
        observe_place_at=0.0,
    ),
    "plain": ContextPolicy(
        profile="plain",
        handle_digits=64,
        anchor_tokens=0,
        intake_above=0,
        protect_steps=10,
        protect_tokens=1_000_000,
        protect_argument_steps=0,
        least_saving=200,
        sweep="at once",
        fold_after_steps=0,
        condense_at=0.0,
        observe_at=0.0,
        observe_place_at=0.0,
    ),
    "off": ContextPolicy(profile="off", enabled=False),
}


def policy_from(fields: Mapping[str, Any]) -> ContextPolicy:
    """Return the policy of a mapping (one TOML file): its profile's numbers, then its own.

    Raise ValueError that says, mostly as a TranslatableText, which field is unknown or wrong.
    """
    profile = fields.get("profile", "balanced")
    if not isinstance(profile, str) or profile not in PROFILES:
        names = ", ".join(PROFILES)
        raise ValueError(
            _text("profile must be one of {names} (got {value})", names=names, value=repr(profile))
        )
    own = {name: value for name, value in fields.items() if name not in UNREAD_FIELDS}
    merged = {**msgspec.structs.asdict(PROFILES[profile]), **own}
    try:
        return msgspec.convert(merged, ContextPolicy)
    except msgspec.ValidationError as error:
        if error.__cause__ is not None:
            raise ValueError(*error.__cause__.args) from error
        raise ValueError(decoding_fault(error), fault_field(error)) from error


def policy_from_event(fields: Mapping[str, Any]) -> ContextPolicy | None:
    """Return the policy an event stores, ignoring unknown fields; None if it has none or it is invalid."""
    known_fields = {name: value for name, value in fields.items() if name in ContextPolicy.__struct_fields__}
    try:
        return policy_from(known_fields) if known_fields else None
    except ValueError:
        return None


def policy_fields(policy: ContextPolicy) -> dict[str, Any]:
    """Return the fields to write into a TOML file: the profile, and what differs from it."""
    base = msgspec.structs.asdict(PROFILES[policy.profile])
    own = msgspec.structs.asdict(policy)
    fields = {name: value for name, value in own.items() if name == "profile" or value != base[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
