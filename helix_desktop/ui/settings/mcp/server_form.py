"""The fields of one MCP server, its tools, what it said last, and its report as text."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent, QTextCursor
from PySide6.QtWidgets import QAccessibleWidget, QPlainTextEdit, QWidget

from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.mcp_server import McpServerConfig, validate_server
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.mcp_config import (
    McpServerStatus,
    McpToolStatus,
    ServerDraft,
    is_secret_name,
    parse_server_configs,
)
from helix_desktop.services.mcp_servers import test_limit_s
from helix_desktop.ui.design.accessibility import DisclosureInterface
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel, label
from helix_desktop.ui.design.layout import FlowBox, clear_layout, column, pane, row
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.forms import Draft, Form, Line, Lines
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.numbers import format_tokens
from helix_desktop.words.translation import Translator, current_language, error_text, translate

tr = Translator("Settings: MCP")
text = TextContext("Settings: MCP")

_NAMED_FILES = 4
_VARIABLE = re.compile(r"\s*([^=:\s]+)\s*[=:]\s?(.*)")

STATES = {
    "ready": (text("Ready"), "ok"),
    "starting": (text("Starting…"), "accent"),
    "waiting": (text("Waiting to start"), "accent"),
    "failed": (text("Failed"), "error"),
    "off": (text("Off"), "faint"),
    "unapproved": (text("Needs your approval"), "warn"),
    "signed_out": (text("Sign-in needed"), "warn"),
    "untrusted": (text("Folder not trusted"), "warn"),
}
"""The words for a server's state, and the color of its dot."""


def state_text(report: McpServerStatus) -> str:
    if report.state == "waiting" and report.why:
        return tr("Restarting…")
    if report.state == "failed" and report.retry_in_s:
        return tr("Failed · retrying within {seconds} s", seconds=f"{report.retry_in_s:g}")
    return translate(STATES[report.state][0])


def secret_values_text(storage: str) -> str:
    """Return which values are secrets, and where they are kept: `storage` says it."""
    if not storage:
        return tr("Values of names like API_KEY or TOKEN are kept as secrets, not in a file.")
    return join_sentences(tr("Values of names like API_KEY or TOKEN are secrets."), storage)


def tools_cost_text(report: McpServerStatus) -> str:
    """Return how many tools the model sees, and what they cost; empty when nothing is known of them."""
    if not report.tools:
        return tr("no tools") if report.state == "ready" else ""
    exposed, total = len(report.exposed_tools), len(report.tools)
    tools = tr.plural(total, "%n tool", "%n tools")
    if exposed < total:
        tools = tr.plural(total, "{exposed} of %n tool", "{exposed} of %n tools", exposed=exposed)
    return f"{tools} · {_tokens_text(report.tokens, report.defers_tools)}"


def servers_total_text(reports: tuple[McpServerStatus, ...]) -> str:
    exposed = sum(len(report.exposed_tools) for report in reports)
    tokens = sum(report.tokens for report in reports)
    if not exposed:
        return ""
    defers_tools = any(report.defers_tools for report in reports)
    return f"{tr.plural(exposed, '%n tool', '%n tools')} · {_tokens_text(tokens, defers_tools)}"


def _tokens_text(tokens: int, defers_tools: bool) -> str:
    """Return what tools cost; with `defers_tools` the agent looks up the rest of what it needs."""
    if defers_tools:
        return tr("only names in requests, ≈ {tokens} tokens in each", tokens=format_tokens(tokens))
    return tr("≈ {tokens} tokens in each request", tokens=format_tokens(tokens))


def token_count_tip() -> str:
    return tr("Counted by Helix. The context panel shows the count that the model of the session reports.")


