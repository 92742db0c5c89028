"""Images and bytes that are no text, from a message or a tool to the request, and back from the store."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.intake.intake import Intake
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ContentDamaged, InvalidInput, OutputFormUnavailable
from helix_desktop.domain.events.session import ToolAnswered
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.messages import ModelInfo, ToolCall
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from tests.support.agent_rig import AgentRig, GatedStore, ScriptedTools
from tests.support.image_bytes import png
from tests.support.scripted_model import ScriptedModel, WordCounter, replies_in_order, tool_call_reply

SEEING = ModelInfo("test", "scripted", window=20_000, reserve=400, images=True)
SHOT = png(64, 48)


class Showing(ScriptedTools):
    """Tools of which `say` shows an image."""

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """The image."""
        image = identify_image(SHOT, digest_of(SHOT), "shot.png")
        assert image is not None
        return ToolResult(SHOT, target="shot.png", model_text=f"shot.png: {image.summary}.", image=image)


async def test_an_image_that_a_tool_shows_reaches_the_model() -> None:
    """It is stored byte for byte, counted as an image, sent with the answer, and has no other form."""
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("say", {}))), SEEING), tools=Showing())
    await rig.begin()
    assert (await rig.conversation.run("Look at the shot.")).how == "done"
    (answer,) = rig.events(ToolAnswered)
    (image,) = answer.images
    (words,) = await WordCounter().count([answer.text])
    assert answer.tokens == words + image.tokens
    assert await rig.store.get(answer.digest) == SHOT
    sent = rig.model.requests[-1]
    assert [one.digest for one in sent.messages[-1].images] == [answer.digest]
    assert sent.image_data == {answer.digest: SHOT}
    seq = next(one.seq for one in rig.conversation.session.log if one.event is answer)
    with pytest.raises(OutputFormUnavailable, match="no other form"):
        await rig.conversation.choose_form(seq, "preview")
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_a_model_that_sees_none_is_told_what_it_is() -> None:
    """Nothing of the image is sent; its name and its hash are."""
    blind = msgspec.structs.replace(SEEING, images=False)
    rig = AgentRig(ScriptedModel(replies_in_order(tool_call_reply(("say", {}))), blind), tools=Showing())
    await rig.begin()
    assert (await rig.conversation.run("Look at the shot.")).how == "done"
    sent = rig.model.requests[-1]
    assert (sent.messages[-1].images, sent.image_data) == ((), {})
    assert bare_marker(digest_of(SHOT)) in sent.messages[-1].text
    await rig.workspace.close()


async def test_an_image_that_cannot_be_read_is_not_sent() -> None:
    """The request goes out without its bytes; the turn goes on."""
    store = Forgetful()
    rig = AgentRig(
        ScriptedModel(replies_in_order(tool_call_reply(("say", {}))), SEEING), tools=Showing(), store=store
    )
    await rig.begin()
    store.damaged = True
    assert (await rig.conversation.run("Look at the shot.")).how == "done"
    assert rig.model.requests[-1].image_data == {}
    assert rig.model.requests[-1].messages[-1].images
    await rig.workspace.close()


class Forgetful(GatedStore):
    """A store whose contents cannot be read once they are damaged."""

    damaged = False

    async def get(self, digest: str) -> bytes:
        """The bytes, while they are sound."""
        if self.damaged:
            raise ContentDamaged("It is damaged.")
        return await super().get(digest)


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"GIF8 is no image", "no PNG, JPEG, GIF or WebP"), (SHOT + bytes(MAX_IMAGE_BYTES), "may have 5.0 MB")],
)
async def test_what_cannot_be_sent_as_an_image_is_refused(data: bytes, why: str) -> None:
    """It is said what is wrong with it, and nothing is stored."""
    rig = AgentRig(ScriptedModel(replies_in_order(), SEEING))
    await rig.begin()
    with pytest.raises(InvalidInput, match=why):
        await rig.workspace.attach_image(rig.conversation.session.id, data, "a.gif")
    assert (await rig.store.totals()).entries == 0
    await rig.workspace.close()


async def test_an_image_recalled_into_a_message_is_one_again() -> None:
    """From the cache it comes as an image, not as its bytes read as text."""
    rig = AgentRig(ScriptedModel(replies_in_order(), SEEING))
    await rig.begin()
    first = await rig.workspace.attach_image(rig.conversation.session.id, SHOT, "shot.png")
    again = await rig.workspace.attach(first.digest)
    assert again.image is not None
    assert (again.digest, again.text, again.image.width) == (first.digest, "", 64)
    await rig.workspace.close()


@pytest.mark.parametrize("data", [b"caf\xe9 \xff\xfe\0 end", b"\x80" * 50])
async def test_bytes_that_are_no_text_are_named(data: bytes) -> None:
    """What the window shows of them is not all: it ends with the way to the bytes as they were."""
    taken = await Intake(WordCounter()).from_tool_result(ToolCall("1", "say", "{}"), ToolResult(data))
    assert not taken.answer.whole
    assert taken.answer.text.startswith(data.decode("utf-8", "replace"))
    assert bare_marker(digest_of(data)) in taken.answer.text
    assert taken.content is not None
    assert taken.content.data == data


async def test_a_replacement_sign_that_stood_there_is_text() -> None:
    """Text that holds the sign itself is whole as it is."""
    data = "a \ufffd b".encode()
    taken = await Intake(WordCounter()).from_tool_result(ToolCall("1", "say", "{}"), ToolResult(data))
    assert (taken.answer.text, taken.answer.whole) == ("a \ufffd b", True)
