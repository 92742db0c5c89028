"""The intake's question: asked once per batch of calls in a fork of the request, of which nothing is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from helix_desktop.agent.asking import ask
from helix_desktop.agent.intake import Taken
from helix_desktop.agent.ports import Clock, Counter
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.context import validity
from helix_desktop.context.budget import gauge
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import Recorded, ToolAnswered
from helix_desktop.context.intake_choice import Choice, Held, offered, parse_choices, question
from helix_desktop.context.message import Message, Request
from helix_desktop.context.window import project

log = logging.getLogger(__name__)


class Waiting(msgspec.Struct, frozen=True):
    """A held output: as it came, and the preview it gets when nobody chooses."""

    taken: Taken
    preview: ToolAnswered

    @property
    def extra(self) -> int:
        """Tokens that the full form takes beyond the preview."""
        return max(0, self.taken.answer.tokens - self.preview.tokens)


class Chosen(msgspec.Struct, frozen=True):
    """The choices for a batch in its order, what asking has cost, and why nobody chose if so."""

    choices: tuple[Choice, ...]
    tokens: int = 0
    cached: int = 0
    ms: int = 0
    note: str = ""
    late: bool = False
    cost: float = 0.0


class Fork(msgspec.Struct, frozen=True):
    """The request that asks, its tokens, and for which outputs it offers the full form."""

    request: Request
    tokens: int
    full: tuple[bool, ...]


class IntakeQuestion:
    """Asks the main model in which forms it wants large outputs."""

    def __init__(
        self, session: Session, counter: Counter, clock: Clock, prompt: str, settings: Settings
    ) -> None:
        self._session, self._counter, self._clock = session, counter, clock
        self._prompt, self._settings = prompt, settings

    async def ask(self, batch: Sequence[Waiting], deadline: float) -> Chosen:
        """A choice for each output, made by `deadline` (the loop's time); it never fails."""
        nobody = (Choice(),) * len(batch)
        fork = await self._fork(batch)
        if fork is None:
            return Chosen(nobody, note="There was no room to ask.")
        _, _, roles = self._settings()
        began = self._clock()

        def took() -> int:
            return max(0, self._clock() - began)

        try:
            async with asyncio.timeout_at(deadline):
                said = await ask(roles.main, fork.request, self._counter)
        except TimeoutError:
            note = "The model did not choose in time."
            return Chosen(nobody, fork.tokens, 0, took(), note, late=True)
        except HelixError as error:
            return Chosen(nobody, ms=took(), note=error.what)
        except Exception as error:
            log.warning("asking about large outputs failed unexpectedly", exc_info=True)
            return Chosen(nobody, ms=took(), note=f"{type(error).__name__}: {error}")
        choices = parse_choices(said.text, fork.full)
        note = "" if all(one.chosen for one in choices) else "The model's answer named no form for it."
        return Chosen(choices, said.tokens, said.cached, took(), note, cost=said.cost)

    async def _fork(self, batch: Sequence[Waiting]) -> Fork | None:
        """The request as it would be sent, with previews as answers, and the question; None without room."""
        policy, frame, _ = self._settings()
        twin = self._session.transcript.fork()
        for one in batch:
            twin.apply(Recorded(twin.last_seq + 1, twin.last_at, one.preview))
        window = project(twin, policy, frame)
        now = gauge(window, twin, policy, frame)
        room = int((policy.handover_at * now.window - now.used - now.reserve) / now.ratio)
        full = offered([one.extra for one in batch], room - 1)
        text = question(self._prompt, [_held(*pair) for pair in zip(batch, full, strict=True)])
        (tokens,) = await self._counter.count([text])
        messages = (*window.request.messages, Message("user", text))
        if validity.problems(messages) or now.used + tokens * now.ratio + now.reserve > now.window:
            return None
        return Fork(Request(messages, window.request.tools), round(now.used + tokens * now.ratio), full)


def _held(one: Waiting, full: bool) -> Held:
    answer, lines = one.taken.answer, one.taken.text.count("\n") + 1
    return Held(answer.name, answer.target, answer.digest, answer.tokens, lines, full, answer.exit_code)
