"""The summariser: asks the workspace's models for a text, the next one where one cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Generic, TypeVar

import msgspec

from helix_desktop.agent.asking import briefly
from helix_desktop.agent.ports import Counter, Model
from helix_desktop.agent.roles import Settings
from helix_desktop.agent.session import Session
from helix_desktop.context.budget import ratio_of
from helix_desktop.context.errors import (
    CompactionRefused,
    ModelError,
    ModelNonsense,
    ModelOverflow,
    SummaryRefused,
)
from helix_desktop.context.history import FRAMING
from helix_desktop.context.message import Answer, Request, Retrying, TextArrived, Usage
from helix_desktop.context.planner import SUMMARY_TOKENS
from helix_desktop.context.spending import Estimate, Spending, estimate_of, price_of
from helix_desktop.context.summary import Brief, cut_down, merged, parts, whole

NO_MODEL = "no model (ledger and extracts)"
T = TypeVar("T")
Progress = Callable[[str], None]
"""Hears what the answer under way says so far."""

_DEPTH = 4  # how often a record is taken apart again before it is given up
_MOST_CALLS = 40
_CUTS = 3  # tries with the middle left out, each in half the room, while the server says overflow
_MARGIN = 0.9  # of a room that is filled, because characters are no tokens
_REASON = 200  # characters of an error that are kept


class Written(msgspec.Struct, Generic[T], frozen=True):
    """What came of asking: a value, the model that wrote it, the calls it took, the tokens in and out.

    `cost` is in US dollars. `fallback` says what had to be done other than ask the first model once, and why;
    `value` is None when no model could; `refused` is what a model wrote last that says too little.
    """

    value: T | None
    model: str = ""
    demo: bool = False
    calls: int = 0
    spent: int = 0
    fallback: str = ""
    cost: float = 0.0
    refused: SummaryRefused | None = None

    @property
    def refused_text(self) -> str:
        """What a model wrote that was not used; empty where there is none."""
        return self.refused.text if self.refused is not None else ""


class Summariser:
    """Asks one session's models for summaries."""

    def __init__(self, session: Session, counter: Counter, settings: Settings) -> None:
        self._session, self._counter, self._settings = session, counter, settings
        self.took = Spending()  # what the newest asking took, also if nothing came of it

    async def ask(
        self,
        brief: Brief,
        read: Callable[[str], T],
        progress: Progress,
        planned: Callable[[Estimate], None] = lambda _: None,
    ) -> Written[T]:
        """The text of a brief, read: by the first model that has room for it, in parts, or cut down.

        `read` raises CompactionRefused for a text that is no use; `planned` hears what it will take before
        the first call, and may raise. Cancelling ends the call under way.
        """
        _, _, roles = self._settings()
        asking = _Asking(self._session, self._counter, read, progress)
        try:
            return await asking.of(brief, roles.summarising, planned)
        finally:
            self.took = asking.spent

    async def estimate(self, brief: Brief) -> Estimate:
        """Return what asking for the text of a brief will take."""
        _, _, roles = self._settings()
        asking = _Asking(self._session, self._counter, str, lambda _: None)
        return await asking.estimate(brief, roles.summarising)


