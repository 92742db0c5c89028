"""The programs that a shell command runs with their arguments, as far as its text says."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile

import msgspec

from helix_desktop.domain.permissions.shell_names import OTHER_RUNNERS, SHELLS, WRAPPERS

ANYTHING = "**"
"""An argument that only the shell knows; within a path: any folders."""

_PUNCTUATION = ";&|()<>\n"
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)\n\s*\2(?=\s|$)", re.S)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
_VARIABLE = re.compile(r"\$\{?(\w+|[@*?#!])[^}/\s]*\}?|\$(?=$)")
_NESTED = re.compile(r"\$\((.*)\)|`(.*)`", re.S)
_INTERPRETERS = re.compile(r"(?:python[\d.]*|node|perl|ruby|bun|deno|php)")
_KEYWORDS = frozenset({
    "then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "done", "fi", "coproc",
})  # fmt: skip
_BACKTICKS = re.compile(r"`([^`]*)`")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_RUNNERS = WRAPPERS | OTHER_RUNNERS - {"eval", "source"}
_OUTSIDE = {"HOME": "/nonexistent", "TMPDIR": "/tmp", "PWD": "."}
_MAX_DEPTH = 4  # commands within commands
_MAX_WRAPPERS, _MAX_HEREDOCS, _MAX_VALUES = 8, 50, 64
_SCRIPT_OPTION, _CODE_OPTION = r"-[a-z]*c[a-z]*", r"-[a-z]*[cepr]|--eval|eval"
_NAME_OF_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


class Program(msgspec.Struct, frozen=True):
    """A program with its arguments, the folder it runs in, and the files that get its output (`>`).

    `code` is a text in another language that it runs. Of arguments that come through a pipe, `source` is the
    program that prints them; `is_fed`: it gets any at all.
    """

    name: str
    words: tuple[str, ...] = ()
    folder: str = ""
    outputs: tuple[str, ...] = ()
    code: str = ""
    is_fed: bool = False
    source: Program | None = None


_UNCLEAR = Program("rm", ("-r", ANYTHING))
"""Stands for what is nested too deep to be read."""


def find_programs(command: str, folder: str = "", depth: int = 0) -> list[Program]:
    """Return what a command runs, in order, in this folder or those it changes into."""
    if depth > _MAX_DEPTH or command.count("<<") > _MAX_HEREDOCS:
        return [_UNCLEAR]
    reader = _Reader(folder, depth)
    text = _HEREDOC.sub(lambda found: reader.read_heredoc(command[: found.start()], found), command)
    text = _BACKTICKS.sub(r"$(\1)", text)
    reader.read(_tokens(text.replace("\\\n", "")))
    reader.read_written_scripts()
    return reader.programs


def _tokens(text: str) -> list[str]:
    """Return words and operators; of a text that is no complete command, what stands between spaces."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        return list(lexer)
    except ValueError:
        return re.findall(r"[;&|()<>\n]+|[^\s;&|()<>\"']+", text)


_REPLACING = frozenset({">", ">|", "&>", ">&", "<>"})


