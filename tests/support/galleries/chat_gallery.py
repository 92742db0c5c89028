"""Every kind of row of the chat."""

from __future__ import annotations

import time
from typing import Any

from msgspec import structs
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.domain.events.conversation import SubagentStarted
from helix_desktop.domain.file_history.changes import FileCoverage, UncoveredPlace
from helix_desktop.domain.file_history.diff import diff_contents
from helix_desktop.domain.question import FormField, Question, QuestionOption, QuestionReply, ServerQuestion
from helix_desktop.domain.tools import EditedFile, PermissionRule, SubagentUsage
from helix_desktop.ui.chat.actions import ControlTurn
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.rows.row_types import (
    AssistantRow,
    ChatModel,
    DividerRow,
    HeadAndTail,
    NoticeRow,
    OriginalOutput,
    QuestionRow,
    Row,
    ToolState,
    UserRow,
)
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.style.theme import Theme, Themed
from helix_desktop.ui.kit.intents import ApplyRemedy, Intent, Redo, ShowInTimeline, Undo
from tests.support.window.chat_geometry import approval_row, attachment_note, row_key, tool_row
from tests.support.window.chips import sample_chip

DIGEST = "9f3a1c" + "0123456789abcdef" * 3 + "7e21d00042"
CODE = """@dataclass(slots=True)
class StreamFlush:
    interval: float = 0.033  # 30 Hz

    async def run(self, tokens: AsyncIterator[str]) -> None:
        async for tok in tokens:
            self.buffer.append(tok)
            if monotonic() - self.last >= self.interval:
                self.flush()  # about 3 ms"""
LONG = f"""## What changed

Tokens are now buffered and flushed **30 times a second**; finished blocks are *frozen*. See \
[the design notes](https://example.org/notes) or https://example.org/plan, and `StreamFlush` in `stream.py`:

```python src/helix/stream.py
{CODE}
```

### Steps, in order

1. Measure first:
   ```bash
   $ helix bench --only stream
   ```
2. Freeze finished blocks
   - nested point with `code`
   - another one that is long enough to wrap onto a second line, so that the hanging indent can be judged
3. Done ~~twice~~ once

> A rendering that grows with the message is a bug that waits for a long message.

| figure | before | after |
|:--|--:|--:|
| flush p50 | 22 ms | **3.7 ms** |
| flush p99 | 61 ms | 8.2 ms |
| growth with length | linear | `none` |

---

That is all. ![a chart](https://example.org/chart.png)
"""
_BEFORE = "    interval: float = 0.033\n    def flush(self) -> None:\n        self.render()\n"
_AFTER = _BEFORE.replace("(self) -> None:\n", "(self, force: bool = False) -> None:\n        # Render it.\n")
EDIT = EditedFile("src/helix/stream.py", diff_contents(_BEFORE.encode(), _AFTER.encode()))


def rows_of_all_kinds() -> list[Row]:
    at = 1_795_000_000_000
    rows: list[Row] = [
        UserRow(
            row_key("v1"),
            "Read `stream.py` and fix it:\n\n```python\nraise ValueError(*args)\n```\nKeep __slots__.",
            (
                structs.replace(
                    attachment_note("src/stream.py", 320, "file", first_line=10, last_line=40),
                    is_outdated=True,
                ),
                attachment_note("docs/a/long/way/down/notes on what was measured.md", 88, "file", lines=9),
                attachment_note("run.log", 610, "file", lines=2_000, form="preview", full_tokens=14_200),
            ),
        ),
        AssistantRow(
            row_key("b1"),
            LONG,
            at,
            "Opus",
            reasoning="The user wants the cost flat in length. " * 8,
        ),
    ]
    return rows + _tool_rows() + _approval_and_notice_rows(at)


def _test_lines(count: int) -> str:
    return "\n".join(f"{n:>4}  def test_{n}(): assert stream({n}) == {n}" for n in range(1, count + 1))


def _tool_rows() -> list[Row]:
    head = _test_lines(6)
    return [
        tool_row(
            "t3",
            "read_file",
            "src/helix/a/very/long/path/to/some/module/with/a/long_name_stream.py",
            text=_test_lines(1_210),
            size=48_000,
            tokens=1_234,
            duration_ms=400,
            digest=DIGEST,
            badge="cached",
        ),
        tool_row(
            "t4",
            "bash",
            "pytest -q tests/unit",
            "failed",
            "E   assert 1 == 2",
            tokens=320,
            duration_ms=12_400,
            exit_code=1,
            badge="in_window",
        ),
        tool_row("t5", "grep", "TODO", "denied"),
        tool_row(
            "t6",
            "recall_cached_content",
            DIGEST[:12],
            text=_test_lines(300),
            size=9_000,
            tokens=4_100,
            duration_ms=3,
            digest=DIGEST,
            badge="recalled",
        ),
        *_output_form_rows(head),
        tool_row("t7", "write_file", "out.txt", "interrupted", "", badge="handed_over", digest=DIGEST),
        tool_row("t8", "mcp__db__query", "select 1", "approval"),
    ]


