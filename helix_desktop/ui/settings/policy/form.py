"""A policy as a form: the numbers that people change, within bounds; and its files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.policy_numbers import (
    FIELDS,
    FORM,
    PROFILES,
    ContextPolicy,
    conflicting_fields,
    policy_fields,
    policy_from,
)
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.errors import HelixError, SettingsDamaged
from helix_desktop.domain.messages import MCP_PREFIX
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import pane, row
from helix_desktop.ui.kit.forms import Field, Form, Group, Line, Toggle, Values, all_fields
from helix_desktop.ui.kit.intents import OpenSettings
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import open_text_file
from helix_desktop.words.numbers import format_integer, format_percent
from helix_desktop.words.policies import profile_name
from helix_desktop.words.translation import Translator, current_language, translate
from helix_desktop.workspaces.policy_file import PolicyFile

tr = Translator("Settings: Policy")

_FILE_ERROR = "policy-file"


class PolicyFiles(QObject):
    """Reads and writes the files; one with an error is said in the window, and the running policy stays.

    Where the file had its error when the workspace was opened, no policy is known: nothing is sent.
    """

    changed = Signal()
    """The policy of the workspace on screen, or what is wrong with its file, may be another one."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._errors: dict[str, SettingsDamaged] = {}
        session.changed.connect(self.read)

    def of(self, workspace: OpenWorkspace) -> PolicyFile:
        return self._session.app.registry.policy_file(workspace.id)

    def error_text(self) -> str:
        error = self._errors.get(self._session.workspace_id)
        return translate(error.why) if error is not None else ""

    def unread_text(self) -> str:
        """Return the line that names the fields of the file that are read no longer; empty if it has none."""
        workspace = self._session.opened
        names = self.of(workspace).unread_fields() if workspace is not None else []
        if not names:
            return ""
        return tr("No longer used in policy.toml: {fields}.", fields=", ".join(names))

    def error_effect(self) -> str:
        """Return what the error of the workspace on screen means until the file is fixed."""
        workspace = self._session.opened
        if workspace is not None and workspace.policy_error is not None:
            return tr("Nothing is sent or compacted until you fix the file.")
        return tr("The previous policy stays in use until you fix the file.")

    def save(self, workspace: OpenWorkspace, policy: ContextPolicy) -> None:
        """Let a workspace have another policy. Raises HelixError."""
        self.of(workspace).save(policy)
        self._use(workspace, policy)

    def open(self) -> None:
        workspace = self._session.opened
        if workspace is None:
            return
        file = self.of(workspace)
        try:
            if not file.path.exists():
                comment = tr("The context policy of this workspace. The guide lists every number.")
                file.create(workspace.policy, comment)
            open_text_file(file.path)
        except HelixError as error:
            self._session.actions.show_error(error)

    def replace(self) -> None:
        """Write the running policy over a file with an error, of which a copy is kept."""
        workspace = self._session.opened
        if workspace is None:
            return
        try:
            self.of(workspace).replace(workspace.policy)
        except HelixError as error:
            self._session.actions.show_error(error)
        else:
            self._use(workspace, workspace.policy)

    def change(self, name: str, value: object) -> None:
        """Change a field of the policy of the workspace on screen, and save it; say what keeps it from that.

        Another profile brings its own numbers, but for those that only the file has.
        """
        workspace = self._session.opened
        if workspace is None or not self.reload(workspace):
            return
        own = {**self.of(workspace).fields(), **policy_fields(workspace.policy)}
        if name == "profile":
            own = {key: own[key] for key in own if key in FILE_FIELDS}
        try:
            self.save(workspace, policy_from({**own, name: value}))
        except ValueError:
            self._session.perform(OpenSettings("policy"))  # numbers of the file don't fit: shown there
        except HelixError as error:
            self._session.actions.show_error(error)

    def reload(self, workspace: OpenWorkspace) -> bool:
        """Use the policy in the file if it was edited; False when it has an error: the running one stays."""
        try:
            policy = self.of(workspace).load()
        except SettingsDamaged as error:
            previous = self._errors.get(workspace.id)
            if previous is not None and previous.why != error.why:
                self._session.notices.end(_FILE_ERROR)  # it names another line
            self._errors[workspace.id] = error
            if workspace.policy_error is not None:
                workspace.policy_error = error
            self._show_error()
            return False
        if self._errors.pop(workspace.id, None) is not None or policy != workspace.policy:
            self._use(workspace, policy)
        return True

    def _use(self, workspace: OpenWorkspace, policy: ContextPolicy) -> None:
        self._errors.pop(workspace.id, None)
        workspace.policy = policy
        self._show_error()

    def read(self) -> None:
        """Use the policy in the file of the workspace on screen if it was edited since it was read."""
        workspace = self._session.opened
        if workspace is not None:
            if workspace.policy_error is not None:
                self._errors[workspace.id] = workspace.policy_error
            stamp = _file_stamp(self.of(workspace).path)
            if self._stamps.setdefault(workspace.id, stamp) != stamp:
                self._stamps[workspace.id] = stamp
                self.reload(workspace)
        self._show_error()

    def _show_error(self) -> None:
        why = self.error_text()
        notices = self._session.notices
        if not why:
            notices.end(_FILE_ERROR)
        elif _FILE_ERROR not in notices.names():
            notices.notify(
                Notice(
                    _FILE_ERROR,
                    tr("The policy file has an error."),
                    why,
                    self.error_effect(),
                    answers=(
                        Answer(tr("Open file"), self.open, "open"),
                        Answer(tr("Replace file"), self.replace, "replace"),
                    ),
                    level="error",
                    workspace_id=self._session.workspace_id,
                )
            )
        self.changed.emit()


