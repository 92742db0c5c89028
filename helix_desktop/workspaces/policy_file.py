"""A workspace's policy.toml, which users also edit by hand."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.config.toml_file import backup_damaged, read_fields, update_fields, write_fields
from helix_desktop.context.policy_numbers import UNREAD_FIELDS, ContextPolicy, policy_fields, policy_from
from helix_desktop.domain.errors import HelixError, SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.translatable_text import (
    TextContext,
    TranslatableText,
    error_reason,
    join_sentences,
    system_reason,
)
from helix_desktop.system.files import read_regular, write_text_durably

text = TextContext("Workspaces")


def check_replaceable(path: Path, what: TranslatableText) -> None:
    """Raise HelixError, which says `what` was not saved, if a file can't be read: it may be intact."""
    try:
        read_fields(path, back_up=False)
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

POLICY_FILE = "policy.toml"


class PolicyFile:
    def __init__(self, folder: Path) -> None:
        """`folder` is the workspace's data folder."""
        self.path = folder / POLICY_FILE

    def load(self) -> ContextPolicy:
        """Read the policy; the default one if there is no file. Raises SettingsDamaged naming the line."""
        try:
            return policy_from(read_fields(self.path, back_up=False))
        except ValueError as error:
            why, field = _explain(error)
            line = self._line_of(field)
            raise SettingsDamaged(
                text("The policy file {file} is invalid.", file=self.path),
                text("Line {line}: {reason}", line=line, reason=why) if line else why,
                text("Correct the file or delete it."),
                remedies=("policy_settings",),
            ) from error

    def fields(self) -> dict[str, Any]:
        """Return what the file says, as it is written there; nothing where it can't be read."""
        try:
            return read_fields(self.path, back_up=False)
        except SettingsDamaged:
            return {}

    def unread_fields(self) -> list[str]:
        """Return the fields that the file has and that this version doesn't read, in alphabetical order."""
        return sorted(UNREAD_FIELDS & self.fields().keys())

    def save(self, policy: ContextPolicy) -> None:
        """Write the policy; comments and lines that say the same stay as they are.

        Raises HelixError; then the previous one is unchanged.
        """
        check_replaceable(self.path, _NOT_SAVED)
        own = msgspec.structs.asdict(policy)
        same = {name: value for name, value in self.fields().items() if own.get(name) == value}
        try:
            update_fields(self.path, same | policy_fields(policy))
        except OSError as error:
            raise save_error(_NOT_SAVED, self.path.parent, error) from error

    def create(self, policy: ContextPolicy, comment: str) -> None:
        """Write the policy to a file that is missing, below a comment of one line. Raises HelixError."""
        try:
            write_text_durably(self.path, f"# {comment}\n")
        except OSError as error:
            raise save_error(_NOT_SAVED, self.path.parent, error) from error
        self.save(policy)

    def replace(self, policy: ContextPolicy) -> None:
        """Overwrite a damaged policy file after backing it up. Raises HelixError if it is unreadable."""
        backup_damaged(self.path)
        check_replaceable(self.path, _NOT_SAVED)
        try:
            write_fields(self.path, policy_fields(policy))
        except OSError as error:
            raise save_error(_NOT_SAVED, self.path.parent, error) from error

    def _line_of(self, field: str) -> int:
        """Return the number of the line that sets a field; 0 if none does."""
        lines: list[str] = []
        with contextlib.suppress(OSError, UnicodeDecodeError):
            lines = read_regular(self.path).decode("utf-8").splitlines()
        pattern = re.compile(rf"\s*[\"']?{re.escape(field)}[\"']?\s*[.=]")
        return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 0)


def _explain(error: ValueError) -> tuple[TranslatableText, str]:
    """Explain an error of a policy's fields; return a sentence and the field's name, or the first word."""
    reason = error_reason(error)
    field = str(error.args[1]) if len(error.args) > 1 else reason.partition(" ")[0]
    if isinstance(reason, TranslatableText) and reason.endswith("."):
        return reason, field
    return text("{reason}.", reason=reason), field
