"""The session runtime: what every part that works on one session shares; the choice of its model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from helix_desktop.agent.models import ModelRoles, RunSettingsSource
from helix_desktop.agent.ports import TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.summaries.informative_lines import UNCACHED, OutputExtracts
from helix_desktop.context.window.provider_cache import cache_prices, layer_ends, measured_gaps, prefers_long
from helix_desktop.context.window.window import PromptFrame, Window
from helix_desktop.domain.choices import SentEffort
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ModelNotChosen
from helix_desktop.domain.messages import CacheHints, ModelInfo, ModelRequest
from helix_desktop.system.clock import ClockMs, WaitSeconds
from helix_desktop.system.task_scope import TaskScope

_DEMO = "demo/"


class ModelChange(msgspec.Struct, frozen=True):
    """A change of models that the user has to agree to; `label` is the model that the session had.

    `is_chosen` is True if that one was chosen for this session, else it gave the last answer.
    `is_configured` is True if it is set up here.
    """

    label: str
    is_chosen: bool
    is_configured: bool


def pending_change(
    transcript: Transcript, now: ModelInfo, accepted: str, is_configured: Callable[[str], bool]
) -> ModelChange | None:
    """Return the change that the user has to agree to before `now` answers; None if there is none.

    `accepted` is the label of a model that the user agreed to, besides the one on record. A running turn goes
    on. Subagents work with the model of a role, so for them only a choice counts.
    """
    if transcript.turn_open or now.label in (accepted, transcript.accepted_model):
        return None
    label, last = transcript.chosen_model, transcript.last_model
    if label:
        return ModelChange(label, True, is_configured(label)) if label != now.label else None
    if now.demo and not last:  # any other model goes on with another agent's session
        last = transcript.foreign_model
    if transcript.parent or last in ("", now.label) or last.startswith(_DEMO):
        return None
    is_here = is_configured(last)
    return ModelChange(last, False, is_here) if now.demo or not is_here else None


class ModelChoice:
    def __init__(
        self,
        session: Session,
        settings: RunSettingsSource,
        is_configured: Callable[[str], bool] = lambda _: True,
        is_overridden: Callable[[], bool] = lambda: True,
    ) -> None:
        """`is_overridden` returns True while one model answers in every session, whatever was chosen."""
        self._session, self._settings = session, settings
        self._is_configured, self._is_overridden = is_configured, is_overridden
        self._accepted = ""

    @property
    def pending(self) -> ModelChange | None:
        """The change of models that the user has to agree to; None if the model may answer."""
        if self._is_overridden():
            return None
        _, frame, _ = self._settings()
        return pending_change(self._session.transcript, frame.info, self._accepted, self._is_configured)

    def accept(self) -> None:
        """Let the model that would answer now go on, as long as this session is open."""
        self._accepted = self._settings()[1].info.label

    def require(self) -> None:
        """Raise ModelNotChosen while the user has to agree to a change."""
        change = self.pending
        if change is not None:
            raise ModelNotChosen(change.label, is_chosen=change.is_chosen)


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
        return self.session.transcript

    @property
    def policy(self) -> ContextPolicy:
        return self.settings()[0]

    @property
    def frame(self) -> PromptFrame:
        return self.settings()[1]

    @property
    def roles(self) -> ModelRoles:
        return self.settings()[2]

    @property
    def effort(self) -> SentEffort:
        """The level of reasoning that requests to the main model ask for; empty: none, or it was refused."""
        info = self.frame.info
        level = info.fit_effort(self.transcript.chosen_effort or info.effort)
        return "" if self.transcript.refused_effort == (info.label, level) else level

    async def count_tokens(self, text: str) -> int:
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
