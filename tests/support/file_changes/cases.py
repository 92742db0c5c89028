"""Kinds of changes of a workspace: of files, of folders, and of what no history covers."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass, field
from typing import Any

from tests.support.file_changes.tree import File, Folder, Link, Sketch, SpecialFile

SIZE_LIMIT = 100_000  # bytes of a covered file, in the tests


def _may_read_all() -> bool:
    """Return True if permissions do not hold here."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        return os.access(file.name, os.R_OK)


MAY_READ_ALL = _may_read_all()
HOLD_MTIME = "touch -r {file} stamp && {command} && touch -r stamp {file} && rm stamp"
"""Changes a file and gives it back the time that it had."""

HUNK_LINES = (3, 35)
"""The lines (from 1) that the changes with `hunks` replace, far enough from each other to be two hunks."""

Calls = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class ChangeCase:
    """One kind of change.

    `prepare` is a command for what a sketch cannot say. `calls` make the change by tools, one after the
    other; none: no file tool can. `uncovered` are the places that have to be named before as not covered,
    with the reason; of the files `unstored` it is recorded that they changed, but no content: those of them
    that come back all the same are `at_hand`. `refused` are paths that a revert leaves alone, with the
    problem. `moves` are old paths by new ones. `hunks` is the path of a text of which certain lines are
    replaced (HUNK_LINES).
    """

    name: str
    before: Sketch
    command: str
    calls: Calls = ()
    prepare: str = ""
    uncovered: dict[str, str] = field(default_factory=dict)
    unstored: tuple[str, ...] = ()
    at_hand: tuple[str, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)
    moves: dict[str, str] = field(default_factory=dict)
    hunks: str = ""
    is_change: bool = True


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit_file", {"path": path, "old_text": old, "new_text": new}


def edits(*changes: tuple[str, str, str]) -> tuple[str, dict[str, Any]]:
    """Return a call that makes several edits as one: path, old text, new text."""
    return "multi_edit", {
        "edits": [{"path": path, "old_text": old, "new_text": new} for path, old, new in changes]
    }


def numbered_lines(count: int, **replaced: str) -> str:
    """Return a text of `line N`; `line7="x"` puts another text into line 7."""
    return "".join(f"{replaced.get(f'line{number}', f'line {number}')}\n" for number in range(1, count + 1))


_TEXT = numbered_lines(40)
_TWO_HUNKS = numbered_lines(40, line3="third", line35="a later line")
_PIECES = "\u00fc \U0001f600.txt"

