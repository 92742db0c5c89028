"""Changes that cannot be undone, or only in part: each is named before."""

from __future__ import annotations

import stat

from tests.support.file_changes.cases import MAY_READ_ALL, SIZE_LIMIT, ChangeCase, write
from tests.support.file_changes.tree import Folder, SpecialFile

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
