"""Changes of folders, links and many files at once."""

from __future__ import annotations

from tests.support.file_changes.cases import MAY_READ_ALL, ChangeCase, numbered_lines
from tests.support.file_changes.tree import File, Folder, Link

_TEXT = numbered_lines(40)
_GIT = (
    "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -c user.name=a -c user.email=a@b"
    " -c init.defaultBranch=main -c core.hooksPath=/dev/null"
)
_REPO = (
    f"{_GIT} init -q . && {_GIT} add -A && {_GIT} commit -qm one && {_GIT} checkout -q -b other"
    " && echo other > a.txt && rm gone.txt && mkdir new && echo x > new/x.txt && chmod +x run.sh"
    f" && ln -s a.txt link && {_GIT} add -A && {_GIT} commit -qm two && {_GIT} checkout -q main"
)
FORMATTED_FILES = 600

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
        "formatter over 600 files",
        {f"src/p{number % 20}/m{number}.py": f"x = {number}\n" for number in range(FORMATTED_FILES)},
        "find src -name '*.py' -print0 | xargs -0 sed -i 's/ = /=/'",
    ),
    ChangeCase(
        "many kinds at once",
        {"a": "1\n", "b": "2\n", "c/d": "3\n", "e": Link("a"), "f.sh": "x\n", "g/h": Folder()},
        "mv a A; rm b; mv c C; ln -sfn b e; chmod +x f.sh; rmdir g/h; echo 9 > g/new; rm -f A && echo 1 > A",
    ),
)