class _Reader:
    """Collects the programs of one command."""

    def __init__(self, folder: str, depth: int) -> None:
        self.programs: list[Program] = []
        self._folder, self._depth = folder, depth
        self._values: dict[str, list[str]] = {}
        self._piped: Program | None = None
        self._texts: list[str] = []  # that the command writes or pipes: a script, if it runs one
        self._runs_script = False
        self._wrappers = 0

    def read_heredoc(self, head: str, found: re.Match[str]) -> str:
        """Return what stays of a command whose input is in it: input that is run is read as a program."""
        words = re.split(r"[;&|\n]", head)[-1].split()
        name = posixpath.basename(words[0]) if words else ""
        if name in SHELLS:
            self.programs += find_programs(found[4], self._folder, self._depth + 1)
        elif _INTERPRETERS.fullmatch(name):
            self.programs.append(Program(name, folder=self._folder, code=found[4]))
        else:
            self._texts.append(found[4])
        return found[3]

    def read_written_scripts(self) -> None:
        """Read what the command writes or pipes as programs, if it runs a script that may be it."""
        if self._runs_script:
            for text in self._texts:
                self.programs += find_programs(text, self._folder, self._depth + 1)

    def read(self, tokens: Iterable[str]) -> None:
        """Read the words of a command, up to each operator."""
        words: list[str] = []
        outputs: list[str] = []
        target = ""
        for token in (*tokens, ";"):
            if not token or set(token) - set(_PUNCTUATION):
                if target:
                    outputs += self._expand(token) if target in _REPLACING and not token.isdigit() else []
                    if target in (">>", "&>>") and not token.isdigit():
                        added = (Program("tee", ("-a", path), self._folder) for path in self._expand(token))
                        self.programs += added
                    if target == "<<<":
                        self._texts.append(token)
                else:
                    words.append(token)
                target = ""
            elif set(token) & set("<>") and "(" not in token:
                target = token
            else:
                last = self._run(words, outputs)
                self._piped = last if token in ("|", "|&") else None
                words, outputs, target = [], [], ""

    def _run(self, words: Sequence[str], outputs: Sequence[str]) -> Program | None:
        """Note what one simple command runs; return it."""
        words = [word for word in words if word]
        while words and words[0] in _KEYWORDS:
            words = words[1:]
        if words[:1] == ["function"]:
            words = [word for word in words[2:] if word not in _KEYWORDS]
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            values = dict.fromkeys(value for word in words[3:] for value in self._expand(word))
            self._values[words[1]] = list(values) if len(values) <= _MAX_VALUES else [ANYTHING]
            return None
        while words and (found := _ASSIGNMENT.match(words[0])):
            self._values[found[1]] = self._expand(found[2])
            words = words[1:]
        for word in words:
            for inner in _NESTED.findall(word):
                self.programs += find_programs("".join(inner), self._folder, self._depth + 1)
        words = [
            value
            for at, word in enumerate(words)
            for value in (self._with_values(word) if _is_program_text(words, at) else self._expand(word))
        ]
        if not words and not outputs:
            return None
        return self._note(words, tuple(outputs))

    def _note(self, words: Sequence[str], outputs: tuple[str, ...]) -> Program | None:
        name = posixpath.basename(words[0]) if words else ""
        arguments = tuple(words[1:])
        if name in ("cd", "pushd"):
            self._folder = posixpath.join(self._folder, arguments[0] if arguments else _OUTSIDE["HOME"])
            return None
        script = _script(arguments) if name in SHELLS else ""
        is_script = name in ("source", ".") or bool(words and words[0].startswith("./"))
        self._runs_script |= is_script or (name in SHELLS and not script)
        if name in ("eval", "trap"):
            script = " ".join(arguments if name == "eval" else arguments[:1])
        if name in SHELLS or name in ("eval", "trap"):
            self.programs += find_programs(script, self._folder, self._depth + 1)
            return None
        if name in _RUNNERS:
            return self._note_wrapped(arguments, outputs, is_fed=name in ("xargs", "parallel"))
        if name in ("echo", "printf"):
            self._texts.append(" ".join(arguments))
        if name == "find":
            self._note_run_by_find(arguments)
        code = _code(arguments) if _INTERPRETERS.fullmatch(name) else ""
        program = Program(name, arguments, self._folder, outputs, code)
        self.programs.append(program)
        return program

    def _note_wrapped(
        self, arguments: Sequence[str], outputs: tuple[str, ...], is_fed: bool
    ) -> Program | None:
        """Note each of the words behind a wrapper that may be its program: options may have values."""
        last: Program | None = None
        self._wrappers += 1
        if self._wrappers > _MAX_WRAPPERS:
            self.programs.append(_UNCLEAR)
            return None
        count = len(self.programs)
        is_behind_option = False
        for index, word in enumerate(arguments):
            if word.startswith("-"):
                is_behind_option = True
            elif not _ASSIGNMENT.match(word) and not word[:1].isdigit():
                last = self._note(arguments[index:], outputs) or last
                if not is_behind_option:
                    break
                is_behind_option = False
        if last is None and outputs:
            last = Program("", folder=self._folder, outputs=outputs)
            self.programs.append(last)
        if is_fed:
            self.programs[count:] = [
                msgspec.structs.replace(program, is_fed=True, source=self._piped)
                for program in self.programs[count:]
            ]
        return last

    def _note_run_by_find(self, arguments: Sequence[str]) -> None:
        """Note what find runs for what it finds, which stands for `{}`."""
        for at, word in enumerate(arguments):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                self._wrappers += 1
                if self._wrappers > _MAX_WRAPPERS:
                    self.programs.append(_UNCLEAR)
                    return
                run = list(takewhile(lambda part: part not in ("+", ";"), arguments[at + 1 :]))
                for path in found_paths(arguments) if "{}" in run else run[:1]:
                    self._note([path if part == "{}" else part for part in run], ())

    def _expand(self, word: str) -> list[str]:
        """Return a word with the values of its variables and braces; what is not known is any path."""
        words = [word]
        while any(found := [_BRACES.search(each) for each in words]):
            words = [part for each, braces in zip(words, found, strict=True) for part in _parts(each, braces)]
            if len(words) > _MAX_VALUES:
                return [ANYTHING]
        return [value for each in words for value in self._with_variables(each)]

    def _with_variables(self, word: str) -> list[str]:
        found = _VARIABLE.search(word)
        if found is None:
            return [ANYTHING if _NESTED.search(word) else word]
        name = found[1] or ""
        values = self._values.get(name) or [_OUTSIDE.get(name, ANYTHING)]
        rest = [_VARIABLE.sub(ANYTHING, part) for part in (word[: found.start()], word[found.end() :])]
        return [rest[0] + value + rest[1] for value in values]

    def _with_values(self, text: str) -> list[str]:
        """Return the text of a program with the known values of variables: once for each value, joined."""
        texts = [text]
        for name in dict.fromkeys(_NAME_OF_VARIABLE.findall(text)):
            values = self._values.get(name, [])
            if values and len(texts) * len(values) <= _MAX_VALUES:
                variable = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
                texts = [value.join(variable.split(each)) for each in texts for value in values]
        return ["\n".join(texts)]