def _output_form_rows(head: str) -> list[Row]:
    """Outputs in part, folded, observed, pinned, left out; arguments as markers."""
    prompt = "the names of the tests that fail, with file and line, and the first line of each error"
    ends = HeadAndTail(head, head, 4_100)
    text = _test_lines(90)
    facts: dict[str, Any] = {"size": 9_000, "tokens": 2_400, "duration_ms": 3, "digest": DIGEST}
    return [
        tool_row(
            "s1", "run_command", "pytest -q tests/unit --maxfail=3", "ok", head, size=48_000, tokens=590,
            duration_ms=4_100, exit_code=1, digest=DIGEST, badge="in_window", form="preview",
            original=OriginalOutput(ends, 12_400),
        ),
        tool_row(
            "s2", "run_command", "pytest -q tests/integration/providers/test_openai_stream.py", "ok",
            "test_a, test_b", size=91_000, tokens=320, duration_ms=6_000, exit_code=0, digest=DIGEST,
            badge="folded", form="compact", asked=prompt, chosen="agent",
            original=OriginalOutput(ends, 23_400),
        ),
        tool_row(
            "s3", "write_file", "src/helix/render/blocks.py", "ok", "+212 lines", size=40, tokens=12,
            duration_ms=8, digest=DIGEST, badge="cached", argument_digests=(DIGEST,), arguments_cached=True,
        ),
        tool_row(
            *("s4", "read_file", "docs/DESIGN.md", "ok", text),
            badge="pinned", changed_since=12, is_outdated=True, **facts,
        ),
        tool_row("s5", "read_file", "src/helix/stream.py", "ok", text, badge="observed", **facts),
        tool_row("s6", "search_text", "StreamFlush", "ok", text, badge="truncated", **facts),
    ]  # fmt: skip


def rows_of_subagents() -> list[Row]:
    """Return subagents in each state: waiting for a slot, working, waiting for the user, and ended."""
    start_ms = int(time.time() * 1000) - 83_000
    tool = "search_text StreamFlush in src/helix/render and everything below it, also in generated files"
    states = [
        ("Find every caller of login()",
         SubagentProgress("0123", "thinking", 9_200, 128_000, 0, started_at_ms=start_ms)),
        ("Read the migration logs",
         SubagentProgress("0123", "working", 61_400, 128_000, 12, "", "", tool, 184_300, 0.0912, start_ms)),
        ("Update the changelog", SubagentProgress(
            "0123", "waiting", 14_000, 128_000, 3, "", "", "write_file", 21_000, 0.004, start_ms)),
        ("Check the French translation", SubagentProgress("0123", "queued", 0, 0, 0)),
    ]  # fmt: skip
    started = SubagentStarted("g", "0123", "")
    ended: list[tuple[str, ToolState, SubagentUsage | None, int]] = [
        ("Count the tests", "ok", SubagentUsage("done", 4, 12_300, 0.0412), 42_000),
        ("Bisect the failure", "failed", SubagentUsage("failed", 1, 900), 0),
        ("Measure the flush times", "interrupted", SubagentUsage("stopped", 7, 90_400, 1.2), 0),
        ("A task that the app's end cut off", "interrupted", None, 0),
    ]
    result = "There are 41 tests in 6 files.\n\n[The subagent's log: session 0123, 4 model calls]"
    return [
        UserRow(row_key("u1"), "Look into the slow streaming, and read everything that concerns it."),
        AssistantRow(row_key("a1"), "I give out the parts that do not depend on each other.", 0, "opus-4-1"),
        *(
            tool_row(f"g{n}", "delegate", title, "running", started=started, progress=progress)
            for n, (title, progress) in enumerate(states)
        ),
        *(
            tool_row(
                f"e{n}", "delegate", title, state, result, size=90, tokens=31, duration_ms=duration_ms,
                digest=DIGEST, badge="in_window", subagent="0123", delegated=usage,
                outcome="ran" if usage else "interrupted",
            )
            for n, (title, state, usage, duration_ms) in enumerate(ended)
        ),
    ]  # fmt: skip


_UNDO = Undo((40,))


def _divider_rows() -> list[Row]:
    return [
        DividerRow(
            row_key("d2"), "context", "Context: 104k → 31k", actions=(ShowInTimeline(40, True), _UNDO)
        ),
        DividerRow(row_key("d5"), "context", "Context: 41.2k → 38.1k", actions=(ShowInTimeline(40), _UNDO)),
        DividerRow(
            row_key("d12"),
            "note",
            "2 files changed since they were read",
            details=("src/app.py changed since it was read", "notes.md was deleted since it was read"),
        ),
        DividerRow(row_key("d3"), "interrupted", "Interrupted: Helix ended during this turn"),
        DividerRow(
            row_key("d4"), "context", "Context: 104k → 31k", True, (ShowInTimeline(20, True), Redo((20,)))
        ),
    ]


