"""The artifact ledger: what comes first, what each kind may take, what is counted."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.marker import mask_arguments
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.artifact_ledger import Ledger, build_ledger
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.messages import ToolCall
from tests.support.histories import SessionSimulator, histories

BASE = ToolAnswered("c", "read_file", "x", "ab" * 32, 1, 1, 1, target="a.py")


def session_with(*answers: ToolAnswered) -> SessionSimulator:
    """Return a session with these outputs."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
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
    assert "re a.py abababababab e3 (edited since, e4)" in text
    assert "e src/b.py e4" in text
    assert "! make e1 user: no (exit 2) abababababab e6: src.c:3: error: no such type" in text
    assert Ledger().text(600) == ""


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("python gen.py > build/table.csv", "generated build/table.csv e3"),
        ("cat > src/new.py <<'EOF'", "generated src/new.py e3"),
        ("make 2>&1 | tee logs/make.log", "generated logs/make.log abababababab e3"),
        ("git rm -q old/gone.py && ls", "deleted old/gone.py e3"),
        ("cd x; sed -i 's/a b/c; d/' src/one.py src/two.py && ls", "e src/two.py e3"),
        ("sed -i.bak -e s/a/b/ src/one.py", "e src/one.py e3"),
        ("perl -pi -e 's/a/b/' src/one.py", "e src/one.py e3"),
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
    search = answer("run_command", "sed -n 's/a/b/p' src/one.py; grep sed -i src/one.py", "b", 0)
    (only,) = build_ledger(session_with(search).transcript.messages.items).text(600).splitlines()
    assert only.startswith("$ sed -n")


def test_tests_that_failed_before_a_pipe_are_a_failure() -> None:
    """The exit code is that of `tail`; what the run says of itself counts."""
    output = "exit code 0\nFAILED test_a.py::test_x - assert 1 == 2\n1 failed, 9 passed in 3 s\n"
    items = session_with(answer("run_command", "pytest | tail -5", output, 0)).transcript.messages.items
    (line,) = build_ledger(items).text(600).splitlines()
    assert line.startswith("! pytest")
    assert line.endswith("FAILED test_a.py::test_x - assert 1 == 2")


def test_an_addition_to_a_file_leaves_the_text_that_is_stored_of_it() -> None:
    """`>>` edits what stands there; `>` replaces it, and so does an addition to what is not known."""

    def ledger_of(command: str) -> str:
        simulator = session_with(answer("read_file", "a.md"), answer("run_command", command, "", 0))
        return build_ledger(simulator.transcript.messages.items).text(600)

    assert "re a.md abababababab e3 (edited since, e4)" in ledger_of("printf x >> a.md")
    assert "re a.md abababababab e3 (edited since, e4)" in ledger_of("date | tee -a a.md")
    assert "generated a.md e4" in ledger_of("printf x > a.md")
    assert "generated b.md e4" in ledger_of("printf x >> b.md")


def test_a_file_written_again_after_it_was_deleted_is_there() -> None:
    """The newest state counts."""
    simulator = session_with(
        answer("write_file", "a.py"), answer("run_command", "rm a.py", "", 0), answer("write_file", "a.py")
    )
    first, *_ = build_ledger(simulator.transcript.messages.items).text(600).splitlines()
    assert first == "w a.py e5"


def test_long_commands_are_shortened_and_paths_are_whole() -> None:
    """A command to 80 characters, a path in full."""
    path = "/".join(["a_long_folder_name"] * 9) + "/file.py"
    simulator = session_with(
        answer("write_file", path), answer("run_command", "echo " + "word " * 60, "done", 0)
    )
    file_line, command = build_ledger(simulator.transcript.messages.items).text(600).splitlines()
    assert path in file_line
    assert len(command.split(" (exit")[0]) <= 82


def test_attachments_stand_in_the_ledger() -> None:
    """What the user attached, with its handle."""
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Look at this.", "the attached text")
    text = build_ledger(simulator.transcript.messages.items).text(600)
    assert text.startswith("attached ")


