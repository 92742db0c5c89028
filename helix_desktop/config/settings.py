"""The user's settings: appearance, providers with their models, roles and models that fit them, keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.dialects import DialectName
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import (
    FIGURES,
    LearnedWindow,
    ModelSpec,
    ResolvedModelSpec,
    SourcedSpec,
    resolve_spec,
)
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.permissions.home_folder import home_names
from helix_desktop.permissions.reading_programs import reading_lines

text = TextContext("Settings")

Theme = Literal["system", "light", "dark"]

MAX_RECENT = 20

_KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "google": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
}

_EMPTY_CATALOG = ModelCatalog()


class ModelEntry(ModelSpec, frozen=True, kw_only=True, omit_defaults=True):
    """A model that a provider offers, with the user's own figures; missing ones are looked up.

    `reported` holds the figures that its server reported last, `reported_by` which part of the server;
    `tested_tools` is whether it called a tool in the last test that could tell. `learned` is the context
    window that an error of its server said, which counts where it is smaller than the other figures;
    `refused` are the parts of requests that its server refuses, with its words.
    `effort` is how much the user wants it to think; `headers`, `secret_headers`, `body` are `RequestExtras`.
    """

    name: str
    reported: ModelSpec | None = msgspec.field(default=None, name="told")
    reported_by: str = msgspec.field(default="", name="told_by")
    tested_tools: bool | None = None
    learned: LearnedWindow | None = None
    refused: dict[str, str] = msgspec.field(default_factory=dict)
    effort: Effort = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    secret_headers: tuple[str, ...] = ()
    body: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a model needs a name")
        for figure in FIGURES:
            if getattr(self, figure) < 0:
                raise ValueError(f"a figure of {self.name} is below 0: {figure}")
        if self.window and self.reserve >= self.window:
            raise ValueError(f"the reserve of {self.name} leaves nothing of its window")

    @property
    def extras(self) -> RequestExtras:
        return RequestExtras(self.headers, self.secret_headers, self.body)

    @property
    def user_spec(self) -> ModelSpec:
        return ModelSpec(**{name: getattr(self, name) for name in ModelSpec.__struct_fields__})


def is_provider_name(name: str) -> bool:
    """Return True if a provider may have this name: one word without `/`."""
    return bool(name) and "/" not in name and not any(sign.isspace() for sign in name)


class Provider(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server that offers models, and its dialect; `headers`, `secret_headers`, `body` are `RequestExtras`.

    Its key and the values of secret headers are never stored here: see `config.secrets`.
    """

    name: str
    base_url: str
    models: tuple[ModelEntry, ...] = ()
    default_model: str = ""
    dialect: DialectName = "openai-chat"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    secret_headers: tuple[str, ...] = ()
    body: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_provider_name(self.name):
            raise ValueError(f"{self.name!r} is no provider's name: it needs one word without /")
        for owner, extras in ((self.name, self.extras()), *((m.name, m.extras) for m in self.models)):
            if fault := extras.fault(self.dialect):
                raise ValueError(f"{owner}: {fault}")

    def extras(self, model: str = "") -> RequestExtras:
        """Return what goes along with requests: the provider's own extras, and those of a model."""
        own = RequestExtras(self.headers, self.secret_headers, self.body)
        return own.with_narrower(self.entry(model).extras) if model else own

    def entry(self, model: str) -> ModelEntry:
        """Return the saved entry of a model; one without figures if there is none."""
        return next((entry for entry in self.models if entry.name == model), ModelEntry(name=model))

    def with_entry(self, entry: ModelEntry) -> Provider:
        """Return the provider with this model: replacing the one of its name, else at the end."""
        models = tuple(entry if old.name == entry.name else old for old in self.models)
        is_new = entry.name not in {old.name for old in models}
        return msgspec.structs.replace(self, models=(*models, entry) if is_new else models)

    def resolved_spec(self, model: str, catalog: ModelCatalog = _EMPTY_CATALOG) -> ResolvedModelSpec:
        """Return a model's figures, each with its source: the user, else a test, the server, the catalog."""
        entry = self.entry(model)
        specs = [SourcedSpec("you", text("entered in Settings → Providers"), entry.user_spec)]
        if entry.tested_tools is not None:
            specs.append(SourcedSpec("server", text("shown by a test"), ModelSpec(tools=entry.tested_tools)))
        if entry.reported is not None:
            specs.append(
                SourcedSpec(
                    "server",
                    entry.reported_by or text("reported by {provider}", provider=self.name),
                    entry.reported,
                )
            )
        published = catalog.spec_for(self.base_url, model)
        specs += [published] if published is not None else []
        learned = entry.learned
        believed = resolve_spec(*specs)
        if learned is None or learned.tokens >= believed.number("window"):
            return believed
        source = text("learned from the server's error: {message}", message=learned.message)
        return resolve_spec(SourcedSpec("server", source, ModelSpec(window=learned.tokens)), *specs)

    def resolve_model_name(self, model: str = "") -> str:
        """Return the named model, else the default one. Raises HelixError if there is none."""
        name = model or self.default_model or next((entry.name for entry in self.models), "")
        if not name:
            raise HelixError(
                text("No model from {provider} is selected.", provider=self.name),
                text("No model is set up for it yet."),
                text("Add one in Settings → Providers, or enter it as {provider}/MODEL.", provider=self.name),
                remedies=("provider_settings",),
            )
        return name

    def model_info(self, model: str = "", catalog: ModelCatalog = _EMPTY_CATALOG) -> ModelInfo:
        """Return the named model of this provider, else its default. Raises HelixError if there is none."""
        name = self.resolve_model_name(model)
        info = self.resolved_spec(name, catalog).model_info(self.name, name)
        return msgspec.structs.replace(info, effort=self.entry(name).effort, extras=self.extras(name))


