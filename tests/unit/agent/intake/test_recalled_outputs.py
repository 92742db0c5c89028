"""What a recall leaves in the window: a marker and names of what was shown, not of all that is stored."""

from __future__ import annotations

import json

from helix_desktop.agent.intake import Intake
from helix_desktop.context.window.window import output_marker
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.messages import ModelInfo, ModelResponse, ToolCall
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.tools import ToolResult
from tests.support.cache_session import SessionRig
from tests.support.scripted_model import WordCounter

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

    name, lines = "read_file src/parse.py", "lines 21-24 of 198"
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
    handle, commit = "3c81c6e99326", "89f1fab"
    rig = await SessionRig.create()
    await rig.use_tool("src/parse.py", f"see {commit} read_text\n".encode())
    first, last = rig.transcript.last_seq, await rig.use_tool("a.md", b"read_more\n")
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
