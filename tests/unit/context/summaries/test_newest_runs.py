"""Which runs of commands a handover without a model names: what is over is not said."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.intake.descriptions import describe_output
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.handover_fallback import extractive_handover
from helix_desktop.domain.events.conversation import ToolAnswered
from tests.support.histories import SessionSimulator


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("pytest -q", "pytest -v", True),
        ("cd app && python -m pytest -q 2>&1", "cd app && python -m pytest -x --tb=short", True),
        ("cargo test -q", "cargo test", True),
        ("pytest -q tests/a.py", "pytest -v tests/b.py", False),
        ("pytest -q", "pytest -v -k login", False),
        ("pytest -q", "pytest -v | tail -3", False),
        ("pytest -q", "pytest -v; true", False),
        ("grep -q TODO a.py", "grep -v TODO a.py", False),
        ("python -m pytest -q tests", "pytest tests", True),
    ],
)
def test_an_extract_has_the_newest_result_of_the_same_tests(first: str, second: str, is_same: bool) -> None:
    """A failure is over once the same tests pass, whatever they print; a success once they fail."""
    for codes in ((1, 0), (0, 1)):
        simulator = SessionSimulator(PROFILES["balanced"])
        simulator.send_message("Run the tests.")
        for command, code in zip((first, second), codes, strict=True):
            answer = ToolAnswered("c", "run_command", "x", "d" * 64, 1, 1, 1, target=command, exit_code=code)
            simulator.record(msgspec.structs.replace(answer, ok=code == 0))
        sections = {
            section.title: section
            for section in extractive_handover(simulator.transcript.messages.items, None)
        }
        bullets = [*sections["Completed Work"].bullets, *sections["Current Issues"].bullets]
        assert any(f"`{second}`" in bullet.text for bullet in bullets)
        assert any(f"`{first}`" in bullet.text for bullet in bullets) is not is_same


@pytest.mark.parametrize(
    ("runs", "issues"),
    [
        ((("pytest -q tests/a.py", 1), ("pytest -k login", 2), ("pytest", 0)), []),
        ((("python3 -m unittest tests.test_a", 1), ("python3 -m unittest", 0)), []),
        ((("pytest", 0), ("pytest tests/a.py", 1)), ["pytest tests/a.py"]),
        ((("pytest tests/a.py", 1), ("pytest", 1)), ["pytest tests/a.py", "pytest"]),
        ((("pytest tests/a.py", 1), ("pytest; true", 0)), ["pytest tests/a.py"]),
        ((("python3 check.py --all", 1), ("python3 check.py", 0)), ["python3 check.py --all"]),
        ((("pytest tests/a.py", 1), ("cd app && pytest tests", 0)), ["pytest tests/a.py"]),
        ((("pytest tests/a.py", 1), ("pytest tests", 0)), []),
        ((("git commit -m x", 128), ("git -c user.name=me commit -m x", 0)), []),
        ((("git add . && git commit -m x", 1), ("git push", 0)), ["git add . && git commit -m x"]),
    ],
)
def test_failures_of_some_tests_are_over_once_all_pass(
    runs: tuple[tuple[str, int], ...], issues: list[str]
) -> None:
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Run the tests.")
    for command, code in runs:
        answer = ToolAnswered("c", "run_command", "x", "d" * 64, 1, 1, 1, target=command, exit_code=code)
        simulator.record(msgspec.structs.replace(answer, ok=code == 0))
    [bullets] = [
        section.bullets
        for section in extractive_handover(simulator.transcript.messages.items, None)
        if section.title == "Current Issues"
    ]
    assert [bullet.text.split("`")[1] for bullet in bullets] == issues


def test_tests_behind_other_commands_are_known_by_their_result() -> None:
    """A pass was told as the commit behind it, and the failure before it stayed an issue."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Fix it.")
    outputs = (
        ("sed -n 1,9p a.py; pytest -q tests 2>&1 | tail -2", "exit code 0\nFAILED tests/a.py::test_async"),
        (
            "python -m pytest -q tests && git commit -qm Fix && git show --stat | tail -2",
            "exit code 0\n........\n43 passed in 0.31s\n a.py | 9 ++\n 2 files changed, 7 insertions(+)",
        ),
    )
    for command, text in outputs:
        about = describe_output("run_command", text, 0)
        answer = ToolAnswered("c", "run_command", text, "d" * 64, 1, 1, 1, target=command, exit_code=0)
        simulator.record(msgspec.structs.replace(answer, about=about))
    sections = {
        section.title: [bullet.text for bullet in section.bullets]
        for section in extractive_handover(simulator.transcript.messages.items, None)
    }
    assert sections["Current Issues"] == []
    assert sections["Completed Work"][-1].endswith(": exit 0: 43 passed in 0.31s")


def test_failures_of_unittest_behind_a_filter_are_over_once_the_tests_pass() -> None:
    """Their last line is an exception: the failed run stayed an issue through an hour of passing ones."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Fix it.")
    failed = "exit code 0\nUnicodeDecodeError: no\nRan 8 tests in 0.5s\n\nFAILED (errors=1)"
    outputs = (
        (r'python3 -m unittest -v 2>&1 | grep -v "^  File\|\^"', failed),
        ("python3 -m unittest 2>&1 | tail -9", "exit code 0\nRan 9 tests in 0.3s\n\nOK"),
    )
    issues = []
    for command, text in outputs:
        answer = ToolAnswered("c", "run_command", text, "d" * 64, 1, 1, 1, target=command, exit_code=0)
        simulator.record(msgspec.structs.replace(answer, about=describe_output("run_command", text, 0)))
        found = extractive_handover(simulator.transcript.messages.items, None)
        issues.append([bullet.text for section in found[3:4] for bullet in section.bullets])
    assert len(issues[0]) == 1
    assert issues[1] == []
