"""The file of the user's settings: TOML that may also be edited by hand."""

from __future__ import annotations

import asyncio
import copy
import os
import threading
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.config.field_changes import apply_changes
from helix_desktop.config.settings import Provider, Settings
from helix_desktop.config.toml_file import read_document, read_fields, write_fields
from helix_desktop.domain.decoding_faults import decoding_fault
from helix_desktop.domain.errors import HelixError, SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import (
    TextContext,
    join_sentences,
    plain_text,
    system_reason,
    verbatim,
)
from helix_desktop.system.files import write_text_durably

text = TextContext("Settings")

_NOT_SAVED = text("The settings couldn't be saved.")
_LOCK_TIMEOUT_S = 5.0


class SavedSettings(msgspec.Struct, frozen=True):
    """What was to be written, and what the file says since, with what other processes have changed."""

    written: Settings
    stored: Settings

    def current(self, settings: Settings) -> Settings:
        """Return what the file says, with what has changed here since the settings were written."""
        if self.written == self.stored:
            return settings
        fields = _fields_of(self.stored)
        apply_changes(fields, _fields_of(self.written), _fields_of(settings))
        return _convert_fields(fields, settings)[0]


class SettingsFile:
    """Reads and writes the settings; what is unknown to this version, or invalid, stays in the file."""

    def __init__(self, path: Path, required_folder: Path | None = None) -> None:
        """Nothing is written while `required_folder` is gone."""
        self.path = path
        self._required_folder = required_folder
        self._write_lock = threading.Lock()
        self._state_lock = threading.Lock()
        self._base = Settings()
        """What the file said when it was last read: only what differs from it is written."""
        self._newest: Settings | None = None
        self._is_damaged = False
        self._unreadable: SettingsUnreadable | None = None
        self._invalid: set[str] = set()
        """The keys of the file whose values do not count, and PROVIDERS.NAME of such a provider."""

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
            fields = read_fields(self.path)
        except SettingsUnreadable as unreadable:
            self._is_damaged = True
            self._unreadable = unreadable
            return Settings(), unreadable
        except SettingsDamaged as damaged:
            self._is_damaged = True
            fix = text(
                "All settings have their defaults, without your providers. The first one that you change "
                "replaces the file. To get yours back, quit Helix Desktop, correct the file or its copy, "
                "save it as {name} and start again.",
                name=self.path.name,
            )
            return Settings(), SettingsDamaged(damaged.what, damaged.why, fix)
        settings, errors = _convert_fields(fields, Settings())
        self._invalid = set(errors)
        self._base = settings
        return settings, self._invalid_error(errors)

    def find_error(self) -> SettingsDamaged | None:
        """Return what is wrong with the file as it is now; None if nothing is. Blocks for a few ms."""
        try:
            fields = read_fields(self.path, back_up=False)
        except SettingsDamaged as error:
            return error
        return self._invalid_error(_convert_fields(fields, Settings())[1])

    def _invalid_error(self, errors: Mapping[str, str]) -> SettingsDamaged | None:
        if not errors:
            return None
        return SettingsDamaged(
            text("Some settings in {file} are invalid: {names}.", file=self.path, names=", ".join(errors)),
            verbatim(f"{'; '.join(f'{key}: {error}' for key, error in errors.items())}."),
            text(
                "They aren't used, and stay in the file until you set them in Settings or correct the file."
            ),
            remedies=("provider_settings",),
        )

    async def save(self, settings: Settings) -> SavedSettings:
        """Write what has changed of the settings, off the calling thread. Raises HelixError.

        The file is read before: what another process has changed stays. Even if saves are canceled or
        overtake each other, the newest settings are written last.
        """
        with self._state_lock:
            self._newest = settings
        saved = await asyncio.to_thread(self._write_newest)
        self._rebase(saved)
        return saved

    async def flush(self) -> None:
        """Write what a canceled save did not write. Raises HelixError."""
        if self._newest is not None:
            await asyncio.to_thread(self._write_newest)

    def _rebase(self, saved: SavedSettings) -> None:
        with self._state_lock:
            self._base = saved.stored
            if self._newest is not None:
                self._newest = saved.current(self._newest)

    def _write_newest(self) -> SavedSettings:
        with self._write_lock:
            with self._state_lock:
                base = self._base
                settings = self._newest or base
            self._check_required_folder()
            if self._is_damaged:
                if msgspec.structs.replace(settings, recent=()) == Settings():
                    # An opened workspace is no reason to lose what a user can still correct.
                    return SavedSettings(settings, settings)
                self._check_was_readable()
            return SavedSettings(settings, self._write(settings, base))

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
        if error is not None and os.path.lexists(self.path):
            why = join_sentences(error.what, error.why, text("Your changes last until you quit."))
            raise HelixError(_NOT_SAVED, why, error.fix)

    def create(self, comment: str) -> None:
        """Write a file with a comment of one line where none is. Blocks; raises HelixError."""
        if os.path.lexists(self.path):
            return
        try:
            write_text_durably(self.path, f"# {comment}\n")
        except OSError as error:
            raise self._unwritable_error(error) from error

    def save_now(self, settings: Settings) -> None:
        """Write the settings, blocking; the file is replaced whole or not at all. Raises HelixError."""
        with self._state_lock:
            self._newest = settings
        self._rebase(SavedSettings(settings, self._write(settings, self._base)))

    def _write(self, settings: Settings, base: Settings) -> Settings:
        """Write what differs from `base`; return what the file says then. Raises HelixError."""
        if settings == base and not self._is_damaged:
            fields = self._read()
            return _convert_fields(fields, settings)[0] if fields else settings
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S):
                return self._merge(settings, base)
        except Timeout as error:
            raise HelixError(
                _NOT_SAVED,
                text("Another process has locked {file}.", file=self.path.with_suffix(".lock")),
                text("Try again. If this keeps happening, quit the other Helix Desktop."),
            ) from error
        except OSError as error:
            raise self._unwritable_error(error) from error

    def _unwritable_error(self, error: OSError) -> HelixError:
        fix = text("Check that {folder} is writable and has free space.", folder=self.path.parent)
        return HelixError(_NOT_SAVED, system_reason(error), fix)

    def _merge(self, settings: Settings, base: Settings) -> Settings:
        before = self._read()
        if not before:
            base = Settings()  # the file is gone: all that is set is written
        fields = copy.deepcopy(before)
        self._apply(fields, before, base, settings)
        if fields != before:
            document = read_document(self.path)
            self._apply(document, before, base, settings)
            # A document keeps the comments of the user.
            is_exact = tomllib.loads(document.as_string()) == fields
            write_fields(self.path, document if is_exact else fields)
        self._is_damaged = False
        stored, errors = _convert_fields(fields, settings)
        self._invalid = set(errors)
        return stored

    @staticmethod
    def _apply(
        target: MutableMapping[str, Any], before: Mapping[str, Any], base: Settings, settings: Settings
    ) -> None:
        """Make the user's changes since `base` in what the file says, which is `before`."""
        tables: Any = before.get("providers")
        renamed = _renamed_providers(base, settings)
        if renamed and _are_tables(tables):
            base = _with_new_names(base, renamed)
            for table in target["providers"]:
                if table.get("name") in renamed:
                    table["name"] = renamed[table["name"]]
        if base.providers != settings.providers and _are_tables(tables):
            _put_invalid_last(target, tables, settings, base)
        apply_changes(target, _fields_of(base), _fields_of(settings))

    def _read(self) -> dict[str, Any]:
        """Return what the file says now. Raises HelixError if it was damaged since the start."""
        try:
            return read_fields(self.path, back_up=self._is_damaged)
        except SettingsDamaged as error:
            if self._is_damaged and not isinstance(error, SettingsUnreadable):
                return {}  # the user knows, and there is a copy
            why = join_sentences(error.what, error.why, text("Your changes last until you quit."))
            raise HelixError(_NOT_SAVED, why, error.fix) from error


