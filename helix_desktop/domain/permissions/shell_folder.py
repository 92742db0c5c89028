"""The folder in which the programs of a shell command run, as the command changes it."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence


class ShellFolder:
    """The current folder, and those to which the command comes back."""

    def __init__(self, path: str) -> None:
        self.path = self._previous = path
        self._pushed: list[str] = []
        self._outside: list[str] = []  # of parentheses

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
            self.path = posixpath.join(before, words[0])
        if name == "pushd":
            self._pushed.append(before)
        self._previous = before

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