def test_a_changed_file_names_its_newest_complete_content_and_not_what_an_edit_put_in() -> None:
    """What a call wrote, else what was read last; a search in it, and an empty output, are no content."""
    body = "x = 1\n" * 200
    edit = {"path": "a.py", "old_text": body, "new_text": body + "y = 2\n"}

    def changed(*steps: tuple[str, dict[str, str], str]) -> list[str]:
        simulator = SessionSimulator(PROFILES["balanced"])
        simulator.send_message("Begin.")
        for number, (name, arguments, text) in enumerate(steps):
            call = ToolCall(f"c{number}", name, json.dumps(arguments))
            masked = mask_arguments(call)
            short = (masked.call,) if masked else ()
            simulator.record(AssistantSpoke("", "m", 1, (call,), short=short))
            output = ToolAnswered(call.id, name, text, handle(text), 1, 1, 1, target=arguments["path"])
            simulator.record(output)
        return build_ledger(simulator.transcript.messages.items).text(600).splitlines()

    def handle(text: str) -> str:
        return digest_of(text.encode())

    wrote = ("write_file", {"path": "a.py", "content": body}, "Wrote 1,200 bytes.")
    small = ("edit_file", {"path": "a.py", "old_text": "1", "new_text": "2"}, "Edited.")
    read = ("read_file", {"path": "a.py"}, "x = 2\n")
    found = ("grep", {"path": "a.py"}, "1:x = 2")
    large = ("edit_file", edit, "Edited.")
    assert changed(wrote, small) == [f"we a.py {handle(body)[:12]} e3 (edited since, e6)"]
    assert changed(wrote, large, small) == [f"we a.py {handle(body)[:12]} e3 (edited since, e8)"]
    assert changed((read[0], read[1], ""), small) == ["re a.py e6"]
    assert changed(large) == [f"e a.py {handle(edit['new_text'])[:12]} e3 (part)"]
    parts = f"es a.py {handle(edit['new_text'])[:12]} e3 (part; edited since, e6)"
    assert changed(large, small, found) == [parts]
    assert changed(small, found) == ["es a.py e6"]
    assert changed(small, wrote, found) == [f"ews a.py {handle(body)[:12]} e5"]
    assert changed(wrote, small, read, found) == [f"wers a.py {handle('x = 2' + chr(10))[:12]} e8"]
    assert changed(small) == ["e a.py e4"]
    assert changed(("delete_file", {"path": "a.py"}, "Deleted.")) == ["deleted a.py e4"]
    assert changed(("read_file", {"path": "empty.py"}, "")) == ["r empty.py e4"]


def test_a_file_that_was_only_edited_has_the_text_that_earlier_messages_hold() -> None:
    """Its newest edit is named: notes on later work else end with the text that they began with."""
    edit = answer("edit_file", "a.py")
    items = session_with(answer("read_file", "a.py"), edit, edit).transcript.messages.items
    ledger = build_ledger(items[2:])
    assert ledger.text(600) == "e a.py e5"
    ledger.complete_from(build_ledger(items[:2]))
    assert ledger.text(600) == "e a.py abababababab e3 (edited since, e5)"


def test_a_read_of_some_lines_does_not_pass_for_the_text_of_a_file() -> None:
    """The newest complete text stays; where only a part was read, the line says so."""
    whole, part = (
        answer("read_file", "a.py"),
        answer("read_file", "a.py:1-50", "Lines 1-50 of 120 of a.py:\n1:x"),
    )
    part = msgspec.structs.replace(part, digest="cd" * 32)
    to_the_end = msgspec.structs.replace(part, target="a.py:1-120", text="Lines 1-120 of 120 of a.py:\n1:x")

    def read(*answers: ToolAnswered) -> list[str]:
        return build_ledger(session_with(*answers).transcript.messages.items).text(600).splitlines()

    assert read(part) == ["r a.py cdcdcdcdcdcd e3 (part)"]
    assert read(whole, part) == ["r a.py abababababab e3"]
    assert read(part, whole) == ["r a.py abababababab e4"]
    assert read(whole, to_the_end) == ["r a.py cdcdcdcdcdcd e4"]
    assert read(part, answer("edit_file", "a.py"), part) == ["re a.py cdcdcdcdcdcd e5 (part)"]
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Begin.")
    call = ToolCall(
        "c", "Read", '{"file_path": "a.py", "offset": 10, "limit": 20}'
    )  # a tool that names no lines
    simulator.record(AssistantSpoke("", "m", 1, (call,)))
    simulator.record(msgspec.structs.replace(whole, name="Read"))
    assert build_ledger(simulator.transcript.messages.items).text(600) == "r a.py abababababab e4 (part)"


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
    simulator = session_with(*failed, answer("edit_file", "a.py"))
    assert build_ledger(simulator.transcript.messages.items).text(600).splitlines() == [
        "e a.py e6",
        "! edit_file b.py abababababab e4: Not found.",
    ]


