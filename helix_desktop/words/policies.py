"""The names of context policies as text."""

from __future__ import annotations

from helix_desktop.context.policy_numbers import ContextPolicy, policy_fields
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")


def profile_name(profile: str) -> str:
    names = {
        "lean": tr("Spend least", "policy profile"),
        "balanced": tr("Balanced", "policy profile"),
        "classic": tr("Keep most", "policy profile"),
        "plain": tr("Plain", "policy profile"),
    }
    return names.get(profile) or tr("Off", "policy profile")


def profile_keeps(profile: str) -> str:
    """Return what stays in the context under a profile to choose, as the end of a sentence."""
    return {
        "lean": tr("keeps the newest steps"),
        "balanced": tr("keeps this turn and the one before, while they fit"),
        "classic": tr("keeps the newest 20 steps, and older turns until 85 %"),
    }[profile]


def policy_name(policy: ContextPolicy) -> str:
    """Return a policy's profile, and how many of its numbers the user changed."""
    if not policy.enabled:
        return profile_name("off")
    profile = profile_name(policy.profile)
    changed = len(policy_fields(policy)) - 1
    if not changed:
        return profile
    return tr.plural(changed, "{profile} with %n change", "{profile} with %n changes", profile=profile)


def session_policy_text(policy: ContextPolicy | None) -> str:
    """Return which policy was chosen for a session; None is the workspace's."""
    if policy is None:
        return tr("Context policy for this session: workspace policy")
    return tr("Context policy for this session: {policy}", policy=policy_name(policy))


def policy_in_use(session: ContextPolicy | None, workspace: ContextPolicy) -> str:
    if session is None:
        return tr("Policy: {policy}", policy=policy_name(workspace))
    return tr("Policy: {policy}, for this session only", policy=policy_name(session))
