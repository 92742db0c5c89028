"""show_output: content goes to the user by its handle, the model gets one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.recorded_event import digests_in
from helix_desktop.domain.tools import Excerpt, ToolResult
from helix_desktop.tools.workspace_tools import create_session_tools
from tests.support.cache_session import SessionRig
from tests.support.image_bytes import png
from tests.support.tool_rig import DESCRIPTIONS_DIR, MemoryCache, estimate_tokens, make_call, make_tools

FILE = "".join(f"line {number}\n" for number in range(1, 101)).encode()


class CallingRig(SessionRig):
    """A session that shows outputs of its calls."""

    async def write(self, content: str) -> None:
        arguments = json.dumps({"path": "docs/a.md", "content": content})
        output = b"Wrote it to docs/a.md (new file).\n"
        await self.use_tool("docs/a.md", output, "write_file", arguments=arguments)

    async def show(self, handle: str, **arguments: object) -> ToolResult:
        tools = create_session_tools(self.store, DESCRIPTIONS_DIR, estimate_tokens, self)
        return await tools.run(make_call("show_output", hash=handle, **arguments))


def excerpt_of(result: ToolResult) -> Excerpt:
    assert result.excerpt is not None
    return result.excerpt


async def test_a_hash_names_its_content_also_after_a_recall_of_it_that_failed() -> None:
    """The target of that call is the hash; its output is the error."""
    rig = await CallingRig.create()
    await rig.use_tool("src/app.py", FILE)
    digest = digest_of(FILE)
    await rig.use_tool(digest[:12], b"There are no lines 9000 to the end.\n", "recall_cached_content")
    assert excerpt_of(await rig.show(digest[:12])).digest == digest


@pytest.mark.parametrize("spelling", ["digest", "prefix", "entry", "path", "call"])
async def test_the_user_gets_the_lines_and_the_model_one_line(spelling: str) -> None:
    """By hash, prefix, entry number, path, or tool and path: the same bytes, pinned by their digest."""
    rig, digest = await CallingRig.create(), digest_of(FILE)
    await rig.use_tool("src/app.py", b"older\n")
    seq = await rig.use_tool("src/app.py", FILE)
    await rig.use_tool("src/other.py", b"other\n")
    handles = {"digest": digest, "prefix": digest[:8], "entry": f"e{seq}", "path": "src/app.py"}
    result = await rig.show(
        handles.get(spelling, "read_file src/app.py"), start_line=10, end_line=40, caption="The\nparser"
    )
    assert result.content.decode() == "Shown to the user: read_file src/app.py, lines 10-40, 31 lines\n"
    size = sum(map(len, FILE.splitlines(keepends=True)[9:40]))
    expected = Excerpt(digest, 10, 40, size, 100, "read_file", "src/app.py", "The parser")
    assert excerpt_of(result) == expected
    answer = ToolAnswered("c", "show_output", "", "0" * 64, 1, 1, 1, excerpt=expected)
    assert digest in digests_in(answer)  # never collected while the card names it


async def test_all_of_a_content_and_an_image_are_named_as_what_they_are() -> None:
    rig, image = await CallingRig.create(), png(40, 30)
    await rig.use_tool("src/app.py", FILE)
    await rig.use_tool("shot.png", image)
    whole = await rig.show("src/app.py", end_line=5_000)
    assert whole.content == b"Shown to the user: read_file src/app.py, 100 lines\n"
    assert (excerpt_of(whole).start_line, excerpt_of(whole).end_line) == (1, 100)
    shot = await rig.show("shot.png")
    assert shot.content.decode().startswith(
        "Shown to the user: read_file shot.png, PNG image, 40 × 30 pixels"
    )
    assert excerpt_of(shot).image is not None
    assert not shot.image  # the model is not sent its pixels again


@pytest.mark.parametrize("spelling", ["docs/a.md", "write_file docs/a.md"])
async def test_of_a_file_that_was_written_the_user_sees_what_was_written(spelling: str) -> None:
    """Which becomes the output of this call: the store has it, whatever its size."""
    rig = await CallingRig.create()
    await rig.use_tool("docs/a.md", b"old\n")
    await rig.write("# Tides\n\nEbb\nFlow\n")
    await rig.use_tool("docs/a.md", b"old_text was not found.\n", "edit_file", ok=False)
    result = await rig.show(spelling, start_line=3)
    assert result.model_text == "Shown to the user: write_file docs/a.md, lines 3-4, 2 lines\n"
    assert result.content == b"# Tides\n\nEbb\nFlow\n"
    excerpt = excerpt_of(result)
    assert (excerpt.digest, excerpt.start_line, excerpt.end_line) == (digest_of(result.content), 3, 4)


@pytest.mark.parametrize("target", ["docs/a.md", "docs/a.md, docs/b.md"])
async def test_of_a_file_that_was_edited_nothing_older_is_shown(target: str) -> None:
    rig = await CallingRig.create()
    await rig.write("# Tides\n")
    await rig.use_tool(target, b"Edited docs/a.md: 1 replacement at line 1.\n", "multi_edit")
    with pytest.raises(ToolError, match=r"docs/a.md was changed .* Read it, then show that"):
        await rig.show("docs/a.md")
    await rig.use_tool("docs/a.md", b"# Currents\n")
    assert excerpt_of(await rig.show("docs/a.md")).digest == digest_of(b"# Currents\n")


@pytest.mark.parametrize(
    ("handle", "arguments", "message"),
    [
        ("src/none.py", {}, "No output of this session is of 'src/none.py'"),
        ("00000000", {}, "holds nothing under"),
        ("e1", {}, "no output of this session"),
        ("src/app.py", {"start_line": 101}, "100 lines"),
        ("src/app.py", {"start_line": 9, "end_line": 8}, "no lines 9 to 8"),
        ("empty.txt", {}, "empty"),
    ],
)
async def test_what_cannot_be_shown_is_said(handle: str, arguments: dict[str, int], message: str) -> None:
    rig = await CallingRig.create()
    await rig.use_tool("src/app.py", FILE)
    await rig.use_tool("empty.txt", b"")
    with pytest.raises(ToolError, match=message):
        await rig.show(handle, **arguments)


async def test_without_a_session_hashes_are_known(tmp_path: Path) -> None:
    cache = MemoryCache()
    digest = await cache.put(FILE)
    result = await make_tools(tmp_path, cache).run(make_call("show_output", hash=digest[:10]))
    assert excerpt_of(result).lines == 100
