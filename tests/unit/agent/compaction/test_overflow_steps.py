"""The overflow steps: a request that does not fit is made to fit, step by step, and nothing is lost by it."""

from __future__ import annotations

import msgspec
import pytest

from helix_desktop.agent.compaction.context_compaction import OverflowSteps
from helix_desktop.agent.compaction.handover_writer import HandoverWriter
from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.summaries.summary_task import fallback_rate
from helix_desktop.domain.errors import ContextWindowExceeded, ModelRequestRejected
from helix_desktop.domain.events.conversation import AssistantSpoke, Attachment, ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade, SweepReason
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.translatable_text import verbatim
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
VISION_MODEL = msgspec.structs.replace(INFO, images=True)
# Nothing acts before these steps: no sweep pays, no handover is due, no output is gated.
STILL = msgspec.structs.replace(
    PROFILES["classic"],
    sweep_fixed=10_000_000,
    handover_cooldown_s=100_000,
    intake_above=0,
    preview_above=0.8,
    least_saving=5,
)


def wide_step(word_count: int, key: str, calls: int = 1) -> ScriptedReply:
    return tool_call_reply(
        *(("say", {"text": f"word{n}", "times": word_count // 2}) for n in range(calls)), id_prefix=key
    )


def rig_of(*replies: ScriptedReply, policy: ContextPolicy = STILL, info: ModelInfo = INFO) -> AgentRig:
    """Return a conversation with a small window and a policy that waits for the overflow steps."""
    return AgentRig(ScriptedModel(replies_in_order(*replies), info), policy)


async def check_outputs_stored(rig: AgentRig) -> None:
    """Every output of the session is in the store, byte for byte under its hash."""
    for answer in rig.events(ToolAnswered):
        if answer.digest:
            assert len(await rig.store.get(answer.digest)) == answer.size


async def test_a_batch_that_makes_a_due_compaction_needless_says_so() -> None:
    """Its line said "to save tokens" where the panel had said that it compacts at 85 %."""
    batches = {"protect_steps": 9, "protect_tokens": 6_400, "sweep_fixed": 5_600, "previous_turn_share": 0.0}
    rig = rig_of(
        *(wide_step(440, f"s{n}") for n in range(4)), policy=msgspec.structs.replace(STILL, **batches)
    )
    await rig.run_first("Work.")
    (swept,) = rig.events(SweepMade)
    assert (swept.reason, swept.averted_handover_at) == (SweepReason.BATCH, 0.85)


async def sizes(rig: AgentRig) -> list[int]:
    """Return the tokens of each request that was sent, as the rig counts them."""
    count = WordCounter().count
    return [
        sum(await count([message.text for message in request.messages])) for request in rig.model.requests
    ]


async def test_one_batch_is_too_large() -> None:
    """When the newest step alone is too large, as many of its outputs become markers as have to."""
    rig = rig_of(wide_step(900, "s", calls=4))
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done"
    last = rig.model.requests[-1]
    outputs = [message.text for message in last.messages if message.role == "tool"]
    assert ["[CACHED]" in output for output in outputs] == [True, True, True, False]
    await check_outputs_stored(rig)


def texts_of(rig: AgentRig) -> str:
    """Return what the newest request says, without the arguments of calls."""
    return "\n".join(message.text for message in rig.model.requests[-1].messages)


async def test_a_call_larger_than_the_context_window_leaves_alone() -> None:
    """What it was given, a file body, is cached; outputs were cached and messages left out to make room."""
    body = "line of the file " * 900
    rig = rig_of(
        wide_step(300, "read"),
        text_reply("The first answer. " * 40),
        tool_call_reply(("say", {"text": "written", "times": 2, "body": body}), id_prefix="write"),
    )
    await rig.run_first("The first question.")
    assert (await rig.conversation.run("Write the file.")).how == "done"
    calls = [it for it in rig.conversation.session.transcript.messages.items if "write0" in str(it.event)]
    (sweep,) = rig.events(SweepMade)
    assert sweep.masked == (calls[0].seq,)
    assert rig.events(FoldMade) == rig.events(HandoverMade) == []
    sent = texts_of(rig)
    assert all(words in sent for words in ("The first question.", "The first answer.", "word0 read0"))
    (short,) = rig.events(AssistantSpoke)[-2].short
    assert body.encode() in [await rig.store.get(digest) for digest in short.digests]


async def test_what_the_newest_step_read_leaves_before_messages_do() -> None:
    """A model would have summarized the conversation to keep three outputs that can be recalled."""
    rig = rig_of(text_reply("An answer. " * 500), wide_step(500, "read", calls=3))
    await rig.run_first("Explain it.")
    assert (await rig.conversation.run("Read all.")).how == "done"
    assert rig.events(FoldMade) == rig.events(HandoverMade) == rig.model.summary_requests == []
    outputs = [message.text for message in rig.model.requests[-1].messages if message.role == "tool"]
    assert ["[CACHED]" in output for output in outputs] == [True, True, False]
    assert "An answer. An answer." in texts_of(rig)


async def test_the_last_output_leaves_before_messages_are_left_out() -> None:
    """No model could summarize the conversation: its messages were left out, and the output stayed."""
    rig = rig_of(text_reply("An answer. " * 500), text_reply("Go on. " * 300), wide_step(700, "read"))
    rig.model.summary_script = lambda _: [ModelRequestRejected(verbatim("Not today."))]
    await rig.begin()
    for words in ("Explain it.", "Go on."):
        await rig.conversation.run(words)
    assert (await rig.conversation.run("Read it.")).how == "done"
    assert [fold for fold in rig.events(FoldMade) if fold.how == "truncate"] == []
    assert "[CACHED]" in texts_of(rig)
    assert "An answer. An answer." in texts_of(rig)


async def test_a_cut_that_no_model_was_asked_about_is_no_fallback_of_one() -> None:
    """A summary would have freed too little, so none was asked for, and nothing failed."""
    rig = rig_of(*(text_reply(f"answer {n} " + "because it is so " * 60) for n in range(9)))
    await rig.begin()
    for number in range(9):
        await rig.conversation.run(f"Question {number}?")
    cuts = [entry for entry in rig.conversation.session.log if isinstance(entry.event, FoldMade)]
    assert {event.how for event in rig.events(FoldMade)} == {"truncate"}
    assert rig.model.summary_requests == []
    assert not fallback_rate(rig.conversation.session.log).fallbacks
    # An older log does not say it: there all that took the place of a summary counts, as it did.
    older = [
        msgspec.structs.replace(cut, event=msgspec.structs.replace(cut.event, no_model_asked=False))
        for cut in cuts
    ]
    rate = fallback_rate(older)
    assert (rate.summaries, rate.fallbacks) == (len(cuts), len(cuts)) != (0, 0)
    assert rate.newest_reason == "Older messages were left out to make room."


async def test_a_cut_says_why_no_model_summarized_what_it_leaves_out() -> None:
    """Each counts, as the summary without a model before it does."""
    rig = rig_of(*(text_reply(f"answer {n} " + "because it is so " * 40) for n in range(6)))
    await rig.begin()
    for number in range(6):
        await rig.conversation.run(f"Question {number}?")
    session = rig.conversation.session
    rewriter = WindowRewriter(session)
    await OverflowSteps(session, rewriter, HandoverWriter(session, rewriter)).finish(
        500, 500, verbatim("Not today.")
    )
    cuts = [event for event in rig.events(FoldMade) if event.how == "truncate"]
    assert {event.fallback for event in [*rig.events(HandoverMade), *cuts]} == {"Not today."}
    assert cuts
    assert fallback_rate(session.log).fallbacks == len(rig.events(HandoverMade)) + len(cuts)


async def send_with_images(rig: AgentRig, text: str, attached: list[Attachment]) -> None:
    """Run a turn with attachments to its end."""
    await rig.conversation.run(text, attached)


async def test_images_become_text_and_hash() -> None:
    """When images fill the window: all but those of the newest message become text and hash, undoably."""
    rig = rig_of(text_reply("A lamp."), text_reply("Another."), info=VISION_MODEL)
    await rig.begin()
    session_id = rig.conversation.session.id
    shots = [png(700, 700, n) for n in range(3)]
    attached = [
        await rig.workspace.contents.attach_data(session_id, data, f"shot {n}.png")
        for n, data in enumerate(shots)
    ]
    await send_with_images(rig, "What are these?", attached[:2])
    assert rig.events(SweepMade) == []
    await send_with_images(rig, "And this?", attached[2:])

    (sweep,) = rig.events(SweepMade)
    first, second = rig.model.requests
    assert sweep.reason is SweepReason.OVERFLOW
    assert [list(request.image_data.values()) for request in (first, second)] == [shots[:2], shots[2:]]
    older = second.messages[1]
    assert all(image.image and image.image.marker in older.text for image in attached[:2])
    assert [image.digest for image in second.messages[-1].images] == [attached[2].digest]
    for attachment, data in zip(attached, shots, strict=True):
        assert await rig.store.get(attachment.digest) == data
    before = rig.conversation.window.measure()[0].estimate
    await rig.conversation.window.undo(
        next(recorded.seq for recorded in rig.conversation.session.log if recorded.event is sweep)
    )
    assert rig.conversation.window.measure()[0].estimate == before + sweep.saved


async def test_a_single_message_with_too_many_images() -> None:
    """The last step takes those of the newest message too: the agent gets their names and hashes."""
    rig = rig_of(text_reply("Too many."), info=VISION_MODEL)
    await rig.begin()
    session_id = rig.conversation.session.id
    attached = [
        await rig.workspace.contents.attach_data(session_id, png(700, 700, n), f"{n}.png") for n in range(4)
    ]
    await send_with_images(rig, "What are these?", attached)
    (request,) = rig.model.requests
    assert request.image_data == {}
    assert all(image.image and image.image.marker in request.messages[-1].text for image in attached)


async def test_the_provider_reports_an_overflow() -> None:
    """A refused request is made smaller and sent once more, though by our own count it fits."""
    replies: list[ScriptedReply] = [wide_step(300, f"s{n}") for n in range(4)]
    rig = rig_of(*replies, [ContextWindowExceeded(verbatim("Too long."))], text_reply("It fits now."))
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done"
    refused, again = rig.model.requests[-2:]
    assert len("".join(message.text for message in again.messages)) < len(
        "".join(message.text for message in refused.messages)
    )
    assert rig.events(SweepMade)
    await check_outputs_stored(rig)


@pytest.mark.parametrize(
    ("requested_tokens", "window"), [(0, 400), (4_000, 800)], ids=["its window", "both counts"]
)
async def test_the_provider_reports_its_limit(requested_tokens: int, window: int) -> None:
    """Its window is a fraction of our figure: space is made for that at once, in its tokens or ours."""
    overflow = ContextWindowExceeded(
        verbatim("Too long."), request_tokens=requested_tokens, window_size=window
    )
    rig = rig_of(
        *(wide_step(150, f"s{n}") for n in range(6)), [overflow], text_reply("It fits."), policy=STILL
    )
    await rig.begin()
    assert (await rig.conversation.run("Work.")).how == "done"
    refused, again = (
        "".join(message.text for message in sent.messages).split() for sent in rig.model.requests[-2:]
    )
    fits = window * len(refused) / requested_tokens if requested_tokens else window
    assert len(again) <= fits < len(refused) * 0.7
    await check_outputs_stored(rig)


async def test_the_provider_reports_an_overflow_twice() -> None:
    """The second refusal is reported; there is no loop of retries."""
    overflow = ContextWindowExceeded(
        verbatim("Too long."), verbatim("The server counts otherwise."), verbatim("Set the window's size.")
    )
    rig = rig_of(*(wide_step(300, f"s{n}") for n in range(4)), [overflow], [overflow])
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert (ended.how, ended.what) == ("failed", "Too long.")
    assert len(rig.model.requests) == 6


async def test_what_left_for_a_request_that_is_refused_again_comes_back() -> None:
    """The model has seen nothing without it: the window is as it was, and the log says what was undone."""
    overflow = ContextWindowExceeded(verbatim("Too long."), window_size=300)
    texts = [text_reply(f"answer {n} " + "because it is so " * 40) for n in range(4)]
    rig = rig_of(*texts, [overflow], [overflow], text_reply("It fits."))
    await rig.begin()
    for number in range(4):
        await rig.conversation.run(f"Question {number}?")
    assert (await rig.conversation.run("And now?")).how == "failed"
    refused, smaller = (
        "".join(message.text for message in sent.messages) for sent in rig.model.requests[-2:]
    )
    assert len(smaller) < len(refused) / 2
    assert rig.events(FoldMade)
    await rig.conversation.run("Again?")
    assert refused in "".join(message.text for message in rig.model.requests[-1].messages)


async def test_what_the_user_brought_back_leaves_last_and_is_counted() -> None:
    """It was the oldest, so it left first again, without a word that the user had undone that."""
    rig = rig_of(*(wide_step(400, f"s{n}") for n in range(5)), *(text_reply("Done.") for _ in range(4)))
    await rig.run_first("Work.")
    transcript = rig.conversation.session.transcript
    (seq, swept), *_ = transcript.rewrites.sweeps.items()
    await rig.conversation.window.undo(seq)
    await rig.conversation.run("Go on.")
    _, again = rig.events(SweepMade)
    assert again.masked
    assert not set(again.masked) & set(swept.masked)
    assert not transcript.retaken
    await rig.conversation.run("word " * 1_400)
    assert set(swept.masked) <= transcript.window.masked
    assert sum(transcript.retaken.values()) == len(swept.masked)


async def test_images_that_the_user_brought_back_leave_after_others() -> None:
    """They were the oldest, so they left first again."""
    rig = rig_of(*(text_reply("A lamp.") for _ in range(3)), info=VISION_MODEL)
    await rig.begin()
    session = rig.conversation.session
    for number in range(2):
        image = await rig.workspace.contents.attach_data(session.id, png(700, 700, number), f"{number}.png")
        await send_with_images(rig, "What is this?", [image])
    restored, other = rig.seqs(UserSpoke)
    await rig.conversation.window.cache_now(restored)
    await rig.conversation.window.undo(*rig.seqs(SweepMade))
    assert session.transcript.restored == {restored}
    await rig.conversation.run("word " * 700)
    assert session.transcript.window.masked == {other}


async def test_what_the_user_said_stays_when_messages_are_left_out() -> None:
    """The newest messages are whole, as far as there is room; of older ones the user's own words stay."""
    replies = [text_reply(f"answer {n} " + "because it is so " * 60) for n in range(9)]
    rig = rig_of(*replies)
    await rig.begin()
    for number in range(9):
        await rig.conversation.run(f"Question {number} about part{number}?")
    assert {event.how for event in rig.events(FoldMade)} == {"truncate"}
    text = "\n".join(message.text for message in rig.model.requests[-1].messages)
    assert all(f"Question {number} about part{number}?" in text for number in range(9))
    assert "answer 0" not in text
    assert "answer 7" in text


async def test_a_message_that_can_never_fit() -> None:
    """A single item that is larger than the window is named in one clear message; nothing is sent."""
    rig = rig_of()
    await rig.begin()
    ended = await rig.conversation.run("enormous " * 2_500)
    assert ended.how == "failed"
    assert "enormous" in ended.why
    assert rig.model.requests == []
    assert rig.events(UserSpoke)[0].tokens == 2_500


async def test_off_disables_everything() -> None:
    """With the profile off no request is changed, not even then: the overflow is reported."""
    rig = rig_of(*(wide_step(500, f"s{n}") for n in range(6)), policy=PROFILES["off"])
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "failed"
    assert "off" in ended.fix
    assert ended.remedies == ("policy_settings",)
    assert rig.events(SweepMade) == []
    assert rig.events(HandoverMade) == []


async def test_truncation_can_be_undone() -> None:
    """It keeps pins, and the first and newest message of the user; undone, everything is back."""
    replies = [text_reply(f"answer {n} " + "because it is so " * 60) for n in range(9)]
    rig = rig_of(wide_step(40, "pin"), text_reply("Read."), *replies)
    await rig.run_first("The first words.")
    await rig.conversation.window.pin(rig.seqs(ToolAnswered)[0])
    for number in range(9):
        await rig.conversation.run(f"Question {number}?")
    fold_seqs = rig.seqs(FoldMade)
    assert fold_seqs
    truncated = rig.conversation.window.measure()[0].request.messages
    text = "\n".join(message.text for message in truncated)
    assert all(
        excerpt in text for excerpt in ("The first words.", "Question 8?", "[Pinned output", "left out")
    )
    for seq in reversed(fold_seqs):
        await rig.conversation.window.undo(seq)
    restored = rig.conversation.window.measure()[0].request.messages
    assert [message.text for message in restored if message.role == "user"][-1] == "Question 8?"
    assert sum("because it is so" in message.text for message in restored) == 9
    assert len(truncated) < len(restored)


@pytest.mark.parametrize("window", [600, 1_000, 3_000])
async def test_windows_of_any_size(window: int) -> None:
    """The same work succeeds, or is refused clearly; the log stays valid."""
    rig = rig_of(
        *(wide_step(200, f"s{n}", calls=2) for n in range(6)),
        info=msgspec.structs.replace(INFO, window=window),
    )
    await rig.begin()
    ended = await rig.conversation.run("Work.")
    assert ended.how == "done" or "doesn't fit the context window" in ended.what
    assert all(used <= window for used in await sizes(rig))
    await check_outputs_stored(rig)