def _file_stamp(path: Path) -> tuple[int, int, int]:
    """Tell one version of a file from another: when it was written, its size and inode; zeros without one."""
    try:
        stat = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


SLIDER_FIELDS = frozenset({"profile", "enabled"})
FILE_FIELDS = (
    frozenset(ContextPolicy.__struct_fields__) - SLIDER_FIELDS - {name for _, names in FORM for name in names}
)
"""What only `policy.toml` has; the form leaves it as it is."""
_MOST_TYPED = 10_000_000  # of a number that has no maximum


class Profile(msgspec.Struct, frozen=True):
    """A set of numbers by name, its title, and what it means in a sentence."""

    name: str
    title: str
    description: str


class PolicyValues(Values):
    """The numbers of the policy on the page; `change` makes another policy of one that was changed."""

    policy = PROFILES["balanced"]

    def __init__(self, change: Callable[[str, Any], None] = lambda name, value: None) -> None:
        super().__init__()
        self.change = change
        """Raises ValueError with a sentence for a number that doesn't work together with others."""

    def get(self, name: str) -> Any:
        return getattr(self.policy, name)

    def set(self, name: str, value: Any) -> None:
        self.change(name, value)

    def default(self, name: str) -> Any:
        return getattr(PROFILES[self.policy.profile], name)

    def use(self, policy: ContextPolicy) -> None:
        before = self.policy
        self.policy = policy
        for name in ContextPolicy.__struct_fields__:
            if getattr(before, name) != getattr(policy, name):
                self.changed.emit(name)


class PolicyLine(Line, frozen=True, kw_only=True):
    """A value of the policy with its unit, and the way back to what the profile says."""

    room: int = 1  # for its effect on the session, or what is wrong

    def in_text(self, value: Any) -> str:
        raise NotImplementedError

    def beside(self, form: Form) -> QWidget:
        reset = PushButton("", "link", "undo-2", px=13, name="reset")
        values = form.values
        name = translate(self.label)
        assert isinstance(values, PolicyValues)
        reset.clicked.connect(lambda: form.write(self.name, values.default(self.name)))

        def show(changed: str) -> None:
            if changed in (self.name, "profile"):
                default = self.in_text(values.default(self.name))
                reset.setText(default)
                reset.setToolTip(tr("Reset to profile default ({value})", value=default))
                words = tr("{name}: reset to profile default ({value})", name=name, value=default)
                reset.setAccessibleName(words)
                reset.setVisible(values.get(self.name) != values.default(self.name))

        values.changed.connect(show)
        show(self.name)
        return pane(row(label(translate(self.unit), "faint"), reset, gap=6))


