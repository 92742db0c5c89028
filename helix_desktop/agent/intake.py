"""Intake: turns model answers and tool results into events, with the contents they refer to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, TypeVarTuple

import msgspec

from helix_desktop.agent.ports import TokenCounter
from helix_desktop.context.intake.descriptions import describe_output, is_source, lines_before_part
from helix_desktop.context.intake.marker import SweepableCall, sweep_arguments
from helix_desktop.context.intake.output_forms import (
    MIN_BUDGET,
    insert_names,
    names_in_output,
    names_tokens,
    preview_output,
)
from helix_desktop.context.intake.short_message import shorten_message
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.rewrites.sweep_plans import sweep_now
from helix_desktop.context.window.used_tokens import measure_next_request
from helix_desktop.context.window.window import PromptFrame, output_marker
from helix_desktop.domain.builtin_tools import MATCHES_HEADER
from helix_desktop.domain.cost import step_cost, step_unpriced
from helix_desktop.domain.digest import (
    CACHE_TOOLS,
    HEX_DIGITS,
    SHORT_DIGITS,
    bare_marker,
    digest_of,
    is_digest_prefix,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ShortText, ToolAnswered
from helix_desktop.domain.files.file_use import call_target, mcp_call_target, tool_kind
from helix_desktop.domain.identifiers import MAX_IDENTIFIED_CHARS, argument_text, identifiers_in
from helix_desktop.domain.image import Image, identify_image
from helix_desktop.domain.messages import ModelInfo, ModelResponse, ToolCall
from helix_desktop.domain.store import Content
from helix_desktop.domain.text_format import first_line
from helix_desktop.domain.tools import ToolResult

_THREAD_THRESHOLD = 256 * 1024  # bytes; more than that is read in a thread, so that the UI never blocks
_REPLACEMENT_CHAR = "\ufffd"  # what undecodable bytes become in a text
_NAMES_THREAD_THRESHOLD = 32 * 1024  # characters; reading names takes about 0.1 µs each
_MAX_IDENTIFIERS = 300  # of one output
_NAMES_SHARE = 0.75  # of a preview's tokens
_LOG_NAMES_SHARE = 0.3  # the same of a log or a search, whose lines say more
_SOURCE_FACTOR = 1.4  # a preview of source has more for its lines: what they say, not only what they define
_Args = TypeVarTuple("_Args")
_Result = TypeVar("_Result")
_MAX_TRIES = 5  # attempts to make a preview small enough


class ReceivedOutput(msgspec.Struct, frozen=True):
    """A received output: its event in full form, its content, its text and the tokens of the whole text.

    `image_contents` are the contents of the images that came with its text. `keep_whole`: the agent asked for
    all of it.
    """

    event: ToolAnswered
    content: Content | None
    text: str
    full_tokens: int
    image_contents: tuple[Content, ...] = ()
    keep_whole: bool = False

    @property
    def contents(self) -> list[Content]:
        return [*([self.content] if self.content is not None else []), *self.image_contents]


class PreviewInput(msgspec.Struct, frozen=True):
    """What a preview has to know of its text: the tool, the stored content and what its marker costs.

    `lines_before` are the lines of the content in front of the text.
    """

    name: str
    digest: str
    marker_tokens: int
    exit_code: int | None = None
    handle_digits: int = HEX_DIGITS
    lines_before: int = 0


async def _off_loop(is_large: bool, work: Callable[[*_Args], _Result], *args: *_Args) -> _Result:
    """Return what a function returns; for something large it is called in a thread."""
    return await asyncio.to_thread(work, *args) if is_large else work(*args)


class Intake:
    """Builds events from answers and results. Store each content with the event that names it."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    async def shorten(
        self, text: str, digits: int = HEX_DIGITS, tokens: int | None = None
    ) -> tuple[ShortText | None, list[Content]]:
        """Return a user's message in its short form, and the contents behind its markers.

        `tokens` are those of the message, if they are counted already. None where a short form saves nothing.
        """
        short = await _off_loop(len(text) > _NAMES_THREAD_THRESHOLD, shorten_message, text, digits)
        if short is None:
            return None, []
        uncounted = [text] if tokens is None else []
        short_tokens, *counts = await self._counter.count(
            [short.text, *(stored.text for stored in short.stored), *uncounted]
        )
        whole_tokens = counts[-1] if tokens is None else tokens
        if short_tokens >= whole_tokens:
            return None, []
        contents = [
            Content(stored.digest, stored.data, stored.tool, "", stored.about, count)
            for stored, count in zip(short.stored, counts, strict=False)
        ]
        digests = tuple(stored.digest for stored in short.stored)
        sizes = tuple(len(stored.data) for stored in short.stored)
        return ShortText(short.text, whole_tokens - short_tokens, digests, sizes, short.is_cut), contents

    async def from_response(
        self,
        response: ModelResponse,
        info: ModelInfo,
        estimate: int,
        duration_ms: int = 0,
        digits: int = HEX_DIGITS,
    ) -> tuple[AssistantSpoke, list[Content]]:
        """Return the answer's event and its large arguments as contents.

        `estimate` is the request's size in tokens, `duration_ms` how long the call took; markers name digests
        by their first `digits`.
        """
        swept_calls = [
            swept for call in response.calls if (swept := sweep_arguments(call, digits)) is not None
        ]
        texts = [response.text, *(call.name + call.arguments for call in response.calls)]
        names = {call.id: call.name for call in response.calls}
        short_texts = [names[swept.call.call_id] + swept.call.arguments for swept in swept_calls]
        counts = await self._counter.count([*texts, *short_texts])
        tokens = sum(counts[: len(texts)])
        short_counts = counts[len(texts) :]
        full_counts = {call.id: count for call, count in zip(response.calls, counts[1:], strict=False)}
        saved = sum(
            full_counts[swept.call.call_id] - short
            for swept, short in zip(swept_calls, short_counts, strict=True)
        )
        event = AssistantSpoke(
            text=response.text,
            model=info.label,
            tokens=tokens,
            calls=response.calls,
            reasoning=response.reasoning,
            usage=response.usage,
            estimate=estimate,
            stop=response.stop,
            duration_ms=duration_ms,
            demo=info.demo,
            verbatim=response.verbatim,
            short=tuple(swept.call for swept in swept_calls),
            short_tokens=tokens - saved if swept_calls else 0,
            window=info.window,
            cache_lifetime_s=response.cache_lifetime_s,
            identifiers=await self._call_identifiers(response),
            effort=response.effort,
            bound=response.bound,
        )
        event = msgspec.structs.replace(event, cost=step_cost(info, event), unpriced=step_unpriced(info))
        return event, await self._argument_contents(response.calls, swept_calls)

    async def _call_identifiers(self, response: ModelResponse) -> tuple[str, ...]:
        text = "\n".join([*(argument_text(call.arguments) for call in response.calls), response.text])
        names = await _off_loop(len(text) > _NAMES_THREAD_THRESHOLD, _bounded_identifiers, text)
        names_contents = any(call.name in CACHE_TOOLS for call in response.calls)
        return _without_handles(names) if names_contents else names

    async def _argument_contents(
        self, calls: Sequence[ToolCall], shortened: Sequence[SweepableCall]
    ) -> list[Content]:
        calls_by_id = {call.id: call for call in calls}
        texts = [text for swept in shortened for text in swept.texts]
        counts = iter(await self._counter.count(texts))
        return [
            Content(
                digest,
                text.encode("utf-8", "surrogatepass"),
                calls_by_id[swept.call.call_id].name,
                call_target(calls_by_id[swept.call.call_id].arguments),
                about,
                next(counts),
                "argument",
            )
            for swept in shortened
            for digest, text, about in zip(swept.call.digests, swept.texts, swept.about, strict=True)
        ]

    async def from_tool_result(
        self, call: ToolCall, result: ToolResult, duration_ms: int = 0, digits: int = HEX_DIGITS
    ) -> ReceivedOutput:
        """Return a tool's result as received: its whole text, the tool's own short form, or its image.

        Its marker names its digest by the first `digits`.
        """
        extra_images = _extra_images(result)
        if extra_images:
            # A marker line for each image, so that its text always refers to them.
            lines = "\n".join(image.marker.replace("Image left out", "Image", 1) for image in extra_images)
            result = msgspec.structs.replace(result, content=result.content + f"\n\n{lines}".encode())
        is_large = len(result.content) > _THREAD_THRESHOLD
        text, digest, exact = await _off_loop(is_large, _decode_result, result)
        window_text = result.model_text or text
        about, identifiers = await self._read_names(call.name, result, text)
        read_target = mcp_call_target if call.is_mcp else call_target
        output = ToolAnswered(
            call_id=call.id,
            name=call.name,
            text=window_text,
            digest=digest,
            size=_shown_size(result, text),
            tokens=0,
            marker_tokens=0,
            target=result.target or read_target(call.arguments),
            first_line=first_line(text),
            ok=result.ok,
            exit_code=result.exit_code,
            duration_ms=duration_ms,
            whole=window_text == text and exact and not result.recalled,
            recalled=result.recalled,
            subagent=result.subagent,
            delegated=result.delegated,
            images=(*([result.image] if result.image else []), *extra_images),
            outcome="stopped" if result.stopped else "ran",
            files=result.files,
            reply=result.reply,
            auto_run=result.auto_run,
            about=result.about or about,
            handle_digits=digits,
            identifiers=identifiers,
        )
        texts = (
            [window_text, output_marker(output)]
            if window_text == text
            else [window_text, output_marker(output), text]
        )
        counts = await self._counter.count(texts)
        full_tokens = counts[0] if window_text == text else counts[2]
        image_tokens = sum(image.tokens for image in output.images)
        output = msgspec.structs.replace(output, tokens=counts[0] + image_tokens, marker_tokens=counts[1])
        if window_text != text and not result.recalled and not result.image:
            output = msgspec.structs.replace(output, full_tokens=full_tokens + image_tokens)
        content = None
        if not result.recalled:
            size = image_tokens if result.image else full_tokens
            content = Content(digest, result.content, call.name, output.target, about, size)
        images = tuple(
            Content(image.digest, data, output.name, output.target, image.summary, image.tokens)
            for image, data in zip(extra_images, result.image_data, strict=True)
        )
        return ReceivedOutput(output, content, text, full_tokens, images, result.keep_whole)

    async def _read_names(self, tool: str, result: ToolResult, text: str) -> tuple[str, tuple[str, ...]]:
        """Return what an output holds in a few words, and its identifiers; of a recall what it shows."""
        exit_code = result.exit_code
        if result.recalled and result.model_text:
            text = result.model_text.partition("\n")[2]  # below its heading
        is_large = len(text) > _NAMES_THREAD_THRESHOLD
        return await _off_loop(is_large, _read_names, tool, text, exit_code)

    def needs_choice(
        self, received: ReceivedOutput, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame
    ) -> bool:
        """Return True if an output is so large that a part may be enough; not if all of it was asked for."""
        output = received.event
        if output.recalled or output.name in CACHE_TOOLS or (output.images and not received.image_contents):
            return False
        if not policy.is_large(output.tokens, frame.info.window):
            return False
        return not (received.keep_whole and _fits(output, transcript, policy, frame))

    async def as_preview(self, received: ReceivedOutput, policy: ContextPolicy) -> ToolAnswered:
        """Return the output as a preview of about the policy's tokens, ending with its marker."""
        preview_text, tokens = await self.preview(received.text, received.event, policy.preview_tokens)
        image_tokens = sum(image.tokens for image in received.event.images)
        return msgspec.structs.replace(
            received.event,
            text=preview_text,
            tokens=tokens + image_tokens,
            whole=False,
            form="preview",
            full_tokens=received.full_tokens + image_tokens,
        )

    async def preview(self, text: str, output: ToolAnswered, max_tokens: int) -> tuple[str, int]:
        """Return a preview of an output's whole text in at most `max_tokens`, and its tokens."""
        previewed = PreviewInput(
            output.name, output.digest, output.marker_tokens, output.exit_code, output.handle_digits
        )
        return await self.preview_content(text, previewed, max_tokens)

    async def preview_content(self, text: str, content: PreviewInput, max_tokens: int) -> tuple[str, int]:
        max_tokens = int(max_tokens * (_SOURCE_FACTOR if is_source(content.name, text) else 1))
        budget = max_tokens
        preview_text = ""
        tokens = 0
        for _ in range(
            _MAX_TRIES
        ):  # a text denser than average is shortened again, in proportion; the marker stays
            is_large = len(text) > _NAMES_THREAD_THRESHOLD
            preview_text = await _off_loop(is_large, _preview, text, content, budget)
            (tokens,) = await self._counter.count([preview_text])
            if tokens <= max_tokens or budget <= MIN_BUDGET:
                break
            body_tokens = max(1, tokens - content.marker_tokens)
            budget = max(
                MIN_BUDGET, budget * max(1, max_tokens - content.marker_tokens) * 9 // (body_tokens * 10)
            )
        return preview_text, tokens