def consent_text(config: McpServerConfig, folder: str) -> tuple[str, str]:
    """Return what the user is to agree to: in a sentence, and exactly."""
    pairs, secret = (config.headers, config.secret_headers) if config.url else (config.env, config.secret_env)
    variables = [f"{key}={value}" for key, value in pairs.items()]
    variables += [tr("{name}=••• (saved)", name=key) for key in secret]
    summary = tr("Starts in {folder}, with your rights and outside the sandbox:", folder=config.cwd or folder)
    if config.url:
        summary = tr("Connects to this address with these headers:") if variables else tr("Connects to:")
    return summary, "\n".join([config.target_line, *variables])


def consent_reason_text(config: McpServerConfig) -> str:
    if not config.consent_changes:
        return tr("This configuration hasn't been approved.")
    files = tuple(map(escape_invisible, config.consent_changes[:_NAMED_FILES]))
    if not config.approved_ms:
        return tr("Helix now checks the files of the workspace that a server runs: {files}.", files=files)
    more = len(config.consent_changes) - len(files)
    changed = tr("Files that it runs have changed since you approved it: {files}.", files=files)
    return join_sentences(changed, tr.plural(more, "%n more.", "%n more.") if more else "")


def start_files_text(start_files: tuple[str, ...]) -> str:
    """Return what a server runs of the workspace, and what ends the consent; empty if it is nothing."""
    if not start_files:
        return ""
    files = [escape_invisible(path) for path in start_files if not path.endswith("/")]
    folders = [path for path in start_files if path.endswith("/")]
    names = [tr("the workspace") if path == "./" else escape_invisible(path) for path in folders]
    ends = tr("You're asked again when such a file changes.")
    if folders:
        ends = tr.plural(
            len(folders),
            "You're asked again when such a file changes, or the agent changes anything in {folders}.",
            "You're asked again when such a file changes, or the agent changes anything in one of %n "
            "folders: {folders}.",
            folders=tuple(names[:_NAMED_FILES]),
        )
    runs = tr("Of the workspace it runs {files}.", files=tuple(files[:_NAMED_FILES])) if files else ""
    return join_sentences(runs, ends)


def parse_draft(
    name: str, endpoint: str, cwd: str, variables: dict[str, str], secrets: dict[str, str]
) -> ServerDraft:
    """Return what the fields of a form describe; empty values among `secrets` keep what is stored.

    Variables with the name of a secret become one. Raises InvalidInput.
    """
    (read,) = parse_server_configs(endpoint) if endpoint.strip() else (ServerDraft(McpServerConfig(name="")),)
    variable_values = {**read.config.env, **variables}
    hidden = {key: value for key, value in variable_values.items() if is_secret_name(key)}
    values = {**read.secrets, **secrets, **hidden}
    plain = {key: value for key, value in variable_values.items() if key not in values}
    name = name.strip()
    if read.config.url:
        config = McpServerConfig(name=name, url=read.config.url, headers=plain, secret_headers=tuple(values))
    else:
        command, args = read.config.command, read.config.args
        config = McpServerConfig(
            name=name, command=command, args=args, env=plain, secret_env=tuple(values), cwd=cwd.strip()
        )
    return ServerDraft(config, values)


def parse_variables(lines: str) -> dict[str, str]:
    """Return variables or headers by name, from lines NAME=value or NAME: value. Raises InvalidInput."""
    values: dict[str, str] = {}
    for line in filter(str.strip, lines.splitlines()):
        pair = _VARIABLE.fullmatch(line)
        if pair is None:
            raise InvalidInput(
                text("Each variable must be NAME=value (got {value}).", value=repr(line.strip()[:60])),
                fix=text("Write one per line."),
            )
        values[pair[1]] = pair[2].strip()
    return values


_MIN_SEARCHABLE = 12  # tools from which on there is a field to look for one
_LOG_PX, _TOOL_SWITCH_PX, _COST_PX = 170, 38, 50


