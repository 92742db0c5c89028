"""The policy as a form: the numbers people change, within their bounds, in words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES, ContextPolicy, policy_from
from helix_desktop.ui.settings.forms import PolicyField, validate_policy_value
from helix_desktop.ui.settings.policy.form import FILE_FIELDS, SLIDER_FIELDS, conflict_text, policy_form

POLICY = policy_form("helix", PROFILES["balanced"])


def numbers(**changes: float) -> dict[str, Any]:
    """Return the numbers of a policy with some changes."""
    return {**msgspec.structs.asdict(PROFILES["balanced"]), **changes}


def test_every_field_of_the_policy_is_in_its_form_or_in_the_file_alone() -> None:
    """Each once; those of the form with a label and a unit."""
    keys = [field.key for field in POLICY.fields]
    assert sorted([*keys, *FILE_FIELDS, *SLIDER_FIELDS]) == sorted(ContextPolicy.__struct_fields__)
    assert [group.title for group in POLICY.groups] == ["Cache", "Compact", "Session budget"]
    assert all(field.label and field.unit and "_" not in field.label + field.note for field in POLICY.fields)


def test_the_slider_has_plain_only_where_a_file_chose_it() -> None:
    """A policy that is turned off by hand stands at Off, whatever its profile."""
    assert [profile.name for profile in POLICY.profiles] == ["lean", "balanced", "classic", "off"]
    plain = policy_form("helix", PROFILES["plain"])
    assert (plain.profile, "plain" in [profile.name for profile in plain.profiles]) == ("plain", True)
    off = policy_form("helix", policy_from({"profile": "balanced", "enabled": False}))
    assert (off.profile, off.title, off.is_changed) == ("off", "Off", False)


@pytest.mark.parametrize("field", POLICY.fields, ids=lambda field: field.key)
def test_the_form_bounds_a_number_as_the_policy_does(field: PolicyField) -> None:
    """The policy accepts each number that the form accepts; it refuses those below or above."""
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
        ({"observe_at": 0.5}, "“Observations from” can't be above “observe_place_at”."),
        ({"panic_to": 0.9, "panic_at": 0.9}, "“panic_to” must be below “panic_at”."),
        ({"panic_at": 0.8}, "“Compact at” can't be above “panic_at”."),
    ],
)
def test_numbers_that_cannot_work_together_are_named_as_in_the_form_or_the_file(
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
