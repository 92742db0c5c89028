"""A program that a shell command runs, and what its arguments say of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import msgspec

from helix_desktop.domain.permissions.shell_names import SHELLS
from helix_desktop.domain.permissions.shell_words import ANYTHING, MAX_VALUES

INTERPRETERS = re.compile(
    r"(?:(?:python|lua)[\d.]*|node|perl|ruby|bun|deno|php|luajit|Rscript|julia|tclsh|elixir|groovy)"
)
"""Programs of other languages that run a text."""
_UNTRACKED = re.compile(r"-[a-z]*o[a-z]*|--others|--(?:format|pretty)=.+|--no-index")
"""Arguments with which git prints other texts than paths that it tracks."""
_LISTING_ACTIONS = frozenset({"diff", "grep", "log", "ls-files", "ls-tree", "show"})
_LISTS_FILES = re.compile(r"-(?:(?![efmABC])[A-Za-z])*l[A-Za-z]*|--files(?:-with.*)?|--name-only")
"""Arguments with which git, grep and rg print paths of files, not their lines."""
_PATTERN_OPTION = re.compile(r"-[A-Za-z]*[ef].*|--(?:regexp|file)\b.*|--files")
_FIND_ACTIONS = ("-delete", "-exec", "-ok", "-print", "-fprint", "-ls")
_FIRST_WORDS = 4  # one of them is the program, behind wrappers
_TEXT_READERS = SHELLS | {"eval", "source", "."}
_SCRIPT_OPTION, _CODE_OPTION = r"-[a-z]*c[a-z]*", r"-[A-Za-z]*[cepEr]|--eval|eval"


class Program(msgspec.Struct, frozen=True):
    """A program with its arguments, the folder it runs in, and the files that get its output (`>`).

    `inputs` are the files that it gets as its input (`<`), `code` is a text in another language that it runs.
    Of arguments that come through a pipe, `source` is the program that prints them; `is_fed`: it gets any.
    `is_hidden`: what it prints becomes the value of a variable.
    """

    name: str
    words: tuple[str, ...] = ()
    folder: str = ""
    outputs: tuple[str, ...] = ()
    code: str = ""
    is_fed: bool = False
    source: Program | None = None
    inputs: tuple[str, ...] = ()
    is_hidden: bool = False


class CommandReading(msgspec.Struct):
    """What a command runs, in order; `scripts` are its scripts: the folder each runs in, and its path.

    `is_whole` is False if not all of it was read: it is nested too deep, or takes too long.
    """

    programs: list[Program] = msgspec.field(default_factory=list)
    scripts: list[tuple[str, str]] = msgspec.field(default_factory=list)
    is_whole: bool = True


def are_program_texts(words: Sequence[str]) -> Iterator[bool]:
    """Yield for each word if it is the text of a program that a shell or an interpreter reads."""
    is_text = has_shell = has_interpreter = False
    before = ""
    for at, word in enumerate(words):
        is_script = has_shell and bool(re.fullmatch(_SCRIPT_OPTION, before))
        yield is_text or is_script or (has_interpreter and bool(re.fullmatch(_CODE_OPTION, before)))
        before, name = word, posixpath.basename(word)
        is_text |= at == 0 and name in ("eval", "trap")
        has_shell |= name in SHELLS
        has_interpreter |= bool(INTERPRETERS.fullmatch(name))


def found_paths(words: Sequence[str]) -> list[str]:
    """Return what find looks for: its folders, below them the names it is limited to."""
    end = next((i for i, word in enumerate(words) if word.startswith("-") or word == "!"), len(words))
    roots = list(words[:end]) or ["."]
    names = _names_of_find(words[end:])
    if len(roots) * len(names) > MAX_VALUES:
        return [f"{root}/{ANYTHING}" for root in roots]
    return [f"{root}/{ANYTHING}/{name}" for root in roots for name in names or [ANYTHING]]


def _names_of_find(words: Sequence[str]) -> list[str]:
    """Return the names that find is limited to; none if any may fit one of its alternatives."""
    names: list[str] = []
    alternative: list[str] = []
    for before, option, value in zip(("", *words), (*words, "-o"), (*words[1:], "", ""), strict=False):
        is_negated = before in ("!", "-not")
        if (is_negated and option == "(") or (not alternative and option.startswith(_FIND_ACTIONS)):
            return []
        if option in ("-o", "-or", ","):
            if not alternative:
                return []
            names, alternative = names + alternative, []
        elif option in ("-name", "-iname", "-path", "-ipath", "-wholename") and not is_negated:
            name = value.rstrip("/").rpartition("/")[2]
            alternative += _names_with_dot(_in_any_case(name) if option.startswith("-i") else name)
    return names


def _in_any_case(name: str) -> str:
    """Return a name with wildcards for its letters, in upper and lower case."""
    if "[" in name:
        return "*"
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isalpha() else char for char in name)


def _names_with_dot(name: str) -> list[str]:
    """Return a name, and what its first wildcard stands for of names that begin with a dot."""
    match name[:1]:
        case "*":
            return [name, f".{name}", *([name[1:]] if name.startswith("*.") else [])]
        case "?":
            return [name, f".{name[1:]}"]
        case "[":
            return [name, f".{name.partition(']')[2]}"]
    return [name]


def printed_paths(program: Program) -> list[str]:
    """Return the paths that a program prints, with wildcards."""
    words = program.words
    if program.name == "find":
        return found_paths(words)
    if program.name == "git" and _lists_tracked_files(words):
        return []
    if program.name in ("grep", "rg") and any(map(_LISTS_FILES.fullmatch, words)):
        included = [word.partition("=")[2] for word in words if word.startswith("--include=")]
        names = [each for name in included for each in _names_with_dot(name)]
        operands = [word for word in words if not word.startswith("-")]
        has_pattern = any(map(_PATTERN_OPTION.fullmatch, words))
        roots = operands[not has_pattern :] or ["."]
        return [f"{root}/{ANYTHING}/{name}" for root in roots for name in names or [ANYTHING]]
    return [ANYTHING]


def _lists_tracked_files(words: Sequence[str]) -> bool:
    action = next((word for word in words if word in _LISTING_ACTIONS), "")
    is_listed = action in ("ls-files", "ls-tree") or any(map(_LISTS_FILES.fullmatch, words))
    return is_listed and not any(map(_UNTRACKED.fullmatch, words))


def paths_of_fd(words: Sequence[str]) -> list[str]:
    """Return what fd looks for: any file, or those with an ending."""
    ends = [value for option, value in pairwise(words) if option in ("-e", "--extension")]
    return [f"{ANYTHING}/*.{end}" for end in ends] or [ANYTHING]


def runs_text(words: Sequence[str]) -> bool:
    """Return True if a command runs a text that it gets as an argument or a file."""
    names = [posixpath.basename(word) for word in words[:_FIRST_WORDS]]
    return any(name in _TEXT_READERS or INTERPRETERS.fullmatch(name) for name in names)


def passes_on(program: Program) -> bool:
    """Return True if a program prints what it gets."""
    return program.name == "tee" or (program.name == "cat" and not program.words)


def folders_of_env(arguments: Sequence[str]) -> list[str]:
    """Return the folder that env changes into."""
    words = [word.replace("--chdir=", "--chdir\n").split("\n") for word in arguments]
    parts = [part for word in words for part in word]
    return list(islice(_behind(parts, r"-[a-z]*C|--chdir"), 1))


def code_of(arguments: Sequence[str]) -> str:
    """Return the text that an interpreter runs by its option; empty if none."""
    long = (word.partition("=")[2] for word in arguments if word.startswith("--eval="))
    return next(_behind(arguments, _CODE_OPTION), "") or next(long, "")


def _behind(arguments: Sequence[str], option: str) -> Iterator[str]:
    for word, value in pairwise(arguments):
        if re.fullmatch(option, word):
            yield value
