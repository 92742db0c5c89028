"""Contents, handovers and windows as a session would leave them, for pictures and tests of the panes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.steps import Step
from helix_desktop.context.window.used_tokens import UsageGauge
from helix_desktop.context.window.window_breakdown import WindowItemKind, WindowItemState
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import ToolAnswered, TurnEnded
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import (
    FoldMade,
    HandoverTrigger,
    PlacementReason,
    SweepMade,
    SweepReason,
)
from helix_desktop.domain.events.summary import (
    Bullet,
    HandoverFailed,
    HandoverMade,
    Observation,
    ObservationsMade,
    ObservationsPlaced,
    Quote,
    Section,
)
from helix_desktop.domain.store import StoreTotals
from helix_desktop.ui.outputs.rows import (
    CacheFilter,
    CacheRow,
    CacheSearchResults,
    CacheSort,
    CacheState,
)
from helix_desktop.ui.outputs.source import OutputSource
from helix_desktop.ui.panel.panel_state import (
    PanelState,
    Segment,
    WindowRow,
)
from helix_desktop.ui.timeline.cards import (
    FailureCard,
    FormCard,
    ManualActionCard,
    SweepCard,
    TimelineCard,
    UndoCard,
)
from helix_desktop.ui.timeline.page import TimelineState
from helix_desktop.ui.timeline.summary_cards import (
    CompactedCallsCard,
    CompactedMessagesCard,
    Continuation,
    HandoverCard,
    ObservationsCard,
)
from helix_desktop.ui.timeline.usage_points import PointKind, UsagePoint
from helix_desktop.words.summaries import NOTHING_MISSING, MissingText

NOW_MS = 1_795_000_000_000
_FILES = (
    ("read_file", "src/helix/stream.py", "@dataclass(slots=True)"),
    ("run_command", "pytest -q tests/test_stream.py", "42 passed in 3.18s"),
    ("search_text", "StreamFlush", "src/helix/stream.py:12: class StreamFlush:"),
    ("read_file", "docs/DESIGN.md", "# Streaming without stalls"),
    ("list_directory", "src/helix", "__init__.py  stream.py  message_view.py"),
    ("edit_file", "tests/test_stream.py", "+27 lines, -3 lines"),
    ("run_command", "git diff --stat", "src/helix/stream.py | 41 +++++++++------"),
    ("read_file", "config/very/deep/folder/with/a/long/name/settings.production.toml", "[server]"),
)
CODE = b'''@dataclass(slots=True)
class StreamFlush:
    """Buffers tokens and hands them on thirty times a second."""

    interval: float = 0.033  # 30 Hz
    buffer: list[str] = field(default_factory=list)

    async def run(self, tokens: AsyncIterator[str]) -> None:
        async for token in tokens:
            self.buffer.append(token)
            if monotonic() - self.last >= self.interval:
                self.flush()  # about 3 ms

    def flush(self) -> None:
        text, self.buffer = "".join(self.buffer), []
        self.last = monotonic()
        self.view.append(text)
'''


_STATES: tuple[CacheState, ...] = (
    "in_window", "in_window", "cached", "cached", "folded", "handed_over", "elsewhere", "observed", "index",
    "cached", "pinned", "in_part",
)  # fmt: skip


def cache_row(number: int) -> CacheRow:
    """The `number`th entry of a cache, newest first."""
    tool, target, line = _FILES[number % len(_FILES)]
    size = 900 + (number * 7_919) % 90_000
    state = _STATES[number % len(_STATES)] if number != 23 else "damaged"
    tokens = size // 4
    return CacheRow(
        digest=hashlib.sha256(b"%d" % number).hexdigest(),
        state=state,
        tool=tool,
        target=target,
        first_line=line,
        size=size,
        stored_size=size // 3,
        tokens=tokens,
        kind="output",
        saved=tokens - 65 if state in ("cached", "handed_over", "folded", "observed") else 0,
        recalls=(0, 0, 2, 0, 1)[number % 5],
        references=1 + number % 3,
        created=NOW_MS - number * 7 * 60_000,
        last_used=NOW_MS - number * 3 * 60_000,
    )


_SORT_KEYS: dict[str, Callable[[CacheRow], Any]] = {
    "created": lambda row: row.created,
    "used": lambda row: row.last_used,
    "size": lambda row: row.size,
    "target": lambda row: row.target,
    "tool": lambda row: row.tool,
    "saved": lambda row: row.saved,
}


def _matches(row: CacheRow, words: Sequence[str]) -> bool:
    text = f"{row.tool} {row.target} {row.first_line}".lower()
    return row.digest.startswith(words[0]) or all(word in text for word in words)


class SampleCache(OutputSource):
    """Has its rows in memory; `fetch_sizes` has the size of each fetch."""

    def __init__(self, rows: Sequence[CacheRow]) -> None:
        self.all_rows = list(rows)
        self.fetch_sizes: list[int] = []
        self.session_digests = {row.digest for row in rows[::2]}
        self.search_page_size = 10_000
        self.hits: dict[str, str] = {}
        self.unindexed = 0

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        """Digests that pass, in order."""
        rows = [row for row in self.all_rows if cache_filter.state in (None, row.state)]
        if cache_filter.session_only:
            rows = [row for row in rows if row.digest in self.session_digests]
        narrowed = cache_filter.entry_filter
        rows = [row for row in rows if narrowed.tool in ("", row.tool) and row.size >= narrowed.min_size]
        sort = cache_filter.sort
        if sort != CacheSort():
            rows.sort(key=_SORT_KEYS[sort.column], reverse=sort.is_descending)
        return b"".join(bytes.fromhex(row.digest) for row in rows)

    async def first_ids(self, cache_filter: CacheFilter) -> bytes:
        """None: all are at hand."""
        return b""

    async def search(self, cache_filter: CacheFilter, cursor: str = "") -> CacheSearchResults:
        """Return rows that contain the words or start with the hash, `search_page_size` hits at a time."""
        words = cache_filter.text.lower().split()
        ids = await self.ids(cache_filter)
        rows_by_digest = {row.digest: row for row in self.all_rows}
        digests = [ids[at : at + 32].hex() for at in range(0, len(ids), 32)]
        matches = [digest for digest in digests if _matches(rows_by_digest[digest], words)]
        self.hits = {digest: f"12: {rows_by_digest[digest].first_line}" for digest in matches}
        end = int(cursor or "0") + self.search_page_size
        more = str(end) if end < len(matches) else ""
        digests_found = b"".join(map(bytes.fromhex, matches[:end]))
        return CacheSearchResults(digests_found, more, self.unindexed)

    async def tools(self) -> Sequence[str]:
        return sorted({row.tool for row in self.all_rows if row.tool})

    async def sessions(self) -> Sequence[tuple[str, str]]:
        return [("s-1", "Flush the stream"), ("s-2", "Colors of the margin")]

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        self.fetch_sizes.append(len(digests))
        rows_by_digest = {row.digest: row for row in self.all_rows}
        rows = [rows_by_digest[digest] for digest in digests if digest in rows_by_digest]
        return [replace(row, hit=self.hits.get(row.digest, "")) for row in rows]

    async def totals(self) -> StoreTotals:
        """Counts and sizes of everything."""
        size = sum(row.size for row in self.all_rows)
        return StoreTotals(len(self.all_rows), size, size // 4, 0)


class WaitingCache(SampleCache):
    """A cache whose store answers so many queries, then keeps everybody waiting, or fails with an error."""

    def __init__(self, rows: Sequence[CacheRow], answers: int) -> None:
        super().__init__(rows)
        self._answers = answers
        self.error: StoreError | None = None

    async def totals(self) -> StoreTotals:
        """Counts and sizes, while there are answers left."""
        if self.error is not None:
            raise self.error
        if self._answers <= 0:
            await asyncio.Event().wait()
        return await super().totals()

    async def ids(self, cache_filter: CacheFilter) -> bytes:
        """Digests that pass, while there are answers left."""
        self._answers -= 1
        if self._answers < 0:
            await asyncio.Event().wait()
        return await super().ids(cache_filter)


_SECTIONS = (
    Section("Project Background", (
        Bullet("A desktop agent that streams answers; the renderer lives in `src/helix/stream.py`.", (2, 9)),
        Bullet("Tests run with `pytest -q` and must stay green.", (4,)),
    )),
    Section("Technical Details", (
        Bullet("Finished blocks are frozen; only the open one is rebuilt, every **33 ms**.", (12, 17, 31)),
        Bullet("`setMarkdown()` once per token cost 38 ms at 16 KB and grew with the length of the message, "
               "which is why long answers stalled the view.", (14,)),
    )),
    Section("Completed Work", (
        Bullet("Wrote `StreamFlush` and its tests; 42 pass.", (22, 24)),
        Bullet("Removed the sidecar index.", ()),
    )),
    Section("Current Issues", (
        Bullet("Highlighting inside an open fence still lexes the whole fence.", (37,)),
    )),
    Section("TODO Items", (
        Bullet("Measure at 500 tokens/s with `bench_stream.py`.", (41,)),
        Bullet("Ask for the color of the frozen blocks' margin.", (43,)),
    )),
    Section("User Preferences", ()),
)  # fmt: skip
_LEDGER = """files   src/helix/stream.py  read, edited
        tests/test_stream.py  written
