"""The artifact ledger: files and commands."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.artifact_ledger import (
    Ledger,
    build_ledger,
    error_line,
    last_informative_line,
    legend_of,
    short_command,
)
from helix_desktop.domain.events.conversation import ToolAnswered
from tests.support.histories import SessionSimulator, conversation_of, histories
from tests.support.tables import for_each

BASE = ToolAnswered("c", "read_file", "x", "ab" * 32, 1, 1, 1, target="a.py")


def session_with(*answers: ToolAnswered) -> SessionSimulator:
    simulator = conversation_of("Begin.")
    for answer in answers:
        simulator.record(answer)
    return simulator


def answer(name: str, target: str, text: str = "x", exit_code: int | None = None) -> ToolAnswered:
    """Return the output of a call; a command fails by its exit code."""
    ok = exit_code in (0, None)
    return msgspec.structs.replace(BASE, name=name, target=target, text=text, ok=ok, exit_code=exit_code)


@given(histories(), st.integers(0, 400))
def test_the_ledger_respects_its_cap(simulator: SessionSimulator, cap: int) -> None:
    """At most the cap, at three characters a token, and a line that counts what was omitted by kind."""
    ledger = build_ledger(simulator.transcript.messages.items)
    text = ledger.text(cap)
    lines = text.splitlines()
    everything = [entry.line for of_kind in ledger.entries().values() for entry in of_kind]
    fitting = [line for line in lines if not line.startswith("… ")]
    assert len("\n".join(fitting)) <= cap * 3
    assert set(fitting) <= set(everything)
    if cap and len(fitting) < len(everything):
        assert lines[-1].startswith(f"… {len(everything) - len(fitting)} more in the index: ")
    firsts = ("!", "$", "…", "attached ", "generated ", "deleted ", *"rlswe")
    assert all(line.startswith(firsts) for line in lines)  # no line break of a command begins a line


def test_skills_of_the_same_name_stand_there_each_if_the_agent_is_told_of_them() -> None:
    """In a workspace without trust it is not told of those there: then they are files like others."""
    own, shared = (f"{home}.agents/skills/deploy/SKILL.md" for home in ("~/", ""))
    simulator = session_with(*(answer("read_file", path) for path in (own, shared)))
    ledger = build_ledger(simulator.transcript.messages.items)
    for folders, flag in (({"~/.agents/skills", ".agents/skills"}, "skill"), ({"~/.agents/skills"}, "r")):
        ledger.mark_skills(folders)
        entries = {line.split()[1]: line.split()[0] for line in ledger.text(300).splitlines()}
        assert entries == {shared: flag, own: "skill"}


def test_a_skill_that_stands_whole_in_a_later_message_is_not_named_for_recall() -> None:
    """It would be read a second time; once that message is covered too, it is named."""
    simulator = session_with(answer("read_file", ".agents/skills/deploy/SKILL.md"))
    covered = [*simulator.transcript.messages.items]
    simulator.record(answer("read_file", ".agents/skills/deploy/SKILL.md"))
    for items, is_named in ((covered, False), (simulator.transcript.messages.items, True)):
        ledger = build_ledger(items)
        ledger.mark_skills({".agents/skills"}, simulator.transcript.window.whole_texts(items))
        assert ("SKILL.md" in ledger.text(300)) == is_named


def test_46_reads_push_out_neither_a_written_file_nor_a_failed_command() -> None:
    """They come after both, and each kind has its share; what was left out is counted."""
    simulator = session_with(
        answer("write_file", "src/parser/written_first.py"),
        answer("run_command", "pytest -q tests", "exit code 1\nE   assert 3 == 4\n1 failed, 36 passed", 1),
        answer("run_command", "ruff check .", "exit code 0\nAll checks passed!", 0),
        *(answer("read_file", f"src/a/folder/that/is/deep/module_{n:02}.py") for n in range(46)),
    )
    lines = build_ledger(simulator.transcript.messages.items).text(300).splitlines()
    assert lines[0] == "w src/parser/written_first.py e3"
    assert lines[1] == "! pytest -q tests (exit 1) abababababab e4: E assert 3 == 4"
    assert lines[2] == "$ ruff check . (exit 0) abababababab e5: All checks passed!"
    assert lines[3] == "r src/a/folder/that/is/deep/module_45.py abababababab e51"
    assert lines[-1] == f"… {46 - (len(lines) - 4)} more in the index: {46 - (len(lines) - 4)} read"


def test_a_kind_that_is_absent_leaves_its_share() -> None:
    """Only reads: they may take everything."""
    simulator = session_with(*(answer("read_file", f"module_{n:02}.py") for n in range(20)))
    assert len(build_ledger(simulator.transcript.messages.items).text(600).splitlines()) == 20


def test_one_line_for_a_path_with_all_its_flags() -> None:
    """All that was done to it, its newest event; a command on one line, with its newest result."""
    simulator = session_with(
        answer("read_file", "a.py"),
        answer("edit_file", "src/b.py, a.py"),
        answer("read_file", "a.py:20-60"),
        answer("run_command", "make\ne1 user: no", "exit code 2\nsrc.c:3: error: no such type", 2),
    )
    text = build_ledger(simulator.transcript.messages.items).text(600)
    assert "re a.py abababababab e3 (edited since, e4)" in text, "some lines are not its text"
    assert "e src/b.py e4" in text
    assert "! make e1 user: no (exit 2) abababababab e6: src.c:3: error: no such type" in text
    assert Ledger().text(600) == ""


def test_a_file_of_which_lines_were_read_is_named_with_them() -> None:
    """The first of them stood there with its digest as if it were the file."""
    first, second = (
        msgspec.structs.replace(answer("read_file", f"a.py:{lines}"), digest=digit * 64)
        for lines, digit in (("1-80", "1"), ("200-260", "2"))
    )
    found = answer("search_text", "a.py")
    simulator = session_with(first, second, first, found, answer("edit_file", "a.py"), second)
    items = simulator.transcript.messages.items
    lines = [build_ledger(items[:count]).text(600) for count in range(len(items) - 5, len(items) + 1)]
    assert lines == [
        "r a.py:1-80 111111111111 e3",
        "r a.py:200-260 222222222222 e4",
        "r a.py:1-80 111111111111 e5",
        "rs a.py:1-80 111111111111 e5",
        "rse a.py:1-80 111111111111 e5 (edited since, e7)",
        "rse a.py:200-260 222222222222 e8",
    ]
    whole = session_with(first, answer("read_file", "a.py"), second).transcript.messages.items
    assert build_ledger(whole).text(600) == "r a.py abababababab e4"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("python gen.py > build/table.csv", "generated build/table.csv e3"),
        ("cat > src/new.py <<'EOF'", "generated src/new.py e3"),
        ("make 2>&1 | tee logs/make.log", "generated logs/make.log e3"),
        ("git rm -q old/gone.py && ls", "deleted old/gone.py e3"),
    ],
)
def test_files_that_commands_write_and_remove(command: str, line: str) -> None:
    """Redirections generate files, removals delete them; a comparison is neither."""
    text = build_ledger(session_with(answer("run_command", command, "", 0)).transcript.messages.items).text(
        600
    )
    assert line in text.splitlines()
    compared = answer("run_command", 'python -c "print(3 > 2, 5>4)" 2>/dev/null', "True", 0)
    (only,) = build_ledger(session_with(compared).transcript.messages.items).text(600).splitlines()
    assert only.startswith("$ python -c")
    for folder in ("$TMPDIR/m", '"${TMPDIR}"', "/tmp/m", "$(mktemp -d)"):
        there = f"cp -r src {folder}; cd {folder} && rm a.py; ls > b.txt"
        away = answer("run_command", there, "b", 0)
        (only,) = build_ledger(session_with(away).transcript.messages.items).text(600).splitlines()
        assert only.startswith("$ cp -r src")


def test_tests_that_failed_before_a_pipe_are_a_failure() -> None:
    """The exit code is that of `tail`; what the run says of itself counts."""
    output = "exit code 0\nFAILED test_a.py::test_x - assert 1 == 2\n1 failed, 9 passed in 3 s\n"
    items = session_with(answer("run_command", "pytest | tail -5", output, 0)).transcript.messages.items
    (line,) = build_ledger(items).text(600).splitlines()
    assert line.startswith("! pytest")
    assert line.endswith("FAILED test_a.py::test_x - assert 1 == 2")


def test_tests_that_passed_before_another_command_failed_stand_beside_its_error() -> None:
    """Where a later part failed on purpose, what the tests gave is all there is to know."""
    output = "exit code 2\n.....\nRan 75 tests in 0.1s\n\nOK\nusage: tide\ntide: error: --width must be 1\n"
    command = "python3 -m unittest; python3 -m tide --width 0"
    items = session_with(answer("run_command", command, output, 2)).transcript.messages.items
    (line,) = build_ledger(items).text(600).splitlines()
    assert line.endswith(": Ran 75 tests in 0.1s: OK; tide: error: --width must be 1")


def test_a_file_written_again_after_it_was_deleted_is_there() -> None:
    """The newest state counts."""
    simulator = session_with(
        answer("write_file", "a.py"), answer("run_command", "rm a.py", "", 0), answer("write_file", "a.py")
    )
    first, *_ = build_ledger(simulator.transcript.messages.items).text(600).splitlines()
    assert first == "w a.py e5"


def test_attachments_stand_in_the_ledger() -> None:
    """What the user attached, with its handle."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Look at this.", "the attached text")
    text = build_ledger(simulator.transcript.messages.items).text(600)
    assert text.startswith("attached ")


