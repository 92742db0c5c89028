"""A policy as a form: the numbers that people change, in words and within bounds; the file has all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from PySide6.QtWidgets import QLineEdit, QWidget

from helix_desktop.context.policy import PROFILES, ContextPolicy, conflicting_fields
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import row
from helix_desktop.ui.kit.forms import Form, Group, Line, Values, all_fields
from helix_desktop.words.numbers import format_integer, format_percent
from helix_desktop.words.policies import profile_name
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("Settings: Policy")
text = TextContext("Settings: Policy")

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


class Profile(msgspec.Struct, frozen=True):
    """A set of numbers by name, its title, and what it means in a sentence."""

    name: str
    title: str
    description: str


class PolicyValues(Values):
    """The numbers of the policy on the page; `change` makes another policy of one that was changed."""

    policy = PROFILES["balanced"]

    def __init__(self, change: Callable[[str, Any], None] = lambda name, value: None) -> None:
        super().__init__()
        self.change = change
        """Raises ValueError with a sentence for a number that doesn't work together with others."""

    def get(self, name: str) -> Any:
        return getattr(self.policy, name)

    def set(self, name: str, value: Any) -> None:
        self.change(name, value)

    def default(self, name: str) -> Any:
        """Return what the policy's profile says."""
        return getattr(PROFILES[self.policy.profile], name)

    def use(self, policy: ContextPolicy) -> None:
        """Show another policy."""
        before, self.policy = self.policy, policy
        for name in ContextPolicy.__struct_fields__:
            if getattr(before, name) != getattr(policy, name):
                self.changed.emit(name)


class Number(Line, frozen=True, kw_only=True):
    """A number of the policy with bounds, its unit, and the way back to what the profile says.

    `hint` explains it. With `is_percent` it is stored as a part of 1 and shown times 100.
    """

    hint: str = ""
    minimum: float = 0
    maximum: float = 10_000_000
    is_percent: bool = False
    room: int = 1  # for its effect on the session, or what is wrong
    width_px: int = 110

    @property
    def is_whole(self) -> bool:
        """Return True if it has no decimals."""
        return isinstance(getattr(PROFILES["balanced"], self.name), int)

    def read(self, text: str) -> float:
        try:
            number = current_language().read_decimal(
                text.replace("\u2009", "").strip().removesuffix("%").strip()
            )
        except ValueError:
            raise ValueError(tr("Enter a number.")) from None
        if self.is_whole and number != int(number):
            raise ValueError(tr("Enter a whole number."))
        scale = 100 if self.is_percent else 1
        if not self.minimum * scale <= number <= self.maximum * scale:
            low, high = self.in_text(self.minimum), self.in_text(self.maximum)
            raise ValueError(tr("Enter a number from {low} to {high}.", low=low, high=high))
        if self.is_percent:
            return round(number / 100, 6)
        return int(number) if self.is_whole else number

    def typed(self, value: float) -> str:
        if self.is_percent:
            return f"{value * 100:g}"
        return format_integer(int(value)) if self.is_whole else f"{value:g}"

    def in_text(self, value: float) -> str:
        """Return a value as a text has it."""
        if self.is_percent:
            return format_percent(value)
        return format_integer(int(value)) if value == int(value) else f"{value:g}"

    def texts(self) -> tuple[str, ...]:
        return (*Line.texts(self), self.hint)

    def make(self, form: Form) -> QWidget:
        line = Line.make(self, form)
        assert isinstance(line, QLineEdit)
        line.setToolTip(translate(self.hint))
        line.setAccessibleDescription(translate(self.hint))
        return line

    def beside(self, form: Form) -> QWidget:
        reset = PushButton("", "link", "undo-2", px=13, name="reset")
        values = form.values
        assert isinstance(values, PolicyValues)
        reset.clicked.connect(lambda: form.write(self.name, values.default(self.name)))

        def show(changed: str) -> None:
            if changed in (self.name, "profile"):
                default = self.in_text(values.default(self.name))
                words = tr("Reset to profile default ({value})", value=default)
                reset.setText(default)
                reset.setToolTip(words)
                reset.setAccessibleName(
                    tr(
                        "{name}: reset to profile default ({value})",
                        name=translate(self.label),
                        value=default,
                    )
                )
                reset.setVisible(values.get(self.name) != values.default(self.name))

        values.changed.connect(show)
        show(self.name)
        side = QWidget()
        side.setLayout(row(label(translate(self.unit), "faint"), reset, gap=6))
        return side


