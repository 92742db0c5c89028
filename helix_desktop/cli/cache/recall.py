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
from helix_desktop.domain.errors import ContentRedacted, DigestUnknown, InvalidInput, ToolError
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.tools.cache.recall import pattern_error

text = TextContext("Command line")

_ENTRIES = re.compile(r"e\d+(-e?\d+)?")
_ENTRY_RANGE = re.compile(r"(?:[0-9a-f]{8,64}[\s,:]+)?e(\d{1,6})(?:\s*[-–]\s*e?(\d{1,6}))?")
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
        "hash": await _resolve_handle(args.handle, workspace),
        "pattern": args.pattern,
        "start_line": args.start_line,
        "end_line": args.end_line,
        "context": args.context,
        "max_tokens": args.max_tokens,
    }
    try:
        return await _print_answer(RECALL_TOOL, arguments, args, services, workspace)
    except ToolError as error:  # it is about what was asked for
        raise pattern_error(error) or InvalidInput(error.what, error.why, error.fix) from error


async def _resolve_handle(handle: str, workspace: OpenWorkspace) -> str:
    """Return entry numbers as they are, and the digest of anything else. Raises HelixError for the user."""
    plain = handle.strip().strip("\"'`").rstrip("….").lower()
    if match := _ENTRY_RANGE.fullmatch(plain):
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InvalidInput(
                text("{handle} ends before it begins.", handle=repr(handle)),
                fix=text("Write {handle}.", handle=f"e{last}-e{first}"),
            )
        return plain
    try:
        return await workspace.contents.resolve(plain)
    except ContentRedacted:
        raise
    except DigestUnknown as error:
        fix = text(
            "Find it by words with {command}, or list the entries.", command="helix-desktop cache search"
        )
        raise DigestUnknown(error.what, error.why, fix, error.near) from error


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
