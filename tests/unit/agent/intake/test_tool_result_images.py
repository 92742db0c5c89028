"""Images that a tool returns with its text: stored, sent, and always reachable."""

from __future__ import annotations

import pytest

from helix_desktop.agent.intake import Intake
from helix_desktop.context.policy import PROFILES
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from tests.support.agent_rig import AgentRig, ScriptedTools
from tests.support.image_bytes import png
from tests.support.scripted_model import (
    ScriptedModel,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

PICTURES = (png(40, 30, 1), png(20, 10, 2))


class PictureTools(ScriptedTools):
    """A tool that returns two pictures with its text."""

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Return the text and the pictures."""
        return ToolResult(b"Two pictures:", image_data=PICTURES)


async def test_images_are_stored_and_named_in_the_text() -> None:
    """The text leads to each of them by its hash, so that a marker of the text does too."""
    vision_model = ModelInfo("test", "seeing", window=8_000, reserve=400, images=True)
    rig = AgentRig(
        ScriptedModel(replies_in_order(tool_call_reply(("say", {})), text_reply("Seen.")), vision_model),
        tools=PictureTools(),
    )
    conversation = await rig.begin()
    await conversation.run("Look.")
    (answer,) = rig.events(ToolAnswered)
    digests = [digest_of(picture) for picture in PICTURES]
    assert [image.digest for image in answer.images] == digests
    text = (await rig.store.get(answer.digest)).decode()
    assert text.startswith("Two pictures:")
    for picture, digest in zip(PICTURES, digests, strict=True):
        assert await rig.store.get(digest) == picture
        assert f'recall_cached_content("{digest}")' in text
        assert digest in rig.model.requests[-1].messages[-1].text
    assert [image.digest for image in rig.model.requests[-1].messages[-1].images] == digests
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_a_long_text_with_images_is_gated_like_any_other() -> None:
    """Images do not bypass the intake; they stay, and their tokens are counted."""
    intake = Intake(WordCounter())
    result = await intake.from_tool_result(
        ToolCall("c1", "say", "{}"), ToolResult(b"word " * 9_000, image_data=PICTURES)
    )
    assert intake.needs_choice(result, PROFILES["balanced"], 128_000)
    image_tokens = sum(image.tokens for image in result.event.images)
    preview = await intake.as_preview(result, PROFILES["balanced"])
    assert preview.images == result.event.images
    assert image_tokens < preview.tokens < image_tokens + 700
    assert result.event.tokens > 9_000 + image_tokens


async def test_data_that_is_no_image_is_refused() -> None:
    """Whatever the tool claims, nothing is stored under that name."""
    with pytest.raises(ValueError, match="no image"):
        await Intake(WordCounter()).from_tool_result(
            ToolCall("c1", "say", "{}"), ToolResult(b"x", image_data=(b"y",))
        )
