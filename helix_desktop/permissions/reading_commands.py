"""Whether a shell command only reads: its programs are on the list, with arguments that the list allows."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from helix_desktop.domain.files.names import holds_secrets
from helix_desktop.permissions.reading_programs import (
    BUILTINS,
    SHELL_CHANGERS,
    Operand,
    ReadingProgram,
    ValueKind,
)

_LONGEST = 4_000  # characters of a command
_MOST_PARTS = 6  # of a list: each is tried as the one that may do more than read
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=")  # PATH[0]=bin is PATH=bin
_PLAIN = re.compile(r"(?:[\w%+,\-./:=@^!]|(?<=[^\W_])~)+")  # else ~ may be a home folder
_BLANKS = re.compile(r"[ \t]+")
_SENT_ERRORS = re.compile(r"2>(&1|[ \t]?/dev/null)(?=[ \t]*(?:$|[|;&\n]))")
_OPERATORS = re.compile(r"\|\||&&|[|;]|\n+")
_BRACED = re.compile(r"\{[\w^-]*\}")  # as in stash@{0}: with a comma or dots it would be several words
_WILDCARDS = re.compile(r"[*?\[\]]+")
_IN_QUOTES = re.compile(r"""[^"\\$`]+|\\(.)|\$(?=["\s|)/])""", re.DOTALL)
_KEPT_BACKSLASH = frozenset('$`"\\\n')
# A slash in brackets would end the expression for some programs and not for others.
_EXPRESSION = r"(?:[^/\\\n\[\]]|\\[^\n]|\[\^?[^/\[\]\\\n]+\])*"
_ADDRESS = rf"(?:\d+|\$|/{_EXPRESSION}/)"
_PRINTING = re.compile(
    rf"(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?[ ]?!?[ ]?)?"
    rf"(?:[pdq=]|s/{_EXPRESSION}/(?:[^/\\\n]|\\[^\n])*/[gIip\d]*)"
)
_UP_AGAIN = re.compile(r"(?:^|/)(?!\.\.?/)[^/]+/+(?:\./+)*\.\.(?:/|$)")
_NUMBER = re.compile(r"[+-]?\d+")
_LETTERS = re.compile(r"-[A-Za-z0-9.][^\n]+")
_PATTERN_OPTIONS = frozenset({"-e", "--regexp", "--expression", "--files", "--type-list", "--version"})
"""Options with which the first word is no pattern or script."""

_PATH_KINDS = ("FILE", "FILES", "PATH")

Operator = Literal["", "|", "||", "&&", ";"]


class Word(NamedTuple):
    """A word as the program gets it, unless `has_wildcards`: the shell puts names of files in its place."""

    text: str
    has_wildcards: bool = False


class SimpleCommand(NamedTuple):
    """A program with its arguments, what stands before it, and if its errors go to its output or nowhere.

    `source` is all of it as it was written, without the operator.
    """

    words: tuple[Word, ...]
    operator: Operator = ""
    sends_errors: bool = False
    source: str = ""


class ReadPath(NamedTuple):
    """A path that a command may read, in the workspace; with wildcards it stands for several."""

    path: str
    has_wildcards: bool = False
    is_folder: bool = False


class ReadingUse(msgspec.Struct, frozen=True):
    """What there is to check of a command that only reads before it may run without asking.

    `programs` are to be found outside the workspace, `paths` must be allowed for tools. It shows what is in
    files that it finds below `searched`, and with `shows_tracked` what git stores of files.
    """

    programs: tuple[str, ...] = ()
    paths: tuple[ReadPath, ...] = ()
    searched: tuple[str, ...] = ()
    shows_tracked: bool = False


def split_command(command: str) -> tuple[SimpleCommand, ...] | None:
    """Return the simple commands of a pipeline or a list; None if the shell may read anything else in it.

    Substitutions, variables, redirections but `2>&1` and `2>/dev/null`, groups, comments, background. What
    assigns is a word: whoever asks what runs has to refuse it.
    """
    commands: list[SimpleCommand] = []
    words: list[Word] = []
    operator: Operator = ""
    sends_errors = False
    begin = 0
    at = 0
    text = command.strip(" \t\n")  # for a shell \r and \f belong to words
    if len(text) > _LONGEST:
        return None
    while at <= len(text):
        found = _OPERATORS.match(text, at)
        if found is None and at < len(text):
            if spaces := _BLANKS.match(text, at):
                at = spaces.end()
            elif sent := _SENT_ERRORS.match(text, at):
                sends_errors = True
                at = sent.end()
            elif sends_errors:
                return None
            else:
                word, at = _read_word(text, at)
                if word is None:
                    return None
                words.append(word)
            continue
        if not words:
            return None
        commands.append(SimpleCommand(tuple(words), operator, sends_errors, text[begin:at].strip()))
        words = []
        sends_errors = False
        if found is None:
            break
        symbol = found[0].strip("\n") or ";"
        operator = symbol  # type: ignore[assignment]  # the expression knows no others
        begin = at = found.end()
    return tuple(commands)


def _read_word(text: str, start: int) -> tuple[Word | None, int]:
    """Return the word at a place, None if there is more in it than text and wildcards; and where it ends."""
    parts: list[str] = []
    at = start
    has_wildcards = False
    while at < len(text):
        char = text[at]
        if char == "'":
            end = text.find("'", at + 1)
            if end < 0:
                return None, at
            parts.append(text[at + 1 : end])
            at = end + 1
        elif char == '"':
            quoted, at = _read_quoted(text, at + 1)
            if quoted is None:
                return None, at
            parts.append(quoted)
        elif char == "\\" and at + 1 < len(text) and text[at + 1] != "\n":
            parts.append(text[at + 1])
            at += 2
        elif char == "{" and (braced := _BRACED.match(text, at)):
            parts.append(braced[0])
            at = braced.end()
        elif plain := _PLAIN.match(text, at):
            parts.append(plain[0])
            at = plain.end()
        elif wildcards := _WILDCARDS.match(text, at):
            has_wildcards = True
            parts.append(wildcards[0])
            at = wildcards.end()
        elif char in " \t\n|;" or text.startswith("&&", at):
            break
        else:
            return None, at
    word = "".join(parts)
    return (Word(word, has_wildcards) if word.isprintable() else None), at


def _read_quoted(text: str, at: int) -> tuple[str | None, int]:
    """Return a text in double quotes, and where it ends; None if the shell puts something in it."""
    parts = []
    while at < len(text) and text[at] != '"':
        found = _IN_QUOTES.match(text, at)
        if found is None or found[1] == "\n":
            return None, at
        parts.append(found[1] if found[1] and found[1] in _KEPT_BACKSLASH else found[0])
        at = found.end()
    return ("".join(parts), at + 1) if at < len(text) else (None, at)


def reading_use(
    command: str, folder: str, root: str, programs: Mapping[str, Sequence[ReadingProgram]]
) -> ReadingUse | None:
    """Return what a command that only reads would use; None: it may do more than that.

    `folder` is where in the workspace it runs, `root` the workspace's path.
    """
    commands = split_command(command)
    if commands is None:
        return None
    reader = _Reader(folder, root, programs)
    for simple, following in zip(commands, (*commands[1:], None), strict=True):
        if not reader.read(simple, following.operator if following is not None else ""):
            return None
    return ReadingUse(
        tuple(reader.programs), tuple(reader.paths), tuple(reader.searched), reader.shows_tracked
    )


class AskedParts(NamedTuple):
    """The parts of a command that may do more than read, behind their `cd`, and the list of the others."""

    commands: tuple[str, ...]
    others: str


def asked_parts(
    command: str, folder: str, root: str, programs: Mapping[str, Sequence[ReadingProgram]]
) -> AskedParts | None:
    """Return the parts of `tests && git status` that may do more than read; None if that can't be said."""
    pipelines: list[list[SimpleCommand]] = []
    for simple in split_command(command) or ():
        if simple.operator == "|":
            pipelines[-1].append(simple)
        else:
            pipelines.append([simple])
    operators = {pipeline[0].operator for pipeline in pipelines[1:]}
    has_folder = any(pipeline[0].words[0].text == "cd" for pipeline in pipelines)
    if not 1 < len(pipelines) <= _MOST_PARTS or not operators <= ({"&&"} if has_folder else {"&&", ";"}):
        return None
    folders = list[str]()
    may_change = list[str]()
    others = list[str]()
    for pipeline in pipelines:
        text = " | ".join(simple.source for simple in pipeline)
        in_folder = " && ".join((*folders, text))
        if [simple.words[0].text for simple in pipeline] == ["cd"]:
            folders.append(text)
            others.append(text)
        elif reading_use(in_folder, folder, root, programs) is not None:
            others.append(text)
        elif any(map(_changes_shell, pipeline)):  # then the others may do more than read
            return None
        else:
            may_change.append(in_folder)
    while others and others[-1] in folders:  # nothing that only reads is behind it
        others.pop()
    rest = " && ".join(others)
    if not may_change or (rest and reading_use(rest, folder, root, programs) is None):
        return None
    return AskedParts(tuple(may_change), rest)


