"""Which paths a command may use, whatever else it does: no rule for `cat *` covers keys among them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

import msgspec

from helix_desktop.permissions.command_match import parse_simple_command, without_settings
from helix_desktop.permissions.git_loss import git_words
from helix_desktop.permissions.reading_commands import SimpleCommand, Word, path_arguments, split_command
from helix_desktop.permissions.reading_programs import ReadingProgram
from helix_desktop.permissions.rules import runs_any_code

_SETTING = re.compile(r"[A-Za-z_]\w*=")
_BEFORE_PATHS = re.compile(r"[=,@]|:(?!//[^/])")  # a web address is no path


class NamedPaths(msgspec.Struct, frozen=True):
    """What each word of a command may name, likeliest first, and the folders that it changes into.

    Not each is a path. It shows what is in files that it finds below `searched`, and with `shows_tracked`
    what git stores of files.
    """

    paths: tuple[tuple[str, ...], ...] = ()
    folders: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    shows_tracked: bool = False


def find_named_paths(
    command: str, folder: str, root: str, programs: Mapping[str, Sequence[ReadingProgram]]
) -> NamedPaths:
    """Return what a command may use of files; of programs that run code of the project nothing.

    `folder` is where in the workspace it runs, `root` the workspace's path. A command in which the shell puts
    anything in place of words names nothing: no rule for its first words covers it.
    """
    plain, _ = without_settings(command, root)
    commands = split_command(plain)
    if commands is None:
        commands = (SimpleCommand(tuple(map(Word, parse_simple_command(plain) or ("true",)))),)
    paths: dict[tuple[str, ...], None] = {}
    folders = list[str]()
    searched = list[str]()
    shows_tracked = False
    for simple in commands:
        at = next((at for at, word in enumerate(simple.words) if not _SETTING.match(word.text)), 0)
        words = simple.words[at:]
        texts = [word.text for word in words]
        if texts[0] == "cd" and len(texts) > 1:
            folder = posixpath.normpath(posixpath.join(folder, texts[1]))
            folders.append(folder)
        elif not runs_any_code(texts):
            before = len(words) - len(git_words(texts[1:])[1]) if texts[0] == "git" else 1
            arguments, program, is_known = path_arguments((words[0], *words[before:]), programs)
            paths |= {_named_by(word, folder): None for word in (*texts[1:before], *arguments)}
            if program is not None:
                shows_tracked |= program.shows_tracked
                searched += _searched(program, texts, arguments if is_known else None, folder)
    return NamedPaths(tuple(paths), tuple(folders), tuple(searched), shows_tracked)


def _named_by(word: str, folder: str) -> tuple[str, ...]:
    """Return what a word may name, as in `--file=.env`, `-f.env` and `HEAD:.env`."""
    pieces = [*reversed(list(filter(None, _BEFORE_PATHS.split(word)[1:]))), word]
    if word.startswith("-") and word[2:]:
        pieces.insert(-1, word[2:])
    return tuple(piece if piece.startswith("~") else posixpath.join(folder, piece) for piece in pieces)


def _searched(
    program: ReadingProgram, texts: Sequence[str], named: Sequence[str] | None, folder: str
) -> Sequence[str]:
    """Return the folders in which a program finds files by itself; in doubt (`named` None) the workspace."""
    letters = {f"-{letter}" for word in texts if re.match(r"-[A-Za-z]", word) for letter in word[1:]}
    if not program.searches({"-r"} if named is None else {*texts, *letters}):
        return ()
    if named is None or program.follows_links:
        return (".",)
    return [posixpath.join(folder, path) for path in named] or (folder or ".",)