class ToolList(QWidget):
    """Every tool on a line of its own; those that cannot be exposed say why."""

    def __init__(self, use_without: Callable[[list[str]], object]) -> None:
        """`use_without` gets the tools that are off once the user has switched one."""
        super().__init__()
        self._use_without = use_without
        self._tools: tuple[McpToolStatus, ...] = ()
        self._lines: dict[str, QWidget] = {}
        self._search = SearchField(tr("Filter tools"))
        self._search.textChanged.connect(self._filter)
        self._rows = column(gap=2)
        self.setLayout(column(self._search, self._rows, gap=6))

    def show_tools(self, tools: tuple[McpToolStatus, ...]) -> None:
        """Show these tools; nothing is rebuilt while they stay the same."""
        if tools == self._tools:
            return
        self._tools = tools
        self._search.setVisible(len(tools) >= _MIN_SEARCHABLE)
        clear_layout(self._rows)
        by_name = sorted(tools, key=lambda tool: current_language().sort_key(tool.tool))
        self._lines = {tool.tool: self._line(tool) for tool in by_name}
        for line in self._lines.values():
            self._rows.addWidget(line)
        self._filter(self._search.text())

    def _line(self, status: McpToolStatus) -> QWidget:
        switch = Switch("", on=status.is_enabled and not status.refusal, words=status.tool)
        switch.setEnabled(not status.refusal)
        switch.setFixedWidth(_TOOL_SWITCH_PX)
        switch.toggled.connect(lambda on, tool=status.tool: self._switch(tool, on))
        words = translate(status.refusal) or status.description.replace("\n", " ")
        note = ElidedLabel(words, "warn" if status.refusal else "faint")
        note.setToolTip(status.description)
        name = ElidedLabel(status.tool)
        parts = row(switch, name, note, gap=10, margins=(0, 1, 0, 1))
        parts.setStretch(1, 2)
        parts.setStretch(2, 3)
        sign, color, tip = "circle", "surface", ""
        if status.is_read_only:
            sign, color = "eye", "faint"
            tip = tr("Read-only, according to the server: the agent can ask to use it in Plan mode, too.")
        reads = IconLabel(sign, px=14, color_token=color)
        reads.setToolTip(tip)
        reads.setAccessibleName(tip)
        cost = label(tr("hidden") if status.refusal else format_tokens(status.tokens), "faint")
        cost.setMinimumWidth(_COST_PX)
        cost.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        cost.setToolTip(tr("Hidden from the model") if status.refusal else token_count_tip())
        parts.addWidget(reads)
        parts.addWidget(cost)
        return pane(parts)

    def _switch(self, tool: str, is_enabled: bool) -> None:
        off = {status.tool for status in self._tools if not status.is_enabled} - {tool}
        self._use_without(sorted(off if is_enabled else off | {tool}))

    def _filter(self, query: str) -> None:
        words = query.casefold().split()
        for tool in self._tools:
            text = f"{tool.tool} {tool.description}".casefold()
            self._lines[tool.tool].setVisible(all(word in text for word in words))


