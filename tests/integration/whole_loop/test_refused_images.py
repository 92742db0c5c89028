"""Servers that refuse a picture of the history: the one that they mean leaves, and the turn goes on."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnEnded
from helix_desktop.domain.events.rewrite import SweepMade, SweepReason
from helix_desktop.domain.events.session import WindowLearned
from helix_desktop.domain.image import identify_image
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.providers.http import HttpClient
from tests.support.image_bytes import png
from tests.support.loop_rig import LoopRig, loop_rig
from tests.support.model_servers.chat_server import (
    Call,
    ChatServer,
    Reply,
    StreamedReply,
    api_error,
    text_reply,
)
from tests.support.model_servers.dialects import DIALECTS, DialectCase, SleepRecorder

INFO = ModelInfo("here", "m", window=200_000, reserve=4_000, images=True)
PICTURES = 6
Place = tuple[int | str, ...]


class Picture:
    """A picture of a request: the path to it, its width, which tells which one it is, and its Base64."""

    def __init__(self, place: Place, data: str) -> None:
        self.place = place
        self.data = data
        image = identify_image(base64.b64decode(data), "")
        assert image is not None
        self.width = image.width
        self.height = image.height

    @property
    def number(self) -> int:
        return self.width - 20


def pictures_of(body: Mapping[str, Any]) -> list[Picture]:
    name = "input" if "input" in body else "messages"
    return [Picture((name, *place), data) for place, data in _pictures(body[name], ())]


def _pictures(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _pictures(item, (*place, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _pictures(item, (*place, key))
    elif isinstance(value, str) and ";base64," in value:
        yield place, value.partition(";base64,")[2]
    elif isinstance(value, str) and place[-1] == "data":
        yield place, value


def dotted(place: Place) -> str:
    return ".".join(map(str, place))


def bracketed(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


Refusal = Callable[[list[Picture]], str]
"""Returns what a server says of the pictures of a request; empty: it takes them."""


def the_second_by_its_place(pictures: list[Picture]) -> str:
    bad = [picture for picture in pictures if picture.number == 1]
    if len(pictures) < 4 or not bad:
        return ""
    return f"{dotted(bad[0].place)}: At least one of the image dimensions exceed max allowed size: 21 pixels"


def the_second_in_brackets(pictures: list[Picture]) -> str:
    bad = [picture for picture in pictures if picture.number == 1]
    if len(pictures) < 4 or not bad:
        return ""
    return f"Invalid value at '{bracketed(bad[0].place)}': the image can't be processed"


def the_second_by_its_number(pictures: list[Picture]) -> str:
    numbers = [picture.number for picture in pictures]
    return f"Image {numbers.index(1) + 1} could not be processed" if 1 in numbers and len(numbers) > 3 else ""


def the_widest_by_its_edge(pictures: list[Picture]) -> str:
    is_refused = len(pictures) > 3 and any(picture.width > 24 for picture in pictures)
    return "messages.3.content.0: image dimensions exceed the max of 24 pixels" if is_refused else ""


def the_number(pictures: list[Picture]) -> str:
    return f"Too many images: {len(pictures)} > 3" if len(pictures) > 3 else ""


def the_number_in_other_words(pictures: list[Picture]) -> str:
    return "At most 2 image(s) may be provided in one request." if len(pictures) > 2 else ""


def the_number_without_a_figure(pictures: list[Picture]) -> str:
    return "Too many images in the request." if len(pictures) > 3 else ""


def the_size_of_all(pictures: list[Picture]) -> str:
    is_refused = len(pictures) > 3
    return "Request exceeds the maximum size: image data too large" if is_refused else ""


def a_place_of_none(pictures: list[Picture]) -> str:
    return "messages.99.content.0: the image can't be processed" if len(pictures) > 3 else ""


def the_newest(pictures: list[Picture]) -> str:
    is_refused = pictures and pictures[-1].number == 4
    return f"{dotted(pictures[-1].place)}: could not process image" if is_refused else ""


LEFT_OUT: dict[Refusal, list[int]] = {
    the_second_by_its_place: [1],
    the_second_in_brackets: [1],
    the_second_by_its_number: [1],
    the_widest_by_its_edge: [5],
    the_number: [0, 1, 2],
    the_number_in_other_words: [0, 1, 2, 3],
    the_number_without_a_figure: [0, 1, 2],
    the_size_of_all: [0, 1, 2],
    a_place_of_none: [0, 1, 2],
    the_newest: [4],
}


class Reader:
    """A model that reads one picture a step; its server refuses requests by `refusal`."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal
        self._read = 0
        self.newest_missing: list[int] = []

    def __call__(self, body: dict[str, Any]) -> Reply:
        pictures = pictures_of(body)
        if words := self._refusal(pictures):
            return api_error(400, words, "invalid_request_error")
        if not body.get("tools") or self._read == PICTURES:
            return text_reply("All seen.")
        if self._read and [picture.number for picture in pictures][-1:] != [self._read - 1]:
            self.newest_missing.append(self._read - 1)
        path = json.dumps({"path": f"p{self._read}.png"})
        self._read += 1
        return StreamedReply(Call("read_file", path))


