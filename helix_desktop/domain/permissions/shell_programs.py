"""The programs that a shell command runs with their arguments, as far as its text says."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice, pairwise, takewhile

import msgspec

from helix_desktop.domain.permissions.reading_budget import ReadingBudget, TooMuchToRead
from helix_desktop.domain.permissions.shell_names import OTHER_RUNNERS, SHELLS, WRAPPERS
from helix_desktop.domain.permissions.shell_tokens import Token, find_tokens, plain_text
from helix_desktop.domain.permissions.shell_words import (
    ANYTHING,
    LONGEST_WORD,
    MAX_VALUES,
    ShellWords,
    nested,
)
from helix_desktop.domain.permissions.texts_to_run import (
    DECODERS,
    PRINTERS,
    reads_input,
    saves_running_setting,
    script_of_shell,
    text_of_variable,
    texts_in_code,
    texts_to_run,
)

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.S)
_INTERPRETERS = re.compile(
    r"(?:(?:python|lua)[\d.]*|node|perl|ruby|bun|deno|php|luajit|Rscript|julia|tclsh|elixir|groovy)"
)
_KEYWORDS = frozenset({
    "then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "done", "fi", "coproc",
})  # fmt: skip
_RUNNERS = WRAPPERS | OTHER_RUNNERS - {"eval", "source"}
_MAKE, _MAKEFILES = frozenset({"make", "gmake"}), frozenset({"Makefile", "makefile", "GNUmakefile"})
_PACKAGE = ("package.json",)
_SCRIPTS_OF = {
    "make": tuple(sorted(_MAKEFILES)), "gmake": tuple(sorted(_MAKEFILES)), "just": ("justfile",),
    "npm": _PACKAGE, "pnpm": _PACKAGE, "yarn": _PACKAGE, "bun": _PACKAGE,
}  # fmt: skip
_EXPORTERS = frozenset({"declare", "export", "local", "readonly", "typeset"})
_BEHIND_OPERAND = frozenset({"chroot", "chrt", "flock", "gosu", "setarch", "taskset"})
"""Wrappers whose first operand is not yet the program."""
_TEXT_RUNNERS = frozenset({"sed", "env"})
_PACKAGE_RUNNERS = frozenset({"npx", "bunx"})
_RUNNING_ACTIONS = {
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "hatch": ("run",), "pipx": ("run",),
    "bundle": ("exec",), "npm": ("exec", "x"), "pnpm": ("exec", "dlx"), "yarn": ("exec", "dlx"),
    "bun": ("x",),
}  # fmt: skip
_LANGUAGES = frozenset({".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"})
_MAX_DEPTH = 4  # commands within commands
_MAX_WRAPPERS = 8
_STEPS_PER_COMMAND = 10
_SCRIPT_OPTION, _CODE_OPTION = r"-[a-z]*c[a-z]*", r"-[A-Za-z]*[cepEr]|--eval|eval"


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


class CommandReading(msgspec.Struct):
    """What a command runs, in order; `scripts` are its scripts: the folder each runs in, and its path.

    `is_whole` is False if not all of it was read: it is nested too deep, or takes too long.
    """

    programs: list[Program] = msgspec.field(default_factory=list)
    scripts: list[tuple[str, str]] = msgspec.field(default_factory=list)
    is_whole: bool = True


def read_command(command: str, folder: str, budget: ReadingBudget) -> CommandReading:
    """Return what a command runs in this folder or those it changes into."""
    reading = CommandReading()
    try:
        _Reader(reading, folder, budget).read_text(command)
    except TooMuchToRead:
        reading.programs.append(_UNCLEAR)
        reading.is_whole = False
    return reading


def read_script(path: str, text: str, folder: str, budget: ReadingBudget) -> CommandReading:
    """Return what a script runs: one of a shell, or in the language that its name says."""
    ending = posixpath.splitext(path)[1]
    if ending == ".json":  # it has scripts among its texts
        return read_command("\n".join(re.findall(r'"([^"\n]+)"', text)), folder, budget)
    if ending not in _LANGUAGES:
        return read_command(text, folder, budget)
    reading = read_command("\n".join(texts_in_code(text)), folder, budget)
    reading.programs.append(Program("", folder=folder, code=text))
    return reading


_REPLACING = frozenset({">", ">|", "&>", ">&", "<>"})


_RUN_BY_FIND = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_RUN_BY_FD = frozenset({"-x", "--exec", "-X", "--exec-batch"})


class _Reader:
    """Collects the programs of one command."""

    def __init__(
        self,
        reading: CommandReading,
        folder: str,
        budget: ReadingBudget,
        depth: int = 0,
        values: Mapping[str, list[str]] | None = None,
    ) -> None:
        self.reading = reading
        self.programs = reading.programs
        self._folder, self._depth, self._budget = folder, depth, budget
        self._words = ShellWords(budget, values or {})
        self._own_names: set[str] = set()  # of functions and aliases
        self._piped: Program | None = None
        self._texts: list[str] = []  # that the command writes or pipes: a script, if it runs one
        self._runs_script = False
        self._interpreter = ""  # that runs what the command writes or pipes
        self._feeds_script = False  # what is printed is run
        self._wrappers = 0

    def read_text(self, command: str) -> None:
        """Read a command, then what it writes or pipes if it runs a script that may be it."""
        self._read(find_tokens(command, self._budget))
        if self._runs_script:
            for text in self._texts:
                self._read_inner(text)
        if self._interpreter:
            for text in self._texts:
                self._add_code(self._interpreter, text)

    def _add_code(self, name: str, code: str) -> None:
        """Add a program in another language, and what it runs by a shell."""
        self.programs.append(Program(name, folder=self._folder, code=code))
        for text in texts_in_code(code):
            self._read_inner(text)

    def _read_inner(self, text: str) -> None:
        """Add what a command within the command runs."""
        if self._depth == _MAX_DEPTH:
            self._add_unclear()
            return
        values = self._words.values
        _Reader(self.reading, self._folder, self._budget, self._depth + 1, values).read_text(text)

    def _add_unclear(self) -> None:
        self.programs.append(_UNCLEAR)
        self.reading.is_whole = False

    def _read(self, tokens: Iterable[Token]) -> None:
        """Read the words of a command, up to each operator."""
        words: list[str] = []
        outputs: list[str] = []
        inputs: list[str] = []
        target = ""
        for token in (*tokens, Token(";", is_operator=True)):
            text = token.text
            if not token.is_operator:
                if target in ("<<", "<<<"):
                    inputs.append(text)
                elif target:
                    outputs += self._words.expand(text) if target in _REPLACING and not text.isdigit() else []
                    if target in (">>", "&>>"):
                        added = (
                            Program("tee", ("-a", path), self._folder) for path in self._words.expand(text)
                        )
                        self.programs += added
                else:
                    words.append(text)
                target = ""
            elif set(text) & set("<>") and "(" not in text:
                target = text
            else:
                if text.startswith("()"):
                    self._own_names.update(words[-1:])
                last = self._run(words, outputs, inputs)
                if self._feeds_script and last is not None and last.name in DECODERS:
                    self.programs.append(_UNCLEAR)
                self._feeds_script = text == "<(" and _name(words) in SHELLS | {"source", "."}
                self._piped = last if text.rstrip("\n") in ("|", "|&") else None
                words, outputs, inputs, target = [], [], [], ""

    def _run(self, words: Sequence[str], outputs: Sequence[str], inputs: Sequence[str]) -> Program | None:
        """Note what one simple command runs; return it."""
        self._budget.spend(_STEPS_PER_COMMAND + 2 * len(words))
        words = list(dropwhile(_KEYWORDS.__contains__, filter(None, words)))
        if words[:1] == ["function"]:
            words = [word for word in words[2:] if word not in _KEYWORDS]
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            self._words.assign(words[1], words[3:])
            return None
        count = len(self.programs)
        for word in words:
            if inner := nested(word):
                self._read_inner(inner)
        is_decoded = any(program.name in DECODERS for program in self.programs[count:])
        if is_decoded and _name(words) in SHELLS | {"eval"}:
            self.programs.append(_UNCLEAR)
        assigned = [
            found for word in takewhile(_ASSIGNMENT.match, words) if (found := _ASSIGNMENT.match(word))
        ]
        for found in assigned:
            self._words.assign(found[1], [found[3]], is_added=bool(found[2]))
        words = words[len(assigned) :]
        self._check_length(words)
        for found in assigned if words else ():
            if text := text_of_variable(found[1], plain_text(found[3])):
                self._read_inner(text)
        words = [
            value
            for word, is_text in zip(words, _program_texts(words), strict=True)
            for value in (self._words.with_values(word) if is_text else self._words.expand(word))
        ]
        self._read_inputs(words, inputs)
        if not words and not outputs:
            return None
        return self._note(words, tuple(outputs))

    def _check_length(self, words: Sequence[str]) -> None:
        """Note what a program runs of its words as unclear if one is too long to be read."""
        if _TEXT_RUNNERS & set(words) and any(len(word) > LONGEST_WORD for word in words):
            self._add_unclear()

    def _read_inputs(self, words: Sequence[str], inputs: Iterable[str]) -> None:
        """Note what a command gets as text: it runs it, or passes it on."""
        name = _name(words)
        for word in inputs:
            if inner := nested(word):
                self._read_inner(inner)
            text = self._words.with_values(word)[0]
            if name in SHELLS:
                self._read_inner(text)
            elif _INTERPRETERS.fullmatch(name):
                self._add_code(name, text)
            else:
                self._texts.append(text)

    def _note(self, words: Sequence[str], outputs: tuple[str, ...]) -> Program | None:
        self._budget.spend(_STEPS_PER_COMMAND + len(words) // 4)
        name, arguments = _name(words), tuple(words[1:])
        if name in ("cd", "pushd"):
            self._folder = posixpath.join(self._folder, arguments[0] if arguments else self._words.home())
            return None
        script = self._script(name, words)
        if script is not None:
            self._read_inner(script)
            return None
        for text in texts_to_run(name, arguments):
            self._read_inner(text)
        if name in _RUNNERS:
            return self._note_runner(name, arguments, outputs)
        if name in _PACKAGE_RUNNERS or (arguments[:1] and arguments[0] in _RUNNING_ACTIONS.get(name, ())):
            return self._note_wrapped(arguments[name not in _PACKAGE_RUNNERS :], outputs)
        self._note_exported(arguments if name in _EXPORTERS else ())
        if name == "alias":
            self._own_names |= {word.partition("=")[0] for word in arguments}
        if name in ("echo", "printf"):
            self._texts.append(" ".join(arguments))
        if name in ("find", "fd", "fdfind"):
            self._note_run_by_find(name, arguments)
        code = self._read_code(name, arguments)
        if name == "git" and saves_running_setting(arguments):
            outputs = (*outputs, ".git/config")
        is_own = name in self._own_names
        program = Program(ANYTHING if is_own else name, arguments, self._folder, outputs, code)
        self.programs.append(program)
        return program

    def _note_runner(self, name: str, arguments: Sequence[str], outputs: tuple[str, ...]) -> Program | None:
        """Note what a wrapper runs, in the folder that it changes into."""
        folder = self._folder
        if name == "dotenv":  # its options name files that it reads
            at = next((at for at, word in enumerate(arguments) if word in ("run", "--")), -1)
            arguments = arguments[at + 1 :]
        if name == "env":
            self._folder = posixpath.join(folder, *_folders_of_env(arguments))
        last = self._note_wrapped(arguments, outputs, name in ("xargs", "parallel"), name in _BEHIND_OPERAND)
        self._folder = folder
        return last

    def _read_code(self, name: str, arguments: Sequence[str]) -> str:
        """Return what an interpreter runs by its option, and note what that runs by a shell."""
        if not _INTERPRETERS.fullmatch(name):
            return ""
        code = _code(arguments)
        for text in texts_in_code(code):
            self._read_inner(text)
        if not code and "-m" not in arguments:
            self._interpreter = name
            self._note_scripts(word for word in arguments if not word.startswith("-"))
        return code

    def _note_exported(self, words: Iterable[str]) -> None:
        """Note the values of exported variables, and what other programs run of them."""
        for found in filter(None, map(_ASSIGNMENT.match, words)):
            self._words.values[found[1]] = [found[3]]
            if text := text_of_variable(found[1], found[3]):
                self._read_inner(text)

    def _note_scripts(self, paths: Iterable[str]) -> None:
        """Note the first of paths as a script that runs."""
        self.reading.scripts += [(self._folder, path) for path in islice(paths, 1)]

    def _script(self, name: str, words: Sequence[str]) -> str | None:
        """Return what a shell runs; None for another program."""
        arguments = words[1:]
        if name == "eval":
            return " ".join(arguments)
        if name == "trap":
            return " ".join(arguments[:1])
        if name in SHELLS:
            script = script_of_shell(arguments)
            self._runs_script |= not script
            if not script:
                self._note_scripts(word for word in arguments if not word.startswith(("-", "+")))
            source = self._piped.name if self._piped else ""
            if source and source not in PRINTERS and not script and reads_input(arguments):
                self.programs.append(_UNCLEAR)
            return script
        if name in ("source", ".") or "/" in "".join(words[:1]):
            self._runs_script |= name in ("source", ".") or words[0].startswith("./")
            self._note_scripts(arguments if name in ("source", ".") else words)
        self.reading.scripts += [(self._folder, path) for path in _SCRIPTS_OF.get(name, ())]
        if name in _MAKE:
            names = (posixpath.basename(path) for program in self.programs for path in program.outputs)
            is_other = any(word.startswith(("-f", "--file", "--makefile")) for word in arguments)
            self._runs_script |= is_other or not _MAKEFILES.isdisjoint(names)
        return None

    def _note_wrapped(
        self,
        arguments: Sequence[str],
        outputs: tuple[str, ...],
        is_fed: bool = False,
        is_behind_option: bool = False,
    ) -> Program | None:
        """Note each of the words behind a wrapper that may be its program: options may have values."""
        last: Program | None = None
        self._wrappers += 1
        if self._wrappers > _MAX_WRAPPERS:
            self._add_unclear()
            return None
        count = len(self.programs)
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

    def _note_run_by_find(self, name: str, arguments: Sequence[str]) -> None:
        """Note what find or fd runs for what it finds, which stands for `{}`."""
        options = _RUN_BY_FIND if name == "find" else _RUN_BY_FD
        for at, word in enumerate(arguments):
            if word in options:
                self._wrappers += 1
                if self._wrappers > _MAX_WRAPPERS:
                    self._add_unclear()
                    return
                run = list(takewhile(lambda part: part not in ("+", ";"), arguments[at + 1 :]))
                if name != "find" and "{}" not in run:
                    run.append("{}")
                paths = found_paths(arguments) if name == "find" else _paths_of_fd(arguments[:at])
                for path in paths if "{}" in run else run[:1]:
                    self._note([path if part == "{}" else part for part in run], ())


def _program_texts(words: Sequence[str]) -> Iterator[bool]:
    """Yield for each word if it is the text of a program that a shell or an interpreter reads."""
    is_text = has_shell = has_interpreter = False
    before = ""
    for at, word in enumerate(words):
        is_script = has_shell and bool(re.fullmatch(_SCRIPT_OPTION, before))
        yield is_text or is_script or (has_interpreter and bool(re.fullmatch(_CODE_OPTION, before)))
        before, name = word, posixpath.basename(word)
        is_text |= at == 0 and name in ("eval", "trap")
        has_shell |= name in SHELLS
        has_interpreter |= bool(_INTERPRETERS.fullmatch(name))


def found_paths(words: Sequence[str]) -> list[str]:
    """Return what find looks for: its folders, below them the names it is limited to."""
    end = next((i for i, word in enumerate(words) if word.startswith("-") or word == "!"), len(words))
    roots = list(words[:end]) or ["."]
    is_limited = not {"!", "-not"} & set(words)
    names = [name for option, name in pairwise(words) if is_limited and option in ("-name", "-iname")]
    if len(roots) * len(names) > MAX_VALUES:
        return [f"{root}/{ANYTHING}" for root in roots]
    return [f"{root}/{ANYTHING}/{name}" for root in roots for name in names or [ANYTHING]]


def _paths_of_fd(words: Sequence[str]) -> list[str]:
    """Return what fd looks for: any file, or those with an ending."""
    ends = [value for option, value in pairwise(words) if option in ("-e", "--extension")]
    return [f"{ANYTHING}/*.{end}" for end in ends] or [ANYTHING]


def _name(words: Sequence[str]) -> str:
    return posixpath.basename(words[0]) if words else ""


def _folders_of_env(arguments: Sequence[str]) -> list[str]:
    """Return the folder that env changes into."""
    words = [word.replace("--chdir=", "--chdir\n").split("\n") for word in arguments]
    parts = [part for word in words for part in word]
    return list(islice(_behind(parts, r"-[a-z]*C|--chdir"), 1))


def _code(arguments: Sequence[str]) -> str:
    long = (word.partition("=")[2] for word in arguments if word.startswith("--eval="))
    return next(_behind(arguments, _CODE_OPTION), "") or next(long, "")


def _behind(arguments: Sequence[str], option: str) -> Iterator[str]:
    for word, value in pairwise(arguments):
        if re.fullmatch(option, word):
            yield value
