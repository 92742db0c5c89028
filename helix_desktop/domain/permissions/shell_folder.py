"""The folder in which the programs of a shell command run, as the command changes it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from itertools import takewhile

import msgspec

from helix_desktop.domain.permissions.parameter_expansion import ANYTHING
from helix_desktop.domain.permissions.program import Program
from helix_desktop.domain.permissions.shell_names import BLOCK_ENDS, BLOCK_STARTS, KEYWORDS
from helix_desktop.domain.permissions.shell_variables import program_name

PIPES = frozenset({"|", "|&"})
_LISTS = frozenset({"&&", "||"})
_LEAVING = frozenset({"break", "continue", "exit", "return"})
_MAX_OTHERS = 8


class ShellFolder:
    """The current folder, and those to which the command comes back.

    `others` are where the programs may run instead: what changed the folder may not have run.
    """

    def __init__(self, path: str) -> None:
        self.path = self._previous = path
        self.others: list[str] = []
        self._pushed: list[str] = []
        self._outside: list[str] = []  # of parentheses
        self._blocks: list[
            tuple[str, str, list[str]]
        ] = []  # the folder, the operator and `_left` before each
        self._left: list[str] = []  # by the commands behind `&&` or `||`
        self._is_leaving = False

    @property
    def depth(self) -> int:
        """How many parentheses are open."""
        return len(self._outside)

    def change(self, name: str, arguments: Sequence[str], home: str) -> None:
        """Change the folder as cd, pushd or popd does."""
        before = self.path
        words = [word for word in arguments if word == "-" or not word.startswith("-")] or [home]
        if name == "popd":
            self.path = self._pushed.pop() if self._pushed else before
        elif words[0] == "-":
            self.path = self._previous
        else:
            paths = [posixpath.join(path, word) for path in (before, *self.others) for word in words]
            self.path, self.others = paths[0], []
            self._may_be(paths[1:])
        if name == "pushd":
            self._pushed.append(before)
        self._previous = before

    def open_blocks(self, words: Sequence[str], joint: str) -> None:
        """Note the blocks that begin or end with a command; `joint` is the operator before it."""
        for word in takewhile(lambda word: word in KEYWORDS or word in BLOCK_STARTS, words):
            if word in BLOCK_STARTS:
                kind = joint if word == "{" or joint in PIPES else "if"
                self._blocks.append((self.path, kind, self._left))
                self._left = []

    def end_command(self, before: str, words: Sequence[str], joint: str, operator: str) -> None:
        """Come back from where a command changed the folder for itself, or note that it may not have run.

        `before` is the folder before it, `joint` and `operator` stand before and behind it.
        """
        self._is_leaving |= program_name(words) in _LEAVING
        operator = operator.strip(")\n")
        is_apart = operator in PIPES or operator == "&"
        if program_name(words) in BLOCK_ENDS and self._blocks:
            before, joint, left = self._blocks.pop()
            self._left = left if not (joint == "||" and self._is_leaving) else []
            self._is_leaving = False
            if not is_apart and (joint == "if" or joint.startswith("()")):
                self._may_be([before])
        elif joint == "||" and self._is_leaving and not self._blocks:
            self._left, self._is_leaving = [], False
        if is_apart or joint in PIPES:
            self.path = before
        elif joint in _LISTS and self.path != before:
            self._left.append(before)
        if operator not in _LISTS:
            self._may_be(self._left)
            self._left = []

    def elsewhere(self, programs: Sequence[Program], before: str, others: Sequence[str]) -> Iterator[Program]:
        """Yield programs that run in or below a folder as they run if it is another."""
        for program in programs if others else ():
            head = before and before.rstrip("/") + "/"
            if f"{program.folder}/".startswith(head) and (before or not program.folder.startswith("/")):
                below = program.folder[len(before) :].lstrip("/")
                for other in others:
                    yield msgspec.structs.replace(program, folder=posixpath.join(other, below))

    def pass_parentheses(self, operator: str) -> None:
        """Keep the folder where parentheses open, and come back to it where they close."""
        for char in operator:
            if char == "(":
                self._outside.append(self.path)
            elif char == ")" and self._outside:
                self.path = self._outside.pop()

    def leave(self, depth: int, path: str) -> None:
        """Come back to a folder out of all parentheses that were opened since."""
        del self._outside[depth:]
        self.path = path

    def _may_be(self, paths: Sequence[str]) -> None:
        here = posixpath.normpath(self.path)
        paths = [path for path in paths if posixpath.normpath(path) != here]
        self.others = list(dict.fromkeys([*self.others, *paths]))
        if len(self.others) > _MAX_OTHERS:
            self.others = [ANYTHING]
