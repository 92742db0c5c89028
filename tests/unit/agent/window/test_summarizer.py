"""The chain of whom to ask for a summary, and what is done when nobody can take the request whole."""

from __future__ import annotations

import asyncio
import re

import pytest

from helix_desktop.agent.models.roles import ModelRoles
from helix_desktop.agent.session import Session
from helix_desktop.agent.window.summarizer import Summarizer, SummaryResult
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy import PROFILES
from helix_desktop.context.summaries.summary_task import OPENING, SummaryTask
from helix_desktop.context.summaries.transcript_lines import TranscriptLine
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.errors import (
    CompactionRefused,
    ContextWindowExceeded,
    ModelRequestRejected,
    ModelUnreachable,
)
from helix_desktop.domain.events.session import AssistantSpoke, RecordedEvent, SessionStarted
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    TextDelta,
    Usage,
)
from helix_desktop.store.memory.store import MemoryStore
from helix_desktop.system.task_scope import TaskScope
from tests.support.message_linter import lint
from tests.support.scripted_model import Script, ScriptedModel, ScriptedReply, WordCounter, text_reply

RESERVE = 100
MERGING = "To be merged into one:"


def model(name: str, window: int, script: Script | None = None) -> ScriptedModel:
    """A model of so many tokens that sums up what it is asked."""
    return ScriptedModel(
        lambda _: text_reply("never"),
        ModelInfo("test", name, window, RESERVE),
        summary_script=script or summed,
    )


def summed(request: ModelRequest) -> ScriptedReply:
    """The entries that a request holds, and whether it merges: what it was made of can be told."""
    text = request.messages[-1].text
    seen = re.findall(r"\be(\d+)\b", text)
    kind = "merged" if MERGING in text else "of"
    return text_reply(f"{kind} {' '.join(f'e{one}' for one in seen)}")


def brief(entries: int, words: int = 100, merging: str = MERGING) -> SummaryTask:
    """A record of so many entries of so many words each."""
    record = tuple(TranscriptLine(f"e{n} user: ", "word " * words) for n in range(1, entries + 1))
    return SummaryTask("Sum up.", OPENING, "The record:", record, ("A wish.",), ("What was known.",), merging)


def read(text: str) -> str:
    """Any text but one that refuses."""
    if text == "I would rather not.":
        raise CompactionRefused("The summary was not taken.", "It says nothing.")
    return text


class Bench:
    """A summariser over scripted models."""

    def __init__(
        self, main: ScriptedModel, *others: ScriptedModel, summary: ScriptedModel | None = None
    ) -> None:
        log: list[RecordedEvent] = []
        self.transcript = Transcript()
        self.scope = TaskScope()
        session = Session("s", MemoryStore(lambda: 0), lambda: 0, self.scope, log, self.transcript)
        self.session = session
        self.roles = ModelRoles(main, summary=summary, long=others[0] if others else None)
        frame = PromptFrame(main.info, "")
        self.told: list[str] = []
        self.summariser = Summarizer(
            session, WordCounter(), lambda: (PROFILES["balanced"], frame, self.roles)
        )

    async def ask(self, asked: SummaryTask) -> SummaryResult[str]:
        """Ask, and look at every request that was made."""
        written = await self.summariser.summarize(asked, read, self.told.append)
        for one in self.roles.summary_models:
            assert isinstance(one, ScriptedModel)
            for request in one.summary_requests:
                assert lint(request.messages) == []
        return written


async def test_the_first_model_with_room_is_asked() -> None:
    """Once, whole; that is no fallback, and it is streamed."""
    main, small = model("main", 8_000), model("small", 4_000)
    bench = Bench(main, summary=small)
    written = await bench.ask(brief(3))
    assert written == SummaryResult("of e1 e2 e3", "test/small", False, 1, written.spent_tokens, "")
    (request,) = small.summary_requests
    texts = [*(message.text for message in request.messages), "of e1 e2 e3"]
    assert written.spent_tokens == sum(await WordCounter().count(texts)) + 2 * FRAMING_TOKENS
    assert "of e1 e2 e3" in bench.told
    assert main.summary_requests == []
    text = small.summary_requests[0].messages[-1].text
    assert text.startswith(f"{OPENING}\nA wish.\nWhat was known.\nThe record:\ne1 user: word")


