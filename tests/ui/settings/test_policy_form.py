"""The policy as a form: each number once, within its bounds, in words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_from
from helix_desktop.ui.settings.forms import PolicyField, validate_policy_value
from helix_desktop.ui.settings.policy.form import conflict_text, policy_form

POLICY = policy_form("helix", PROFILES["balanced"])
FIELDS = tuple(name for name in ContextPolicy.__struct_fields__ if name != "profile")


def numbers(**changes: float) -> dict[str, Any]:
    """Return the numbers of a policy with some changes."""
    return {**msgspec.structs.asdict(PROFILES["balanced"]), **changes}


def test_every_field_of_the_policy_is_in_its_form() -> None:
    """Each once, in the group of its mechanism, with a label, and a unit for each number."""
    assert sorted(field.key for field in POLICY.fields) == sorted(FIELDS)
    titles = [group.title for group in POLICY.groups]
    assert titles == [
        "General", "Previous turn", "Cached outputs", "Cached arguments", "Notes", "Large outputs",
        "Observations", "Handovers", "Overflow", "Session budget",
    ]  # fmt: skip
    for field in POLICY.fields:
        assert " " in field.label, field.key
        assert "_" not in field.label + field.note, field.key
        assert field.unit or isinstance(field.value, bool | str), field.key
    labels = [field.label for field in POLICY.fields]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("field", POLICY.fields, ids=lambda field: field.key)
def test_the_form_bounds_a_number_as_the_policy_does(field: PolicyField) -> None:
    """The policy accepts each number that the form accepts; it refuses those below or above."""
    if isinstance(field.value, bool | str):
        return
    # Only the bounds of the field itself: rules between fields are reported by the policy's own messages.
    free = {"sweep_min": 0, "sweep_max": 10_000_000, "observe_at": 0.0, "observe_place_at": 0.9,
            "panic_to": 0.1, "handover_at": 0.3, "panic_at": 1.0}  # fmt: skip
    base = {**free, field.key: field.minimum}
    policy_from(base)
    if field.is_percent:
        policy_from({**free, field.key: field.maximum})
        for beyond in (field.minimum - 0.01, field.maximum + 0.01):
            with pytest.raises(ValueError, match=field.key):
                policy_from({**free, field.key: beyond})
    else:
        with pytest.raises(ValueError, match=field.key):
            policy_from({**free, field.key: -1})


def test_optional_fields_have_an_off_state() -> None:
    """The numbers that the profiles set to nothing, and those of which 0 means off."""
    off = {
        field.key for field in POLICY.fields
        if any(getattr(profile, field.key) == 0 for profile in PROFILES.values() if profile.enabled)
    } - {"observe_place_at"}  # fmt: skip
    assert {"intake_above", "protect_argument_steps", "fold_after_steps", "condense_at", "observe_at"} <= off
    for field in POLICY.fields:
        if field.key in off | {"protect_recalls", "intake_deadline_s"}:
            assert "0" in field.note, field.key


@pytest.mark.parametrize("name", ["classic", "plain"])
def test_a_profile_is_described_with_the_threshold_that_holds(name: str) -> None:
    """That of the policy on the page; the other profiles with their own."""

    def descriptions(**changes: float) -> dict[str, str]:
        form = policy_form("helix", policy_from({"profile": name, **changes}))
        return {profile.name: profile.description for profile in form.profiles}

    own, changed = descriptions(), descriptions(handover_at=0.6)
    assert "writes a handover at 85 %" in own[name]
    assert changed[name] == own[name].replace("85 %", "60 %")
    others = own.keys() - {name}
    assert all(changed[other] == own[other] for other in others)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sweep_min": 30_000}, "“Smallest batch” can't be above “Largest batch”."),
        ({"panic_to": 0.9, "panic_at": 0.9}, "“Make room down to” must be below “Make room above”."),
        ({"panic_at": 0.8}, "“Compact above” can't be above “Make room above”."),
    ],
)
def test_numbers_that_cannot_work_together_are_named_as_in_the_form(
    changes: dict[str, float], text: str
) -> None:
    with pytest.raises(ValueError, match="must"):
        policy_from(numbers(**changes))
    assert conflict_text(numbers(**changes), POLICY) == text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("abc", "Enter a number."),
        ("2.5", "Enter a whole number."),
        ("10,0", ""),
        ("201", "Enter a number from 2 to 200."),
    ],
)
def test_a_policy_number_is_held_against_its_range(text: str, fault: str) -> None:
    assert validate_policy_value(PolicyField("k", "K", 10, minimum=2, maximum=200), text) == fault


@pytest.mark.parametrize(
    ("text", "fault"), [("38", ""), ("38.5 %", ""), ("91", "Enter a number from 0 % to 90 %.")]
)
def test_policy_shares_are_typed_as_percent(text: str, fault: str) -> None:
    field = PolicyField("k", "K", 0.38, maximum=0.9, is_percent=True)
    assert validate_policy_value(field, text) == fault
    assert (field.typed(0.38), field.format_value(0.38)) == ("38", "38 %")
    if not fault:
        assert field.parse(text) == pytest.approx(float(text.removesuffix("%")) / 100)
