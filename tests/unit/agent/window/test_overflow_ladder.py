"""The ladder: a request that does not fit is made to fit, rung by rung, and nothing is lost by it."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.context.policy import PROFILES, ContextPolicy
from helix_desktop.domain.errors import ContextWindowExceeded
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.rewrite_kinds import HandoverTrigger, SweepReason
from helix_desktop.domain.events.session import Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo
from tests.support.agent_rig import AgentRig
from tests.support.image_bytes import png
from tests.support.scripted_model import (
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
)

INFO = ModelInfo("test", "scripted", window=2_000, reserve=100)
SEEING = msgspec.structs.replace(INFO, images=True)
# Nothing acts before the ladder: no sweep pays, no handover is due, no output is gated.
STILL = msgspec.structs.replace(
    PROFILES["classic"],
    sweep_fixed=10_000_000,
    handover_cooldown_s=100_000,
    intake_above=0,
    preview_above=0.8,
    least_saving=5,
)


def wide(words: int, key: str, calls: int = 1) -> ScriptedReply:
    """A step whose calls bring so many words each."""
    return tool_call_reply(
        *(("say", {"text": f"word{n}", "times": words // 2}) for n in range(calls)), id_prefix=key
    )


def rig_of(*plays: ScriptedReply, policy: ContextPolicy = STILL, info: ModelInfo = INFO) -> AgentRig:
    """A conversation with a small window and a policy that waits for the ladder."""
    return AgentRig(ScriptedModel(replies_in_order(*plays), info), policy)


async def reachable(rig: AgentRig) -> None:
    """Every output of the session stands in the store, byte for byte under its hash."""
    for answer in rig.events(ToolAnswered):
        if answer.digest:
            assert len(await rig.store.get(answer.digest)) == answer.size


async def test_the_first_rung_is_enough() -> None:
    """Over 95 %, older outputs become markers; the newest two steps stay, and nothing else happens."""
    rig = rig_of(*(wide(400, f"s{n}") for n in range(5)))
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done"
    assert [one.reason for one in rig.events(SweepMade)] == [SweepReason.OVERFLOW]
    assert rig.events(HandoverMade) == []
    assert all(used <= INFO.window for used in await sizes(rig))
    await reachable(rig)
    await rig.assert_consistent()
    await rig.workspace.close()


async def sizes(rig: AgentRig) -> list[int]:
    """The tokens of each request that was sent, as the rig counts them."""
    count = WordCounter().count
    return [sum(await count([one.text for one in request.messages])) for request in rig.model.requests]


async def test_one_batch_is_too_large() -> None:
    """When the newest step alone is too large its outputs become markers too: the agent recalls pages."""
    rig = rig_of(wide(900, "s", calls=4))
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done"
    last = rig.model.requests[-1]
    assert sum("[CACHED]" in one.text for one in last.messages if one.role == "tool") == 4
    await reachable(rig)
    await rig.assert_consistent()
    await rig.workspace.close()


async def asked(rig: AgentRig, text: str, attached: list[Attachment]) -> None:
    """A turn with something attached, to its end."""
    await rig.conversation.run(text, attached)


async def test_images_become_text_and_hash() -> None:
    """What fills the window is images: all but those of the newest message become text and hash, undoably."""
    rig = rig_of(text_reply("A lamp."), text_reply("Another."), info=SEEING)
    await rig.begin()
    session = rig.conversation.session.id
    shots = [png(700, 700, n) for n in range(3)]
    attached = [
        await rig.workspace.attach_image(session, data, f"shot {n}.png") for n, data in enumerate(shots)
    ]
    await asked(rig, "What are these?", attached[:2])
    assert rig.events(SweepMade) == []
    await asked(rig, "And this?", attached[2:])

    (sweep,) = rig.events(SweepMade)
    first, second = rig.model.requests
    assert sweep.reason is SweepReason.OVERFLOW
    assert [list(request.image_data.values()) for request in (first, second)] == [shots[:2], shots[2:]]
    older = second.messages[1]
    assert all(one.image and one.image.marker in older.text for one in attached[:2])
    assert [one.digest for one in second.messages[-1].images] == [attached[2].digest]
    for one, data in zip(attached, shots, strict=True):
        assert await rig.store.get(one.digest) == data
    before = rig.conversation.measure()[0].estimate
    await rig.conversation.undo(next(one.seq for one in rig.conversation.session.log if one.event is sweep))
    assert rig.conversation.measure()[0].estimate == before + sweep.saved
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_one_message_of_too_many_images() -> None:
    """The last rung takes those of the newest message too: the agent gets their names and hashes."""
    rig = rig_of(text_reply("Too many."), info=SEEING)
    await rig.begin()
    session = rig.conversation.session.id
    attached = [await rig.workspace.attach_image(session, png(700, 700, n), f"{n}.png") for n in range(4)]
    await asked(rig, "What are these?", attached)
    (request,) = rig.model.requests
    assert request.image_data == {}
    assert all(one.image and one.image.marker in request.messages[-1].text for one in attached)
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_words_alone_are_too_many() -> None:
    """When there is nothing to mask, a handover without a model covers the older words."""
    talk = [text_reply(f"answer {n} " + "because it is so " * 600) for n in range(9)]
    rig = rig_of(*talk, info=msgspec.structs.replace(INFO, window=20_000))
    await rig.begin()
    for number in range(9):
        ended = await rig.conversation.run(f"Question {number}?")
        assert ended.how == "done"
    made = rig.events(HandoverMade)
    assert made
    assert {one.trigger for one in made} == {HandoverTrigger.OVERFLOW}
    assert rig.model.summary_requests == []
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_the_provider_says_overflow() -> None:
    """A refused request is made smaller and asked once more, though our own count says that it fits."""
    plays: list[ScriptedReply] = [wide(300, f"s{n}") for n in range(4)]
    rig = rig_of(*plays, [ContextWindowExceeded("Too long.")], text_reply("It fits now."))
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done"
    refused, again = rig.model.requests[-2:]
    assert len("".join(one.text for one in again.messages)) < len(
        "".join(one.text for one in refused.messages)
    )
    assert rig.events(SweepMade)
    await reachable(rig)
    await rig.assert_consistent()
    await rig.workspace.close()


@pytest.mark.parametrize(("asked", "window"), [(0, 400), (4_000, 800)], ids=["its window", "both counts"])
async def test_the_provider_says_how_much_fits(asked: int, window: int) -> None:
    """Its window is a fraction of what we believe: room is made for that at once, in its tokens or ours."""
    overflow = ContextWindowExceeded("Too long.", request_tokens=asked, window=window)
    rig = rig_of(*(wide(150, f"s{n}") for n in range(6)), [overflow], text_reply("It fits."), policy=STILL)
    await rig.begin()
    assert (await rig.conversation.run("Work.")).how == "done"
    refused, again = ("".join(one.text for one in sent.messages).split() for sent in rig.model.requests[-2:])
    fits = window * len(refused) / asked if asked else window
    assert len(again) <= fits < len(refused) * 0.7
    await reachable(rig)
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_the_provider_says_overflow_twice() -> None:
    """The second refusal is told; there is no loop of retries."""
    overflow = ContextWindowExceeded("Too long.", "The server counts otherwise.", "Set the window's size.")
    rig = rig_of(*(wide(300, f"s{n}") for n in range(4)), [overflow], [overflow])
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert (ended.how, ended.what) == ("failed", "Too long.")
    assert len(rig.model.requests) == 6
    await rig.assert_consistent()
    await rig.workspace.close()


async def test_a_message_that_can_never_fit() -> None:
    """A single item that is larger than the window is named in one clear message; nothing is sent."""
    rig = rig_of()
    await rig.begin()
    ended = await rig.conversation.run("enormous " * 2_500)
    assert ended.how == "failed"
    assert "enormous" in ended.why
    assert rig.model.requests == []
    assert rig.events(UserSpoke)[0].tokens == 2_500
    await rig.workspace.close()


async def test_off_is_off() -> None:
    """With the profile off no request is changed, not even then: the overflow is told."""
    rig = rig_of(*(wide(500, f"s{n}") for n in range(6)), policy=PROFILES["off"])
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "failed"
    assert "off" in ended.fix
    assert rig.events(SweepMade) == []
    assert rig.events(HandoverMade) == []
    await rig.workspace.close()


async def test_what_is_left_out_comes_back() -> None:
    """Truncation keeps pins, the first and the newest words of the person; undone, all of it is back."""
    talk = [text_reply(f"answer {n} " + "because it is so " * 60) for n in range(9)]
    rig = rig_of(wide(40, "pin"), text_reply("Read."), *talk)
    await rig.begin()
    await rig.conversation.run("The first words.")
    await rig.conversation.pin(
        next(one.seq for one in rig.conversation.session.log if isinstance(one.event, ToolAnswered))
    )
    for number in range(9):
        await rig.conversation.run(f"Question {number}?")
    made = [one.seq for one in rig.conversation.session.log if isinstance(one.event, FoldMade)]
    assert made
    left = rig.conversation.measure()[0].request.messages
    text = "\n".join(one.text for one in left)
    assert all(words in text for words in ("The first words.", "Question 8?", "[Pinned output", "left out"))
    for seq in reversed(made):
        await rig.conversation.undo(seq)
    whole = rig.conversation.measure()[0].request.messages
    assert [one.text for one in whole if one.role == "user"][-1] == "Question 8?"
    assert sum("because it is so" in one.text for one in whole) == 9
    assert len(left) < len(whole)
    await rig.assert_consistent()
    await rig.workspace.close()


@pytest.mark.parametrize("window", [600, 1_000, 3_000])
async def test_any_window(window: int) -> None:
    """In windows of any size the same work gets through, or is refused clearly; the log stays sound."""
    rig = rig_of(
        *(wide(200, f"s{n}", calls=2) for n in range(6)), info=msgspec.structs.replace(INFO, window=window)
    )
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done" or "does not fit" in ended.what
    assert all(used <= window for used in await sizes(rig))
    await reachable(rig)
    await rig.assert_consistent()
    await rig.workspace.close()
