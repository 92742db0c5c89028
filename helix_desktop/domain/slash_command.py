"""Slash commands as they are typed, and prompt files: Markdown files whose text is sent by their command."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.files.content import utf16_encoding
from helix_desktop.domain.text_format import first_line
from helix_desktop.domain.unicode_safety import first_hidden

SLASH = "/"
FOLDER_MARK = ":"
"""Stands between a folder and a name: `.agents/commands/web/test.md` is `/web:test`."""
MAX_NAME = 64  # characters
_NEAR = 0.6  # how alike two names are, 0..1, before one is proposed for the other


class SlashInput(msgspec.Struct, frozen=True):
    """A typed command: its name without the slash, and the rest of the message."""

    name: str
    arguments: str = ""


def parse_slash_input(text: str) -> SlashInput | None:
    """Return the command that a message is; None for every other text, also if it begins with a path.

    A space before the slash makes it a message.
    """
    if not text.startswith(SLASH):
        return None
    words = text[len(SLASH) :].split(maxsplit=1)
    if not words or not text.startswith(words[0], len(SLASH)) or not is_command_name(words[0]):
        return None
    return SlashInput(words[0], words[1].rstrip() if words[1:] else "")


def is_command_name(name: str) -> bool:
    """Return True if a name can be typed: letters, digits, `-`, `_`; before it folders, each with `:`."""
    return 0 < len(name) <= MAX_NAME and all(_is_simple_name(part) for part in name.split(FOLDER_MARK))


def _is_simple_name(name: str) -> bool:
    return name[:1].isalnum() and all(
        char.isalnum() or char in "-_" or unicodedata.category(char).startswith("M") for char in name
    )


def command_key(name: str) -> str:
    """Return what two names have in common that are typed alike: case and composed letters do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def nearest_command(name: str, names: Iterable[str]) -> str:
    """Return which of these names was probably meant; empty if none is near."""
    by_key = {command_key(candidate): candidate for candidate in names}
    key = command_key(name)
    longer = [candidate for candidate in by_key if candidate.startswith(key)]
    near = longer if len(longer) == 1 else difflib.get_close_matches(key, by_key, 1, _NEAR)
    return by_key[near[0]] if near else ""


SUFFIX = ".md"
WORKSPACE_FOLDERS = (".agents/commands", ".claude/commands")
"""Where a workspace has its prompt files; the first wins."""
MAX_PROMPT_BYTES = 64 * 1024  # about 16,000 tokens
PromptScope = Literal["workspace", "user"]
"""Where a prompt file is: in the workspace's folder, or in the user's data directory for all workspaces."""

_FENCE = "---"
_NO_BREAKS = {ord("\n"): None, ord("\t"): None}
_DESCRIPTION_CAP = 120  # characters
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)")
_BLOCK = re.compile(r"[|>][-+1-9]{0,2}(?:\s+#.*)?")
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\s+#.*)?')
_SINGLE_QUOTED = re.compile(r"'((?:[^']|'')*)'(?:\s+#.*)?")
_ESCAPE = re.compile(r'\\([\\"/nrt])')
_COMMENT = re.compile(r"(?:^|\s)#")
_PLACEHOLDER = re.compile(r"(\\?)\$(ARGUMENTS(?!\w)|[1-9](?!\d))")
_WORD = re.compile(r'"([^"]*)"(?!\S)|(\S+)')
# As other agents mark what they run: a line that begins with "!", !`command` within one, a fence with "!".
_RUN_BY_OTHERS = re.compile(r"^\s*!(?!\[)\S|(?<!\S)!`[^`]+`|^\s*```!")


class PromptSource(msgspec.Struct, frozen=True):
    """The prompt file that a message was made from: its command, where it was, the SHA-256 of its bytes.

    `arguments` is what was typed behind the command.
    """

    command: str
    path: str
    sha256: str
    arguments: str = ""

    @property
    def typed_text(self) -> str:
        return f"{SLASH}{self.command} {self.arguments}".rstrip()


class PromptFile(msgspec.Struct, frozen=True):
    """A prompt file that was read: its command's name, where it is, the SHA-256 of its bytes, and its text.

    `command_lines` are the lines of the file, from 1, that other agents would run; here they are text.
    `has_hidden` is True if characters in it cannot be seen.
    """

    name: str
    scope: PromptScope
    path: str
    sha256: str
    text: str
    description: str = ""
    argument_hint: str = ""
    command_lines: tuple[int, ...] = ()
    has_hidden: bool = False


