"""Reads a configuration of git as git does, with the place of each setting in its bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import msgspec

from helix_desktop.permissions.auto_run import runs_program

_BOM = "\ufeff".encode().decode("latin-1")
_HEADER = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]')
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_BLANKS = " \t\r"
_WORDS = re.compile(r"""[^\s"'!|&;()<>=$`]+|[!|&;(`]""")
_OPERATOR = re.compile(r"[!|&;(`]")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}

PROGRAMS_OFF = (
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
)
"""Settings with which git runs no program that a repository names, but those for differences and filters."""

USERS_CONFIG_VARIABLES = (
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES",
)  # fmt: skip
"""The user's variables that hold for git that reads, too: where their configuration is, where git looks."""


class InvalidConfig(ValueError):
    """A configuration that git would refuse."""


class GitSetting(msgspec.Struct, frozen=True):
    """A setting: its section and key in lower case, the subsection as it is, and its bytes `start` to `end`.

    A `value` of None stands for a switch without one.
    """

    section: str
    subsection: str
    key: str
    value: str | None
    start: int = 0
    end: int = 0

    @property
    def name(self) -> str:
        return _readable(".".join(filter(None, (self.section, self.subsection, self.key))))

    @property
    def line(self) -> str:
        return self.name if self.value is None else f"{self.name} = {_readable(self.value)}"

    @property
    def names_program(self) -> bool:
        """True if git runs a program because of it, or reads another configuration."""
        return runs_program(self.section, self.subsection, self.key, self.value)


def _readable(latin: str) -> str:
    return latin.encode("latin-1").decode("utf-8", "replace")


def parse_git_config(data: bytes) -> list[GitSetting]:
    """Return the settings of a configuration. Raises InvalidConfig."""
    text = data.decode("latin-1")  # a character is a byte
    at = len(_BOM) if text.startswith(_BOM) else 0
    settings: list[GitSetting] = []
    section = subsection = ""
    while at < len(text):
        sign = text[at]
        if sign in _BLANKS or sign == "\n":
            at += 1
        elif sign in "#;":
            at = _line_end(text, at)
        elif sign == "[":
            header = _HEADER.match(text, at)
            if header is None:
                raise InvalidConfig
            section, _, dotted = header[1].lower().partition(".")
            quoted = re.sub(r"\\(.)", r"\1", header[2] or "")
            subsection, at = ".".join(filter(None, (dotted, quoted))), header.end()
        else:
            name = _NAME.match(text, at)
            if name is None:
                raise InvalidConfig
            value, end = _value(text, name.end())
            settings.append(GitSetting(section, subsection, name[0].lower(), value, at, end))
            at = end
    return settings


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str | None, int]:
    """Return the value that begins behind a key, and where it ends: at the end of a line."""
    while at < len(text) and text[at] in " \t\r":
        at += 1
    if at == len(text) or text[at] == "\n":
        return None, at
    if text[at] != "=":
        raise InvalidConfig
    at += 1
    signs: list[str] = []
    is_quoted = False
    kept = 0  # characters that stand before blanks at the end
    while at < len(text) and text[at] != "\n":
        sign = text[at]
        at += 1
        if sign == "\\":
            if text.startswith("\r\n", at):
                at += 1
            if at == len(text):
                break
            escaped = text[at]
            at += 1
            if escaped == "\n":
                continue
            if escaped not in _ESCAPES:
                raise InvalidConfig
            signs.append(_ESCAPES[escaped])
        elif sign == '"':
            is_quoted = not is_quoted
            kept = len(signs)
            continue
        elif sign in "#;" and not is_quoted:
            at = _line_end(text, at)
            break
        elif sign in _BLANKS and not is_quoted:
            if signs:
                signs.append(" ")
            continue
        else:
            signs.append(sign)
        kept = len(signs)
    if is_quoted:
        raise InvalidConfig
    return "".join(signs[:kept]), at


def files_in_value(value: str, top: str, home: str, planned: str = "") -> Iterator[str]:
    """Yield the files that a program's line names by a path, links resolved; git starts it in `top`.

    `planned` is a file that counts although it may not be there yet.

    A command without a slash is found by the PATH. Folders that the line names may be where it goes first.
    """
    folders, names = [top], list[str]()
    is_command = True
    for word in _WORDS.findall(value.encode("latin-1").decode(errors="surrogateescape")):
        is_operator = bool(_OPERATOR.fullmatch(word))
        if not is_operator and "\0" not in word:
            name = f"{home}/{word[2:]}" if word.startswith("~/") else word
            if os.path.isdir(folder := os.path.join(top, name)):
                folders.append(folder)
            elif "/" in word or not is_command:
                names.append(name)
        is_command = is_operator
    for folder in folders:
        for path in (os.path.realpath(os.path.join(folder, name)) for name in names):
            if path == planned or os.path.isfile(path):
                yield path


def without_settings(data: bytes, settings: Iterable[GitSetting]) -> bytes:
    """Return a configuration without some of its settings; all else stays byte for byte."""
    for setting in sorted(settings, key=lambda setting: setting.start, reverse=True):
        end = setting.end
        start = data.rfind(b"\n", 0, setting.start) + 1
        is_alone = not data[start : setting.start].strip()
        if is_alone and data[end : end + 1] == b"\n":
            end += 1
        data = data[: start if is_alone else setting.start] + data[end:]
    return data
