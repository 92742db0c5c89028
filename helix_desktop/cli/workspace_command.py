"""Run a command on a workspace, or on the services alone, without a window; questions go to the terminal."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.cli.cache_repair import report_repairs
from helix_desktop.cli.output import ProgressPrinter, begin_command, print_err, print_notice
from helix_desktop.config.data_dir import open_reading_copy, remove_reading_copy
from helix_desktop.config.log_file import close_log, open_log
from helix_desktop.config.paths import DATA_DIR_VARIABLE, DataDir
from helix_desktop.domain.errors import DataDirUnavailable, InvalidInput, WorkspaceMissing, WorkspaceUntrusted
from helix_desktop.domain.question import Question, QuestionReply, ServerQuestion
from helix_desktop.domain.tools import ApprovalDecision, ApprovalReply, ApprovalRequest
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.providers.retry import PATIENCE_S
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.instructions import RunInstructions
from helix_desktop.system.exit_codes import HUNG_UP, TERMINATED
from helix_desktop.tools.instruction_files import MAX_FILE_BYTES
from helix_desktop.words.file_changes import uncovered_line
from helix_desktop.words.translation import Translator, error_text
from helix_desktop.workspaces.registry import WorkspaceRecord, check_is_folder

tr = Translator("Command line")
text = TextContext("Command line")

_READING_VERBS: dict[str, frozenset[str]] = {
    "sessions": frozenset(),
    "timeline": frozenset(),
    "search": frozenset(),
    "backup": frozenset(),
    "cache": frozenset({"list", "search", "recall", "show", "verify", "export"}),
    "changes": frozenset({"list", "diff"}),
}
"""The commands that work on a copy of a data folder that can't be written; without verbs: as a whole."""

ServicesWork = Callable[[AppServices], Coroutine[Any, Any, int]]
WorkspaceWork = Callable[[AppServices, OpenWorkspace], Coroutine[Any, Any, int]]

_NUMBERS = re.compile(r"[1-9](?:[\s,;]+[1-9])*")
_MAX_LINE = 65_536  # bytes


STANDARD_INPUT = "-"
"""What stands for standard input in the place of a text or a file."""


def standard_input() -> bytes:
    """Return what standard input holds, to its end. Raises OSError."""
    return sys.stdin.buffer.read()


@contextmanager
def named_files(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the paths, with a file that holds standard input in the place of `-`. Raises OSError."""
    if Path(STANDARD_INPUT) not in paths:
        yield list(paths)
        return
    data = standard_input()
    with tempfile.TemporaryDirectory(prefix="helix-input-") as folder:
        file = Path(folder, f"stdin{_session_suffix(data)}")
        file.write_bytes(data)
        yield [file if path == Path(STANDARD_INPUT) else path for path in paths]


def _session_suffix(data: bytes) -> str:
    """Return what the name of a session file ends with: of JSON lines, or of one JSON document."""
    return ".json" if data.lstrip().startswith(b"[") else ".jsonl"


class TerminalApprover(FixedApprover):
    """Asks the agent's questions on the terminal, one after the other; without one nobody answers them."""

    def __init__(self, decision: ApprovalDecision) -> None:
        super().__init__(decision)
        self._lock = asyncio.Lock()
        self._uncovered = ""

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply:
        """Return the fixed reply; say before the call where it can't be undone, once while that is so."""
        reply = await super().decide(session_id, request)
        line = uncovered_line(request.coverage) if request.coverage and reply.decision != "deny" else ""
        if line and line != self._uncovered:
            self._uncovered = line
            print_err(line)
        return reply

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Return the user's reply; None without a terminal, at its end, or for a server's form."""
        if isinstance(question, ServerQuestion):
            print_err(
                tr(
                    "Declined, as only the window can answer it. {server} asks: {question}",
                    server=question.server,
                    question=escape_hidden(question.text),
                )
            )
            return None
        if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        async with self._lock:
            print_err(_prompt(question))
            line = await _read_line(sys.stdin.fileno())
        return parse_reply(question, line) if line else None


def parse_reply(question: Question, line: str) -> QuestionReply:
    """Return the reply that a line means: numbers of options, other words, or nothing to skip it."""
    text = line.strip()
    if _NUMBERS.fullmatch(text):
        numbers = list(dict.fromkeys(map(int, re.findall(r"\d", text))))
        if max(numbers) <= len(question.options) and (question.multiple or len(numbers) == 1):
            return QuestionReply(tuple(question.options[number - 1].label for number in numbers))
    return QuestionReply(text=text)


def _prompt(question: Question) -> str:
    lines = ["", tr("The agent asks: {question}", question=escape_hidden(question.text))]
    if question.subagent_title:
        lines.insert(1, tr("Subagent: {title}", title=escape_hidden_name(question.subagent_title)))
    for number, option in enumerate(question.options, 1):
        words = " – ".join(filter(None, (option.label, option.description)))
        lines.append(f"  {number}  {escape_hidden(words)}")
    if not question.options:
        lines.append(tr("Write your answer, or nothing to skip:"))
    elif question.multiple:
        lines.append(tr("Enter numbers (1, 2), your own words, or nothing to skip:"))
    else:
        lines.append(tr("Enter a number, your own words, or nothing to skip:"))
    return "\n".join(lines)


async def _read_line(terminal: int) -> str:
    """Return the next line of a terminal; empty at its end. Canceling leaves it to the thread's end."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()

    def deliver(data: bytes) -> None:
        if not line.done():
            line.set_result(data)

    def read() -> None:
        try:
            data = os.read(terminal, _MAX_LINE)
        except OSError:
            data = b""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, data)

    # A daemon, and os.read: a thread that reads sys.stdin would hold up, or break, the end of the process.
    threading.Thread(target=read, name="terminal", daemon=True).start()
    return (await line).decode(sys.stdin.encoding or "utf-8", "replace")


