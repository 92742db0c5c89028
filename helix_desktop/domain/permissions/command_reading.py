"""The programs that a shell command or a script runs with their arguments, as far as its text says."""

from __future__ import annotations

import posixpath
import re

from helix_desktop.domain.permissions.program import CommandReading, Program
from helix_desktop.domain.permissions.reading_budget import ReadingBudget, TooMuchToRead
from helix_desktop.domain.permissions.shell_names import LANGUAGES
from helix_desktop.domain.permissions.shell_programs import UNCLEAR, CommandReader
from helix_desktop.domain.permissions.texts_to_run import texts_in_code


def read_command(command: str, folder: str, budget: ReadingBudget) -> CommandReading:
    """Return what a command runs in this folder or those it changes into."""
    reading = CommandReading()
    try:
        CommandReader(reading, folder, budget).read_text(command)
    except TooMuchToRead:
        reading.programs.append(UNCLEAR)
        reading.is_whole = False
    return reading


def read_script(path: str, text: str, folder: str, budget: ReadingBudget) -> CommandReading:
    """Return what a script runs: one of a shell, or in the language that its name says."""
    ending = posixpath.splitext(path)[1]
    if ending == ".json":  # it has scripts among its texts
        return read_command("\n".join(re.findall(r'"([^"\n]+)"', text)), folder, budget)
    if ending not in LANGUAGES:
        return read_command(text, folder, budget)
    reading = read_command("\n".join(texts_in_code(text)), folder, budget)
    reading.programs.append(Program("", folder=folder, code=text))
    return reading