async def test_what_does_not_fit_is_not_sent() -> None:
    """A request too large for a model goes to the next in the chain; the event can say so."""
    main, small, long = model("main", 1_000), model("small", 500), model("long", 9_000)
    written = await Bench(main, long, summary=small).ask(brief(20))
    assert (written.model, written.calls) == ("test/long", 1)
    assert written.fallback_reason.startswith("test/long was asked: test/small has room for 400 of ")
    assert "test/main has room for 900 of " in written.fallback_reason
    assert small.summary_requests == main.summary_requests == []


@pytest.mark.parametrize(
    "play",
    [
        [TextDelta("half"), ContextWindowExceeded("Too long.")],
        [ModelUnreachable("The server does not answer.")],
        [ModelRequestRejected("No such model.")],
        text_reply("I would rather not."),
        [ModelResponse(" ")],
    ],
)
async def test_a_model_that_fails_is_followed_by_the_next(play: ScriptedReply) -> None:
    """Whatever it is that fails; the reason is kept."""
    main = model("main", 8_000)
    written = await Bench(main, summary=model("small", 4_000, lambda _: play)).ask(brief(3))
    assert (written.value, written.model, written.calls) == ("of e1 e2 e3", "test/main", 2)
    assert written.fallback_reason.startswith("test/main was asked: test/small: ")


async def test_the_ratio_counts() -> None:
    """A model that reported twice our count has half the room."""
    main, long = model("main", 2_000), model("long", 9_000)
    bench = Bench(main, long)
    spoke = AssistantSpoke("x", "test/main", 1, usage=Usage(2_000, 1), estimate=1_000)
    await bench.session.record(SessionStarted("s"), spoke)
    assert (await bench.ask(brief(8))).model == "test/main"
    assert (await bench.ask(brief(10))).model == "test/long"
    assert all(len(one.messages[-1].text) < 5 * 950 for one in main.summary_requests)


async def test_in_parts() -> None:
    """No model has room for it: the largest reads it part by part, and merges."""
    main, small = model("main", 1_000), model("small", 500)
    written = await Bench(main, summary=small).ask(brief(20))
    assert written.value is not None
    assert written.value.startswith("merged ")
    assert re.findall(r"e(\d+)", written.value) == [str(n) for n in range(1, 21)]
    assert written.fallback_reason.startswith("test/main read it in parts: test/small has room for ")
    *parts, merging = [request.messages[-1].text for request in main.summary_requests]
    assert len(parts) == written.calls - 1 >= 3
    assert all("A wish." in part and "What was known." not in part for part in parts)
    assert "A wish.\nWhat was known.\nTo be merged into one:\npart 1: of e1" in merging
    assert small.summary_requests == []


async def test_what_it_costs() -> None:
    """Tokens in and out of every call, as reported where they are."""

    def reporting(request: ModelRequest) -> ScriptedReply:
        return [ModelResponse("of it", usage=Usage(1_000, 7))]

    written = await Bench(model("main", 1_000, reporting)).ask(brief(20))
    assert written.calls > 3
    assert written.spent_tokens == written.calls * 1_007


@pytest.mark.parametrize(("window", "entries"), [(8_000, 3), (1_000, 20)])
async def test_an_estimate_covers_every_call(window: int, entries: int) -> None:
    """Also those of parts and of their merging, within a fifth of what is then read."""
    main = model("main", window)
    bench = Bench(main)
    estimate = await bench.summariser.estimate(brief(entries))
    written = await bench.ask(brief(entries))
    texts = [message.text for request in main.summary_requests for message in request.messages]
    read = sum(await WordCounter().count(texts)) + FRAMING_TOKENS * len(texts)
    assert estimate.calls == written.calls
    assert estimate.tokens >= read * 0.8


async def test_parts_can_be_joined() -> None:
    """Where there is nothing to merge the parts' texts simply follow each other."""
    main = model("main", 1_000)
    written = await Bench(main).ask(brief(20, merging=""))
    assert written.value is not None
    assert re.findall(r"e(\d+)", written.value) == [str(n) for n in range(1, 21)]
    assert written.calls == len(written.value.splitlines()) >= 3


async def test_parts_of_parts() -> None:
    """When the parts' texts do not fit one request they are merged group by group."""

    def long_winded(request: ModelRequest) -> ScriptedReply:
        (play,) = [part for part in summed(request) if isinstance(part, ModelResponse)]
        return text_reply(play.text + " more" * 330)

    main = model("main", 1_000, long_winded)
    written = await Bench(main).ask(brief(20))
    assert written.value is not None
    assert re.findall(r"e(\d+)", written.value) == [str(n) for n in range(1, 21)]
    merges = [one for one in main.summary_requests if MERGING in one.messages[-1].text]
    assert len(merges) >= 3


