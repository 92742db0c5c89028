"""The summarizer: fallbacks, what unused calls cost, and canaries that no summary may lose."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable

import msgspec
import pytest

from helix_desktop.agent.compaction.summarizer import Summarizer, SummaryReader, SummaryResult
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.session import CompactionProgress, ErrorRaised, ObservationProgress, Session
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.context.summaries.summary_task import OPENING, SummaryTask, TranscriptLine
from helix_desktop.context.window.window import PromptFrame
from helix_desktop.domain.errors import (
    CompactionRefused,
    ContextWindowExceeded,
    ModelRequestRejected,
    ModelUnreachable,
    StoreWriteFailed,
)
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import SessionStarted
from helix_desktop.domain.events.summary import (
    FactKind,
    HandoverDiscarded,
    HandoverMade,
    ObservationsMade,
    ObservationsPlaced,
)
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    TextDelta,
    ToolCall,
    Usage,
)
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import OptionalText, verbatim
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.cache.index_recall import RecallArguments
from helix_desktop.tools.cache.recall import RecallCachedContent
from helix_desktop.tools.process import Ripgrep
from tests.support.agent_rig import AgentRig, ScriptedTools, begin_with
from tests.support.compaction_rig import MANUAL_ONLY
from tests.support.message_linter import lint
from tests.support.scripted_model import (
    Script,
    ScriptedModel,
    ScriptedReply,
    WordCounter,
    text_reply,
    thinking_script,
    tool_call_reply,
)

RESERVE = 100
MERGING = "To be merged into one:"


def model(name: str, window: int, script: Script | None = None) -> ScriptedModel:
    """Return a model with so many tokens that summarizes its request."""
    return ScriptedModel(
        lambda _: text_reply("never"),
        ModelInfo("test", name, window, RESERVE),
        summary_script=script or summary_of,
    )


def summary_of(request: ModelRequest) -> ScriptedReply:
    """Return the entries that a request has, and whether it merges: shows what it was made of."""
    text = request.messages[-1].text
    entries = re.findall(r"\be(\d+)\b", text)
    kind = "merged" if MERGING in text else "of"
    return text_reply(f"{kind} {' '.join(f'e{entry}' for entry in entries)}")


def brief(entries: int, word_count: int = 100, merging: str = MERGING) -> SummaryTask:
    """Return a record of so many entries of so many words each."""
    record = tuple(TranscriptLine(f"e{n} user: ", "word " * word_count) for n in range(1, entries + 1))
    return SummaryTask("Sum up.", OPENING, "The record:", record, ("A wish.",), ("What was known.",), merging)


def read(text: str) -> str:
    """Return any text except a refusal."""
    if text == "I would rather not.":
        raise CompactionRefused(verbatim("The summary was not taken."), verbatim("It says nothing."))
    return text


class SummarizerRig:
    def __init__(
        self, main: ScriptedModel, *others: ScriptedModel, summary: ScriptedModel | None = None
    ) -> None:
        log: list[RecordedEvent] = []
        self.transcript = Transcript()
        self.scope = TaskScope()
        self.roles = ModelRoles(main, summary=summary, long=others[0] if others else None)
        frame = PromptFrame(main.info, "")
        self.session = Session(
            "s",
            MemoryStore(lambda: 0),
            WordCounter(),
            lambda: 0,
            self.scope,
            log,
            self.transcript,
            lambda: (PROFILES["balanced"], frame, self.roles),
        )
        self.chunks: list[str] = []
        self.summarizer = Summarizer(self.session)

    async def ask(self, task: SummaryTask) -> SummaryResult[str]:
        """Summarize, and check every request that was made."""
        result = await self.summarizer.summarize(task, SummaryReader(read), self.chunks.append)
        for model in self.roles.summary_models:
            assert isinstance(model, ScriptedModel)
            for request in model.summary_requests:
                assert lint(request.messages) == []
        return result


async def test_the_first_model_with_space_is_used() -> None:
    """Once, in full; that is no fallback, and it is streamed."""
    main = model("main", 8_000)
    small = model("small", 4_000)
    summarizer = SummarizerRig(main, summary=small)
    result = await summarizer.ask(brief(3))
    assert result == SummaryResult("of e1 e2 e3", "test/small", False, 1, result.spent, "")
    (request,) = small.summary_requests
    texts = [*(message.text for message in request.messages), "of e1 e2 e3"]
    assert result.spent.tokens == sum(await WordCounter().count(texts)) + 2 * FRAMING_TOKENS
    assert "of e1 e2 e3" in summarizer.chunks
    assert main.summary_requests == []
    text = small.summary_requests[0].messages[-1].text
    assert text.startswith(f"{OPENING}\nA wish.\nWhat was known.\nThe record:\ne1 user: word")


async def test_a_request_that_does_not_fit_is_not_sent() -> None:
    """A request too large for a model goes to the next in the chain; the event can say so."""
    main = model("main", 1_000)
    small = model("small", 500)
    long = model("long", 9_000)
    result = await SummarizerRig(main, long, summary=small).ask(brief(20))
    assert (result.model, result.calls) == ("test/long", 1)
    assert result.fallback_reason.startswith("test/long wrote it. test/small has room for 400 of ")
    assert "test/main has room for 900 of " in result.fallback_reason
    assert small.summary_requests == main.summary_requests == []


async def test_the_model_for_long_texts_gets_no_text_that_fits_another() -> None:
    """Not even if the others fail: for that it was not chosen."""
    main, small, long = (model(name, 8_000) for name in ("main", "small", "long"))
    for other in (main, small):
        other.summary_script = lambda _: [ModelUnreachable(verbatim("The server does not answer."))]
    result = await SummarizerRig(main, long, summary=small).ask(brief(3))
    assert result.value is None
    assert [len(each.summary_requests) for each in (main, small, long)] == [1, 1, 0]


@pytest.mark.parametrize(
    "reply",
    [
        [TextDelta("half"), ContextWindowExceeded(verbatim("Too long."))],
        [ModelUnreachable(verbatim("The server does not answer."))],
        [ModelRequestRejected(verbatim("No such model."))],
    ],
)
async def test_a_failed_model_is_followed_by_the_next(reply: ScriptedReply) -> None:
    """For any failure; the reason is kept."""
    main = model("main", 8_000)
    result = await SummarizerRig(main, summary=model("small", 4_000, lambda _: reply)).ask(brief(3))
    assert (result.value, result.model, result.calls) == ("of e1 e2 e3", "test/main", 2)
    assert result.fallback_reason.startswith("test/main wrote it. test/small: ")


@pytest.mark.parametrize("reply", [text_reply("I would rather not."), [ModelResponse(" ")]])
async def test_a_text_that_is_not_used_is_asked_for_again_with_the_reason(reply: ScriptedReply) -> None:
    """The last of three requests is left to the next model; alone, one model gets all three."""
    small = model("small", 4_000, lambda _: reply)
    main = model("main", 8_000)
    result = await SummarizerRig(main, summary=small).ask(brief(3))
    assert (result.value, result.model, result.calls) == ("of e1 e2 e3", "test/main", 3)
    first, second = (request.messages[-1].text for request in small.summary_requests)
    assert second.startswith(first), "what the provider has stored is read again at its price"
    reason = "The model sent no text." if reply[0] == ModelResponse(" ") else "It says nothing."
    assert second.removeprefix(first).startswith(f"\n[Your last answer could not be used. {reason} ")

    alone = SummarizerRig(model("main", 8_000, lambda _: reply))
    result = await alone.ask(brief(3))
    assert (result.value, result.calls) == (None, 3)
    assert alone.summarizer.has_text == (reply != [ModelResponse(" ")])
    assert result.rejection is not None


async def test_the_parts_are_read_once_while_their_merging_is_asked_for_again() -> None:
    def refused_once(request: ModelRequest) -> ScriptedReply:
        text = request.messages[-1].text
        is_first = MERGING in text and "could not be used" not in text
        return text_reply("I would rather not.") if is_first else summary_of(request)

    main = model("main", 1_000, refused_once)
    result = await SummarizerRig(main).ask(brief(20))
    assert result.value is not None
    merges = [request for request in main.summary_requests if MERGING in request.messages[-1].text]
    assert len(merges) == 2
    assert result.calls == len(main.summary_requests)
    assert len({request.messages[-1].text for request in main.summary_requests}) == result.calls


class DoubtingReader(SummaryReader[str]):
    """Takes any text, and would rather have one about e9."""

    def doubt(self, text: str, value: str) -> OptionalText:
        return "" if "e9" in text else verbatim("It leaves out e9.")


async def test_a_doubtful_text_is_used_where_no_better_one_comes() -> None:
    """Three requests at most, each with what was missing; the newest of them is used, and that is said."""
    main = model("main", 8_000)
    rig = SummarizerRig(main)
    result = await rig.summarizer.summarize(brief(3), DoubtingReader(read), rig.chunks.append)
    assert (result.value, result.calls) == ("of e1 e2 e3 e9", 2)

    main.summary_script = lambda _: text_reply("of e1")
    result = await rig.summarizer.summarize(brief(3), DoubtingReader(read), rig.chunks.append)
    assert (result.value, result.model, result.calls) == ("of e1", "test/main", 3)
    assert result.fallback_reason == "test/main wrote it. test/main: It leaves out e9."


async def test_a_text_that_was_cut_is_asked_for_again() -> None:
    replies: list[ScriptedReply] = [
        [ModelResponse("of e1 an", stop="length")],
        text_reply("of e1 and e2"),
    ]
    main = model("main", 8_000, lambda _: replies.pop(0))
    assert (await SummarizerRig(main).ask(brief(3))).value == "of e1 and e2"


async def test_a_broken_connection_leaves_the_doubtful_text() -> None:
    replies: list[ScriptedReply] = [
        [ModelResponse("of e1 an", stop="length")],
        [ModelUnreachable(verbatim("It is gone."))],
    ]
    main = model("main", 8_000, lambda _: replies.pop(0))
    result = await SummarizerRig(main).ask(brief(3))
    assert (result.value, result.calls) == ("of e1 an", 2)


async def test_the_calibration_ratio_counts() -> None:
    """A model that reported twice our count has half the space, and is spoken of in its own tokens."""
    main = model("main", 2_000)
    long = model("long", 9_000)
    summarizer = SummarizerRig(main, long)
    answer = AssistantSpoke("x", "test/main", 1, usage=Usage(2_000, 1), estimate=1_000)
    await summarizer.session.record(SessionStarted("s"), answer)
    assert (await summarizer.ask(brief(8))).model == "test/main"
    result = await summarizer.ask(brief(10))
    assert result.model == "test/long"
    assert "test/main has room for 1,900 of 2,080 tokens" in result.fallback_reason
    assert all(len(request.messages[-1].text) < 5 * 950 for request in main.summary_requests)


async def test_a_request_is_read_in_parts() -> None:
    """It fits no model: the largest reads it part by part, and merges."""
    main = model("main", 1_000)
    small = model("small", 500)
    result = await SummarizerRig(main, summary=small).ask(brief(20))
    assert result.value is not None
    assert result.value.startswith("merged ")
    assert re.findall(r"e(\d+)", result.value) == [str(n) for n in range(1, 21)]
    assert result.fallback_reason.startswith("test/main read it in parts. test/small has room for ")
    *parts, merging = [request.messages[-1].text for request in main.summary_requests]
    assert len(parts) == result.calls - 1 >= 3
    assert all("A wish." in part and "What was known." not in part for part in parts)
    assert "A wish.\nWhat was known.\nTo be merged into one:\npart 1: of e1" in merging
    assert small.summary_requests == []


@pytest.mark.parametrize(("window", "entries"), [(8_000, 3), (1_000, 20)])
async def test_an_estimate_covers_every_call(window: int, entries: int) -> None:
    """Also those of parts and of their merging, within a fifth of what is then read."""
    main = model("main", window)
    summarizer = SummarizerRig(main)
    estimate = await summarizer.summarizer.estimate(brief(entries))
    result = await summarizer.ask(brief(entries))
    texts = [message.text for request in main.summary_requests for message in request.messages]
    read = sum(await WordCounter().count(texts)) + FRAMING_TOKENS * len(texts)
    assert estimate.calls == result.calls
    assert estimate.tokens >= read * 0.8


async def test_parts_of_parts() -> None:
    """When the parts' texts do not fit one request they are merged group by group."""

    def long_winded(request: ModelRequest) -> ScriptedReply:
        (response,) = [part for part in summary_of(request) if isinstance(part, ModelResponse)]
        return text_reply(response.text + " more" * 330)

    main = model("main", 1_000, long_winded)
    result = await SummarizerRig(main).ask(brief(20))
    assert result.value is not None
    assert re.findall(r"e(\d+)", result.value) == [str(n) for n in range(1, 21)]
    merges = [request for request in main.summary_requests if MERGING in request.messages[-1].text]
    assert len(merges) >= 3


