"""Staleness: what a later event made stale or superseded, and what the running turn works on."""

from __future__ import annotations

import sys
from types import FrameType

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    ToolAnswered,
    TurnEnded,
    TurnRetried,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.files.content import ChangedFile, FileVersion
from helix_desktop.domain.messages import ToolCall
from tests.support.call_log import CallLog


def test_a_read_is_stale_once_its_file_is_edited_or_found_changed() -> None:
    log = CallLog()
    read = log.call("read_file", path="src/a.py")
    other = log.call("read_file", path="src/b.py")
    log.call("Edit", ok=False, file_path="src/a.py", old_string="x", new_string="y")
    log.call("Edit", "<tool_use_error>Not read yet.", file_path="src/a.py", old_string="x", new_string="y")
    assert read not in log.superseded, "both failed"
    edit = log.call("edit_file", path="./src/a.py", old_text="x", new_text="y")
    assert log.superseded[read] == edit
    assert log.transcript.stale_digests == {digest(log, read): edit}
    changed = log.add(FilesChanged((ChangedFile("src/b.py"),)))
    assert log.superseded[other] == changed
    again = log.call("Read", file_path="src/b.py")
    assert again not in log.superseded


def digest(log: CallLog, seq: int) -> str:
    """Return the digest of the output recorded as `seq`."""
    event = log.events[seq - 1].event
    assert isinstance(event, ToolAnswered)
    return event.digest


def test_a_content_that_came_back_is_not_stale() -> None:
    """An edit that is taken back: what was read first is what stands there again."""
    log = CallLog()
    log.call("Read", "v1", file_path="/w/a.py")
    edit = log.call("Edit", file_path="/w/a.py", old_string="1", new_string="2")
    assert log.transcript.stale_digests == {digest_of(b"v1"): edit}
    log.call("Edit", file_path="/w/a.py", old_string="2", new_string="1")
    log.call("Read", "v1", file_path="/w/a.py")
    assert not log.transcript.stale_digests


def test_a_content_that_was_restored_is_not_stale_without_another_read() -> None:
    """A revert outside the calls; what was read between is stale instead, and the next change counts."""
    log = CallLog()
    for fingerprint, text in (("1111", "v1"), ("2222", "v2")):
        log.add(AssistantSpoke("", "m", 1, (ToolCall("c", "read_file", '{"path": "a.py"}'),)))
        version = FileVersion("a.py", 2, 0, 0, fingerprint)
        log.add(ToolAnswered("c", "read_file", text, digest_of(text.encode()), 2, 1, 1, files=(version,)))
        if text == "v1":
            edit = log.call("edit_file", path="a.py", old_text="1", new_text="2")
            assert log.transcript.stale_digests == {digest_of(b"v1"): edit}
    reverted = log.add(FilesChanged((ChangedFile("a.py", "2222", "1111"),)))
    assert log.transcript.stale_digests == {digest_of(b"v2"): reverted}
    redone = log.add(FilesChanged((ChangedFile("a.py", "1111", "2222"),)))
    assert log.transcript.stale_digests == {digest_of(b"v1"): redone}


def test_an_absolute_path_and_a_relative_one_can_be_the_same_file() -> None:
    log = CallLog()
    read = log.call("read_file", path="src/a.py")
    same_name = log.call("read_file", path="a.py")
    edit = log.call("mcp__files__edit_file", path="/home/u/project/src/a.py", edits=[])
    assert log.superseded == {read: edit}
    assert same_name not in log.superseded


def test_a_read_of_the_same_lines_or_of_all_takes_the_place_of_the_earlier() -> None:
    log = CallLog()
    some = log.call("Read", file_path="/w/a.py", offset=10, limit=20)
    inside = log.call("Read", file_path="/w/a.py", offset=12, limit=5)
    beyond = log.call("str_replace_editor", command="view", path="/w/a.py", view_range=[25, 40])
    preview = log.call("Read", whole=False, file_path="/w/a.py")
    assert log.superseded == {}
    full = log.call("Read", file_path="/w/a.py")
    assert log.superseded == {some: full, inside: full, beyond: full, preview: full}


def test_arguments_of_edits_go_once_something_else_says_what_stands_there() -> None:
    log = CallLog()
    first = log.call("edit_file", path="a.py", old_text="x", new_text="def first(): return 1")
    elsewhere = log.call("edit_file", path="a.py", old_text="y", new_text="def elsewhere(): return 1")
    assert first - 1 not in log.superseded
    same_place = log.call(
        "edit_file", path="a.py", old_text="# old\ndef first(): return 1", new_text="def first(): return 2"
    )
    assert log.superseded[first - 1] == same_place
    assert elsewhere - 1 not in log.superseded
    read = log.call("read_file", path="a.py")
    assert log.superseded[elsewhere - 1] == log.superseded[same_place - 1] == read


