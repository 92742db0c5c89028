"""Images of messages and of tool results."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.intake import Intake
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ContentDamaged, InvalidInput, OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import verbatim
from tests.support.agent_rig import GatedStore, ScriptedTools, begin_with
from tests.support.image_bytes import png
from tests.support.scripted_model import (
    WordCounter,
    text_reply,
    tool_call_reply,
)

VISION_MODEL = ModelInfo("test", "scripted", window=20_000, reserve=400, images=True)
SHOT = png(64, 48)


class ImageTools(ScriptedTools):
    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        image = identify_image(SHOT, digest_of(SHOT), "shot.png")
        assert image is not None
        return ToolResult(SHOT, target="shot.png", model_text=f"shot.png: {image.summary}.", image=image)


async def test_an_image_that_a_tool_shows_reaches_the_model() -> None:
    """It is stored byte for byte, counted as an image, sent with the answer, and has no other form."""
    rig, _ = await begin_with(tool_call_reply(("say", {})), info=VISION_MODEL, tools=ImageTools())
    assert (await rig.conversation.run("Look at the shot.")).how == "done"
    (answer,) = rig.events(ToolAnswered)
    (image,) = answer.images
    (word_count,) = await WordCounter().count([answer.text])
    assert answer.tokens == word_count + image.tokens
    assert await rig.store.get(answer.digest) == SHOT
    sent = rig.model.requests[-1]
    assert [image.digest for image in sent.messages[-1].images] == [answer.digest]
    assert sent.image_data == {answer.digest: SHOT}
    seq = next(recorded.seq for recorded in rig.conversation.session.log if recorded.event is answer)
    with pytest.raises(OutputFormUnavailable, match="can't be sent again by itself"):
        await rig.conversation.window.send_all(seq)


async def test_a_model_without_image_support_gets_a_description() -> None:
    """Nothing of the image is sent; its name and its hash are."""
    blind = msgspec.structs.replace(VISION_MODEL, images=False)
    rig, _ = await begin_with(tool_call_reply(("say", {})), info=blind, tools=ImageTools())
    assert (await rig.conversation.run("Look at the shot.")).how == "done"
    sent = rig.model.requests[-1]
    assert (sent.messages[-1].images, sent.image_data) == ((), {})
    assert bare_marker(digest_of(SHOT)) in sent.messages[-1].text


async def test_an_unreadable_image_is_not_sent() -> None:
    """The request goes out without its bytes; the turn goes on."""
    store = DamagedStore()
    rig, _ = await begin_with(
        tool_call_reply(("say", {})), info=VISION_MODEL, tools=ImageTools(), store=store
    )
    store.damaged = True
    assert (await rig.conversation.run("Look at the shot.")).how == "done"
    assert rig.model.requests[-1].image_data == {}
    assert rig.model.requests[-1].messages[-1].images


class DamagedStore(GatedStore):
    """A store whose contents cannot be read once they are damaged."""

    damaged = False

    async def get(self, digest: str) -> bytes:
        if self.damaged:
            raise ContentDamaged(verbatim("It is damaged."))
        return await super().get(digest)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GIF8 is no image", r"an image \(PNG, JPEG, GIF, WebP\)"),
        (SHOT + bytes(MAX_IMAGE_BYTES), "the limit is 5.0 MB"),
    ],
)
async def test_data_that_cannot_be_sent_as_an_image_is_refused(data: bytes, reason: str) -> None:
    """The reason is given, and nothing is stored."""
    rig, _ = await begin_with(info=VISION_MODEL)
    with pytest.raises(InvalidInput, match=reason):
        await rig.workspace.contents.attach_data(rig.conversation.session.id, data, "a.gif")
    assert (await rig.store.totals()).entries == 0


async def test_an_image_recalled_into_a_message_is_an_image_again() -> None:
    """From the cache it comes as an image, not as its bytes read as text."""
    rig, _ = await begin_with(info=VISION_MODEL)
    first = await rig.workspace.contents.attach_data(rig.conversation.session.id, SHOT, "shot.png")
    again = await rig.workspace.contents.attach(first.digest)
    assert again.image is not None
    assert (again.digest, again.text, again.image.width) == (first.digest, "", 64)


@pytest.mark.parametrize("data", [b"caf\xe9 \xff\xfe\0 end", b"\x80" * 50])
async def test_binary_data_is_labeled(data: bytes) -> None:
    """The window shows only a part: it ends with the way to the original bytes."""
    intake = await Intake(WordCounter()).from_tool_result(ToolCall("1", "say", "{}"), ToolResult(data))
    assert not intake.event.whole
    assert intake.event.text.startswith(data.decode("utf-8", "replace"))
    assert bare_marker(digest_of(data)) in intake.event.text
    assert intake.content is not None
    assert intake.content.data == data


async def test_an_original_replacement_character_is_text() -> None:
    """Text that contains the character itself is complete."""
    data = "a \ufffd b".encode()
    intake = await Intake(WordCounter()).from_tool_result(ToolCall("1", "say", "{}"), ToolResult(data))
    assert (intake.event.text, intake.event.whole) == ("a \ufffd b", True)


PICTURES = (png(40, 30, 1), png(20, 10, 2))


class PictureTools(ScriptedTools):
    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        return ToolResult(b"Two pictures:", image_data=PICTURES)


async def test_images_are_stored_and_named_in_the_text() -> None:
    """The text leads to each of them by its hash, so that a marker of the text does too."""
    vision_model = ModelInfo("test", "seeing", window=8_000, reserve=400, images=True)
    rig, conversation = await begin_with(
        tool_call_reply(("say", {})), text_reply("Seen."), info=vision_model, tools=PictureTools()
    )
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


async def test_a_long_text_with_images_is_gated_like_any_other() -> None:
    """Images do not bypass the intake; they stay, and their tokens are counted."""
    intake = Intake(WordCounter())
    result = await intake.from_tool_result(
        ToolCall("c1", "say", "{}"), ToolResult(b"word " * 9_000, image_data=PICTURES)
    )
    frame = PromptFrame(ModelInfo("test", "main", window=128_000), "", (), 0, 0)
    assert intake.needs_choice(result, Transcript(), PROFILES["balanced"], frame)
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
