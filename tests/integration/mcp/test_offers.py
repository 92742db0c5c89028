"""Prompts and resources of servers: listed, filled in, read, and what goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import mcp_types as types
import pytest
from mcp.client import ClientSession
from mcp.shared.exceptions import MCPError

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.files.mention import find_mentions
from helix_desktop.domain.mcp_server import FilledPrompt, PromptArgument, ServerPrompt, ServerResource
from helix_desktop.mcp.client.session import (
    MAX_BYTES,
    MAX_FILES,
    MAX_OFFERS,
    get_prompt,
    list_prompts,
    read_resource,
)
from tests.support.mcp.mcp_rig import McpRig, raw_server, sdk_server

ARGUMENTS = (PromptArgument("file", is_required=True), PromptArgument("tone"))
REVIEW = ServerPrompt("made", "review", "made:review", "Reviews a change.", ARGUMENTS)
NOTES = ServerResource("made", "note://today", "Notes of today")


async def test_a_server_s_prompts_and_resources_are_listed_filled_in_and_read(rig: McpRig) -> None:
    """All with one server, which takes a second to start; one with tools only offers none."""
    await rig.start_servers(sdk_server())
    await rig.wait_until(lambda: bool(rig.hub.resources))
    await check_prompts(rig)
    await check_a_prompt_that_mentions_files(rig)
    await check_resources(rig)
    await rig.start_servers(raw_server())
    assert (rig.hub.prompts, rig.hub.resources) == ((), ())


async def check_prompts(rig: McpRig) -> None:
    """Hidden characters of one are removed; a missing argument is the server's to refuse."""
    assert REVIEW in rig.hub.prompts
    actor = rig.actor("made")
    filled = await actor.get_prompt(REVIEW, {"file": "a.py", "tone": "strict"})
    assert filled == FilledPrompt("Review a.py. Be strict.")
    with pytest.raises(InvalidInput, match="made didn't answer"):
        await actor.get_prompt(REVIEW, {})


async def check_a_prompt_that_mentions_files(rig: McpRig) -> None:
    """What it mentions by itself is only text; a mention in what the user typed counts."""
    prompt = next(prompt for prompt in rig.hub.prompts if prompt.name == "curious")
    filled = await rig.actor("made").get_prompt(prompt, {"file": "@a.py @.environment"})
    rest = r"with \@.env and \@~/.ssh/id_rsa, ask me@example.org, see `@notes.md`."
    assert filled.text == f"Compare @a.py @.environment {rest}"
    assert [mention.path for mention in find_mentions(filled.text)] == ["a.py", ".environment"]


async def check_resources(rig: McpRig) -> None:
    """Its bytes, as they are; changes of the list are followed; one that is gone is said."""
    actor = rig.actor("made")
    assert NOTES in rig.hub.resources
    assert await actor.read_resource(NOTES) == b"Buy milk."
    assert await actor.read_resource(ServerResource("made", "bin://blob", "Blob")) == b"\0\1\2"
    with pytest.raises(InvalidInput, match="made didn't answer"):
        await actor.read_resource(ServerResource("made", "note://gone", "Gone"))
    more = next(prompt for prompt in rig.hub.prompts if prompt.name == "more")
    assert await actor.get_prompt(more, {}) == FilledPrompt("There is more.")
    late = ServerResource("made", "note://late", "late")
    await rig.wait_until(lambda: late in rig.hub.resources)
    await rig.hub.set_servers((), trusted=True)
    with pytest.raises(InvalidInput, match="isn't running"):
        await actor.read_resource(NOTES)


class FillingSession:
    """Fills in every prompt with the same blocks, and reads every resource as the same parts."""

    def __init__(
        self,
        *blocks: types.ContentBlock,
        parts: Sequence[types.TextResourceContents | types.BlobResourceContents] = (),
    ) -> None:
        self._blocks = blocks
        self._parts = [*parts]

    async def get_prompt(self, *_: object, **__: object) -> types.GetPromptResult:
        return types.GetPromptResult(
            messages=[types.PromptMessage(role="user", content=block) for block in self._blocks]
        )

    async def read_resource(self, *_: object, **__: object) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=self._parts)


