"""Images of messages and of tool results, and what a recall leaves in the window or in a message."""

from __future__ import annotations

import json

import msgspec
import pytest

from helix_desktop.agent.intake import Intake
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.context.window.window import PromptFrame, output_marker
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import ContentDamaged, InvalidInput, OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.image import MAX_IMAGE_BYTES, identify_image
from helix_desktop.domain.messages import ModelInfo, ModelResponse, ToolCall
from helix_desktop.domain.store import Commit, Content
from helix_desktop.domain.text_format import format_bytes, utc_minute
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.outputs.source import CacheSource
from tests.support.agent_rig import AgentRig, GatedStore, ScriptedTools, begin_with
from tests.support.cache_session import SessionRig
from tests.support.image_bytes import png
from tests.support.scripted_model import (
    WordCounter,
    text_reply,
    thinking_script,
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
    with pytest.raises(OutputFormUnavailable, match="can't be shortened"):
        await rig.conversation.window.choose_form(seq, "preview")


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
    (row,) = await CacheSource(rig.workspace, lambda: rig.conversation).rows([digest_of(OUTPUT)])
    assert recalled.tokens == row.tokens
