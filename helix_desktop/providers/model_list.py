"""The models of a server with their windows, limits and prices; and servers found on this machine.

Servers on this machine are probed only on request. Probes are small, carry no key, and follow no redirect.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.domain.choices import EffortLevel, sort_levels
from helix_desktop.domain.dialects import DIALECTS
from helix_desktop.domain.errors import InvalidModelResponse, ModelError
from helix_desktop.domain.model_spec import LocalModel, LocalServer, ModelSpec, ServerKind
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.providers.dialect import get_object
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient, HttpError
from helix_desktop.providers.retry import TransientError
from helix_desktop.providers.server_errors import body_excerpt, error_for_status, network_error

text = TextContext("Providers")

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
    top = get_object(model, "top_provider")
    places = (top, model)
    pricing = get_object(model, "pricing")
    price_in = _price(pricing, "prompt")
    price_out = _price(pricing, "completion")
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
    able = get_object(model, "capabilities")
    return able.get("completion_chat") is not False and str(model.get("type")).lower() not in _NON_CHAT_TYPES


def _tokens(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> int:
    limits = (_limit(place.get(name)) for place in places for name in names)
    return next((limit for limit in limits if 0 < limit <= _MAX_LIMIT), 0)


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
    able = get_object(get_object(model, "capabilities"), "effort")
    listed = get_object(model, "reasoning").get("supported_efforts")
    return sort_levels(
        [
            *(name for name in able if get_object(able, name).get("supported") is True),
            *(listed if isinstance(listed, list) else ()),
        ]
    )


def _capability(model: Mapping[str, Any], flag: str, listed_in: str, listed_as: str) -> bool | None:
    """Return a capability from a flag of its own, or from a list; None if neither is there."""
    able = get_object(model, "capabilities").get(flag)
    if isinstance(able, bool):
        return able
    for place in (model, get_object(model, "architecture")):
        listed = place.get(listed_in)
        if isinstance(listed, list):
            return listed_as in listed
    return None


async def list_models(endpoint: Endpoint) -> dict[str, ModelSpec]:
    """Return the chat models of a server with their reported specs, by name; without retries.

    Raises ModelUnreachable, ModelRequestRejected, InvalidModelResponse.
    """
    try:
        async with endpoint.send("GET", DIALECTS[endpoint.dialect].models_path) as reply:
            status = reply.status
            body = await reply.text()
            headers = reply.headers
    except HttpError as fault:
        raise as_model_error(network_error(endpoint, fault)) from fault
    if status != HTTPStatus.OK:
        raise as_model_error(error_for_status(endpoint, status, body, headers))
    try:
        return parse_model_list(body)
    except ValueError as fault:
        raise InvalidModelResponse(
            text("{provider} didn't return a list of models.", provider=endpoint.provider),
            endpoint.redact_text(body_excerpt(body)),
            text("Check the base URL {url}: most end in /v1.", url=endpoint.base_url),
        ) from fault


def as_model_error(error: ModelError | TransientError) -> ModelError:
    return error.error if isinstance(error, TransientError) else error


DEFAULT_PORTS = (11434, 1234, 8080, 8000)
"""Where Ollama, LM Studio, llama.cpp and vLLM listen by default."""

DEFAULT_WINDOW = 4_096
"""The window in tokens that Ollama (below 24 GB of graphics memory) and LM Studio use by default."""

_MAX_MODELS = 60
_OLLAMA_EFFORTS: tuple[EffortLevel, ...] = ("none", "low", "medium", "high")
"""What Ollama takes as `reasoning_effort`: 'must be "high", "medium", "low", or "none"'."""
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{3,9})\s*$", re.MULTILINE)


async def find_servers(http: HttpClient, ports: Sequence[int] = DEFAULT_PORTS) -> tuple[LocalServer, ...]:
    """Return the servers that answer on these local ports, in the order of the ports."""
    servers = await asyncio.gather(*(identify(http, f"http://127.0.0.1:{port}") for port in ports))
    return tuple(server for server in servers if server is not None)


async def identify(http: HttpClient, root: str) -> LocalServer | None:
    """Identify the server at an address (without /v1) by its answers; None if none there lists models."""
    probe = _Probe(http, root)
    kinds: tuple[tuple[ServerKind, Callable[[_Probe], Awaitable[tuple[LocalModel, ...] | None]]], ...] = (
        ("llama.cpp", _llama_cpp),
        ("lm-studio", _lm_studio),
        ("ollama", _ollama),
        ("vllm", _vllm),
        ("other", _other),
    )
    for kind, models_of in kinds:
        models = await models_of(probe)
        if probe.is_unreachable:
            return None
        if models is not None:
            return LocalServer(kind, f"{root}/v1", models[:_MAX_MODELS])
    return None


class _Probe:
    """A client that probes one server; `is_unreachable` is set once it cannot be reached at all."""

    def __init__(self, http: HttpClient, root: str) -> None:
        self._http = http
        self._root = root
        self.is_unreachable = False

    async def get_text(self, path: str, body: Mapping[str, Any] | None = None) -> str:
        """Return the body of the answer; empty if the server refuses or is unreachable."""
        if self.is_unreachable:
            return ""
        sent = msgspec.json.encode(body) if body is not None else None
        headers = {"content-type": "application/json"} if sent else None
        try:
            async with self._http.send("POST" if sent else "GET", self._root + path, headers, sent) as reply:
                return await reply.text() if reply.status == HTTPStatus.OK else ""
        except HttpError:
            self.is_unreachable = True
            return ""

    async def get_json(self, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the JSON object of the answer; empty if it is none."""
        try:
            value = msgspec.json.decode(await self.get_text(path, body))
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    async def list_models(self) -> dict[str, ModelSpec]:
        """Return the models of its OpenAI-style list; empty if there is none."""
        try:
            return parse_model_list(await self.get_text("/v1/models"))
        except ValueError:
            return {}


