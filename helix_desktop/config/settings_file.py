"""The file of the user's settings: TOML that may also be edited by hand."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.config.toml_file import backup_damaged, read_document, read_fields, write_fields
from helix_desktop.domain.decoding_faults import decoding_fault
from helix_desktop.domain.errors import HelixError, SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import (
    TextContext,
    join_sentences,
    plain_text,
    system_reason,
    verbatim,
)

text = TextContext("Settings")

_NOT_SAVED = text("The settings couldn't be saved.")

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


class SettingsFile:
    """Reads and writes the settings; what is unknown to this version, or invalid, stays in the file."""

    def __init__(self, path: Path, required_folder: Path | None = None) -> None:
        """Nothing is written while `required_folder` is gone."""
        self._path, self._required_folder = path, required_folder
        self._write_lock = threading.Lock()
        self._newest: Settings | None = None
        self._saved: Settings | None = None
        self._is_damaged = False
        self._unreadable: SettingsUnreadable | None = None
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
        the user changes a setting, and an invalid value until the user sets that one. It never replaces a
        file that can't be read. Blocks for a few milliseconds.
        """
        try:
            fields = read_fields(self._path)
        except SettingsUnreadable as unreadable:
            self._is_damaged, self._unreadable = True, unreadable
            return Settings(), unreadable
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

        Even if saves are canceled or overtake each other, the newest settings are written last.
        """
        self._newest = settings
        await asyncio.to_thread(self._write_newest)

    async def flush(self) -> None:
        """Write what a canceled save did not write. Raises HelixError."""
        await asyncio.to_thread(self._write_newest)

    def _write_newest(self) -> None:
        with self._write_lock:
            settings = self._newest
            if settings is None or settings == self._saved:
                return
            self._check_required_folder()
            if self._is_damaged:
                if msgspec.structs.replace(settings, recent=()) == Settings():
                    return  # an opened workspace is no reason to lose what a user can still correct
                self._check_was_readable()
                backup_damaged(self._path)  # it may have been corrected since
                self._is_damaged = False
            self.save_now(settings)
            self._saved = settings

    def _check_required_folder(self) -> None:
        """Raise HelixError if it is gone, as when its drive was disconnected.

        What is saved then would be alone in a new folder, or hidden once the drive is back.
        """
        if self._required_folder is not None and not os.path.isdir(self._required_folder):
            raise HelixError(
                _NOT_SAVED,
                text(
                    "{folder} was deleted or moved, or its drive was disconnected.",
                    folder=self._required_folder,
                ),
                text("They are in force until you quit, and are saved then if the folder is back."),
            )

    def _check_was_readable(self) -> None:
        """Raise HelixError if the file is there and could not be read: its settings are not in this run."""
        error = self._unreadable
        if error is not None and os.path.lexists(self._path):
            why = join_sentences(error.what, error.why, text("Your changes last until you quit."))
            raise HelixError(_NOT_SAVED, why, error.fix)

    def save_now(self, settings: Settings) -> None:
        """Write the settings, blocking; the file is replaced whole or not at all. Raises HelixError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_fields(self._path, self._merge_document(read_document(self._path), settings))
        except OSError as error:
            raise HelixError(
                _NOT_SAVED,
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


def _convert_fields(fields: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
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
            errors[field.name] = decoding_fault(error).rstrip(".")
    return Settings(**values), errors


def _convert_providers(entries: Sequence[Any], errors: dict[str, str]) -> Iterator[Provider]:
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
            yield entry, decoding_fault(error).rstrip(".")
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
