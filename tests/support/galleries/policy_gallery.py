"""The policy page with a session replayed under two policies, for pictures and for checks of long texts."""

from __future__ import annotations

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.replay.policy.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison
from helix_desktop.words.policies import policy_name

EDITED = msgspec.structs.replace(PROFILES["balanced"], protect_steps=14, intake_ask=False)
_BEGIN, _STEP = 1_763_700_000, 95  # seconds
_GROWTH = 1_400  # tokens a request


def sample_replay(tokens_after: int, sweep_every: int, *, is_exact: bool = True) -> PolicyReplay:
    """Return a session of 120 requests that is swept down to `tokens_after` tokens so often."""
    points, rewrites, tokens = [], [], 9_000
    for number in range(120):
        seq, at = 2 + 3 * number, _BEGIN + number * _STEP
        tokens += _GROWTH + (number * 733) % 900
        if number % sweep_every == sweep_every - 1:
            kind = "handover-made" if number > 100 else ("fold-made" if number % 2 else "sweep-made")
            rewrites.append(PolicyRewrite(seq, at, kind, tokens, tokens_after))
            tokens = tokens_after
        points.append(WindowPoint(seq, at, tokens))
    sent = sum(point.tokens for point in points)
    return PolicyReplay(
        tuple(points),
        tuple(rewrites),
        128_000,
        108_800,
        sent,
        sent * 0.21,
        0.9 + tokens_after / 1e6,
        is_exact,
    )


def sample_comparison(*, is_exact: bool = True) -> PolicyComparison:
    """Return an edited policy beside the one in use."""
    names = {"edited": EDITED, "in_use": PROFILES["balanced"], "lean": PROFILES["lean"]}
    return PolicyComparison(
        {key: policy_name(policy) for key, policy in names.items()},
        "edited",
        "in_use",
        sample_replay(24_000, 13, is_exact=is_exact),
        sample_replay(52_000, 21),
        "ready" if is_exact else "busy",
        is_one=False,
    )


def fill_policy(page: PolicyPage) -> None:
    """Show an edited policy with its replay, effects and its fields."""
    page.show_policy("helix-desktop", EDITED, PROFILES["balanced"])
    page.replay_card.show_comparison(sample_comparison(is_exact=False))
    page.show_effects({"protect_steps": "This session: bills 12k more, coverage +1 %"})
    page.form.show_error("observe_at", "“Compact early from” can't be above “observe_place_at”.")
