"""The list of programs that only read: with which arguments they may run without asking, a line for each.

A line is a program, its subcommand if any, and what may follow. What a line doesn't list is asked about: also
each option that writes, or that runs another program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, get_args

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.permissions.program import INTERPRETERS
from helix_desktop.permissions.shell_tokens import (
    OTHER_RUNNERS,
    PACKAGE_RUNNERS,
    RUN_BY_FIND,
    SHELLS,
    WRAPPERS,
)

_text = TextContext("Tools")

Operand = Literal["TEXT", "TEXTS", "FILE", "FILES", "SED"]
"""What may stand without an option: a text, any number of them, at most one path, any number, a script of sed
that prints.
"""
ValueKind = Literal["N", "TEXT", "PATH", "SED"]

_LINES = """
ls FILES -a -A -l -h -1 -R -t -r -S -d -F -p -i -n -s -G --color[=TEXT] --all --almost-all
    --human-readable --recursive --reverse --group-directories-first --sort=TEXT
    --time-style=TEXT --full-time --
cat FILES -n -b -A -E -T -s -v -e -t --number --show-all --
head FILES -n=TEXT -c=TEXT -q -v -NUM --lines=TEXT --bytes=TEXT --
tail FILES -n=TEXT -c=TEXT -q -v -NUM --lines=TEXT --bytes=TEXT --
nl FILES -b=TEXT -w=N -s=TEXT --
tac FILES --
wc FILES -l -w -c -m -L --lines --words --bytes --chars --
stat FILES -c=TEXT --format=TEXT -t --
file FILES -b -i --mime-type --brief --
du FILES -s -h -a -c -k -m -d=N --max-depth=N --apparent-size --summarize --human-readable --
df -h -k -T
tree FILES -a -d -f -F -h -s -L=N -I=TEXT -P=TEXT --noreport --dirsfirst --gitignore --prune
find FILES -name=TEXT -iname=TEXT -path=TEXT -ipath=TEXT -wholename=TEXT -regex=TEXT
    -iregex=TEXT -regextype=TEXT -type=TEXT -maxdepth=N -mindepth=N -size=TEXT -mtime=TEXT
    -mmin=TEXT -newer=PATH -perm=TEXT -empty -not ! ( ) -o -or -a -and -print -print0 -prune -ls
    -xdev -depth -true -false -printf=TEXT
rg TEXT FILES -e=TEXT -n -N -i -s -S -w -x -l -c -v -o -q -F -P -U -H -I -p -A=N -B=N -C=N -m=N
    -M=N -g=TEXT -t=TEXT -T=TEXT -u -. --regexp=TEXT --files --files-with-matches
    --files-without-match --count --count-matches --line-number --no-line-number --ignore-case
    --smart-case --case-sensitive --word-regexp --fixed-strings --pcre2 --multiline
    --multiline-dotall --only-matching --invert-match --heading --no-heading --with-filename
    --no-filename --after-context=N --before-context=N --context=N --max-count=N --max-columns=N
    --max-depth=N --glob=TEXT --iglob=TEXT --type=TEXT --type-not=TEXT --type-list --hidden
    --no-ignore --no-ignore-vcs --sort=TEXT --color=TEXT --colors=TEXT --column --vimgrep --json
    --stats --trim --null --passthru --no-messages --no-config --version --
grep TEXT FILES -e=TEXT -r -n -i -w -x -l -L -c -v -o -q -s -E -F -G -P -H -h -a -I -b -Z -z
    -NUM -A=N -B=N -C=N -m=N --regexp=TEXT --recursive --line-number --ignore-case --word-regexp
    --files-with-matches --files-without-match --count --invert-match --only-matching
    --extended-regexp --fixed-strings --perl-regexp --with-filename --no-filename --no-messages
    --after-context=N --before-context=N --context=N --max-count=N --include=TEXT --exclude=TEXT
    --exclude-dir=TEXT --color[=TEXT] --
egrep TEXT FILES -e=TEXT -r -n -i -w -l -c -v -o -q -h -H -A=N -B=N -C=N -m=N --include=TEXT
    --exclude=TEXT --exclude-dir=TEXT --
