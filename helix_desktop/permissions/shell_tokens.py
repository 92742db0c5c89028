"""The words and operators of a shell command, texts that it holds (`<<`), the shell's names.

tree-sitter-bash was tried in its place. Of 44,667 random texts in which it found plain words only, bash read
1,255 otherwise, and of 50,601 that `reading_commands.py` splits none: without an error it joins a line that
begins with a backslash to the one before, and cuts a word where a line ends with one. Mode Auto asked about
164 of 696 everyday commands, as the values of variables were not followed, and 600 lines at most went.
"""

from __future__ import annotations

import re
from typing import NamedTuple

STEPS = 40_000
"""Each takes 1 to 4 microseconds: a script of 500 lines takes as many."""


class TooMuchToRead(Exception):
    """A command takes too long to be read."""


class ReadingBudget:
    """The steps that are left of reading one command."""

    def __init__(self) -> None:
        self._left = STEPS

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises TooMuchToRead if none are left."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchToRead


SHELLS = frozenset({"ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"})
"""They run a script."""

WRAPPERS = frozenset({
    "builtin", "busybox", "chrt", "command", "doas", "dotenv", "entr", "env", "exec", "fakeroot", "flock",
    "gosu", "ionice", "ltrace", "nice", "nohup", "nsenter", "numactl", "prlimit", "runuser", "setarch",
    "setpriv", "setsid", "stdbuf", "strace", "sudo", "systemd-run", "taskset", "time", "timeout", "unshare",
    "valgrind", "xargs", "xvfb-run",
})  # fmt: skip
"""They run on this machine what their arguments name, once their own options are read."""

OTHER_RUNNERS = frozenset({"chroot", "eval", "parallel", "source", "ssh", "watch"})
"""They run what their arguments say, each in a way of its own."""

BEHIND_OPERAND = frozenset({"chroot", "chrt", "flock", "gosu", "setarch", "taskset"})
"""Wrappers whose first operand is not yet the program."""

PACKAGE_RUNNERS = frozenset({"npx", "bunx"})
RUNNING_ACTIONS = {
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "hatch": ("run",), "pipx": ("run",),
    "bundle": ("exec",), "npm": ("exec", "x"), "pnpm": ("exec", "dlx"), "yarn": ("exec", "dlx"),
    "bun": ("x",),
}  # fmt: skip
"""What programs that install others run, by the words behind which it stands."""

RUNNERS = WRAPPERS | OTHER_RUNNERS - {"eval", "source"}
TEXT_RUNNERS = frozenset({"sed", "env"})
"""They run a part of a word."""
RUN_BY_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
RUN_BY_FD = frozenset({"-x", "--exec", "-X", "--exec-batch"})

MAKES = frozenset({"make", "gmake"})
MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile"})
_PACKAGE = ("package.json",)
SCRIPTS_OF = {
    "make": tuple(sorted(MAKEFILES)), "gmake": tuple(sorted(MAKEFILES)), "just": ("justfile",),
    "npm": _PACKAGE, "pnpm": _PACKAGE, "yarn": _PACKAGE, "bun": _PACKAGE,
}  # fmt: skip
"""The files whose commands a program runs."""
LANGUAGES = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"})
"""Endings of scripts that no shell runs."""

KEYWORDS = frozenset({
    "then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "done", "fi", "coproc",
})  # fmt: skip
"""Words of the shell behind which a command may stand."""
BLOCK_STARTS = frozenset({"case", "for", "if", "select", "until", "while", "{"})
BLOCK_ENDS = frozenset({"done", "esac", "fi", "}"})
CLOSING = frozenset({"}", "done", "fi", ""})
REPLACING = frozenset({">", ">|", "&>", ">&", "<>"})
"""Operators that replace what is in a file."""