def _fits(output: ToolAnswered, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> bool:
    """Return True if there is room for all of an output once older ones have left."""
    gauge = measure_next_request(transcript, policy, frame)
    older = sweep_now(transcript, policy, 1)
    added = output.tokens + FRAMING_TOKENS - (older.saved if older is not None else 0)
    return gauge.used + added * gauge.ratio <= gauge.limit


def _read_names(tool: str, text: str, exit_code: int | None) -> tuple[str, tuple[str, ...]]:
    names = names_in_output(text, _MAX_IDENTIFIERS)
    names_versions = tool in CACHE_TOOLS or tool_kind(tool) in ("write", "edit")
    return describe_output(tool, text, exit_code), _without_handles(names) if names_versions else names


def _bounded_identifiers(text: str) -> tuple[str, ...]:
    return identifiers_in(text[:MAX_IDENTIFIED_CHARS])[:_MAX_IDENTIFIERS]


def _without_handles(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names but for digests by which tools name contents: nobody looks for these by name."""
    lengths = (SHORT_DIGITS, HEX_DIGITS)
    return tuple(name for name in names if len(name) not in lengths or not is_digest_prefix(name))


def _shown_size(result: ToolResult, text: str) -> int:
    """Return the bytes of an output; of a recalled one where a part is shown, those of that form."""
    is_part = result.recalled and not result.image and not result.model_text.endswith(text)
    return len(result.model_text.encode("utf-8", "surrogatepass") if is_part else result.content)


def _preview(text: str, content: PreviewInput, budget: int) -> str:
    """Return head, errors or definitions, and tail of a text, the names in what is left out, and the marker.

    What the names leave of their share the lines take.
    """
    is_log = tool_kind(content.name) == "command" or MATCHES_HEADER.match(text) is not None
    share = _LOG_NAMES_SHARE if is_log else _NAMES_SHARE
    names_budget = int(budget * (share / _SOURCE_FACTOR if is_source(content.name, text) else share))
    previewed = _lines_and_names(text, content, budget - names_budget, names_budget)
    spare = names_budget - names_tokens(previewed)
    if previewed == text or spare <= names_budget // 2:
        return previewed
    return _lines_and_names(text, content, budget - names_budget + spare, names_budget - spare)


def _lines_and_names(text: str, content: PreviewInput, lines_budget: int, names_budget: int) -> str:
    preview = preview_output(
        text,
        content.digest,
        lines_budget,
        content.exit_code,
        content.handle_digits,
        content.lines_before or lines_before_part(content.name, text),
        is_source(content.name, text),
    )
    return preview if preview == text else insert_names(preview, text, names_budget)


async def decode_text(data: bytes, digest: str) -> str:
    """Return an output's bytes as text; if that is lossy, with a marker for the exact bytes."""
    text, _ = await _off_loop(len(data) > _THREAD_THRESHOLD, decode_output, data, digest)
    return text


def decode_output(data: bytes, digest: str) -> tuple[str, bool]:
    """Return the full form of these bytes, and whether the text is exact."""
    text = data.decode("utf-8", "replace")
    if _REPLACEMENT_CHAR not in text or text.encode() == data:
        return text, True
    return f"{text}\n[Some bytes are not UTF-8 text] {bare_marker(digest)} the bytes as they were", False


def _extra_images(result: ToolResult) -> tuple[Image, ...]:
    """Return the images that came with a text. Raises ValueError for bytes that are not an image."""
    images = tuple(identify_image(data, digest_of(data)) for data in result.image_data)
    if None in images:
        raise ValueError("a picture beside an output is no image")
    return tuple(image for image in images if image is not None)


def _decode_result(result: ToolResult) -> tuple[str, str, bool]:
    """Return an output's full form (for an image, its description), its digest, and True if it is exact."""
    if result.image:
        return result.model_text, result.image.digest, False
    digest = result.recalled or digest_of(result.content)
    text, exact = decode_output(result.content, digest)
    return text, digest, exact