def write_pictures(rig: LoopRig) -> None:
    for number in range(PICTURES):
        (rig.root / f"p{number}.png").write_bytes(png(20 + number, 10, number))


def left_out(rig: LoopRig) -> list[int]:
    """Return the numbers of the pictures that left because a server refused them."""
    answers = {entry.seq: entry.event for entry in rig.conversation.session.log}
    refusals = [sweep for sweep in rig.events(SweepMade) if sweep.reason is SweepReason.REFUSED]
    numbers = []
    for seq in chain.from_iterable(sweep.swept for sweep in refusals):
        answer = answers[seq]
        assert isinstance(answer, ToolAnswered)
        numbers.append(answer.images[0].width - 20)
    return sorted(numbers)


@pytest.mark.parametrize("refusal", LEFT_OUT, ids=lambda refusal: refusal.__name__)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_picture_that_a_server_means_leaves_and_the_others_stay(
    tmp_path: Path, http: HttpClient, dialect: DialectCase, refusal: Refusal
) -> None:
    reader = Reader(refusal)
    async with (
        loop_rig(tmp_path, lambda _: text_reply("unused")) as rig,
        ChatServer(reader, wire_format=dialect.wire_format) as server,
    ):
        write_pictures(rig)
        await rig.workspace.set_models(dialect.model(server, http, SleepRecorder().retry_policy, INFO))
        assert await rig.conversation.run("Read the pictures.") == TurnEnded("done")
        assert left_out(rig) == LEFT_OUT[refusal]
        assert reader.newest_missing == [number for number in LEFT_OUT[refusal] if refusal is the_newest]
        assert rig.events(WindowLearned) == []
        assert rig.events(AssistantSpoke)[-1].text == "All seen."
        await rig.conversation.checkpoints.wait()


async def test_old_pictures_leave_without_a_question_and_new_ones_do_not(
    tmp_path: Path, http: HttpClient
) -> None:
    """In the window, where a user is there to decide about the picture that they have just sent."""
    for refusal, expected in ((the_number, "done"), (the_newest, "failed")):
        folder = tmp_path / expected
        folder.mkdir()
        async with (
            loop_rig(folder, lambda _: text_reply("unused"), is_attended=True) as rig,
            ChatServer(Reader(refusal)) as server,
        ):
            write_pictures(rig)
            retries = SleepRecorder().retry_policy
            await rig.workspace.set_models(DIALECTS[0].model(server, http, retries, INFO))
            ended = await rig.conversation.run("Read the pictures.")
            assert ended.how == expected
            assert left_out(rig) == (LEFT_OUT[refusal] if expected == "done" else [])
            if expected == "failed":
                assert await rig.conversation.run("Go on.") == TurnEnded("done")
                assert left_out(rig) == LEFT_OUT[refusal]
            await rig.conversation.checkpoints.wait()


async def test_three_tries_then_the_refusal_is_told(tmp_path: Path, http: HttpClient) -> None:
    def always(pictures: list[Picture]) -> str:
        return "Too many images." if len(pictures) > 1 and pictures[-1].number == PICTURES - 1 else ""

    async with (
        loop_rig(tmp_path, lambda _: text_reply("unused")) as rig,
        ChatServer(Reader(always)) as server,
    ):
        write_pictures(rig)
        await rig.workspace.set_models(DIALECTS[0].model(server, http, SleepRecorder().retry_policy, INFO))
        ended = await rig.conversation.run("Read the pictures.")
        assert ended.how == "failed"
        assert "Too many images" in ended.why
        assert left_out(rig) == [0, 1, 2]
        await rig.conversation.checkpoints.wait()