async def filled(*blocks: types.ContentBlock) -> FilledPrompt:
    return await get_prompt(cast("ClientSession", FillingSession(*blocks)), REVIEW, {"file": "a.py"})


def embedded(number: int) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=f"note://{number}", text="A")
    return types.EmbeddedResource(type="resource", resource=resource)


async def test_a_prompt_attaches_a_few_files_only() -> None:
    """Of the others some names are told."""
    prompt = await filled(*map(embedded, range(99)))
    assert [name for name, _ in prompt.files] == [f"note://{number}" for number in range(MAX_FILES)]
    names = [f"note://{number}" for number in range(MAX_FILES, 2 * MAX_FILES)]
    assert prompt.left_out == (*names, "…")


async def test_a_prompt_brings_pictures_along_and_names_what_it_cannot() -> None:
    """A link is not followed: what it leads to was not sent."""
    prompt = await filled(
        types.ImageContent(type="image", data="AAEC", mime_type="image/png"),
        types.ResourceLink(type="resource_link", uri="note://linked", name="linked"),
        types.AudioContent(type="audio", data="AAEC", mime_type="audio/wav"),
    )
    assert prompt == FilledPrompt("", (("made:review 1", b"\0\1\2"),), ("note://linked", "audio"))
    with pytest.raises(InvalidInput, match="can't be read"):
        await filled(types.ImageContent(type="image", data="?", mime_type="image/png"))


async def test_what_is_too_large_or_empty_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too large"):
        await filled(types.TextContent(type="text", text="a" * 100_001))
    for size, reason in ((0, "sent no content"), (MAX_BYTES + 1, "too large")):
        parts = [types.TextResourceContents(uri="note://today", text="a" * size)] if size else []
        with pytest.raises(InvalidInput, match=reason):
            await read_resource(cast("ClientSession", FillingSession(parts=parts)), NOTES)


class EndlessSession:
    """Lists prompts page after page; their names are `names`, on every page."""

    server_capabilities = types.ServerCapabilities(prompts=types.PromptsCapability())

    def __init__(self, *names: str, is_stuck: bool = False) -> None:
        self._names = names
        self._is_stuck = is_stuck
        self.pages = 0

    async def list_prompts(self, params: types.PaginatedRequestParams) -> types.ListPromptsResult:
        self.pages += 1
        return types.ListPromptsResult(
            prompts=[types.Prompt(name=name.format(self.pages)) for name in self._names],
            next_cursor="1" if self._is_stuck else str(self.pages),
        )


async def test_a_list_without_an_end_is_cut() -> None:
    """Also one that repeats a page; a name that nobody could type is left out."""
    session = EndlessSession("review-{}", "…", *["other"] * 98)
    prompts = await list_prompts("made", cast("ClientSession", session))
    assert session.pages == MAX_OFFERS // 100
    commands = [prompt.command for prompt in prompts]
    assert commands == ["made:review-1", "made:other", *(f"made:review-{page}" for page in range(2, 6))]
    stuck = EndlessSession("review-{}", is_stuck=True)
    assert len(await list_prompts("made", cast("ClientSession", stuck))) == stuck.pages == 2


class RefusingSession(EndlessSession):
    """Lists no prompts, and says so with what it was sent."""

    async def list_prompts(self, params: types.PaginatedRequestParams) -> types.ListPromptsResult:
        raise MCPError(-32603, "Bearer s3cret is not enough")


async def test_what_a_server_says_of_an_error_gets_into_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """It may repeat a token, or be content."""
    caplog.set_level("INFO")
    assert await list_prompts("made", cast("ClientSession", RefusingSession())) == ()
    assert caplog.messages == ["MCP server made does not list what it offers: MCPError"]


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("", {}),
        ("a.py", {"file": "a.py"}),
        ('"my file.py" very strict', {"file": "my file.py", "tone": "very strict"}),
        ("tone=strict a.py", {"file": "a.py", "tone": "strict"}),
        ("x=1 b", {"file": "x=1", "tone": "b"}),
    ],
)
def test_arguments_are_words_in_order_or_by_name(typed: str, values: dict[str, str]) -> None:
    """What is left over belongs to the last argument."""
    assert REVIEW.read_arguments(typed) == values