async def test_the_request_itself_overflows() -> None:
    """The server's limit counts, not the settings: the request is repeated in smaller parts."""

    def small_inside(request: ModelRequest) -> ScriptedReply:
        if len(request.messages[-1].text.split()) > 700:
            return [ContextWindowExceeded(verbatim("Too long."))]
        return summary_of(request)

    main = model("main", 9_000, small_inside)
    result = await SummarizerRig(main).ask(brief(20))
    assert result.value is not None
    assert re.findall(r"e(\d+)", result.value) == [str(n) for n in range(1, 21)]
    assert result.fallback_reason == "test/main read it in parts. test/main: Too long."


async def test_the_middle_is_omitted() -> None:
    """When the parts fail, the middle is left out; head and tail stay."""

    def full_request_only(request: ModelRequest) -> ScriptedReply:
        text = request.messages[-1].text
        return summary_of(request) if "What was known." in text and MERGING not in text else text_reply(" ")

    main = model("main", 600, full_request_only)
    result = await SummarizerRig(main).ask(brief(200))
    assert result.fallback_reason.startswith(
        "test/main read a shortened version. test/main has room for 500 "
    )
    assert "test/main: The model sent no text." in result.fallback_reason
    assert result.value is not None
    assert "e1 " in result.value
    assert result.value.endswith("e200")
    assert re.search(r"\(… \d+ messages left out here …\)", main.summary_requests[-1].messages[-1].text)


