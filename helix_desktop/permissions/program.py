"""A program that a shell command runs: its arguments, paths it writes, texts it runs, what it loads."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice, pairwise, takewhile

import msgspec

from helix_desktop.permissions.git_loss import git_words
from helix_desktop.permissions.shell_tokens import RUN_BY_FD, RUN_BY_FIND, SHELLS
from helix_desktop.permissions.shell_words import ANYTHING, MAX_VALUES, OUTSIDE

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
_SCRIPT_OPTION = r"-[a-z]*c[a-z]*"
_CODE_OPTION = r"-[A-Za-z]*[cepEr]|--eval|eval"


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
        before = word
        name = posixpath.basename(word)
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
            names = names + alternative
            alternative = []
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
    if re.fullmatch(r"(?:%[sbq](?:\\n| )?)+", words[0]):
        separator = "\n" if "\\n" in words[0] else " "
        return separator.join(words[1:])
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
    return list(islice(_values(arguments, r"-[a-z]*?C|--chdir"), 1))


def code_of(arguments: Sequence[str]) -> str:
    """Return the text that an interpreter runs by its option; empty if none."""
    codes = (value for option, value in pairwise(arguments) if re.fullmatch(_CODE_OPTION, option))
    return next(codes, "") or next(_values_of_options(arguments, "--eval"), "")


_OUTPUT = ("-o", "--output", "--out", "--output-file")
_DOWNLOAD_FOLDER = {"curl": r"--output-dir", "wget": r"-P|--directory-prefix", "openssl": r"-outdir"}
_DOWNLOAD_FILE = {
    "curl": r"-[a-zA-Z]*?o|--output", "wget": r"-[a-zA-Z]*?O|--output-document", "openssl": r"-out",
}  # fmt: skip
_KEEPS_NAME = re.compile(r"-[a-zA-Z]*O[a-zA-Z]*|--remote-name(?:-all)?")
_UNPACK_FOLDER = {
    "unzip": r"-[a-zA-Z]*?d",
    "7z": r"-o",
    "tar": r"-[a-zA-Z]*?C|--directory",
    "patch": r"-d|--directory",
}
_UNPACKS = re.compile(r"-?[a-zA-Z]*x[a-zA-Z]*|--extract|--get")
_TARGET_FOLDER = r"-[a-zA-Z]*?t|--target-directory"


def written_by_options(name: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the files that a program writes as its options say, and the folders that it unpacks into."""
    if name in _DOWNLOAD_FILE:
        yield from downloaded_paths(name, words)
        return
    for word, after in pairwise((*words, "")):
        option, is_joined, value = word.partition("=")
        if option in _OUTPUT:
            yield value if is_joined else after
    unpacker = "tar" if name == "bsdtar" else name
    if unpacker in _UNPACK_FOLDER and (unpacker != "tar" or _unpacks(words)):
        yield from _values(words, _UNPACK_FOLDER[unpacker])
    if unpacker == "tar" and _unpacks(words):
        operands = [word for word in words[not words[0].startswith("-") :] if not word.startswith("-")]
        yield from operands[1:]  # behind the archive: what it unpacks
    if name == "patch":
        yield from [word for word in words if not word.startswith("-")][:1]


def downloaded_paths(name: str, words: Sequence[str]) -> list[str]:
    """Return the files that curl, wget or openssl write, by options; else they are named by the address."""
    if name not in _DOWNLOAD_FILE:
        return []
    folder = next(_values(words, _DOWNLOAD_FOLDER[name]), "")
    files = [path for path in _values(words, _DOWNLOAD_FILE[name]) if path != "-"]
    is_named = any(re.match(_DOWNLOAD_FILE[name], word) for word in words)
    keeps_name = not is_named if name == "wget" else name == "curl" and any(map(_KEEPS_NAME.fullmatch, words))
    if keeps_name:
        files += [posixpath.basename(word) for word in words if "/" in word and not word.startswith("-")]
        files += [""] if folder else []
    return [posixpath.join(folder, path) for path in files]


def target_folder(words: Sequence[str]) -> str:
    """Return the folder that cp, mv, install or ln put their files into by option; empty if none."""
    return next(_values(words, _TARGET_FOLDER), "")