QUESTION = Question(
    "q",
    "Which database should the service use for its orders?",
    (
        QuestionOption("Keep the file", "It locks while the nightly report runs."),
        QuestionOption("A server", "Many writers at once, and one more program to keep up."),
    ),
)


def question_rows(at: int) -> list[Row]:
    """A side question and its answer, and the agent's questions: answered, open, a subagent's, a late one."""
    return [
        UserRow(row_key("side0"), "Which file was that?", is_side=True),
        AssistantRow(row_key("side1"), "`orders.py`.", model="small", side_note="not in context · $0.0012"),
        tool_row(
            "q0",
            "ask_user",
            text="",
            arguments={
                "question": QUESTION.text,
                "options": [{"label": o.label, "description": o.description} for o in QUESTION.options],
            },
            reply=QuestionReply(("Keep the file",), "and measure it before the release"),
        ),
        QuestionRow(row_key("q1"), QUESTION, "1 of 2"),
        QuestionRow(row_key("q2"), structs.replace(QUESTION, multiple=True, subagent_title="Look for locks")),
        QuestionRow(row_key("q3"), QUESTION, is_late=True),
    ]


def server_question_rows() -> list[Row]:
    """A form of an MCP server with every kind of field, and a page to open."""
    fields = (
        FormField("name", "text", "Name of the release", "As other programs read it.", is_required=True),
        FormField("mail", "text", "Contact", format="email"),
        FormField("copies", "integer", "Copies", default=2, least=1, most=9),
        FormField("region", "choice", "Region", is_required=True, choices=(("eu", "Europe"), ("us", "us"))),
        FormField("parts", "choices", "Parts", choices=(("api", "api"), ("web", "web"))),
        FormField("draft", "boolean", "As a draft"),
        FormField("password", "text", "Password", is_secret=True),
    )
    address = f"https://sign-in.example.org/authorize?{'scope=read+write&' * 18}state=0123456789"
    return [
        QuestionRow(row_key("form"), ServerQuestion("s1", "What next?", server="releases", fields=fields)),
        QuestionRow(row_key("page"), ServerQuestion("s2", "Sign in.", server="n" * 100, url=address)),
    ]


def _approval_and_notice_rows(at: int) -> list[Row]:
    return [
        structs.replace(
            approval_row(
                *("p1", "edit_file", "Change src/helix/stream.py", "", "edit"),
                edits=(EDIT,),
                suggested_rules=(
                    PermissionRule("edit_file", "src/helix/stream.py"),
                    PermissionRule("edit_file", "src/helix", kind="folder"),
                    PermissionRule("edit_file", "*"),
                ),
            ),
            position="1 of 2",
        ),
        structs.replace(
            approval_row(
                *("p2", "run_command", "Run a command in the workspace", "git push --force origin main"),
                "command",
                asking_rule="Always ask before: run commands like: git push *",
                coverage=FileCoverage(
                    places=(
                        UncoveredPlace("node_modules", "ignored"),
                        UncoveredPlace("dist", "ignored"),
                        UncoveredPlace(".env", "secret"),
                    ),
                    uncovered=3,
                    is_complete=True,
                ),
            ),
            position="2 of 2",
        ),
        *question_rows(at),
        *_divider_rows(),
        NoticeRow(
            row_key("n1"),
            "error",
            "Anthropic rejected the API key.",
            "invalid x-api-key",
            "Enter a valid API key in Settings, Providers.",
            (ApplyRemedy("provider_settings"), ControlTurn("retry")),
        ),
        NoticeRow(
            row_key("n2"),
            "warning",
            "Not enough to compact yet.",
            "It would free less than 10 % of what is in the context.",
        ),
        NoticeRow(
            row_key("n3"),
            "info",
            "No model can write an extract.",
            "The offline demo model only follows a script.",
            "Choose a model in Settings.",
        ),
        AssistantRow(row_key("b2"), "I stopped half", at, "Haiku"),
        AssistantRow(row_key("b3"), "", at, "Haiku", streaming=True),
    ]


class _Scene(Themed, QWidget):
    """The surface that chat and composer stand on; nothing is read for it."""

    def perform(self, _intent: Intent) -> None: ...

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))


def build_scene(rows: list[Row], theme: Theme, size: tuple[int, int]) -> tuple[QWidget, ChatView]:
    """A conversation above a composer."""
    window = _Scene()
    model = ChatModel(window)
    view = ChatView(model, theme)
    composer = Composer()
    composer.set_model("Opus 4.5")
    composer.set_estimate("≈ 1.2k tokens")
    composer.set_attachments(
        (
            sample_chip("bash output 9f3a1c", "1.2k", kind="cached"),
            sample_chip("Pasted text", "92 lines · 1.4k tokens", kind="paste"),
        )
    )
    layout = QVBoxLayout(window)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(view, 1)
    layout.addWidget(composer)
    window.resize(*size)
    model.reset(rows)
    window.show()
    return window, view
