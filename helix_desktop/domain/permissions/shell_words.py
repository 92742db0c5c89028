"""What the words of a shell command stand for, by the values of its variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from helix_desktop.domain.permissions.parameter_expansion import ANYTHING, expanded
from helix_desktop.domain.permissions.reading_budget import ReadingBudget
from helix_desktop.domain.permissions.shell_tokens import LITERAL_DOLLAR, plain_text

HOME, OUTSIDE = "HOME", "/nonexistent"
TEMPORARY = "/tmp/new"
"""A file or folder that mktemp makes."""
MAX_VALUES = 64
LONGEST_WORD = 4_096  # characters of a path: what is longer may be any; also of a word whose braces are read

_TEMPORARY = re.compile(r"\$\(mktemp\b[^()$`;|&\n]*\)")
_PWD = re.compile(r"\$\(pwd\)|`pwd`")
_PRINTED_FOLDER = "0pwd"  # a variable that no command can set
_DEFAULTS = {HOME: OUTSIDE, "TMPDIR": "/tmp", "PWD": ".", _PRINTED_FOLDER: ".", "IFS": " "}
_CHARS_PER_STEP = 50
_CHARS_COMPARED_PER_STEP = 4
_MAX_CHAIN = 8  # variables that are set to one another
_VARIABLE = re.compile(r"\$(?:\{([#!]?)(\w+|[@*?#!])([^}]*)\}|(\w+|[@*?#!])|\{[^}]*$|$)")
_SEPARATOR = re.compile(r"\$(?:IFS\b|\{IFS\})")
_NAME_OF_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")


class ShellWords:
    """The words of one command, and the values of the variables that it sets.

    `scattered` are the variables of which it is not known which of the words holds that they are set to.
    """

    def __init__(
        self,
        budget: ReadingBudget,
        values: Mapping[str, list[str]],
        scattered: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._budget = budget
        self._values = dict(values)
        self.scattered = scattered or {}
        self._all: dict[str, list[str]] = {}  # what scattered variables may be now
        self._open: set[str] = set()

    def assign(self, name: str, words: Iterable[str], is_added: bool = False) -> None:
        """Set a variable to what words stand for, or add that to its values."""
        values = list(dict.fromkeys(value for word in words for value in self.expand(word)))
        if is_added:
            values = [before + value for before in self._values.get(name, [""]) for value in values]
        self.set_values(name, values)

    def set_values(self, name: str, values: Sequence[str]) -> None:
        """Set a variable to one of these values."""
        self._values[name] = _bounded(
            [*self._values.get(name, []), *values] if name in self.scattered else values
        )
        self._all.clear()

    def values_of(self, name: str) -> list[str]:
        """Return what a variable may be; none if the command sets it nowhere."""
        if name not in self.scattered:
            return self._values.get(name, [])
        words = self.scattered[name]
        if name in self._open or len(self._open) == _MAX_CHAIN or len(words) > MAX_VALUES:
            return [ANYTHING]
        if name not in self._all:
            self._open.add(name)
            values = [value for word in words for value in self.expand(word)]
            self._open.remove(name)
            self._all[name] = _bounded([*values, *self._values.get(name, [])])
        return self._all[name]

    def known_values(self) -> dict[str, list[str]]:
        """Return what the command's variables may be, by name."""
        return self._values | {name: self.values_of(name) for name in self.scattered}

    @contextmanager
    def with_environment(self, values: Mapping[str, list[str]]) -> Iterator[None]:
        """Set variables for one program."""
        before = dict(self._values)
        self._values |= values
        self._all.clear()
        try:
            yield
        finally:
            for name in values:
                self._values.pop(name)
                self._values |= {name: before[name]} if name in before else {}
            self._all.clear()

    def home(self) -> str:
        """Return the home folder as the command sets it."""
        return (self.values_of(HOME) or [OUTSIDE])[0]

    def expand(self, word: str) -> list[str]:
        """Return a word with the values of its variables and braces; what is not known is any path."""
        if len(word) > LONGEST_WORD:
            return [ANYTHING]
        if HOME in self._values and (word == "~" or word.startswith("~/")):
            word = self.home() + word[1:]
        words = [word]
        while any(found := [_BRACES.search(each) for each in words]):
            words = [part for each, braces in zip(words, found, strict=True) for part in _parts(each, braces)]
            self._budget.spend(2 * len(words))
            if len(words) > MAX_VALUES:
                return [ANYTHING]
        values = [plain_text(value) for each in words for value in self._with_variables(each)]
        if _VARIABLE.fullmatch(word) is None and _SEPARATOR.search(word) is None:
            return values
        return [part for value in values for part in self._split(value)]

    def _split(self, value: str) -> list[str]:
        """Return the words into which the shell splits the value of a variable."""
        between = set("".join(self._values.get("IFS", []))) - set("*?[ ")
        parts = value.split() or [""]
        if between & set(value):
            parts[:0] = re.split(rf"[\s{re.escape(''.join(between))}]+", value)
        return parts

    def _with_variables(self, word: str) -> list[str]:
        if nested(word) and _VARIABLE.search(word) is None:
            rest = word[word.rfind(")") + 1 :]
            return [ANYTHING + rest if word.startswith("$(") and rest.startswith("/") else ANYTHING]
        words, at = [""], 0
        for found in _VARIABLE.finditer(word):
            name = found[2] or found[4] or ""
            self._budget.spend(
                sum(map(len, self.values_of(name))) // _CHARS_COMPARED_PER_STEP if found[3] else 0
            )
            values = expanded(self.values_of(name) or [_DEFAULTS.get(name, ANYTHING)], found[3] or "")
            if len(words) * len(values) > MAX_VALUES or "!" in found[0]:
                values = [ANYTHING]
            elif found[1] == "#":
                values = ["0"]
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
            values = self.values_of(name)
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


def with_temporary(word: str) -> str:
    """Return a word with a path for what mktemp makes."""
    return _TEMPORARY.sub(TEMPORARY, word)


def names_of_variables(word: str) -> Sequence[str]:
    """Return the names of the variables in a word."""
    return _NAME_OF_VARIABLE.findall(word.replace(LITERAL_DOLLAR, "$"))


def _bounded(values: Sequence[str]) -> list[str]:
    """Return values without those that stand there twice; any if there are too many, or one is too long."""
    values = list(dict.fromkeys(values))
    is_short = len(values) <= MAX_VALUES and all(len(value) <= LONGEST_WORD for value in values)
    return values if is_short else [ANYTHING]


def _parts(word: str, braces: re.Match[str] | None) -> list[str]:
    """Return what a word with braces stands for."""
    if braces is None:
        return [word]
    return [word[: braces.start()] + part + word[braces.end() :] for part in braces[1].split(",")]
