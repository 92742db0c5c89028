"""The user's settings, in one TOML file that may also be edited by hand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.toml_file import TomlFiles, backup_damaged
from helix_desktop.domain.effort import Effort
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import (
    FIGURES,
    DialectName,
    ModelSpec,
    ResolvedModelSpec,
    SourcedSpec,
    resolve_spec,
)
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.domain.translatable_text import TextContext, plain_text, system_reason, verbatim

text = TextContext("Settings")

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

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
    `tested_tools` is whether it called a tool in the last test that could tell.
    `effort` is how much the user wants it to think; `headers`, `secret_headers`, `body` are `RequestExtras`.
    """

    name: str
    reported: ModelSpec | None = msgspec.field(default=None, name="told")
    reported_by: str = msgspec.field(default="", name="told_by")
    tested_tools: bool | None = None
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
        """Return what goes along with its requests."""
        return RequestExtras(self.headers, self.secret_headers, self.body)

    @property
    def user_spec(self) -> ModelSpec:
        """Return the user's own figures."""
        return ModelSpec(**{name: getattr(self, name) for name in ModelSpec.__struct_fields__})


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
        if not self.name or "/" in self.name or any(sign.isspace() for sign in self.name):
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
        return resolve_spec(*specs, *([published] if published is not None else []))

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

    `text_size` is that of body text, in pixels. `model` is PROVIDER/NAME; empty: the offline demo model.
    `notify`: whether to notify the user of questions and of the ends of long turns while the window is
    inactive, `notify_sound`: with a sound, `notify_off`: which of `NOTIFICATIONS` not. `reduce_motion`: as Qt
    knows it of the system, or yes or no.
    `recent` are the ids of workspaces, last opened first. `fast`, `summary` and `long` name the
    models of roles, for workspaces that name none themselves; empty: the main model. `run_keys` names the
    providers whose key was entered for one run only, because no keychain took it. `catalog_roles` were filled
    from the catalog, `user_roles` were set by the user, who may have left them to the main model.
    `background_effort` is how much models think for summaries and extracts; empty: as is set for the model of
    the role, while the main model gets the provider's default. `shortcuts` are the keys of commands that
    differ from the defaults: command → portable texts of keys. Invalid entries are preserved: see
    `ui.shell.key_bindings`. `advanced_policy`: whether the policy page lists all numbers.
    """

    theme: Theme = "system"
    text_size: Annotated[int, msgspec.Meta(ge=10, le=32)] = 13
    enter_sends: bool = True
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
    catalog_roles: tuple[str, ...] = ()
    user_roles: tuple[str, ...] = ()
    background_effort: Effort = ""
    shortcuts: dict[str, Any] = msgspec.field(default_factory=dict)
    advanced_policy: bool = False

    def provider(self, name: str) -> Provider | None:
        """Return the provider of that name; None if there is none."""
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
        """Return the settings with this workspace's id first among the recent ones."""
        others = (other for other in self.recent if other != workspace_id)
        return msgspec.structs.replace(self, recent=(workspace_id, *others)[:MAX_RECENT])


