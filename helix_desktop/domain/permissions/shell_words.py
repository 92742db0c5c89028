"""What the words of a shell command stand for, by the values of its variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from helix_desktop.domain.permissions.reading_budget import ReadingBudget
from helix_desktop.domain.permissions.shell_tokens import LITERAL_DOLLAR, plain_text

ANYTHING = "**"
"""An argument that only the shell knows; within a path: any folders."""
HOME, OUTSIDE = "HOME", "/nonexistent"
TEMPORARY = "/tmp/new"
"""A file or folder that mktemp makes."""
MAX_VALUES = 64
LONGEST_WORD = 4_096  # characters of a path: what is longer may be any; also of a word whose braces are read

_PWD = re.compile(r"\$\(pwd\)|`pwd`")
_PRINTED_FOLDER = "0pwd"  # a variable that no command can set
_DEFAULTS = {HOME: OUTSIDE, "TMPDIR": "/tmp", "PWD": ".", _PRINTED_FOLDER: "."}
_CHARS_PER_STEP = 50
_VARIABLE = re.compile(r"\$(?:\{[#!]?(\w+|[@*?#!])[^}]*\}|(\w+|[@*?#!])|$)")
_NAME_OF_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


class ShellWords:
    """The words of one command, and the values of the variables that it sets."""

    def __init__(self, budget: ReadingBudget, values: Mapping[str, list[str]]) -> None:
        self._budget = budget
        self.values = dict(values)

    def assign(self, name: str, words: Iterable[str], is_added: bool = False) -> None:
        """Set a variable to what words stand for, or add that to its values."""
        values = list(dict.fromkeys(value for word in words for value in self.expand(word)))
        if is_added:
            values = [before + value for before in self.values.get(name, [""]) for value in values]
        is_short = len(values) <= MAX_VALUES and all(len(value) <= LONGEST_WORD for value in values)
        self.values[name] = values if is_short else [ANYTHING]

    def home(self) -> str:
        """Return the home folder as the command sets it."""
        return self.values.get(HOME, [OUTSIDE])[0]

    def expand(self, word: str) -> list[str]:
        """Return a word with the values of its variables and braces; what is not known is any path."""
        if len(word) > LONGEST_WORD:
            return [ANYTHING]
        if HOME in self.values and (word == "~" or word.startswith("~/")):
            word = self.home() + word[1:]
        words = [word]
        while any(found := [_BRACES.search(each) for each in words]):
            words = [part for each, braces in zip(words, found, strict=True) for part in _parts(each, braces)]
            self._budget.spend(2 * len(words))
            if len(words) > MAX_VALUES:
                return [ANYTHING]
        values = [plain_text(value) for each in words for value in self._with_variables(each)]
        is_variable = bool(_VARIABLE.fullmatch(word))  # the shell splits its value into words
        return [part for value in values for part in value.split() or [""]] if is_variable else values

    def _with_variables(self, word: str) -> list[str]:
        if nested(word) and _VARIABLE.search(word) is None:
            rest = word[word.rfind(")") + 1 :]
            return [ANYTHING + rest if word.startswith("$(") and rest.startswith("/") else ANYTHING]
        words, at = [""], 0
        for found in _VARIABLE.finditer(word):
            name = found[1] or found[2] or ""
            values = self.values.get(name) or [_DEFAULTS.get(name, ANYTHING)]
            if len(words) * len(values) > MAX_VALUES or "!" in found[0]:
                values = [ANYTHING]
            text = word[at : found.start()]
            words = [before + text + value for before in words for value in values]
            if len(words[0]) > LONGEST_WORD:
                return [ANYTHING]
            self._budget.spend(len(words))
            at = found.end()
        return [before + word[at:] for before in words]

    def with_values(self, text: str) -> list[str]:
        """Return the text of a program with the known values of variables: once for each value, joined."""
        texts = [plain_text(text)]
        for name in dict.fromkeys(_NAME_OF_VARIABLE.findall(texts[0])):
            values = self.values.get(name, [])
            self._budget.spend(len(texts) + len(text) // _CHARS_PER_STEP)
            if values and len(texts) * len(values) <= MAX_VALUES:
                size = len(texts[0]) + texts[0].count("$") * max(map(len, values))
                self._budget.spend(len(texts) * len(values) * size // _CHARS_PER_STEP)
                variable = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
                texts = [value.join(variable.split(each)) for each in texts for value in values]
        return ["\n".join(texts)]


def nested(word: str) -> str:
    """Return the command whose output the shell puts in a word."""
    return plain_text(word[: word.rfind(")") + 1].partition("$(")[2].removesuffix(")"))


def with_printed_folder(command: str) -> str:
    """Return a command with a variable for the folder that pwd prints."""
    return _PWD.sub(f"${{{_PRINTED_FOLDER}}}", command)


def names_of_variables(word: str) -> Sequence[str]:
    """Return the names of the variables in a word."""
    return _NAME_OF_VARIABLE.findall(word.replace(LITERAL_DOLLAR, "$"))


def _parts(word: str, braces: re.Match[str] | None) -> list[str]:
    """Return what a word with braces stands for."""
    if braces is None:
        return [word]
    return [word[: braces.start()] + part + word[braces.end() :] for part in braces[1].split(",")]