def _values(words: Sequence[str], options: str) -> Iterator[str]:
    """Yield the values of options, which may follow them directly, behind `=`, or as the next word."""
    for word, after in pairwise((*words, "")):
        if found := re.fullmatch(rf"(?:{options})(?:=?(.+))?", word, re.DOTALL):
            yield found[1] or after


def _unpacks(words: Sequence[str]) -> bool:
    return any(_UNPACKS.fullmatch(word) for word in words if word.startswith("-") or word == words[0])


ANY_REMOVAL = "rm -r **"
"""Stands for a text that nobody knows before it runs."""

PRINTERS = frozenset({"cat", "echo", "printf", "tee"})
"""Programs whose output is what the command or a file of the workspace says."""
DECODERS = frozenset({
    "base32", "base64", "curl", "gunzip", "gzip", "nc", "openssl", "rev", "tr", "wget", "xxd", "zcat",
})  # fmt: skip
"""Programs whose output is a text that the command does not show."""

AWKS = re.compile(r"[gmn]?awk")
_SED_RUN = re.compile(r"(?:^|[;{}\n/!=$]|\d)[ \t]*+e[ \t]+([^\n]+)")
_SED_RUN_INPUT = re.compile(r"(?:^|[;{}\n!$]|\d)[ \t]*+e[ \t]*+(?:$|[;}\n])")
_SED_RUN_RESULT = re.compile(
    r"(?:^|[\s;{}/\d$,=]|^-e)s([/|,#:@!%~_^+])(?:\\.|(?!\1).)*+\1(?:\\.|(?!\1).)*+\1"
    r"[gpiIMm\d]*+e(?:$|[;}\n \t])"
)
_RUNNING_SETTING = re.compile(
    r"alias\..+|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy)|pager\..+"
    r"|sequence\.editor|credential\..*helper|diff\.external|.+\.(?:textconv|clean|smudge|process|driver|cmd|path)"
    r"|gpg\..*program|include\.path|includeif\..+",
    re.IGNORECASE,
)
_RUNNING_VARIABLE = re.compile(r"GIT_(?!AUTHOR|COMMITTER|DIR|WORK_TREE)\w+|\w*PAGER|\w*EDITOR|VISUAL|BROWSER")
_SYSTEM_CODE = re.compile(
    r"\b(?:system|popen|Popen|exec\w*|spawn\w*|subprocess|child_process|shell_exec|passthru|proc_open)\b"
)
_STRINGS = re.compile(r"\\.|'([^'\n]++)'|\"((?:[^\"\n\\]++|\\.)++)\"")
_COMMAND_STRINGS = re.compile(r"(?:%x|\bqx)[ \t]*[({\[]([^)}\]\n]+)|`([^`\n]+)`")
_MAX_STRINGS = 50
_AWK_RUN = re.compile(r"\bsystem\s*\(|\|")
_RUN_WORDS = frozenset({
    "concurrently", "entr", "flock", "hyperfine", "nix-shell", "nodemon", "runuser", "screen", "script", "sg",
    "su", "tmux", "watch", "watchexec",
})  # fmt: skip
"""Programs that run words of theirs by a shell."""
_FOREACH_OPTIONS = frozenset({"--recursive", "--quiet", "-q"})
_SHELL_OPTION_WITH_VALUE = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")


