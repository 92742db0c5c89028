"""Run commands on a workspace without a window: a turn, the cache, the timeline."""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Model
from helix_desktop.agent.tool_calls.approvals import FixedApprover
from helix_desktop.app.crash_log import close_log, open_log
from helix_desktop.app.exit_codes import FAILED, TERMINATED
from helix_desktop.cli import cache_cleanup, cache_list, cache_repair
from helix_desktop.cli.output import ProgressPrinter, TurnPrinter, print_err, print_out
from helix_desktop.cli.timeline_text import REWRITES, timeline_lines
from helix_desktop.config.paths import DataDir
from helix_desktop.domain.cost import Budget
from helix_desktop.domain.digest import ellipsize
from helix_desktop.domain.errors import (
    HelixError,
    InvalidInput,
    ModelNotChosen,
    WorkspaceMissing,
    WorkspaceUntrusted,
)
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.providers.retry import PATIENCE_S
from helix_desktop.services.app_services import AppServices
from helix_desktop.workspaces.record import WorkspaceRecord

_MCP_START_TIMEOUT_S = 30.0  # MCP servers get so long before a turn begins without them
_WorkspaceCommand = Callable[[AppServices, OpenWorkspace], Coroutine[Any, Any, int]]


def run_turn(args: argparse.Namespace) -> int:
    """Run one turn: print the answer, or every event as a JSON line. Return 0 only if it ended well."""

    async def work(services: AppServices, workspace: OpenWorkspace) -> int:
        model = await _requested_model(services, args)
        if model is not None:
            await workspace.set_models(model)
        await services.mcp_servers.wait_until_ready(workspace.id, _MCP_START_TIMEOUT_S)
        task = asyncio.current_task()
        assert task is not None  # a coroutine always runs in a task
        printer = TurnPrinter(
            args.json, on_output_error=task.cancel
        )  # as Ctrl+C does: the turn is recorded as stopped
        workspace.listen(printer.on_update)
        try:
            conversation = await _open_session(workspace, args.session)
            require_model(conversation)
            _warn_model_change(conversation)
            await _apply_budget(conversation, args)
            await conversation.set_mode(args.mode or conversation.mode)
            return await _turn(conversation, args.message, printer)
        except asyncio.CancelledError:
            if printer.output_error is not None:
                raise printer.output_error from None
            raise

    return with_workspace(args, work)


def require_model(conversation: Conversation) -> None:
    """Raise ModelNotChosen, with what to type, if the user has to choose first which model goes on."""
    try:
        conversation.model_choice.require()
    except ModelNotChosen as error:
        fix = "Set it up in Settings, Providers, or name another model with --model."
        raise ModelNotChosen(error.label, fix) from None


def _warn_model_change(conversation: Conversation) -> None:
    """Warn if another model than before answers in a session: it is sent the whole conversation."""
    previous, current = conversation.session.transcript.last_model, conversation.model.label
    if previous not in ("", current):
        print_err(f"helix-desktop: {previous} answered in this session so far; {current} goes on.")


async def _apply_budget(conversation: Conversation, args: argparse.Namespace) -> None:
    """Set the session's budget to the limits on the command line, if any."""
    limit = conversation.budget.limit
    tokens = limit.tokens if args.budget_tokens is None else args.budget_tokens
    cost = limit.cost if args.budget_usd is None else args.budget_usd
    if Budget(tokens, cost) != limit:
        await conversation.budget.set_limit(Budget(tokens, cost))


async def _turn(conversation: Conversation, message: str, printer: TurnPrinter) -> int:
    ended = await conversation.run(message)
    await conversation.wait_for_background_work()
    printer.print_end(ended)
    return 0 if ended.how == "done" and not printer.had_error else FAILED


async def _requested_model(services: AppServices, args: argparse.Namespace) -> Model | None:
    """Return the model on the command line; None to use the workspace's own. Raises InvalidInput."""
    if not (args.base_url or args.model or args.window):
        return None
    try:
        model = await services.models.adhoc(args.model, args.base_url, args.window)
    except HelixError as error:
        raise InvalidInput(error.what, error.why, error.fix) from error
    if args.base_url and (key := services.models.environment_key(args.model, args.base_url)).value:
        variable = key.source.removeprefix("environment: ")
        host = urlsplit(args.base_url).netloc.rpartition("@")[2]
        print_err(f"helix-desktop: the key in {variable} goes to {host}.")
    return model


async def _open_session(workspace: OpenWorkspace, session_prefix: str) -> Conversation:
    """Open the requested session, the last one, or a new one. Raises InvalidInput for none or several."""
    if not session_prefix:
        return await workspace.create_session()
    latest = [session.id for session in await workspace.sessions()][:1]
    session_ids = [
        session.id for session in await workspace.store.sessions()
    ]  # those of subagents go by their id
    matches = (
        latest
        if session_prefix == "last"
        else [session for session in session_ids if session.startswith(session_prefix)]
    )
    if len(matches) == 1:
        return await workspace.open_session(matches[0])
    if matches:
        raise InvalidInput(f"Several sessions begin with {session_prefix!r}.", fix="Give more of its id.")
    raise InvalidInput(
        f"This workspace has no session {session_prefix!r}.", fix="Leave --session out to begin one."
    )