def conflict_text(fields: Mapping[str, Any]) -> str:
    """Return why these numbers cannot work together, by their names in the form, else in the file."""
    conflict = conflicting_fields(fields)
    if conflict is None:
        return tr("These numbers don't work together.")
    labels = {field.name: translate(field.label) for field in all_fields(POLICY)}
    lower, upper = (labels.get(key, key) for key in conflict)
    if fields[conflict[0]] == fields[conflict[1]]:
        return tr("“{lower}” must be below “{upper}”.", lower=lower, upper=upper)
    return tr("“{lower}” can't be above “{upper}”.", lower=lower, upper=upper)


def profiles_beside(policy: ContextPolicy) -> tuple[Profile, ...]:
    """Return the profiles to choose from, the policy's own with its numbers; Plain only if a file has it."""
    is_plain = policy.enabled and policy.profile == "plain"
    names = [name for name in PROFILES if name != "plain" or is_plain]
    return tuple(_profile(policy if name == policy.profile else PROFILES[name]) for name in names)


def _profile(policy: ContextPolicy) -> Profile:
    """Return the profile of a policy, described with the policy's own numbers."""
    name, handover_at = policy.profile, format_percent(policy.handover_at)
    match name:
        case "lean":
            description = tr(
                "Sends the least: outputs are cached, old steps become short notes, and facts replace "
                "older messages, each early."
            )
        case "balanced":
            description = tr(
                "The default: old outputs are cached, old steps become short notes, and facts "
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


def _number(name: str, title: str, unit: str, hint: str, *, maximum: float = 10_000_000) -> Number:
    return Number(name, title, unit=unit, hint=hint, maximum=maximum)


def _share(name: str, title: str, hint: str, *, minimum: float = 0, maximum: float) -> Number:
    """Return the field of a share of the context window."""
    return Number(name, title, unit="%", hint=hint, minimum=minimum, maximum=maximum, is_percent=True)


POLICY = (
    Group(text("Cache"), (
        _number("intake_above", text("Large outputs over"), text("tokens"),
               text("A large output is saved whole, and only a part enters the context. The agent can recall "
                  "it. 0: only outputs over a share of the context window are large.")),
        _number("intake_deadline_s", text("Agent's time to choose"), "s",
               text("For each large output, the agent chooses all of it, a preview or an extract. After that "
                  "time, it gets a preview. 0: the agent doesn't choose.")),
        _number("protect_steps", text("Newest steps kept"), text("steps"),
               text("Older tool outputs are cached: a marker replaces each one, and the agent can recall it. "
                  "At least 2 steps are always kept.")),
        _number("protect_tokens", text("Newest outputs kept"), text("tokens"),
               text("The newest part ends at the limit that is reached first. Less in a context window below "
                  "128,000 tokens.")),
        _share("previous_turn_share", text("Keep the last turn up to"),
               text("While the context is below this share of the window, outputs of the running turn and of "
                  "the one before it stay whole. 0 turns this off."), maximum=0.8),
    )),
    Group(text("Compact"), (
        _share("handover_at", text("Compact at"),
               text("Share of the context window from which a handover replaces older messages."),
               minimum=0.30, maximum=0.95),
        _number("handover_cooldown_s", text("At most every"), "s",
               text("Doubles after each failure, up to four times as long.")),
        _number("checkpoint_tokens", text("Prepare a handover every"), text("tokens"),
               text("A model writes the handover ahead of time; requests stay as they are. Each reads about "
                  "5,000 tokens. 0 turns this off.")),
        _share("observe_at", text("Facts from"),
               text("Share of the context window from which a model writes dated facts about older turns. "
                  "They replace the turns when that pays off. 0 turns this off."), maximum=0.9),
        _share("reflect_at", text("Merge above"),
               text("Share of the context window above which facts become fewer: outdated ones are "
                  "dropped."), minimum=0.05, maximum=0.9),
    )),
    Group(text("Session budget"), (
        _number("budget_tokens", text("Tokens sent and received"), text("tokens, 0: no limit"),
               text("What a session may spend before its turn stops."), maximum=10**12),
        _number("budget_cost", text("Cost"), text("US dollars, 0: no limit"),
               text("Only models with known prices count."), maximum=10**6),
        _number("ask_above", text("Ask before background work"), text("tokens, 0: never"),
               text("Handovers and facts that read more than that. The session budget holds anyway.")),
    )),
)  # fmt: skip
