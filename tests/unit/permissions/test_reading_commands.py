"""Which commands only read: by the list of programs, the options it allows, and the paths they name."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from helix_desktop.domain.tools import ANY, ApprovalRequest, PermissionRule
from helix_desktop.permissions.command_match import certainly_matches, main_words
from helix_desktop.permissions.reading_commands import (
    SimpleCommand,
    asked_parts,
    prints_only,
    reading_use,
    split_command,
)
from helix_desktop.permissions.reading_programs import (
    BUILTINS,
    DEFAULT_LINES,
    find_programs,
    parse_reading_line,
    reading_faults,
    reading_lines,
)
from helix_desktop.permissions.rules import evaluate
from tests.support.tables import for_each

PROGRAMS = find_programs(DEFAULT_LINES)
USUAL = [
    line.split("\t")
    for line in (Path(__file__).parents[2] / "support" / "usual_commands.txt").read_text().splitlines()
    if not line.startswith("#")
]


def only_reads(command: str, folder: str = "") -> bool:
    """Return True if a command in the workspace /w is found to read only."""
    return reading_use(command, folder, "/w", PROGRAMS) is not None


@for_each(("kind", "command"), USUAL)
def test_of_the_usual_commands_those_that_read_are_found(kind: str, command: str) -> None:
    assert only_reads(command) == (kind == "reading")


@for_each(
    "command",
    [
        "ls", "ls -la src tests", "cd /w && ls", "cd /w/src && cat ../README.md", "cat /w/a.txt",
        r"find . \( -name '*.py' -o -name '*.pyi' \) ! -path './.venv/*'", 'rg "def main$" src',
        r'rg "\bfoo\(" -tpy', "grep -n 'a|b' a.py || echo none", "git log --format='%h %s' -5",
        "git log -n5 main..HEAD",
        "git diff main...feature --stat", "git show stash@{0} --stat", "git diff HEAD^ HEAD~2",
        "git --no-pager log -3",
        "git show HEAD:src/a.py | sed -n '10,20p'", "sed -n '/^def a/,/^$/p' a.py",
        "sed 's/a/b/g; 2d' a.py",
        "head -20 a.py; tail -5 a.py", "ls\npwd", "cat -- -x", "grep -rn x --include=*.py .", "ls src/*.py",
        "tail -n +5 a.py", "uniq -c a.txt", "git branch --contains HEAD", "date -Iseconds",
        "wc -l", "ls 2>&1", "cat a.json README.md 2>/dev/null | head -200", "ls src 2> /dev/null; pwd",
        "rg --files | head -3", "grep -e x -e y a.py", "diff -u a.py b.py", "git blame -L 1,5 a.py",
        "cut -d: -f1,2 a",
    ],
)  # fmt: skip
def test_commands_that_only_read(command: str) -> None:
    assert only_reads(command)


ASKED = [
    line.replace("⏎", "\n")
    for line in (Path(__file__).parent / "asked_commands.txt").read_text(encoding="utf-8").splitlines()
]
"""More syntax than lists and pipes; programs that are not on the list, or are files; options that write, run
a program, or never end; paths outside of the workspace, and with keys.
"""


@for_each("command", ASKED)
def test_what_may_do_more_is_asked_about(command: str) -> None:
    assert not only_reads(command)


def test_a_path_is_looked_at_from_where_the_command_runs() -> None:
    assert only_reads("cat ../a.py", "src")
    assert not only_reads("cat ../../a.py", "src")
    assert not only_reads("cat id_rsa", ".ssh")


def test_what_it_uses_is_told() -> None:
    use = reading_use("cd src && rg x lib | head; git diff a.py", "", "/w", PROGRAMS)
    assert use is not None
    assert use.programs == ("rg", "head", "git")
    assert [place.path for place in use.paths] == ["src", "src/lib", "src/a.py"]
    assert (use.searched, use.shows_tracked) == (("src/lib",), True)
    for command, searched in {
        "grep -r x": (".",), "grep x a.py": (), "cat a.py | grep x": (), "diff a b": (".",), "ls -R": (),
    }.items():  # fmt: skip
        used = reading_use(command, "", "/w", PROGRAMS)
        assert used is not None
        assert used.searched == searched


def test_every_program_of_the_list_may_run_and_none_with_an_option_that_is_not_listed() -> None:
    assert set(PROGRAMS) > BUILTINS
    for line in DEFAULT_LINES:
        program = parse_reading_line(line)
        assert not only_reads(f"{program.name} --helix-unlisted")
        assert not only_reads(f"{program.name} --helix-unlisted=a")
        assert not only_reads(f"{program.name} > a.txt")
        takes_paths = not {"FILE", "FILES"}.isdisjoint(program.operands)
        first = {"TEXT": "x ", "SED": "p "}.get(next(iter(program.operands), ""), "")
        assert not (takes_paths and only_reads(f"{program.name} {first}/etc/passwd"))


PRINTING = ["p", "1,5p", "$p", "/a/,/b/d", "s/a/b/", "s/[0-9]*/x/gp", "1p;2p", "2,4!d", "5q"]
DOING_MORE = ["", "w a", "1w a", "e", "s/a/b/e", "s/a/b/w x", "r a", "p w x", "s/[/]/;/w f/p", "{p}"]


@for_each("script", PRINTING + DOING_MORE)
def test_scripts_of_sed_that_print_and_those_that_do_more(script: str) -> None:
    assert prints_only(script) == (script in PRINTING)


def test_the_user_changes_the_list() -> None:
    added = ("  mytool   list FILES --json --depth=N ",)
    assert reading_faults(added) == []
    own = find_programs(reading_lines(added, ("find",)))
    for command, is_reading in {
        "mytool list src --json --depth=3": True, "mytool list --depth 3 src": True,
        "mytool list --depth=a": False, "mytool write": False, "mytool list --out=a": False,
        "mytool list ../x": False, "find . -name x": False,
    }.items():  # fmt: skip
        assert (reading_use(command, "", "/w", own) is not None) == is_reading


def test_a_changed_line_takes_the_place_of_the_default_one() -> None:
    lines = reading_lines(("cat FILES",), ())
    assert [line for line in lines if line.split()[0] == "cat"] == ["cat FILES"]
    assert reading_lines(("bash FILES", "./x", "cat FILES"), ()) == lines, "what can't be read allows nothing"


@for_each(
    ("line", "why"),
    [
        ("./tool FILES", "not a program's name"), ("/bin/ls", "not a program's name"),
        ("tool $X", "must be options"), ("tool >a", "must be options"), ("tool --x=y", "value of --x"),
        ("bash FILES", "runs other programs"), ("python3 FILES", "runs other programs"),
        ("xargs TEXTS", "runs other"),
        ("env list", "runs other programs"), ("find FILES -delete", "writes, or runs"),
        ("rg TEXT --pre=TEXT", "writes, or"),
        ("x" * 5_000, "too long"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_says_why(line: str, why: str) -> None:
    (fault,) = reading_faults(["ls FILES", line])
    assert why in f"{fault.why}"
    assert "mytool" in f"{fault.fix}"


def test_a_program_can_be_in_the_list_once() -> None:
    (fault,) = reading_faults(["tool a", "tool a FILES"])
    assert fault.what == "tool a is in the list twice."


def test_a_reading_command_runs_in_each_mode_unless_a_rule_says_otherwise() -> None:
    rule = PermissionRule("run_command", "git status", confined=True)
    words = ("c", "run_command", "git status", "", "git status", rule)
    call = ApprovalRequest(*words, kind="command", confined=True, is_reading=True)
    for mode in ("ask", "plan", "auto"):
        assert evaluate((), call, mode).effect == "allow"
        for effect in ("ask", "deny"):
            strict = PermissionRule(ANY, "git status *", kind="pattern", effect=effect)
            assert evaluate((strict,), call, mode).effect == effect


PIECES = (
    "a", "b", "-x", "--y=", "'", '"', "\\", " ", "  ", "$", "`", "|", "&&", ";", "~", "{", "}", "{a}", "@{0}",
    "{>x}", "{;", "{|}", "{(}", ",", "..", "!", "#", "=", "/", "(", ")", "*", "?", "[", "]", "^", "%", "\t",
    "\n", "<", ">", "2>&1", "&", "é", "0", "a=b", '"a b"', "'c d'", "\\ ", "\\(", "$(x)", "\\n", "\\$", '\\"',
    ":", "HEAD~1", "x~", "=~", "\r", "\v", "\f", "\u00a0", "\u2028",
)  # fmt: skip
"""What commands are put together from at random: much of it means something to a shell."""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_the_shell_runs_what_was_read(tmp_path: Path) -> None:
    """Of each command that is split, bash gets the same words, and does nothing else with them."""
    draw = random.Random(1)
    commands: list[tuple[str, tuple[SimpleCommand, ...]]] = []
    while len(commands) < 1_500:
        text = "f " + "".join(draw.choices(PIECES, k=draw.randint(1, 7)))
        parts = split_command(text) or ()
        is_own = all(part.words[0].text == "f" and part.operator != "||" for part in parts)
        if parts and is_own and not any(word.has_wildcards for part in parts for word in part.words):
            commands.append((text, parts))
    script = 'f() { printf \'%s\\0\' "$#" "$@"; }\n' + "\nprintf 'next\\0'\n".join(
        text for text, _ in commands
    )
    (tmp_path / "empty").mkdir()
    ran = subprocess.run(["bash", "-c", script], cwd=tmp_path / "empty", capture_output=True, check=True)
    assert ran.stderr == b""
    for (text, parts), printed in zip(commands, ran.stdout.decode().split("next\0"), strict=True):
        following = (*(part.operator for part in parts[1:]), "")
        printing = (part for part, operator in zip(parts, following, strict=True) if operator != "|")
        words = [[word.text for word in part.words[1:]] for part in printing]
        assert printed == "".join(f"{word}\0" for each in words for word in (len(each), *each)), text
    assert list((tmp_path / "empty").iterdir()) == []


@for_each("setting", ["PATH=bin", "PATH+=:bin", "PATH[0]=bin", "PATH[0]+=:bin", "A= ", "PATH='bin'"])
def test_what_assigns_is_split_and_refused_by_all_who_ask_what_runs(setting: str) -> None:
    for command in (f"{setting} ls", f"{setting} ls 2>&1", f"ls && {setting} ls", f"ls | {setting} cat"):
        assert split_command(command) is not None
        assert not only_reads(command)
        assert main_words(command, "/w") is None
    for command in (f"{setting}; ls", f"{setting} && ls", f"ls; {setting}; pytest"):
        assert split_command(command) is not None
        assert asked_parts(command, "", "/w", PROGRAMS) is None, "ls may be another program behind it"
    for command in (f"{setting} pytest && ls", f"ls; {setting} pytest"):
        found = asked_parts(command, "", "/w", PROGRAMS)
        assert found is not None
        assert (found.commands, found.others) == ((f"{setting} pytest",), "ls")
        assert main_words(found.commands[0], "/w") is None, "no rule is offered for it"


@pytest.mark.parametrize(
    ("command", "parts", "others"),
    [
        ("pytest -q && git status", ("pytest -q",), "git status"),
        ("git status; pytest -q 2>&1 | tail -5; git diff --stat", ("pytest -q 2>&1 | tail -5",),
         "git status && git diff --stat"),
        ("cd web && CI=1 npm test && git status | head -3", ("cd web && CI=1 npm test",),
         "cd web && git status | head -3"),
        ("pytest 'a b' &&\ncat 'c d.txt'", (), ""),
        ("pytest 'a b'\ncat 'c d.txt'", ("pytest 'a b'",), "cat 'c d.txt'"),
        ("ls && rm -rf src", ("rm -rf src",), "ls"),
        ("pytest -v a 2>&1; pytest 2>&1 | tail -n 3", ("pytest -v a 2>&1", "pytest 2>&1 | tail -n 3"), ""),
        ("cd web && npm test && ls && npm run lint", ("cd web && npm test", "cd web && npm run lint"),
         "cd web && ls"),
        ("cd web && npm run build && npm test", ("cd web && npm run build", "cd web && npm test"), ""),
        ("ls && cd web && npm test", ("cd web && npm test",), "ls"),
    ],
)  # fmt: skip
def test_the_parts_of_a_list_that_may_do_more_than_read(
    command: str, parts: tuple[str, ...], others: str
) -> None:
    found = asked_parts(command, "", "/w", PROGRAMS)
    assert (found or ((), "")) == (parts, others)


@for_each(
    "command",
    [
        "pytest", "pytest -q | tail -5", "pytest && make", "pytest || git status", "pytest & git status",
        "pytest && git status > a.txt", "pytest && git status $(id)", "pytest && (git status)",
        "pytest && git status &", "pytest && cat .env", "pytest && cat ../a.txt", "pytest && cat /etc/passwd",
        "pytest && X=1 git status", "export X=1 && pytest && git status", "X=1; pytest && git status",
        "pytest && git -c core.pager=x log", "pytest && git diff --output=a", "pytest && find . -delete",
        "pytest && rg --pre x y", "pytest && sort -o a b", "pytest && sed -i s/a/b/ c", "pytest && git push",
        "cd web; pytest; cat a", "cd .. && pytest && ls", "pytest && cd .. && ls", "pytest && cd - && ls",
        "pytest && eval ls", "pytest && ls `id`", "pytest && 'git' status\\", "pytest && {ls}; rm x; ls",
        "alias git=rm; git status; pytest", "git() { rm x; }; git status && pytest",
        "cd private && cat a", "cd /etc && cat a", "c\\d /etc && cat a", "'cd' .. && cat a",
        "! cd .. && cat a", "time cd .. && cat a", "command cd .. && cat a", "builtin cd .. && cat a",
        "true | cd .. && cat a", "chdir .. && cat a", "pushd .. && cat a", "ls && popd && cat a",
        "X=1 cd .. && cat a",
        "export PATH=./bin:/usr/bin && ls", "PATH=./bin; ls", "A=1 PATH=./bin && ls", "PATH+=:./bin && ls",
        "export LD_PRELOAD=./a.so && ls", "declare -x PATH=./bin && ls", "typeset PATH=./bin; ls",
        "readonly PATH=./bin; ls", "local PATH=./bin; ls", "printf -v PATH ./bin && ls", "read PATH; ls",
        "mapfile PATH; ls", "readarray PATH; ls", "getopts a PATH; ls", "let PATH=1; ls", "wait -p PATH; ls",
        "unset PATH && ls", "alias ls=./a && ls", "unalias ls && ls", "hash -p ./a ls && ls",
        "enable -f ./a.so ls && ls", "enable -n pwd; pwd", ". ./a && ls", "source a; ls", "exec a && ls",
        "eval 'ls() { a; }' && ls", "trap a EXIT; ls", "set -a; ls", "shopt -s expand_aliases; ls",
        "bind -x '\"a\": b'; ls", "complete -C a ls; ls", "fc -s && ls", "jobs -x cd .. && cat a",
        "ulimit -n 3; ls", "umask 0; ls", "coproc a; ls",
        "pytest && g\\it push && ls", "pytest && cat <<x", "pytest && ls # x", "pytest && cd sub | make",
        "cd sub | make && pytest && ls", "pytest && cd sub && cd .. | make", f"pytest{' && ls' * 6}",
    ],
)  # fmt: skip
def test_a_list_with_anything_else_is_covered_by_no_rules_for_its_programs(command: str) -> None:
    found = asked_parts(command, "", "/w", PROGRAMS)
    rules = ("pytest *", "ls *")
    assert found is None or not all(
        any(certainly_matches(rule, part, "/w") for rule in rules) for part in found.commands
    )
