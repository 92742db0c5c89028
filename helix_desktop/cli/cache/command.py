"""The command `cache`: its verbs, and those on one entry."""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.app.exit_codes import FAILED
from helix_desktop.cli.cache.cleanup import collect, delete, forget, restore, trash
from helix_desktop.cli.cache.list import list_entries, search
from helix_desktop.cli.cache.recall import recall, search_as_agent
from helix_desktop.cli.cache_repair import repair, verified_text, verify_all
from helix_desktop.cli.output import as_builtins, print_out, write_text
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")


def cache(args: argparse.Namespace) -> int:
    """List, search, show, verify, repair, clean up or redact the cached contents of a workspace."""
    return with_workspace(args, partial(_VERBS[args.verb], args))


async def _search(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    return await (search_as_agent if args.agent else search)(args, services, workspace)


async def _show(args: argparse.Namespace, _: AppServices, workspace: OpenWorkspace) -> int:
    digest = await workspace.contents.resolve(args.sha)
    data = await workspace.store.get(digest)
    if args.json:
        entry = as_builtins(await workspace.store.entry(digest))
        print_out(json.dumps({**entry, "base64": base64.b64encode(data).decode()}, indent=1))
        return 0
    if sys.stdout.isatty():
        write_text(sys.stdout, data.decode("utf-8", "backslashreplace"))
        return 0
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


async def _verify(args: argparse.Namespace, services: AppServices, workspace: OpenWorkspace) -> int:
    if not args.sha:
        return await verify_all(args, services, workspace)
    verdict = await workspace.contents.verify(await workspace.contents.resolve(args.sha))
    damaged = [] if verdict.is_valid else [verdict.digest]
    if args.json:
        print_out(json.dumps({"verified": 1, "damaged": damaged, "problems": []}))
    else:
        if damaged:
            print_out(f"{verdict.digest}  {tr('DAMAGED')}  {translate(verdict.text)}")
        print_out(verified_text(1, len(damaged)))
    return FAILED if damaged else 0


_VERBS: dict[str, Callable[[argparse.Namespace, AppServices, OpenWorkspace], Coroutine[Any, Any, int]]] = {
    "list": list_entries,
    "search": _search,
    "recall": recall,
    "show": _show,
    "verify": _verify,
    "repair": repair,
    "gc": collect,
    "trash": trash,
    "restore": restore,
    "delete": delete,
    "forget": forget,
}
