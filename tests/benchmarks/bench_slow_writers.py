"""How long turns stand still while a slow, busy or lost model writes summaries, in windows of four sizes.

One turn of many usual steps (2,000 tokens in 6 s, half of them the agent's own words, which only a summary
can shorten) under the default policy, on a simulated clock. The model that answers also writes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import zlib
from collections.abc import AsyncGenerator
from functools import partial
from typing import NamedTuple

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Store
from helix_desktop.agent.session import SummaryAwaited
from helix_desktop.config.paths import load_prompts, resources_dir
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.summaries.sections import TITLES
from helix_desktop.domain.errors import ModelUnreachable
from helix_desktop.domain.events.summary import NO_MODEL, HandoverMade, checkpoint_in
from helix_desktop.domain.messages import (
    ModelInfo,
    ModelRequest,
    ModelResponse,
    RetryScheduled,
    StreamItem,
    ToolCall,
)
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec, resolve_spec
from helix_desktop.domain.tools import OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.providers.retry import RetryPolicy, RetryState
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from tests.support.agent_rig import PROMPTS, AgentRig, ScriptedTools, SteppedClock
from tests.support.scripted_model import ScriptedModel, text_reply, tool_call_reply
from tests.support.virtual_time import run_in_virtual_time

WINDOWS = (8_000, 16_000, 32_000, 128_000)
STEP_S = 6.0
STEP_TOKENS = 2_000
FILLED_WINDOWS = 4  # as much history a turn makes, in windows
MAX_STEPS = 200
SENTENCE_WORDS = 12
HALF_STEP_WORDS = 880  # about 1,000 tokens
WORDS = [
    *("parser", "lexer", "queue", "harbor", "tide", "gauge", "level", "report", "buffer", "index"),
    *("cursor", "window", "table", "column", "reader", "writer", "layout", "margin", "border"),
    *("socket", "packet", "branch", "commit", "merge", "ledger"),
]


class Writer(NamedTuple):
    """How a server treats requests for summaries.

    It answers after `takes_s`; before that it refuses `refusals` times with a status, and asks to wait
    `retry_after_s`, if at all. One that is `lost_s` seconds long is not reached.
    """

    name: str
    takes_s: float
    refusals: int = 0
    retry_after_s: float | None = None
    lost_s: float = 0.0


WRITERS = (
    Writer("8 s", 8),
    Writer("40 s", 40),
    Writer("400 s", 400),
    Writer("429, Retry-After 30 s, twice; 8 s", 8, refusals=2, retry_after_s=30),
    Writer("429 without, 5 times; 8 s", 8, refusals=5),
    Writer("500 for two minutes; 8 s", 8, lost_s=120),
    Writer("offline", 8, lost_s=10**9),
)


class Outcome(NamedTuple):
    """What came of a turn; times in seconds.

    `early_waits` are waits that began while one more usual step would have fitted; `by_model` and
    `without_model` count the summaries in the context.
    """

    steps: int
    waits: int
    waited_s: float
    longest_s: float
    early_waits: int
    by_model: int
    without_model: int
    checkpoints: int
    ended: str


class SlowWriterModel(ScriptedModel):
    def __init__(self, info: ModelInfo, writer: Writer, steps: int) -> None:
        super().__init__(lambda _: text_reply("Done."), info)
        self._writer = writer
        self._left = steps
        self._step = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        requests, _ = self._route(request)
        requests.append(msgspec.structs.replace(request, report_state=None))
        if requests is self.summary_requests:
            async for item in self._write(request):
                yield item
            return
        await asyncio.sleep(STEP_S)
        if requests is not self.requests or self._left == 0:
            yield ModelResponse("Done.")
            return
        self._left -= 1
        self._step += 1
        call = ("read_file", {"path": f"src/part_{self._step}.py"})
        own_words = sentences(self._step, HALF_STEP_WORDS)
        for part in tool_call_reply(call, text=own_words, id_prefix=f"s{self._step}-"):
            assert not isinstance(part, Exception | asyncio.Event)
            yield part

    async def _write(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Answer, after failures that the app's own retries take. Raises ModelUnreachable."""
        loop = asyncio.get_running_loop()
        retries = RetryState(RetryPolicy(clock=loop.time, jitter=lambda: 0.0))
        began_s = loop.time()
        refusals = self._writer.refusals
        while refusals or loop.time() - began_s < self._writer.lost_s:
            refusals = max(0, refusals - 1)
            wait_s = retries.next_wait_s(self._writer.retry_after_s)
            if wait_s is None:
                raise ModelUnreachable(verbatim("The server doesn't answer."))
            yield RetryScheduled(retries.failures + 1, wait_s, "busy")
            await asyncio.sleep(wait_s)
        await asyncio.sleep(self._writer.takes_s)
        yield ModelResponse(handover(request))


