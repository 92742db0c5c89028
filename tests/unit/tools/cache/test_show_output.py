"""show_output: content goes to the user by its handle, the model gets one line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent, digests_in
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import Excerpt, ToolResult
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.tools.workspace_tools import create_session_tools
from tests.support.image_bytes import png
from tests.support.tool_rig import DESCRIPTIONS_DIR, MemoryCache, estimate_tokens, make_call, make_tools

FILE = "".join(f"line {number}\n" for number in range(1, 101)).encode()


@dataclass
class CallingRig:
    """A session that calls tools, and the cache with its outputs."""

    cache: MemoryCache = field(default_factory=MemoryCache)
    transcript: Transcript = field(default_factory=Transcript)
    id: str = "s"

    def __post_init__(self) -> None:
        self.record(SessionStarted("Tides"))

    def record(self, event: Event) -> int:
        """Apply the next event; return its seq."""
        seq = self.transcript.last_seq + 1
        self.transcript.apply(RecordedEvent(seq, seq, event))
        return seq

    def use_tool(
        self, data: bytes, target: str, tool: str = "read_file", arguments: str = "{}", ok: bool = True
    ) -> int:
        digest = self.cache.put(data, tool, target)
        call = ToolCall(f"c{self.transcript.last_seq}", tool, arguments)
        self.record(AssistantSpoke("", "m", 1, (call,)))
        return self.record(ToolAnswered(call.id, tool, "", digest, len(data), 1, 1, target, ok=ok))

    def write(self, content: str) -> None:
        arguments = json.dumps({"path": "docs/a.md", "content": content})
        self.use_tool(b"Wrote it to docs/a.md (new file).\n", "docs/a.md", "write_file", arguments)

    @property
    def tools(self) -> ToolRegistry:
        return create_session_tools(self.cache, DESCRIPTIONS_DIR, estimate_tokens, self)

    async def show(self, handle: str, **arguments: object) -> ToolResult:
        return await self.tools.run(make_call("show_output", hash=handle, **arguments))


def excerpt_of(result: ToolResult) -> Excerpt:
    assert result.excerpt is not None
    return result.excerpt


async def test_a_hash_names_its_content_also_after_a_recall_of_it_that_failed() -> None:
    """The target of that call is the hash; its output is the error."""
    rig = CallingRig()
    rig.use_tool(FILE, "src/app.py")
    digest = digest_of(FILE)
    rig.use_tool(b"There are no lines 9000 to the end.\n", digest[:12], "recall_cached_content")
    assert excerpt_of(await rig.show(digest[:12])).digest == digest


@pytest.mark.parametrize("spelling", ["digest", "prefix", "entry", "path", "call"])
async def test_the_user_gets_the_lines_and_the_model_one_line(spelling: str) -> None:
    """By hash, prefix, entry number, path, or tool and path: the same bytes, pinned by their digest."""
    rig, digest = CallingRig(), digest_of(FILE)
    rig.use_tool(b"older\n", "src/app.py")
    seq = rig.use_tool(FILE, "src/app.py")
    rig.use_tool(b"other\n", "src/other.py")
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
    rig, image = CallingRig(), png(40, 30)
    rig.use_tool(FILE, "src/app.py")
    rig.use_tool(image, "shot.png")
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
    rig = CallingRig()
    rig.use_tool(b"old\n", "docs/a.md")
    rig.write("# Tides\n\nEbb\nFlow\n")
    rig.use_tool(b"old_text was not found.\n", "docs/a.md", "edit_file", ok=False)
    result = await rig.show(spelling, start_line=3)
    assert result.model_text == "Shown to the user: write_file docs/a.md, lines 3-4, 2 lines\n"
    assert result.content == b"# Tides\n\nEbb\nFlow\n"
    excerpt = excerpt_of(result)
    assert (excerpt.digest, excerpt.start_line, excerpt.end_line) == (digest_of(result.content), 3, 4)


@pytest.mark.parametrize("target", ["docs/a.md", "docs/a.md, docs/b.md"])
async def test_of_a_file_that_was_edited_nothing_older_is_shown(target: str) -> None:
    rig = CallingRig()
    rig.write("# Tides\n")
    rig.use_tool(b"Edited docs/a.md: 1 replacement at line 1.\n", target, "multi_edit")
    with pytest.raises(ToolError, match=r"docs/a.md was changed .* Read it, then show that"):
        await rig.show("docs/a.md")
    rig.use_tool(b"# Currents\n", "docs/a.md")
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
    rig = CallingRig()
    rig.use_tool(FILE, "src/app.py")
    rig.use_tool(b"", "empty.txt")
    with pytest.raises(ToolError, match=message):
        await rig.show(handle, **arguments)


async def test_without_a_session_hashes_are_known(tmp_path: Path) -> None:
    cache = MemoryCache()
    digest = cache.put(FILE)
    result = await make_tools(tmp_path, cache).run(make_call("show_output", hash=digest[:10]))
    assert excerpt_of(result).lines == 100