def name_of(relative_path: str) -> str:
    """Return the name of a prompt file by its path below the folder: `web/test.md` is `web:test`."""
    return unicodedata.normalize("NFC", relative_path.removesuffix(SUFFIX).replace("/", FOLDER_MARK))


def parse_prompt_file(data: bytes, name: str, scope: PromptScope, path: str) -> PromptFile:
    """Return the prompt file with these bytes. Raises UnicodeDecodeError for what is not Unicode text."""
    content = data.decode(utf16_encoding(data) or "utf-8-sig").removeprefix("\ufeff").replace("\r\n", "\n")
    if "\0" in content:
        raise UnicodeDecodeError("utf-8", data, data.index(0), data.index(0) + 1, "not text")
    fields, text = split_front_matter(content)
    return PromptFile(
        name,
        scope,
        path,
        digest_of(data),
        text.strip(),
        first_line(fields.get("description", "") or text, _DESCRIPTION_CAP),
        first_line(fields.get("argument-hint", ""), _DESCRIPTION_CAP),
        run_by_others(content),
        bool(first_hidden(content.translate(_NO_BREAKS))),  # plain text is then known at a glance
    )


def run_by_others(content: str) -> tuple[int, ...]:
    """Return the lines, from 1, that other agents would run."""
    lines = enumerate(content.split("\n"), 1)
    return tuple(number for number, line in lines if "!" in line and _RUN_BY_OTHERS.search(line))


def split_front_matter(content: str) -> tuple[dict[str, str], str]:
    """Return the fields above the text, each on one line, and the text; without a closing line all is text.

    Of YAML it reads what stands in such files: `key: value`, quotes, text over several lines. A YAML library
    would refuse a colon inside a plain value, which is common there, and would read aliases and types, which
    nobody needs. What is nested belongs to the field above it.
    """
    lines = content.split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, content
    end = next((index for index, line in enumerate(lines) if index and line.rstrip() == _FENCE), 0)
    if not end:
        return {}, content
    found: dict[str, list[str]] = {}
    parts: list[str] = []
    for line in lines[1:end]:
        field = _FIELD.fullmatch(line.rstrip())
        if field:
            parts = found[field[1].lower()] = [field[2]]
        elif line[:1].isspace():
            parts.append(line.strip())
    fields = {
        key: " ".join(filter(None, parts[1:]))
        if _BLOCK.fullmatch(parts[0])
        else _scalar(" ".join(filter(None, parts)))
        for key, parts in found.items()
    }
    return fields, "\n".join(lines[end + 1 :])


def _scalar(value: str) -> str:
    """Return what a YAML value on one line says, without quotes and without the comment behind it."""
    if match := _DOUBLE_QUOTED.fullmatch(value):
        return _ESCAPE.sub(lambda escape: " " if escape[1] in "nrt" else escape[1], match[1]).strip()
    if match := _SINGLE_QUOTED.fullmatch(value):
        return match[1].replace("''", "'")
    return _COMMENT.split(value, maxsplit=1)[0].rstrip()


def split_arguments(arguments: str) -> list[str]:
    """Return the words of arguments; what stands between double quotes is one word."""
    return [match[1] if match[2] is None else match[2] for match in _WORD.finditer(arguments)]


def expand_prompt(text: str, arguments: str) -> str:
    """Return the message of a prompt file: `$ARGUMENTS` and `$1` to `$9` filled in, once.

    A backslash before the dollar keeps a placeholder as text. Arguments that no placeholder takes stand at
    the end, as a paragraph of their own: nothing that was typed is lost.
    """
    words = split_arguments(arguments)
    used: set[int] = set()

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        if match[2] == "ARGUMENTS":
            used.update(range(len(words)))
            return arguments.strip()
        index = int(match[2]) - 1
        used.add(index)
        return words[index] if index < len(words) else ""

    expanded = _PLACEHOLDER.sub(fill, text).strip()
    unused = [word for index, word in enumerate(words) if index not in used]
    rest = arguments.strip() if len(unused) == len(words) else " ".join(unused)
    return "\n\n".join(part for part in (expanded, rest) if part)
