"""The artifact ledger: files, commands and commits."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.intake.marker import mask_arguments
from helix_desktop.context.log.window_layout import LogItem
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.artifact_ledger import GitCommits, Ledger, build_ledger
from helix_desktop.context.summaries.ledger_entries import legend_of, main_part, short_command, tell_apart
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.messages import ToolCall
from tests.support.histories import SessionSimulator, histories

BASE = ToolAnswered("c", "read_file", "x", "ab" * 32, 1, 1, 1, target="a.py")


def session_with(*answers: ToolAnswered) -> SessionSimulator:
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


def test_the_legend_explains_skills_where_a_ledger_names_one() -> None:
    lines = "skill .agents/skills/deploy/SKILL.md 0123456789ab e7\nr skill e8"
    assert "skill: it was used" in legend_of(lines)
    assert "skill" not in legend_of(lines.partition("\n")[2])


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
    assert tell_apart(before, (after,), CAP).startswith(f"cd /srv/one … {HARNESS} ")
    assert tell_apart(after, (before,), CAP).startswith(f"cd /srv/two … {HARNESS} ")


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


_COMMIT = 'git add -A && git commit -m "$(cat <<EOF …'


def _output(command: str, text: str) -> ToolAnswered:
    return ToolAnswered("c", "run_command", text, "d" * 64, len(text), 1, 1, target=command)


def _lines(*outputs: tuple[str, str]) -> list[str]:
    git = GitCommits()
    for seq, (command, text) in enumerate(outputs, 1):
        git.add(_output(command, text), seq)
    return [entry.line for entry in git.newest_first]


def test_a_commit_says_whether_it_was_pushed_since() -> None:
    """A push is of one branch; what was committed behind it waits for the next."""
    lines = _lines(
        (_COMMIT, "[main (root-commit) 1111111] Begin\n 1 file changed, 2 insertions(+)"),
        (_COMMIT, "[tide/fix 2222222a] Read  the last block\n 2 files changed, 9 insertions(+)"),
        (
            "git push -u origin tide/fix 2>&1",
            "remote: Create a pull request\nTo github.com:tide/watch.git\n"
            " * [new branch]      tide/fix -> tide/fix\n",
        ),
        (_COMMIT, "[tide/fix 3333333] Test it"),
    )
    assert lines == [
        "commit 3333333 e4: Test it (tide/fix, no push since)",
        "commit 2222222a e2: Read the last block (tide/fix, pushed)",
        "commit 1111111 e1: Begin (main, no push since)",
    ]


def test_each_form_of_a_push_counts_but_a_rejected_one() -> None:
    for pushed in (
        "   1a2b3c4..2222222  main -> main",
        " + 1a2b3c4...2222222 main -> main (forced update)",
        "Everything up-to-date",
    ):
        assert _lines((_COMMIT, "[main 2222222] Fix"), ("git push", pushed))[0].endswith("(main, pushed)")
    rejected = " ! [rejected]        main -> main (non-fast-forward)"
    assert _lines((_COMMIT, "[main 2222222] Fix"), ("git push", rejected))[0].endswith("no push since)")


def test_a_quiet_commit_has_the_hash_that_a_log_names() -> None:
    """Its own output is empty, and the digest of that was taken for the commit's."""
    assert _lines(
        ("git -c user.name=me commit -qm 'Rename the host' && git status --short", "?? docs/"),
        ("git log --oneline -2", "0dcd16e (HEAD -> main) Rename the host\n1111111 Begin"),
    ) == ["commit 0dcd16e e1: Rename the host (main, no push since)"]
    assert _lines(('git commit -q -a -m "Fix" && git log --oneline -1', "2222222 Fix")) == [
        "commit 2222222 e1: Fix"
    ]
    assert _lines(("git log --oneline", "2222222 Fix")) == []


def test_an_amended_commit_replaces_the_one_before() -> None:
    lines = _lines(
        (_COMMIT, "[main 1111111] Fix"),
        ("git commit --amend --no-edit", "[main 2222222] Fix\n Date: Tue Nov 24 20:00:00 2026 +0000"),
    )
    assert lines == ["commit 2222222 e2: Fix (main, no push since)"]


def test_a_pull_request_stands_with_its_address() -> None:
    """A failed one has none; other addresses in an output are no request's."""
    address = "https://github.com/tide/watch/pull/12"
    assert _lines((f'gh pr create --draft --title "Read all" && echo {address}9', address)) == [
        f"pull request e1: {address}"
    ]
    assert _lines(("gh pr create", "No commits between main and tide/fix")) == []
    assert _lines(("gh pr view", address)) == []


def test_a_repository_made_to_try_something_is_left_out() -> None:
    text = "Initialized empty Git repository in /tmp/try/.git/\n[main (root-commit) 1111111] init"
    assert _lines(("cd /tmp/try && git init && git commit -m init", text)) == []


LONG_STATUS = """On branch main
Changes to be committed:
\tnew file:   src/new.py

Changes not staged for commit:
  (use "git add <file>..." to update what will be committed)
\tmodified:   src/app.py
\tdeleted:    src/old.py

Untracked files:
  (use "git add <file>..." to include in what will be committed)
\tnotes.txt
"""


def _working_tree(*outputs: tuple[str, str]) -> str:
    ledger = Ledger()
    for seq, (command, text) in enumerate(outputs, 1):
        ledger.add(LogItem(seq, seq, 1, 1, _output(command, text), 1, 1))
    return ledger.text(400).splitlines()[0]


def test_the_working_tree_is_one_line_as_git_status_said_it_last() -> None:
    """What is not committed may be so on purpose: without the line the next agent commits it."""
    in_full = (
        "git status e1: not committed, changed: src/new.py, src/app.py, src/old.py; not tracked: notes.txt"
    )
    assert _working_tree(("git status", LONG_STATUS)) == in_full
    short = "M  src/a.py\n M src/b.py\n?? c.txt\nR  d.py -> e.py\nMM f.py\n D g.py\n"
    assert _working_tree(("git status --short | head", short)) == (
        "git status e1: not committed, changed: src/a.py, src/b.py, d.py -> e.py, f.py and 1 more;"
        " not tracked: c.txt"
    )
    clean = "On branch main\nnothing to commit, working tree clean\n"
    assert (
        _working_tree(("git status", LONG_STATUS), ("git status", clean)) == "git status e2: all is committed"
    )
    assert _working_tree(("git status", LONG_STATUS), ("echo x > src/app.py", "")).endswith(
        "notes.txt (files were changed since)"
    )


def test_a_commit_ends_what_was_said_of_the_working_tree() -> None:
    committed = "[main 2222222] Fix"
    assert _working_tree(("git status", LONG_STATUS), (_COMMIT, committed)).startswith("commit 2222222")
    assert _working_tree(("git status && git commit -m Fix", f"{LONG_STATUS}{committed}")).startswith(
        "commit"
    )
    both = ("git commit -qm Fix && git status --short", " M src/b.py\n")
    assert _working_tree(both) == "git status e1: not committed, changed: src/b.py"