async def test_more_is_omitted_while_it_overflows() -> None:
    """Each time in half the space."""

    def tiny_inside(request: ModelRequest) -> ScriptedReply:
        text = request.messages[-1].text
        if "What was known." not in text:
            return text_reply(" ")
        return (
            [ContextWindowExceeded(verbatim("Too long."))] if len(text.split()) > 500 else summary_of(request)
        )

    main = model("main", 4_000, tiny_inside)
    result = await SummarizerRig(main).ask(brief(30))
    assert result.fallback_reason.startswith("test/main read a shortened version. ")
    assert result.value is not None
    assert result.value.endswith("e30")
    sizes = [len(request.messages[-1].text.split()) for request in main.summary_requests]
    assert sizes[-1] < 500 < sizes[-2] < sizes[0]


@pytest.mark.parametrize("window", [80, RESERVE + 12], ids=["less than its reserve", "no room for an entry"])
async def test_no_request_without_entries(window: int) -> None:
    """Where not one entry of the record would fit, the model gets no request."""
    main = model("main", window)
    result = await SummarizerRig(main).ask(brief(3))
    assert (result.value, result.calls) == (None, 0)
    assert main.summary_requests == []


async def test_no_model_succeeds() -> None:
    """All attempts are reported; it ends."""
    main = model("main", 1_000, lambda _: [ContextWindowExceeded(verbatim("Too long."))])
    result = await SummarizerRig(main).ask(brief(20))
    assert result.value is None
    assert result.calls <= 12
    assert result.fallback_reason.startswith("No model could write it. test/main has room for 900 of ")
    assert "test/main: Too long." in result.fallback_reason


