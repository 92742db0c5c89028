"""Whether a shell command may run what a rule names, however wrapped; and which commands are plain words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from helix_desktop.domain.tools import ANY
from helix_desktop.permissions.program import INTERPRETERS
from helix_desktop.permissions.reading_commands import (
    changes_folder_inside,
    reads_only_its_input,
    split_command,
)
from helix_desktop.permissions.reading_programs import DEFAULT_LINES, find_programs
from helix_desktop.permissions.shell_tokens import OTHER_RUNNERS, SHELLS, WRAPPERS

Match = Literal["no", "maybe", "yes"]
"""`maybe`: a part that only the shell resolves, such as a variable, could be the command."""

_WEAKEST_FIRST: tuple[Match, ...] = ("no", "maybe", "yes")
_DYNAMIC = "\0"  # stands where the shell puts something else
_EXPANSION = re.compile(r"""\$(?=[\w({@*#?!$'"-])|`""")
_WORD = re.compile(r"\S+")
_BRACES = re.compile(r"\{(?=[^{}]*\})[^{}]*(?:,|\.\.)")  # linear: a command may hold much JSON
_CLASS_START = re.compile(r"\w\[[^\]]")
_QUOTES = re.compile(r"""["'\\]""")
_SEPARATORS = re.compile(r"[;&|(){}\n\r]+")
_BRACED = re.compile(r"\{[^{}]*\}")
_ROWS = re.compile(r"[;&|()\n\r]+")
_SPACES = re.compile(r"[<>\s]+")
_FINER = re.compile(r"[<>\s=!,\[\]]+")  # also parts of words: an alias, a list of arguments
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VERSION = re.compile(r"(?<=[a-z])-?\d[\d.]*$|\.(?:exe|cmd|bat)$")
_SHELLS = SHELLS | {"busybox"}
_FEEDERS = frozenset({"gxargs", "parallel", "rush", "xargs"})  # what they read is behind the words they name
_BEHIND_FEED = frozenset({":::", ":::+", "::::", "::::+", "<", "<<<"})
_RENAMERS = frozenset({"alias", "cp", "hash", "install", "link", "ln", "mv"})
_NAMERS = _RENAMERS | {"command", "realpath", "type", "whereis", "which"}
"""Programs that give another one a name, and those that print its path for them."""
_SAME_AS: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("git", "push"): (("git", "send-pack"), ("git", "http-push"), ("git", "subtree", "push"))
}
"""First words of commands, and of others that do the same."""
_KEYWORDS = frozenset({"do", "elif", "else", "if", "then", "until", "while"})
_PREFIXES = _KEYWORDS | SHELLS | WRAPPERS | OTHER_RUNNERS
_MAX_STEPS = 200_000  # some 0.1 s; 1,000 variables in one command take more
_REMEMBERED = 512  # commands: each rule asks about the same one
# A command that has as many takes some 0.3 s.
_MAX_WORDS = 50_000
_MAX_COMMANDS = 10_000


class _Part(NamedTuple):
    """The words of a simple command, and each as the name of a program."""

    words: tuple[str, ...]
    programs: tuple[str, ...]


def match_anywhere(prefix: Sequence[str], command: str) -> Match:
    """Return whether a command may run a program with these first words anywhere in it.

    Other options may stand between them, and quotes are read as if they were not there, so that
    `sh -c 'git -C . push'` is found.
    """
    if not prefix:
        return "no"
    first = tuple(prefix[:2])
    rest = tuple(prefix[2:])
    others = [(*other, *rest) for other in _SAME_AS.get(first, ())]
    if first[0] == "git" and len(first) > 1:
        others += [(f"git-{words[1]}", *words[2:]) for words in (tuple(prefix), *others)]
    return max((_match(words, command) for words in (prefix, *others)), key=_WEAKEST_FIRST.index)


def _match(prefix: Sequence[str], command: str) -> Match:
    program = _program(prefix[0])
    parts, everything, is_whole = _parts(command)
    if not is_whole:
        return "maybe"
    words = everything.words
    rest = tuple(prefix[1:])
    if any(words[start + 1 : start + len(prefix)] == rest for start in _starts(everything, program)):
        return "yes"
    found = {_match_part(part, prefix) for part in parts}
    if "yes" in found:
        return "yes"
    is_aliased = program == "git" and "alias." in command
    is_maybe = (
        "maybe" in found
        or is_aliased
        or _is_unclear(command)
        or _is_fed(prefix, command)
        or _is_renamed(prefix, parts)
    )
    return "maybe" if is_maybe else "no"


def _is_renamed(prefix: Sequence[str], parts: Sequence[_Part]) -> bool:
    """Return True if a program gets another name (an alias, a link, a copy), and one runs with its words."""
    program = _program(prefix[0])
    programs = [part.programs for part in parts if part.words]
    has_name = any(
        program in names[at + 1 :] for names in programs for at, name in enumerate(names) if name in _NAMERS
    )
    return (
        has_name
        and any(not _RENAMERS.isdisjoint(names) for names in programs)
        and (
            len(prefix) == 1
            or any(
                prefix[1] in part.words[1:] and part.programs[0] != program for part in parts if part.words
            )
        )
    )


def _is_fed(prefix: Sequence[str], command: str) -> bool:
    """Return True if a program may get the words that are missing from what xargs or the like reads."""
    if len(prefix) == 1 or not any(feeder in command for feeder in _FEEDERS):
        return False
    for row in _ROWS.split(_plain(command.replace("{}", _DYNAMIC)))[:_MAX_COMMANDS]:
        part = _part(_marked_words(row.split()[:_MAX_WORDS]))
        fed_from = next((at for at, name in enumerate(part.programs) if name in _FEEDERS), len(part.words))
        for start in _starts(part, _program(prefix[0])):
            if start > fed_from:
                words = part.words[start + 1 :]
                end = next((at for at, word in enumerate(words) if word in _BEHIND_FEED), len(words))
                if _match_rest((*words[:end], _DYNAMIC), prefix[1:]) != "no":
                    return True
    return False


def _marked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return words, with those marked that xargs or the like replaces by what it reads."""
    marks = {word[2:] for word in words if word.startswith("-I") and word != "-I"}
    marks |= {word.removeprefix("--replace=") for word in words if word.startswith("--replace=")}
    marks |= {mark for word, mark in pairwise(words) if word == "-I"}
    marks.discard("")
    return tuple(
        _DYNAMIC
        if _BRACED.fullmatch(word) or (not word.startswith("-") and any(mark in word for mark in marks))
        else word
        for word in words
    )


@lru_cache(maxsize=_REMEMBERED)
def _parts(command: str) -> tuple[tuple[_Part, ...], _Part, bool]:
    """Return the words of each simple command, cut in two ways, and all words in a row.

    The last is False if these are not all words: there are too many.
    """
    plain = _plain(command)
    rows = _SEPARATORS.split(plain, maxsplit=_MAX_COMMANDS)
    if len(rows) > _MAX_COMMANDS or len(_SPACES.split(plain, maxsplit=_MAX_WORDS)) > _MAX_WORDS:
        return (), _Part((), ()), False
    parts = tuple(_part(_words(cut, row)) for cut in (_SPACES, _FINER) for row in rows)
    return parts, _part(_words(_SPACES, _SEPARATORS.sub(" ", plain.replace(_DYNAMIC, " ")))), True


def _part(words: tuple[str, ...]) -> _Part:
    return _Part(words, tuple(map(_program, words)))


def _words(cut: re.Pattern[str], text: str) -> tuple[str, ...]:
    return tuple(word for word in cut.split(text) if word)


def _starts(part: _Part, program: str, or_dynamic: bool = False) -> list[int]:
    """Return at which words a program may begin."""
    if program not in part.programs and not or_dynamic:
        return []
    return [
        at for at, name in enumerate(part.programs) if name == program or (or_dynamic and _DYNAMIC in name)
    ]


def _plain(command: str) -> str:
    """Return a command without quotes and escapes; what the shell replaces is marked."""
    marked = _EXPANSION.sub(_DYNAMIC, command.replace("\\\n", ""))
    return _QUOTES.sub("", _WORD.sub(_mark_pattern, marked))


def _mark_pattern(match: re.Match[str]) -> str:
    """Return a word, marked if the shell puts others in its place: names of files, or each in its braces."""
    word = match[0]
    has_class = _CLASS_START.search(word, 0, max(0, word.rfind("]"))) is not None
    is_pattern = has_class or "*" in word or "?" in word or _BRACES.search(word) is not None
    return _DYNAMIC + word if is_pattern else word


def _program(word: str) -> str:
    """Return a program's name without its folder and version."""
    return _VERSION.sub("", word.rpartition("/")[2].casefold())


def _match_part(part: _Part, prefix: Sequence[str]) -> Match:
    """Return whether a program with these first words may begin anywhere; `maybe` if that takes too long."""
    words = part.words
    starts = _starts(part, _program(prefix[0]), or_dynamic=True)
    branches = max(1, sum(word in prefix[1:] for word in words)) if starts else 1
    if len(starts) * len(words) * branches ** max(0, len(prefix) - 2) > _MAX_STEPS:
        return "maybe"
    return max((_match_at(part, start, prefix) for start in starts), key=_WEAKEST_FIRST.index, default="no")


def _match_at(part: _Part, start: int, prefix: Sequence[str]) -> Match:
    program = part.programs[start]
    words = part.words
    if program == _program(prefix[0]):
        return _match_rest(words[start + 1 :], prefix[1:])
    is_maybe = prefix[1:] and _match_rest(words[start + 1 :], prefix[1:]) != "no"
    return "maybe" if is_maybe else "no"


def _match_rest(words: Sequence[str], prefix: Sequence[str]) -> Match:
    """Return whether words begin with others, in whatever order their options are."""
    if not prefix:
        return "yes"
    if prefix[0].startswith("-"):
        matches = _match_option(words, prefix[0]), _match_rest(words, prefix[1:])
        return min(matches, key=_WEAKEST_FIRST.index)
    found: Match = "no"
    for index, word in enumerate(words):
        if word == prefix[0]:
            rest = _match_rest(words[index + 1 :], prefix[1:])
            if rest != "no":
                return rest
        if _DYNAMIC in word:
            found = "maybe"
        elif not word.startswith("-") and not (index and words[index - 1].startswith("-")):
            break  # neither an option nor the value of one
    return found


def _match_option(words: Sequence[str], option: str) -> Match:
    """Return whether an option is among words: `-rf` also as `-r -f`, perhaps as `--recursive --force`."""
    if option in words:
        return "yes"
    short = [word[1:] for word in words if word.startswith("-") and not word.startswith("--")]
    long = [word[2:] for word in words if word.startswith("--")]
    letters = set("".join(short))
    if option.startswith("--"):
        is_maybe = option[2:3] in letters or any(word and option[2:].startswith(word) for word in long)
        return "maybe" if is_maybe else "no"
    letters_of_option = set(option[1:])
    if letters_of_option <= letters:
        return "yes"
    perhaps = {letter.casefold() for letter in (*letters, *(word[:1] for word in long))}
    return "maybe" if {letter.casefold() for letter in letters_of_option} <= perhaps else "no"


@lru_cache(maxsize=_REMEMBERED)
def _is_unclear(command: str) -> bool:
    """Return True if only the shell knows which programs a command runs."""
    rows = _SEPARATORS.split(_plain(command))
    return "expand_aliases" in command or any(_has_unclear_program(_words(_SPACES, row)) for row in rows)


def _has_unclear_program(words: Sequence[str]) -> bool:
    """Return True if a simple command runs what a variable holds, or what a shell reads from elsewhere."""
    last = ""
    is_behind_option = False
    for word in words:
        if word.startswith("-"):
            is_behind_option = last not in _SHELLS
            continue
        program = _program(word)
        if _ASSIGNMENT.match(word) or word[0].isdigit():
            continue
        if _DYNAMIC in program:
            return True
        if program in _PREFIXES:
            last = program
            is_behind_option = False
        elif is_behind_option:
            is_behind_option = False  # its value, or the program
        else:
            return False
    return last in _SHELLS or last == "parallel"  # which without a command runs the lines that it reads


_BLANKS = re.compile(r"[ \t]+")
# ~ is a home folder at a word's start, and behind = or :
_PLAIN = re.compile(r"(?:[\w%+,\-./:=@^]|(?<=[^\W_])~)+")
_QUOTED_DANGER = frozenset('$`\\!"')


def parse_simple_command(command: str) -> tuple[str, ...] | None:
    """Return the words of a command that is one program with its arguments; None if it may be more.

    Operators, expansions, redirections, globs, escapes, comments and line breaks are never plain.
    """
    words: list[str] = []
    word: list[str] = []
    index = 0
    while index < len(command):
        char = command[index]
        if char in "'\"":
            closing = command.find(char, index + 1)
            inside = command[index + 1 : closing]
            if closing < 0 or not _is_quotable(inside, char):
                return None
            word.append(inside)
            index = closing + 1
        elif spaces := _BLANKS.match(command, index):
            words += ["".join(word)] if word else []
            word = []
            index = spaces.end()
        elif plain := _PLAIN.match(command, index):
            word.append(plain[0])
            index = plain.end()
        else:
            return None
    return tuple([*words, "".join(word)] if word else words) or None


def _is_quotable(inside: str, quote: str) -> bool:
    if not inside.isprintable():
        return False
    return quote == "'" or not _QUOTED_DANGER & set(inside)


def certainly_matches(pattern: str, command: str, root: str = "") -> bool:
    """Return True if a command surely matches a pattern: its first words, and any more for a last `*`.

    What stands around it is as in `main_words`; `root` is the workspace's path.
    """
    words = main_words(command, root)
    prefix, is_open = _split_pattern(pattern)
    if words is None or not prefix:
        return False
    return words[: len(prefix)] == prefix and (is_open or len(words) == len(prefix))


HARMLESS_VARIABLES = frozenset({
    "CARGO_TERM_COLOR", "CI", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE",
    "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LINES", "NO_COLOR", "PY_COLORS",
    "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUNBUFFERED",
    "PYTHONUTF8", "RUST_BACKTRACE", "TERM", "TZ",
})  # fmt: skip
"""Variables that change how a program writes, not what it runs or from where. Each other one may: a list of
those that do would never be whole."""
_SETTING = r"""[A-Za-z_]\w*=(?:[^\s;&|<>()'"\\`]|'[^'\n]*'|"[^"\n]*")*"""
_SETTINGS = re.compile(
    rf"(?:(?:export[ \t]+)?{_SETTING}(?:[ \t]+{_SETTING}){{0,15}}[ \t]*(?:;|&&|\n)|{_SETTING}[ \t])[ \t\n]*",
    re.ASCII,
)
_MAX_SETTINGS = 16  # with more of them nothing matches: the time to read a command stays linear
_EACH_SETTING = re.compile(rf"(?:^|(?<=\s)){_SETTING}", re.ASCII)
_CHANGED_FOLDER = re.compile(r"cd[ \t]+[\w./-]+[ \t]*(?:&&|;)[ \t]*", re.ASCII)
_HARMLESS_VALUE = re.compile(r"""(['"]?)[\w.,:@+-]*\1""", re.ASCII)
_MODULE_PATH = "PYTHONPATH"
_PATHS = re.compile(r"""(['"]?)[\w./:-]+\1""", re.ASCII)
_PYTHON_TESTS = frozenset({"py.test", "pytest"})
_PYTHON_TEST_MODULES = frozenset({("-m", "pytest"), ("-m", "unittest")})


def without_settings(command: str, root: str = "") -> tuple[str, tuple[str, ...]]:
    """Return a command without the variables that are set before it, and those that may change what runs.

    `export CI=1; npm test`, `CI=1 npm test`, either also behind `cd FOLDER &&`. Folders of the workspace,
    whose path is `root`, in which Python's tests look for modules don't: those run its code anyway.
    """
    folder = _CHANGED_FOLDER.match(command)
    at = begin = folder.end() if folder is not None else 0
    names: list[str] = []
    paths_are_inside = True
    for _ in range(_MAX_SETTINGS):
        settings = _SETTINGS.match(command, at)
        if settings is None:
            break
        for setting in _EACH_SETTING.findall(settings[0]):
            name, _, value = setting.partition("=")
            if name not in HARMLESS_VARIABLES or not _HARMLESS_VALUE.fullmatch(value):
                names.append(name)
                paths_are_inside &= name != _MODULE_PATH or _is_inside(value, root)
        at = settings.end()
    rest = f"{command[:begin]}{command[at:]}"
    is_only_path = set(names) == {_MODULE_PATH} and paths_are_inside and not _SETTINGS.match(command, at)
    if is_only_path and _runs_python_tests(main_words(rest, root)):
        return rest, ()
    return rest, tuple(dict.fromkeys(names))


def _is_inside(value: str, root: str) -> bool:
    """Return True if a variable's value is nothing but paths in the workspace, as they are written."""
    if not _PATHS.fullmatch(value):
        return False
    paths = [path.removeprefix(f"{root}/") if root else path for path in value.strip("'\"").split(":")]
    return all(path and not path.startswith("/") and ".." not in path.split("/") for path in paths)


def _runs_python_tests(words: tuple[str, ...] | None) -> bool:
    """Return True for a program that imports code of the workspace before all else, as conftest.py."""
    name, *arguments = words or ("",)
    is_module = INTERPRETERS.fullmatch(name) is not None and name.startswith("python")
    return name in _PYTHON_TESTS or (is_module and tuple(arguments[:2]) in _PYTHON_TEST_MODULES)


def main_words(command: str, root: str = "") -> tuple[str, ...] | None:
    """Return the words of the one program with its arguments that a command is about; None if it may be more.

    Before and behind it may stand what only passes its output on, `cd FOLDER &&`, and variables that don't
    change what runs: agents write `cd web && CI=1 npm test 2>&1 | tail -20`.
    """
    command, variables = without_settings(command, root)
    if variables:
        return None
    if (words := parse_simple_command(command)) is not None:
        return None if "=" in words[0] else words
    commands = split_command(command)
    if commands is None or (len(commands) == 1 and not commands[0].sends_errors):
        return None
    programs = find_programs(DEFAULT_LINES)
    others = [at for at, simple in enumerate(commands) if not reads_only_its_input(simple, programs)]
    while others and commands[others[0]].words[0].text == "cd":
        if not changes_folder_inside(commands, others[0], root):
            return None
        del others[0]
    if len(others) != 1:
        return None
    main = commands[others[0]]
    if main.operator == "|" or any(word.has_wildcards for word in main.words):
        return None
    words = tuple(word.text for word in main.words)
    return None if "=" in words[0] else words


def possibly_matches(pattern: str, command: str) -> Match:
    """Return whether a command may run a pattern's command anywhere in it."""
    return match_anywhere(_split_pattern(pattern)[0], command)


def _split_pattern(pattern: str) -> tuple[tuple[str, ...], bool]:
    words = tuple(pattern.split())
    more = words[-1:] == (ANY,)
    return (words[:-1] if more else words), more