FILE_CASES = (
    ChangeCase(
        "created",
        {"a.txt": "here before\n"},
        "mkdir -p src/deep && printf 'new\\n' > src/deep/new.txt",
        (write("src/deep/new.txt", "new\n"),),
    ),
    ChangeCase(
        "changed in two places",
        {"a.txt": _TEXT, "b.txt": "other\n"},
        "sed -e '3s/.*/third/' -e '35s/.*/a later line/' a.txt > t && cat t > a.txt && rm t",
        (edits(("a.txt", "line 3\n", "third\n"), ("a.txt", "line 35\n", "a later line\n")),),
        hunks="a.txt",
    ),
    ChangeCase(
        "changed by two calls",
        {"a.txt": _TEXT},
        "sed -e '3s/.*/third/' a.txt > t && mv t a.txt && sed -i -e '35s/.*/a later line/' a.txt",
        (edit("a.txt", "line 3\n", "third\n"), write("a.txt", _TWO_HUNKS)),
    ),
    ChangeCase("emptied", {"a.txt": _TEXT}, ": > a.txt", (write("a.txt", ""),)),
    ChangeCase("filled from empty", {"a.txt": ""}, "echo full > a.txt", (write("a.txt", "full\n"),)),
    ChangeCase("appended", {"app.txt": _TEXT}, "echo more >> app.txt", (write("app.txt", _TEXT + "more\n"),)),
    ChangeCase("deleted", {"a.txt": _TEXT, "b.txt": "stays\n"}, "rm a.txt"),
    ChangeCase("renamed", {"a.txt": _TEXT}, "mv a.txt b.txt", moves={"b.txt": "a.txt"}),
    ChangeCase("moved over another", {"a.txt": _TEXT, "b.txt": "lost?\n"}, "mv a.txt b.txt"),
    ChangeCase(
        "moved into a folder",
        {"a.txt": _TEXT, "lib": Folder()},
        "mv a.txt lib/",
        moves={"lib/a.txt": "a.txt"},
    ),
    ChangeCase("renamed in its case", {"readme.md": _TEXT}, "mv readme.md README.md"),
    ChangeCase("swapped by renames", {"a": "one\n", "b": "two\n"}, "mv a t && mv b a && mv t b"),
    ChangeCase("made executable", {"run.sh": "#!/bin/sh\n"}, "chmod +x run.sh"),
    ChangeCase("sticky bits", {"run.sh": "#!/bin/sh\n"}, "chmod 4755 run.sh"),
    ChangeCase(
        "read-only file replaced",
        {"a.txt": File(b"do not write\n", 0o444)},
        "echo written > t && mv -f t a.txt",
        (write("a.txt", "written\n"),),
    ),
    ChangeCase(
        "binary",
        {"a.bin": bytes(range(256)) * 8, "b.bin": b"\0\1"},
        "printf '\\000\\377\\001' >> a.bin && head -c 700 a.bin > b.bin",
    ),
    ChangeCase(
        "no end of the last line",
        {"a.txt": "one\ntwo"},
        "printf 'one\\n2' > a.txt",
        (edit("a.txt", "two", "2"),),
    ),
    ChangeCase(
        "line ends of Windows",
        {"a.txt": "one\r\ntwo\r\nthree\r\n"},
        "sed -i 's/two/2/' a.txt",
        (edit("a.txt", "two", "2"),),
    ),
    ChangeCase("line ends changed", {"a.txt": "one\r\ntwo\r\n"}, "sed -i 's/\\r$//' a.txt"),
    ChangeCase(
        "names that are not ASCII",
        {_PIECES: "one\n", "cafe\u0301/\u00e9.txt": "two\n"},
        f"echo three >> '{_PIECES}' && mv 'cafe\u0301' 'caf\u00e9'",
        (write(_PIECES, "one\nthree\n"), write("caf\u00e9/\u00e9.txt", "two\n")),
    ),
    ChangeCase(
        "names with spaces, newlines, dashes",
        {"a b.txt": "1\n", "-rf": "2\n", "x\ny.txt": "3\n", " lead": "4\n", "qu'o\"te": "5\n"},
        'for f in ./*; do echo more >> "$f"; done; mv ./-rf ./--help; cp "a b.txt" "a  b.txt "',
        (write("-rf", "2\nmore\n"), write("a b.txt", "1\nmore\n")),
    ),
    ChangeCase(
        "a name that is long",
        {"n" * 250: "1\n"},
        f"echo 2 > {'n' * 250}",
        (write("n" * 250, "2\n"),),
    ),
    ChangeCase(
        "sed -i",
        {"a.txt": _TEXT, "b.txt": _TEXT},
        "sed -i -e '3s/.*/third/' -e '35s/.*/a later line/' a.txt b.txt",
        hunks="b.txt",
    ),
    ChangeCase(
        "same size and time",
        {"a.txt": "aaaa\n"},
        HOLD_MTIME.format(file="a.txt", command="echo bbbb > a.txt"),
    ),
    ChangeCase(
        "same size and time, by rename",
        {"a.txt": "aaaa\n"},
        "echo bbbb > t && touch -r a.txt t && mv t a.txt",
    ),
    ChangeCase(
        "the same bytes again",
        {"a.txt": "same\n", "b.txt": "same\n"},
        "cp a.txt t && mv t a.txt && touch b.txt && cat a.txt > b.txt && chmod 600 b.txt && chmod 644 b.txt",
        (write("a.txt", "same\n"),),
        is_change=False,
    ),
    ChangeCase(
        "appended to while it runs", {"run.txt": "0\n"}, "for i in 1 2 3; do echo $i >> run.txt; done & wait"
    ),
    ChangeCase("a hard link made", {"a.txt": _TEXT}, "ln a.txt b.txt"),
    ChangeCase(
        "a file with two names changed",
        {"a.txt": _TEXT},
        "echo more >> b.txt",
        prepare="ln a.txt b.txt",
        refused={"a.txt": "hard_links", "b.txt": "hard_links"},
    ),
    ChangeCase(
        "a file of no rights changed",
        {"a.txt": File(b"locked\n", 0)},
        "chmod 600 a.txt && echo more >> a.txt && chmod 0 a.txt",
        uncovered={} if MAY_READ_ALL else {"a.txt": "unreadable"},
        unstored=() if MAY_READ_ALL else ("a.txt",),
        refused={} if MAY_READ_ALL else {"a.txt": "no_permission"},
    ),
)


_GIT = (
    "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -c user.name=a -c user.email=a@b"
    " -c init.defaultBranch=main -c core.hooksPath=/dev/null"
)
_REPO = (
    f"{_GIT} init -q . && {_GIT} add -A && {_GIT} commit -qm one && {_GIT} checkout -q -b other"
    " && echo other > a.txt && rm gone.txt && mkdir new && echo x > new/x.txt && chmod +x run.sh"
    f" && ln -s a.txt link && {_GIT} add -A && {_GIT} commit -qm two && {_GIT} checkout -q main"
)
FORMATTED_FILES = 150