def with_workspace(args: argparse.Namespace, work: WorkspaceWork) -> int:
    # What is stored can be looked at also when the project's folder is gone.
    needs_folder = args.command == "run" or (args.command == "changes" and os.path.isdir(args.workspace))
    if args.command != "run" and not _is_import(args):
        _check_has_data(args)

    async def open_and_run(services: AppServices) -> int:
        record = resolve_workspace(services, args)
        for problem in services.problems:
            print_notice(error_text(problem))
        on_progress = ProgressPrinter(tr("Repairing the store")).update
        workspace = await services.open_workspace(
            record.id, read_only=not needs_folder, on_progress=on_progress
        )
        if getattr(args, "verb", "") != "repair":
            await report_repairs(services, workspace)
        return await work(services, workspace)

    return with_services(args, open_and_run)


def _is_import(args: argparse.Namespace) -> bool:
    """Return True for a command that makes the workspace it is to import into."""
    return "import" in (args.command, getattr(args, "verb", ""))


def _check_has_data(args: argparse.Namespace) -> None:
    """Raise DataDirUnavailable for a data directory without data that the user named."""
    data_dir: Path | None = getattr(args, "data_dir", None)
    if data_dir is not None or os.environ.get(DATA_DIR_VARIABLE, "").strip():
        DataDir.locate(data_dir, os.environ).check_has_data(text("No workspace was found."))


def with_services(args: argparse.Namespace, work: ServicesWork) -> int:
    """Run `work` until it ends, or a signal ends it; return the exit code. Raises HelixError."""

    code = TERMINATED
    begin_command()

    async def run() -> int:
        task = asyncio.current_task()

        def stop(exit_code: int) -> None:
            nonlocal code
            code = exit_code
            if exit_code == HUNG_UP:
                _discard_terminal_output()
            if task is not None and not task.cancelling():  # a second one would break off the end of the turn
                task.cancel()

        if sys.platform != "win32":
            for number, exit_code in ((signal.SIGTERM, TERMINATED), (signal.SIGHUP, HUNG_UP)):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as below nohup
                    asyncio.get_running_loop().add_signal_handler(number, stop, exit_code)
        async with _open_services(args, run_instructions) as services:
            return await work(services)

    run_instructions = _run_instructions(args)
    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return code


