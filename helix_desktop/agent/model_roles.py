"""Models: which one does what in a workspace and the fallback order, wrappers, and single calls."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

import msgspec
from msgspec.structs import replace

from helix_desktop.agent.ports import Model, Store, TokenCounter, wire_body
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.cost import Spending, call_spending
from helix_desktop.domain.deferred_tools import unwrap_call, wrap_calls
from helix_desktop.domain.errors import InvalidModelResponse, ModelUnreachable, StoreError
from helix_desktop.domain.events.session import ModelRole
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RequestState,
    RetryScheduled,
    StreamItem,
    TextDelta,
    Usage,
)
from helix_desktop.domain.translatable_text import TextContext, verbatim
from helix_desktop.system.clock import ClockMs

log = logging.getLogger(__name__)
_text = TextContext("Agent")

_REMEMBERED_MS = 24 * 60 * 60 * 1_000


class SlowModel(msgspec.Struct, frozen=True):
    """A model that was not done within `deadline_s` at a time in milliseconds since 1970."""

    label: str
    deadline_s: int
    missed_at_ms: int


class SlowModels:
    """The models that missed the deadline for large outputs: as long as the app runs, and at most a day.

    One that missed a shorter deadline than the one that holds now is not slow.
    """

    def __init__(self, clock: ClockMs) -> None:
        self._clock = clock
        self._by_label: dict[str, SlowModel] = {}
        self._listeners: Listeners[[], None] = Listeners()

    def add(self, label: str, deadline_s: int) -> None:
        self._by_label[label] = SlowModel(label, deadline_s, self._clock())
        self._listeners.notify()

    def try_again(self, label: str) -> None:
        if self._by_label.pop(label, None) is not None:
            self._listeners.notify()

    def is_slow(self, label: str, deadline_s: int) -> bool:
        """Return True if a model is not to be asked with such a deadline."""
        model = self._by_label.get(label)
        return model is not None and self._is_recent(model) and deadline_s <= model.deadline_s

    @property
    def remembered(self) -> tuple[SlowModel, ...]:
        """The models that are remembered, the newest miss last."""
        recent = filter(self._is_recent, self._by_label.values())
        return tuple(sorted(recent, key=lambda model: model.missed_at_ms))

    def _is_recent(self, model: SlowModel) -> bool:
        return abs(self._clock() - model.missed_at_ms) < _REMEMBERED_MS  # the clock may have been set back

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._listeners.listen(listener)


class ModelWrapper:
    """A model whose requests `prepare` sees before the wrapped one gets them."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def wire_body(self, request: ModelRequest) -> bytes | None:
        return wire_body(self._model, request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Stream the model's answer. Raises ModelError, and what `prepare` raises."""
        async with aclosing(self._model.stream(await self.prepare(request))) as items:
            async for item in items:
                yield item

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        raise NotImplementedError


class ImageLoadingModel(ModelWrapper):
    def __init__(self, model: Model, store: Store) -> None:
        super().__init__(model)
        self._store = store

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        """Return the request with its images' bytes; for an unreadable one, its text marker has to do."""
        digests = {image.digest: image for message in request.messages for image in message.images}
        if not digests:
            return request
        image_data: dict[str, bytes] = {}
        for digest in digests:
            try:
                image_data[digest] = await self._store.get(digest)
            except StoreError as error:
                log.warning("An image is not sent: %s", error)
        return msgspec.structs.replace(request, image_data=image_data)


class DeferredToolsModel(ModelWrapper):
    """A model that calls deferred tools by `call_tool`; others see the calls of the tools themselves."""

    def wire_body(self, request: ModelRequest) -> bytes | None:
        return super().wire_body(wrap_calls(request))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        tools = frozenset(spec.name for spec in request.tools)
        async with aclosing(super().stream(request)) as items:
            async for item in items:
                if isinstance(item, ModelResponse) and item.calls:
                    yield replace(item, calls=tuple(unwrap_call(call, tools) for call in item.calls))
                else:
                    yield item

    async def prepare(self, request: ModelRequest) -> ModelRequest:
        return wrap_calls(request)


_MAX_ATTEMPTS = 4
_MAX_WAIT_S = 60.0


class CallMeter:
    """Adds up what the attempts of one call spent: as the provider reported it, else by our count.

    An attempt that was canceled or broke off counts once its server has the request, which it may bill.
    `input_tokens` are those of the request, as the model counts them; `cached_tokens` of these the provider
    should have in its cache.
    """

    def __init__(self, info: ModelInfo, input_tokens: int, cached_tokens: int = 0) -> None:
        self._info = info
        self.input_tokens = input_tokens
        self._cached_tokens = cached_tokens
        self._reported = Spending()
        self._unreported = list[str]()
        self._text = ""
        self._is_sent = False

    async def on_request_state(self, state: RequestState) -> None:
        """Begin an attempt, or forget one that the server refused."""
        self._text = ""
        self._is_sent = state == "sent"

    def add(self, item: StreamItem) -> None:
        match item:
            case TextDelta(text=text) | ReasoningDelta(text=text):
                self._text = self._text + text
                self._is_sent = True
            case RetryScheduled():
                self.end_attempt()
            case ModelResponse(usage=usage) if usage is not None and usage.input > 0:
                self._reported += call_spending(self._info, usage)
                self._text = ""
                self._is_sent = False
            case ModelResponse(text=text):
                self._text = text
                self._is_sent = True
                self.end_attempt()

    def end_attempt(self) -> None:
        """Count an attempt that no report came for, if one is open."""
        if self._is_sent:
            self._unreported.append(self._text)
        self._text = ""
        self._is_sent = False

    @property
    def needs_input_tokens(self) -> bool:
        """Whether some attempt counts by `input_tokens`, and these are not known."""
        return bool(self._unreported) and not self.input_tokens

    async def spent(self, counter: TokenCounter) -> Spending:
        spent = self._reported
        for output_tokens in await counter.count(self._unreported):
            usage = Usage(self.input_tokens, output_tokens, self._cached_tokens)
            spent += msgspec.structs.replace(call_spending(self._info, usage, estimated=True), cached=0)
        return spent


MayRetry = Callable[[RetryScheduled], bool]
"""Returns True if a call may be made again as scheduled, False to give up."""


def few_attempts(retry: RetryScheduled) -> bool:
    """Let a call be made again a few times, after short waits."""
    return retry.attempt <= _MAX_ATTEMPTS and retry.wait_s <= _MAX_WAIT_S


async def stream_with_retry_limit(
    model: Model,
    request: ModelRequest,
    meter: CallMeter | None = None,
    may_retry: MayRetry = few_attempts,
) -> AsyncGenerator[StreamItem, None]:
    """Stream an answer that background work can do without: give up once `may_retry` says no.

    The model thinks as much as is set for such work; in a request that begins as the conversation does, as
    much as there, or the provider would not find what it has stored. Raises ModelError.
    """
    if request.cache is None:
        effort = model.info.fit_effort(model.info.background_effort)
        request = msgspec.structs.replace(request, effort=effort)
    meter = meter or CallMeter(model.info, 0)
    request = msgspec.structs.replace(request, report_state=meter.on_request_state)
    try:
        async with aclosing(_stream_limited(model, request, may_retry)) as items:
            async for item in items:
                meter.add(item)
                yield item
    finally:
        meter.end_attempt()


async def _stream_limited(
    model: Model, request: ModelRequest, may_retry: MayRetry
) -> AsyncGenerator[StreamItem, None]:
    async with aclosing(model.stream(request)) as items:
        async for item in items:
            if isinstance(item, RetryScheduled) and not may_retry(item):
                raise ModelUnreachable(
                    _text("{model} couldn't answer.", model=model.info.label), verbatim(item.reason)
                )
            yield item


class CallBill:
    """Adds up what several calls spent, those too that failed or were canceled; `spent` is the total.

    `model` is the label of the model that was called last.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self.spent = Spending()
        self.model = ""

    async def add(self, meter: CallMeter, request: ModelRequest) -> None:
        if meter.needs_input_tokens:
            texts = [
                part
                for message in request.messages
                for part in (message.text, *(call.arguments for call in message.calls))
            ]
            meter.input_tokens = sum(await self._counter.count(texts))
        spent = await meter.spent(self._counter)  # other calls may be added meanwhile
        self.spent += spent


async def complete(
    model: Model, request: ModelRequest, bill: CallBill, tokens: int = 0, cached_tokens: int = 0
) -> str:
    """Return the model's answer, and add its cost to the bill.

    `tokens` are those of the request (0: not counted yet), of which the provider should have `cached_tokens`.
    Raises ModelError, also for an empty answer.
    """
    meter = CallMeter(model.info, tokens, cached_tokens)
    bill.model = model.info.label
    try:
        async with aclosing(stream_with_retry_limit(model, request, meter)) as items:
            async for item in items:
                if isinstance(item, ModelResponse) and item.text.strip():
                    return item.text
    finally:
        await bill.add(meter, request)
    raise InvalidModelResponse(
        _text("Empty response from the model."),
        _text("{model} sent no text.", model=model.info.label),
        _text("Try again, or choose another model."),
    )


class ModelRoles(msgspec.Struct, frozen=True):
    """The models of a workspace; a role that is not set falls back to the main model.

    `fast` extracts from large outputs, `summary` writes handovers and observations, `long` has the largest
    window and is used for a text that fits no other.
    """

    main: Model
    fast: Model | None = None
    summary: Model | None = None
    long: Model | None = None

    def with_main(self, main: Model) -> ModelRoles:
        return replace(self, main=main)

    def for_subagent(self, role: ModelRole) -> ModelRoles:
        """Return the roles with the model of `role` as the main one; unchanged if that role is not set."""
        return self.with_main({"main": None, "fast": self.fast, "long": self.long}[role] or self.main)

    def map_models(self, transform: Callable[[Model], Model]) -> ModelRoles:
        fast, summary, long = (
            transform(model) if model else None for model in (self.fast, self.summary, self.long)
        )
        return ModelRoles(transform(self.main), fast, summary, long)

    def is_only_long(self, model: Model, *others: Model | None) -> bool:
        """Return True for a model that is set for long texts, and neither the main one nor one of `others`.

        It gets no text that fits another: for that the user did not choose it.
        """
        labels = {other.info.label for other in (self.main, *others) if other is not None}
        return self.long is not None and model.info.label not in labels

    @property
    def choice_models(self) -> tuple[Model, ...]:
        """The models to ask for the forms of large outputs, in order, without duplicates."""
        return _distinct(self.main, self.fast)

    @property
    def extraction_models(self) -> tuple[Model, ...]:
        return _distinct(self.fast, self.main, self.long)

    @property
    def summary_models(self) -> tuple[Model, ...]:
        return _distinct(self.summary, self.main, self.long)


RunSettingsSource = Callable[[], tuple[ContextPolicy, PromptFrame, ModelRoles]]
"""Returns the settings a conversation runs under now; they may change between two steps."""


class ConfiguredModels(Protocol):
    """The models that the user has set up, by their label PROVIDER/NAME."""

    def is_configured(self, label: str) -> bool: ...

    async def roles(self, label: str) -> ModelRoles:
        """Return the roles under a main model. Raises HelixError if it is not set up."""
        ...


def _distinct(*models: Model | None) -> tuple[Model, ...]:
    by_label: dict[str, Model] = {}
    for model in models:
        if model is not None:
            by_label.setdefault(model.info.label, model)
    return tuple(by_label.values())
