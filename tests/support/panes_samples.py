"""Contents, handovers and windows as a session would leave them, for pictures and tests of the panes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from helix_desktop.ui.cache_browser.rows import (
    CACHE_STATES,
    CacheFilter,
    CacheRow,
    CacheTotals,
    passes,
)
from helix_desktop.ui.inspector.rows import CacheStats, InspectorState, RowKind, Segment, WindowRow
from helix_desktop.ui.timeline.rows import (
    Bullet,
    Card,
    FailureCard,
    HandoverCard,
    MarkCard,
    Point,
    PointKind,
    Section,
    SweepCard,
    TimelineState,
)

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


def cache_row(number: int) -> CacheRow:
    """The `number`th entry of a cache, newest first."""
    tool, target, line = _FILES[number % len(_FILES)]
    size = 900 + (number * 7_919) % 90_000
    state = CACHE_STATES[(0, 0, 1, 1, 1, 2, 3, 1, 4, 1)[number % 10]] if number != 23 else "damaged"
    tokens = size // 4
    return CacheRow(
        digest=hashlib.sha256(b"%d" % number).hexdigest(),
        state=state,
        tool=tool,
        target=target,
        first_line=line,
        size=size,
        tokens=tokens,
        saved=tokens - 65 if state in ("marker", "handed over") else 0,
        recalls=(0, 0, 2, 0, 1)[number % 5],
        refs=1 + number % 3,
        created=NOW_MS - number * 7 * 60_000,
        last_used=NOW_MS - number * 3 * 60_000,
    )


class SampleCache:
    """A CacheSource over rows in memory; `asked` counts the fetches."""

    def __init__(self, rows: Sequence[CacheRow]) -> None:
        self.rows_held = list(rows)
        self.asked: list[int] = []
        self.session = {row.digest for row in rows[::2]}

    async def ids(self, wanted: CacheFilter) -> bytes:
        """Digests that pass, in order."""
        found = [row for row in self.rows_held if passes(row, wanted)]
        if wanted.session_only:
            found = [row for row in found if row.digest in self.session]
        if wanted.order == "oldest":
            found.reverse()
        return b"".join(bytes.fromhex(row.digest) for row in found)

    async def rows(self, digests: Sequence[str]) -> Sequence[CacheRow]:
        """The rows of some digests."""
        self.asked.append(len(digests))
        held = {row.digest: row for row in self.rows_held}
        return [held[digest] for digest in digests if digest in held]

    async def totals(self) -> CacheTotals:
        """Counts and sizes of everything."""
        size = sum(row.size for row in self.rows_held)
        return CacheTotals(len(self.rows_held), size, size // 4)


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
        Bullet("Ask for the colour of the frozen blocks' margin.", (43,)),
    )),
    Section("User Preferences", ()),
)  # fmt: skip
_LEDGER = """files   src/helix/stream.py  read, edited
        tests/test_stream.py  written
