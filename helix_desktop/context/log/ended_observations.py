"""Ended observations: facts that later observations in the window mark as done or over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from helix_desktop.domain.events.summary import Observation, ObservationsMade


def ended_observations(generations: Iterable[ObservationsMade]) -> dict[Observation, int]:
    """Return what these generations mark as over, with the tokens of its lines."""
    return {
        ended.observation: ended.tokens
        for generation in generations
        if generation.over
        for ended in generation.over
    }


def ended_tokens(generations: Sequence[ObservationsMade]) -> int:
    """Return the tokens of the facts among these generations' that others of them mark as over."""
    ended = ended_observations(generations)
    if not ended:
        return 0
    present = {observation for generation in generations for observation in generation.observations}
    return sum(tokens for observation, tokens in ended.items() if observation in present)
