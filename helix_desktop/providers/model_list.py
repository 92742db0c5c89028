"""List the models of a server, with the specs that it reports: windows, limits, prices, capabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.domain.choices import EffortLevel, sort_levels
from helix_desktop.domain.errors import InvalidModelResponse, ModelError
from helix_desktop.domain.model_spec import DialectName, ModelSpec
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.error_classification import body_excerpt
from helix_desktop.providers.http import HttpError
from helix_desktop.providers.retry import TransientError

_WINDOW = (
    "context_length",  # OpenRouter, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral, LM Studio
    "max_model_len",  # vLLM
    "max_input_tokens",  # Anthropic
)
_OUTPUT = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_MAX_LIMIT = 100_000_000  # tokens; greater values are no limit
_PER_MILLION = 1_000_000
_OTHER_PRICES = ("request", "image", "internal_reasoning")  # of what is no text: OpenRouter
_NON_CHAT_TYPES = frozenset(
    {"embedding", "embeddings", "rerank", "moderation", "image", "audio", "transcribe"}
)


def parse_model_list(listing: str) -> dict[str, ModelSpec]:
    """Parse a list in the format of OpenAI's /models; return the spec of each chat model by name.

    Raises ValueError for what is not a list.
    """
    try:
        model_list = msgspec.json.decode(listing, type=_ModelList)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    models = [model for model in model_list.data or () if model.get("id") and _is_chat_model(model)]
    return {
        str(model["id"]): parse_model(model) for model in sorted(models, key=lambda model: str(model["id"]))
    }


class _ModelList(msgspec.Struct):
    data: list[dict[str, Any]] | None


def parse_model(model: Mapping[str, Any]) -> ModelSpec:
    """Parse one entry of a list."""
    top = _table(model.get("top_provider"))
    places = (top, model)
    pricing = _table(model.get("pricing"))
    price_in, price_out = _price(pricing, "prompt"), _price(pricing, "completion")
    return ModelSpec(
        window=_tokens(places, _WINDOW),
        output=_tokens(places, _OUTPUT),
        price_in=price_in if price_out else 0.0,
        price_out=price_out if price_in else 0.0,
        price_cached=_price(pricing, "input_cache_read") if price_in and price_out else 0.0,
        price_cache_write=_price(pricing, "input_cache_write") if price_in and price_out else 0.0,
        tools=_capability(model, "function_calling", "supported_parameters", "tools"),
        images=_capability(model, "vision", "input_modalities", "image"),
        reasoning=_capability(model, "reasoning", "supported_parameters", "reasoning"),
        efforts=_efforts(model),
        free=_is_free(pricing),
    )


def _is_chat_model(model: Mapping[str, Any]) -> bool:
    """Return True if a model answers messages; servers list embedding models too."""
    able = _table(model.get("capabilities"))
    return able.get("completion_chat") is not False and str(model.get("type")).lower() not in _NON_CHAT_TYPES


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _tokens(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> int:
    return next((int(value) for value in _values(places, names) if _is_limit(value)), 0)


def _values(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> Iterator[Any]:
    for place in places:
        for name in names:
            yield place.get(name)


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_LIMIT


def _price(pricing: Mapping[str, Any], name: str) -> float:
    """Return US dollars per million tokens; such servers report them per token, as text."""
    try:
        price = float(pricing.get(name) or 0)
    except (TypeError, ValueError):
        return 0.0
    return round(price * _PER_MILLION, 6) if 0 < price < 1 else 0.0


def _is_free(pricing: Mapping[str, Any]) -> bool:
    """Return True if a server reports that text costs nothing, and no price of a request or an image."""
    is_text_free = _is_zero(pricing.get("prompt")) and _is_zero(pricing.get("completion"))
    return is_text_free and all(not pricing.get(name) or _is_zero(pricing[name]) for name in _OTHER_PRICES)


def _is_zero(price: Any) -> bool:
    """Return True if a server reports that something costs nothing, not if it leaves the price out."""
    try:
        return price is not None and float(price) == 0
    except (TypeError, ValueError):
        return False


def _efforts(model: Mapping[str, Any]) -> tuple[EffortLevel, ...]:
    """Return the levels of reasoning, as Anthropic and OpenRouter list them."""
    able = _table(_table(model.get("capabilities")).get("effort"))
    listed = _table(model.get("reasoning")).get("supported_efforts")
    return sort_levels(
        [
            *(name for name, level in able.items() if _table(level).get("supported") is True),
            *(listed if isinstance(listed, list) else ()),
        ]
    )


def _capability(model: Mapping[str, Any], flag: str, listed_in: str, listed_as: str) -> bool | None:
    """Return a capability from a flag of its own, or from a list; None if neither is there."""
    able = _table(model.get("capabilities")).get(flag)
    if isinstance(able, bool):
        return able
    for place in (model, _table(model.get("architecture"))):
        listed = place.get(listed_in)
        if isinstance(listed, list):
            return listed_as in listed
    return None


text = TextContext("Providers")

LIST_PATHS: Mapping[DialectName, str] = {
    "openai-chat": "/models",
    "openai-responses": "/models",
    "anthropic": "/models?limit=1000",
}
"""Where each dialect lists its models; Anthropic's pages have 20 entries by default, at most 1,000."""


async def list_models(endpoint: Endpoint) -> dict[str, ModelSpec]:
    """Return the chat models of a server with their reported specs, by name; without retries.

    Raises ModelUnreachable, ModelRequestRejected, InvalidModelResponse.
    """
    try:
        async with endpoint.send("GET", LIST_PATHS[endpoint.dialect]) as reply:
            status, body, headers = reply.status, await reply.text(), reply.headers
    except HttpError as fault:
        raise as_model_error(endpoint.network_error(fault)) from fault
    if status != HTTPStatus.OK:
        raise as_model_error(endpoint.error_for_status(status, body, headers))
    try:
        return parse_model_list(body)
    except ValueError as fault:
        raise InvalidModelResponse(
            text("{provider} didn't return a list of models.", provider=endpoint.provider),
            endpoint.redact_text(body_excerpt(body)),
            text("Check the base URL {url}: most end in /v1.", url=endpoint.base_url),
        ) from fault


def as_model_error(error: ModelError | TransientError) -> ModelError:
    """Return the final error of a failure that is not retried."""
    return error.error if isinstance(error, TransientError) else error
