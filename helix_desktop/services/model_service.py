"""The models: created from a label, the settings and the keys. Nothing is contacted here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from urllib.parse import urlsplit

import msgspec

from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.ports import Model
from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.secrets import ApiKey, SecretStore
from helix_desktop.config.settings import Provider, Settings, has_standard_variable, key_variable, parse_label
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import LearnedWindow, LocalServer, SourcedSpec
from helix_desktop.domain.request_extras import NO_EXTRAS
from helix_desktop.domain.translatable_text import OptionalText, TextContext, TranslatableText
from helix_desktop.providers.demo.model import DEMO_LABEL, DemoModel
from helix_desktop.providers.endpoint import Endpoint
from helix_desktop.providers.http import HttpClient, Timeouts
from helix_desktop.providers.model_factory import create_model
from helix_desktop.providers.model_list import DEFAULT_PORTS, find_servers, identify, list_models
from helix_desktop.providers.plain_form import PlainForm
from helix_desktop.providers.retry import PATIENCE_S, QUICK_RETRY_POLICY, RetryPolicy
from helix_desktop.providers.streaming import WindowLimits
from helix_desktop.services.provider_check import CheckStep, ProviderCheck
from helix_desktop.workspaces.registry import MAIN, WorkspaceRecord

log = logging.getLogger(__name__)
text = TextContext("Models")


def advice_on_key(provider: str, *, is_for_form: bool) -> TranslatableText:
    variable = key_variable(provider)
    if is_for_form:
        return text("Enter a valid key, or set {variable}.", variable=variable)
    return text("Enter the key in Settings → Providers, or set {variable}.", variable=variable)


def advice_on_variables(variables: tuple[str, ...]) -> TranslatableText:
    return text("Set {variables} to a valid key.", variables=any_of(variables))


def advice_on_header(provider: str, name: str) -> TranslatableText:
    return text("Set {variable} to its value.", variable=key_variable(f"{provider}/{name}"))


def any_of(variables: tuple[str, ...]) -> str:
    if len(variables) == 1:
        return variables[0]
    first, other = variables
    return text("{first} or {other}", first=first, other=other)


DEMO_PAUSE_S = 0.012  # between the demo model's pieces: about the pace of a fast model
_ADHOC_PROVIDER = "server"
SaveLearned = Callable[[str, str, LearnedWindow], Awaitable[None]]
"""Stores a window that was learned: the provider's name, the model's, and the window."""
SaveRefusedParts = Callable[[str, str, Mapping[str, str]], Awaitable[None]]
"""Stores what a server refuses of requests: the provider's name, the model's, and its words by part."""

_LOCAL_TIMEOUTS = Timeouts(connect_s=1.0, read_s=5.0, write_s=5.0)  # a server of this machine answers at once


class ModelService:
    """Creates models by label PROVIDER/NAME; an empty label is the user's default, at first the demo."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        secrets: SecretStore,
        demo_pause_s: float = DEMO_PAUSE_S,
        response_timeout_s: float = PATIENCE_S,
        save_learned: SaveLearned | None = None,
        save_refused: SaveRefusedParts | None = None,
    ) -> None:
        """`response_timeout_s` is how long a turn waits for a server that does not answer, in seconds.

        `save_learned` stores a window that an error of a configured model said, `save_refused` the parts of
        requests that its server refuses.
        """
        self._save_refused = save_refused
        self._plain_forms: dict[tuple[str, str], PlainForm] = {}  # by address and model
        self._save_learned = save_learned
        self._limits: dict[tuple[str, str], WindowLimits] = {}  # by address and model
        self._retries = RetryPolicy(response_timeout_s)
        self._settings = settings
        self._secrets = secrets
        self._demo_pause_s = demo_pause_s
        self.local_ports: Sequence[int] = DEFAULT_PORTS  # scanned for model servers, on request only
        self._http = HttpClient()
        self._local_http = HttpClient(_LOCAL_TIMEOUTS)

    @cached_property
    def catalog(self) -> ModelCatalog:
        return ModelCatalog.load(resources_dir() / "models.toml")

    async def by_label(self, label: str, effort: Effort = "", is_for_role: bool = False) -> Model:
        """Return the model of a label. Raises HelixError when there is no such provider.

        `effort` is how much it thinks; empty: as is set for the model. What is set for the model holds for
        summaries too where it is the one of their role.
        """
        resolved_label = label or self._settings().model or DEMO_LABEL
        if resolved_label == DEMO_LABEL:
            return DemoModel(resources_dir() / "demo", self._demo_pause_s)
        provider, info = self._settings().find_model(resolved_label, self.catalog)
        background_effort = self._settings().background_effort or (info.effort if is_for_role else "")
        info = msgspec.structs.replace(
            info, effort=effort or info.effort, background_effort=background_effort
        )
        return await self._saved_model(provider, info)

    def is_configured(self, label: str) -> bool:
        """Return True if a model is set up; the offline demo is not, it is always there."""
        try:
            self._settings().find_model(label)
        except HelixError:
            return False
        return True

    async def roles(self, record: WorkspaceRecord, main_label: str = "") -> ModelRoles:
        """Return the model of each role in a workspace; the main one is its own, or that of a label.

        Raises HelixError when the main model is not available.

        A role whose model is gone falls back to the main one; with the offline demo model, all roles use it.
        """
        main = await self.by_label(main_label or record.model, record.effort)
        if main.info.demo:
            return ModelRoles(main)
        settings = self._settings()
        fast = await self._role_model(record.fast or settings.fast)
        summary = await self._role_model(record.summary or settings.summary)
        return ModelRoles(main, fast, summary, await self._role_model(record.long or settings.long))

    async def _role_model(self, label: str) -> Model | None:
        if label in {"", MAIN}:
            return None
        try:
            return await self.by_label(label, is_for_role=True)
        except HelixError as error:
            log.warning("a role falls to the main model: %s", error)
            return None

    async def adhoc(self, label: str, base_url: str, window_size: int, effort: Effort = "") -> Model:
        """Return a model at an address that no settings name; `window_size` in tokens, 0 for the default.

        `effort` is how much it thinks; empty: as is set for the model.

        A stored key is sent to its provider's own address only. Other addresses get the key from the
        environment: the user set it for this run; see `environment_key`. Raises HelixError when label or
        address are invalid.
        """
        if not base_url:
            self._require_provider(label)
            model = await self.by_label(label, effort)
            if not window_size or model.info.demo:
                return model
            provider, _ = self._settings().find_model(label or self._settings().model, self.catalog)
            info = _with_window(model.info, window_size)
            return await self._saved_model(provider, info, is_window_given=True)
        if not _is_http_url(base_url):
            raise InvalidInput(
                text("The base URL must be a web address (got {value}).", value=repr(base_url)),
                fix=text("Write it as {form}.", form="http://HOST:PORT/v1"),
            )
        name, model_name = _split_label(label)
        if not model_name:
            raise InvalidInput(
                text("The model is missing."),
                text("A base URL also needs a model."),
                text("Add {option}.", option="--model PROVIDER/NAME"),
            )
        try:
            provider = Provider(name=name, base_url=base_url)
        except ValueError as error:
            raise InvalidInput(
                text("The model must be PROVIDER/NAME (got {value}).", value=repr(label)),
                fix=text("Use one word as the provider's name."),
            ) from error
        info = _with_window(provider.model_info(model_name, self.catalog), window_size)
        info = msgspec.structs.replace(info, effort=effort)
        if self._has_stored_key_for(provider):
            return await self._saved_model(provider, info, is_window_given=bool(window_size))
        variables = self._key_variables(name)
        key = self._secrets.from_variables(variables).value
        endpoint = self._endpoint(provider, key, advice_on_variables(variables))
        limits = self._window_limits(provider, info.name, is_window_given=bool(window_size))
        form = self._plain_form(provider, info.name)
        return create_model(endpoint, info, retry_policy=self._retries, limits=limits, plain_form=form)

    def _require_provider(self, label: str) -> None:
        """Raise InvalidInput for a typed label of a provider that is not set up."""
        name = label.partition("/")[0].strip()
        if not name or label == DEMO_LABEL or self._settings().provider(name) is not None:
            return
        names = tuple(provider.name for provider in self._settings().providers)
        raise InvalidInput(
            text("Unknown provider: {name}.", name=name),
            text("The known providers are {providers}.", providers=names)
            if names
            else text("No provider is set up yet."),
            text(
                "Add it in Settings → Providers, or add --base-url URL and set {variables}.",
                variables=any_of(self._key_variables(name)),
            ),
        )

    def environment_key(self, label: str, base_url: str) -> ApiKey:
        """Return the key from the environment that a typed address gets; empty when it gets none of these."""
        name, _ = _split_label(label)
        if self._has_stored_key_for(Provider(name=name, base_url=base_url)):
            return ApiKey()
        return self._secrets.from_variables(self._key_variables(name))

    def _key_variables(self, name: str) -> tuple[str, ...]:
        """List the variables that may hold the key for a typed address.

        Where nothing is known of the provider, OPENAI_API_KEY counts too: its servers expect it.
        """
        is_known_provider = has_standard_variable(name) or self._settings().provider(name) is not None
        return (key_variable(name),) if is_known_provider else (key_variable(name), key_variable("openai"))

    def _has_stored_key_for(self, provider: Provider) -> bool:
        own = self._settings().provider(provider.name)
        return own is not None and _same_origin(own.base_url, provider.base_url)

    async def _key_for(self, provider: Provider) -> str:
        """Return the stored key at the provider's own saved address, else the environment's."""
        if self._has_stored_key_for(provider):
            return (await self._secrets.get(provider.name)).value
        return self._secrets.from_environment(provider.name).value

    def _endpoint(
        self,
        provider: Provider,
        key: str,
        key_advice: OptionalText = "",
        model: str = "",
        secret_headers: Mapping[str, str] | None = None,
        *,
        is_for_form: bool = False,
    ) -> Endpoint:
        advice = key_advice or advice_on_key(provider.name, is_for_form=is_for_form)
        return Endpoint(
            *(provider.name, provider.base_url, key, self._http, provider.dialect, advice),
            headers=provider.extras(model).headers,
            secret_headers=secret_headers or {},
            header_advice=lambda name: advice_on_header(provider.name, name),
        )

    async def _saved_endpoint(
        self, provider: Provider, model: str = "", *, is_for_form: bool = False
    ) -> Endpoint:
        """Return a provider's server with what is stored for it."""
        secrets: dict[str, str] = {}
        is_stored = self._has_stored_key_for(provider)
        for owner, names in _header_owners(provider, model):
            for name in names:
                secrets[name] = ""
                if is_stored:
                    secrets[name] = await self._secrets.secret_header(provider.name, owner, name)
        key = await self._key_for(provider)
        return self._endpoint(provider, key, "", model, secrets, is_for_form=is_for_form)

    async def _saved_model(
        self, provider: Provider, info: ModelInfo, *, is_window_given: bool = False
    ) -> Model:
        endpoint = await self._saved_endpoint(provider, info.name)
        limits = self._window_limits(provider, info.name, is_window_given=is_window_given)
        form = self._plain_form(provider, info.name)
        return create_model(endpoint, info, retry_policy=self._retries, limits=limits, plain_form=form)

    def _plain_form(self, provider: Provider, model: str) -> PlainForm:
        """Return what is known of the form in which the server of a model takes requests."""

        async def save(refused: Mapping[str, str]) -> None:
            if self._has_stored_key_for(provider) and self._save_refused is not None:
                await self._save_refused(provider.name, model, refused)

        address = provider.base_url.strip().rstrip("/"), model
        form = self._plain_forms.setdefault(address, PlainForm(save=save))
        saved = self._settings().provider(provider.name)
        if saved is not None and _same_origin(saved.base_url, provider.base_url):
            form.refused = dict(saved.entry(model).refused)  # the user may have reset it
        return form

    def _window_limits(self, provider: Provider, model: str, *, is_window_given: bool) -> WindowLimits:
        """Return what is known of the window of a model at an address; of a given window, nothing yet."""

        async def save(learned: LearnedWindow) -> None:
            if self._has_stored_key_for(provider) and self._save_learned is not None:
                await self._save_learned(provider.name, model, learned)

        if is_window_given:
            return WindowLimits(save=save)
        address = provider.base_url.strip().rstrip("/"), model
        limits = self._limits.setdefault(address, WindowLimits(save=save))
        saved = self._settings().provider(provider.name)
        if saved is not None and _same_origin(saved.base_url, provider.base_url):
            limits.learned = saved.entry(model).learned  # the user may have reset it
        return limits

    async def list_models(self, provider: Provider) -> dict[str, SourcedSpec]:
        """Return the models of a server with their specs. Raises ModelError."""
        if _is_http_url(provider.base_url) and provider.base_url.strip().startswith("http:"):
            local_server = await identify(self._local_http, _server_root(provider.base_url))
            if local_server is not None and local_server.kind != "other":
                return {
                    model.name: SourcedSpec("server", model.source, model.spec)
                    for model in local_server.models
                }
        specs = await list_models(await self._saved_endpoint(provider, is_for_form=True))
        return {name: SourcedSpec("server", "", spec) for name, spec in specs.items()}

    async def find_local_servers(self) -> tuple[LocalServer, ...]:
        """Find the servers on this machine's default ports; only on the user's request."""
        return await find_servers(self._local_http, self.local_ports)

    async def test(
        self, provider: Provider, model: str, on_step: Callable[[tuple[CheckStep, ...]], None]
    ) -> bool:
        """Check a server and report each step; return True if no step failed. No `model`: none is asked."""
        endpoint = await self._saved_endpoint(provider, model, is_for_form=True)
        if not model:
            return await ProviderCheck(endpoint, None, on_step).run()
        info = provider.model_info(model, self.catalog)
        tested_model = create_model(endpoint, info, retry_policy=QUICK_RETRY_POLICY)
        return await ProviderCheck(endpoint, tested_model, on_step).run()

    async def close(self) -> None:
        await self._http.aclose()
        await self._local_http.aclose()


