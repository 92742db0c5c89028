"""What the agent's own tools on the cache answer, for a session or for none."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from dataclasses import dataclass

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.cache.list import resolve_session
from helix_desktop.cli.output import print_out
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.domain.digest import RECALL_TOOL, SEARCH_TOOL
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices

text = TextContext("Command line")

_ENTRIES = re.compile(r"e\d+(-e?\d+)?")
_MAX_HITS = 50  # the most that the tool takes


@dataclass(frozen=True)
class StoredSession:
    """A session as a tool of its agent sees it, read from the store."""

    id: str
    transcript: Transcript


async def recall(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Print what the agent would get for a hash or entry numbers. Raises HelixError."""
    if not args.from_session and _ENTRIES.fullmatch(args.handle):
        raise InvalidInput(
            text("Entry numbers such as {handle} belong to a session.", handle=args.handle),
            fix=text("Add {option}.", option="--from-session"),
        )
    arguments = {
        "hash": args.handle,
        "pattern": args.pattern,
        "start_line": args.start_line,
        "end_line": args.end_line,
        "context": args.context,
        "max_tokens": args.max_tokens,
    }
    return await _print_answer(RECALL_TOOL, arguments, args, services, workspace)


async def search_as_agent(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    """Print what the agent would get for a search. Raises HelixError."""
    arguments = {"query": args.query, "tool": args.tool, "limit": min(args.limit, _MAX_HITS)}
    return await _print_answer(SEARCH_TOOL, arguments, args, services, workspace)


async def _print_answer(
    tool: str,
    arguments: dict[str, object],
    args: argparse.Namespace,
    services: AppServices,
    workspace: OpenWorkspace,
) -> int:
    session = await _read_session(args.from_session, workspace)
    tools = services.tools.create_session_tools(workspace.store, session)
    result = await tools.run(ToolCall("cli", tool, json.dumps(arguments)))
    answer = result.model_text or result.content.decode("utf-8", "replace")
    if args.json:
        print_out(json.dumps({"recalled": result.recalled, "text": answer}, indent=1))
    else:
        print_out(answer.removesuffix("\n"))
    return 0


async def _read_session(prefix: str, workspace: OpenWorkspace) -> StoredSession | None:
    if not prefix:
        return None
    session_id = await resolve_session(prefix, workspace)
    log = await workspace.store.events(session_id)
    return StoredSession(session_id, await asyncio.to_thread(Transcript, log))