def _is_program_text(words: Sequence[str], at: int) -> bool:
    """Return True if a word is the text of a program that a shell or an interpreter reads."""
    names = [posixpath.basename(word) for word in words[:at]]
    if not names or names[0] in ("eval", "trap"):
        return bool(names)
    is_script = bool(SHELLS.intersection(names)) and bool(re.fullmatch(_SCRIPT_OPTION, words[at - 1]))
    is_code = any(map(_INTERPRETERS.fullmatch, names)) and bool(re.fullmatch(_CODE_OPTION, words[at - 1]))
    return is_script or is_code


def _parts(word: str, braces: re.Match[str] | None) -> list[str]:
    """Return what a word with braces stands for."""
    if braces is None:
        return [word]
    return [word[: braces.start()] + part + word[braces.end() :] for part in braces[1].split(",")]


def found_paths(words: Sequence[str]) -> list[str]:
    """Return what find looks for: its folders, below them the names it is limited to."""
    end = next((i for i, word in enumerate(words) if word.startswith("-") or word == "!"), len(words))
    roots = list(words[:end]) or ["."]
    names = [
        name
        for option, name in pairwise(words)
        if option in ("-name", "-iname") and not {"!", "-not"} & set(words)
    ]
    return [f"{root}/{ANYTHING}/{name}" for root in roots for name in names or [ANYTHING]]


def _script(arguments: Sequence[str]) -> str:
    """Return what a shell runs by its option -c."""
    return next(_behind(arguments, _SCRIPT_OPTION), "")


def _code(arguments: Sequence[str]) -> str:
    return next(_behind(arguments, _CODE_OPTION), "")


def _behind(arguments: Sequence[str], option: str) -> Iterator[str]:
    for word, value in pairwise(arguments):
        if re.fullmatch(option, word):
            yield value
