"""Extracts of large outputs, which models write; and all of an output, sent where a part of it stands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.intake import decode_text
from helix_desktop.agent.model_roles import CallBill, RunSettingsSource, complete
from helix_desktop.agent.ports import Model, Store, TokenCounter
from helix_desktop.agent.session import Session
from helix_desktop.context.intake.output_forms import (
    MAX_CHUNKS,
    OutputSource,
    extract_text,
    extraction_request,
    max_extract_tokens,
    max_extract_words,
    split_output,
    truncate_output,
)
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.window.window import output_text
from helix_desktop.domain.errors import ContextWindowExceeded, ModelError, OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import FormChosen
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
        self._counter = counter
        self._prompt = prompt
        self._settings = settings

    async def extract(
        self,
        source: OutputSource,
        instructions: str,
        bill: CallBill,
        is_slow: Callable[[Model], bool],
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
            "The part was too long: {tokens} tokens; fewer than {limit} were allowed.",
            tokens=tokens,
            limit=cap,
        )
        return Extract(text, tokens, model.info.label, "" if tokens < cap else too_long, fallback)

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
                    _text.plural(len(parts), "Chosen from %n piece.", "Chosen from %n pieces."),
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


class OutputForms:
    def __init__(self, session: Session, store: Store, rewriter: WindowRewriter) -> None:
        self._session = session
        self._store = store
        self._rewriter = rewriter

    async def send_all(self, seq: int) -> None:
        """Show all of the output recorded as `seq`, or of another message of which something is cached.

        That is what a call was given, or images. Raises OutputFormUnavailable if it can't be sent, StoreError
        if its bytes cannot be read.
        """
        if (cached := self._cached_message(seq)) is not None:
            await self._session.record_decided(lambda: (cached,) if self._cached_message(seq) else ())
            return
        item, output = self._output_in_window(seq)
        text = await decode_text(await self._store.get(output.digest), output.digest)
        tokens = await self._session.count_tokens(text)
        event = FormChosen(seq, "full", text, tokens)
        await self._session.record_decided(lambda: self._events_to_record(item, output, event))

    def _cached_message(self, seq: int) -> FormChosen | None:
        """Return what restores a message that is no output; None if nothing of it is cached."""
        transcript = self._session.transcript
        item = transcript.messages.item(seq)
        is_cached = item in transcript.window.entries() and seq in transcript.window.swept
        if item is None or isinstance(item.event, ToolAnswered) or not is_cached:
            return None
        return FormChosen(seq, "full", "", item.tokens - FRAMING_TOKENS)

    def _output_in_window(self, seq: int) -> tuple[LogItem, ToolAnswered]:
        """Return the output `seq` as it stands in the window. Raises OutputFormUnavailable."""
        item = self._session.transcript.messages.item(seq)
        if item is None or not isinstance(item.event, ToolAnswered) or not item.event.digest:
            raise OutputFormUnavailable(
                _text("This can't be sent as a whole."),
                _text("It isn't part of this session, or all of it is sent."),
            )
        if item.event.images:
            raise OutputFormUnavailable(
                _text("An image can't be sent again by itself."),
                fix=_text("Undo the caching that it was part of, in the timeline."),
            )
        if not any(entry in (item, PinnedCopy(item)) for entry in self._session.transcript.window.entries()):
            raise OutputFormUnavailable(
                _text("This output isn't in the context."),
                _text("It was compacted."),
                _text("Undo that, or pin the output first."),
            )
        return item, item.event

    def _events_to_record(
        self, item: LogItem, output: ToolAnswered, event: FormChosen
    ) -> tuple[FormChosen, ...]:
        """Return the event to record; empty if all of the output is sent already.

        Room for it the next request makes. Raises OutputFormUnavailable if the output has left the window, or
        no request has room for it.
        """
        self._output_in_window(item.seq)
        transcript = self._session.transcript
        if output_text(item, output, transcript) == event.text:
            return ()
        gauge = self._rewriter.gauge()
        frame = self._session.frame
        most = int(gauge.limit / gauge.ratio) - frame.fixed_tokens - transcript.opening_tokens
        if event.tokens + FRAMING_TOKENS > most:  # everything else would leave for it, then the output itself
            raise OutputFormUnavailable(
                _text("The output doesn't fit in the context window."),
                _text(
                    "It needs about {needed} tokens; the window has {most} for messages.",
                    needed=event.tokens,
                    most=max(0, most),
                ),
                _text("Recall lines of it into your message instead."),
            )
        return (event,)