commands  pytest -q tests/test_stream.py  exit 0 (3 times)
numbers   33 ms, 500 tokens/s, 38 ms
cached    9f3ac21e  6b86b273  d4735e3a"""


def handover(number: int, seq: int, undone: bool = False, **changes: object) -> HandoverCard:
    """A handover of a session that works on a renderer."""
    values: dict[str, object] = {
        "seq": seq, "at_ms": NOW_MS - (500 - seq) * 90_000, "number": number, "before": 21_300,
        "after": 8_400,
        "messages": 46, "trigger": "85 %", "sections": _SECTIONS, "ledger": _LEDGER,
        "index": hashlib.sha256(b"%d" % seq).hexdigest(), "index_entries": 31, "model": "demo", "demo": True,
        "duration_ms": 1_240, "undone": undone,
    }  # fmt: skip
    return HandoverCard(**(values | changes))  # type: ignore[arg-type]  # values by name, as above


def timeline() -> TimelineState:
    """Two handovers, one of them undone, sweeps, a failure."""
    hashes = tuple(hashlib.sha256(b"%d" % number).hexdigest() for number in range(14))
    at = NOW_MS - 9 * 60_000
    cards: tuple[Card, ...] = (
        handover(3, 492),
        SweepCard(470, at, 14, 9_800, "batch", hashes),
        MarkCard(455, at - 3_000_000, "undo", 440, "Handover 2"),
        handover(2, 440, True, model="", demo=False, trigger="by hand", fallback="No model in reach."),
        FailureCard(431, at - 4_000_000, "The handover was not made; nothing changed.",
                    "The summary would not have freed a tenth of the window."),
        SweepCard(380, at - 5_000_000, 6, 4_100, "no room", hashes[:6], True),
        handover(1, 210, model="gpt-oss:20b", demo=False, focus="the renderer's open questions"),
        SweepCard(120, at - 90_000_000, 1, 2_300),
    )  # fmt: skip
    return TimelineState(cards, points(), 14_600, 24_000)


def points(turns: int = 120) -> tuple[Point, ...]:
    """A window that fills, drops at sweeps a little, at handovers a lot."""
    used, found = 4_000, []
    for seq in range(1, turns):
        kind: PointKind = "turn"
        used += 300 + (seq * 7_919) % 500
        if used > 20_400:
            used, kind = 8_400, "handover"
        elif seq % 23 == 0:
            used, kind = round(used * 0.7), "sweep"
        found.append(Point(seq, used, kind))
    return tuple(found)


_KINDS: tuple[tuple[RowKind, str, str, str], ...] = (
    ("user", "Long answers stall the chat view. Re-render only what changed", "", "newest turn"),
    ("assistant", "I looked at the renderer and at the last three traces", "", "newest turn"),
    ("output", "read_file src/helix/stream.py", "marker", "older than 10 steps; 4.1k tokens saved"),
    ("output", "run_command pytest -q tests/test_stream.py", "protected", "within the newest 8k tokens"),
    ("recalled", "recall_cached_content 9f3ac21e lines 12–40", "recalled", "asked for in step 31"),
)


def window_rows(count: int) -> tuple[WindowRow, ...]:
    """What a request of `count` pieces contains."""
    head = (
        WindowRow(0, "system", "System prompt", 1_120, "", "always first"),
        WindowRow(0, "tools", "7 tool schemas", 980, "", "what the agent can do"),
        WindowRow(210, "handover", "Handover 1", 2_300, "", "covers messages 1–46"),
    )
    rest = []
    for at in range(count - len(head)):
        kind, name, state, why = _KINDS[at % len(_KINDS)]
        rest.append(WindowRow(220 + at, kind, name, 45 + (at * 7_919) % 900, state, why))
    return head + tuple(rest)


def inspector(count: int = 42, used: int = 14_600, estimated: bool = False) -> InspectorState:
    """A window of 24k tokens, partly full."""
    parts = (
        Segment("system", "System prompt", 1_120),
        Segment("tools", "Tools", 980),
        Segment("handover", "Handover", 2_300),
        Segment("user", "User", 640),
        Segment("assistant", "Assistant", 2_960),
        Segment("output", "Tool outputs", used - 1_120 - 980 - 2_300 - 640 - 2_960 - 1_100),
        Segment("recalled", "Recalled", 1_100),
        Segment("reserve", "Reserved for the answer", 2_000),
        Segment("free", "Free", max(0, 24_000 - used - 2_000)),
    )
    sweeps = (1_200, 2_900, 2_100, 4_800, 4_100, 6_000, 5_200, 7_700, 9_800)
    cache = CacheStats(312, 2_202_009, 640_000, 31, sum(sweeps), sweeps)
    return InspectorState(used, 24_000, estimated, "reported by the provider", 0.85, 2_000, parts,
                          window_rows(count), cache)  # fmt: skip
