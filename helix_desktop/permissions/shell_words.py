"""What the words of a shell command stand for, and where it sets variables that surely hold what was set."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import dropwhile, pairwise, takewhile

from helix_desktop.permissions.shell_tokens import (
    BLOCK_ENDS,
    BLOCK_STARTS,
    KEYWORDS,
    LITERAL_DOLLAR,
    ReadingBudget,
    Token,
    plain_text,
)

ANYTHING = "**"
"""A value that only the shell knows; within a path: any folders."""

_WILDCARD = re.compile(r"[*?\[\\]")
_PLACE = re.compile(r":\s*(\d+)(?::(\d+))?")
_DEFAULT = re.compile(r":?[-=](.*)", re.DOTALL)
_STRIPPED = re.compile(r"(##?|%%?)(.*)", re.DOTALL)
_REPLACED = re.compile(r"/([/#%]?)([^/*?\[\\$]+)(?:/([^*?\[\\$]*))?")
_LONGEST_TEXT = 200  # characters of which each beginning is compared with a pattern


def expanded(values: Sequence[str], operator: str) -> list[str]:
    """Return what values may become by what stands behind a variable's name: any text if it is not clear."""
    operator = re.sub(r"^\[[^\]]*\]", "", operator)
    if not operator or operator.startswith(("?", ":?")):
        return list(values)
    if found := _DEFAULT.fullmatch(operator):
        return [*values, found[1]]
    if operator.startswith(("+", ":+")):
        return ["", operator.lstrip(":")[1:]]
    return [_changed(value, operator) for value in values]


def _changed(value: str, operator: str) -> str:
    if value == ANYTHING:
        return value
    if found := _STRIPPED.fullmatch(operator):
        return _stripped(value, found[1], found[2])
    if found := _REPLACED.fullmatch(operator):
        return _replaced(value, found[1], found[2], found[3] or "")
    return ANYTHING if _WILDCARD.search(value) else _cut(value, operator)


def _cut(value: str, operator: str) -> str:
    """Return a part of a value, or it in other letters."""
    if found := _PLACE.fullmatch(operator):
        return value[int(found[1]) :][: int(found[2]) if found[2] else None]
    return {"^^": value.upper(), ",,": value.lower()}.get(operator, ANYTHING)


def _stripped(value: str, operator: str, pattern: str) -> str:
    """Return a value without its beginning (`#`) or its end (`%`), or with the longest part gone (`##`)."""
    is_end = operator.startswith("%")
    if _WILDCARD.search(value):
        short = value.removesuffix(pattern) if is_end else value.removeprefix(pattern)
        # A name of wildcards alone says less than the one that was looked for.
        return short if posixpath.basename(short).strip("*?") and pattern else value
    if len(value) > _LONGEST_TEXT or "$" in pattern:
        return ANYTHING
    cuts = range(len(value), -1, -1) if is_end else range(len(value) + 1)
    for at in cuts if len(operator) == 1 else reversed(cuts):
        part, rest = (value[at:], value[:at]) if is_end else (value[:at], value[at:])
        if fnmatchcase(part, pattern):
            return rest
    return value


def _replaced(value: str, place: str, old: str, new: str) -> str:
    match place:
        case "/":
            return value.replace(old, new)
        case "#":
            return new + value[len(old) :] if value.startswith(old) else value
        case "%":
            return value[: -len(old)] + new if value.endswith(old) else value
    return value.replace(old, new, 1)


HOME = "HOME"
OUTSIDE = "/nonexistent"
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
_UNKNOWN_TEXT = re.compile(r'\s*"?(?:\*\*|\$([\d@*])|\$(?:\w+|\{[^{}]*\}))"?\s*')
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")


