"""Messages, requests and answers, in a form that belongs to no provider; and a request as it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec

from helix_desktop.domain.answer_bounds import AnswerBound
from helix_desktop.domain.choices import USUAL_LEVELS, Effort, EffortLevel, Remedy, SentEffort, fit_level
from helix_desktop.domain.image import Image
from helix_desktop.domain.request_extras import NO_EXTRAS, RequestExtras

Role = Literal["system", "user", "assistant", "tool"]
StopReason = Literal[
    "end",
    "calls",
    "length",
    "filter",
    "stopped",
    "refusal",
    "context",
    "paused",
    "malformed",
    "written-call",
    "no-call",
    "no-end-mark",
]
"""Why an answer ended: as it should (`end`, `calls`), stopped by the user, or before it was whole.

`length`: its own limit; `context`: the window was full; `filter`: the provider's content filter; `refusal`:
the model refused; `paused`: the provider wants to be called again; `malformed`: a call that its server could
not read; `written-call`: a call that stands in its text, which nobody ran; `no-call`: it ended for a call,
and has none; `no-end-mark`: the stream ended without saying why, so it may be whole or not.
"""

CUT_OFF: frozenset[StopReason] = frozenset(
    {
        "length",
        "context",
        "filter",
        "refusal",
        "paused",
        "malformed",
        "written-call",
        "no-call",
        "no-end-mark",
    }
)
"""The reasons of answers that are not whole: the user has to know."""
TurnOutcome = Literal["done", "stopped", "failed", "interrupted"]
"""How a turn came to its end, and a subagent's work."""


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call as the model wrote it; arguments are its JSON text, verbatim."""

    id: str
    name: str
    arguments: str

    @property
    def is_mcp(self) -> bool:
        return self.name.startswith(MCP_PREFIX)


class Message(msgspec.Struct, frozen=True):
    """One message of a request; `calls` on assistants only, `call_id` and `name` on tools only.

    `images` occur in user messages and in tool answers.
    """

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    verbatim: dict[str, Any] | None = None
    images: tuple[Image, ...] = ()


MCP_PREFIX = "mcp__"
"""The prefix of the exposed name of every MCP server's tool, and of no other: `mcp__SERVER__TOOL`."""
FIND_TOOLS = "find_tools"
"""The tool by which a model looks up deferred tools."""
CALL_TOOL = "call_tool"
"""The tool by which a model calls deferred tools."""


def display_name(exposed_name: str) -> str:
    """Return a tool's name for display: `SERVER: TOOL` for an MCP tool, else the exposed name."""
    server, parted, tool = exposed_name.removeprefix(MCP_PREFIX).partition("__")
    return f"{server}: {tool}" if exposed_name.startswith(MCP_PREFIX) and parted else exposed_name


def server_tool_name(exposed_name: str) -> str:
    """Return an MCP tool's name without its server's, for display beside it; another tool's name as it is."""
    is_mcp = exposed_name.startswith(MCP_PREFIX)
    return (exposed_name.removeprefix(MCP_PREFIX).partition("__")[2] if is_mcp else "") or exposed_name


class QueuedMessage(msgspec.Struct, frozen=True):
    """A message that waits: the seq under which it was queued, and its text and purpose as they are now."""

    seq: int
    text: str
    steer: bool = False


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as described to the model; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def is_mcp(self) -> bool:
        return self.name.startswith(MCP_PREFIX)

    @property
    def is_for_mcp(self) -> bool:
        """Whether it is sent because of MCP servers: one of their tools, or what finds or calls them."""
        return self.is_mcp or self.name in (FIND_TOOLS, CALL_TOOL)


class CacheHints(msgspec.Struct, frozen=True):
    """What a request asks of the provider's cache.

    `key` is the same for requests that begin alike. `ends` says after how many messages a layer ends that
    later requests keep. With `keep_long` the provider is to store them longer than it usually does.
    """

    key: str = ""
    ends: tuple[int, ...] = ()
    keep_long: bool = False


RequestState = Literal["sent", "refused"]
"""`sent`: the server has all of a request, and may bill it; `refused`: it answered with an error instead."""