def script_of_shell(arguments: Sequence[str]) -> str:
    """Return what a shell runs by its option -c: the first word that is no option."""
    is_script = is_value = False
    for word in arguments:
        if is_value:
            is_value = False
            continue
        is_script |= bool(re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", word))
        is_value = bool(_SHELL_OPTION_WITH_VALUE.fullmatch(word))
        if word != "--" and not word.startswith(("-", "+")):
            return word if is_script else ""
    return ""


def reads_input(arguments: Sequence[str]) -> bool:
    """Return True if a shell or an interpreter reads what it runs from its input."""
    is_option = "-m" not in arguments and bool({"-", "-s"} & set(arguments))
    return is_option or (all(word.startswith("-") for word in arguments) and "-m" not in arguments)


def saves_running_setting(words: Sequence[str]) -> bool:
    """Return True if git saves a setting whose value, or files that it names, it runs later."""
    rest = list(git_words(words)[1])
    operands = [
        word
        for before, word in pairwise(rest)
        if not word.startswith("-") and word != "set" and before not in ("-f", "--file", "--type")
    ]
    is_saved = rest[:1] == ["config"] and len(operands) > 1 and "--get" not in rest
    return is_saved and bool(_RUNNING_SETTING.fullmatch(operands[0]))


def text_of_variable(name: str, value: str) -> str:
    """Return what other programs run of a variable of their environment; empty if they run none of it."""
    return value if _RUNNING_VARIABLE.fullmatch(name) else ""


def texts_to_run(name: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the texts among a program's arguments that it runs by a shell."""
    match name:
        case "sed":
            yield from _sed_texts(words)
        case "git":
            yield from _git_texts(words)
        case "env":
            yield from (word[2:] for word in words if word.startswith("-S"))
            yield from _values_of_options(words, "-S", "--split-string")
        case "make" | "gmake":
            yield from (word.partition("=")[2] for word in words if word.startswith(("--eval=", "SHELL=")))
        case name if name in _RUN_WORDS:
            yield from (word for word in words if " " in word)
        case name if AWKS.fullmatch(name):
            codes = [word.replace('\\"', "'") for word in words if _AWK_RUN.search(word)]
            yield from (text for code in codes for text in _strings(code))


def _sed_texts(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        yield from _SED_RUN.findall(word)
    if any(map(_SED_RUN_RESULT.search, words)) or any(map(_SED_RUN_INPUT.search, sed_scripts(words))):
        yield ANY_REMOVAL


def sed_scripts(words: Sequence[str]) -> list[str]:
    """Return the scripts among the arguments of sed: its first operand unless options give them."""
    scripts = [
        word.partition("=")[2] if word.startswith("--expression=") else word[2:] or after
        for word, after in pairwise((*words, ""))
        if re.match(r"-e|--expression=", word)
    ]
    has_file = any(re.match(r"-f|--file", word) for word in words)
    return scripts or ([] if has_file else [word for word in words if not word.startswith("-")][:1])


def _git_texts(words: Sequence[str]) -> Iterator[str]:
    for option, value in pairwise(words):
        setting, _, text = value.partition("=")
        if option == "-c" and _RUNNING_SETTING.fullmatch(setting):
            yield text.lstrip("!")
    rest = git_words(words)[1]
    match list(rest[:2]):
        case ["submodule", *_] if "foreach" in rest:
            words = [word for word in rest[list(rest).index("foreach") + 1 :] if word not in _FOREACH_OPTIONS]
            yield f"cd '{ANYTHING}'\n" + (words[0] if len(words) == 1 else shlex.join(words))
        case ["bisect", "run"]:
            words = rest[2:]
            yield words[0] if len(words) == 1 else shlex.join(words)
        case ["rebase" | "difftool", *_]:
            for option, value in pairwise((*rest, "")):
                if option in ("-x", "--exec", "--extcmd"):
                    yield value
                elif option.startswith(("--exec=", "--extcmd=")):
                    yield option.partition("=")[2]
        case ["grep", *_]:
            yield from (word[2:] for word in rest if word.startswith("-O"))
            yield from _values_of_options(rest, "--open-files-in-pager")
        case _:
            yield from _values_of_options(rest, "--upload-pack", "--receive-pack", "--exec")


def _values_of_options(words: Sequence[str], *options: str) -> Iterator[str]:
    for word, after in pairwise((*words, "")):
        option, is_joined, value = word.partition("=")
        if option in options:
            yield value if is_joined else after


def _strings(code: str) -> list[str]:
    return list(filter(None, map("".join, _STRINGS.findall(code))))[:_MAX_STRINGS]


def texts_in_code(code: str) -> Iterator[str]:
    """Yield what a program in another language may run: each of its strings, and all in a row."""
    yield from map("".join, _COMMAND_STRINGS.findall(code))
    if _SYSTEM_CODE.search(code):
        strings = _strings(code)
        yield from strings
        yield " ".join(string for string in strings if string not in SHELLS)


def downloaded_by(program: Program, piped: Program | None) -> list[str]:
    """Return what a program writes with a text that the command does not show; `piped` prints its input."""
    paths = downloaded_paths(program.name, program.words)
    is_passed_on = piped is not None and piped.name in DECODERS and passes_on(program)
    if program.name in DECODERS or is_passed_on:
        paths += program.outputs
    if is_passed_on:
        paths += program.words
    return [joined_path(program.folder, path) for path in paths]


def joined_path(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))