fgrep TEXT FILES -e=TEXT -r -n -i -w -l -c -v -o -q -h -H -A=N -B=N -C=N -m=N --include=TEXT
    --exclude=TEXT --exclude-dir=TEXT --
sed SED FILES -n -E -r -s -z -e=SED --quiet --silent --regexp-extended --expression=SED
cut FILES -d=TEXT -f=TEXT -c=TEXT -b=TEXT -s --delimiter=TEXT --fields=TEXT --complement
    --output-delimiter=TEXT
sort FILES -n -r -u -f -b -d -g -h -V -M -s -c -z -k=TEXT -t=TEXT --numeric-sort --reverse
    --unique --human-numeric-sort --version-sort --key=TEXT --field-separator=TEXT
uniq FILE -c -d -u -i -D -f=N -s=N -w=N --count --repeated --unique --ignore-case
tr TEXTS -d -s -c -C -t --delete --squeeze-repeats --complement
rev FILES
fold FILES -w=N -s -b
paste FILES -d=TEXT -s
column FILES -t -s=TEXT -c=N -o=TEXT -n
comm FILES -1 -2 -3
diff FILES -u -c -q -s -w -b -B -i -y -N -a -U=N -C=N -W=N --unified[=N] --brief
    --side-by-side --color[=TEXT] --ignore-all-space --ignore-blank-lines --new-file
    --suppress-common-lines
cmp FILES -s -l -b
od FILES -c -x -A=TEXT -t=TEXT -N=N -j=N -v
hexdump FILES -C -n=N -s=N -v
md5sum FILES -b -t
sha1sum FILES -b -t
sha256sum FILES -b -t
basename TEXTS -a -s=TEXT
dirname TEXTS
realpath FILES -e -m -s
readlink FILES -f -e -m -n
pwd -L -P
cd FILE
echo TEXTS -n -e -E
true
false
seq TEXTS -w -s=TEXT
which TEXTS -a
type TEXTS -a -t -p
date -u -R -I[=TEXT]
whoami
id -u -g -n -G
uname -a -s -r -m -n -o -p
nproc
python --version
python3 --version
node --version
git --version
git status FILES -s -b -v -z -u[=TEXT] --short --branch --long --porcelain[=TEXT]
    --ignored[=TEXT] --untracked-files[=TEXT] --show-stash --no-renames --ahead-behind
    --no-ahead-behind --
git diff FILES -p -u -w -b -R -z -U=N -M[=TEXT] -C[=TEXT] -S=TEXT -G=TEXT --stat[=TEXT]
    --shortstat --numstat --dirstat[=TEXT] --summary --name-only --name-status --cached --staged
    --merge-base --check --exit-code --quiet --minimal --patience --histogram --word-diff[=TEXT]
    --color[=TEXT] --no-color --color-words[=TEXT] --diff-filter=TEXT --unified=N
    --ignore-all-space --ignore-space-change --ignore-blank-lines --find-renames[=TEXT]
    --no-renames --relative[=TEXT] --function-context -W --no-ext-diff --no-textconv --no-prefix
    --pickaxe-all --
git log FILES -n=N -NUM -p -u -z -i -E -F -P -S=TEXT -G=TEXT -L=PATH -U=N -M[=TEXT] -C[=TEXT] -w
    -b --patch --oneline --graph --all --branches[=TEXT] --tags[=TEXT] --remotes[=TEXT]
    --stat[=TEXT] --shortstat --numstat --summary --name-only --name-status --decorate[=TEXT]
    --no-decorate --author=TEXT --committer=TEXT --since=TEXT --after=TEXT --until=TEXT
    --before=TEXT --grep=TEXT --invert-grep --format=TEXT --pretty[=TEXT] --date=TEXT
    --abbrev-commit --no-abbrev-commit --abbrev=N --max-count=N --skip=N --follow --merges
    --no-merges --first-parent --reverse --topo-order --date-order --left-right --cherry-pick
    --no-patch -s --diff-filter=TEXT --color[=TEXT] --no-color --relative-date --full-history
    --word-diff[=TEXT] --no-ext-diff --no-textconv --boundary --simplify-by-decoration --
