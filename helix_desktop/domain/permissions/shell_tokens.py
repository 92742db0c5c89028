"""The words and operators of a shell command, with the texts that it holds for its programs (`<<`)."""

from __future__ import annotations

import re
from typing import NamedTuple

from helix_desktop.domain.permissions.reading_budget import ReadingBudget

_TOKEN = re.compile(
    r"""[ \t\r]++|\#[^\n]*+|\d+(?=[<>])
    |(?P<heredoc><<(?!<)-?)
    |(?P<operator>&>>?|>>|>[|&]|<>|<&|<<<|[<>]\(|[<>]|[;&|()\n]++)
    |(?P<word>(?:[^\ \t\r\n;&|()<>'"\\$]++|\\.|\$?"(?:[^"\\]++|\\.)*+"|\$?'[^'\\]*+'|\$'(?:[^'\\]++|\\.)*+'
        |'[^']*+'|\$)++)""",
    re.VERBOSE | re.DOTALL,
)
_ROUGH = re.compile(r"(?P<operator>[;&|()<>\n]++)|[^\s;&|()<>\"']++")
_QUOTED = re.compile(
    r"""\$'((?:[^'\\]|\\.)*+)'|'([^']*+)'|\$?"((?:[^"\\]|\\.)*+)"|\\(.)""",
    re.DOTALL,
)
_IN_DOUBLE_QUOTES = re.compile(r"""\\(["\\\n])""")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_CHARS_PER_STEP = 50
_STEPS_PER_TOKEN = 3


class Token(NamedTuple):
    """A word without its quotes, or an operator. Behind the operator `<<` the word is the text itself."""

    text: str
    is_operator: bool = False


class _HereDocument(NamedTuple):
    """A text that begins on the next line, and the index of the token that it takes the place of."""

    token_index: int
    is_indented: bool


def find_tokens(text: str, budget: ReadingBudget) -> list[Token]:
    """Return words and operators; of a text that is no complete command, what stands between spaces.

    Raises TooMuchToRead.
    """
    budget.spend(len(text) // _CHARS_PER_STEP)
    tokens: list[Token] = []
    here_documents: list[_HereDocument] = []
    at, is_arithmetic, is_delimiter = 0, False, False
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
            case "operator":
                operator = found[0]
                is_arithmetic = "((" in operator or (is_arithmetic and "))" not in operator)
                tokens.append(Token(operator, is_operator=True))
                if "\n" in operator and here_documents:
                    at = found.start() + operator.index("\n") + 1
                    budget.spend(len(here_documents) * (1 + (len(text) - at) // _CHARS_PER_STEP))
                    at = _read_here_documents(text, at, tokens, here_documents)
                    here_documents = []
            case "word":
                budget.spend(_STEPS_PER_TOKEN)
                tokens.append(Token(_without_quotes(found[0])))
                is_delimiter = False
    return tokens if not is_delimiter else _rough_tokens(text, budget)


def _read_here_documents(text: str, at: int, tokens: list[Token], here_documents: list[_HereDocument]) -> int:
    """Put each text where its delimiter stands; return where the command goes on.

    A text without an end stays where it is, to be read as commands.
    """
    for index, is_indented in here_documents:
        if index >= len(tokens) or tokens[index].is_operator:
            continue
        tabs = "\t*" if is_indented else ""
        end = re.compile(rf"^{tabs}{re.escape(tokens[index].text)}$", re.MULTILINE).search(text, at)
        if end is not None:
            tokens[index] = Token(text[at : end.start()])
            at = min(end.end() + 1, len(text))
    return at


def _rough_tokens(text: str, budget: ReadingBudget) -> list[Token]:
    tokens = [
        Token(found[0], is_operator=found.lastgroup == "operator")
        for found in _ROUGH.finditer(text.replace("\\", ""))
    ]
    budget.spend(_STEPS_PER_TOKEN * len(tokens))
    return tokens


def _without_quotes(word: str) -> str:
    return _QUOTED.sub(_value, word) if set(word) & set("'\"\\") else word


def _value(found: re.Match[str]) -> str:
    escaped, single, double, char = found.groups()
    if escaped is not None:
        return _ESCAPE.sub(_escaped_char, escaped)
    if double is not None:
        return _IN_DOUBLE_QUOTES.sub(r"\1", double)
    return single if single is not None else char or ""


def _escaped_char(found: re.Match[str]) -> str:
    code, number, octal, letter = found.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    return chr(int(code or number, 16)) if code or number else chr(int(octal, 8))
