"""The extractor: has a fast model extract the requested information from a large output."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.agent.models.completion import CallBill, complete
from helix_desktop.agent.models.roles import RunSettingsSource
from helix_desktop.agent.ports.model import Model, TokenCounter
from helix_desktop.context.intake.output_form_choice import (
    MAX_CHUNKS,
    OutputSource,
    extract_text,
    extraction_request,
    max_extract_tokens,
    max_extract_words,
    split_output,
    truncate_output,
)
from helix_desktop.domain.errors import ContextWindowExceeded, ModelError
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
)

_text = TextContext("Agent")

log = logging.getLogger(__name__)
_WINDOW_SHARE = 0.8  # of a model's window, because its tokenizer is not ours
_PROMPT_TOKENS = 800  # prompt and frame of the request, and the longest instructions


class Extract(msgspec.Struct, frozen=True):
    """A compact form with its tokens and the model that wrote it.

    `rejection` says why it may not be used, `fallback_reason` why the default way was not taken.
    """

    text: str
    tokens: int
    model: str
    rejection: str = ""
    fallback_reason: str = ""


class Extractor:
    """Extracts with the fast model, then the larger ones, then in chunks, then from what fits."""

    def __init__(self, counter: TokenCounter, prompt: str, settings: RunSettingsSource) -> None:
        self._counter, self._prompt, self._settings = counter, prompt, settings

    async def extract(
        self,
        source: OutputSource,
        instructions: str,
        bill: CallBill,
        is_slow: Callable[[Model], bool] = lambda _: False,
    ) -> Extract:
        """Return the compact form of an output, and add what the calls cost to the bill.

        A model that `is_slow` is not asked, unless all are. Raises ModelError if none answers.
        """
        policy, _, roles = self._settings()
        models = [model for model in roles.extraction_models if not is_slow(model)] or roles.extraction_models
        max_words = max_extract_words(policy.preview_tokens, source.tokens)
        model, answer, fallback = await self._ask_models(models, source, instructions, max_words, bill)
        first = roles.extraction_models[0]
        if first not in models:
            fallback = _fallback_reason(first, _text("It missed the time limit before."))
        text = extract_text(source, instructions, answer)
        (tokens,) = await self._counter.count([text])
        cap = max_extract_tokens(policy.preview_tokens, source.tokens)
        too_long = _text(
            "The extract has {tokens} tokens; it must have fewer than {limit}.", tokens=tokens, limit=cap
        )
        return Extract(
            text,
            tokens,
            model.info.label,
            "" if tokens < cap else too_long,
            fallback,
        )

    async def _ask_models(
        self,
        models: Sequence[Model],
        source: OutputSource,
        instructions: str,
        word_limit: int,
        bill: CallBill,
    ) -> tuple[Model, str, str]:
        """Call the first of the models whose window fits the output; if it fails, the next one."""
        _, _, roles = self._settings()
        failed: ModelError | None = None
        for model in models:
            fits_another = failed is not None and not isinstance(failed, ContextWindowExceeded)
            if source.tokens > _input_capacity(model):
                continue
            if fits_another and roles.is_only_long(model, roles.fast):
                continue
            try:
                answer = await self._extract_part(model, source, instructions, word_limit, bill)
            except ModelError as error:
                failed = error
                continue
            reason = (
                failed.what if failed is not None else _text("The output doesn't fit its context window.")
            )
            return model, answer, "" if model is models[0] else _fallback_reason(models[0], reason)
        if failed is None or isinstance(failed, ContextWindowExceeded):
            model = max(models, key=_input_capacity)
            capacity = _input_capacity(model) // (2 if failed else 1)
            return await self._extract_in_parts(model, source, instructions, word_limit, capacity, bill)
        raise failed

    async def _extract_in_parts(
        self,
        model: Model,
        source: OutputSource,
        instructions: str,
        word_limit: int,
        capacity: int,
        bill: CallBill,
    ) -> tuple[Model, str, str]:
        """Call the model once per chunk; if those are too many or one fails, leave out the middle."""
        parts = await asyncio.to_thread(split_output, source, capacity)
        if len(parts) <= MAX_CHUNKS:
            try:
                return (
                    model,
                    await self._extract_parts(model, parts, instructions, word_limit, bill),
                    _text.plural(len(parts), "Extracted from %n part.", "Extracted from %n parts."),
                )
            except ModelError as error:
                log.info("an extract in pieces failed: %s", error)
        answer = await self._extract_part(
            model, truncate_output(source, capacity), instructions, word_limit, bill
        )
        return model, answer, _text("The middle of the output was left out.")

    async def _extract_parts(
        self, model: Model, parts: Sequence[OutputSource], instructions: str, word_limit: int, bill: CallBill
    ) -> str:
        """Extract from all parts in parallel, then merge the extracts by one more call."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        self._extract_part(
                            model, part, instructions, word_limit, bill, f", part {number} of {len(parts)}"
                        )
                    )
                    for number, part in enumerate(parts, 1)
                ]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        extracts = [task.result() for task in tasks]
        together = "\n\n".join(
            f"Part {n} of {len(extracts)}:\n{extract}" for n, extract in enumerate(extracts, 1)
        )
        (tokens,) = await self._counter.count([together])
        merged = msgspec.structs.replace(parts[0], text=together, tokens=tokens)
        return await self._extract_part(
            model, merged, instructions, word_limit, bill, ", as extracts from its parts"
        )

    async def _extract_part(
        self,
        model: Model,
        part: OutputSource,
        instructions: str,
        word_limit: int,
        bill: CallBill,
        part_label: str = "",
    ) -> str:
        request = extraction_request(self._prompt, part, instructions, word_limit, part_label)
        return await complete(model, request, bill)


def _input_capacity(model: Model) -> int:
    """Return the largest output, in tokens, that fits one request to a model."""
    return int(model.info.window * _WINDOW_SHARE) - model.info.reserve - _PROMPT_TOKENS


def _fallback_reason(first: Model, reason: OptionalText) -> TranslatableText:
    return join_sentences(_text("{model} couldn't write it.", model=first.info.label), reason)
