"""A workspace's policy.toml, which users also edit by hand, the stored changes to profiles, their storage."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Protocol

from helix_desktop.context.policy import ContextPolicy, policy_fields, policy_from
from helix_desktop.domain.errors import HelixError, SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import (
    TextContext,
    TranslatableText,
    error_reason,
    join_sentences,
    system_reason,
)
from helix_desktop.system.files import read_regular

text = TextContext("Workspaces")


class TomlStorage(Protocol):
    """Reads and writes TOML files: durably, atomically, with backups of damaged files."""

    def read(self, path: Path, back_up: bool = True) -> dict[str, Any]:
        """Return the file's content; empty if there is no file. Raises SettingsDamaged.

        With `back_up` a damaged file is copied next to it, because it may be overwritten. One that can't be
        read raises SettingsUnreadable, and is never overwritten.
        """
        ...

    def update(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file's content; comments stay. Raises OSError."""
        ...

    def backup_damaged(self, path: Path) -> None:
        """Copy a damaged file to a free name next to it, if possible."""
        ...

    def write(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file. Raises OSError."""
        ...


def check_replaceable(files: TomlStorage, path: Path, what: TranslatableText) -> None:
    """Raise HelixError, which says `what` was not saved, if a file can't be read: it may be intact."""
    try:
        files.read(path, back_up=False)
    except SettingsUnreadable as error:
        raise HelixError(what, join_sentences(error.what, error.why), error.fix) from error
    except SettingsDamaged:
        return


def save_error(what: TranslatableText, folder: Path, error: OSError) -> HelixError:
    """Return the error for something that could not be saved and is unchanged."""
    if isinstance(error, FileNotFoundError):
        return gone_error(what, folder)
    return HelixError(
        what,
        system_reason(error),
        text("Free up disk space or make {folder} writable, then try again.", folder=folder),
    )


def gone_error(what: TranslatableText, folder: Path) -> HelixError:
    """Return the error for something that was not saved because a folder of the app's own data is gone."""
    return HelixError(
        what,
        text("{folder} was deleted or moved, or its drive was disconnected.", folder=folder),
        text("Put it back and try again, or quit and start Helix Desktop to continue without it."),
    )


_NOT_SAVED = text("The policy wasn't saved.")

POLICY_FILE, CHANGES_FILE = "policy.toml", "policy-changes.toml"

ProfileChanges = dict[str, dict[str, Any]]
"""The user's own values that are not in use now, by profile."""


class PolicyFile:
    """The policy of one workspace on disk."""

    def __init__(self, folder: Path, files: TomlStorage) -> None:
        """`folder` is the workspace's data folder."""
        self.path, self._changes_path = folder / POLICY_FILE, folder / CHANGES_FILE
        self._files = files

    def load(self) -> ContextPolicy:
        """Read the policy; the default one if there is no file. Raises SettingsDamaged naming the line."""
        try:
            return policy_from(self._files.read(self.path, back_up=False))
        except ValueError as error:
            why, field = _explain(error)
            line = self._line_of(field)
            raise SettingsDamaged(
                text("The policy file {file} is invalid.", file=self.path),
                text("Line {line}: {reason}", line=line, reason=why) if line else why,
                text("Correct the file or delete it."),
            ) from error

    def save(self, policy: ContextPolicy) -> None:
        """Write the policy; comments stay. Raises HelixError; then the previous one is unchanged."""
        check_replaceable(self._files, self.path, _NOT_SAVED)
        try:
            self._files.update(self.path, policy_fields(policy))
        except OSError as error:
            raise save_error(_NOT_SAVED, self.path.parent, error) from error

    def replace(self, policy: ContextPolicy) -> None:
        """Overwrite a damaged policy file after backing it up. Raises HelixError if it is unreadable."""
        self._files.backup_damaged(self.path)
        self._write(self.path, policy_fields(policy))

    def changes(self) -> ProfileChanges:
        """Read the changes that can be restored; those that are no longer valid are left out."""
        return {profile: own for profile, own in self._stored().items() if _is_valid_policy(profile, own)}

    def replace_policy(self, current: ContextPolicy, policy: ContextPolicy) -> None:
        """Write another policy; the user's own values that it replaces can be restored. Raises HelixError.

        Stored values that it uses again are no longer stored.
        """
        check_replaceable(self._files, self._changes_path, _NOT_SAVED)
        stored, own = self._stored(), _own_fields(policy)
        self.save(policy)
        restorable = stored.get(policy.profile, {})
        stored[policy.profile] = {name: value for name, value in restorable.items() if own.get(name) != value}
        swapped = {name for name, value in restorable.items() if own.get(name) == value}
        replaced = _replaced_fields(current, policy, swapped)
        stored[current.profile] = {**stored.get(current.profile, {}), **replaced}
        self._store(stored)

    def store_changes(self, current: ContextPolicy, policy: ContextPolicy | None) -> None:
        """Store the user's own values of a policy that another one, or none, replaces. Raises HelixError."""
        stored = self._stored()
        replaced = _replaced_fields(current, policy, frozenset())
        stored[current.profile] = {**stored.get(current.profile, {}), **replaced}
        self._store(stored)

    def _store(self, changes: ProfileChanges) -> None:
        """Write the stored changes if they differ from those on disk."""
        changes = {profile: own for profile, own in changes.items() if own}
        if changes != self._stored():
            self._write(self._changes_path, changes)

    def _stored(self) -> ProfileChanges:
        try:
            tables = self._files.read(self._changes_path)
        except SettingsDamaged:  # it was backed up, or can't be read and stays as it is
            return {}
        return {name: dict(table) for name, table in tables.items() if isinstance(table, dict) and table}

    def _write(self, path: Path, fields: Mapping[str, Any]) -> None:
        check_replaceable(self._files, path, _NOT_SAVED)
        try:
            self._files.write(path, fields)
        except OSError as error:
            raise save_error(_NOT_SAVED, path.parent, error) from error

    def _line_of(self, field: str) -> int:
        """Return the number of the line that sets a field; 0 if none does."""
        lines: list[str] = []
        with contextlib.suppress(OSError, UnicodeDecodeError):
            lines = read_regular(self.path).decode("utf-8").splitlines()
        pattern = re.compile(rf"\s*[\"']?{re.escape(field)}[\"']?\s*[.=]")
        return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 0)


def _own_fields(policy: ContextPolicy) -> dict[str, Any]:
    return {name: value for name, value in policy_fields(policy).items() if name != "profile"}


def _replaced_fields(
    current: ContextPolicy, policy: ContextPolicy | None, swapped: Set[str]
) -> dict[str, Any]:
    """Return the own fields that are gone under another policy, or have one of the `swapped` values there."""
    own = _own_fields(policy) if policy is not None and policy.profile == current.profile else {}
    return {
        name: value
        for name, value in _own_fields(current).items()
        if name not in own or (name in swapped and own[name] != value)
    }


def _is_valid_policy(profile: str, fields: Mapping[str, Any]) -> bool:
    try:
        return bool(_own_fields(policy_from({**fields, "profile": profile})))
    except (ValueError, HelixError):
        return False


def _explain(error: ValueError) -> tuple[TranslatableText, str]:
    """Explain an error of a policy's fields; return a sentence and the field's name, or the first word."""
    reason = error_reason(error)
    field = str(error.args[1]) if len(error.args) > 1 else reason.partition(" ")[0]
    if isinstance(reason, TranslatableText) and reason.endswith("."):
        return reason, field
    return text("{reason}.", reason=reason), field