class WorkspaceModels:
    def __init__(self, models: ModelService, record: Callable[[], WorkspaceRecord]) -> None:
        self._models = models
        self._record = record

    def is_configured(self, label: str) -> bool:
        return self._models.is_configured(label)

    async def roles(self, label: str) -> ModelRoles:
        """Return the roles under a main model. Raises HelixError if it is not set up."""
        return await self._models.roles(self._record(), label)


def _header_owners(provider: Provider, model: str = "") -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the secret headers that requests have: of the provider (an empty name), and of the model."""
    own = provider.entry(model).extras if model else NO_EXTRAS
    hidden = {name.lower() for name in (*own.headers, *own.secret_headers)}
    general = tuple(name for name in provider.secret_headers if name.lower() not in hidden)
    return ("", general), (model, own.secret_headers)


def _split_label(label: str) -> tuple[str, str]:
    """Split a typed label into provider and model; one without a provider gets a stand-in."""
    return parse_label(label) if "/" in label else (_ADHOC_PROVIDER, label)


def _server_root(base_url: str) -> str:
    """Return an OpenAI-like base URL without its /v1: the root of a local server's own API."""
    return base_url.partition("?")[0].strip().rstrip("/").removesuffix("/v1")


def _is_http_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port  # read here, because only reading it raises for an invalid port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0


def _same_origin(url: str, other_url: str) -> bool:
    """Return True if two addresses have the same origin, so that they may get the same key."""
    return _is_http_url(url.strip()) and _origin(url) == _origin(other_url)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url.strip())
    default_ports = {"http": 80, "https": 443}
    return parts.scheme, parts.hostname or "", parts.port or default_ports.get(parts.scheme)


def _with_window(info: ModelInfo, window_size: int) -> ModelInfo:
    if not window_size:
        return info
    return msgspec.structs.replace(
        info, window=window_size, reserve=min(info.reserve, max(256, window_size // 10))
    )