class _Asking(Generic[T]):
    """One brief on its way through the chain."""

    def __init__(
        self, session: Session, counter: Counter, read: Callable[[str], T], progress: Progress
    ) -> None:
        self._session, self._counter, self._read, self._progress = session, counter, read, progress
        self._calls, self.spent = 0, Spending()
        self._problems: list[str] = []
        self._refused: SummaryRefused | None = None
        self._rooms: dict[str, int] = {}

    async def of(
        self, brief: Brief, chain: tuple[Model, ...], planned: Callable[[Estimate], None]
    ) -> Written[T]:
        """Each model with the whole record; then those that it was too large for, in parts and cut down."""
        request = await asyncio.to_thread(whole, brief)
        tokens = await self._tokens(request)
        planned(await self._estimate(brief, request, tokens, chain))
        small: list[Model] = []
        for model in chain:
            self._rooms[model.info.label] = self._room(model)
            value = await self._whole(model, request, tokens, small)
            if value is not None:
                how = f"{model.info.label} was asked" if self._problems else ""
                return self._written(value, model, how)
        density = _size(request) / max(1, tokens)
        small.sort(key=lambda model: self._rooms[model.info.label], reverse=True)
        for model in small:
            value = await self._in_parts(model, brief, density)
            if value is not None:
                return self._written(value, model, f"{model.info.label} read it in parts")
        for model in small:
            value = await self._cut_down(model, brief, density)
            if value is not None:
                return self._written(value, model, f"{model.info.label} read it shortened")
        why = _told("no model could", self._problems)
        spent = self.spent
        return Written(None, "", False, self._calls, spent.tokens, why, spent.cost, self._refused)

    async def estimate(self, brief: Brief, chain: tuple[Model, ...]) -> Estimate:
        """What the first model that has room will take, or else the largest, in parts."""
        request = await asyncio.to_thread(whole, brief)
        return await self._estimate(brief, request, await self._tokens(request), chain)

    async def _estimate(
        self, brief: Brief, request: Request, tokens: int, chain: tuple[Model, ...]
    ) -> Estimate:
        able = next((model for model in chain if tokens <= self._room(model)), None)
        model, read, calls = able or max(chain, key=self._room), tokens, 1
        if able is None:
            density = _size(request) / max(1, tokens)
            room = self._room(model)
            divided = await asyncio.to_thread(parts, brief, int(room * density * _MARGIN))
            read = min(read, room)
            if len(divided) > 1:
                sizes = await asyncio.to_thread(lambda: [_size(whole(part)) for part in divided])
                read, calls = int(sum(sizes) / density), len(divided)
            if len(divided) > 1 and brief.merging:
                read, calls = read + calls * SUMMARY_TOKENS + int(brief.fixed / density), calls + 1
        ratio = ratio_of(self._session.transcript, model.info.label)
        return estimate_of(model.info, round(read * ratio), calls * SUMMARY_TOKENS, calls)

    def _written(self, value: T, model: Model, how: str) -> Written[T]:
        fallback = _told(how, self._problems) if how else ""
        info, spent = model.info, self.spent
        tokens, cost = spent.tokens, spent.cost
        return Written(value, info.label, info.demo, self._calls, tokens, fallback, cost, self._refused)

    def _room(self, model: Model) -> int:
        """The tokens, as we count them, that a request to this model may have."""
        info = model.info
        return int((info.window - info.reserve) / ratio_of(self._session.transcript, info.label))

    async def _tokens(self, request: Request) -> int:
        counts = await self._counter.count([message.text for message in request.messages])
        return sum(counts) + FRAMING * len(counts)

    async def _whole(self, model: Model, request: Request, tokens: int, small: list[Model]) -> T | None:
        label = model.info.label
        if tokens > self._rooms[label]:
            self._problems.append(f"{label} has room for {max(0, self._rooms[label]):,} of {tokens:,} tokens")
            small.append(model)
            return None
        try:
            return self._read(await self._said(model, request, tokens))
        except ModelOverflow as error:
            self._overflowed(model, tokens)
            small.append(model)
            self._note(model, error)
        except (ModelError, CompactionRefused) as error:
            self._note(model, error)
        return None

    def _overflowed(self, model: Model, tokens: int) -> None:
        """Believe the server: it has less room than it should have."""
        label = model.info.label
        self._rooms[label] = min(self._rooms[label], tokens) // 2

    def _note(self, model: Model, error: Exception) -> None:
        self._problems.append(f"{model.info.label}: {str(error)[:_REASON]}")
        if isinstance(error, SummaryRefused):
            self._refused = error

    async def _in_parts(self, model: Model, brief: Brief, density: float) -> T | None:
        try:
            return self._read(await self._apart(model, brief, density, 1))
        except (ModelError, CompactionRefused) as error:
            self._note(model, error)
        return None

    async def _apart(self, model: Model, brief: Brief, density: float, depth: int) -> str:
        """The text of a brief that is too large: of its parts, merged. Raises ModelError."""
        room = int(self._rooms[model.info.label] * density * _MARGIN)
        divided = await asyncio.to_thread(parts, brief, room)
        if len(divided) < 2 or depth > _DEPTH:  # noqa: PLR2004 - one part is no smaller
            raise ModelOverflow("Its parts do not fit either.")
        texts = [await self._part(model, part, density, depth) for part in divided]
        if not brief.merging:
            return "\n".join(texts)
        return await self._part(model, merged(brief, texts), density, depth)

    async def _part(self, model: Model, brief: Brief, density: float, depth: int) -> str:
        request = await asyncio.to_thread(whole, brief)
        tokens = await self._tokens(request)
        if tokens <= self._rooms[model.info.label]:
            try:
                return await self._said(model, request, tokens)
            except ModelOverflow:
                self._overflowed(model, tokens)
        return await self._apart(model, brief, density, depth + 1)

    async def _cut_down(self, model: Model, brief: Brief, density: float) -> T | None:
        for _ in range(_CUTS):
            room = self._rooms[model.info.label]
            fitted = await self._fitted(brief, room, density)
            if fitted is None:
                return None
            try:
                return self._read(await self._said(model, *fitted))
            except ModelOverflow as error:
                self._overflowed(model, room)
                self._note(model, error)
            except (ModelError, CompactionRefused) as error:
                self._note(model, error)
                return None
        return None

    async def _fitted(self, brief: Brief, room: int, density: float) -> tuple[Request, int] | None:
        """The request cut down to `room` tokens, and its own; tried again where text is denser."""
        characters = room * density
        for _ in range(_CUTS):
            characters *= _MARGIN
            request = await asyncio.to_thread(cut_down, brief, int(characters))
            if request is None:
                break
            tokens = await self._tokens(request)
            if tokens <= room:
                return request, tokens
            characters *= room / tokens
        self._problems.append(f"no request fits {room:,} tokens")
        return None

    async def _said(self, model: Model, request: Request, tokens: int) -> str:
        """What a model answers to a request of so many tokens. Raises ModelError."""
        if self._calls >= _MOST_CALLS:
            raise ModelNonsense(f"It took more than {_MOST_CALLS} calls.")
        self._calls += 1
        said = ""
        self._progress(said)
        async with aclosing(briefly(model, request)) as arrivals:
            async for arrival in arrivals:
                match arrival:
                    case TextArrived(text=text):
                        said += text
                        self._progress(said)
                    case Retrying():
                        said = ""
                        self._progress(said)
                    case Answer(text=text, usage=usage):
                        said = text
                        self.spent += await self._took(model, usage, tokens, said)
                    case _:
                        pass
        if not said.strip():
            raise ModelNonsense("The model sent no summary.")
        return said

    async def _took(self, model: Model, usage: Usage | None, tokens: int, said: str) -> Spending:
        """What a call took, as the provider reported it or as we count it."""
        if usage is None or usage.input <= 0:
            (written,) = await self._counter.count([said])
            usage = Usage(tokens, written)
        return Spending(usage.input + usage.output, price_of(model.info, usage))


def _size(request: Request) -> int:
    return sum(len(message.text) for message in request.messages)


def _told(how: str, problems: list[str]) -> str:
    return f"{how}: {'; '.join(dict.fromkeys(problems))}" if problems else how