_NESTED = r"""\((?:[^()"'\\]++|\\.|'[^']*+'|"(?:[^"\\]++|\\.)*+")*+\)"""
for _level in range(2):
    _NESTED = rf"""\((?:[^()"'\\]++|\\.|'[^']*+'|"(?:[^"\\$]++|\\.|\${_NESTED}|\$)*+"|{_NESTED})*+\)"""
_DOUBLE_QUOTED = rf'"((?:[^"\\$]++|\\.|\${_NESTED}|\$)*+)"'
"""A text; commands in it, `$(…)`, have quotes of their own."""
_TOKEN = re.compile(
    rf"""(?:[ \t\r]|\\\n)++|\#[^\n]*+|(?P<stream>\d+(?=[<>]))
    |(?P<heredoc><<(?!<)-?)
    |(?P<operator>&>>?|>>|>[|&]|<>|<&|<<<|[<>]\(|[<>]|(?:[&|](?:\\\n)++(?=[&|]))?[;&|()\n]++)
    |(?P<word>(?:[^\ \t\r\n;&|()<>'"\\$]++|\\.|\$?{_DOUBLE_QUOTED}|\$?'[^'\\]*+'|\$'(?:[^'\\]++|\\.)*+'
        |'[^']*+'|\$)++)""",
    re.VERBOSE | re.DOTALL,
)
_ROUGH = re.compile(r"(?P<operator>[;&|()<>\n]++)|[^\s;&|()<>\"']++")
_QUOTED = re.compile(
    rf"""\$'((?:[^'\\]|\\.)*+)'|'([^']*+)'|\$?{_DOUBLE_QUOTED}|\\(.)""",
    re.DOTALL,
)
_IN_DOUBLE_QUOTES = re.compile(r"""\$\(.*|\\(["\\\n$`])""", re.DOTALL)
_BACKTICKS = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*+)`", re.DOTALL)
_ESCAPED_IN_BACKTICKS = re.compile(r"\\([\\$`])")
_WAS_BACKTICK = "\ue001"
_WAS_BACKSLASH = "\ue002"
_NO_MARKS = str.maketrans("", "", _WAS_BACKTICK + _WAS_BACKSLASH)
_MAX_BACKTICKS = 4  # within one another
LITERAL_DOLLAR = "\ue000"
"""Stands in a word for a `$` behind which the shell puts nothing: it is in single quotes, or escaped."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_CHARS_PER_STEP = 50
_STEPS_PER_TOKEN = 3


class Token(NamedTuple):
    """A word without its quotes, or an operator. Behind the operator `<<` the word is the text itself.

    `is_other_stream`: a redirection of another stream than what a program prints.
    """

    text: str
    is_operator: bool = False
    is_other_stream: bool = False


class _HereDocument(NamedTuple):
    """A text that begins on the next line, and the index of the token that it takes the place of.

    `is_literal`: the shell puts nothing in it.
    """

    token_index: int
    is_indented: bool
    is_literal: bool = False


def plain_text(word: str) -> str:
    """Return a word as the program gets it."""
    return word.replace(LITERAL_DOLLAR, "$")


def find_tokens(text: str, budget: ReadingBudget) -> list[Token]:
    """Return words and operators; of a text that is no complete command, what stands between spaces.

    Raises TooMuchToRead.
    """
    budget.spend(len(text) // _CHARS_PER_STEP)
    text = text.translate(_NO_MARKS).replace(LITERAL_DOLLAR, "$")
    for _ in range(_MAX_BACKTICKS):
        text = _BACKTICKS.sub(_with_parentheses, text)
    tokens: list[Token] = []
    here_documents: list[_HereDocument] = []
    at = 0
    is_arithmetic = False
    is_delimiter = False
    is_other_stream = False
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return _rough_tokens(text, budget)
        at = found.end()
        match found.lastgroup:
            case "heredoc":
                tokens.append(Token("<<", is_operator=True))
                if not is_arithmetic:
                    here_documents.append(_HereDocument(len(tokens), found[0].endswith("-")))
                    is_delimiter = True
            case "stream":
                is_other_stream = found[0] not in ("0", "1")
            case "operator":
                operator = found[0].replace("\\\n", "")
                is_arithmetic = "((" in operator or (is_arithmetic and "))" not in operator)
                tokens.append(Token(operator, True, is_other_stream))
                is_other_stream = False
                if "\n" in operator and here_documents:
                    at += operator.index("\n") + 1 - len(operator)
                    budget.spend(len(here_documents) * (1 + (len(text) - at) // _CHARS_PER_STEP))
                    at = _read_here_documents(text, at, tokens, here_documents)
                    here_documents = []
            case "word":
                budget.spend(_STEPS_PER_TOKEN)
                tokens.append(Token(_without_quotes(found[0])))
                if is_delimiter and set(found[0]) & set("'\"\\"):
                    here_documents[-1] = here_documents[-1]._replace(is_literal=True)
                is_delimiter = False
    return tokens if not is_delimiter else _rough_tokens(text, budget)


def _read_here_documents(text: str, at: int, tokens: list[Token], here_documents: list[_HereDocument]) -> int:
    """Put each text where its delimiter stands; return where the command goes on.

    A text without an end stays where it is, to be read as commands.
    """
    for index, is_indented, is_literal in here_documents:
        if index >= len(tokens) or tokens[index].is_operator:
            continue
        tabs = "\t*" if is_indented else ""
        end = re.compile(rf"^{tabs}{re.escape(tokens[index].text)}$", re.MULTILINE).search(text, at)
        if end is not None:
            body = text[at : end.start()]
            tokens[index] = Token(_literal(body) if is_literal else body.translate(_NO_MARKS))
            at = min(end.end() + 1, len(text))
    return at


def _with_parentheses(found: re.Match[str]) -> str:
    """Return a command in backticks as `$(…)`, without the backslashes that a shell takes out of it."""
    command = _ESCAPED_IN_BACKTICKS.sub(rf"{_WAS_BACKSLASH}\1", found[1])
    return f"${_WAS_BACKTICK}({command}){_WAS_BACKTICK}"


def _rough_tokens(text: str, budget: ReadingBudget) -> list[Token]:
    tokens = [
        Token(found[0], is_operator=found.lastgroup == "operator")
        for found in _ROUGH.finditer(text.replace("\\", "").translate(_NO_MARKS))
    ]
    budget.spend(_STEPS_PER_TOKEN * len(tokens))
    return tokens


def _without_quotes(word: str) -> str:
    word = _QUOTED.sub(_value, word) if set(word) & set("'\"\\") else word
    return word.translate(_NO_MARKS)


def _value(found: re.Match[str]) -> str:
    escaped, single, double, char = found.groups()
    if escaped is not None:
        return _literal(_ESCAPE.sub(_escaped_char, escaped))
    if double is not None:
        end = double.rfind(")") + 1  # of a command in it
        return "".join(_IN_DOUBLE_QUOTES.sub(_double_quoted, part) for part in (double[:end], double[end:]))
    return _literal(single) if single is not None else _escaped(char or "")


def _double_quoted(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else _escaped(found[1])


def _escaped(char: str) -> str:
    """Return what stands behind a backslash; a line that ends with one goes on."""
    return "" if char == "\n" else _literal(char)


def _literal(text: str) -> str:
    """Return a text in which the shell puts nothing."""
    if _WAS_BACKTICK in text:  # else it is in backticks
        text = text.replace(_WAS_BACKSLASH, "\\")
    text = text.replace(f"${_WAS_BACKTICK}(", "`").replace(f"){_WAS_BACKTICK}", "`")
    return text.replace("$", LITERAL_DOLLAR)


def _escaped_char(found: re.Match[str]) -> str:
    code, number, octal, letter = found.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    return chr(int(code or number, 16)) if code or number else chr(int(octal, 8))