TREE_CASES = (
    ChangeCase("a folder made", {"a.txt": ""}, "mkdir -p empty/inner && mkdir -m 700 own"),
    ChangeCase(
        "a folder renamed",
        {"old/a.txt": _TEXT, "old/in/b.txt": "b\n", "old/empty": Folder(), "old/l": Link("in/b.txt")},
        "mv old new",
    ),
    ChangeCase("mode of a folder", {"lib/a.txt": "a\n"}, "chmod 750 lib"),
    ChangeCase(
        "a read-only folder emptied",
        {"lib/a.txt": "a\n", "lib": Folder(0o555)},
        "chmod 755 lib && rm lib/a.txt && chmod 555 lib",
        refused={} if MAY_READ_ALL else {"lib/a.txt": "no_permission"},
    ),
    ChangeCase("rmdir", {"empty": Folder(0o711), "a.txt": ""}, "rmdir empty"),
    ChangeCase(
        "rm -r",
        {
            "tree/a.txt": _TEXT,
            "tree/run.sh": File(b"#!/bin/sh\n", 0o755),
            "tree/deep/er/b.bin": bytes(300),
            "tree/deep/empty": Folder(0o700),
            "tree/up": Link("../stays.txt"),
            "tree/loop": Link("."),
            "tree/dead": Link("/nowhere/at all"),
            "stays.txt": "stays\n",
        },
        "rm -r tree",
    ),
    ChangeCase("link made", {"a.txt": "a\n"}, "ln -s a.txt link && ln -s nowhere dead"),
    ChangeCase("link retargeted", {"a": "1\n", "b": "2\n", "l": Link("a")}, "ln -sfn b l"),
    ChangeCase("link replaced by a file", {"a": "1\n", "l": Link("a")}, "rm l && echo own > l"),
    ChangeCase("file replaced by a link", {"a": "1\n", "l": "2\n"}, "ln -sf a l"),
    ChangeCase(
        "link to a folder swapped",
        {"x/a": "1\n", "y/a": "2\n", "l": Link("x")},
        "rm l && ln -s y l && echo 3 >> l/a",
    ),
    ChangeCase("folder replaced by a link", {"x/a": "1\n", "l/a": "2\n"}, "rm -r l && ln -s x l"),
    ChangeCase(
        "link replaced by a folder", {"x/a": "1\n", "l": Link("x")}, "rm l && mkdir l && echo 2 > l/a"
    ),
    ChangeCase("links swapped", {"a": Link("1"), "b": Link("2")}, "mv a t && mv b a && mv t b"),
    ChangeCase("link that leads outside", {"l": Link("/etc")}, "ln -sfn /usr l"),
    ChangeCase("file replaced by a folder", {"a": "1\n"}, "rm a && mkdir a && echo 2 > a/b"),
    ChangeCase("folder replaced by a file", {"a/b": "1\n", "a/c/d": "2\n"}, "rm -r a && echo 3 > a"),
    ChangeCase("folders swapped", {"a/x": "1\n", "b/y": "2\n"}, "mv a t && mv b a && mv t b"),
    ChangeCase(
        "git checkout",
        {"a.txt": _TEXT, "gone.txt": "g\n", "run.sh": "#!/bin/sh\n"},
        f"{_GIT} checkout -q other",
        prepare=_REPO,
        uncovered={".git": "git"},
    ),
    ChangeCase(
        "git stash",
        {"a.txt": _TEXT, "gone.txt": "g\n", "run.sh": "#!/bin/sh\n"},
        f"{_GIT} stash -q -u",
        prepare=f"{_REPO} && echo mine >> a.txt && rm gone.txt && echo n > untracked",
        uncovered={".git": "git"},
    ),
    ChangeCase(
        "tar over files",
        {"a.txt": _TEXT, "d/b.txt": "b\n", "d/stays.txt": "s\n", "l": Link("a.txt")},
        "tar xf ../over.tar",
        prepare=(
            "mkdir ../over && cd ../over && mkdir d e && echo 2 > a.txt && echo 3 > d/b.txt && echo 4 > e/new"
            " && ln -s d l && chmod 700 d && tar cf ../over.tar ."
        ),
    ),
    ChangeCase(
        "formatter over many files",
        {f"src/p{number % 20}/m{number}.py": f"x = {number}\n" for number in range(FORMATTED_FILES)},
        "find src -name '*.py' -print0 | xargs -0 sed -i 's/ = /=/'",
    ),
    ChangeCase(
        "many kinds at once",
        {"a": "1\n", "b": "2\n", "c/d": "3\n", "e": Link("a"), "f.sh": "x\n", "g/h": Folder()},
        "mv a A; rm b; mv c C; ln -sfn b e; chmod +x f.sh; rmdir g/h; echo 9 > g/new; rm -f A && echo 1 > A",
    ),
)