class SettingsFile:
    """Reads and writes the settings; what is unknown to this version, or invalid, stays in the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = TomlFiles()
        self._write_lock = threading.Lock()
        self._newest: Settings | None = None
        self._saved: Settings | None = None
        self._is_damaged = False
        self._invalid: set[str] = set()
        """The keys of the file whose values do not count, and PROVIDERS.NAME of such a provider."""
        self._valid_providers: frozenset[str] = frozenset()
        """The names of the providers that were valid when the file was loaded."""

    @property
    def knows_models(self) -> bool:
        """Return True if the file that is loaded says which models were chosen."""
        wrong = {key.partition(".")[0] for key in self._invalid}
        return not self._is_damaged and wrong.isdisjoint(("model", "fast", "summary", "long", "providers"))

    def load(self) -> tuple[Settings, SettingsDamaged | None]:
        """Return the settings, and the error of a damaged file; unreadable settings get their defaults.

        A file that is no TOML is backed up first, as settings.damaged-N.toml; `save` leaves it as it is until
        the user changes a setting, and an invalid value until the user sets that one. Blocks for a few
        milliseconds.
        """
        try:
            fields = self._files.read(self._path)
        except SettingsDamaged as damaged:
            self._is_damaged = True
            fix = text(
                "All settings have their defaults, without your providers. The first one that you change "
                "replaces the file. To get yours back, quit Helix Desktop, correct the file or its copy, "
                "save it as {name} and start again.",
                name=self._path.name,
            )
            return Settings(), SettingsDamaged(damaged.what, damaged.why, fix)
        settings, errors = _convert_fields(fields)
        self._invalid = set(errors)
        self._valid_providers = frozenset(provider.name for provider in settings.providers)
        if not errors:
            return settings, None
        return settings, SettingsDamaged(
            text("Some settings in {file} are invalid: {names}.", file=self._path, names=", ".join(errors)),
            verbatim(f"{'; '.join(f'{key}: {error}' for key, error in errors.items())}."),
            text(
                "They aren't used, and stay in the file until you set them in Settings. Or quit Helix "
                "Desktop and correct the file."
            ),
            remedies=("provider_settings",),
        )

    async def save(self, settings: Settings) -> None:
        """Write the settings, off the calling thread. Raises HelixError.

        Even if saves are cancelled or overtake each other, the newest settings are written last.
        """
        self._newest = settings
        await asyncio.to_thread(self._write_newest)

    async def flush(self) -> None:
        """Write what a cancelled save did not write. Raises HelixError."""
        await asyncio.to_thread(self._write_newest)

    def _write_newest(self) -> None:
        with self._write_lock:
            settings = self._newest
            if settings is None or settings == self._saved:
                return
            if self._is_damaged:
                if msgspec.structs.replace(settings, recent=()) == Settings():
                    return  # an opened workspace is no reason to lose what a user can still correct
                backup_damaged(self._path)  # it may have been corrected since
                self._is_damaged = False
            self.save_now(settings)
            self._saved = settings

    def save_now(self, settings: Settings) -> None:
        """Write the settings, blocking; the file is replaced whole or not at all. Raises HelixError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._files.write(self._path, self._merge_document(self._existing(), settings))
        except OSError as error:
            raise HelixError(
                text("The settings couldn't be saved."),
                system_reason(error),
                text("Check that {folder} is writable and has free space.", folder=self._path.parent),
            ) from error

    def _merge_document(self, existing: TOMLDocument, settings: Settings) -> TOMLDocument:
        """Update a file's content; comments, unknown keys and invalid values that nobody replaced stay."""
        defaults, before = msgspec.to_builtins(Settings()), existing.unwrap()
        for key, value in msgspec.to_builtins(settings, enc_hook=plain_text).items():
            if key in self._invalid:
                if value == defaults[key]:
                    continue
                self._invalid.discard(key)
            old = before.get(key)
            existing[key] = (
                self._merge_providers(old, value) if key == "providers" and isinstance(old, list) else value
            )
        return existing

    def _merge_providers(self, old: list[Any], new: list[dict[str, Any]]) -> list[Any]:
        """Return the new providers, then those of the file that do not count and nobody has set since."""
        read = list(_read_providers(old))
        valid = [entry for entry, provider in read if isinstance(provider, Provider)]
        others = [entry for entry, provider in read if not isinstance(provider, Provider)]
        set_since = {entry["name"] for entry in new} - self._valid_providers
        merged = _merge_unknown_keys([*others, *valid], new, Provider)
        return [*merged, *(entry for entry in others if _entry_name(entry) not in set_since)]

    def _existing(self) -> TOMLDocument:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return tomlkit.parse(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError, TOMLKitError):
            return tomlkit.document()


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


def _convert_fields(fields: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
    """Convert a file's fields key by key; return the settings and the error of each invalid key."""
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for field in msgspec.structs.fields(Settings):
        if field.name not in fields:
            continue
        value = fields[field.name]
        if field.name == "providers" and isinstance(value, list):
            values[field.name] = tuple(_convert_providers(value, errors))
            continue
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            errors[field.name] = str(error)
    return Settings(**values), errors


def _convert_providers(entries: Sequence[Any], errors: dict[str, str]) -> Iterator[Provider]:
    """Yield the providers that count; add the errors of the others."""
    for entry, provider in _read_providers(entries):
        if isinstance(provider, Provider):
            yield provider
        else:
            errors[f"providers.{_entry_name(entry)}"] = provider


def _read_providers(entries: Sequence[Any]) -> Iterator[tuple[Any, Provider | str]]:
    """Yield each entry of the file with its provider, or with why it does not count."""
    names: set[str] = set()
    for entry in entries:
        try:
            provider = msgspec.convert(entry, Provider)
        except msgspec.ValidationError as error:
            yield entry, str(error)
            continue
        yield entry, provider if provider.name not in names else "another provider has this name"
        names.add(provider.name)


def _entry_name(entry: Any) -> str:
    return str(entry.get("name", "")) if isinstance(entry, dict) else ""


def _merge_unknown_keys(
    old: Any, new: list[dict[str, Any]], struct_type: type[msgspec.Struct]
) -> list[dict[str, Any]]:
    """Add to each new entry those keys of the old entry of its name that the struct does not have."""
    tables = [dict(entry) for entry in old if isinstance(entry, dict)] if isinstance(old, list) else []
    by_name = {str(entry.get("name")): entry for entry in tables}
    merged: list[dict[str, Any]] = []
    for entry in new:
        previous = by_name.get(entry["name"], {})
        own_keys = struct_type.__struct_encode_fields__
        foreign = {key: value for key, value in previous.items() if key not in own_keys}
        models = previous.get("models")
        nested = (
            {"models": _merge_unknown_keys(models, entry["models"], ModelEntry)} if "models" in entry else {}
        )
        merged.append({**foreign, **entry, **nested})
    return merged