NOTIFICATIONS = ("waiting", "turn", "job", "error")
"""What a user can be notified of: the agent waits, a long turn or job has ended, a turn failed."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for all workspaces.

    `text_size` is that of body text, in pixels. `titles`: whether the fast model names new sessions.
    `model` is PROVIDER/NAME; empty: the offline demo model.
    `notify`: whether to notify the user of questions and of the ends of long turns while the window is
    inactive, `notify_sound`: with a sound, `notify_off`: which of `NOTIFICATIONS` not. `reduce_motion`: as Qt
    knows it of the system, or yes or no.
    `recent` are the ids of workspaces, last opened first. `fast`, `summary` and `long` name the
    models of roles, for workspaces that name none themselves; empty: the main model. `run_keys` names the
    providers whose key was entered for one run only, because no keychain took it. `user_roles` were set by
    the user, who may have left them to the main model: no catalog fills them.
    `background_effort` is how much models think for summaries and extracts; empty: as is set for the model of
    the role, while the main model gets the provider's default. `shortcuts` are the keys of commands that
    differ from the defaults: command → portable texts of keys. Invalid entries are preserved: see
    `ui.window.key_bindings`. `home_shown` and `home_hidden` add to, and take from, what sandboxed commands
    see of the home folder. `reading_commands`: whether commands that only read run without asking;
    `reading_added` and `reading_removed` change their list: see `permissions.reading_programs`.
    """

    theme: Theme = "system"
    text_size: Annotated[int, msgspec.Meta(ge=10, le=32)] = 13
    enter_sends: bool = True
    titles: bool = True
    model: str = ""
    recent: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    notify: bool = True
    notify_sound: bool = False
    notify_off: tuple[str, ...] = ()
    reduce_motion: Literal["system", "on", "off"] = "system"
    fast: str = ""
    summary: str = ""
    long: str = ""
    run_keys: tuple[str, ...] = ()
    user_roles: tuple[str, ...] = ()
    background_effort: Effort = ""
    shortcuts: dict[str, Any] = msgspec.field(default_factory=dict)
    home_shown: tuple[str, ...] = ()
    home_hidden: tuple[str, ...] = ()
    reading_commands: bool = True
    reading_added: tuple[str, ...] = ()
    reading_removed: tuple[str, ...] = ()

    @property
    def reading_lines(self) -> tuple[str, ...]:
        """Return the list of programs that only read; empty if each command is to be asked about."""
        return reading_lines(self.reading_added, self.reading_removed) if self.reading_commands else ()

    @property
    def home_names(self) -> tuple[str, ...]:
        """Return the files and folders of the home folder that sandboxed commands see."""
        return home_names(self.home_shown, self.home_hidden)

    def provider(self, name: str) -> Provider | None:
        return next((provider for provider in self.providers if provider.name == name), None)

    def find_model(self, label: str, catalog: ModelCatalog = _EMPTY_CATALOG) -> tuple[Provider, ModelInfo]:
        """Return the provider and model of a label PROVIDER/NAME, or of PROVIDER for its default model.

        Raises HelixError if there is no such provider, or the label is invalid.
        """
        name, model = parse_label(label)
        provider = self.provider(name)
        if provider is None:
            names = ", ".join(entry.name for entry in self.providers)
            raise HelixError(
                text("Provider {provider} not found.", provider=name),
                text("Your providers: {providers}.", providers=names)
                if names
                else text("No provider is set up yet."),
                text("Add it in Settings → Providers."),
                remedies=("provider_settings",),
            )
        return provider, provider.model_info(model, catalog)

    def with_provider(self, provider: Provider) -> Settings:
        """Return the settings with this provider: replacing the one of its name, else at the end."""
        changed = tuple(provider if old.name == provider.name else old for old in self.providers)
        added = changed if self.provider(provider.name) else (*changed, provider)
        return msgspec.structs.replace(self, providers=added)

    def with_provider_removed(self, name: str) -> Settings:
        """Return the settings without the provider of that name, and without role models of it."""
        remaining = tuple(provider for provider in self.providers if provider.name != name)
        role_models = {
            role: "" if label.partition("/")[0] == name else label
            for role in ("model", "fast", "summary", "long")
            for label in (getattr(self, role),)
        }
        return msgspec.structs.replace(self, providers=remaining, **role_models)

    def with_recent(self, workspace_id: str) -> Settings:
        others = (other for other in self.recent if other != workspace_id)
        return msgspec.structs.replace(self, recent=(workspace_id, *others)[:MAX_RECENT])


def parse_label(label: str) -> tuple[str, str]:
    """Split PROVIDER/NAME; the model is empty for a bare PROVIDER. A name may contain "/".

    Raises HelixError if it has no provider.
    """
    provider, _, model = label.strip().partition("/")
    if not provider:
        raise HelixError(
            text("A model must be named PROVIDER/NAME (got {name}).", name=repr(label)),
            fix=text("For example: openai/gpt-5."),
        )
    return provider, model


def key_variable(provider: str) -> str:
    """Return the environment variable for a provider's key: its standard one, else HELIX_NAME_KEY."""
    name = provider.lower()
    variable_part = "".join(char if char.isascii() and char.isalnum() else "_" for char in name).upper()
    return _KEY_VARIABLES.get(name, f"HELIX_{variable_part}_KEY")


def has_standard_variable(provider: str) -> bool:
    """Return True if a provider of this name has a variable that other programs read too."""
    return provider.lower() in _KEY_VARIABLES


def model_labels(settings: Settings) -> tuple[str, ...]:
    return tuple(
        f"{provider.name}/{name}"
        for provider in settings.providers
        for name in dict.fromkeys(
            (
                *([provider.default_model] if provider.default_model else []),
                *(entry.name for entry in provider.models),
            )
        )
    )