def test_arguments_of_a_step_go_only_together() -> None:
    """They become markers together: two edits of which one was read again are still needed."""
    log = CallLog()
    edits = [
        ("Edit", {"file_path": f"/w/{name}.py", "old_string": "", "new_string": "n" * 40}) for name in "ab"
    ]
    step = log.calls(*edits) - 2
    log.call("Read", file_path="/w/a.py")
    assert step not in log.superseded
    read = log.call("Read", file_path="/w/b.py")
    assert log.superseded[step] == read


def test_a_file_written_whole_is_known_by_the_arguments() -> None:
    log = CallLog()
    edit = log.call("Edit", file_path="/w/a.py", old_string="x", new_string="y" * 40)
    write = log.call("Write", file_path="/w/a.py", content="content " * 8)
    assert log.superseded[edit - 1] == write
    assert write - 1 in log.transcript.in_work
    changed = log.add(FilesChanged((ChangedFile("/w/a.py"),)))
    assert log.superseded[write - 1] == changed
    assert write - 1 not in log.transcript.in_work


def test_lists_repetitions_runs_and_probes() -> None:
    log = CallLog()
    todo = log.call("TodoWrite", "the first list", todos=["one thing to do", "another thing to do"])
    plan = log.call("todo_write", "the second list", todos=["one thing to do", "another thing to do"])
    assert log.superseded == {todo: plan, todo - 1: plan}
    run = log.call("Bash", "3 failed", command="pytest  -q", description="try")
    again = log.call("Bash", "1 failed", command="pytest -q", description="try again")
    assert log.superseded[run] == again
    same = log.call("run_command", "1 failed", command="true")
    assert log.superseded[again] == same
    probe = log.call("Grep", "No matches found", pattern="x")
    missing = log.call("read_file", "no such file", ok=False, path="c.py")
    assert log.superseded[probe] == missing - 1
    assert missing not in log.superseded
    listing = log.call("list_directory")
    assert log.superseded[missing] == listing - 1


def test_the_running_turn_works_on_what_it_edits_and_tests() -> None:
    log = CallLog()
    before = log.call("read_file", path="a.py")
    log.call("edit_file", path="b.py", old_text="x", new_text="y")
    log.add(TurnEnded("done"))
    log.add(UserSpoke("next", 1))
    assert log.transcript.in_work == frozenset()
    log.call("edit_file", path="a.py", old_text="x", new_text="y")
    assert log.transcript.in_work == {
        before
    }  # stale by its own edit, and still what the next one begins with
    log.call("run_command", "listing", command="ls")
    test = log.call("run_command", "1 failed", command="pytest -q")
    log.add(UserSpoke("also", 1, steered=True))
    assert log.transcript.in_work == {before, test}
    again = log.call("read_file", path="a.py")
    listing = log.call("run_command", "other", command="ls")
    assert log.transcript.in_work == {again, test, listing}


def test_the_running_turn_works_on_what_it_recalled() -> None:
    """Only what is outdated, or recalled again in the same way, leaves before the rest."""
    log = CallLog()

    def recall(text: str, arguments: str) -> int:
        log.add(AssistantSpoke("", "m", 1, (ToolCall("r", "recall_cached_content", arguments),)))
        digest = digest_of(text.encode())
        return log.add(ToolAnswered("r", "recall_cached_content", text, "", 2, 1, 1, recalled=digest))

    log.call("read_file", "v1", path="a.py")
    table = recall("a table", '{"hash": "1"}')
    file = recall("v1", '{"hash": "2"}')
    log.call("list_directory")
    assert log.transcript.in_work == {table, file}
    again = recall("a table", '{"hash": "1"}')
    assert log.transcript.in_work == {again, file}
    log.add(FilesChanged((ChangedFile("a.py"),)))
    assert log.transcript.in_work == {again}
    log.add(TurnEnded("done"))
    log.add(UserSpoke("next", 1))
    assert log.transcript.in_work == frozenset()


def test_the_running_turn_works_on_files_that_the_user_named() -> None:
    """By their path, or the end of it; not on another file of that name."""
    log = CallLog()
    first = log.call("read_file", path="a.py")
    named = log.call("read_file", path="/w/src/b.py")
    other = log.call("read_file", path="lib/b.py")
    log.add(TurnEnded("done"))
    log.add(UserSpoke("Is ./src/b.py right? Then mend...", 1))
    assert log.transcript.in_work == {named}
    log.add(UserSpoke("And (a.py).", 1, steered=True))
    assert log.transcript.in_work == {first, named}
    again = log.call("read_file", path="a.py")
    assert log.transcript.in_work == {again, named}
    log.add(UserSpoke("All of b.py, too.", 1, steered=True))
    assert log.transcript.in_work == {again, named, other}
    log.add(TurnEnded("done"))
    log.add(UserSpoke("next", 1))
    assert log.transcript.in_work == frozenset()