_LARGE = SIZE_LIMIT + 1


UNCOVERED_CASES = (
    ChangeCase(
        "over the size limit",
        {"large.bin": bytes(_LARGE), "a.txt": "a\n"},
        "echo more >> large.bin && echo b >> a.txt",
        uncovered={"large.bin": "too_large"},
        unstored=("large.bin",),
    ),
    ChangeCase(
        "a secret file",
        {".env": "KEY=1\n", "id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\n", "a.txt": "a\n"},
        "echo KEY=2 > .env && echo 2 >> id_rsa && echo b >> a.txt",
        uncovered={".env": "secret", "id_rsa": "secret"},
        unstored=(".env", "id_rsa"),
    ),
    ChangeCase(
        "an ignored folder",
        {".gitignore": "out/\n", "out/a.txt": "1\n", "a.txt": "1\n"},
        "echo 2 > out/a.txt && echo 2 > out/b.txt && echo 2 > a.txt",
        uncovered={"out": "ignored"},
    ),
    ChangeCase(
        "an ignored log",
        {".gitignore": "*.log\n", "app.log": "started\n", "a.txt": "1\n"},
        "echo 2 >> app.log && echo 2 > a.txt",
        (write("a.txt", "2\n"),),
        uncovered={"app.log": "ignored"},
        unstored=("app.log",),
    ),
    ChangeCase(
        "ignored from now on",
        {"a.txt": "1\n", "lib/b.txt": "1\n", "c.py": "1\n"},
        "printf '*.txt\\nlib/\\n' > .gitignore && echo 2 > a.txt && rm lib/b.txt && echo 2 > c.py",
    ),
    ChangeCase(
        "not ignored any more",
        {".gitignore": "out/\n", "out/a.txt": "1\n", "b.txt": "1\n"},
        "rm .gitignore && echo 2 > out/a.txt && echo 2 > out/new.txt && echo 2 > b.txt",
        uncovered={"out": "ignored"},
    ),
    ChangeCase(
        "a large file moved, removed, made executable",
        {"large.bin": bytes(_LARGE), "other.bin": bytes(_LARGE), "run.bin": bytes(_LARGE), "a.txt": "1\n"},
        "mv large.bin moved.bin && rm other.bin && chmod +x run.bin && mv a.txt b.txt",
        uncovered=dict.fromkeys(("large.bin", "other.bin", "run.bin"), "too_large"),
        unstored=("large.bin", "other.bin", "run.bin", "moved.bin"),
    ),
    ChangeCase(
        "a file that grows over the size limit",
        {"a.bin": b"\1" * (_LARGE - 100), "b.bin": b"\2" * 100},
        f"head -c 200 /dev/zero >> a.bin && head -c {_LARGE} /dev/zero > new.bin && echo 1 > b.bin",
        unstored=("a.bin", "new.bin"),
        at_hand=("a.bin",),
    ),
    ChangeCase(
        "an ignored file that a tool names",
        {".gitignore": "*.log\n", "app.log": "1\n"},
        "",
        (write("app.log", "2\n"),),
    ),
    ChangeCase(
        "dependencies",
        {"package.json": "{}\n", "node_modules/x/index.js": "1\n"},
        "echo 2 > node_modules/x/index.js && echo '{ }' > package.json",
        uncovered={"node_modules": "ignored"},
    ),
    ChangeCase(
        "a pipe",
        {"a.txt": "1\n", "pipe": SpecialFile(stat.S_IFIFO)},
        "rm pipe && echo 2 > a.txt",
        uncovered={"pipe": "special"},
    ),
    ChangeCase(
        "a socket",
        {"a.txt": "1\n", "sock": SpecialFile(stat.S_IFSOCK)},
        "echo 2 > a.txt && rm sock",
        uncovered={"sock": "special"},
    ),
    ChangeCase(
        "a name that is no text",
        {"b\udcff.txt": "1\n", "a.txt": "1\n"},
        "for f in *.txt; do echo 2 >> $f; done",
        uncovered={"b\udcff.txt": "name"},
    ),
    *(
        ()
        if MAY_READ_ALL
        else (
            ChangeCase(
                "a folder of no rights",
                {"shut/a.txt": "1\n", "shut": Folder(0), "a.txt": "1\n"},
                "chmod 700 shut && echo 2 > shut/a.txt && chmod 0 shut && echo 2 > a.txt",
                uncovered={"shut": "unreadable"},
            ),
        )
    ),
)