def sentences(seed: int, words: int) -> str:
    chosen = random.Random(seed)
    count = words // SENTENCE_WORDS
    lines = [" ".join(chosen.choices(WORDS, k=SENTENCE_WORDS)).capitalize() for _ in range(count)]
    return "\n".join(f"{line}." for line in lines)


def handover(request: ModelRequest) -> str:
    """Return what a good model writes: a few sentences a section, each with its entries."""
    text = request.messages[-1].text
    entries = re.findall(r"^e\d+", text, re.MULTILINE) or re.findall(r"\be\d+\b", text)
    files = re.findall(r"src/part_\d+\.py", text) or ["src"]
    cited = f"[{', '.join(entries[:: max(1, len(entries) // 4)])}]"
    lines = [f"- {files[-1]}: {sentences(number, 24).replace(chr(10), ' ')} {cited}" for number in range(3)]
    return "\n".join(f"## {title}\n" + "\n".join(lines) for title in TITLES)


class ReadingTools(ScriptedTools):
    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Return the rest of a step's tokens."""
        path = str(json.loads(call.arguments)["path"])
        return ToolResult(sentences(zlib.crc32(path.encode()), HALF_STEP_WORDS).encode(), target=path)


class Clock(SteppedClock):
    """The loop's time in milliseconds since 1970."""

    def __call__(self) -> int:
        return self.now + round(asyncio.get_running_loop().time() * 1000)

    async def wait_s(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


PROMPTS.update(load_prompts())  # those of the app: in a small window they take their share


class WriterRig(AgentRig):
    counter = TiktokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")

    def create_workspace(self, store: Store, policy: ContextPolicy) -> OpenWorkspace:
        self.clock = Clock()
        return super().create_workspace(store, policy)


class Waits:
    """The times that a turn stood still, in seconds, and whether a usual step would have fitted."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._began_s = 0.0
        self.seconds: list[float] = []
        self.early = 0
        conversation.session.on(SummaryAwaited, self._follow)

    def _follow(self, update: SummaryAwaited) -> None:
        now_s = asyncio.get_running_loop().time()
        if update.is_active:
            self._began_s = now_s
            gauge = self._conversation.window.measure()[1]
            self.early += gauge.used + STEP_TOKENS <= gauge.limit
        else:
            self.seconds.append(now_s - self._began_s)


def model_info(window: int) -> ModelInfo:
    spec = resolve_spec(SourcedSpec("you", "", ModelSpec(window=window)))
    return ModelInfo("box", "local", window, int(spec.number("reserve")))


async def play(window: int, writer: Writer) -> Outcome:
    steps = min(MAX_STEPS, FILLED_WINDOWS * window // STEP_TOKENS)
    model = SlowWriterModel(model_info(window), writer, steps)
    rig = WriterRig(model, PROFILES["balanced"], tools=ReadingTools())
    conversation = await rig.begin()
    waits = Waits(conversation)
    ended = await conversation.run("Read all parts and tell what they do. Never change a file.")
    await conversation.wait_for_background_work()
    handovers = rig.events(HandoverMade)
    log = conversation.session.log
    outcome = Outcome(
        steps=len(model.requests),
        waits=len(waits.seconds),
        waited_s=sum(waits.seconds),
        longest_s=max(waits.seconds, default=0.0),
        early_waits=waits.early,
        by_model=sum(made.model != NO_MODEL for made in handovers),
        without_model=sum(made.model == NO_MODEL for made in handovers),
        checkpoints=sum(checkpoint_in(recorded.event) is not None for recorded in log),
        ended=ended.how,
    )
    await conversation.close()
    return outcome


def cell(outcome: Outcome) -> str:
    """Return seconds stood still, of how many waits; summaries by a model and without; checkpoints."""
    waited = "0"
    if outcome.waits:
        waited = f"{outcome.waited_s:.0f} s in {outcome.waits}"
    made = f"{outcome.by_model} + {outcome.without_model}, {outcome.checkpoints}"
    return f"{waited}; {made}" if outcome.ended == "done" else f"{waited}; {made}; {outcome.ended}"


def main() -> str:
    """Return the table; raise AssertionError if a turn stood still while a usual step fitted."""
    rows = ["| writer | " + " | ".join(f"{window:,}" for window in WINDOWS) + " |"]
    rows.append("|---" * (len(WINDOWS) + 1) + "|")
    for writer in WRITERS:
        outcomes = [run_in_virtual_time(partial(play, window, writer)) for window in WINDOWS]
        assert not any(outcome.early_waits for outcome in outcomes), writer.name
        rows.append(f"| {writer.name} | " + " | ".join(map(cell, outcomes)) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(main() + "\n")
