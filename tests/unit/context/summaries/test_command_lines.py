"""Commands in one line: what stays of them where there is little room."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.summaries.ledger_entries import main_part, short_command, tell_apart

CAP = 80
LONG = "x" * CAP


@pytest.mark.parametrize(
    ("command", "short"),
    [
        ("mise run test 2>&1 | tail -30", "mise run test"),
        ("ls >/dev/null 2>&1; git log\n", "ls; git log"),
        (
            "export MODE=slow && ./tools/harness/run-everything.sh rewind a6753b99aa11 --in demo --quiet",
            "MODE=slow … ./tools/harness/run-everything.sh rewind a6753b99aa11 --in demo --q…",
        ),
        ("make test | grep -c 'a && b' | head -3", "make test | grep -c 'a && b'"),
        (
            f"cat > notes.md <<'EOF'\na; b\n{LONG}\nEOF",
            f"cat > notes.md <<'EOF' a; b {LONG}"[: CAP - 1] + "…",
        ),
        (f"python -c 'import a; print({LONG})'", f"python -c 'import a; print({LONG}"[: CAP - 1] + "…"),
        (f'echo \\"a; ./run {LONG} \\"', f"… ./run {LONG}"[: CAP - 1] + "…"),
        (f"cd /srv && ./run {LONG}", f"… ./run {LONG}"[: CAP - 1] + "…"),
        (f"cd /srv && \\\n./run \\\n  {LONG}", f"… ./run {LONG}"[: CAP - 1] + "…"),
        ("make \\ test && cat a\\ b", "make test && cat a\\ b"),
        ("", ""),
    ],
)
def test_a_long_command_stands_by_its_main_part(command: str, short: str) -> None:
    assert short_command(command, CAP) == short


def test_what_prepares_a_command_is_not_its_main_part() -> None:
    assert main_part("cd /a/very/long/path/to/a/package && make") == "make"
    assert main_part("cd /srv") == "cd /srv"


HARNESS = ".claude/skills/test-repo/test-harness.sh rewind"


@pytest.mark.parametrize(
    ("start", "prefix"),
    [
        ("export STRATEGY=auto-commit && ", "STRATEGY=auto-commit … "),
        ("STRATEGY='auto commit' MODE=\"slow\"; ", "STRATEGY='auto commit' MODE=\"slow\" … "),
        ("export STRATEGY=auto-commit API_KEY=sk-live-4f9a8b7c6d5e && ", "STRATEGY=auto-commit … "),
        (f"export WORDS={'x' * 30} && ", "… "),
        ("cd /srv && ", "… "),
    ],
)
def test_a_cut_command_says_what_is_set_for_it(start: str, prefix: str) -> None:
    """But nothing that looks like a secret, and no long values."""
    assert short_command(f"{start}{HARNESS} {LONG}", CAP) == f"{prefix}{HARNESS} {LONG}"[: CAP - 1] + "…"


def test_commands_that_look_the_same_are_told_apart_by_what_differs() -> None:
    """Whether it stands behind what is shown, or before it."""
    command = "go test -tags=integration ./cmd/entire/cli/integration_test/... -timeout 30s -count=1 -run {}"
    first, second = command.format("TestResume"), command.format("TestRewind")
    assert tell_apart(first, (), CAP) == short_command(first, CAP) == short_command(second, CAP)
    assert tell_apart(first, (second,), CAP).endswith("… TestResume…")
    assert tell_apart(second, (first,), CAP).endswith("… TestRewind…")
    before, after = (f"cd /srv/{name} && {HARNESS} {LONG}" for name in ("one", "two"))
    assert tell_apart(before, (after,), CAP).startswith(f"/srv/one … {HARNESS} ")
    assert tell_apart(after, (before,), CAP).startswith(f"/srv/two … {HARNESS} ")


@given(
    st.lists(st.text("ab 2>&1|;\n'\"\\<echo=", max_size=200), min_size=2, max_size=2), st.integers(12, 100)
)
def test_commands_that_are_told_apart_fit(commands: list[str], cap: int) -> None:
    assert len(tell_apart(commands[0], commands[1:], cap)) <= cap


@given(st.text("ab 2>&1|;\n'\"\\<echo", max_size=200), st.integers(2, 100))
def test_any_command_is_one_line_that_fits(command: str, cap: int) -> None:
    short = short_command(command, cap)

    assert len(short) <= cap
    assert "\n" not in short


@pytest.mark.parametrize("piece", [" ", "\n", '\\"', "'", "<<;", "| head ", "> "])
def test_a_very_long_command_takes_little_time(piece: str) -> None:
    started = time.process_time()
    short_command(f"make {piece * 50_000}\\", CAP)
    assert time.process_time() - started < 5  # some 0.1 s; in the square of its length half a minute