class ModelRequest(msgspec.Struct, frozen=True):
    """What is sent to a model in one call; `image_data` holds the bytes of its images by digest.

    `effort` is how much the model is asked to think; empty: nothing is said, and the provider decides.
    `report_state` is awaited at each attempt that reaches a server. `answered` are the tokens of the largest
    input that the model has answered in this session: its window can't be smaller.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    image_data: dict[str, bytes] = {}
    cache: CacheHints | None = None
    effort: SentEffort = ""
    report_state: Callable[[RequestState], Awaitable[None]] | None = None
    answered: int = 0


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the provider reported them.

    Of `input`, `cached` were read from its cache and `cache_writes` stored there, `cache_writes_1h` of these
    for an hour. Without `reports_cache` and `reports_writes` a 0 says nothing: no such count was reported.
    """

    input: int
    output: int
    cached: int = 0
    cache_writes: int = 0
    cache_writes_1h: int = 0
    reports_cache: bool = False
    reports_writes: bool = False

    @property
    def fresh(self) -> int:
        """The input that was neither read from the provider's cache nor stored there."""
        return max(0, self.input - self.cached - self.cache_writes)


class ModelInfo(msgspec.Struct, frozen=True):
    """A model and its room, in tokens; `reserve` is kept free for the answer, `images`: it can see them,
    or, where `images_known` is false, it may: they are sent, and the server may refuse them.

    `output` is its largest answer. Prices are US dollars per million tokens of input, of input that the
    provider had cached, of input that it stores for minutes and for an hour, and of output. 0: not known,
    unless the model is `free`.
    `reasoning` says whether it can think (None: not known), `efforts` which levels it takes (none: not
    known), `effort` what is set for it outside a session, `background_effort` for summaries and extracts,
    which don't inherit a session's: a handover at the highest level would take minutes.
    `extras` are headers and fields that go along with every request.
    """

    provider: str
    name: str
    window: int = 128_000
    reserve: int = 4_096
    demo: bool = False
    images: bool = False
    output: int = 0
    price_in: float = 0.0
    price_cached: float = 0.0
    price_out: float = 0.0
    price_cache_write: float = 0.0
    price_cache_write_1h: float = 0.0
    reasoning: bool | None = None
    efforts: tuple[EffortLevel, ...] = ()
    effort: Effort = ""
    background_effort: Effort = ""
    extras: RequestExtras = NO_EXTRAS
    images_known: bool = True
    free: bool = False

    @property
    def label(self) -> str:
        """PROVIDER/NAME, as the command line takes it."""
        return f"{self.provider}/{self.name}"

    @property
    def offered_efforts(self) -> tuple[EffortLevel, ...]:
        return () if self.reasoning is False or self.demo else self.efforts or USUAL_LEVELS

    def fit_effort(self, effort: Effort) -> SentEffort:
        """Return the level to send where `effort` is set: the nearest that the model takes; empty: none."""
        return fit_level(effort, self.efforts) if self.offered_efforts else ""


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    text: str


def no_wait() -> None:
    """Do nothing: there is no wait to skip."""


class RetryScheduled(msgspec.Struct, frozen=True):
    """The call failed and is made again; everything that arrived so far is void.

    Calling `skip` ends the wait. After `patience_s` seconds of failures the call ends with its error;
    `remedies` are what the app can do about that.
    """

    attempt: int
    wait_s: float
    reason: str
    skip: Callable[[], None] = no_wait
    patience_s: float = 0.0
    remedies: tuple[Remedy, ...] = ()


class EffortRefusal(msgspec.Struct, frozen=True):
    """A level of reasoning that a server refused, and what it said."""

    level: SentEffort
    reason: str


class ToolRefusal(msgspec.Struct, frozen=True):
    """A tool of an MCP server that a model's server refused, by its exposed name, and what it said."""

    tool: str
    reason: str


class ModelResponse(msgspec.Struct, frozen=True):
    """A whole answer: always the last thing a stream yields.

    `cache_lifetime_s` says for how many seconds the provider was asked to store what the request begins with;
    0: as it usually does. `effort` is the level that was sent; empty: none was. `effort_refusal` is what the
    server said against the level that should have been sent. `bound` is the bound of ours that ended it; the
    arguments of `cut_calls`, by their ids, did not all come then. `tool_refusals` are of the tools that left
    the request, as the server refused it with them.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage | None = None
    stop: StopReason = "end"
    verbatim: dict[str, Any] | None = None
    cache_lifetime_s: int = 0
    effort: SentEffort = ""
    effort_refusal: EffortRefusal | None = None
    bound: AnswerBound = ""
    cut_calls: tuple[str, ...] = ()
    tool_refusals: tuple[ToolRefusal, ...] = ()


StreamItem = TextDelta | ReasoningDelta | RetryScheduled | ModelResponse
