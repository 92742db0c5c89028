"""A program that a shell command runs, and what its arguments say of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice, pairwise, takewhile

import msgspec

from helix_desktop.domain.permissions.parameter_expansion import ANYTHING
from helix_desktop.domain.permissions.shell_names import RUN_BY_FD, RUN_BY_FIND, SHELLS
from helix_desktop.domain.permissions.shell_words import MAX_VALUES, OUTSIDE

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
_REPLACEMENT = re.compile(r"-[0rtxp]*I(.*)|-i(.*)|--replace(?:=(.*))?", re.DOTALL)
_XARGS_WITH_VALUE = frozenset(
    {"-E", "-L", "-P", "-a", "-d", "-n", "-s", "--arg-file", "--delimiter", "--max-args"}
)
_MAX_INPUTS = 8
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


def _paths_of_fd(words: Sequence[str]) -> list[str]:
    """Return what fd looks for: any file, or those with an ending."""
    ends = [value for option, value in pairwise(words) if option in ("-e", "--extension")]
    return [f"{ANYTHING}/*.{end}" for end in ends] or [ANYTHING]


def printed_text(program: Program) -> str:
    """Return what echo or printf print; empty if it is not clear."""
    words = list(dropwhile(re.compile(r"-[neE]+").fullmatch, program.words))
    if program.name == "echo":
        return " ".join(words)
    if program.name != "printf" or not words:
        return ""
    if re.fullmatch(r"(?:%[sb](?:\\n| )?)+", words[0]):
        return " ".join(words[1:])
    return "" if "%" in words[0] else words[0].replace("\\n", "\n")


def split_replacement(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the text that xargs replaces by what it gets, empty if none, and its other arguments."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        found = _REPLACEMENT.fullmatch(arguments[at])
        if found and arguments[at].endswith("I"):
            return "".join(arguments[at + 1 : at + 2]), [*arguments[:at], *arguments[at + 2 :]]
        if found:
            return found[1] or found[2] or found[3] or "{}", [*arguments[:at], *arguments[at + 1 :]]
        at += 2 if arguments[at] in _XARGS_WITH_VALUE else 1
    return "", list(arguments)


def with_input(arguments: Sequence[str], mark: str, source: Program | None) -> list[str]:
    """Return the arguments of xargs with what it gets from a program instead of a mark."""
    paths = (printed_paths(source) or [OUTSIDE]) if source is not None else [ANYTHING]
    paths = paths if len(paths) <= _MAX_INPUTS else [ANYTHING]
    has_shell = not SHELLS.isdisjoint(map(posixpath.basename, arguments))
    words: list[str] = []
    for word in arguments:
        each = [word.replace(mark, path) for path in paths] if mark in word else [word]
        words += ["\n".join(each)] if has_shell else each
    return words


def commands_of_find(name: str, arguments: Sequence[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield what find or fd runs for what it finds: the number of its option, the folder, the words."""
    runners = RUN_BY_FIND if name == "find" else RUN_BY_FD
    options = [at for at, word in enumerate(arguments) if word in runners]
    for number, at in enumerate(options, 1):
        words = list(takewhile(lambda part: part not in ("+", ";"), arguments[at + 1 :]))
        if name != "find" and "{}" not in words:
            words.append("{}")
        paths = found_paths(arguments) if name == "find" else _paths_of_fd(arguments[:at])
        for path in paths if any("{}" in word for word in words) else paths[:1]:
            folder, found = posixpath.split(path) if arguments[at].endswith("dir") else ("", path)
            for each in dict.fromkeys((folder, folder.removesuffix(ANYTHING))):
                yield number, each, [word.replace("{}", found) for word in words]


def runs_replacement(arguments: Sequence[str], mark: str) -> bool:
    """Return True if a text that is replaced by what xargs gets is a command of its own."""
    has_shell = not SHELLS.isdisjoint(map(posixpath.basename, arguments))
    return any(
        word.lstrip("\"' ").startswith(mark)
        and (at == 0 or (has_shell and bool(re.fullmatch(_SCRIPT_OPTION, arguments[at - 1]))))
        for at, word in enumerate(arguments)
    )


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