async def _llama_cpp(probe: _Probe) -> tuple[LocalModel, ...] | None:
    props = await probe.get_json("/props")
    settings = props.get("default_generation_settings")
    if not isinstance(settings, dict):
        return None
    slots = _limit(props.get("total_slots"))
    able = get_object(props, "chat_template_caps")
    senses = get_object(props, "modalities")
    figures = ModelSpec(
        window=_limit(settings.get("n_ctx")),
        tools=_flag(able.get("supports_tool_calls")),
        images=_flag(senses.get("vision")),
    )
    source = (
        text("llama.cpp: started with this n_ctx for each of its {slots} slots", slots=slots)
        if slots > 1
        else text("llama.cpp: started with this n_ctx")
    )
    return tuple(LocalModel(name, figures, source, True) for name in await probe.list_models())


async def _lm_studio(probe: _Probe) -> tuple[LocalModel, ...] | None:
    listed = await probe.get_json("/api/v0/models")
    models = _tables(listed.get("data"))
    if not models or not all("max_context_length" in model and "state" in model for model in models):
        return None
    return tuple(_lm_studio_model(model) for model in models if model.get("type") in {"llm", "vlm"})


def _lm_studio_model(raw: Mapping[str, Any]) -> LocalModel:
    loaded = _limit(raw.get("loaded_context_length"))
    max_window = _limit(raw.get("max_context_length"))
    abilities = raw.get("capabilities")
    figures = ModelSpec(
        window=loaded or min(DEFAULT_WINDOW, max_window or DEFAULT_WINDOW),
        tools="tool_use" in abilities if isinstance(abilities, list) else None,
        images=raw.get("type") == "vlm",
    )
    return LocalModel(
        str(raw.get("id")), figures, _window_source("LM Studio", bool(loaded), max_window), bool(loaded)
    )


async def _ollama(probe: _Probe) -> tuple[LocalModel, ...] | None:
    if not isinstance((await probe.get_json("/api/version")).get("version"), str):
        return None
    tags = await probe.get_json("/api/tags")
    if not isinstance(tags.get("models"), list):
        return None
    running = _tables((await probe.get_json("/api/ps")).get("models"))
    loaded = {str(entry.get("name")): _limit(entry.get("context_length")) for entry in running}
    names = [str(entry.get("name")) for entry in _tables(tags["models"])][:_MAX_MODELS]
    models = [await _ollama_model(probe, name, loaded.get(name, 0)) for name in names]
    return tuple(model for model in models if model is not None)


async def _ollama_model(probe: _Probe, name: str, loaded_window: int) -> LocalModel | None:
    details = await probe.get_json("/api/show", {"model": name})
    abilities = details.get("capabilities")
    able = abilities if isinstance(abilities, list) else None
    if able is not None and "completion" not in able:
        return None
    model_info = get_object(details, "model_info")
    max_window = next(
        (_limit(value) for key, value in model_info.items() if key.endswith(".context_length")), 0
    )
    own = _NUM_CTX.search(str(details.get("parameters") or ""))
    configured = int(own.group(1)) if own else 0
    window = loaded_window or configured or DEFAULT_WINDOW
    source = _window_source("Ollama", bool(loaded_window), max_window)
    if configured and not loaded_window:
        source = text("Ollama: num_ctx in the model file")
    figures = ModelSpec(
        window=min(window, max_window or window),
        tools="tools" in able if able is not None else None,
        images="vision" in able if able is not None else None,
        reasoning="thinking" in able if able is not None else None,
        efforts=_OLLAMA_EFFORTS if "thinking" in (able or ()) else (),
    )
    return LocalModel(name, figures, source, bool(loaded_window))


async def _vllm(probe: _Probe) -> tuple[LocalModel, ...] | None:
    listed = _tables((await probe.get_json("/v1/models")).get("data"))
    if not any(entry.get("owned_by") == "vllm" for entry in listed):
        return None
    return await _listed_models(probe, text("vLLM: started with this max_model_len"))


async def _other(probe: _Probe) -> tuple[LocalModel, ...] | None:
    listed = await probe.get_json("/v1/models")
    if not isinstance(listed.get("data"), list):
        return None
    return await _listed_models(probe, text("From the server's list of models"))


async def _listed_models(probe: _Probe, source: TranslatableText) -> tuple[LocalModel, ...]:
    return tuple(LocalModel(name, spec, source) for name, spec in (await probe.list_models()).items())


def _window_source(title: str, is_loaded: bool, max_window: int) -> TranslatableText:
    if is_loaded:
        return text("{server}: loaded with this size", server=title)
    if max_window <= DEFAULT_WINDOW:
        return text("{server}'s smallest default: test the model to detect the size", server=title)
    return text(
        "{server}'s smallest default, though the model supports {tokens}: test the model to detect the size",
        server=title,
        tokens=max_window,
    )


def _limit(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
