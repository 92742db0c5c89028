"""Observations in a replay: made at the ends of turns, ready at the next call, paid and counted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import msgspec

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.observation import TITLE
from helix_desktop.domain.events.summary import ObservationsMade, ObservationsPlaced
from helix_desktop.replay import Replayer
from helix_desktop.replay.recording import with_turn_ends
from tests.support.synthetic_recordings import make_session

# So low that a short session reaches it; nothing is folded, so that raw history is what grows.
POLICY = msgspec.structs.replace(
    PROFILES["lean"], fold_after_steps=0, observe_at=0.1, observe_place_at=0.1, reflect_at=0.05
)
WINDOW = 24_000


def replayed(messages: list[dict[str, Any]]) -> tuple[Replayer, list[list[Mapping[str, Any]]]]:
    """Return a session replayed to its end, and its requests."""
    replayer = Replayer(POLICY, WINDOW)
    requests: list[list[Mapping[str, Any]]] = []
    for message, ends in with_turn_ends(messages):
        if message["role"] == "assistant":
            requests.append(list(replayer.request()))
        replayer.feed(message)
        if ends:
            replayer.end_turn()
    return replayer, requests


def test_observations_are_ready_at_the_next_call() -> None:
    """Made when a turn has ended, and in the very next request; each call's tokens are listed."""
    replayer, requests = replayed(make_session(3, 160))
    with closing(replayer):
        counts = replayer.counts
        assert counts.observations > 2
        assert counts.reflections > 0
        assert len(replayer.summaries) >= counts.observations + counts.reflections + counts.handovers
        assert all(tokens > 100 for tokens in replayer.summaries)
        log = replayer.session.log
        observed = [recorded for recorded in log if isinstance(recorded.event, ObservationsMade)]
        placements = {
            recorded.event.made: recorded.seq
            for recorded in log
            if isinstance(recorded.event, ObservationsPlaced)
        }
        assert set(placements) >= {recorded.seq for recorded in observed[:-1]}
        for recorded in observed[:-1]:
            between = log[recorded.seq : placements[recorded.seq] - 1]
            assert not [other for other in between if type(other.event).__name__ == "AssistantSpoke"]
        assert sum(TITLE in str(request[:3]) for request in requests) > 20
