"""Names of files: how file systems compare them, which show keys, and which an ignore file lists."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache

import msgspec


def normalized_name(name: str) -> str:
    """Normalize a name as the most lenient file system does: no case, invisible characters, end dots."""
    visible = "".join(
        sign for sign in unicodedata.normalize("NFKC", name) if unicodedata.category(sign) != "Cf"
    )
    return visible.split(":", 1)[0].casefold().rstrip(". ")


_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".azure", ".kube", ".env.d", ".envs"))
_SECRET_FILES = frozenset(
    (
        ".netrc", "_netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
        ".vault-token", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.json",
    )
)  # fmt: skip
_SECRET_ENDS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")
_EXAMPLE_ENDS = (".example", ".sample", ".template", ".dist", ".defaults")
SECRET_GLOBS = (
    ".env*", "*.env", *sorted(_SECRET_FILES), *(f"*{end}" for end in _SECRET_ENDS),
    *(f"**/{name}/**" for name in sorted(_SECRET_FOLDERS)),
)  # fmt: skip
"""Globs for at least all files that `is_secret_path` finds, in any case."""


def is_secret_folder(name: str) -> bool:
    """Return True if a folder of this name holds keys."""
    return name.lower() in _SECRET_FOLDERS


def is_secret_file(name: str) -> bool:
    """Return True if a file of this name holds keys or passwords; examples of such files do not."""
    name = name.lower()
    if name.startswith(".env"):
        return not name.endswith(_EXAMPLE_ENDS)
    return name in _SECRET_FILES or name.endswith(_SECRET_ENDS)


def holds_secrets(path: str) -> bool:
    """Return True if a path is that of a file with keys or passwords, of a folder of such, or in one."""
    return is_secret_path(path) or is_secret_path(f"{path}/-")


def is_secret_path(path: str) -> bool:
    """Return True if a file, by its path with slashes, holds keys or passwords, or is in such a folder."""
    *folders, name = path.split("/")
    return is_secret_file(name) or name.lower().endswith(".env") or any(map(is_secret_folder, folders))


_MAX_FOLDERS = 50_000  # whose verdicts are remembered
_TOKEN = re.compile(r"\*+|\?|\[[!^]?\]?(?:\\.|[^\]\\])*\]|\\?.", re.DOTALL)
_NAME = "[^/]"
_LETTERS = 3  # in a row, by which rules are found
_FEW = 64  # rules that are tried together, as one pattern
_SPECIAL = re.compile(r"[*?\[\\]")


class _Rule(msgspec.Struct, frozen=True):
    """One line; one that fits names by their whole or by their end has that in `name` or `ending`."""

    glob: str
    ignores: bool
    folders_only: bool
    name: str = ""
    ending: str = ""

    @property
    def pattern(self) -> str:
        """The pattern of the paths that it fits; one that is not anchored fits at any depth."""
        if "/" in self.glob:
            return _regex(self.glob.removeprefix("/"))
        return "(?:.*/)?" + _part_regex(self.glob)


class IgnoreRules:
    """The rules of an ignore file: the last that fits decides, and nothing in an ignored folder returns.

    Names and endings, which most rules are, are looked up: a file may have tens of thousands of them. Of many
    others those are tried on a path of which it has a few letters in a row that they require. With 20,000 of
    them pathspec takes 6 to 31 ms for a path, this 0.12 at most, and over a minute for `*a*a*a*a*a*a*a*b`.
    """

    def __init__(self, text: str, ignores_case: bool = False) -> None:
        self._ignores_case = ignores_case
        self._folders: dict[str, bool] = {}
        lines = text.removeprefix("\ufeff").splitlines()
        self._rules = tuple(rule for line in lines if (rule := self._parse(line)) is not None)
        self._names: dict[str, list[int]] = {}  # places of rules
        self._endings: dict[str, list[int]] = {}
        self._patterns: dict[int, re.Pattern[str]] = {}
        others = []
        for at, rule in enumerate(self._rules):
            if rule.name or rule.ending:
                places = self._names if rule.name else self._endings
                places.setdefault(self._key(rule.name or rule.ending), []).append(at)
            else:
                others.append(at)
        self._lengths = {len(ending) for ending in self._endings}
        self._others = tuple(reversed(others))

    def ignores(self, parts: Sequence[str], is_folder: bool = False) -> bool:
        """Return True if a path of the workspace is listed, or lies in a folder that is."""
        if not (self._rules and parts):
            return False
        names = [normalized_name(part) for part in parts] if self._ignores_case else parts
        return self._is_inside("/".join(names[:-1])) or self._fits("/".join(names), is_folder)

    def verdict(self, path: str, is_folder: bool = False) -> bool | None:
        """Return whether the last rule that fits a path itself lists it; None: no rule fits."""
        if not self._rules:
            return None
        if self._ignores_case:
            path = "/".join(map(normalized_name, path.split("/")))
        return self._decision(path, is_folder)

    @property
    def ignores_everything(self) -> bool:
        """True if all that is in the file's own folder is listed."""
        return any(rule.glob == "*" for rule in self._rules) and all(rule.ignores for rule in self._rules)

    def _is_inside(self, folder: str) -> bool:
        """Return True if a folder is listed, or lies in one that is; each is looked at once."""
        if not folder:
            return False
        if folder not in self._folders:
            if len(self._folders) > _MAX_FOLDERS:
                self._folders.clear()
            above = folder.rpartition("/")[0]
            self._folders[folder] = self._is_inside(above) or self._fits(folder, is_folder=True)
        return self._folders[folder]

    def _fits(self, path: str, is_folder: bool) -> bool:
        return bool(self._decision(path, is_folder))

    def _decision(self, path: str, is_folder: bool) -> bool | None:
        name = self._key(path.rpartition("/")[2])
        found = list(self._names.get(name, ()))
        for length in self._lengths:
            if length <= len(name):
                found += self._endings.get(name[-length:], ())
        if len(self._others) > _FEW:
            found += (at for at in self._candidates(path) if self._pattern(at).fullmatch(path))
        elif self._others and self._any_other.fullmatch(path):  # few paths fit one: the price of one pattern
            found += (at for at in self._others if self._pattern(at).fullmatch(path))
        fitting = (at for at in found if is_folder or not self._rules[at].folders_only)
        last = max(fitting, default=None)
        return None if last is None else self._rules[last].ignores

    def _candidates(self, path: str) -> set[int]:
        """Return the places of those other rules of which a path has all the letters that they require."""
        letters = path.lower() if self._ignores_case else path
        found = set(self._by_letters.get("", ()))
        for length in range(1, _LETTERS + 1):
            for start in range(len(letters) - length + 1):
                found.update(self._by_letters.get(letters[start : start + length], ()))
        return {at for at in found if all(run in letters for run in self._runs[at])}

    @cached_property
    def _runs(self) -> dict[int, list[str]]:
        return {at: _required_runs(self._rules[at].glob, self._ignores_case) for at in self._others}

    @cached_property
    def _by_letters(self) -> dict[str, list[int]]:
        """The places of the other rules by letters that a path has to have: the rarest among all rules."""
        required = {at: _few_letters(runs) for at, runs in self._runs.items()}
        counts = Counter(letters for all_letters in required.values() for letters in all_letters)
        found: dict[str, list[int]] = {}
        for at, all_letters in required.items():
            rarest = min(all_letters, key=lambda letters: (counts[letters], letters), default="")
            found.setdefault(rarest, []).append(at)
        return found

    @cached_property
    def _any_other(self) -> re.Pattern[str]:
        return re.compile("|".join(self._rules[at].pattern for at in self._others), self._flags)

    def _pattern(self, at: int) -> re.Pattern[str]:
        if at not in self._patterns:
            self._patterns[at] = re.compile(self._rules[at].pattern, self._flags)
        return self._patterns[at]

    def _key(self, name: str) -> str:
        return name.lower() if self._ignores_case else name

    @property
    def _flags(self) -> int:
        return re.DOTALL | (re.IGNORECASE if self._ignores_case else 0)

    def _parse(self, line: str) -> _Rule | None:
        line = re.sub(r"(?<!\\) +$", "", line.rstrip("\r"))
        if not line or line.startswith("#"):
            return None
        ignores = not line.startswith("!")
        line = line[not ignores :]
        folders_only = line.endswith("/")
        body = line.rstrip("/") if folders_only else line
        if not body:
            return None
        anchored = "/" in body
        try:
            if "[" in body or "\\" in body:
                for token in _TOKEN.findall(body):
                    _check_token(token)
        except re.error:  # as git: such a pattern fits nothing
            return None
        name = body if not anchored and not _SPECIAL.search(body) else ""
        ending = body[1:] if not anchored and body[:1] == "*" and not _SPECIAL.search(body[1:]) else ""
        return _Rule(body, ignores, folders_only, name, ending)