def _discard_terminal_output() -> None:
    """Print nothing more on a terminal that was closed: each write to it fails. Files and pipes stay."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@asynccontextmanager
async def _open_services(
    args: argparse.Namespace, run_instructions: RunInstructions
) -> AsyncIterator[AppServices]:
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    try:
        data.ensure()
    except DataDirUnavailable as error:
        if not _only_reads(args):
            raise
        data = open_reading_copy(data, error)
        print_notice(f"{tr('Opened for reading.')} {error_text(error)}")
    handler = open_log(data.logs_dir)
    try:
        approver = TerminalApprover("once" if getattr(args, "yes", False) else "deny")
        patience_s = getattr(args, "patience", None)
        if patience_s is None:
            patience_s = PATIENCE_S
        services = AppServices(
            data,
            os.environ,
            approver,
            demo_pause_s=0.0,
            use_existing_owner=True,
            response_timeout_s=patience_s,
            run_instructions=run_instructions,
        )
        try:
            yield services
        finally:
            await services.close()
    finally:
        close_log(handler)
        remove_reading_copy(data)


def _only_reads(args: argparse.Namespace) -> bool:
    verbs = _READING_VERBS.get(args.command)
    return verbs is not None and (not verbs or getattr(args, "verb", "") in verbs)


def _run_instructions(args: argparse.Namespace) -> RunInstructions:
    """Return what the command line says of instructions. Raises InvalidInput if the file can't be read.

    Blocks until a pipe has ended, and may then be ended by a signal: nothing is open yet.
    """
    file: Path | None = getattr(args, "instructions", None)
    if file is None:
        return RunInstructions(enabled=not getattr(args, "no_instructions", False))
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
            size = max(len(content), os.fstat(opened.fileno()).st_size)
    except OSError as error:
        raise InvalidInput(
            text("{file} can't be read.", file=file),
            system_reason(error),
            text("{option} needs a text file.", option="--instructions"),
        ) from error
    return RunInstructions(name=file.name, content=content, size=size)


def resolve_workspace(services: AppServices, args: argparse.Namespace) -> WorkspaceRecord:
    """Return the workspace on the command line; `run` and `import` create one. Raises HelixError."""
    path: Path = args.workspace
    record = services.registry.find_by_path(path)
    if record is None and services.registry.problems and os.path.isdir(path):
        # This may be the folder of a record that cannot be read: a second one would hide its sessions.
        raise services.registry.problems[0]
    if args.command != "run":
        if record is not None:
            return record
        if _is_import(args):
            return services.registry.add(path)
        check_is_folder(path)
        raise _not_a_workspace(path, services.registry.list_workspaces(include_removed=True))
    model_label = args.model or args.base_url or (record.model if record is not None else "")
    if services.models_error is not None and not model_label:
        raise services.models_error  # which model was chosen is not known: do not answer with another
    if os.path.isdir(path) and not (args.trust or (record is not None and record.trusted)):
        raise WorkspaceUntrusted(
            text("{path} isn't trusted yet.", path=path),
            text("A turn runs commands there and sends what it reads to a model."),
            text(
                "If you know what the folder contains, add {trust} or trust it in the window.",
                trust="--trust",
            ),
        )
    if not (is_model_named(services, args, record) or args.session or args.from_handover):
        check_is_folder(path)
        raise no_model_error()  # a session may have a model of its own
    return services.registry.add(path, trusted=args.trust)


def is_model_named(services: AppServices, args: argparse.Namespace, record: WorkspaceRecord | None) -> bool:
    """Return True if somebody said which model answers: here, in the settings or of the workspace."""
    named = args.model or args.base_url or services.settings.model
    return bool(named or (record is not None and (record.model or record.demo)))


def no_model_error() -> InvalidInput:
    return InvalidInput(
        text("No model is set up."),
        fix=text(
            "Add a provider in Settings → Providers, or name a model with --model PROVIDER/NAME and "
            "--base-url URL. The demo model answers from a script: --model demo/offline."
        ),
    )


def _not_a_workspace(path: Path, records: Sequence[WorkspaceRecord]) -> WorkspaceMissing:
    """Return the error for a folder without data; it names the workspace that may be meant."""
    real = Path(os.path.realpath(path))
    outer = [record for record in records if real.is_relative_to(record.path)]
    if outer:
        record = max(outer, key=lambda record: len(record.path))
        return WorkspaceMissing(
            text("{path} isn't a workspace.", path=path),
            text("It's a folder inside the workspace {name}.", name=record.name),
            text("Use {option} {folder}.", option="--workspace", folder=record.path),
        )
    missing = [record for record in records if not os.path.isdir(record.path)]
    same_name = [record for record in missing if Path(record.path).name == real.name]
    if len(same_name) == 1:  # a folder of another name says nothing of any workspace
        record = same_name[0]
        return WorkspaceMissing(
            text("{path} isn't a workspace yet.", path=path),
            text(
                "The folder of the workspace {name} is missing: {folder}.",
                name=record.name,
                folder=record.path,
            ),
            text("If you moved it here, open {name} in the window and locate its folder.", name=record.name),
        )
    return WorkspaceMissing(
        text("{path} isn't a workspace yet.", path=path),
        fix=text("Open the folder in the window, or run a turn in it."),
    )
