"""Changes of single files: their bytes, names and modes."""

from __future__ import annotations

from tests.support.file_changes.cases import (
    HOLD_MTIME,
    MAY_READ_ALL,
    ChangeCase,
    edit,
    edits,
    numbered_lines,
    write,
)
from tests.support.file_changes.tree import File, Folder

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