def cache(args: argparse.Namespace) -> int:
    """List, search, show, verify, repair, clean up or forget the cached outputs of a workspace."""
    if args.verb == "repair":
        return with_workspace(
            args, lambda services, workspace: cache_repair.repair(args, services, workspace)
        )
    verbs: dict[str, Callable[[argparse.Namespace, OpenWorkspace], Coroutine[Any, Any, int]]] = {
        **cache_list.VERBS,
        "show": _show,
        "verify": _verify,
    }
    if args.verb in cache_cleanup.VERBS:
        return with_workspace(
            args, lambda services, workspace: cache_cleanup.VERBS[args.verb](args, services, workspace)
        )
    return with_workspace(args, lambda _, workspace: verbs[args.verb](args, workspace))


async def _show(args: argparse.Namespace, workspace: OpenWorkspace) -> int:
    digest = await workspace.resolve(args.sha)
    data = await workspace.store.get(digest)
    if args.json:
        entry = msgspec.to_builtins(await workspace.store.entry(digest))
        print_out(json.dumps({**entry, "base64": base64.b64encode(data).decode()}, indent=1))
        return 0
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


async def _verify(args: argparse.Namespace, workspace: OpenWorkspace) -> int:
    if not args.sha:
        return await cache_repair.verify(args, workspace)
    verdict = await workspace.verify(await workspace.resolve(args.sha))
    damaged = [] if verdict.is_valid else [verdict.digest]
    if args.json:
        print_out(json.dumps({"verified": 1, "damaged": damaged, "problems": []}))
    else:
        if damaged:
            print_out(f"{verdict.digest}  DAMAGED  {verdict.text}")
        print_out(f"1 verified, {len(damaged)} damaged")
    return FAILED if damaged else 0


def timeline(args: argparse.Namespace) -> int:
    """Print all rewrites and undos in a workspace, session by session."""

    async def work(_: AppServices, workspace: OpenWorkspace) -> int:
        documents: list[dict[str, Any]] = []
        for session in await workspace.store.sessions():
            log = await workspace.store.events(session.id)
            if args.json:
                events = [
                    msgspec.to_builtins(recorded) for recorded in log if isinstance(recorded.event, REWRITES)
                ]
                documents.append({"session": session.id, "title": session.title, "events": events})
                continue
            lines = [escape_hidden_name(line) for line in timeline_lines(log)]
            print_out(f"{escape_hidden_name(ellipsize(session.title))}  ({session.id[:8]})")
            for line in lines or ["No rewrites yet"]:
                print_out(f"  {line}")
        if args.json:
            print_out(json.dumps(documents, indent=1))
        return 0

    return with_workspace(args, work)


def with_workspace(args: argparse.Namespace, work: _WorkspaceCommand) -> int:
    """Run `work` in the workspace on the command line. Raises HelixError."""

    async def open_and_run(services: AppServices) -> int:
        record = resolve_workspace(services, args)
        for problem in services.problems:
            print_err(f"helix-desktop: {problem}")
        # What is stored can be looked at also when the project's folder is gone.
        on_progress = ProgressPrinter("mending the damaged store: ").update
        workspace = await services.open_workspace(
            record.id, read_only=args.command != "run", on_progress=on_progress
        )
        if getattr(args, "verb", "") != "repair":
            await cache_repair.report_repairs(workspace.store)
        return await work(services, workspace)

    return with_services(args, open_and_run)


def with_services(args: argparse.Namespace, work: Callable[[AppServices], Coroutine[Any, Any, int]]) -> int:
    """Run `work` until it ends, or a signal ends it; return the exit code. Raises HelixError."""

    async def run() -> int:
        task = asyncio.current_task()
        if sys.platform != "win32" and task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with _open_services(args) as services:
            return await work(services)

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return TERMINATED


@asynccontextmanager
async def _open_services(args: argparse.Namespace) -> AsyncIterator[AppServices]:
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    data.ensure()
    handler = open_log(data.logs_dir)
    try:
        approver = FixedApprover("once" if getattr(args, "yes", False) else "deny")
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
        )
        try:
            yield services
        finally:
            await services.close()
    finally:
        close_log(handler)


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
        if getattr(args, "verb", "") == "import":
            return services.registry.add(path)
        raise WorkspaceMissing(
            f"{path} is no workspace of Helix Desktop.",
            "Nothing has been run there yet.",
            "Open the folder in the window, or run a turn in it.",
        )
    model_label = args.model or args.base_url or (record.model if record is not None else "")
    if services.settings_damaged is not None and not model_label:
        raise services.settings_damaged  # which model was chosen is not known: do not answer with another
    if os.path.isdir(path) and not (args.trust or (record is not None and record.trusted)):
        raise WorkspaceUntrusted(
            f"{path} is not trusted yet.",
            "A turn runs commands there and sends what it reads to a model.",
            "If you know what is in the folder, add --trust, or trust it in the window.",
        )
    return services.registry.add(path, trusted=args.trust)
