"""The command `timeline`: print the rewrites of a workspace, one line each."""

from __future__ import annotations

import argparse
import json
from typing import Any

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.cli.output import as_builtins, print_out
from helix_desktop.cli.rewrite_lines import counted_rewrites, rewrite_lines
from helix_desktop.cli.workspace_command import with_workspace
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.fallbacks import fallback_advice, fallback_text
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def timeline(args: argparse.Namespace) -> int:
    """Print all rewrites and undos in a workspace, session by session."""

    async def work(_: AppServices, workspace: OpenWorkspace) -> int:
        documents: list[dict[str, Any]] = []
        for session in await workspace.store.sessions():
            log = await workspace.store.events(session.id)
            if args.json:
                events = [as_builtins(recorded) for recorded in counted_rewrites(log)]
                documents.append({"session": session.id, "title": session.title, "events": events})
                continue
            lines = [escape_hidden_name(line) for line in rewrite_lines(log)]
            print_out(f"{escape_hidden_name(ellipsize(session.title))}  ({session.id[:8]})")
            for line in lines or [tr("No changes to the context yet")]:
                print_out(f"  {line}")
        if args.json:
            print_out(json.dumps(documents, indent=1))
            return 0
        rate = await workspace.fallbacks.count()
        for text in filter(None, (fallback_text(rate), fallback_advice(rate))):
            print_out(text)
        return 0

    return with_workspace(args, work)