def _changes_shell(simple: SimpleCommand) -> bool:
    """Return True for a command that sets only variables, or changes what others run, or where."""
    program = next((word.text for word in simple.words if not _ASSIGNMENT.match(word.text)), "")
    return not program or program in SHELL_CHANGERS


def reads_only_its_input(simple: SimpleCommand, programs: Mapping[str, Sequence[ReadingProgram]]) -> bool:
    """Return True for a program of the list that shows no file: it reads what a pipe gives it.

    Not for git: it runs what the repository configures.
    """
    reader = _Reader("", "", programs)
    if not reader.read(simple, "") or reader.paths or simple.words[0].text == "git":
        return False
    # Behind a pipe, rg without a path searches its input; the others search the folder all the same.
    return not reader.searched or (simple.operator, simple.words[0].text) == ("|", "rg")


def path_arguments(
    words: Sequence[Word], programs: Mapping[str, Sequence[ReadingProgram]]
) -> tuple[tuple[str, ...], ReadingProgram | None, bool]:
    """Return the arguments of a program that may name paths, its line of the list, and if that allows them.

    They are all of them where the list does not tell paths from others.
    """
    program = _find_program(words, programs)
    used = list(_arguments(program, words[len(program.words) :])) if program is not None else [None]
    known = [argument for argument in used if argument is not None]
    if len(known) < len(used):
        return tuple(word.text for word in words[1:]), program, False
    return tuple(each.word.text for each in known if each.kind in _PATH_KINDS), program, True


