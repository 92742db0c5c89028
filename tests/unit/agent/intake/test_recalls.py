"""What a recall leaves in the window or in a message."""

from __future__ import annotations

import json

import pytest

from helix_desktop.agent.intake import Intake
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.messages import ModelInfo, ModelResponse, ToolCall
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.text_format import format_bytes, utc_minute
from helix_desktop.domain.tools import ToolResult
from helix_desktop.ui.outputs.source import OutputSource
from tests.support.agent_rig import AgentRig, begin_with
from tests.support.cache_session import SessionRig
from tests.support.scripted_model import (
    WordCounter,
    thinking_script,
)

SOURCE = "".join(f"def parse_part_{number}(text):\n    return split_{number}(text)\n" for number in range(99))


async def answer_to(result: ToolResult, tool: str = "recall_cached_content") -> ToolAnswered:
    return (await Intake(WordCounter()).from_tool_result(ToolCall("c", tool, "{}"), result, 0, 12)).event


async def test_the_marker_of_a_recalled_part_says_which_part_and_its_size() -> None:
    rig = await SessionRig.create()
    await rig.use_tool("src/parse.py", SOURCE.encode())
    entry = f"e{rig.transcript.last_seq}"
    whole = await answer_to(await rig.recall_result(entry))
    part = await answer_to(await rig.recall_result(entry, start_line=21, end_line=24))
    found = await answer_to(await rig.recall_result(entry, pattern="split_4[12]", context=0))

    name = "read_file src/parse.py"
    lines = "lines 21-24 of 198"
    assert f") {name}, parse_part_0, " in output_marker(whole)
    assert output_marker(whole).endswith(f" ({format_bytes(len(SOURCE))})")
    size = format_bytes(len(part.text.encode()))
    assert output_marker(part).endswith(f") {name}, {lines}, parse_part_10, parse_part_11 ({size})")
    assert ", 2 lines for 'split_4[12]', \"return split_41(text)\"" in output_marker(found)
    assert part.identifiers == ("parse_part_10", "split_10", "parse_part_11", "split_11")
    assert "parse_part_98" in whole.identifiers


async def test_the_marker_of_a_search_names_the_entries_it_found() -> None:
    rig = await SessionRig.create()
    first = await rig.use_tool("src/parse.py", SOURCE.encode())
    last = await rig.use_tool("src/more.py", b"split_41(read_text())\n" * 2)
    index = await rig.make_index(1, last)
    found = await answer_to(await rig.recall_result(index, pattern="split_41"))
    marker = output_marker(found)
    size = format_bytes(len(found.text.encode()))
    assert marker.endswith(f"index, 'split_41', 3 lines in e{last}, e{first} ({size})")
    assert "Index of cached outputs" not in marker
    assert {"split_41", "src/more.py"} <= {*found.identifiers}
    assert not {"recall_cached_content", "parse_part_98", index[:12], found.digest[:12]} & {
        *found.identifiers
    }

    entries = await answer_to(await rig.recall_result(f"e{first}-e{last}", pattern="split_41"))
    assert f" e{first}-e{last}, 'split_41', " in output_marker(entries)
    assert output_marker(entries).endswith(f", 3 lines in e{last}, e{first}")
    table = await answer_to(await rig.recall_result(index))
    assert "table of 2 contents (" in output_marker(table)


async def test_handles_of_contents_and_versions_are_no_names() -> None:
    handle = "3c81c6e99326"
    commit = "89f1fab"
    rig = await SessionRig.create()
    await rig.use_tool("src/parse.py", f"see {commit} read_text\n".encode())
    first = rig.transcript.last_seq
    last = await rig.use_tool("a.md", b"read_more\n")
    recalled = await answer_to(await rig.recall_result(f"e{first}-e{last}"))
    assert {commit, "read_text", "read_more"} <= {*recalled.identifiers}
    assert not [name for name in recalled.identifiers if len(name) == len(handle) and name.isalnum()]

    output = await answer_to(ToolResult(f"Wrote src/a.py.\nSHA-256: {handle}.".encode()), "write_file")
    assert output.identifiers == ("src/a.py",)
    call = ToolCall("c", "recall_cached_content", json.dumps({"hash": handle, "pattern": "read_text"}))
    response, _ = await Intake(WordCounter()).from_response(
        ModelResponse(f"I look for {commit}.", (call,)), ModelInfo("test", "m"), 1
    )
    assert response.identifiers == ("read_text", commit)


OUTPUT = b"one\x0cpage\n\nthree words here\n"


async def rig_with_output() -> AgentRig:
    rig, _ = await begin_with(script=thinking_script(1))
    tokens = await rig.workspace.contents.count_tokens(OUTPUT.decode())
    content = Content(digest_of(OUTPUT), OUTPUT, "search_text", "words in .", "one", tokens)
    await rig.store.commit(Commit(rig.conversation.session.id, (), [content]))
    return rig


@pytest.mark.parametrize(
    ("first", "last", "text", "label"),
    [
        (1, 1, "one\x0cpage", "lines 1-1"),
        (2, 2, "", "lines 2-2"),
        (2, 9, "\nthree words here", "lines 2-3"),
        (3, 0, "three words here", "lines 3-3"),
        (0, 2, "one\x0cpage\n", "lines 1-2"),
    ],
)
async def test_lines_are_those_that_the_agent_recalls_and_the_end_is_the_last_one(
    first: int, last: int, text: str, label: str
) -> None:
    rig = await rig_with_output()
    recalled = await rig.workspace.contents.attach(digest_of(OUTPUT), first, last)
    assert (recalled.text, recalled.lines) == (text, 3)
    assert recalled.label == f"search_text words in ., {label}"
    entry = await rig.store.entry(recalled.digest)
    heading = f"[Recalled from the cache: {recalled.label}, stored {utc_minute(entry.created)} UTC]"
    assert attachment_text(recalled) == f"{heading}\n{text}", "the file may have changed since"


@pytest.mark.parametrize(
    ("first", "last", "text"), [(101, 101, "101:two"), (1, 100, "Lines 100-101 of 9 of a.py:\n100:one")]
)
async def test_lines_of_a_part_of_a_file_are_those_of_the_file(first: int, last: int, text: str) -> None:
    rig, _ = await begin_with(script=thinking_script(1))
    part = b"Lines 100-101 of 9 of a.py:\n100:one\n101:two\n"
    content = Content(digest_of(part), part, "read_file", "a.py:100-101", "", 9)
    await rig.store.commit(Commit(rig.conversation.session.id, (), [content]))
    assert (await rig.workspace.contents.attach(digest_of(part), first, last)).text == text


async def test_an_output_has_the_tokens_in_a_message_that_the_cache_shows() -> None:
    rig = await rig_with_output()
    recalled = await rig.workspace.contents.attach(digest_of(OUTPUT))
    (row,) = await OutputSource(rig.workspace, lambda: rig.conversation).rows([digest_of(OUTPUT)])
    assert recalled.tokens == row.tokens