async def test_a_refusing_model_is_tried_once_and_what_its_server_said_is_the_reason() -> None:
    """Where size is not the problem, parts would fail as well."""
    denied = ModelRequestRejected(verbatim("Denied."), verbatim("Perhaps."), details=verbatim("No quota."))
    result = await SummarizerRig(model("main", 8_000, lambda _: [denied])).ask(brief(3))
    assert (result.value, result.calls) == (None, 1)
    assert result.fallback_reason == "No model could write it. test/main: Denied. Perhaps. No quota."


def retries(*waits_s: float) -> ScriptedReply:
    """Return a server that is busy, and answers after so many seconds each."""
    scheduled = [RetryScheduled(attempt, wait_s, "busy") for attempt, wait_s in enumerate(waits_s, 2)]
    return [*scheduled, ModelResponse("of e1")]


@pytest.mark.parametrize(
    ("waits_s", "is_written"),
    [
        ((0.5, 1, 2, 4, 8, 16, *(30,) * 8), True),
        ((0.5, 1, 2, 4, 8, 16, *(30,) * 9), False),
        ((290,), True),
        ((301,), False),
    ],
)
async def test_a_server_is_tried_for_five_minutes(waits_s: tuple[float, ...], is_written: bool) -> None:
    """Also one that asks for a long wait; longer than that it would be waited for in vain."""
    result = await SummarizerRig(model("main", 8_000, lambda _: retries(*waits_s))).ask(brief(3))
    assert (result.value is not None, result.calls) == (is_written, 1)
    if not is_written:
        reason = "No model could write it. test/main: test/main couldn't answer. busy"
        assert result.fallback_reason == reason