def test_the_agents_list_of_tasks_is_no_file() -> None:
    """`completed` is the state of a task, and no path."""
    simulator = session_with(
        answer("TaskUpdate", "completed"), answer("todo_write", "x.md"), answer("edit_file", "Makefile")
    )
    assert build_ledger(simulator.transcript.messages.items).text(600).splitlines() == ["e Makefile e5"]


def test_a_command_stands_once_however_much_of_its_output_is_shown() -> None:
    """With its newest run, also if that passed and the one before failed."""
    ledger = build_ledger(
        session_with(
            answer("run_command", "make lint 2>&1 | tail -20", "3 errors", 1),
            answer("run_command", "make lint | head -5", "0 issues", 0),
            answer("run_command", "make lint FIX=1", "fixed", 0),
        ).transcript.messages.items
    )
    text = ledger.text(500)
    assert text.count("make lint ") == 2
    assert "0 issues" in text
    assert "3 errors" not in text


def test_a_failure_that_is_over_is_none() -> None:
    """The same call of the same file worked since; a look into the cache is no part of the work."""
    failed = [
        msgspec.structs.replace(answer(name, target, "Not found."), ok=False)
        for name, target in (("edit_file", "a.py"), ("edit_file", "b.py"), ("recall_cached_content", "ab"))
    ]
    simulator = session_with(*failed, answer("write_file", "a.py"))
    assert build_ledger(simulator.transcript.messages.items).text(600).splitlines() == [
        "w a.py e6",
        "! edit_file b.py abababababab e4: Not found.",
    ]


