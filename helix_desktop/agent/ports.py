"""Everything the agent needs of the outside world, on one page."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol

from helix_desktop.context.content import Content, Entry, Order, Page, SessionSummary, StoreTotals
from helix_desktop.context.damage import Checked, Mending
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import Recorded
from helix_desktop.context.message import Arrival, ModelInfo, Request, ToolCall, ToolSpec
from helix_desktop.context.tool import ApprovalAsk, Decision, Rule, ToolResult

Clock = Callable[[], int]
"""Milliseconds since 1970."""


class Model(Protocol):
    """A language model."""

    @property
    def info(self) -> ModelInfo:
        """Its name and its room."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Arrival, None]:
        """Ask it; yields pieces as they arrive and an `Answer` last.

        Raises ModelError. Closing the generator or cancelling the task ends the call.
        """
        ...


class Counter(Protocol):
    """Counts tokens."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text, counted off the calling thread."""
        ...


class Health(Protocol):
    """How sound a store is."""

    @property
    def report(self) -> Mending | None:
        """What had to be mended when the store was opened, until somebody was told; usually None."""
        ...

    async def told(self) -> None:
        """Somebody was told what the report says."""
        ...

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Hear of each damaged content once, with what to do. Call the returned function to stop."""
        ...

    async def check(self, progress: Callable[[int, int], None] | None = None) -> Checked:
        """Check every content and every row; `progress` hears contents verified, and of how many.

        Others are served meanwhile. Cancelled, it ends soon. What is wrong is mended at the next opening.
        """
        ...


class Store(Protocol):
    """One workspace's durable memory. Every method may raise StoreClosed."""

    @property
    def health(self) -> Health:
        """What was mended, what damage is met, and the full check."""
        ...

    async def commit(
        self,
        session: str,
        events: Sequence[Recorded] = (),
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        summary: SessionSummary | None = None,
    ) -> None:
        """Store all of it, or nothing, durably: contents, events, references, recall counts, summary.

        Returns when it would survive a power cut. Raises StoreWriteFailed, ContentTooLarge; ValueError when
        the events do not continue the session's log.
        """
        ...

    async def events(self, session: str) -> list[Recorded]:
        """A session's whole log, in order; empty when there is none."""
        ...

    async def sessions(self) -> list[SessionSummary]:
        """All sessions, last updated first."""
        ...

    async def get(self, digest: str) -> bytes:
        """The bytes of a full digest, verified. Raises DigestUnknown (with near matches), ContentDamaged."""
        ...

    async def entry(self, digest: str) -> Entry:
        """What is known of a content. Raises DigestUnknown."""
        ...

    async def find(self, prefix: str, limit: int = 20) -> list[str]:
        """The digests that begin with `prefix` (1 to 64 hex digits), in order, at most `limit`."""
        ...

    async def page(
        self, cursor: str = "", limit: int = 200, order: Order = "newest", prefix: str = ""
    ) -> Page:
        """Entries by time of creation, or (with a prefix) by digest, from a cursor on."""
        ...

    async def totals(self) -> StoreTotals:
        """Counts and sizes of the whole store."""
        ...

    async def save_draft(self, session: str, text: str) -> None:
        """Keep what was typed and not sent."""
        ...

    async def draft(self, session: str) -> str:
        """What was typed and not sent; empty when nothing was."""
        ...

    async def close(self) -> None:
        """Write what is queued, then let go of the files. Calls after it raise StoreClosed."""
        ...


class Tools(Protocol):
    """What the agent can do in a workspace."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, always in the same order."""
        ...

    async def approval(self, call: ToolCall) -> ApprovalAsk | None:
        """The question a call raises before it may run; None when it needs no approval.

        Raises ToolError when the call is refused whatever the person says.
        """
        ...

    async def run(self, call: ToolCall) -> ToolResult:
        """Run a call. Raises ToolError with what the agent is told. Cancelling ends what was started."""
        ...


class Approver(Protocol):
    """The person, asked."""

    async def decide(self, session: str, ask: ApprovalAsk) -> Decision:
        """Wait for the person's answer to one question."""
        ...


class Permissions(Protocol):
    """A workspace's saved approvals."""

    def rules(self) -> tuple[Rule, ...]:
        """All saved rules, in order."""
        ...

    async def add(self, rule: Rule) -> None:
        """Save a rule."""
        ...
