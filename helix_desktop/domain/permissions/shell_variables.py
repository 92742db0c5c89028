"""Where a shell command sets variables, and which of them surely hold what was set last."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, pairwise, takewhile

from helix_desktop.domain.permissions.shell_names import BLOCK_ENDS, BLOCK_STARTS, KEYWORDS
from helix_desktop.domain.permissions.shell_tokens import Token
from helix_desktop.domain.permissions.shell_words import TEMPORARY, with_temporary

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
    """Return the assignments at the beginning of a command, and what follows."""
    assigned = list(takewhile(bool, map(ASSIGNMENT.match, words)))
    return list(filter(None, assigned)), list(words[len(assigned) :])


def names_set(words: Sequence[str]) -> list[str]:
    """Return the variables that a command sets to what nobody knows before it runs."""
    name, arguments = program_name(words), words[1:]
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
        """Read a word or an operator."""
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
            self._words, self._joint = [], "("
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
        """Note what a command sets that ends at an operator."""
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
        for name, is_added, value in _parts(assigned):
            self._set(name, [f"${{{name}}}{value}" if is_added else value], is_sure)
        for name in names_set(rest):
            self._set(name, [] if program_name(rest) == "read" else [_UNKNOWN], is_sure)

    def _set(self, name: str, words: Sequence[str], is_sure: bool) -> None:
        self.values.setdefault(name, []).extend(map(with_temporary, words))
        if not is_sure:
            self.scattered.add(name)


def _parts(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for found in filter(None, map(ASSIGNMENT.match, words)):
        yield found[1], found[2], found[3]
