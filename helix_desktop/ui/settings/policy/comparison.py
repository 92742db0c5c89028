"""What the policy page shows of a session's replay: two policies, their figures, and how far they differ."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.replay.policy.policy_replay import FieldEffect, PolicyReplay
from helix_desktop.words.direction import with_sign
from helix_desktop.words.numbers import format_tokens, format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Policy")

ReplayState = Literal["empty", "busy", "ready", "failed"]
_LEAST_SHARE = 0.005  # of a reference: a smaller difference has no share that could be shown


class PolicyComparison(msgspec.Struct, frozen=True):
    """Two of the `names` of policies by key, and the session's replay under each as far as it is computed.

    `message` says why there is no replay (empty), or what failed. `is_one`: both are the same policy.
    `reports_cache`: the session's provider says what it had cached. All is counted for `model`; others
    answered, too, if there are `other_models`.
    """

    names: dict[str, str] = {}
    policy: str = ""
    reference: str = ""
    replay: PolicyReplay | None = None
    reference_replay: PolicyReplay | None = None
    state: ReplayState = "empty"
    message: str = ""
    is_one: bool = True
    reports_cache: bool = True
    model: str = ""
    other_models: bool = False

    @property
    def is_exact(self) -> bool:
        """Return True if both replays are exact."""
        return all(replay is not None and replay.is_exact for replay in (self.replay, self.reference_replay))


class FigureRow(msgspec.Struct, frozen=True):
    """One figure of both replays as text, and the difference."""

    title: str
    note: str
    value: str
    reference: str
    difference: str


def figure_rows(comparison: PolicyComparison) -> tuple[FigureRow, ...]:
    """Return what was sent and billed, and the coverage; an ellipsis for what is still computed."""
    mine, other = comparison.replay, comparison.reference_replay
    sent = (mine.sent if mine else None, other.sent if other else None)
    billed = (mine.billed if mine else None, other.billed if other else None)
    coverage = (mine.coverage if mine else None, other.coverage if other else None)
    return (
        FigureRow(
            tr("Tokens sent"),
            tr("In all requests of the session"),
            _tokens(sent[0], mine),
            _tokens(sent[1], other),
            _token_difference(comparison, *sent),
        ),
        FigureRow(
            tr("Tokens billed") if comparison.reports_cache else tr("Tokens billed, if cached"),
            _billed_note(comparison),
            _tokens(billed[0], mine),
            _tokens(billed[1], other),
            _token_difference(comparison, *billed),
        ),
        FigureRow(
            tr("Coverage"),
            tr("Share of the names that the agent used again that were in the context"),
            _share(mine),
            _share(other),
            _share_difference(*coverage),
        ),
    )


def _billed_note(comparison: PolicyComparison) -> str:
    """Return what counts as billed, and that it is assumed where the provider reports no cache."""
    note = tr("The same at the prices of the prompt cache: tokens of new input that would cost as much")
    if comparison.reports_cache:
        return note
    return f"{note}\n{tr('This provider reports no cache. Without one, all tokens are billed as new.')}"


def field_effect_text(effect: FieldEffect) -> str:
    """Return what a field does to a session's bill and to its coverage."""
    saved = -round(effect.billed)
    parts = []
    if saved > 0:
        parts.append(tr("saves {tokens} billed", tokens=format_tokens(saved)))
    elif saved < 0:
        parts.append(tr("bills {tokens} more", tokens=format_tokens(-saved)))
    if points := _points(0.0, effect.coverage):
        parts.append(tr("coverage {points}", points=points))
    if not parts:
        return tr("No effect on this session")
    return tr("This session: {effects}", effects=", ".join(parts))


def _tokens(tokens: float | None, replay: PolicyReplay | None) -> str:
    if tokens is None or replay is None:
        return "…"
    return ("" if replay.is_exact else "≈ ") + format_tokens(round(tokens))


def _token_difference(comparison: PolicyComparison, tokens: float | None, reference: float | None) -> str:
    """Return a difference in tokens and in percent of the reference."""
    if tokens is None or reference is None:
        return ""
    difference = round(tokens) - round(reference)
    if not difference:
        return tr("same") if comparison.is_exact else "…"
    sign = "+" if difference > 0 else "\N{MINUS SIGN}"
    amount = ("" if comparison.is_exact else "≈ ") + with_sign(sign, format_tokens(abs(difference)))
    if abs(difference) < reference * _LEAST_SHARE or not reference:
        return amount
    share = with_sign(sign, format_whole_percent(abs(difference) / reference))
    return tr("{amount} ({share})", amount=amount, share=share)


def _share(replay: PolicyReplay | None) -> str:
    """Return the coverage of a replay; only an exact one knows it."""
    if replay is not None and replay.coverage is not None:
        return format_whole_percent(replay.coverage)
    return tr("nothing used again") if replay is not None and replay.is_exact else "…"


def _share_difference(share: float | None, reference: float | None) -> str:
    if share is None or reference is None:
        return ""
    return _points(reference, share) or tr("same")


def _points(before: float | None, after: float | None) -> str:
    """Return a difference of shares in percentage points, as both are shown; empty if there is none."""
    if before is None or after is None:
        return ""
    points = round(after * 100) - round(before * 100)
    if not points:
        return ""
    sign = "+" if points > 0 else "\N{MINUS SIGN}"
    return with_sign(sign, tr.plural(abs(points), "%n point", "%n points"))
