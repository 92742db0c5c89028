"""Output forms: changed by the user, extracted by a fast model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from helix_desktop.agent.chosen_forms import Extractor
from helix_desktop.agent.model_roles import CallBill, ModelRoles
from helix_desktop.agent.ports import Model
from helix_desktop.context.intake.output_forms import OutputSource
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import (
    ContextWindowExceeded,
    ModelError,
    ModelRequestRejected,
    OutputFormUnavailable,
)
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered
from helix_desktop.domain.events.rewrite import FormChosen, SweepMade, SweepReason
from helix_desktop.domain.events.summary import HandoverMade
from helix_desktop.domain.messages import ModelInfo, ModelRequest
from helix_desktop.domain.translatable_text import verbatim
from tests.support.intake_rig import MAIN, POLICY, IntakeRig, large_output
from tests.support.scripted_model import (
    SUMMARY,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    replies_in_order,
    text_reply,
    tool_call_reply,
    tool_result_texts,
)

STEPS = 14


async def a_session(policy: ContextPolicy = POLICY, steps: int = 0, info: ModelInfo = MAIN) -> IntakeRig:
    """Start a session with a large output (a preview now), a small one, and so many steps after them."""
    rig = IntakeRig(policy, info=info)
    rig.set_output("big", large_output("big"), exit_code=1)
    later = [
        tool_call_reply(("say", {"text": f"step {number}"}), id_prefix=f"k{number}")
        for number in range(steps)
    ]
    rig.model.script = replies_in_order(tool_call_reply(("big", {}), ("say", {"text": "tiny"})), *later)
    await rig.run_first()
    return rig


def seq_of(rig: IntakeRig, name: str) -> int:
    log = rig.conversation.session.log
    return next(
        recorded.seq
        for recorded in log
        if isinstance(recorded.event, ToolAnswered) and recorded.event.name == name
    )


def shown_text(rig: IntakeRig, name: str = "big") -> str:
    request = rig.conversation.window.measure()[0].request
    return next(
        message.text for message in request.messages if message.role == "tool" and message.name == name
    )


def tokens_of(rig: IntakeRig, name: str = "big") -> int:
    return next(row.tokens for row in rig.conversation.window.items() if row.seq == seq_of(rig, name))


async def test_a_preview_becomes_the_full_output() -> None:
    """From the stored bytes; undone and redone like any rewrite."""
    rig = await a_session()
    preview = shown_text(rig)
    seq = seq_of(rig, "big")
    assert preview != large_output("big")
    await rig.conversation.window.send_all(seq)
    assert shown_text(rig) == large_output("big")
    assert tokens_of(rig) == 1_200 + 4
    choice_seq = rig.conversation.session.transcript.last_seq
    await rig.conversation.window.undo(choice_seq)
    assert shown_text(rig) == preview
    await rig.conversation.window.redo(choice_seq)
    assert shown_text(rig) == large_output("big")
    await rig.conversation.run("Go on.")
    assert tool_result_texts(rig.model.requests[-1])[0] == large_output("big")


async def test_a_swept_output_takes_its_new_form_and_is_not_swept_again() -> None:
    """What the user wants to see stays, until they undo it; then the marker is back."""
    policy = msgspec.structs.replace(
        POLICY, sweep="at once", protect_steps=3, least_saving=10, previous_turn_share=0
    )
    rig = await a_session(policy, STEPS)
    assert rig.events(SweepMade)
    seq = seq_of(rig, "big")
    marker = shown_text(rig)
    assert marker.startswith(bare_marker(rig.tool_answers[0].digest, policy.handle_digits))
    await rig.conversation.window.send_all(seq)
    assert shown_text(rig) == large_output("big")
    later = [tool_call_reply(("say", {"text": "on"}), id_prefix=f"m{number}") for number in range(STEPS)]
    rig.model.script = replies_in_order(*later)
    await rig.conversation.run("Go on.")
    assert shown_text(rig) == large_output("big")
    choice_seq = rig.seqs(FormChosen)[0]
    await rig.conversation.window.undo(choice_seq)
    assert shown_text(rig) == marker


async def test_sending_what_is_sent_whole_records_nothing() -> None:
    """No event, and so no prefix that has to be sent again."""
    rig = await a_session()
    await rig.conversation.window.send_all(seq_of(rig, "big"))
    length = len(rig.conversation.session.log)
    await rig.conversation.window.send_all(seq_of(rig, "big"))
    await rig.conversation.window.send_all(seq_of(rig, "say"))
    assert len(rig.conversation.session.log) == length


def never_slow(model: Model) -> bool:
    return False


async def refused(rig: IntakeRig, seq: int) -> OutputFormUnavailable:
    """Return the refusal to send all of an output; nothing is recorded."""
    length = len(rig.conversation.session.log)
    with pytest.raises(OutputFormUnavailable) as caught:
        await rig.conversation.window.send_all(seq)
    assert len(rig.conversation.session.log) == length
    await rig.assert_consistent()
    return caught.value


async def test_a_form_that_no_request_has_room_for_is_refused_with_numbers() -> None:
    """How much it takes, how much there is, what to do instead."""
    rig = await a_session(info=ModelInfo("test", "main", window=1_300, reserve=200))
    error = await refused(rig, seq_of(rig, "big"))
    assert "doesn't fit in the context window" in error.what
    assert "1,2" in error.why
    assert error.fix


async def test_room_for_an_output_that_the_user_restored_is_made_of_older_parts() -> None:
    """With the next request, as for what the undo of a whole step restores; it stays, and nothing is lost."""
    rig = await a_session(msgspec.structs.replace(POLICY, intake_above=5_000))
    window = rig.conversation.window
    for name in ("first", "second"):
        rig.set_output(name, large_output(name))
        rig.model.script = replies_in_order(tool_call_reply((name, {}), id_prefix=name))
        await rig.conversation.run("Go on.")
    seq = seq_of(rig, "first")
    await window.cache_now(seq)
    rig.model.info = msgspec.structs.replace(rig.model.info, window=window.measure()[1].used + 1_000)
    await window.send_all(seq)
    assert not window.measure()[1].fits
    rig.model.script = replies_in_order(text_reply("done"))
    await rig.conversation.run("Go on.")
    assert window.measure()[1].fits
    assert [event.swept for event in rig.events(SweepMade)] == [(seq,), (seq_of(rig, "big"),)]
    assert shown_text(rig, "first") == large_output("first")
    await rig.assert_consistent()


async def test_what_a_call_was_given_is_restored_alone_and_cached_again() -> None:
    rig = await a_session(msgspec.structs.replace(POLICY, intake_above=5_000))
    rig.model.script = replies_in_order(tool_call_reply(("say", {"text": "word " * 900}), id_prefix="long"))
    await rig.conversation.run("Go on.")
    window = rig.conversation.window
    seq = seq_of(rig, "big")
    call = rig.seqs(AssistantSpoke)[2]
    before = window.measure()[0]
    await rig.conversation.session.record(SweepMade((seq, call), 1_000, SweepReason.BATCH))
    cached = window.measure()[0]
    await window.send_all(call)
    restored = window.measure()[0]
    assert cached.estimate < restored.estimate < before.estimate, "the output stays cached"
    assert restored.request.messages[-3:] == before.request.messages[-3:]
    await window.undo(rig.seqs(FormChosen)[0])
    assert window.measure()[0] == cached
    await rig.assert_consistent()


async def test_only_stored_outputs_have_forms() -> None:
    """Not the user's text, not the agent's, nothing that does not exist."""
    rig = await a_session()
    for seq in (0, 1, 2, 3, 999):
        assert "as a whole" in (await refused(rig, seq)).what


async def test_a_summarized_output_has_no_form_until_it_is_pinned() -> None:
    """The refusal says what to do; a pinned output takes its form outside the summary."""
    rig = await a_session(steps=3)
    rig.model.script = replies_in_order(text_reply("thinking " * 6_000), text_reply("thinking " * 3_000))
    await rig.say("Think.", "And now?")
    rig.model.summary_script = lambda _: text_reply(SUMMARY)
    rig.conversation.handovers.start()
    await rig.conversation.wait_for_background_work()
    assert rig.events(HandoverMade)
    seq = seq_of(rig, "big")
    assert "isn't in the context" in (await refused(rig, seq)).what
    await rig.conversation.window.pin(seq)
    before = rig.conversation.window.measure()[0].estimate
    await rig.conversation.window.send_all(seq)
    window, _ = rig.conversation.window.measure()
    assert any(
        large_output("big") in message.text for message in window.request.messages if message.role == "user"
    )
    assert window.estimate - before == 1_200 - rig.tool_answers[0].tokens
    assert sum(row.tokens for row in rig.conversation.window.items()) == window.estimate


async def test_a_form_chosen_during_a_turn_is_in_its_next_request() -> None:
    """Between two steps of a turn; every request stays valid."""
    rig = await a_session()
    rig.model.script = replies_in_order(tool_call_reply(("wait", {}), id_prefix="w"))
    await rig.conversation.send("Go on.")
    await rig.tools.started.wait()
    await rig.conversation.window.send_all(seq_of(rig, "big"))
    rig.tools.gate.set()
    await rig.wait_until_idle()
    assert tool_result_texts(rig.model.requests[-2])[0] != large_output("big")
    assert tool_result_texts(rig.model.requests[-1])[0] == large_output("big")


def model(name: str, window: int, extract: ScriptedReply | None = None, demo: bool = False) -> ScriptedModel:
    scripted = ScriptedModel(replies_in_order(), ModelInfo("test", name, window, reserve=100, demo=demo))
    scripted.extract_script = lambda _: extract if extract is not None else text_reply(f"by {name}")
    return scripted


def extractor(
    main: ScriptedModel, fast: ScriptedModel | None = None, long: ScriptedModel | None = None
) -> Extractor:
    settings = (PROFILES["balanced"], PromptFrame(main.info, ""), ModelRoles(main, fast=fast, long=long))
    return Extractor(WordCounter(), "Extract.", lambda: settings)


def output(tokens: int) -> OutputSource:
    text = "".join(f"row {number} of many\n" for number in range(tokens // 4))
    return OutputSource(text, tokens, digest_of(text.encode()), "say", "rows")


def request_counts(*models: ScriptedModel) -> list[int]:
    return [len(model.extract_requests) for model in models]


async def test_the_next_model_that_fits_is_used() -> None:
    """From the fast model to the main one to the long one."""
    main = model("main", 50_000)
    fast = model("fast", 9_000)
    long = model("long", 900_000)
    for tokens, expected in ((5_000, "fast"), (20_000, "main"), (200_000, "long")):
        result = await extractor(main, fast, long).extract(
            output(tokens), "names", CallBill(WordCounter()), never_slow
        )
        assert result.model == f"test/{expected}"
        assert bool(result.fallback_reason) == (expected != "fast")


@pytest.mark.parametrize(
    "error",
    [
        ModelRequestRejected(verbatim("The key was refused.")),
        ContextWindowExceeded(verbatim("It is too long.")),
    ],
)
async def test_a_failed_model_is_followed_by_the_next(error: ModelError) -> None:
    """The result says why it was not the first."""
    main = model("main", 50_000)
    fast = model("fast", 50_000, [error])
    result = await extractor(main, fast).extract(output(5_000), "names", CallBill(WordCounter()), never_slow)
    assert result.model == "test/main"
    assert result.fallback_reason == f"test/fast couldn't write it. {error.what}"


async def test_the_failure_of_all_models_is_reported() -> None:
    """The last reason counts; no model is asked twice."""
    main = model("main", 50_000, [ModelRequestRejected(verbatim("No."))])
    fast = model("fast", 50_000, [ModelRequestRejected(verbatim("No key."))])
    long = model("long", 50_000)  # it is there for what fits no other
    with pytest.raises(ModelRequestRejected, match=r"No\."):
        await extractor(main, fast, long).extract(output(5_000), "names", CallBill(WordCounter()), never_slow)
    assert request_counts(main, fast, long) == [1, 1, 0]


def parts_of(requests: Sequence[ModelRequest]) -> list[str]:
    return [request.messages[1].text.partition(">\n")[2].rpartition("\n</output")[0] for request in requests]


async def test_an_output_that_fits_no_model_is_read_in_concurrent_pieces_and_merged() -> None:
    """The largest model reads all pieces concurrently; one more request merges the answers."""
    main = model("main", 20_000)
    fast = model("fast", 5_000)
    together = asyncio.Event()

    def extract(request: ModelRequest) -> ScriptedReply:
        if len(main.extract_requests) == 3:
            together.set()
        return [together, *text_reply(f"found {len(main.extract_requests)}")]

    main.extract_script = extract
    source = output(40_000)
    bill = CallBill(WordCounter())
    result = await extractor(main, fast).extract(source, "names", bill, never_slow)
    assert request_counts(main, fast) == [4, 0]
    assert "".join(parts_of(main.extract_requests[:3])) == source.text
    assert [f"Part {n} of 3:\nfound" in parts_of(main.extract_requests)[3] for n in (1, 2, 3)] == [True] * 3
    assert result.fallback_reason == "Chosen from 3 pieces."
    assert "[Extract of 40,000 tokens" in result.text
    assert bill.spent.tokens > 40_000


async def test_an_output_too_long_even_in_pieces_loses_its_middle() -> None:
    """Head and tail are read, and the request says what is missing."""
    main = model("main", 5_000)
    source = output(60_000)
    result = await extractor(main).extract(source, "names", CallBill(WordCounter()), never_slow)
    (part,) = parts_of(main.extract_requests)
    assert result.fallback_reason == "The middle of the output was left out."
    assert part.startswith(source.text[:1_000])
    assert part.endswith(source.text[-1_000:])
    assert "characters left out here" in part


async def test_failed_pieces_lose_the_middle() -> None:
    """A piece that cannot be read does not fail the extract."""
    main = model("main", 20_000)
    main.extract_script = lambda _: (
        [ModelRequestRejected(verbatim("No."))] if len(main.extract_requests) <= 3 else text_reply("found")
    )
    result = await extractor(main).extract(output(40_000), "names", CallBill(WordCounter()), never_slow)
    assert result.fallback_reason == "The middle of the output was left out."


async def test_a_window_smaller_than_reported_is_detected() -> None:
    """What every model finds too long is read in smaller pieces."""
    main = model("main", 20_000)
    main.extract_script = lambda _: (
        [ContextWindowExceeded(verbatim("Too long."))]
        if len(main.extract_requests) == 1
        else text_reply("found")
    )
    result = await extractor(main).extract(output(10_000), "names", CallBill(WordCounter()), never_slow)
    assert result.fallback_reason == "Chosen from 2 pieces."