git show FILES -p -s -w -b -z -U=N -M[=TEXT] --patch --no-patch --stat[=TEXT] --shortstat
    --numstat --summary --name-only --name-status --oneline --format=TEXT --pretty[=TEXT]
    --date=TEXT --abbrev-commit --color[=TEXT] --no-color --word-diff[=TEXT] --diff-filter=TEXT
    --unified=N --first-parent --no-ext-diff --no-textconv --
git blame FILES -L=PATH -w -e -s -l -t -c -b -f -n -p -M[=TEXT] -C[=TEXT] --date=TEXT
    --porcelain --line-porcelain --show-name --show-number --show-email --since=TEXT --
git grep TEXT FILES -e=TEXT -n -i -w -l -L -c -v -o -q -E -F -G -P -h -H -p -W -A=N -B=N -C=N
    --regexp=TEXT --line-number --ignore-case --word-regexp --name-only --files-with-matches
    --count --cached --and --or --not --all-match --extended-regexp --fixed-strings
    --perl-regexp --heading --break --show-function --function-context --after-context=N
    --before-context=N --context=N --max-depth=N --color[=TEXT] --no-color --
git ls-files FILES -c -d -m -o -i -s -u -k -t -v -z --cached --deleted --modified --others
    --ignored --stage --unmerged --exclude-standard --directory --full-name --error-unmatch --
git ls-tree FILES -r -d -t -l -z --name-only --name-status --long --full-name --full-tree
    --abbrev[=N] --
git cat-file FILES -t -s -p -e
git branch -a -r -v -l --all --remotes --list --verbose --show-current --contains=TEXT
    --no-contains=TEXT --merged=TEXT --no-merged=TEXT --points-at=TEXT --sort=TEXT --format=TEXT
    --column[=TEXT] --color[=TEXT] --no-color --ignore-case
git tag -l -n[=N] --list --contains=TEXT --points-at=TEXT --merged=TEXT --sort=TEXT
    --format=TEXT --column[=TEXT]
git remote -v --verbose
git remote get-url TEXT --all --push
git stash list -n=N -NUM --oneline --format=TEXT --date=TEXT --stat[=TEXT]
git stash show TEXT -p -u --stat[=TEXT] --patch --name-only --name-status --include-untracked
git reflog -n=N -NUM --oneline --date=TEXT --format=TEXT
git rev-parse TEXTS -q --abbrev-ref[=TEXT] --symbolic-full-name --short[=N] --verify --quiet
    --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --is-inside-work-tree
    --is-bare-repository --all
git rev-list TEXTS -n=N -NUM --count --all --left-right --max-count=N --no-merges --first-parent
    --since=TEXT --until=TEXT --reverse
git merge-base TEXTS -a --all --is-ancestor --fork-point --octopus --independent
git describe TEXTS --tags --all --always --long --dirty[=TEXT] --abbrev=N --exact-match
    --contains --match=TEXT --exclude=TEXT
git shortlog TEXTS -s -n -e --summary --numbered --email --since=TEXT --until=TEXT --no-merges
git for-each-ref TEXTS --format=TEXT --sort=TEXT --count=N --contains=TEXT --merged=TEXT
git show-ref TEXTS --heads --tags --head --hash[=N] --verify -s -d
git name-rev TEXTS --name-only --tags --always
git diff-tree FILES -r -p -s --no-commit-id --name-only --name-status --stat[=TEXT] --root
    -M[=TEXT] --
