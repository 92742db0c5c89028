"""The extractor: lets a fast model write down what somebody wants to know of a large output."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from helix_desktop.agent.asking import Said, ask
from helix_desktop.agent.ports import Counter, Model
from helix_desktop.agent.roles import Settings
from helix_desktop.context.errors import FormRefused, ModelError, ModelOverflow
from helix_desktop.context.extraction import (
    MOST_PIECES,
    Source,
    compact_cap,
    compact_text,
    compact_words,
    extraction_request,
    middle_out,
    pieces,
)

log = logging.getLogger(__name__)
_SHARE = 0.8  # of a model's window: its tokens are not counted by our vocabulary
_PROMPT_TOKENS = 800  # prompt and frame of the request, and the longest instructions


class Extract(msgspec.Struct, frozen=True):
    """A compact form with its tokens; who wrote it and at what cost in tokens and US dollars.

    `refused` says why it may not be used, `fallback` why it was not written the usual way.
    """

    text: str
    tokens: int
    model: str
    spent: int
    cached: int
    refused: str = ""
    fallback: str = ""
    cost: float = 0.0


class Extractor:
    """Asks the models for extracts: the fast one, then the larger ones, then in pieces, then of what fits."""

    def __init__(self, counter: Counter, prompt: str, settings: Settings) -> None:
        self._counter, self._prompt, self._settings = counter, prompt, settings

    @property
    def models(self) -> tuple[Model, ...]:
        """Whom to ask, in this order; the offline demo answers from a script and is not asked."""
        _, _, roles = self._settings()
        return tuple(model for model in roles.extracting if not model.info.demo)

    async def extract(self, source: Source, asked: str) -> Extract:
        """The compact form of an output.

        Raises FormRefused when there is no model to ask, ModelError when none answers.
        """
        policy, _, _ = self._settings()
        words = compact_words(policy.preview_tokens, source.tokens)
        model, said, fallback = await self._said(source, asked, words)
        text = compact_text(source, asked, said.text)
        (tokens,) = await self._counter.count([text])
        cap = compact_cap(policy.preview_tokens, source.tokens)
        long = f"The extract has {tokens:,} tokens and must have fewer than {cap:,}."
        return Extract(
            *(text, tokens, model.info.label, said.tokens, said.cached),
            "" if tokens < cap else long,
            fallback,
            said.cost,
        )

    async def _said(self, source: Source, asked: str, words: int) -> tuple[Model, Said, str]:
        """Ask the first model that the output fits; the next one when it fails."""
        models = self.models
        failed: ModelError | None = None
        for model in models:
            if source.tokens > _room(model):
                continue
            try:
                said = await self._part(model, source, asked, words)
            except ModelError as error:
                failed = error
                continue
            return model, said, "" if model is models[0] else _instead(models[0], failed)
        if models and (failed is None or isinstance(failed, ModelOverflow)):
            return await self._in_parts(
                source, asked, words, _room(max(models, key=_room)) // (2 if failed else 1)
            )
        raise failed or FormRefused(
            "There is no model that could extract.",
            "The offline demo answers from a script.",
            "Choose a model in Settings.",
            remedies=("provider_settings",),
        )

    async def _in_parts(self, source: Source, asked: str, words: int, room: int) -> tuple[Model, Said, str]:
        """Ask the largest model piece by piece; when those are too many or it fails, without the middle."""
        model = max(self.models, key=_room)
        parts = await asyncio.to_thread(pieces, source, room)
        if len(parts) <= MOST_PIECES:
            try:
                return model, await self._merged(model, parts, asked, words), f"in {len(parts)} pieces"
            except ModelError as error:
                log.info("an extract in pieces failed: %s", error)
        said = await self._part(model, middle_out(source, room), asked, words)
        return model, said, "without its middle"

    async def _merged(self, model: Model, parts: Sequence[Source], asked: str, words: int) -> Said:
        """Ask for all parts side by side, then for one answer from all of theirs."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        self._part(model, part, asked, words, f", part {number} of {len(parts)}")
                    )
                    for number, part in enumerate(parts, 1)
                ]
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from several
        found = [task.result() for task in tasks]
        together = "\n\n".join(f"Part {n} of {len(found)}:\n{one.text}" for n, one in enumerate(found, 1))
        (tokens,) = await self._counter.count([together])
        merged = msgspec.structs.replace(parts[0], text=together, tokens=tokens)
        last = await self._part(model, merged, asked, words, ", as extracts from its parts")
        calls = (*found, last)
        tokens, cached = sum(one.tokens for one in calls), sum(one.cached for one in calls)
        return Said(last.text, tokens, cached, sum(one.cost for one in calls))

    async def _part(self, model: Model, part: Source, asked: str, words: int, name: str = "") -> Said:
        request = extraction_request(self._prompt, part, asked, words, name)
        return await ask(model, request, self._counter)


def _room(model: Model) -> int:
    """Tokens of an output that a model can be asked about at once."""
    return int(model.info.window * _SHARE) - model.info.reserve - _PROMPT_TOKENS


def _instead(first: Model, failed: ModelError | None) -> str:
    reason = failed.what if failed is not None else "the output does not fit."
    return f"not by {first.info.label}: {reason}"