def changes_folder_inside(commands: Sequence[SimpleCommand], at: int, root: str) -> bool:
    """Return True for `cd FOLDER &&` at a place among commands, into a folder of the workspace at `root`."""
    operator: Operator = commands[at + 1].operator if at + 1 < len(commands) else ""
    known = {"cd": (ReadingProgram(("cd",), ("FILE",)),)}
    return not commands[at].sends_errors and _Reader("", root, known).read(commands[at], operator)


class _Reader:
    def __init__(self, folder: str, root: str, programs: Mapping[str, Sequence[ReadingProgram]]) -> None:
        self._folder = folder
        self._root = root
        self._known = programs
        self.programs: dict[str, None] = {}
        self.paths: dict[ReadPath, None] = {}
        self.searched: dict[str, None] = {}
        self.shows_tracked = False

    def read(self, simple: SimpleCommand, following: Operator) -> bool:
        """Note what a simple command uses; return False if it may do more than read."""
        words = simple.words
        if words[0].has_wildcards or _ASSIGNMENT.match(words[0].text):
            return False
        if [word.text for word in words[:2]] == ["git", "--no-pager"]:
            words = (words[0], *words[2:])
        program = _find_program(words, self._known)
        if program is None:
            return False
        used = list(_arguments(program, words[len(program.words) :]))
        if None in used or (program.needs_argument and not used):
            return False
        arguments = [argument for argument in used if argument is not None]
        if program.words == ("cd",):
            return self._change_folder(arguments, simple.operator, following)
        if program.words[0] not in BUILTINS:
            self.programs[program.words[0]] = None
        count = len(self.paths)
        if not all(self._note_paths(argument) for argument in arguments):
            return False
        self.shows_tracked |= program.shows_tracked
        if program.searches(argument.option for argument in arguments):
            own = [argument for argument in arguments if argument.kind in ("FILE", "FILES")]
            places = list(self.paths)[count:] if own else [ReadPath(self._folder or ".")]
            if program.follows_links:
                places = [ReadPath(".")]
            self.searched |= {place.path: None for place in places}
        return True

    def _change_folder(self, arguments: Sequence[_Argument], operator: Operator, following: Operator) -> bool:
        """Follow `cd FOLDER &&`: else what comes may run in another folder."""
        if len(arguments) != 1 or arguments[0].word.has_wildcards:
            return False
        if following != "&&" or operator == "|" or arguments[0].word.text in ("", "-"):
            return False
        path = self._readable_path(arguments[0].word.text)
        if path is None:
            return False
        self._folder = path
        self.paths[ReadPath(path, is_folder=True)] = None
        return True

    def _note_paths(self, argument: _Argument) -> bool:
        """Note the paths that a word may name; return False if one is not to be read without asking."""
        if argument.kind not in _PATH_KINDS:
            return True
        text, has_wildcards = argument.word
        if text == "-":
            return True
        pieces = [text, *text.split(":")] if ":" in text else [text]
        for piece in filter(None, pieces):
            path = self._readable_path(piece)
            if path is None:
                return False
            self.paths[ReadPath(path, has_wildcards)] = None
        return True

    def _readable_path(self, text: str) -> str | None:
        """Return a path in the workspace; None for one outside, or of a file with keys or passwords."""
        if _UP_AGAIN.search(text):
            return None  # behind a link, that is another folder than it seems
        path = posixpath.normpath(posixpath.join(self._root, self._folder, text))
        inside = posixpath.relpath(path, self._root) if self._root else path
        if inside.startswith(("/", "~")) or inside.split("/")[0] == ".." or holds_secrets(inside):
            return None
        return inside