CAP = 80
LONG = "x" * CAP


@for_each(
    ("command", "short"),
    [
        ("mise run test 2>&1 | tail -30", "mise run test"),
        ("ls >/dev/null 2>&1; git log\n", "ls; git log"),
        (
            "export MODE=slow API_KEY=sk-live-4f9a8b7c6d5e && ./run-everything.sh rewind a6753b99aa11",
            "export MODE=slow API_KEY=… && ./run-everything.sh rewind a6753b99aa11",
        ),
        ("make test | grep -c 'a && b' | head -3", "make test | grep -c 'a && b'"),
        (
            f"cat > notes.md <<'EOF'\na; b\n{LONG}\nEOF",
            f"cat > notes.md <<'EOF' a; b {LONG}"[: CAP - 1] + "…",
        ),
        (f"python -c 'import a; print({LONG})'", f"python -c 'import a; print({LONG}"[: CAP - 1] + "…"),
        (f"cd /srv && \\\n./run \\\n  {LONG}", f"cd /srv && ./run {LONG}"[: CAP - 1] + "…"),
        ("make \\ test && cat a\\ b", "make test && cat a\\ b"),
        ("", ""),
    ],
)
def test_a_long_command_stands_by_its_beginning(command: str, short: str) -> None:
    assert short_command(command, CAP) == short


def test_the_legend_explains_skills_where_a_ledger_names_one() -> None:
    lines = "skill .agents/skills/deploy/SKILL.md 0123456789ab e7\nr skill e8"
    assert "skill: it was used" in legend_of(lines)
    assert "skill" not in legend_of(lines.partition("\n")[2])


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


PYTEST = """exit code 1 (sandboxed, no network)
tests/test_errors.py::test_error_is_raised PASSED
tests/test_parse.py::test_lexer FAILED
    def test_lexer():
>       assert tokens == 3
E       AssertionError: assert 4 == 3
tests/test_parse.py:12: AssertionError
1 failed, 36 passed in 0.42s
"""


def test_the_error_and_the_result_of_a_run() -> None:
    """The error that was raised, not the name of a passed test; the result is the last line."""
    assert error_line(PYTEST) == "E       AssertionError: assert 4 == 3"
    assert last_informative_line(PYTEST) == "1 failed, 36 passed in 0.42s"
    assert error_line("tests/test_errors.py::test_error PASSED\n36 passed") == "36 passed"
    assert last_informative_line("done\n\n=====\nexit code 0\n") == "done"
    assert last_informative_line("") == ""
    assert last_informative_line("1 failed \u202e2 passed\u202c\n") == "1 failed 2 passed"
    assert error_line("Error: a\u2067b") == "Error: ab"
