"""Find and identify servers that run models on this machine, with their models' actual windows.

Servers are probed only on request. Probes are small, carry no key, and follow no redirect.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from helix_desktop.domain.choices import EffortLevel
from helix_desktop.domain.model_spec import LocalModel, LocalServer, ModelSpec, ServerKind
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.providers.http import HttpClient, HttpError
from helix_desktop.providers.model_list import parse_model_list

text = TextContext("Providers")

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
        self._http, self._root = http, root
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
    able, senses = _table(props.get("chat_template_caps")), _table(props.get("modalities"))
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
    loaded, max_window = _limit(raw.get("loaded_context_length")), _limit(raw.get("max_context_length"))
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
    model_info = _table(details.get("model_info"))
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


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
