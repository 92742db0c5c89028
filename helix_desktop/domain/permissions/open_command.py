"""The words and redirections of one simple command, while its text is read."""

from __future__ import annotations

from helix_desktop.domain.permissions.program import Program


class OpenCommand:
    """What was read of a command that is not at its end."""

    def __init__(
        self, depth: int = 0, is_run: bool = False, is_hidden: bool = False, joint: str = ""
    ) -> None:
        self.words: list[str] = []
        self.outputs: list[str] = []
        self.texts: list[str] = []
        self.files: list[str] = []
        self.target = ""  # the operator whose word comes next
        self.is_other_stream = False  # of the target: not what the program prints
        self.piped: Program | None = None
        self.folder, self.outer_depth = "", 0  # before a command within it began
        self.program_count = 0  # likewise
        self.depth, self.is_run = depth, is_run  # open parentheses; what is printed is run
        self.joint = joint  # the operator before it
        self.is_hidden = is_hidden  # what is printed becomes the value of a variable

    def put_output(self, text: str) -> None:
        """Put the output of a command in the word that it belongs to."""
        word = "".join(self.words[-1:])
        if word == "$":
            self.words[-1:] = text.split()
        elif word.endswith("$"):
            self.words[-1] = word[:-1] + text

    def contains_command(self, operator: str) -> bool:
        """Return True if the output of what follows is a part of this command."""
        is_value = operator.startswith("(") and not self.target and "".join(self.words[-1:]).endswith("$")
        return is_value or operator in ("<(", ">(")

    def closing_parenthesis(self, operator: str) -> int | None:
        """Return where in an operator this command ends within another."""
        for at, char in enumerate(operator):
            self.depth += (char == "(") - (char == ")")
            if self.depth == 0:
                return at
        return None
