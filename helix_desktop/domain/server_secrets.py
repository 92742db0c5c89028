"""Secrets among the words that start an MCP server: which words they are, and the names in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from helix_desktop.domain.secret_forms import has_form_of_secret

_SECRET = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH|BEARER|COOKIE"
    r"|[-_]KEY$|[-_]PAT$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|\$[A-Za-z_]\w*|<[^>]*>|your[-_ ].*", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{[^{}]*\}")
_NAME = re.compile(r"\$\{([\w.-]+)\}")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
_FILLED_IN = re.compile(r"(?:Bearer\s+)?\$\{[^{}]*\}", re.IGNORECASE)
_REFERENCE = re.compile(r"""\$\{[^{}]*\}(?=[\s"'&#]|$)""")
_OPTION = re.compile(r"--?[a-z][a-z-]*(?:=.*)?", re.DOTALL)
_LOGIN = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_QUERY = re.compile(r"(?<=[?&])([\w.-]+)=([^&#\s]*)")
_NAMED = re.compile(r"""(?<![\w.-])([\w.-]+)(["']?\s*[:=]\s*["']?|\s+)(?:Bearer\s+)?(?=\S)""", re.IGNORECASE)
_PIECE = re.compile(r"""[^\s/?&=#@:,;"']+""")


def is_secret_name(name: str) -> bool:
    return bool(_SECRET.search(name))


def literal_secret(value: str) -> str:
    """Return a secret's value; empty for a placeholder."""
    return "" if _PLACEHOLDER.fullmatch(value.removeprefix("Bearer ").strip()) else value


def referenced_names(words: Iterable[str]) -> tuple[str, ...]:
    """Return the names that stand as `${NAME}` in words, each once."""
    return tuple(dict.fromkeys(name for word in words for name in _NAME.findall(word)))


def fill_in(word: str, values: Mapping[str, str]) -> str:
    """Return a word with values in place of the `${NAME}`s that have one."""
    return _NAME.sub(lambda match: values.get(match[1], match[0]), word)


def plain_name(name: str) -> str:
    """Return a name that can stand in a `${NAME}`."""
    return _NOT_IN_NAMES.sub("_", name).strip("-.") or "VALUE"


class SecretWords:
    """Takes secrets out of the words of a command line or an address; `${NAME}` is left for each."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """`taken` are names of secrets that are left for none of these."""
        self._taken = frozenset(taken)
        self.values: dict[str, str] = {}
        """The secrets that were taken out, by the names that are left for them."""

    def take_from(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the words of a command line without what is, or may be, a secret."""
        clean: list[str] = []
        previous = ""
        for word in words:
            follows_name = previous.startswith("-") and "=" not in previous and is_secret_name(previous)
            if follows_name and not _OPTION.fullmatch(word) and not _VARIABLE.fullmatch(word):
                clean.append(self._name(previous, word))
            else:
                clean.append(self.take_from_word(word))
            previous = word
        return tuple(clean)

    def take_from_word(self, word: str) -> str:
        word = _LOGIN.sub(lambda match: self._name("LOGIN", match[0]), word)
        word = _QUERY.sub(self._query, word)
        for match in _NAMED.finditer(word):
            is_named = not match[2].isspace() or match[1].startswith("-")
            if is_named and is_secret_name(match[1]) and not _REFERENCE.match(word, match.end()):
                end = match.end()
                word = word[:end] + self._name(match[1], word[end:])  # what follows may belong to it
                break
        word = _PIECE.sub(self._piece, word)
        if has_form_of_secret(_FILLED_IN.sub("", word)):
            return self._name("VALUE", word)
        return word

    def _query(self, match: re.Match[str]) -> str:
        if not is_secret_name(f"-{match[1]}") or _VARIABLE.fullmatch(match[2]):
            return match[0]
        return f"{match[1]}={self._name(match[1], match[2])}"

    def _piece(self, match: re.Match[str]) -> str:
        return self._name("VALUE", match[0]) if has_form_of_secret(match[0]) else match[0]

    def _name(self, wish: str, value: str) -> str:
        """Remember a secret, and return the `${NAME}` that stands for it: another one for another value."""
        plain = plain_name(wish)
        name = plain
        number = 2
        while name in self._taken or self.values.get(name, value) != value:
            name = f"{plain}_{number}"
            number += 1
        self.values[name] = value
        return f"${{{name}}}"