class LogView(QPlainTextEdit):
    """What a server said last; it follows the end unless somebody has scrolled up."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setFixedHeight(_LOG_PX)
        self.setAccessibleName(tr("Log output"))
        self.setPlaceholderText(tr("No log output"))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setProperty("kind", "log")

    def show_log(self, text: str) -> None:
        if text == self.toPlainText():
            return
        bar = self.verticalScrollBar()
        before, following = bar.value(), bar.value() >= bar.maximum() - 1
        self.setPlainText(text)
        if following:
            self.moveCursor(QTextCursor.MoveOperation.End)
            self.moveCursor(QTextCursor.MoveOperation.StartOfLine)
        else:
            bar.setValue(before)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())


class DisclosureButton(PushButton):
    def __init__(self, text: str, part: QWidget, words: str = "") -> None:
        super().__init__(text, "link", "chevron-right", px=13, words=words)
        self.setCheckable(True)
        part.hide()
        self.toggled.connect(part.setVisible)
        self.toggled.connect(lambda is_open: self.set_icon("chevron-down" if is_open else "chevron-right"))

    def make_accessible(self) -> QAccessibleWidget:
        return DisclosureInterface(self)


_STATE_ICONS = {
    "ok": ("circle-check", "ok"),
    "failed": ("circle-x", "error"),
    "running": ("loader-circle", "muted"),
}


class TestStatus(QWidget):
    __test__ = False  # no test class, whatever its name

    def __init__(self) -> None:
        super().__init__()
        self._icon, self._message = IconLabel("circle-check", px=15), label("", "note", wrap=True)
        self.setLayout(row(self._icon, self._message, gap=8, stretch=1))
        self._message.setMinimumHeight(self._message.fontMetrics().lineSpacing())
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing moves when a test begins or ends
        self.setSizePolicy(policy)
        self.hide()

    def show_status(self, state: str, text: str) -> None:
        """Show a state (ok, failed or running) with words; without words nothing."""
        self._icon.show_icon(*_STATE_ICONS[state])
        self._message.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))


_FIELDS = (
    Line("name", text("Name"), live=True, room=1),
    Line("reach", text("Command or URL"), live=True, room=1),
    Line("cwd", text("Folder"), placeholder=text("Workspace folder"), live=True, room=1),
    Lines("env", text("Variables or headers"), placeholder=text("NAME=value, one per line"),
          live=True, height_px=62, room=2),
)  # fmt: skip


class ServerForm(Form):
    """The fields of a server. What is secret is never filled in: an empty field keeps what is kept."""

    def __init__(self) -> None:
        super().__init__(_FIELDS, Draft(dict.fromkeys(("name", "reach", "cwd", "env"), "")), gap=8)
        self.secret_storage = ""
        """Where secrets are kept, in words."""
        self.rows["env"].show_note(secret_values_text(""))
        self._missing, self._placeholders = tuple[str, ...](), tuple[str, ...]()
        self._place = column()
        body = self.layout()
        assert body is not None
        body.addWidget(pane(self._place))
        self.show_secrets(Form((), Draft({})))

    def show_secrets(self, secrets: Form) -> None:
        clear_layout(self._place)
        self.secrets = secrets
        self._place.addWidget(secrets)
        secrets.setVisible(bool(secrets.fields))
        secrets.edited.connect(self.edited)

    def show_secret_storage(self, text: str) -> None:
        if text == self.secret_storage:
            return
        self.secret_storage = text
        self.rows["env"].show_note(secret_values_text(text))
        for line in self.secrets.rows.values():
            line.show_note(text)

    def focus_missing_secret(self) -> None:
        """Give the keyboard to the first secret that has no value; else to the first."""
        names = [name for name in self.secrets.fields if name in self._missing] or list(self.secrets.fields)
        for name in names[:1]:
            self.secrets.show_field(name)

    def show_draft(self, draft: ServerDraft, missing: tuple[str, ...] = ()) -> None:
        """Fill the fields; secrets that are `missing` have no value kept."""
        config = draft.config
        pairs = config.headers if config.url else config.env
        command = shlex.join((config.command, *config.args)) if config.command else ""
        self.values.set("name", config.name)
        self.values.set("reach", config.url or command)
        self.values.set("cwd", config.cwd)
        self.values.set("env", "\n".join(f"{name}={value}" for name, value in pairs.items()))
        self.refresh()
        self.rows["cwd"].setVisible(not config.url)
        self._missing, self._placeholders = missing, draft.placeholders
        fields = [
            Line(
                name, name.replace("_", "_\u200b"), self.secret_storage, live=True, secret=True, room=1,
                placeholder=(
                    text("Saved. Type to replace it.") if name not in missing
                    else text("Bearer TOKEN") if name.lower() == "authorization"
                    else text("Enter value")
                ),
            )
            for name in config.secret_names
        ]  # fmt: skip
        values = {name: draft.secrets.get(name, "") for name in config.secret_names}
        self.show_secrets(Form(fields, Draft(values), gap=8))

    def draft(self, used_names: tuple[str, ...] = ()) -> ServerDraft | None:
        """Return what is filled in; None when something is wrong, which is then marked."""
        get, field = self.values.get, "env"
        try:
            variables, field = parse_variables(get("env")), "reach"
            self.show_error("env", "")
            secrets = {name: self.secrets.values.get(name).strip() for name in self.secrets.fields}
            parsed = parse_draft(get("name"), get("reach"), get("cwd"), variables, secrets)
        except InvalidInput as error:
            self.show_error(field, error_text(error))
            return None
        faults = validate_server(parsed.config, used_names)
        faults["env"] = faults.get("env", "") or faults.get("headers", "")
        for name in self.fields:
            unfilled = next((each for each in self._placeholders if each in get(name)), "")
            if unfilled:
                faults[name] = text("Replace {placeholder} with its value.", placeholder=unfilled)
            self.show_error(name, translate(faults.get(name, "")))
        return None if any(faults.values()) else parsed


class ServerEditor(QWidget):
    def __init__(
        self,
        save_text: str,
        session: Session,
        save: Callable[[ServerDraft], object],
        close: Callable[[], object],
        used_names: Callable[[str], tuple[str, ...]],
        server: str = "",
    ) -> None:
        """`server` is the name of one that is there already: a test takes its secrets.

        `used_names` returns those of the others.
        """
        super().__init__()
        self._session, self._save, self._used_names, self._server = session, save, used_names, server
        self.form, self.status = ServerForm(), TestStatus()
        self._testing: asyncio.Task[None] | None = None
        self.has_edits = False
        """Whether the user changed something since it was filled."""
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=close)
        self.test = PushButton(tr("Test", "verb: button"), "", "zap", name="test_server")
        self.test.clicked.connect(self._test_or_stop)
        save_button = PushButton(save_text, "primary", name="save_server", on_click=self._save_valid)
        self.form.edited.connect(lambda _: self._on_edited())
        buttons = FlowBox([cancel, self.test, save_button], right_from=0)
        self.setLayout(column(self.form, buttons, self.status, gap=10))

    def edit(self, draft: ServerDraft, missing: tuple[str, ...]) -> None:
        self.form.show_draft(draft, missing)
        self.has_edits = False
        self._stop_test()

    def _on_edited(self) -> None:
        self.has_edits = True
        self.status.show_status("ok", "")

    def _save_valid(self) -> None:
        if (draft := self.form.draft(self._used_names(self._server))) is not None:
            self._save(draft)

    def _test_or_stop(self) -> None:
        """Test, or stop the test that runs: one button, so that the keyboard stays at it."""
        if self._testing is not None:
            self._stop_test()
        elif (draft := self.form.draft(self._used_names(self._server))) is not None:
            self.test.setText(tr("Stop test"))
            self.status.show_status("running", _testing_text(draft.config))
            task = self._testing = self._session.actions.start(self._test(draft), "mcp test")
            self.destroyed.connect(lambda _: task.cancel())  # it may end after its form

    async def _test(self, draft: ServerDraft) -> None:
        servers, workspace_id = self._session.app.mcp_servers, self._session.workspace_id
        try:
            outcome = _report_status(await servers.test(workspace_id, self._server, draft))
        except HelixError as error:
            outcome = ("failed", error_text(error))
        self._end_test(*outcome)

    def _stop_test(self) -> None:
        if self._testing is not None:
            self._testing.cancel()
        self._end_test("ok", "")

    def _end_test(self, state: str, words: str) -> None:
        self._testing = None
        self.test.setText(tr("Test", "verb: button"))
        self.status.show_status(state, words)


def _testing_text(config: McpServerConfig) -> str:
    seconds = round(test_limit_s(config))
    if config.url:
        return tr("Testing, for at most {seconds} s.", seconds=seconds)
    return tr("Testing, for at most {seconds} s: the first start may download the server.", seconds=seconds)


def _report_status(report: McpServerStatus) -> tuple[str, str]:
    if report.state == "signed_out":
        return "ok", tr("It answers, and asks for a sign-in. Save it, then sign in on its card.")
    if report.state != "ready":
        return "failed", translate(report.why) or state_text(report)
    parts = (report.reported_name or tr("Connected"), tools_cost_text(report))
    return "ok", " · ".join(filter(None, parts))