async def test_the_request_itself_overflows() -> None:
    """The server's room counts, not what the settings say: it is asked again in smaller parts."""

    def small_inside(request: ModelRequest) -> ScriptedReply:
        if len(request.messages[-1].text.split()) > 700:
            return [ContextWindowExceeded("Too long.")]
        return summed(request)

    main = model("main", 9_000, small_inside)
    written = await Bench(main).ask(brief(20))
    assert written.value is not None
    assert re.findall(r"e(\d+)", written.value) == [str(n) for n in range(1, 21)]
    assert written.fallback_reason == "test/main read it in parts: test/main: Too long."


async def test_cut_down() -> None:
    """When the parts fail, the middle is left out; head and tail stay."""

    def whole_only(request: ModelRequest) -> ScriptedReply:
        text = request.messages[-1].text
        return summed(request) if "What was known." in text and MERGING not in text else text_reply(" ")

    main = model("main", 600, whole_only)
    written = await Bench(main).ask(brief(200))
    assert written.fallback_reason.startswith("test/main read it shortened: test/main has room for 500 of ")
    assert "test/main: The model sent no summary." in written.fallback_reason
    assert written.value is not None
    assert "e1 " in written.value
    assert written.value.endswith("e200")
    assert re.search(r"\(… \d+ messages left out here …\)", main.summary_requests[-1].messages[-1].text)


async def test_cut_down_further_while_it_overflows() -> None:
    """Each time in half the room."""

    def tiny_inside(request: ModelRequest) -> ScriptedReply:
        text = request.messages[-1].text
        if "What was known." not in text:
            return text_reply(" ")
        return [ContextWindowExceeded("Too long.")] if len(text.split()) > 500 else summed(request)

    main = model("main", 4_000, tiny_inside)
    written = await Bench(main).ask(brief(30))
    assert written.fallback_reason.startswith("test/main read it shortened: ")
    assert written.value is not None
    assert written.value.endswith("e30")
    sizes = [len(one.messages[-1].text.split()) for one in main.summary_requests]
    assert sizes[-1] < 500 < sizes[-2] < sizes[0]


async def test_nothing_is_asked_about_nothing() -> None:
    """Where not one entry of the record would fit, the model is not asked."""
    main = model("main", RESERVE + 12)
    written = await Bench(main).ask(brief(3))
    assert (written.value, written.calls) == (None, 0)


async def test_no_model_could() -> None:
    """All that was tried is said; it ends."""
    main = model("main", 1_000, lambda _: [ContextWindowExceeded("Too long.")])
    written = await Bench(main).ask(brief(20))
    assert written.value is None
    assert written.calls <= 12
    assert written.fallback_reason.startswith("no model could: test/main has room for 900 of ")
    assert "test/main: Too long." in written.fallback_reason


async def test_unreachable_models_are_asked_once() -> None:
    """Where size is not the trouble, parts would fail as well."""
    main = model("main", 8_000, lambda _: [ModelUnreachable("The server does not answer.")])
    written = await Bench(main).ask(brief(3))
    assert (written.value, written.calls) == (None, 1)
    assert written.fallback_reason == "no model could: test/main: The server does not answer."


async def test_a_server_that_does_not_come_back_is_given_up_soon() -> None:
    """A turn waits for minutes; a summary is made without a model after a few attempts."""
    main = model(
        "main", 8_000, lambda _: [RetryScheduled(attempt, 0.5, "no connection") for attempt in range(2, 30)]
    )
    written = await Bench(main).ask(brief(3))
    assert (written.value, written.calls) == (None, 1)
    assert written.fallback_reason == "no model could: test/main: test/main could not answer. no connection"
    main = model("main", 8_000, lambda _: [RetryScheduled(2, 300.0, "asks to wait")])
    assert (await Bench(main).ask(brief(3))).value is None


async def test_a_window_smaller_than_its_reserve() -> None:
    """Nothing is sent to a model that has no room at all."""
    main = model("main", 80)
    written = await Bench(main).ask(brief(3))
    assert (written.value, written.calls) == (None, 0)
    assert main.summary_requests == []


async def test_cancelling_ends_the_call() -> None:
    """At any depth; the stream is closed."""
    gate = asyncio.Event()
    main = model("main", 1_000, lambda _: [TextDelta("so far"), gate])
    bench = Bench(main)
    task = bench.scope.start(bench.ask(brief(20)), "asking")
    while "so far" not in bench.told:  # noqa: ASYNC110 - its own steps are what is waited for
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert (main.closed_streams, len(main.summary_requests)) == (1, 1)
    await bench.scope.close()
