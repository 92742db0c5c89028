"""What the figures of a session's replay mean, and what they say about the two policies: a line each."""

from __future__ import annotations

from helix_desktop.replay.policy.policy_replay import PolicyReplay
from helix_desktop.ui.settings.policy.comparison import PolicyComparison
from helix_desktop.words.numbers import format_integer, format_tokens
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")


def replay_notes(comparison: PolicyComparison) -> tuple[str, ...]:
    """Return the lines below the figures: what differs, what is counted, and by which model."""
    mine, other = comparison.replay, comparison.reference_replay
    notes = []
    if comparison.is_exact and mine is not None and other is not None:
        if not comparison.is_one:
            notes += _difference_notes(comparison, mine, other)
        notes += _overflow_note(comparison.name_of(comparison.policy), mine)
        if not comparison.is_one:
            notes += _overflow_note(comparison.name_of(comparison.reference), other)
    if mine is not None:
        notes.append(tr("The chart is drawn by request, not by time."))
    notes += [
        tr(
            "Coverage: the files, symbols and other names that the agent's calls used again, and how many of "
            "them were in the context then. The others have to be recalled or read again."
        ),
        tr(
            "Tokens sent: the agent's requests, with today's context window, tools and prompt. "
            "Session usage: what every call really took, answers included."
        ),
    ]
    if comparison.other_models:
        notes.append(
            tr(
                "Counted as if {model} had answered every request. Other models answered some or all of "
                "them.",
                model=comparison.model,
            )
        )
    return tuple(notes)


def _difference_notes(comparison: PolicyComparison, mine: PolicyReplay, other: PolicyReplay) -> list[str]:
    """Return from where the two policies differ, and why the one that sends less is billed more."""
    pairs = list(zip(mine.points, other.points, strict=False))
    first = next(
        (at for at, (point, reference) in enumerate(pairs) if point.tokens != reference.tokens), None
    )
    if first is None:
        return [tr("Both policies send the same requests in this session.")]
    notes = [
        tr(
            "They differ from request {number} of {total} on, at about {tokens} tokens in the context.",
            number=format_integer(first + 1),
            total=format_integer(len(pairs)),
            tokens=format_tokens(max(point.tokens for point in pairs[first])),
        )
    ]
    if (mine.sent - other.sent) * (mine.billed - other.billed) < 0:
        key = comparison.policy if mine.sent < other.sent else comparison.reference
        notes.append(
            tr(
                "{policy} sends less but is billed more: what follows a change in the context is no longer "
                "in the provider's cache, and is billed as new.",
                policy=comparison.name_of(key),
            )
        )
    return notes


def _overflow_note(policy: str, replay: PolicyReplay) -> list[str]:
    """Return from where a policy's requests would be stopped as too large; nothing if all fit."""
    if not replay.first_too_large:
        return []
    return [
        tr(
            "{policy}: request {number} of {total} is the first that doesn't fit in the context window with "
            "room for the answer. It would be stopped with an error. Tokens sent and billed count all "
            "requests as if they fit, coverage only those that do.",
            policy=policy,
            number=format_integer(replay.first_too_large),
            total=format_integer(len(replay.points)),
        )
    ]
