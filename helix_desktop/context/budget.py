"""The budget: how full the window is, by one number with one denominator (invariant 9)."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.context.event import AssistantSpoke
from helix_desktop.context.policy import Policy
from helix_desktop.context.transcript import Item, Transcript
from helix_desktop.context.window import Frame, Window

Pressure = Literal["none", "compact"]
_RATIO_LOW, _RATIO_HIGH = 0.5, 3.0  # a provider's tokenizer is never further from ours than this


class Gauge(msgspec.Struct, frozen=True):
    """Projected use of the window in tokens; `reported` says whether the number is the provider's own.

    `threshold` is where a handover falls due, `ratio` the provider's tokens per token of ours.
    """

    used: int
    window: int
    reserve: int
    threshold: int
    reported: bool
    ratio: float = 1.0

    @property
    def share(self) -> float:
        """Use as a share of the window."""
        return self.used / self.window

    @property
    def pressure(self) -> Pressure:
        """Whether a handover is due by size."""
        return "compact" if self.used >= self.threshold else "none"

    @property
    def fits(self) -> bool:
        """Whether the request leaves the answer its reserve."""
        return self.used + self.reserve <= self.window

    @property
    def source(self) -> str:
        """Where the number comes from, for people."""
        if self.reported:
            return "reported by the provider"
        return "estimated" if self.ratio == 1.0 else f"estimated, x {self.ratio:.2f} of our count"


def gauge(window: Window, transcript: Transcript, policy: Policy, frame: Frame) -> Gauge:
    """Projected use of the next request.

    The provider's last report of this model counts for the part it saw; what came since is our count times
    the ratio of report to estimate.
    """
    used, reported, ratio = window.estimate, False, 1.0
    last = _last_report(transcript, frame.info.label)
    if last is not None and isinstance(last.event, AssistantSpoke) and last.event.usage:
        ratio = last.event.usage.input / last.event.estimate if last.event.estimate else 1.0
        ratio = min(max(ratio, _RATIO_LOW), _RATIO_HIGH)
        used = round(window.estimate * ratio)
        if transcript.last_rewrite < last.seq:
            grown = window.estimate - last.event.estimate
            used = max(0, last.event.usage.input + round(grown * ratio))
            reported = transcript.items[-1].seq == last.seq
    info = frame.info
    threshold = int(info.window * policy.handover_at)
    return Gauge(used, info.window, info.reserve, threshold, reported, ratio)


def _last_report(transcript: Transcript, model: str) -> Item | None:
    for item in reversed(transcript.items[-200:]):
        event = item.event
        if not isinstance(event, AssistantSpoke) or event.model != model or not event.estimate:
            continue
        if event.usage and event.usage.input > 0:  # some local servers report zeros
            return item
    return None
