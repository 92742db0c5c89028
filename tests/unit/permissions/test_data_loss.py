"""Which commands mode auto asks about: those that destroy what nothing can bring back, and no others."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.tools import ApprovalRequest, PermissionRule
from helix_desktop.permissions.data_loss import find_effects
from helix_desktop.permissions.rules import evaluate
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
    ),
    uncovered=6,
    is_complete=True,
)
PARTS = ["rm", "git", "-rf", "$X", ";", "|", "(", ">", "*", "xargs", "sh", "-c", "for", "in", "X=1", "`", "'"]


def loss(command: str, folder: str = "") -> str:
    """Return what a command destroys in a workspace, joined by commas."""
    return ",".join(place.path for place in find_effects(command, COVERAGE, folder, "/w/p").lost)


@for_each(
    ("command", "places"),
    [
        ("rm logs/app.log", "logs/app.log"), ("rm -f logs/*.log", "logs/app.log"),
        ("rm -rf logs", "logs/app.log"),
        ("rm data/x.csv", "data/x.csv"), ("cd logs && rm app.log", "logs/app.log"), ("rm -rf .git", ".git"),
        ("rm -rf *", "big.bin,data,logs/app.log"), ("rm -rf /w/p/.git", ".git"), ("rm -rf /w/p/data", "data"),
        ("git reset --hard 7f139f5", ".git"), ("git -C . gc --prune=now", ".git"), ("git stash drop", ".git"),
        ("git reflog expire --expire=now --all", ".git"), ("git push --force", ".git"),
        ("git push o +m", ".git"),
        ("git branch -D x", ".git"), ("git clean -fdx", ".env,big.bin,data,logs/app.log"),
        ("git checkout -- .", "big.bin"), ("git restore .", "big.bin"), ("git checkout -- .env", ".env"),
        ("find . -name '*.log' -delete", "logs/app.log"), ("find logs -exec rm {} \\;", "logs/app.log"),
        ("find . -name '*.log' | xargs rm -f", "logs/app.log"), ("dd if=/dev/zero of=big.bin", "big.bin"),
        ("truncate -s 0 logs/app.log", "logs/app.log"), ("shred .env", ".env"),
        (": > logs/app.log", "logs/app.log"),
        ("echo x > .env", ".env"), ("sed -i s/a/b/ .env", ".env"), ("mv x .env", ".env"),
        ('bash -lc "rm -rf .git"', ".git"), ("eval 'rm -rf .git'", ".git"), ("env X=1 rm -rf .git", ".git"),
        ("timeout -s KILL 5 rm -rf .git", ".git"), ('echo "$(rm -rf .git)"', ".git"),
        ("true; rm -rf .git", ".git"),
        ('for f in logs/*.log; do rm "$f"; done', "logs/app.log"), ('D=logs; rm -rf "$D"', "logs/app.log"),
        ("python -c \"import shutil; shutil.rmtree('.git')\"", ".git"),
        ("python - <<'E'\nimport os\nos.remove('.env')\nE", ".env"), ("sh <<E\nrm -rf .git\nE", ".git"),
    ],
)  # fmt: skip
def test_what_a_command_destroys_for_good(command: str, places: str) -> None:
    assert loss(command) == places


@for_each(
    "command",
    [
        "git status", "git commit -m 'rm -rf .git; git reset --hard'", "git checkout main", "git push",
        "git stash",
        "git restore --staged .", "git clean -nfdx", "git reset HEAD~1", "pytest -q > logs/app.log 2>&1",
        "rm src/a.py", "rm -rf src build dist __pycache__ .pytest_cache node_modules", "rm *.py",
        "rm -rf /tmp/x",
        "find . -name '*.pyc' -delete", "find . -name '*.py' | xargs wc -l", "rm .git/index.lock", "cat .env",
        "sed -n 1,9p .env", "make clean", "cat > x.sh <<'E'\nrm -rf .git\nE", "echo 'rm .env'", "", "'",
    ],
)  # fmt: skip
def test_what_can_be_undone_or_made_again_is_no_loss(command: str) -> None:
    assert loss(command) == ""


@for_each(
    "command",
    [
        "rm .e''nv", "rm `echo .env`", "$(echo rm) .env", "rm {.env,x}", "coproc rm .env", "exec 3>.env",
        "echo x >&.env", "exec > .env", "echo $(< x) 1<> .env", "cat <(rm .env)",
        "function f { rm .env; }; f",
        "trap 'rm .env' EXIT", "watch rm .env", "strace rm .env", "parallel rm ::: .env",
        "find . -type f -exec sed -i s/a/b/ {} +", "find . -name '.env' -exec cp /dev/null {} \\;",
        "find . -exec sh -c 'rm \"$1\"' _ {} +", "grep -rl x . | xargs sed -i s/a/b/",
        "sed -Ei s/a/b/ .env", "mv .env /tmp", "mv .env ../x", "cp x/.env .", "cp -t . x/.env",
        "mv x/.env ./",
        "sort -o .env x", "curl -o .env file:///x", "ed .env < x", "vim -es -c '%d|x' .env",
        "awk '{print > \".env\"}' x", "awk 'BEGIN{system(\"rm .env\")}'", "tool --out=.env",
        "echo 'rm .env' | sh", "bash <<< 'rm .env'", "cat <<E | sh\nrm .env\nE", "source <(echo rm .env)",
        "cat > a.py <<'E'\nopen('.env', 'w')\nE\npython a.py",
        "cat > s.sh <<E\nrm .env\nE\nsh s.sh", "printf 'rm .env' > s.sh && chmod +x s.sh && ./s.sh",
        "python3 -c \"open('.env', 'w').write('')\"", "python -c \"import os; os.replace('x', '.env')\"",
        "node -e \"require('fs').writeFileSync('.env', '')\"", "ruby -e 'File.delete(\".env\")'",
        "node -e 'fs.writeFileSync(\".env\", `a`)'", "python -c \"d={'a':open('.env','w'),'b':2}\"",
        "f=.env; python -c \"open('$f','w')\"", "bash -c 'rm -f {a,.env}'", "sh -c 'rm .env $(ls src)'",
        "eval \"rm .env $(ls src)\"", f"rm {{{'x,' * 70}.env}}", "find . -exec " * 40 + "rm .env",
        "nice " * 2_000 + "rm .env", "cat <<E\nE\n" * 100 + "rm .env",
    ],
)  # fmt: skip
def test_no_wrapping_hides_what_is_destroyed(command: str) -> None:
    assert ".env" in loss(command)


@for_each(
    "command",
    [
        "ls -la", "source .env && make", "set -a; . ./.env; set +a", "export $(grep -v '^#' .env | xargs)",
        "[ -f .env ] && cat .env", "echo A=1 >> .env", "git add . && git commit -m 'fix: .env; rm -rf data'",
        "python -c \"print(open('.env').read())\"", "python - <<E\nprint(open('.env').read())\nE",
        "git ls-files | xargs sed -i s/a/b/", "grep -rl --include=*.py x . | xargs sed -i s/a/b/",
        "find src -name '*.py' | xargs sed -i s/a/b/", "find . -name __pycache__ -exec rm -rf {} +",
        "mv src/a.py /tmp", "mv src/* lib/", "mv .env .env.old", "cp -r src /tmp/x", "rm -f src/{a,b}.py",
        "make -j$(nproc) && npm test", "bash build.sh && echo 'removed build'", "pytest 2>&1 | tail -5",
        "cat > run.sh <<'E'\nset -e\npytest -q\nrm -rf build\nE\nchmod +x run.sh && ./run.sh",
        "echo '" + '{"a":1,"b":2}' * 40 + "' > x.json", "node -e '" + "let {a,b} = c; " * 40 + "'",
        "tar czf /tmp/x.tgz src", "watch -n1 ls",
    ],
)  # fmt: skip
def test_everyday_commands_are_no_loss(command: str) -> None:
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


def test_mode_auto_asks_before_what_cannot_be_undone() -> None:
    def decide(text: str, *rules: PermissionRule) -> tuple[str, tuple[str, ...]]:
        rule = PermissionRule("run_command", text)
        request = ApprovalRequest(
            *("c", "run_command", text, "", text, rule), kind="command", confined=True, coverage=COVERAGE
        )
        decision = evaluate(rules, request, "auto")
        return decision.effect, tuple(place.path for place in decision.data_loss)

    assert decide("rm logs/app.log; git gc --prune=now") == ("ask", (".git", "logs/app.log"))
    assert decide("rm src/a.py") == ("allow", ())
    allowed = PermissionRule("run_command", "rm *", kind="pattern", confined=True)
    assert decide("rm logs/app.log", allowed) == ("allow", ())


def test_mode_auto_asks_before_edits_of_files_that_cannot_be_brought_back() -> None:
    def decide(coverage: FileCoverage | None, *rules: PermissionRule) -> tuple[str, tuple[str, ...]]:
        rule = PermissionRule("*", "a.py", kind="path")
        request = ApprovalRequest(
            *("c", "multi_edit", "a.py", "", "", rule), kind="edit", other_paths=(".env",), coverage=coverage
        )
        decision = evaluate(rules, request, "auto")
        return decision.effect, tuple(place.path for place in decision.data_loss)

    secret = FileCoverage(places=(UncoveredPlace(".env", "secret"),), is_complete=True)
    assert decide(secret) == ("ask", (".env",))
    assert decide(secret, PermissionRule("*", ".env", kind="path")) == ("allow", ())
    assert decide(FileCoverage(is_complete=True)) == ("allow", ())
    assert decide(FileCoverage()) == ("ask", ("a.py", ".env"))


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
    rule = PermissionRule("run_command", command)
    request = ApprovalRequest(
        *("c", "run_command", command, "", command, rule), kind="command", confined=True, coverage=COVERAGE
    )
    decision = evaluate((), request, "auto")
    assert (decision.effect, bool(decision.auto_executed)) == (effect, effect == "ask")


def test_mode_auto_says_all_that_it_asks_because_of() -> None:
    command = "cp a .vscode/t.json; echo x > .env"
    rule = PermissionRule("run_command", command)
    request = ApprovalRequest(
        *("c", "run_command", command, "", command, rule), kind="command", confined=True, coverage=COVERAGE
    )
    decision = evaluate((), request, "auto")
    assert decision.auto_executed == (".vscode/t.json",)
    assert [place.path for place in decision.data_loss] == [".env"]