git check-ignore FILES -v -n -q --verbose --
git count-objects -v -H
git worktree list -v --porcelain
git config --get=TEXT --get-all=TEXT
git version
"""
"""Lines that begin deeper go on the one before."""

DEFAULT_LINES = tuple(
    " ".join(line.split()) for line in _LINES.replace("\n    ", " ").splitlines() if line.strip()
)
"""What runs without asking as long as the user changes nothing. No option here writes a file, runs a program,
follows links that it finds, or goes on for ever (`tail -f`).
"""

BUILTINS = frozenset({"cd", "echo", "false", "pwd", "true", "type"})
"""Programs of the list that are part of the shell."""
SHELL_CHANGERS = frozenset({
    "!", ".", "alias", "bind", "builtin", "cd", "chdir", "command", "complete", "coproc", "declare", "enable",
    "eval", "exec", "export", "fc", "getopts", "hash", "jobs", "let", "local", "mapfile", "popd", "printf",
    "pushd", "read", "readarray", "readonly", "set", "shopt", "source", "time", "trap", "typeset", "ulimit",
    "umask", "unalias", "unset", "wait",
})  # fmt: skip
"""Words with which a shell changes what later commands run, or where, or which run such a word."""

_NAMED_ONLY = BUILTINS | {
    "ls", "cat", "head", "tail", "nl", "tac", "wc", "stat", "file", "du", "df", "tree", "find", "sed", "cut",
    "sort", "uniq", "tr", "rev", "fold", "paste", "column", "comm", "cmp", "od", "hexdump", "md5sum",
    "sha1sum", "sha256sum", "basename", "dirname", "realpath", "readlink", "seq", "which", "date", "whoami",
    "id", "uname", "nproc", "python", "python3", "node", "git",
}  # fmt: skip
"""Programs of the list that show the content of no file but those that they are given."""
_SEARCH_BY_OPTION = {name: frozenset({"-r", "--recursive"}) for name in ("grep", "egrep", "fgrep")}
_FOLLOW_NO_LINKS = frozenset({"rg", *_SEARCH_BY_OPTION})
_GIT_NAMES_ONLY = frozenset({
    "status", "ls-files", "ls-tree", "branch", "tag", "remote", "reflog", "rev-parse", "rev-list",
    "merge-base", "describe", "shortlog", "for-each-ref", "show-ref", "name-rev", "check-ignore",
    "count-objects", "worktree", "config", "version",
})  # fmt: skip
"""Subcommands of git that show no content of a tracked file."""

_RUNNERS = SHELLS | WRAPPERS | OTHER_RUNNERS | PACKAGE_RUNNERS | {"awk", "gawk", "mawk", "nawk", "make"}
_RUNNING_OPTIONS = RUN_BY_FIND | {
    "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "--exec", "--exec-batch", "--pre",
    "--ext-diff", "--output",
}  # fmt: skip
_RUN_NOTHING = frozenset({"--version", "--help"})
"""The only arguments of a program that runs others: without any it runs what a pipe gives it."""
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*")
_OPTION = re.compile(r"(--?[\w?.][\w-]*|--|[!()])(?:=(\w+)|\[=(\w+)\])?", re.ASCII)
_ANY_NUMBER = "-NUM"
_LONGEST = 4_000  # characters of a line


class ReadingProgram(msgspec.Struct, frozen=True):
    """A line of the list: the words that begin the command, and what may follow.

    `values` are options with a value, as `-n 5`, `-n5` or `--lines=5`; `attached` those whose value may be
    left out, and never is the next word. `takes_number`: `-20` is an option, too (`-NUM` in the line).
    """

    words: tuple[str, ...]
    operands: tuple[Operand, ...] = ()
    flags: frozenset[str] = frozenset()
    values: dict[str, ValueKind] = {}
    attached: dict[str, ValueKind] = {}
    takes_number: bool = False

    @property
    def name(self) -> str:
        """The program with its subcommand."""
        return " ".join(self.words)

    @property
    def has_long_names(self) -> bool:
        """Return True if one dash begins a name, as of find, so that letters can't be put together."""
        options = {*self.flags, *self.values, *self.attached} - {_ANY_NUMBER}
        return any(re.fullmatch(r"-[A-Za-z]{2,}\w*", option) for option in options)

    def searches(self, options: Iterable[str]) -> bool:
        """Return True if it shows what is in files that it finds by itself."""
        by_option = _SEARCH_BY_OPTION.get(self.words[0])
        if by_option is not None:
            return not by_option.isdisjoint(options)
        return self.words[0] not in _NAMED_ONLY

    @property
    def follows_links(self) -> bool:
        """Return True if it may do so in folders, so that what it shows can be anywhere in the workspace."""
        return self.words[0] not in _FOLLOW_NO_LINKS

    @property
    def needs_argument(self) -> bool:
        """Return True if without an argument it would run what a pipe gives it."""
        return _is_runner(self.words[0])

    @property
    def shows_tracked(self) -> bool:
        """Return True if it shows what git stores of files."""
        return self.words[0] == "git" and self.words[1:2] != () and self.words[1] not in _GIT_NAMES_ONLY