class ShellWords:
    """The words of one command, and the values of the variables that it sets.

    `scattered` are the variables of which it is not known which of the words holds that they are set to.
    """

    def __init__(self, budget: ReadingBudget, values: Mapping[str, list[str]]) -> None:
        self._budget = budget
        self._values = dict(values)
        self.scattered: Mapping[str, Sequence[str]] = {}
        self._all: dict[str, list[str]] = {}  # what scattered variables may be now
        self._open: set[str] = set()

    def assign(self, name: str, words: Iterable[str], is_added: bool = False) -> None:
        """Set a variable to what words stand for, or add that to its values."""
        values = list(dict.fromkeys(value for word in words for value in self.expand(word)))
        if is_added:
            values = [before + value for before in self._values.get(name, [""]) for value in values]
        self.set_values(name, values)

    def set_values(self, name: str, values: Sequence[str]) -> None:
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
        between = set("".join(self._values.get("IFS", []))) - set("*?[ ")
        parts = value.split() or [""]
        if between & set(value):
            parts[:0] = re.split(rf"[\s{re.escape(''.join(between))}]+", value)
        return parts

    def _with_variables(self, word: str) -> list[str]:
        if nested(word) and _VARIABLE.search(word) is None:
            rest = word[word.rfind(")") + 1 :]
            return [ANYTHING + rest if word.startswith("$(") and rest.startswith("/") else ANYTHING]
        words = [""]
        at = 0
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
        texts = [text]
        for name in dict.fromkeys(_NAME_OF_VARIABLE.findall(text)):
            values = self.values_of(name)
            self._budget.spend(len(texts) + len(text) // _CHARS_PER_STEP)
            if values and len(texts) * len(values) <= MAX_VALUES:
                size = len(texts[0]) + texts[0].count("$") * max(map(len, values))
                self._budget.spend(len(texts) * len(values) * size // _CHARS_PER_STEP)
                variable = re.compile(rf"\$(?:{name}\b|\{{{name}(?:\[[^\]]*\])?\}})")
                texts = [value.join(variable.split(each)) for each in texts for value in values]
        return [plain_text("\n".join(texts))]


def is_unknown(text: str, are_arguments_read: bool) -> bool:
    """Return True if a text that a shell runs is what a variable holds, and nothing says what that is."""
    found = _UNKNOWN_TEXT.fullmatch(plain_text(text))
    return found is not None and not (are_arguments_read and found[1] is not None)


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
    return _NAME_OF_VARIABLE.findall(word.replace(LITERAL_DOLLAR, "$"))


def _bounded(values: Sequence[str]) -> list[str]:
    """Return values without those that stand there twice; any if there are too many, or one is too long."""
    values = list(dict.fromkeys(values))
    is_short = len(values) <= MAX_VALUES and all(len(value) <= LONGEST_WORD for value in values)
    return values if is_short else [ANYTHING]


def _parts(word: str, braces: re.Match[str] | None) -> list[str]:
    if braces is None:
        return [word]
    return [word[: braces.start()] + part + word[braces.end() :] for part in braces[1].split(",")]


ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.S)
"""A name, `+` where a text is added, and what it is set to."""
EXPORTERS = frozenset({"declare", "export", "local", "readonly", "typeset"})
"""They set variables by their arguments."""
_SETTERS = frozenset({"getopts", "let", "mapfile", "readarray", "unset"})
_VALUE_READERS = frozenset({"[", "[[", "env", "eval", "set", "test"})
_UNKNOWN = "$"
"""A word that stands for anything."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATORS = re.compile(r"&&|\|\||\|&|;;|[;&|()]|\n+")
_RUNS_LATER = frozenset({"alias", "case", "esac", "function", "trap"})
"""Words of a command whose parts run in an order that its text does not say."""


def keeps_value(words: Sequence[str]) -> bool:
    """Return True if what a command gets as a word is not shown: it sets or tests variables."""
    is_assigned = bool(ASSIGNMENT.match("".join(words[-1:])))
    return is_assigned or words == ["$"] or program_name(words) in EXPORTERS | _VALUE_READERS


def program_name(words: Sequence[str]) -> str:
    """Return the name of the program that a command runs; empty if none."""
    return posixpath.basename(words[0]) if words else ""


def split_assignments(words: Sequence[str]) -> tuple[list[re.Match[str]], list[str]]:
    assigned = list(takewhile(bool, map(ASSIGNMENT.match, words)))
    return list(filter(None, assigned)), list(words[len(assigned) :])


def names_set(words: Sequence[str]) -> list[str]:
    """Return the variables that a command sets to what nobody knows before it runs."""
    name = program_name(words)
    arguments = words[1:]
    if name == "printf":
        return [value for option, value in pairwise(arguments) if option == "-v"]
    if name in EXPORTERS and "-n" in arguments:  # another name for a variable
        return [part for word in arguments for part in _NAME.findall(word)]
    if name in _SETTERS or name == "read":
        return [found[0] for word in arguments if (found := _NAME.match(word))]
    return []


def scattered_values(tokens: Sequence[Token]) -> Mapping[str, Sequence[str]]:
    """Return the variables that a command sets elsewhere than in its straight line, with all their values.

    There it is not known which of these holds: a part in parentheses, of a pipe or in the background has
    its own variables, and one behind `&&`, in a branch, a loop or a function may run or not.
    """
    scan = _Scan()
    for token in tokens:
        scan.add(token)
    scan.end("")
    is_later = any(
        token.text.startswith("()") if token.is_operator else token.text in _RUNS_LATER for token in tokens
    )
    return {
        name: list(dict.fromkeys(values))
        for name, values in scan.values.items()
        if is_later or name in scan.scattered
    }


class _Scan:
    """Collects what variables are set to while the words of a command are read."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self.scattered: set[str] = set()
        self._words: list[str] = []
        self._joint = ""  # the operator before the command
        self._outer: list[tuple[list[str], str]] = []  # of parentheses
        self._blocks = 0
        self._is_target = False

    def add(self, token: Token) -> None:
        if not token.is_operator:
            if not self._is_target:
                self._words.append(token.text)
            self._is_target = False
        elif set(token.text) & set("<>") and "(" not in token.text:
            self._is_target = True
        else:
            for operator in _OPERATORS.findall(token.text):
                self._pass(operator.rstrip("\n") or "\n")

    def _pass(self, operator: str) -> None:
        if operator == "(":
            self._outer.append((self._words, self._joint))
            self._words = []
            self._joint = "("
        elif operator == ")" and self._outer:
            inner = self._words
            self.end(operator)
            self._words, self._joint = self._outer.pop()
            if inner[:1] == ["mktemp"]:
                self._words[-1:] = [word.removesuffix("$") + TEMPORARY for word in self._words[-1:]]
            if self._words and ASSIGNMENT.fullmatch(self._words[-1]) and self._words[-1].endswith("="):
                self._set(self._words[-1].rstrip("+="), inner, is_sure=False)  # an array
        else:
            self.end(operator)
            if operator != "\n" or self._joint not in ("&&", "||", "|", "|&") or self._words:
                self._joint = operator
            self._words = []

    def end(self, operator: str) -> None:
        for word in takewhile(lambda word: word in KEYWORDS or word in BLOCK_STARTS, self._words):
            self._blocks += (word in BLOCK_STARTS) - (word in BLOCK_ENDS)
            if word in ("for", "select"):
                break
        words = list(dropwhile(KEYWORDS.__contains__, self._words))
        is_part = self._joint in ("&&", "||", "|", "|&") or operator in ("|", "|&", "&")
        if words[:1] == ["for"] or words[:1] == ["select"]:
            is_sure = not is_part and self._blocks <= 1 and not self._outer
            self._set("".join(words[1:2]), words[3:] if words[2:3] == ["in"] else [_UNKNOWN], is_sure)
            return
        is_sure = not is_part and self._blocks <= 0 and not self._outer
        assigned = list(takewhile(ASSIGNMENT.match, words))
        rest = words[len(assigned) :]
        if program_name(rest) in EXPORTERS:
            assigned = [word for word in rest[1:] if ASSIGNMENT.match(word)]
        elif rest:
            assigned = []
        for name, is_added, value in (found.groups() for found in map(ASSIGNMENT.match, assigned) if found):
            self._set(name, [f"${{{name}}}{value}" if is_added else value], is_sure)
        for name in names_set(rest):
            self._set(name, [] if program_name(rest) == "read" else [_UNKNOWN], is_sure)

    def _set(self, name: str, words: Sequence[str], is_sure: bool) -> None:
        self.values.setdefault(name, []).extend(map(with_temporary, words))
        if not is_sure:
            self.scattered.add(name)
