"""Which model answers: from a label, the settings and the keys. Nothing is contacted here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from functools import cached_property
from urllib.parse import urlsplit

import msgspec

from helix_desktop.agent.ports import Model
from helix_desktop.config.catalogue import Catalogue
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.secrets import Secrets
from helix_desktop.config.settings import Provider, Settings, parse_label
from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.message import Answer, Message, ModelInfo, Request
from helix_desktop.providers.demo import DEMO_LABEL, DemoModel
from helix_desktop.providers.http import Http
from helix_desktop.providers.openai_chat import OpenAIChat, list_models

DEMO_PAUSE_S = 0.012  # between the demo model's pieces: about the pace of a fast model
_ADHOC = "server"
_TRIAL, _TRIAL_SHOWN = "Answer with the single word: ready", 80


class Models:
    """Makes models by label PROVIDER/NAME; an empty label is the person's default, at first the demo."""

    def __init__(
        self, settings: Callable[[], Settings], secrets: Secrets, pause_s: float = DEMO_PAUSE_S
    ) -> None:
        self._settings, self._secrets, self._pause_s = settings, secrets, pause_s
        self._http = Http()

    @cached_property
    def catalogue(self) -> Catalogue:
        """What is published of models."""
        return Catalogue.load(resources_dir() / "models.toml")

    async def named(self, label: str) -> Model:
        """The model of a label. Raises HelixError when there is no such provider."""
        wanted = label or self._settings().model or DEMO_LABEL
        if wanted == DEMO_LABEL:
            return DemoModel(resources_dir() / "demo", self._pause_s)
        provider, info = self._settings().find(wanted, self.catalogue)
        return self._behind(provider, info, await self._key_for(provider))

    async def adhoc(self, label: str, base_url: str, window: int) -> Model:
        """A model at an address that no settings name; `window` in tokens, 0 for the usual.

        A key that is kept for a provider goes to that provider's own address only. Elsewhere goes what the
        environment holds: somebody set it for this run. Raises HelixError when label or address are no use.
        """
        if not base_url:
            model = await self.named(label)
            if not window or model.info.demo:
                return model
            provider, info = self._settings().find(label or self._settings().model, self.catalogue)
            return self._behind(provider, _sized(info, window), await self._key_for(provider))
        if not _is_address(base_url):
            raise InputUnusable(f"{base_url!r} is no address.", fix="Give it as http://HOST:PORT/v1.")
        name, model_name = parse_label(label) if "/" in label else (_ADHOC, label)
        if not model_name:
            raise InputUnusable(
                "No model is named.", f"A server at {base_url} was.", "Add --model PROVIDER/NAME."
            )
        try:
            provider = Provider(name=name, base_url=base_url)
        except ValueError as error:
            raise InputUnusable(
                f"{label!r} names no model.", f"{error}.", "Write it as PROVIDER/NAME."
            ) from error
        info = _sized(provider.info(model_name, self.catalogue), window)
        return self._behind(provider, info, await self._key_for(provider))

    async def _key_for(self, provider: Provider) -> str:
        """The kept key at the provider's own saved address, else what the environment holds."""
        own = self._settings().provider(provider.name)
        if own is not None and _same_origin(own.base_url, provider.base_url):
            return (await self._secrets.get(provider.name)).value
        return self._secrets.from_environment(provider.name).value

    def _behind(self, provider: Provider, info: ModelInfo, key: str) -> Model:
        return OpenAIChat(info, provider.base_url, key, http=self._http)

    async def offered(self, provider: Provider, key: str = "") -> list[str]:
        """The models that a server has; `key` empty: the kept one, at its own address. Raises ModelError."""
        value = key or await self._key_for(provider)
        return list(await list_models(provider.name, provider.base_url, value, http=self._http))

    async def tried(self, provider: Provider, model: str, key: str = "") -> str:
        """The beginning of one short answer, streamed. Raises ModelError."""
        asked = self._behind(
            provider, provider.info(model, self.catalogue), key or await self._key_for(provider)
        )
        said = ""
        async with aclosing(asked.stream(Request((Message("user", _TRIAL),)))) as arrivals:
            async for arrival in arrivals:
                if isinstance(arrival, Answer):
                    said = arrival.text
        return " ".join(said.split())[:_TRIAL_SHOWN]

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port  # looked at here, because only looking tells a port that is none
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0


def _same_origin(one: str, other: str) -> bool:
    """Whether requests to two addresses go to the same place, so that they may carry the same key."""
    return _is_address(one.strip()) and _origin(one) == _origin(other)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url.strip())
    usual = {"http": 80, "https": 443}
    return parts.scheme, parts.hostname or "", parts.port or usual.get(parts.scheme)


def _sized(info: ModelInfo, window: int) -> ModelInfo:
    if not window:
        return info
    return msgspec.structs.replace(info, window=window, reserve=min(info.reserve, max(256, window // 10)))