@lru_cache(maxsize=1_000)
def _check_token(token: str) -> None:
    """Raise re.error for a token that is no part of a pattern."""
    if not token.startswith("*"):
        re.compile(_token_regex(token))


def _few_letters(runs: Sequence[str]) -> set[str]:
    """Return each row of three letters in what a path has to have, or of fewer."""
    length = min(_LETTERS, max(map(len, runs), default=0))
    return {run[start : start + length] for run in runs for start in range(len(run) - length + 1) if length}


def _required_runs(glob: str, ignores_case: bool) -> list[str]:
    """Return what every path has that fits a glob: the letters between its special signs.

    Where case is ignored, letters that a pattern also takes for others (as the Kelvin sign) part them.
    """
    runs = [""]
    for part in glob.split("/"):
        runs.append("")
        for token in _TOKEN.findall(part):
            letter = token.removeprefix("\\")
            is_special = token in ("?", "*") or len(letter) != 1
            is_ambiguous = ignores_case and (not letter.isascii() or letter.lower() in "iks")
            if is_special or is_ambiguous:
                runs.append("")
            else:
                runs[-1] += letter.lower() if ignores_case else letter
    return [run for run in runs if run]


def _regex(glob: str) -> str:
    """Return the pattern of a glob; its atomic groups keep a hostile one from trying every way to fit.

    As git, which compares what stands before the first special sign by itself: `a**/b` fits `ab` and `a/c/b`.
    """
    literal = _SPECIAL.split(glob, maxsplit=1)[0]
    blocks: list[list[str]] = [[]]  # parts between `**`
    for part in glob.removeprefix(literal).split("/"):
        if len(part) > 1 and not part.strip("*"):
            blocks.append([])
        else:
            blocks[-1].append(_part_regex(part))
    first, *others = ["/".join(block) for block in blocks]
    out = re.escape(literal) + first
    if not others:
        return out
    *middle, last = others
    out += "/" if first else ""
    out += "".join(f"(?>(?:.*?/)?{block}/)" for block in middle if block)
    return out + (f"(?:.*/)?{last}" if last else ".*")


def _part_regex(part: str) -> str:
    """Return the pattern of a name. What stands between two stars may match at its first place."""
    pieces = [""]
    for token in _TOKEN.findall(part):
        if token.startswith("*"):
            pieces.append("")
        else:
            pieces[-1] += _token_regex(token)
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>{_NAME}*?{piece})" for piece in middle if piece) + f"{_NAME}*{last}"


def _token_regex(token: str) -> str:
    if token == "?":
        return _NAME
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1]
        negated = inside[:1] in ("!", "^")
        return f"(?!/)[{'^' if negated else ''}{_class_regex(inside[negated:])}]"
    if token == "\\":  # at the end of a pattern git takes it for invalid
        raise re.error("a backslash at the end")
    return re.escape(token.removeprefix("\\"))


def _class_regex(inside: str) -> str:
    """Return the inside of a class of characters, in which `-` and backslashes are special, nothing else."""
    return inside.replace("[", "\\[").replace("^", "\\^").replace("]", "\\]", 1 if inside[:1] == "]" else 0)