def parse_reading_line(line: str) -> ReadingProgram:
    """Parse a line of the list. Raises InvalidInput, which says what in it can't be."""
    words = line.split()
    if not words or len(line) > _LONGEST:
        raise _invalid(line, _text("It names no program, or is too long."))
    if not _NAME.fullmatch(words[0]):
        raise _invalid(line, _text("{word} is not a program's name without its folder.", word=words[0]))
    start = 1
    while start < len(words) and _SUBCOMMAND.fullmatch(words[start]):
        start += 1
    operands: list[Operand] = []
    flags: set[str] = set()
    values: dict[str, ValueKind] = {}
    attached: dict[str, ValueKind] = {}
    for word in words[start:]:
        if word in get_args(Operand):
            operands.append(word)  # type: ignore[arg-type]  # it is one of them
            continue
        found = _OPTION.fullmatch(word)
        if found is None:
            raise _invalid(
                line,
                _text("What follows must be options, TEXT, TEXTS, FILE or FILES (got {word}).", word=word),
            )
        option, value, optional = found.groups()
        if option in _RUNNING_OPTIONS:
            raise _invalid(line, _text("{option} writes, or runs another program.", option=option))
        kind = value or optional
        if not kind:
            flags.add(option)
        elif kind not in get_args(ValueKind):
            raise _invalid(line, _text("The value of {option} is N, TEXT or PATH.", option=option))
        elif value:
            values[option] = kind  # type: ignore[assignment]  # it is one of them
        else:
            attached[option] = kind  # type: ignore[assignment]  # it is one of them
    if _is_runner(words[0]) and not set(words[1:]) <= _RUN_NOTHING:
        raise _invalid(line, _text("{program} runs other programs.", program=words[0]))
    takes_number = _ANY_NUMBER in flags
    return ReadingProgram(
        tuple(words[:start]), tuple(operands), frozenset(flags), values, attached, takes_number
    )


def _is_runner(name: str) -> bool:
    return name in _RUNNERS or bool(INTERPRETERS.fullmatch(name))


def _invalid(line: str, why: TranslatableText) -> InvalidInput:
    return InvalidInput(
        _text("The line “{line}” is invalid.", line=line.strip()[:80]),
        why,
        _text("Enter a program and what may follow it, such as: mytool list FILES --json --depth=N"),
    )


def reading_faults(added: Iterable[str]) -> list[InvalidInput]:
    """Return an error for each of the user's lines that can't be read, or whose program has another line."""
    faults: list[InvalidInput] = []
    names: set[str] = set()
    for line in added:
        try:
            name = parse_reading_line(line).name
        except InvalidInput as fault:
            faults.append(fault)
            continue
        if name in names:
            what = _text("{program} is in the list twice.", program=name)
            faults.append(InvalidInput(what, fix=_text("Make it one line.")))
        names.add(name)
    return faults


def reading_lines(added: Iterable[str], removed: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of the list: the default ones with the user's changes."""
    lines = {name: line for line, name in zip(DEFAULT_LINES, _default_programs(), strict=True)}
    for name in removed:
        lines.pop(name, None)
    for line in added:
        try:
            lines[parse_reading_line(line).name] = line
        except InvalidInput:  # of a settings file that was edited by hand: what can't be read allows nothing
            continue
    return tuple(lines[name] for name in sorted(lines))


@lru_cache(maxsize=8)
def find_programs(lines: tuple[str, ...]) -> dict[str, tuple[ReadingProgram, ...]]:
    """Return the programs of valid lines by their first word, those with most words first."""
    found: dict[str, list[ReadingProgram]] = {}
    for program in map(parse_reading_line, lines):
        found.setdefault(program.words[0], []).append(program)
    return {name: tuple(sorted(each, key=lambda one: -len(one.words))) for name, each in found.items()}


@lru_cache(maxsize=1)
def _default_programs() -> tuple[str, ...]:
    return tuple(parse_reading_line(line).name for line in DEFAULT_LINES)