def _find_program(
    words: Sequence[Word], programs: Mapping[str, Sequence[ReadingProgram]]
) -> ReadingProgram | None:
    texts = tuple(word.text for word in words)
    found = programs.get(texts[0], ())
    return next((each for each in found if texts[: len(each.words)] == each.words), None)


class _Argument(NamedTuple):
    """A value or an operand, with the option that it belongs to, and what it is."""

    word: Word
    kind: ValueKind | Operand | Literal[""] = ""
    option: str = ""


def _arguments(program: ReadingProgram, words: Sequence[Word]) -> Iterator[_Argument | None]:
    """Yield the options and operands of a program; None for one that its line does not allow."""
    operands: list[Word] = []
    options: set[str] = set()
    left = list(words)
    is_rest = False
    while left:
        word = left.pop(0)
        text = word.text
        if is_rest or text == "-" or (not text.startswith("-") and text not in program.flags):
            operands.append(word)
        elif text == "--" and text in program.flags:
            is_rest = True
        else:
            found = _read_option(program, word, left)
            if found is None:
                yield None
                return
            options |= {argument.option for argument in found}
            yield from found
    yield from _read_operands(program, operands, options)


def _read_option(program: ReadingProgram, word: Word, left: list[Word]) -> list[_Argument] | None:
    """Return an option, or several in one word; takes the value out of what is left. None: not allowed."""
    text = word.text
    name, is_joined, value = text.partition("=")
    if word.has_wildcards and not (is_joined and not _WILDCARDS.search(name)):
        return None
    if text in program.flags or text in program.attached:
        return [_Argument(word, "", text)]
    if text in program.values:
        argument = _value(program.values[text], left.pop(0), text) if left else None
        return [argument] if argument is not None else None
    kind = program.values.get(name) or program.attached.get(name)
    if is_joined and name.startswith("--") and kind:
        argument = _value(kind, Word(value, word.has_wildcards), name)
        return [argument] if argument is not None else None
    if program.takes_number and re.fullmatch(r"-\d+", text):
        return [_Argument(word, "", "-NUM")]
    if program.has_long_names or not _LETTERS.fullmatch(text) or word.has_wildcards:
        return None
    return _read_letters(program, text, left)


def _read_letters(program: ReadingProgram, text: str, left: list[Word]) -> list[_Argument] | None:
    """Return the options that are put together in one word, as in `-la` or `-n20`."""
    found: list[_Argument] = []
    for at, letter in enumerate(text[1:], 2):
        option = f"-{letter}"
        rest = text[at:]
        if option in program.values:
            if not rest and not left:
                return None
            argument = _value(program.values[option], Word(rest) if rest else left.pop(0), option)
            return [*found, argument] if argument is not None else None
        if option in program.attached:
            return [*found, _Argument(Word(rest), program.attached[option], option)]
        if option not in program.flags:
            return None
        found.append(_Argument(Word(option), "", option))
    return found


def _value(kind: ValueKind, word: Word, option: str) -> _Argument | None:
    if kind == "N" and not _NUMBER.fullmatch(word.text):
        return None
    if kind == "SED" and not prints_only(word.text):
        return None
    if word.has_wildcards and (kind != "TEXT" or not option.startswith("--")):
        return None
    return _Argument(word, kind, option)


def _read_operands(
    program: ReadingProgram, operands: Sequence[Word], options: set[str]
) -> Iterator[_Argument | None]:
    left = list(operands)
    for kind in program.operands:
        is_named = kind in ("TEXT", "SED") and not _PATTERN_OPTIONS.isdisjoint(options)
        if is_named and "FILES" in program.operands:
            continue
        if kind == "SED" and not left:
            yield None
            return
        count = len(left) if kind in ("FILES", "TEXTS") else 1
        for word in left[:count]:
            yield _operand(kind, word)
        left = left[count:]
    if left:
        yield None


def _operand(kind: Operand, word: Word) -> _Argument | None:
    if kind == "SED" and not prints_only(word.text):
        return None
    # What a wildcard at the start stands for may begin with a dash, and be an option.
    if word.has_wildcards and (kind != "FILES" or _WILDCARDS.match(word.text)):
        return None
    return _Argument(word, kind)


def prints_only(script: str) -> bool:
    """Return True for a script of sed that prints, deletes or replaces lines of its output, and no more."""
    at = 0
    is_first = True
    while at < len(script):
        if not is_first:
            separator = re.compile(r"[ ]*;[ ]*").match(script, at)
            if separator is None:
                return False
            at = separator.end()
            if at == len(script):
                return True
        found = _PRINTING.match(script, at)
        if found is None:
            return False
        at = found.end()
        is_first = False
    return not is_first