class Number(PolicyLine, frozen=True, kw_only=True):
    """A number with bounds. With `is_percent` it is stored as a part of 1 and shown times 100."""

    minimum: float = 0
    maximum: float = _MOST_TYPED
    is_percent: bool = False
    width_px: int = 110

    @property
    def is_whole(self) -> bool:
        return isinstance(getattr(PROFILES["balanced"], self.name), int)

    def read(self, text: str) -> float:
        try:
            number = current_language().read_decimal(
                text.replace("\u2009", "").strip().removesuffix("%").strip()
            )
        except ValueError:
            raise ValueError(tr("Enter a number.")) from None
        if self.is_whole and number != int(number):
            raise ValueError(tr("Enter a whole number."))
        scale = 100 if self.is_percent else 1
        if not self.minimum * scale <= number <= self.maximum * scale:
            low = self.in_text(self.minimum)
            high = self.in_text(self.maximum)
            raise ValueError(tr("Enter a number from {low} to {high}.", low=low, high=high))
        if self.is_percent:
            return round(number / 100, 6)
        return int(number) if self.is_whole else number

    def typed(self, value: float) -> str:
        if self.is_percent:
            return f"{value * 100:g}"
        return format_integer(int(value)) if self.is_whole else f"{value:g}"

    def in_text(self, value: float) -> str:
        if self.is_percent:
            return format_percent(value)
        return format_integer(int(value)) if value == int(value) else f"{value:g}"


class ToolNames(PolicyLine, frozen=True, kw_only=True):
    """Names of tools, separated by commas: Helix's own, and those of MCP servers."""

    def read(self, text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
        for name in names:
            if name not in BUILTIN_TOOLS and not name.startswith(MCP_PREFIX):
                raise ValueError(tr("“{name}” isn't the name of a tool.", name=name))
        return names

    def typed(self, value: Sequence[str]) -> str:
        return ", ".join(value)

    def in_text(self, value: Sequence[str]) -> str:
        return self.typed(value) or tr("none", "tools")


def conflict_text(fields: Mapping[str, Any]) -> str:
    """Return why these numbers cannot work together, by their names in the form, else in the file."""
    conflict = conflicting_fields(fields)
    if conflict is None:
        return tr("These numbers don't work together.")
    labels = {field.name: translate(field.label) for field in all_fields(POLICY)}
    lower, upper = (labels.get(key, key) for key in conflict)
    if fields[conflict[0]] == fields[conflict[1]]:
        return tr("“{lower}” must be below “{upper}”.", lower=lower, upper=upper)
    return tr("“{lower}” can't be above “{upper}”.", lower=lower, upper=upper)


def profiles_beside(policy: ContextPolicy) -> tuple[Profile, ...]:
    """Return the profiles to choose from, the policy's own with its numbers; Plain only if a file has it."""
    is_plain = policy.enabled and policy.profile == "plain"
    names = [name for name in PROFILES if name != "plain" or is_plain]
    return tuple(_profile(policy if name == policy.profile else PROFILES[name]) for name in names)


def _profile(policy: ContextPolicy) -> Profile:
    share = format_percent(policy.handover_at)
    descriptions = {
        "lean": tr("Sends the least: outputs are cached and older messages compacted soonest."),
        "balanced": tr("The default. Older outputs are cached; older messages are compacted early."),
        "classic": tr(
            "Keeps outputs longer, and older messages until the context is {share} full.", share=share
        ),
        "plain": tr(
            "For comparison: caches old outputs at once, and compacts older messages only at {share}. "
            "Changes the context most often, and can cost more than Off.",
            share=share,
        ),
        "off": tr("Nothing leaves the context. A request that doesn't fit is stopped with an error."),
    }
    return Profile(policy.profile, profile_name(policy.profile), descriptions[policy.profile])


def _line(name: str) -> Field:
    field = FIELDS[name]
    if field.is_switch:
        return Toggle(name, field.label, field.hint, words=field.unit)
    if field.is_names:
        return ToolNames(name, field.label, field.hint, unit=field.unit)
    return Number(
        name,
        field.label,
        field.hint,
        unit=field.unit,
        minimum=field.minimum,
        maximum=_MOST_TYPED if field.maximum is None else field.maximum,
        is_percent=field.is_share,
    )


POLICY = tuple(Group(title, tuple(map(_line, names))) for title, names in FORM)