commands  pytest -q tests/test_stream.py  exit 0 (3 times)
numbers   33 ms, 500 tokens/s, 38 ms
cached    9f3ac21e  6b86b273  d4735e3a"""


_HANDOVER = HandoverMade(400, 0, _SECTIONS, _LEDGER, "", 31, 0, 0, 0, 46, "demo", HandoverTrigger.THRESHOLD)
_FOLD = FoldMade(11, 148, "", 790, "", 31, 28, 0)
SWEPT = SweepMade((), 0, SweepReason.BATCH)
_OBSERVATIONS = ObservationsMade(0, 400, (), (), _LEDGER, "", 31, 1_240, 24_100, 46, "gpt-oss:20b")
C = TypeVar("C", bound=msgspec.Struct)


def _card(kind: type[C], event: Event, values: dict[str, object]) -> C:
    own = {name: value for name, value in values.items() if name in kind.__struct_fields__}
    of_event = {name: value for name, value in values.items() if name not in own}
    return kind(**own, event=replace(event, **of_event))


def handover_card(number: int, seq: int, undone: bool = False, **changes: object) -> HandoverCard:
    """A handover of a session that works on a renderer."""
    values: dict[str, object] = {
        "seq": seq, "at_ms": NOW_MS - (500 - seq) * 90_000,
        "title": f"Handover summary of turns 1–{44 + 2 * number}", "before": 21_300,
        "after": 8_400,
        "messages": f"{44 + 2 * number} messages", "trigger": HandoverTrigger.THRESHOLD, "threshold": 0.85,
        "sections": _SECTIONS, "ledger": _LEDGER,
        "index": hashlib.sha256(b"%d" % seq).hexdigest(), "index_entries": 31, "model": "demo", "demo": True,
        "duration_ms": 1_240, "is_undone": undone,
        "missing": MissingText(
            "Added below it", (("Files", "docs/plan.md · src/helix/margin.py"), ("Numbers", "#4711"))
        ),
    }  # fmt: skip
    return _card(HandoverCard, _HANDOVER, values | changes)


def checkpoint_card(number: int, seq: int, **changes: object) -> HandoverCard:
    """A checkpoint of that session: in no request yet."""
    values: dict[str, object] = {
        "title": "Handover summary of turns 1–12, prepared",
        "messages": "12 messages, 41 tool calls", "after": 1_240,
        "model": "acme/swift", "demo": False, "index": "", "index_entries": 0, "is_checkpoint": True,
        "read": 5_420, "spent": 6_310, "cost": 0.0071, "unpriced": 0,
        "missing": NOTHING_MISSING, "unsent": "Not in context yet",
    }  # fmt: skip
    return handover_card(number, seq, False, **(values | changes))


def quiet_timeline_state() -> TimelineState:
    """Return a session that notes keep small: no handover of its own, two sessions around it."""
    origin = handover_card(
        1, 2, trigger=HandoverTrigger.CONTINUED, origin="s-1", origin_title="Flush the stream",
        sections=tuple(Section(section.title, tuple(Bullet(b.text) for b in section.bullets))
                       for section in _SECTIONS),
        quotes=(Quote("user", "Long answers stall the chat view.", 9),
                Quote("user", "The renderer was the reason.", 7)),
    )  # fmt: skip
    first = checkpoint_card(1, 118)
    second = checkpoint_card(2, 431, checkpoint=first.title)
    sweep = SweepCard(120, NOW_MS - 90_000_000, 6, SWEPT, before=9_900, after=7_600)
    cards = (compacted_calls_card(462), second, sweep, first, origin)
    after = (Continuation("s-2", "Flush the stream (3)"), Continuation("s-3", "Flush the stream (4)"))
    return TimelineState(
        cards, usage_points(), 24_000, continuations=after,
    )  # fmt: skip


def timeline_state() -> TimelineState:
    """Return a state with two handovers, one of them undone, sweeps and a failure."""
    outputs = tuple(
        (hashlib.sha256(b"%d" % number).hexdigest(), f"read_file src/part_{number}.py")
        for number in range(14)
    )
    at = NOW_MS - 9 * 60_000
    cards: tuple[TimelineCard, ...] = (
        handover_card(3, 492),
        SweepCard(470, at, 14, SWEPT, outputs, before=24_400, after=14_600),
        UndoCard(455, at - 3_000_000, "undo", (440,), "Compacted turns 1–48"),
        handover_card(2, 440, True, model="", demo=False, trigger=HandoverTrigger.MANUAL, threshold=0.0,
                 fallback="No model in reach."),
        FailureCard(431, at - 4_000_000, HandoverFailed(
            "Compaction failed. Nothing was changed.",
            "The summary would not have freed a tenth of the window.")),
        SweepCard(380, at - 5_000_000, 6, SweepMade((), 0, SweepReason.OVERFLOW), outputs[:6],
                  before=23_100, after=19_000, is_undone=True),
        handover_card(1, 210, model="gpt-oss:20b", demo=False, focus="the renderer's open questions"),
        SweepCard(120, at - 90_000_000, 1, SWEPT, before=9_900, after=7_600),
    )  # fmt: skip
    answered = tuple(
        Step(seq, 31, number, at) for number, seq in enumerate((130, 300, 400, 460, 480, 495), 1)
    )
    return TimelineState(cards, usage_points(), 24_000, steps=steps() + answered)


_FOLD_NOTE = """[Folded steps] Earlier steps, for reference; 31 outputs in recall_cached_content("9f3a1c04…")
user: Long answers stall the chat view. Re-render only what changed.
I looked at the renderer and at the last three traces.
did: read_file e21 src/helix/stream.py 18K; run_command e23 pytest -q tests exit 1
The whole message is parsed again for every token. I freeze the blocks that are finished.
did: edit_file src/helix/stream.py; run_command e29 pytest -q tests/test_stream.py"""


def compacted_calls_card(seq: int, **changes: object) -> CompactedCallsCard:
    """A fold of a session that works on a renderer."""
    values: dict[str, object] = {
        "seq": seq, "at_ms": NOW_MS - (500 - seq) * 90_000, "how": "fold",
        "before": 23_900, "after": 14_790, "tokens": 790 - FRAMING_TOKENS,
        "text": _FOLD_NOTE, "index": hashlib.sha256(b"%d" % seq).hexdigest(), "index_entries": 31,
        "title": "Compacted turns 1–9",
    }  # fmt: skip
    return _card(CompactedCallsCard, _FOLD, values | changes)


def observations_card(seq: int, **changes: object) -> ObservationsCard:
    facts = (
        Observation(NOW_MS - 90_000_000, 1,
                     "Tests must stay green; `pytest -q` is the check that counts.", (4,)),
        Observation(NOW_MS - 90_000_000, 2,
                     "`setMarkdown()` once per token cost 38 ms at 16 KB and grew with the "
             "length of the message, which is why long answers stalled the view.", (14, 17)),
        Observation(NOW_MS - 4_000_000, 2,
                     "Finished blocks are frozen; only the open one is rebuilt.", (31,)),
        Observation(NOW_MS - 4_000_000, 3, "The sidecar index is gone."),
    )  # fmt: skip
    text = "Long answers stall the chat view.\nRe-render **only** what changed, and keep 500 tokens/s smooth."
    values: dict[str, object] = {
        "seq": seq, "at_ms": NOW_MS - (500 - seq) * 90_000, "observations": facts, "over": facts[3:],
        "title": "Compacted turns 1–46, prepared", "name": "Compacted turns 1–46", "messages": "46 messages",
        "quotes": (Bullet(text, (2,)),), "index": hashlib.sha256(b"o%d" % seq).hexdigest(),
        "duration_ms": 3_400, "unsent": "Not in context yet",
    }  # fmt: skip
    return _card(ObservationsCard, _OBSERVATIONS, values | changes)


def long_timeline_state() -> TimelineState:
    """Every kind of card."""
    short = timeline_state()
    at = NOW_MS - 9 * 60_000
    cards: tuple[TimelineCard, ...] = (
        observations_card(498),
        compacted_calls_card(497),
        SweepCard(496, at, 3, SweepMade((), 0, SweepReason.FOLD),
                  (("ab" * 32, "read_file a.py"), ("cd" * 32, "read_file b.py")), calls=2,
                  before=18_200, after=13_800),
        ManualActionCard(495, at, "pin", "You pinned Read docs/DESIGN.md · always kept in context", 37,
                         reversal="unpin"),
        ManualActionCard(494, at, "form",
                         "You chose to send all of Ran pytest -q · 12.4k tokens", 31),
        *short.cards[:2],
        CompactedMessagesCard(468, at, observations_card(466, reflection=True),
                   ObservationsPlaced(466, PlacementReason.THRESHOLD, 0),
                   before=42_000, after=19_100),
        compacted_calls_card(
            464, how="condense", steps=96, before=8_200, after=2_100, inside="Compacted turns 1–38"
        ),
        compacted_calls_card(462, is_undone=True, steps=11),
        compacted_calls_card(
            460, how="truncate", steps=9, before=40_300, after=60, text=_FOLD_NOTE.splitlines()[0]
        ),
        FormCard(459, at, ToolAnswered(
            "c", "run_command", "", "ef" * 32, 0, 532 - FRAMING_TOKENS, 0, "make test", form="preview",
            chosen="timeout", intake_note="box/main didn't say within 10 s which part to send.",
            full_tokens=66_900 - FRAMING_TOKENS)),
        FormCard(454, at, ToolAnswered(
            "c", "read_file", "", "01" * 32, 0, 1_310 - FRAMING_TOKENS, 0, "build.log", form="compact",
            asked="Errors and warnings only", chosen="agent", intake_tokens=6_200,
            full_tokens=41_200 - FRAMING_TOKENS), is_demo=True),
        FailureCard(453, at, TurnEnded(
            "failed", "The server rejected the request.", "The message is too large."), retry="turn"),
        FailureCard(458, at, HandoverFailed(
            "No summary was written. Nothing was changed.", "The model said nothing.")),
        CompactedMessagesCard(457, at,
                   observations_card(456, fallback="The summary model's window is too small."),
                   ObservationsPlaced(456, PlacementReason.MANUAL, 0),
                   before=19_100, after=12_000, is_undone=True),
        *short.cards[2:],
    )  # fmt: skip
    return TimelineState(cards, usage_points(kinds=("fold", "sweep", "observations")), 24_000)


def usage_points(turns: int = 120, kinds: tuple[PointKind, ...] = ("sweep",)) -> tuple[UsagePoint, ...]:
    """A window that fills, drops a little at `kinds`, at handovers a lot."""
    used = 4_000
    points = []
    for seq in range(1, turns):
        kind: PointKind = "turn"
        used += 300 + (seq * 7_919) % 500
        if used > 20_400:
            used = 8_400
            kind = "handover"
        elif seq % 23 == 0:
            used = round(used * 0.7)
            kind = kinds[seq // 23 % len(kinds)]
        points.append(UsagePoint(seq, used, kind, at_ms=NOW_MS - (120 - seq) * 92_000))
    return tuple(points)


def steps(turns: int = 120) -> tuple[Step, ...]:
    return tuple(
        Step(point.seq, 1 + (point.seq - 1) // 4, 1 + (point.seq - 1) % 4, point.at_ms, point.used)
        for point in usage_points(turns)
    )


_WINDOW_ROWS: tuple[tuple[WindowItemKind, str, WindowItemState, str], ...] = (
    ("user", "Long answers stall the chat view. Re-render only what changed", "full", "Your message"),
    ("assistant", "I looked at the renderer and at the last three traces", "full", "Turn 4, request 6"),
    ("output", "read_file src/helix/stream.py", "cached", "18 KB in the cache"),
    ("output", "run_command pytest -q tests/test_stream.py", "full", "Turn 4, request 7"),
    ("output", "list_directory .", "full", "Turn 4, request 8"),
    ("recalled", "recall_cached_content 9f3ac21e lines 12–40", "recalled", "Requested by the agent"),
    ("assistant", "Agent: 1 tool call", "arguments_cached", "Turn 5, request 2"),
    ("pinned", "read_file docs/DESIGN.md", "pinned", "Pinned by you"),
    (
        "output",
        "run_command pytest -q --maxfail=3",
        "preview",
        "Over the size limit · full output in the cache",
    ),
)


def window_rows(count: int) -> tuple[WindowRow, ...]:
    head = (
        WindowRow(0, "system", "System prompt", 1_120, "fixed", "First in every request"),
        WindowRow(0, "tools", "7 tools", 980, "fixed", "Tool descriptions"),
        WindowRow(
            210,
            "handover",
            "Compacted turns 1–46",
            2_300,
            "summarized",
            "Replaces 46 messages",
        ),
        WindowRow(
            211,
            "handover",
            "Compacted turns 1–12",
            1_240,
            "noted",
            "Replaces 12 messages",
        ),
        WindowRow(212, "handover", "Compacted turns 1–28", 790, "noted", "Replaces 28 messages"),
    )
    rest = []
    for at in range(count - len(head)):
        kind, name, state, why = _WINDOW_ROWS[at % len(_WINDOW_ROWS)]
        tool = name.partition(" ")[0] if kind in ("output", "recalled", "pinned") else ""
        question = 220 + at - at % len(_WINDOW_ROWS)
        tokens = 45 + (at * 7_919) % 900
        rest.append(WindowRow(220 + at, kind, name, tokens, state, why, tool=tool, question=question))
    return head + tuple(rest)


def panel_state(count: int = 42, used: int = 14_600, is_estimated: bool = False) -> PanelState:
    """A window of 24k tokens, partly full."""
    parts = (
        Segment("system", "System prompt", 1_120),
        Segment("tools", "Tools", 980),
        Segment("handover", "Older messages", 3_330),
        Segment("pinned", "Pinned", 610),
        Segment("user", "You", 640),
        Segment("assistant", "Agent", 2_270),
        Segment("output", "Tool outputs", used - 10_050),
        Segment("recalled", "Recalled", 1_100),
        Segment("reserve", "Room for the answer", 2_000),
        Segment("free", "Free", max(0, 24_000 - used - 2_000)),
    )
    gauge = UsageGauge(used, 24_000, 24_000, 2_000, 20_400, is_reported=not is_estimated, report_count=1)
    return PanelState(
        gauge, parts, window_rows(count),
        "Every request sends this, so old parts leave to save tokens; at 85 % they must.",
        discount_text="So far: 83 % at the provider's discount",
    )  # fmt: skip