async def test_another_model_is_asked_before_five_minutes_are_over() -> None:
    """After a few attempts, since it may answer at once."""
    small = model("small", 8_000, lambda _: retries(*(1,) * 9))
    result = await SummarizerRig(model("main", 8_000), summary=small).ask(brief(3))
    assert (result.value, result.model) == ("of e1 e2 e3", "test/main")


async def test_canceling_ends_the_call() -> None:
    """At any depth; the stream is closed."""
    gate = asyncio.Event()
    main = model("main", 1_000, lambda _: [TextDelta("so far"), gate])
    summarizer = SummarizerRig(main)
    task = summarizer.scope.start(summarizer.ask(brief(20)), "asking")
    while "so far" not in summarizer.chunks:  # noqa: ASYNC110 - its own steps are what is waited for
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert (main.closed_streams, len(main.summary_requests)) == (1, 1)
    await summarizer.scope.close()


Progress = type[CompactionProgress] | type[ObservationProgress]


def unfinished(_: ModelRequest) -> ScriptedReply:
    """Return the start of a summary that never ends."""
    return [TextDelta("## Project Background\n- The"), asyncio.Event()]


async def rig_after_two_turns() -> AgentRig:
    """Return a conversation that can be summarized, by a model that does not get done."""
    rig, _ = await begin_with(
        script=thinking_script(9), summary=unfinished, observe=unfinished, policy=MANUAL_ONLY
    )
    await rig.say("Think.", "And now?")
    return rig


async def writing(progress: Progress) -> tuple[AgentRig, int]:
    """Return a conversation whose summary is being written in the background, and what it spent before."""
    rig = await rig_after_two_turns()
    spent = rig.conversation.budget.spent.tokens
    if progress is CompactionProgress:
        rig.conversation.handovers.start()
    else:
        rig.conversation.observations.start()
    await until_written(rig, progress)
    return rig, spent


async def until_written(rig: AgentRig, progress: Progress) -> None:
    await rig.wait_until(lambda: any("- The" in update.text for update in rig.updates_of(progress)))


CANCEL: dict[Progress, Callable[[AgentRig], None]] = {
    CompactionProgress: lambda rig: rig.conversation.handovers.cancel(),
    ObservationProgress: lambda rig: rig.conversation.observations.cancel(),
}


@pytest.mark.parametrize("progress", CANCEL)
async def test_canceled_in_the_background_it_counts_in_usage_and_budget(progress: Progress) -> None:
    rig, spent = await writing(progress)
    CANCEL[progress](rig)
    await rig.conversation.wait_for_background_work()
    (discarded,) = rig.events(HandoverDiscarded)
    assert discarded.estimated
    assert discarded.spent == rig.conversation.budget.spent.tokens - spent > 0
    assert rig.events(HandoverMade) == []
    assert rig.events(ObservationsMade) == []


async def test_closing_the_session_counts_it_too() -> None:
    rig, spent = await writing(CompactionProgress)
    await rig.conversation.close()
    assert rig.conversation.budget.spent.tokens > spent


@pytest.mark.expect_errors("task .* failed")
async def test_on_a_full_disk_the_cost_is_recorded_once_there_is_room() -> None:
    """The error says that the conversation is unchanged, why, and what to do."""
    rig, spent = await writing(CompactionProgress)
    rig.store.first_failing_write = rig.store.write_count + 1
    rig.conversation.handovers.cancel()
    await rig.conversation.wait_for_background_work()
    (error,) = rig.updates_of(ErrorRaised)
    check_texts(error)
    assert rig.conversation.budget.spent.tokens == spent
    rig.store.first_failing_write = 10**9
    await rig.conversation.rename("There is room again")
    await rig.wait_until(lambda: rig.events(HandoverDiscarded))
    assert rig.conversation.budget.spent.tokens > spent


def check_texts(error: StoreWriteFailed | ErrorRaised) -> None:
    assert "The conversation is unchanged" in error.what
    assert "Nothing was stored" in error.why
    assert "Free up disk space" in error.fix


