"""The texts that a program runs by a shell although it is none, as far as its arguments say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from helix_desktop.domain.permissions.git_loss import git_words
from helix_desktop.domain.permissions.parameter_expansion import ANYTHING
from helix_desktop.domain.permissions.shell_names import SHELLS

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
