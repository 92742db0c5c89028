"""The person's settings, in one TOML file that may also be written by hand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from helix_desktop.config.model_catalog import DialectName, ModelCatalog
from helix_desktop.config.toml_file import TomlFiles, backup_damaged
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import ModelSpec, ResolvedModelSpec, SourcedSpec, resolve_spec

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
    """A model that a provider offers, with the figures that the person gave; what is not given is looked up.

    `told` is what its own server said of it when it was asked last, `told_by` which part of it.
    """

    name: str
    told: ModelSpec | None = None
    told_by: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a model needs a name")
        for figure in ("window", "input", "output", "reserve", "price_in", "price_cached", "price_out"):
            if getattr(self, figure) < 0:
                raise ValueError(f"a figure of {self.name} is below 0: {figure}")
        if self.window and self.reserve >= self.window:
            raise ValueError(f"the reserve of {self.name} leaves nothing of its window")

    @property
    def user_spec(self) -> ModelSpec:
        """The person's own figures."""
        return ModelSpec(**{name: getattr(self, name) for name in ModelSpec.__struct_fields__})


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A server that offers models, and the dialect it speaks. Its key is never here: see `config.secrets`."""

    name: str
    base_url: str
    models: tuple[ModelEntry, ...] = ()
    default_model: str = ""
    dialect: DialectName = "openai-chat"

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or any(sign.isspace() for sign in self.name):
            raise ValueError(f"{self.name!r} is no provider's name: it needs one word without /")

    def entry(self, model: str) -> ModelEntry:
        """What is saved of a model; an entry without figures when nothing is."""
        return next((entry for entry in self.models if entry.name == model), ModelEntry(name=model))

    def resolved_spec(self, model: str, catalog: ModelCatalog = _EMPTY_CATALOG) -> ResolvedModelSpec:
        """The figures of a model, each with who said so: the person, else the server, else the catalogue."""
        entry = self.entry(model)
        said = [SourcedSpec("you", "entered in Settings, Providers", entry.user_spec)]
        if entry.told is not None:
            said.append(SourcedSpec("server", entry.told_by or f"{self.name} says so itself", entry.told))
        published = catalog.spec_for(self.base_url, model)
        return resolve_spec(*said, *([published] if published is not None else []))

    def resolve_model_name(self, model: str = "") -> str:
        """The model meant: the one named, else the default. Raises HelixError when there is none."""
        wanted = model or self.default_model or next((entry.name for entry in self.models), "")
        if not wanted:
            raise HelixError(
                f"No model of {self.name} is chosen.",
                "None is listed for it.",
                f"Add one in Settings, Providers, or name it as {self.name}/MODEL.",
                remedies=("provider_settings",),
            )
        return wanted

    def model_info(self, model: str = "", catalog: ModelCatalog = _EMPTY_CATALOG) -> ModelInfo:
        """A model of this provider: the one named, else its default. Raises HelixError when there is none."""
        wanted = self.resolve_model_name(model)
        return self.resolved_spec(wanted, catalog).model_info(self.name, wanted)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all workspaces.

    `text_size` is that of ordinary words, in pixels. `model` is PROVIDER/NAME; empty: the offline demo model.
    `notify`: whether the person is told of questions and of long turns' ends while they look elsewhere.
    `recent` are the ids of workspaces, last opened first. `fast`, `summary` and `long` name the models of
    roles, for workspaces that name none themselves; empty: the main model. `run_keys` names the providers
    whose key was entered for one run only, because no keychain took it.
    """

    theme: Theme = "system"
    text_size: Annotated[int, msgspec.Meta(ge=10, le=32)] = 13
    enter_sends: bool = True
    model: str = ""
    recent: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    notify: bool = True
    fast: str = ""
    summary: str = ""
    long: str = ""
    run_keys: tuple[str, ...] = ()

    def provider(self, name: str) -> Provider | None:
        """The provider of that name."""
        return next((provider for provider in self.providers if provider.name == name), None)

    def find_model(self, label: str, catalog: ModelCatalog = _EMPTY_CATALOG) -> tuple[Provider, ModelInfo]:
        """The provider and model of a label PROVIDER/NAME, or of PROVIDER for its default model.

        Raises HelixError when there is no such provider, or the label is none.
        """
        name, model = parse_label(label)
        provider = self.provider(name)
        if provider is None:
            known = ", ".join(entry.name for entry in self.providers) or "none yet"
            raise HelixError(
                f"There is no provider {name}.",
                f"Known: {known}.",
                "Add it in Settings, Providers.",
                remedies=("provider_settings",),
            )
        return provider, provider.model_info(model, catalog)

    def with_provider(self, provider: Provider) -> Settings:
        """With this provider: in the place of the one of its name, else at the end."""
        changed = tuple(provider if old.name == provider.name else old for old in self.providers)
        added = changed if self.provider(provider.name) else (*changed, provider)
        return msgspec.structs.replace(self, providers=added)

    def with_provider_removed(self, name: str) -> Settings:
        """Without the provider of that name; a default model of it goes with it."""
        left = tuple(provider for provider in self.providers if provider.name != name)
        kept = {
            role: "" if label.partition("/")[0] == name else label
            for role in ("model", "fast", "summary", "long")
            for label in (getattr(self, role),)
        }
        return msgspec.structs.replace(self, providers=left, **kept)

    def with_recent(self, workspace_id: str) -> Settings:
        """With this workspace's id first among the recent ones."""
        others = (other for other in self.recent if other != workspace_id)
        return msgspec.structs.replace(self, recent=(workspace_id, *others)[:MAX_RECENT])


