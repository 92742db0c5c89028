"""Which commands mode auto asks about: those that destroy what nothing can bring back, and no others.

What runs without a question stands in `everyday_commands.txt`, what asks in `hostile_commands.txt`: one a
line, where `⏎` stands for a line break.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.tools import ApprovalRequest, PermissionRule
from helix_desktop.permissions.data_loss import find_effects
from helix_desktop.permissions.rules import PermissionDecision, evaluate
from tests.support.tables import for_each

COVERAGE = FileCoverage(
    files=3,
    places=(
        UncoveredPlace(".git", "git", is_folder=True),
        UncoveredPlace("__pycache__", "ignored", is_folder=True),
        UncoveredPlace("data", "ignored", is_folder=True),
        UncoveredPlace(".env", "secret"),
        UncoveredPlace("big.bin", "too_large"),
        UncoveredPlace("logs/app.log", "ignored"),
        UncoveredPlace("logs/settings.db", "ignored"),
    ),
    uncovered=7,
    is_complete=True,
)
PARTS = ["rm", "git", "-rf", "$X", ";", "|", "(", ">", "*", "xargs", "sh", "-c", "for", "in", "X=1", "`", "'"]


def _read(name: str) -> str:
    return (Path(__file__).parent / f"{name}_commands.txt").read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    return [line.replace("⏎", "\n") for line in text.strip().splitlines()]


LOSING, HOSTILE = map(commands, _read("hostile").removeprefix("## .env is lost\n").split("## others\n"))


def loss(command: str, folder: str = "") -> str:
    """Return what a command destroys in a workspace, joined by commas."""
    return ",".join(place.path for place in find_effects(command, COVERAGE, folder, "/w/p").lost)


def decide(
    command: str, *rules: PermissionRule, scripts: tuple[tuple[str, str], ...] = ()
) -> PermissionDecision:
    """Return what mode auto decides about a command in the workspace /w/p."""
    request = ApprovalRequest(
        *("c", "run_command", command, "", command, PermissionRule("run_command", command), "command"),
        confined=True,
        coverage=COVERAGE,
        root="/w/p",
        scripts=scripts,
    )
    return evaluate(rules, request, "auto")


def test_mode_auto_asks_about_no_everyday_command() -> None:
    assert [line for line in commands(_read("everyday")) if decide(line).effect != "allow"] == []


def test_mode_auto_asks_about_every_hostile_command() -> None:
    assert [line for line in LOSING + HOSTILE if decide(line).effect != "ask"] == []


@for_each(
    "command",
    [
        *LOSING,
        "find . -exec " * 40 + "rm .env",
        "nice " * 2_000 + "rm .env",
        "cat <<E\nE\n" * 100 + "rm .env",
    ],
)
def test_no_wrapping_hides_what_is_destroyed(command: str) -> None:
    assert ".env" in loss(command).split(",")


@for_each(
    ("command", "places"),
    [
        ("rm logs/app.log", "logs/app.log"), ("rm -f logs/*.log", "logs/app.log"),
        ("rm -rf logs", "logs/app.log,logs/settings.db"),
        ("rm data/x.csv", "data/x.csv"), ("cd logs && rm app.log", "logs/app.log"), ("rm -rf .git", ".git"),
        ("rm -rf *", "big.bin,data,logs/app.log,logs/settings.db"),
        ("rm -rf /w/p/.git", ".git"), ("rm -rf /w/p/data", "data"),
        ("git reset --hard 7f139f5", ".git"), ("git -C . gc --prune=now", ".git"), ("git stash drop", ".git"),
        ("git reflog expire --expire=now --all", ".git"), ("git push --force", ".git"),
        ("git push o +m", ".git"),
        ("git branch -D x", ".git"), ("git clean -fdx", ".env,big.bin,data,logs/app.log,logs/settings.db"),
        ("git checkout -- .", "big.bin"), ("git restore .", "big.bin"), ("git checkout -- .env", ".env"),
        ("find . -name '*.log' -delete", "logs/app.log"),
        ("find logs -exec rm {} \\;", "logs/app.log,logs/settings.db"),
        ("find . -name '*.log' | xargs rm -f", "logs/app.log"), ("dd if=/dev/zero of=big.bin", "big.bin"),
        ("truncate -s 0 logs/app.log", "logs/app.log"), ("shred .env", ".env"),
        (": > logs/app.log", "logs/app.log"),
        ("echo x > .env", ".env"), ("sed -i s/a/b/ .env", ".env"), ("mv x .env", ".env"),
        ('bash -lc "rm -rf .git"', ".git"), ("eval 'rm -rf .git'", ".git"), ("env X=1 rm -rf .git", ".git"),
        ("timeout -s KILL 5 rm -rf .git", ".git"), ('echo "$(rm -rf .git)"', ".git"),
        ("true; rm -rf .git", ".git"),
        ('for f in logs/*.log; do rm "$f"; done', "logs/app.log"),
        ('D=logs; rm -rf "$D"', "logs/app.log,logs/settings.db"),
        ("python -c \"import shutil; shutil.rmtree('.git')\"", ".git"),
        ("python - <<'E'\nimport os\nos.remove('.env')\nE", ".env"), ("sh <<E\nrm -rf .git\nE", ".git"),
    ],
)  # fmt: skip
def test_what_a_command_destroys_for_good(command: str, places: str) -> None:
    assert loss(command) == places


@for_each("command", ["", "'", "cat .env", "sed -n 1,9p .env", "[ -f .env ] && cat .env"])
def test_what_only_reads_is_no_loss(command: str) -> None:
    assert loss(command) == ""


def test_a_path_of_many_variables_is_compared_in_bounded_time() -> None:
    place = UncoveredPlace("/".join("abcdefghijklmnopqrst"), "secret")
    coverage = FileCoverage(places=(place,), uncovered=1, is_complete=True)
    variables = "/".join(f"$v{number}" for number in range(12))
    assert find_effects(f"rm {variables}/t", coverage).lost == (place,)
    assert find_effects(f"rm {variables}/u", coverage).lost == ()


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "'a' " * 25_000, "echo " + "$(" * 50_000, "cat <<E\n" * 5_000,
        'echo "' + "$(a) " * 20_000 + '"', "rm " + "$a " * 30_000, "nice " * 20_000 + "rm x",
        "find . " + "-name 'x*' " * 5_000 + "-delete", "a;" * 50_000, "rm " + "*/" * 50_000, "`" * 100_000,
        "rm " + "[" * 100_000, "eval " * 20_000 + "x", "'" + "a b;" * 25_000, "cat <<E\n" + "\n \t" * 30_000,
        "rm $a/*/$b/*/$c/*.bin", "sed '#" + "x" * 5_000 + "\n1e rm .env' a",
    ],
    ids=lambda command: command[:12],
)  # fmt: skip
def test_what_takes_too_long_to_read_is_asked_about(command: str) -> None:
    """They took from seconds to minutes: the time is bounded by a count of steps."""
    places = (UncoveredPlace(f"data/d{number // 100}/sub/{number}.bin", "quota") for number in range(20_000))
    coverage = FileCoverage(places=tuple(places), is_complete=True)
    assert not find_effects(command, coverage).is_whole


@pytest.mark.parametrize(
    "command",
    [
        "".join(f"x{n}=$x{n + 1}$x{n + 1} | " for n in range(5_000)) + "rm $x0",
        "for x in " + "aaaaaaaaaaaaaaaaaaaa " * 60 + "; do " + "rm ${x##*a*a*a*a*b}; " * 4_000 + "done",
        "a=xx; " + "a=$a$a; " * 40 + "rm $a",
        "a=x; " + "a+=$a; " * 40 + "rm $a",
        f"a={'x' * 4000}; rm {'$a' * 1000}",
        f"for a in {' '.join(f'f{n}' for n in range(64))}; do bash -c '{'rm $a ' * 5000}'; done",
    ],
)
def test_a_command_whose_variables_grow_is_asked_about_before_they_fill_the_memory(command: str) -> None:
    assert decide(command).effect == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "perl -e '" + "q(" * 50_000 + "'", "python -c '#system " + '\\"' * 50_000 + "'",
        'echo "' + "$(" * 50_000 + '"', "sed '" + "\n" * 4_000 + "'",
    ],
    ids=lambda command: command[:12],
)  # fmt: skip
def test_what_never_ends_is_searched_once(command: str) -> None:
    """Each beginning was searched to the end of the command, which held the whole app for minutes."""
    assert find_effects(command + "; rm .env", COVERAGE).lost == (UncoveredPlace(".env", "secret"),)


def test_a_long_script_is_read_to_its_end() -> None:
    lines = "".join(f"python tool.py --name part{number} > out/{number}.txt\n" for number in range(300))
    assert find_effects(f"cat > run.sh <<'E'\n{lines}rm .env\nE\nbash run.sh", COVERAGE).is_whole
    assert ".env" in loss(f"cat > run.sh <<'E'\n{lines}rm .env\nE\nbash run.sh")
    many = " ".join(f"src/file{number}.py" for number in range(500))
    assert find_effects(f"ruff check {many}; rm {many}", COVERAGE).is_whole


def test_a_command_in_a_folder_destroys_what_is_there() -> None:
    assert loss("rm app.log", "logs") == "logs/app.log"
    assert loss("rm ../.env", "logs") == ".env"
    assert loss("rm app.log") == ""


def test_all_counts_where_it_is_unknown_what_can_be_undone() -> None:
    incomplete = msgspec.structs.replace(COVERAGE, is_complete=False)
    for coverage in (None, FileCoverage(), incomplete, FileCoverage(is_complete=True, error="No room")):
        assert [place.path for place in find_effects("rm a.py", coverage).lost] == ["a.py"]
        assert [place.path for place in find_effects("git reset --hard", coverage).lost] == [".git"]
        assert find_effects("rm -rf build; git status", coverage).lost == ()


@given(st.text(max_size=40) | st.lists(st.sampled_from(PARTS)).map(" ".join))
def test_a_last_command_is_found_behind_whatever_stands_before(command: str) -> None:
    loss(command)
    if not set(command) & set("\"'\\#") and "<" not in command and "cd" not in command:
        assert ".git" in loss(f"{command}\nrm -rf /w/p/.git")


@for_each(
    ("command", "path", "text", "effect"),
    [
        ("bash run.sh", "run.sh", "set -e\nrm -rf data\n", "ask"),
        ("./tool/run", "tool/run", "rm .env", "ask"),
        ("cd tool && sh run.sh", "tool/run.sh", "rm ../.env", "ask"),
        (". ./env.sh", "env.sh", "rm .env", "ask"),
        ("python a.py", "a.py", "import os\nos.remove('.env')", "ask"),
        ("make", "Makefile", "a:\n\trm .env", "ask"),
        ("npm test", "package.json", '{"scripts": {"test": "rm .env"}}', "ask"),
        ("bash run.sh", "run.sh", "set -e\npytest -q\nrm -rf build\n", "allow"),
        ("bash other.sh", "run.sh", "rm .env", "allow"), ("cat run.sh", "run.sh", "rm .env", "allow"),
        ("python a.py", "a.py", "print(open('.env').read())", "allow"),
        ("npm test", "package.json", '{"scripts": {"clean": "rm -rf dist", "test": "jest"}}', "allow"),
    ],
)  # fmt: skip
def test_a_script_that_the_session_wrote_is_read_as_a_command(
    command: str, path: str, text: str, effect: str
) -> None:
    assert decide(command, scripts=((path, text),)).effect == effect


def test_mode_auto_says_all_that_it_asks_because_of() -> None:
    def reasons(text: str, *rules: PermissionRule) -> tuple[str, tuple[str, ...], list[str]]:
        decision = decide(text, *rules)
        return decision.effect, decision.auto_executed, [place.path for place in decision.data_loss]

    assert reasons("rm logs/app.log; git gc --prune=now") == ("ask", (), [".git", "logs/app.log"])
    assert reasons("cp a .vscode/t.json; echo x > .env") == ("ask", (".vscode/t.json",), [".env"])
    assert reasons("rm src/a.py") == ("allow", (), [])
    allowed = PermissionRule("run_command", "rm *", kind="pattern", confined=True)
    assert reasons("rm logs/app.log", allowed) == ("allow", (), [])


def test_mode_auto_asks_before_edits_of_files_that_cannot_be_brought_back() -> None:
    def reasons(coverage: FileCoverage | None, *rules: PermissionRule) -> tuple[str, tuple[str, ...]]:
        rule = PermissionRule("*", "a.py", kind="path")
        request = ApprovalRequest(
            *("c", "multi_edit", "a.py", "", "", rule), kind="edit", other_paths=(".env",), coverage=coverage
        )
        decision = evaluate(rules, request, "auto")
        return decision.effect, tuple(place.path for place in decision.data_loss)

    secret = FileCoverage(places=(UncoveredPlace(".env", "secret"),), is_complete=True)
    assert reasons(secret) == ("ask", (".env",))
    assert reasons(secret, PermissionRule("*", ".env", kind="path")) == ("allow", ())
    assert reasons(FileCoverage(is_complete=True)) == ("allow", ())
    assert reasons(FileCoverage()) == ("ask", ("a.py", ".env"))


@for_each(
    ("command", "effect"),
    [
        ("echo x > .envrc", "ask"), ("echo x >> .npmrc", "ask"), ("mkdir .vscode; cp t.json .vscode", "ask"),
        ("cd .github && tee -a ci.yml < x", "ask"), ("sed -i s/a/b/ .vscode/tasks.json", "ask"),
        ("cat > .husky/pre-commit <<E\nx\nE", "ask"), ("echo x > src/a.py; wc -l .envrc", "allow"),
        ("pytest >> out.txt 2>&1", "allow"), ("git add .github", "allow"), ("rm .envrc", "allow"),
    ],
)  # fmt: skip
def test_mode_auto_asks_before_a_command_writes_what_other_programs_run(command: str, effect: str) -> None:
    decision = decide(command)
    assert (decision.effect, bool(decision.auto_executed)) == (effect, effect == "ask")
