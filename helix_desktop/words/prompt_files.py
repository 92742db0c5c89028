"""What is said of prompt files and skills, in the window and on the command line."""

from __future__ import annotations

from collections.abc import Iterator

from helix_desktop.domain.skills import MAX_DESCRIPTION, Skill
from helix_desktop.domain.slash_command import PromptFile
from helix_desktop.words.translation import Translator

tr = Translator("Prompt files")


def prompt_warnings(file: PromptFile) -> Iterator[str]:
    """Yield what the user should know of a prompt file whose text is sent, each as a sentence."""
    if file.command_lines:
        yield tr.plural(
            len(file.command_lines),
            "{file}: line {lines} is a command in other agents. Here it's text; nothing is run.",
            "{file}: %n lines ({lines}) are commands in other agents. Here they're text; nothing is run.",
            lines=file.command_lines,
            file=file.path,
        )
    if file.has_hidden:
        yield tr("{file} contains characters that can't be seen.", file=file.path)


def cut_description_text(skill: Skill) -> str:
    """Return that the agent reads a part of a skill's description; empty for one that is whole."""
    if skill.description_chars <= MAX_DESCRIPTION:
        return ""
    return tr(
        "Its description has {count} characters; the first {limit} are sent",
        count=skill.description_chars,
        limit=MAX_DESCRIPTION,
    )