class SettingsFile:
    """Reads and writes the settings; keys that this version does not know are kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = TomlFiles()
        self._write_lock = threading.Lock()
        self._newest: Settings | None = None
        self._saved: Settings | None = None

    def load(self) -> tuple[Settings, SettingsDamaged | None]:
        """The settings, and what was wrong with the file; what cannot be read is as by default.

        A damaged file is copied aside first, as settings.damaged-N.toml. Blocks for a few milliseconds.
        """
        try:
            fields = self._files.read(self._path)
        except SettingsDamaged as damaged:
            return Settings(), damaged
        settings, wrong = _convert_fields(fields)
        if not wrong:
            return settings, None
        kept = backup_damaged(self._path)
        return settings, SettingsDamaged(
            f"Some settings in {self._path} cannot be used: {', '.join(wrong)}.",
            f"{'; '.join(wrong.values())}." + (f" The file is kept as {kept.name}." if kept else ""),
            "They are as by default now. Set them again in Settings.",
            remedies=("provider_settings",),
        )

    async def save(self, settings: Settings) -> None:
        """Write the settings, off the calling thread. Raises HelixError.

        Whatever is cancelled or overtaken, the last settings that were given are the last ones written.
        """
        self._newest = settings
        await asyncio.to_thread(self._write_newest)

    async def flush(self) -> None:
        """Write what a cancelled save did not come to write. Raises HelixError."""
        await asyncio.to_thread(self._write_newest)

    def _write_newest(self) -> None:
        with self._write_lock:
            settings = self._newest
            if settings is not None and settings != self._saved:
                self.save_now(settings)
                self._saved = settings

    def save_now(self, settings: Settings) -> None:
        """Write the settings, blocking; the file is replaced whole or not at all. Raises HelixError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._files.write(self._path, _merge_document(self._existing(), settings))
        except OSError as error:
            raise HelixError(
                "The settings could not be saved.",
                f"{error}.",
                f"Check that {self._path.parent} can be written to and has room.",
            ) from error

    def _existing(self) -> TOMLDocument:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return tomlkit.parse(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, UnicodeDecodeError, TOMLKitError):
            return tomlkit.document()


def parse_label(label: str) -> tuple[str, str]:
    """Provider and model of PROVIDER/NAME; the model is empty for a bare PROVIDER. A name may contain "/".

    Raises HelixError when there is no provider in it.
    """
    provider, _, model = label.strip().partition("/")
    if not provider:
        raise HelixError(
            f"{label!r} names no model.", "A model is named as PROVIDER/NAME.", "For example: openai/gpt-5."
        )
    return provider, model


def key_variable(provider: str) -> str:
    """The environment variable that may hold a provider's key: its own usual one, else HELIX_NAME_KEY."""
    name = provider.lower()
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in name).upper()
    return _KEY_VARIABLES.get(name, f"HELIX_{plain}_KEY")


def has_standard_variable(provider: str) -> bool:
    """Return True if a provider of this name has a variable that other programs read too."""
    return provider.lower() in _KEY_VARIABLES


def _convert_fields(fields: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
    """Settings from what a file holds, key by key, and what is wrong with each key that cannot be used."""
    good: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for field in msgspec.structs.fields(Settings):
        if field.name not in fields:
            continue
        try:
            good[field.name] = msgspec.convert(fields[field.name], field.type)
        except msgspec.ValidationError as error:
            wrong[field.name] = f"{field.name}: {error}"
    return Settings(**good), wrong


def _merge_document(existing: TOMLDocument, settings: Settings) -> TOMLDocument:
    """A file's content brought up to date; comments, and keys nobody here knows, stay."""
    for key, value in msgspec.to_builtins(settings).items():
        old = existing.get(key)
        existing[key] = _merge_unknown_keys(old, value, Provider) if key == "providers" else value
    return existing


def _merge_unknown_keys(
    old: Any, new: list[dict[str, Any]], struct_type: type[msgspec.Struct]
) -> list[dict[str, Any]]:
    """Entries with those keys of the old entries of the same name that their kind does not have."""
    tables = [dict(entry) for entry in old if isinstance(entry, dict)] if isinstance(old, list) else []
    by_name = {str(entry.get("name")): entry for entry in tables}
    merged: list[dict[str, Any]] = []
    for entry in new:
        former = by_name.get(entry["name"], {})
        foreign = {key: value for key, value in former.items() if key not in struct_type.__struct_fields__}
        models = former.get("models")
        nested = (
            {"models": _merge_unknown_keys(models, entry["models"], ModelEntry)} if "models" in entry else {}
        )
        merged.append({**foreign, **entry, **nested})
    return merged