ROUNDS = 5
# Only what the test asks for rewrites the window; little of the user's text stays verbatim.
BY_HAND = msgspec.structs.replace(
    PROFILES["balanced"], protect_steps=1_000, protect_tokens=10**6, preview_above=0.8, fold_after_steps=0,
    sweep="fixed", sweep_fixed=10**6, observe_at=0.9, observe_place_at=0.9, handover_at=0.95,
    handover_least_messages=10_000, handover_least_gain=0.0, user_text_tokens=60,
)  # fmt: skip
_INDEX = re.compile(r'recall_cached_content\("([0-9a-f]{12})"\) [\d,]+ outputs? covered here')
FILLER = "and so on " * 80


def canaries(number: int) -> dict[str, str]:
    """Return what must not be lost of a round, by its type."""
    return {
        "path": f"src/gen/module_{number}.py",
        "hash": f"9fceb02d0ae{number}",
        "number": f"#47{number}1",
        "measure": f"{number}3.5 ms",
        "command": f"make check_{number} --strict",
        "instruction": f"Never rename table_{number} before the release.",
        "decision": f"keep schema_{number} because readers lock it",
        "error": f"ValueError: field_{number} is too short",
    }


FLAGGED: dict[str, FactKind] = {
    "path": "files",
    "hash": "hashes",
    "number": "numbers",
    "measure": "numbers",
    "command": "commands",
    "instruction": "instructions",
}


class CanaryTools(ScriptedTools):
    """Tools that write a file, and run a command that fails."""

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        arguments = json.loads(call.arguments)
        failed = call.name == "run_command"
        return ToolResult(
            f"{FILLER}\n{arguments['output']}\n{FILLER}".encode(),
            ok=not failed,
            exit_code=2 if failed else None,
            target=arguments["target"],
        )


def working(number: int) -> Script:
    """Return a model that writes a file, runs a check, and says what it decided."""
    found = canaries(number)

    def reply(request: ModelRequest) -> ScriptedReply:
        if request.messages[-1].role == "user":
            return tool_call_reply(
                ("write_file", {"target": found["path"], "output": "Wrote it."}),
                ("run_command", {"target": found["command"], "output": f"E   {found['error']}"}),
                id_prefix=f"c{len(request.messages)}-{number}-",
            )
        return text_reply(
            f"Decided to {found['decision']}: commit {found['hash']} takes {found['measure']}. {FILLER}"
        )

    return reply


def handover(*lines: str) -> str:
    """Return a handover that says the same in each section."""
    return "\n".join(f"## {title}\n" + "\n".join(lines) for title in TITLES)


def user_entry(request: ModelRequest) -> str:
    """Return the newest message of the user in a record, and the entry behind it."""
    entries: list[str] = re.findall(r"^e(\d+) user: ", request.messages[-1].text, re.MULTILINE)
    newest = int(entries[-1]) if entries else 3
    return f"e{newest}, e{newest + 1}"


def drops(request: ModelRequest) -> list[str]:
    """Say that work was done, at length, and nothing of what matters."""
    return [f"- Work went on as the user wished, part {n} of it [{user_entry(request)}]" for n in range(9)]


def invents(request: ModelRequest) -> list[str]:
    """Say what nobody did, of invented files among the real ones."""
    source = user_entry(request)
    real = re.findall(r"src/gen/module_\d\.py", request.messages[-1].text)
    return [f"- src/invented_{n}.py was deleted, and {real[:1]} is deployed [{source}]" for n in range(3)]


def reverses(request: ModelRequest) -> list[str]:
    """Say that the user wants what they forbade."""
    source = user_entry(request)
    tables = sorted({*re.findall(r"table_\d", request.messages[-1].text)})
    return [f"- The user wants to rename {table} before the release [{source}]" for table in tables]


def empties(_: ModelRequest) -> list[str]:
    return ["- None"]


Lines = Callable[[ModelRequest], list[str]]


def model_of(lines: Lines | None) -> ScriptedModel:
    """Return a model whose summaries say these lines; none: it cannot be reached, so they are extracts."""
    if lines is None:
        unreachable = [ModelUnreachable(verbatim("It is gone."))]
        return ScriptedModel(
            working(0), summary_script=lambda _: unreachable, observation_script=lambda _: unreachable
        )
    return ScriptedModel(
        working(0),
        summary_script=lambda request: text_reply(handover(*lines(request))),
        observation_script=lambda request: text_reply("\n".join(lines(request))),
    )