def test_two_runs_of_a_script_do_not_look_the_same() -> None:
    """Also where the other one has no room: what differs is said of the one that stands there."""
    script = "./tools/harness/run-everything.sh rewind --in a/folder/that/is/deep --with-all-of-the-parts"
    simulator = session_with(
        *(answer("run_command", f"{script} {name}", f"{name} done", 0) for name in ("one", "two"))
    )
    ledger = build_ledger(simulator.transcript.messages.items)
    newest, oldest = (line for line in ledger.text(600).splitlines())
    assert newest.startswith("$ ./tools/harness/run-everything.sh rewind ")
    assert "… two… (exit 0)" in newest
    assert "… one… (exit 0)" in oldest
    (alone, rest) = ledger.text(len(newest) // 3 + 2).splitlines()
    assert alone == newest
    assert rest == "… 1 more in the index: 1 command"


@pytest.mark.parametrize(
    ("name", "target", "text", "line"),
    [
        ("search_text", "TODO in src", "No matches found", "s TODO in src e3: no match"),
        ("search_text", "TODO in src", "", "s TODO in src e3: no match"),
        ("list_directory", "src/**/*.rs", "No files found\n", "l src/**/*.rs e3: no match"),
        (
            "get_symbol_info",
            'symbol_name="Mojo"',
            "Input: Mojo\nNo matches found for it.",
            'r symbol_name="Mojo" e3: no match',
        ),
        (
            "read_file",
            "src/gone.py",
            "<tool_use_error>File does not exist.</tool_use_error>",
            "r src/gone.py e3: failed",
        ),
        ("list_directory", "gone", "ENOENT: no such file or directory", "l gone e3: failed"),
        ("read_file", "report.txt", "No matches found", "r report.txt abababababab e3"),
        ("read_file", "empty.txt", "", "r empty.txt abababababab e3"),
        ("search_text", "no", "a.py:3: no files are read", "s no abababababab e3"),
    ],
)
def test_a_lookup_that_found_nothing_says_so(name: str, target: str, text: str, line: str) -> None:
    """Else it looks like one with something to recall; what a file says is its content."""
    simulator = session_with(answer(name, target, text))
    assert build_ledger(simulator.transcript.messages.items).text(600) == line


def test_a_read_that_looks_for_something_and_finds_nothing_is_no_source_of_its_file() -> None:
    """Its digest stood beside the file's name, and to recall it gave two words."""
    call = ToolCall("c", "view_file", '{"path": "src/app.py", "pattern": "load_all"}')
    nothing = ToolAnswered("c", call.name, "No matches found.", "ef" * 32, 17, 4, 4, target="src/app.py")
    simulator = SessionSimulator(PROFILES["balanced"])
    simulator.send_message("Look.")
    simulator.record(AssistantSpoke("", "m", 5, (call,)), nothing)
    items = simulator.transcript.messages.items
    assert build_ledger(items).text(600) == "r src/app.py e4: no match"
    simulator = session_with(answer("read_file", "src/app.py"))
    simulator.record(AssistantSpoke("", "m", 5, (call,)), nothing)
    assert build_ledger(simulator.transcript.messages.items).text(600) == "r src/app.py abababababab e3"


def test_a_later_lookup_that_found_nothing_leaves_what_was_found() -> None:
    """What was read stays to be recalled; and what is found later counts."""
    gone = "<tool_use_error>File does not exist.</tool_use_error>"
    simulator = session_with(answer("read_file", "a.py"), answer("read_file", "a.py", gone))
    assert build_ledger(simulator.transcript.messages.items).text(600) == "r a.py abababababab e3"
    simulator = session_with(answer("read_file", "a.py", gone), answer("read_file", "a.py"))
    assert build_ledger(simulator.transcript.messages.items).text(600) == "r a.py abababababab e4"
