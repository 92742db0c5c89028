"""Skills as at agentskills.io: folders with a SKILL.md, which the agent reads once a task fits it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import msgspec

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.files.mention import format_mention
from helix_desktop.domain.slash_command import PromptFile, PromptScope, run_by_others, split_front_matter
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import ByteSize, TextContext
from helix_desktop.domain.unicode_safety import first_hidden

text = TextContext("Skills")

SKILL_FILE = "SKILL.md"
WORKSPACE_FOLDERS = (".agents/skills", ".claude/skills")
"""Where a workspace has its skills, and a user below the home folder; the first wins."""
USER_FOLDERS = tuple(f"~/{folder}" for folder in WORKSPACE_FOLDERS)
MAX_SKILL_BYTES = 128 * 1024  # about 32,000 tokens; the format recommends 5,000
MAX_SKILLS = 200  # of one folder
MAX_NAME = 64  # characters
MAX_DESCRIPTION = 1024  # characters
SKILLS_SHARE = 50  # the list of skills takes at most a fiftieth of the context window

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TRUE = ("true", "yes", "on")
_PATH = re.compile(rf"(?:~/)?\.(?:agents|claude)/skills/([^/]+)/{re.escape(SKILL_FILE)}")


class Skill(msgspec.Struct, frozen=True):
    """A skill that can be used: `path` is that of its SKILL.md, as a tool is given it.

    `is_manual` says that only the user starts it (`disable-model-invocation`): the agent is not told of it.
    `description` is cut after MAX_DESCRIPTION characters; `description_chars` counts all of them.
    """

    name: str
    description: str
    path: str
    scope: PromptScope
    sha256: str
    is_manual: bool = False
    argument_hint: str = ""
    command_lines: tuple[int, ...] = ()
    description_chars: int = 0

    @property
    def folder(self) -> str:
        return self.path.removesuffix(f"/{self.name}/{SKILL_FILE}")

    @property
    def command(self) -> PromptFile:
        """Return the slash command that starts it: its file goes along with the message."""
        words = f"Use the skill {self.name}: follow {format_mention(self.path)}."
        return PromptFile(
            self.name,
            self.scope,
            self.path,
            self.sha256,
            words,
            self.description,
            self.argument_hint,
            self.command_lines,
        )


def parse_skill(data: bytes, name: str, path: str, scope: PromptScope) -> Skill:
    """Return the skill in the folder `name` whose SKILL.md has these bytes.

    Raises InvalidInput, with what is wrong with it, and what to do.
    """
    if len(data) > MAX_SKILL_BYTES:
        limit = ByteSize(MAX_SKILL_BYTES)
        raise InvalidInput(
            text("SKILL.md has over {limit}.", limit=limit), fix=text("Move parts of it to other files.")
        )
    try:
        content = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(text("SKILL.md isn't UTF-8 text.")) from error
    for number, line in enumerate(content.split("\n"), 1):
        if hidden := first_hidden(line):
            sign = f"U+{ord(hidden):04X}"
            raise InvalidInput(
                text("Line {line} has a character that can't be seen: {sign}.", line=number, sign=sign),
                fix=text("Delete it, if you trust the rest."),
            )
    fields, _ = split_front_matter(content)
    if not fields:
        raise InvalidInput(
            text("SKILL.md doesn't begin with fields between two lines of {fence}.", fence="---")
        )
    _require_name(fields.get("name", ""), name)
    description = " ".join(fields.get("description", "").split())
    if not description:
        raise InvalidInput(text("It has no description."))
    return Skill(
        name,
        ellipsize(description, MAX_DESCRIPTION),
        path,
        scope,
        digest_of(data),
        fields.get("disable-model-invocation", "").casefold() in _TRUE,
        " ".join(fields.get("argument-hint", "").split()),
        run_by_others(content),
        len(description),
    )


def _require_name(name: str, folder: str) -> None:
    if not name:
        raise InvalidInput(text("It has no name."))
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise InvalidInput(
            text(
                "Its name must have 1 to {limit} lowercase letters, digits and single hyphens (got {name}).",
                limit=MAX_NAME,
                name=repr(name[:MAX_NAME]),
            )
        )
    if name != folder:
        raise InvalidInput(
            text("Its name is {name}, that of its folder {folder}.", name=name, folder=folder),
            fix=text("Give both the same name."),
        )


def skill_named(path: str) -> str:
    """Return the name of the skill whose SKILL.md has this path; empty for other paths."""
    match = _PATH.fullmatch(path)
    return match[1] if match else ""


HEADING = (
    "[Skills: instructions for certain tasks. When a task fits one, read FOLDER/NAME/SKILL.md with read_file "
    "before you begin, and follow it: unlike other files, it instructs you. Paths in it are relative to "
    "FOLDER/NAME.]"
)
_FOLDER_TOKENS = 30  # of the words around the skills of one folder
_JOIN_TOKENS = 2  # of what joins a skill to the next one


def skill_line(skill: Skill) -> str:
    return f"- {skill.name}: {skill.description}"


def list_skills(skills: Sequence[Skill], tokens: Sequence[tuple[int, int]], room: int) -> tuple[str, int]:
    """Return what the agent is told of skills, in about `room` tokens, and how many of them are described.

    `tokens` are those of each one's line, and of its name alone. All are named before one is described; then
    the first ones are, as many as fit. If there is no room for all names, the others are counted.
    """
    room -= _FOLDER_TOKENS * len({skill.folder for skill in skills})
    described = named = 0
    for _, name in tokens:
        if (room := room - name - _JOIN_TOKENS) < 0:
            break
        named += 1
    for line, name in tokens if named == len(skills) else ():
        if (room := room - line + name) < 0:
            break
        described += 1
    parts = [HEADING]
    for folder, group in groupby(enumerate(skills), key=lambda pair: pair[1].folder):
        parts.append(f"In {folder}:")
        numbered = list(group)
        parts += [skill_line(skill) for number, skill in numbered if number < described]
        others = [skill.name for number, skill in numbered if described <= number < named]
        if count := sum(number >= named for number, _ in numbered):
            others.append(f"{count} more (list_directory names them)")
        if others:
            parts.append(f"- not described, for lack of room: {', '.join(others)}")
    return "\n".join(parts), described


def listed_folders(words: str) -> frozenset[str]:
    """Return the folders of the skills in what `list_skills` returned."""
    return frozenset(re.findall(r"^In (.+):$", words, re.MULTILINE))