def test_a_recalled_file_is_stale_with_it() -> None:
    log = CallLog()
    read = log.call("read_file", "v1", path="a.py")
    step = AssistantSpoke("", "m", 1, (ToolCall("r", "recall_cached_content", "{}"),))
    log.add(step)
    recalled = ToolAnswered("r", "recall_cached_content", "v1", "", 2, 1, 1, recalled=digest_of(b"v1"))
    recall = log.add(recalled)
    edit = log.call("edit_file", path="a.py", old_text="x", new_text="y")
    assert log.superseded[recall] == log.superseded[read] == edit


def reads_of_one_file(count: int) -> list[RecordedEvent]:
    """Return a log that reads one file so often, each time with another content, as another version."""
    events: list[Event] = [UserSpoke("go", 1)]
    for number in range(count):
        call = ToolCall(f"c{number}", "read_file", '{"path": "a.py"}')
        text = f"content {number}"
        version = FileVersion("a.py", len(text), 0, 0, f"v{number % 2}")
        digest = digest_of(text.encode())
        answer = ToolAnswered(call.id, call.name, text, digest, len(text), 1, 1, files=(version,))
        events += [AssistantSpoke("", "m", 1, (call,)), answer]
    return [RecordedEvent(seq, 0, event) for seq, event in enumerate(events, 1)]


def calls_to_apply(events: list[RecordedEvent]) -> int:
    """Return how many functions and generators run to make a transcript of a log."""
    calls = 0

    def count(frame: FrameType, kind: str, argument: object) -> None:
        nonlocal calls
        calls += kind == "call"

    sys.setprofile(count)
    try:
        Transcript(events)
    finally:
        sys.setprofile(None)
    return calls


def test_a_read_costs_the_same_however_often_its_file_was_read() -> None:
    some = reads_of_one_file(200)
    many = reads_of_one_file(800)
    calls_to_apply(some)  # what is remembered about a call is the same in both from here on
    assert calls_to_apply(many) <= 4.1 * calls_to_apply(some)


def test_all_contents_of_a_file_are_stale_after_its_change_each_by_the_newest_read() -> None:
    log = CallLog()
    for text in ("v1", "v2", "v1", "v3", "v2"):
        log.call("read_file", text, path="a.py")
    changed = log.add(FilesChanged((ChangedFile("a.py"),)))
    assert log.transcript.stale_digests == {digest_of(text.encode()): changed for text in ("v1", "v2", "v3")}
    log.call("read_file", "v1", path="a.py")
    later = log.add(FilesChanged((ChangedFile("a.py"),)))
    stale = log.transcript.stale_digests
    assert stale == {digest_of(b"v1"): later, digest_of(b"v2"): changed, digest_of(b"v3"): changed}


ACTIONS = st.tuples(
    st.sampled_from(
        ["Read", "read_file", "Edit", "Write", "TodoWrite", "Bash", "Grep", "changed", "user", "retry"]
    ),
    st.sampled_from(["a.py", "./a.py", "src/b.py", "/w/src/b.py"]),
    st.integers(0, 2),
    st.booleans(),
)


@given(st.lists(ACTIONS, max_size=25))
def test_staleness_is_a_function_of_the_log(actions: list[tuple[str, str, int, bool]]) -> None:
    """Event by event, on copies, and from scratch give the same; a retry gives what was before."""
    log = CallLog()
    for tool, path, number, ok in actions:
        before = (log.superseded, dict(log.transcript.stale_digests), log.transcript.in_work)
        match tool:
            case "changed":
                log.add(FilesChanged((ChangedFile(path),)))
            case "user":
                log.add(UserSpoke("more", 1, steered=ok))
            case "retry":
                log.add(TurnEnded("failed"))
                log.add(AssistantSpoke("words that broke off", "m", 1))
                log.add(TurnRetried(len(log.events) - 1, len(log.events) - 2))
                assert before == (log.superseded, log.transcript.stale_digests, log.transcript.in_work)
            case _:
                args = {"path": path, "command": path, "offset": number, "new_string": "text " * 9 * number}
                log.calls((tool, args), output=f"out {number}", ok=ok)
        for seq, by in log.superseded.items():
            assert seq < by <= log.transcript.last_seq
    scratch = Transcript(log.events)
    assert scratch.superseded == log.superseded
    assert scratch.stale_digests == log.transcript.stale_digests
    assert scratch.in_work == log.transcript.in_work