def _fields_of(settings: Settings) -> dict[str, Any]:
    fields: dict[str, Any] = _with_lists(msgspec.to_builtins(settings, enc_hook=plain_text))
    return fields


def _with_lists(value: Any) -> Any:
    """Return a value with lists in place of tuples, as it is read from a file."""
    if isinstance(value, dict):
        return {name: _with_lists(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_with_lists(inner) for inner in value]
    return value


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(table, dict) for table in value)


def _renamed_providers(base: Settings, settings: Settings) -> dict[str, str]:
    """Return the new names of providers that have another one at their place."""
    old_names = [provider.name for provider in base.providers]
    new_names = [provider.name for provider in settings.providers]
    if len(old_names) != len(new_names):
        return {}
    pairs = zip(old_names, new_names, strict=True)
    return {old: new for old, new in pairs if old not in new_names and new not in old_names}


def _with_new_names(settings: Settings, renamed: Mapping[str, str]) -> Settings:
    providers = tuple(
        msgspec.structs.replace(provider, name=renamed.get(provider.name, provider.name))
        for provider in settings.providers
    )
    return msgspec.structs.replace(settings, providers=providers)


def _put_invalid_last(
    fields: MutableMapping[str, Any], tables: Sequence[Any], settings: Settings, base: Settings
) -> None:
    """Put the tables of providers that don't count behind the others, before providers are changed.

    `tables` are those of the file. One that doesn't count, and that the user has set since, is emptied.
    """
    current = fields["providers"]
    set_names = {provider.name for provider in settings.providers if base.provider(provider.name) is None}
    valid: list[Any] = []
    invalid: list[Any] = []
    for table, (_, provider) in zip(list(current), _read_providers(tables), strict=True):
        if isinstance(provider, Provider):
            valid.append(table)
        else:
            invalid.append(table)
    valid_names = {table["name"] for table in valid}
    for table in invalid:
        name = _entry_name(table)
        if name in set_names and name not in valid_names:
            _empty(table)
    current.clear()
    current.extend([*valid, *invalid])


def _empty(table: Any) -> None:
    """Take all that this version knows from the table of a provider, but for its name."""
    for name in [name for name in table if name in Provider.__struct_encode_fields__]:
        if name != "name":
            del table[name]


def _convert_fields(fields: Mapping[str, Any], others: Settings) -> tuple[Settings, dict[str, str]]:
    """Return the settings of these fields, and why some don't count: these are as in `others`."""
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for field in msgspec.structs.fields(Settings):
        if field.name not in fields:
            continue
        value = fields[field.name]
        if field.name == "providers" and isinstance(value, list):
            values[field.name] = tuple(_convert_providers(value, errors, others))
            continue
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            errors[field.name] = decoding_fault(error).rstrip(".")
            values[field.name] = getattr(others, field.name)
    return Settings(**values), errors


def _convert_providers(
    entries: Sequence[Any], errors: dict[str, str], others: Settings
) -> Iterator[Provider]:
    read = list(_read_providers(entries))
    names = {provider.name for _, provider in read if isinstance(provider, Provider)}
    for entry, provider in read:
        if isinstance(provider, Provider):
            yield provider
            continue
        name = _entry_name(entry)
        errors[f"providers.{name}"] = provider
        previous = others.provider(name)
        if previous is not None and name not in names:
            names.add(name)
            yield previous


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
