"""The time between the requests of a recording, drawn from a published distribution.

Recordings carry no times, and a provider's cache forgets what was not used for some minutes. So each gap is
drawn by hash: the same recording has the same gaps under every policy.

Source of the percentiles: TraceLab, University of Washington, 2026 (arXiv 2606.30560), some 4,300 working
sessions with coding agents, 350,000 model calls: the table of times per step, and of waits for the user.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

from helix_desktop.replay.ports import RawMessage

_NORMAL = NormalDist()
_Z90, _Z99 = _NORMAL.inv_cdf(0.9), _NORMAL.inv_cdf(0.99)


class Durations(NamedTuple):
    """A distribution of durations by percentiles, in seconds."""

    p50: float
    p90: float
    p99: float

    def quantile(self, share: float) -> float:
        """Return the duration that a share of all is below; log-normal between percentiles and beyond."""
        z = _NORMAL.inv_cdf(share)
        if z <= _Z90:
            return self.p50 * math.exp(z / _Z90 * math.log(self.p90 / self.p50))
        return self.p90 * math.exp((z - _Z90) / (_Z99 - _Z90) * math.log(self.p99 / self.p90))


GENERATION = Durations(4.9, 20.2, 78.0)
TOOLS = Durations(0.1, 10.0, 192.0)
USER = Durations(84.0, 1_236.0, 50_040.0)


def draw_gaps(messages: Sequence[RawMessage]) -> list[float]:
    """Return for each model call of a recording the seconds since the request before; 0 for the first.

    A gap is the time of the former answer, and that of its tools or of the user's wait.
    """
    digest = messages_digest(messages)
    gaps: list[float] = []
    for before, message in pairwise(messages):
        if message["role"] == "assistant":
            wait = USER if before["role"] == "user" else TOOLS
            answer, pause = (_draw(digest, f"{len(gaps)} {what}") for what in ("answer", "pause"))
            gaps.append(GENERATION.quantile(answer) + wait.quantile(pause) if gaps else 0.0)
    return gaps


def messages_digest(messages: Sequence[RawMessage]) -> bytes:
    """Return a hash of a recording's texts, wherever the recording is stored."""
    texts = "\0".join(message["content"] for message in messages)
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).digest()


def _draw(digest: bytes, what: str) -> float:
    """Return a number above 0 and below 1."""
    drawn = hashlib.sha256(digest + what.encode()).digest()
    return (int.from_bytes(drawn[:6]) + 0.5) / 2**48
