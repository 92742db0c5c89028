"""The session runtime: what every part that works on one session shares, and its requests' cache hints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from helix_desktop.agent.model_choice import ModelChoice
from helix_desktop.agent.models.roles import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports.model import TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.informative_lines import UNCACHED, OutputExtracts
from helix_desktop.context.window.provider_cache import cache_prices, layer_ends, measured_gaps, prefers_long
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.messages import CacheHints, ModelRequest
from helix_desktop.system.clock import ClockMs, WaitSeconds
from helix_desktop.system.task_scope import TaskScope


class SessionRuntime(msgspec.Struct, frozen=True):
    """One session with its settings, token counter, clock, tasks and prompts.

    `prompts` holds the prompts by name, `prompt_versions` the version of each that events record. `extracts`
    read outputs for summaries.
    """

    session: Session
    settings: RunSettingsSource
    counter: TokenCounter
    clock: ClockMs
    scope: TaskScope
    prompts: Mapping[str, str]
    prompt_versions: Mapping[str, str]
    model_choice: ModelChoice
    extracts: OutputExtracts = UNCACHED
    wait_s: WaitSeconds = asyncio.sleep

    @property
    def transcript(self) -> Transcript:
        """The session's log as the engine reads it."""
        return self.session.transcript

    @property
    def policy(self) -> ContextPolicy:
        """The policy now, scaled to the model's window."""
        return self.settings()[0]

    @property
    def frame(self) -> PromptFrame:
        """The model that answers now, its system prompt and its tools."""
        return self.settings()[1]

    @property
    def roles(self) -> ModelRoles:
        """The models now."""
        return self.settings()[2]

    @property
    def effort(self) -> SentEffort:
        """The level of reasoning that requests to the main model ask for; empty: none, or it was refused."""
        info = self.frame.info
        level = info.fit_effort(self.transcript.chosen_effort or info.effort)
        return "" if self.transcript.refused_effort == (info.label, level) else level

    async def count_tokens(self, text: str) -> int:
        """Return the number of tokens in a text."""
        (tokens,) = await self.counter.count([text])
        return tokens

    def elapsed_ms(self, since_ms: int) -> int:
        """Return the milliseconds since a time; 0 if the clock was set back."""
        return max(0, self.clock() - since_ms)


_KEY_DIGITS = 16


def with_cache_hints(request: ModelRequest, window: Window, runtime: SessionRuntime) -> ModelRequest:
    """Return a request that begins as a window does with what it asks of the provider's cache.

    It asks for the session's effort too: with another one a provider would not find what it has stored.
    """
    transcript, info = runtime.transcript, runtime.frame.info
    next_input = round(window.estimate * runtime.frame.ratio)
    gaps = measured_gaps(transcript, info.label, runtime.clock(), next_input)
    tree = transcript.first_parent or runtime.session.id  # branches begin with what their parent has cached
    hints = CacheHints(
        key=digest_of(tree.encode())[:_KEY_DIGITS],
        ends=layer_ends(window, transcript, runtime.policy),
        keep_long=prefers_long(gaps, cache_prices(info)),
    )
    return msgspec.structs.replace(request, cache=hints, effort=runtime.effort)