@pytest.mark.parametrize("lines", [None, drops, invents, reverses, empties])
async def test_five_rounds_lose_nothing(lines: Lines | None) -> None:
    """Observations of two rounds, then a handover, five times over; manually, so that each happens."""
    rig = AgentRig(model_of(lines), BY_HAND, tools=CanaryTools())
    await rig.begin()
    for number in range(1, ROUNDS + 1):
        rig.model.script = working(number)
        found = canaries(number)
        await rig.say(
            f"Fix {found['number']} now. {found['instruction']} {FILLER}", f"Go on with it. {FILLER}"
        )
        rig.conversation.observations.start()
        await rig.wait_until_idle()
        await assert_within_one_call(rig, number)
        for _ in range(2):
            await rig.conversation.run(f"And a bit more of it. {FILLER}")
        rig.conversation.handovers.start()
        await rig.wait_until_idle()
        await assert_within_one_call(rig, number)
    assert len(rig.events(HandoverMade)) == ROUNDS or lines is empties
    assert len(rig.events(ObservationsPlaced)) == ROUNDS or lines is empties
    for event in (*rig.events(HandoverMade), *rig.events(ObservationsMade)):
        assert_flagged(event)


class PassingTools(CanaryTools):
    """Tools whose commands pass once the files are mended."""

    is_mended = False

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        result = await super().run(call, on_output)
        return msgspec.structs.replace(result, ok=True, exit_code=0) if self.is_mended else result


@pytest.mark.parametrize("is_mended", [True, False])
async def test_a_command_that_passes_since_does_not_stand_in_summaries_as_failed(is_mended: bool) -> None:
    """The later run is in the context, and the earlier one read as if it still held."""
    tools = PassingTools()
    rig = AgentRig(model_of(None), BY_HAND, tools=tools)
    await rig.begin()
    rig.model.script = working(1)
    await rig.say(f"Mend it. {FILLER}")
    tools.is_mended = is_mended
    await rig.say(f"Test again. {FILLER}")
    draft = await rig.conversation.handovers.writer.draft(upto=7)
    rig.conversation.observations.start()
    await rig.wait_until_idle()
    (observations,) = rig.events(ObservationsMade)
    for event in (draft.event, observations):
        assert event.upto == 7, "the second turn is not covered"
        assert ("! make check_1" in event.ledger) == (not is_mended)


async def assert_within_one_call(rig: AgentRig, rounds: int) -> None:
    """Assert that each canary so far is in the window, or found by one recall on an index in it."""
    request = rig.conversation.window.measure()[0].request
    parts = [
        part for sent in request.messages for part in (sent.text, *(call.arguments for call in sent.calls))
    ]
    text = "\n".join(parts)
    indexes = _INDEX.findall(text)
    for number in range(1, rounds + 1):
        for kind, canary in canaries(number).items():
            if canary not in text:
                found = [await recall(rig, index, re.escape(canary)) for index in indexes]
                assert any(canary in answer for answer in found), f"{kind} of round {number}: {canary}"


async def recall(rig: AgentRig, index: str, pattern: str) -> str:
    tool = RecallCachedContent(rig.store, WordCounter().count, Ripgrep(None, {}))
    return (await tool.run("r", RecallArguments(index, pattern=pattern))).model_text


def assert_flagged(event: HandoverMade | ObservationsMade) -> None:
    """Assert that each canary that neither summary nor ledger has is missing in the event's check."""
    sections = event.sections if isinstance(event, HandoverMade) else ()
    facts = event.observations if isinstance(event, ObservationsMade) else ()
    bullets = [bullet.text for section in sections for bullet in section.bullets]
    summary = "\n".join([*bullets, *(fact.text for fact in facts), event.ledger])
    checked = {kind.kind: kind for kind in event.coverage}
    newest = max(int(number) for number in re.findall(r"module_(\d)", event.ledger) or ["0"])
    for name, canary in canaries(newest).items() if newest else ():
        if name in FLAGGED and canary not in summary:
            kind = checked[FLAGGED[name]]
            listed = "\n".join("".join(fact.text.split()) for fact in kind.missing)
            omitted = kind.total - kind.named - kind.verbatim - len(kind.missing)
            assert "".join(canary.split()) in listed or kind.verbatim or omitted
