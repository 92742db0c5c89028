"""The arguments of what belongs to the installation, and of the MCP server."""

from __future__ import annotations

import argparse

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.options import Commands, add_json, add_workspace
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
_SERVED_TOOLS = ("recall_cached_content", "search_cached_content", "list_cached_content")


def add_mcp(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `mcp`."""
    mcp = commands.add_parser(
        "mcp",
        parents=[common],
        help=tr("share a workspace's cache over MCP (Model Context Protocol)"),
        description=tr(
            "Offer the tools {tools} over standard input and output. With {http}, programs on this computer "
            "that have the token can use them. The workspace can stay open in the window.",
            tools=_SERVED_TOOLS,
            http="--http",
        ),
    )
    add_workspace(mcp)
    mcp.add_argument("--http", action="store_true", help=tr("use HTTP on the loopback address"))
    mcp.add_argument(
        "--port",
        type=argument_types.port,
        default=0,
        metavar="N",
        help=tr("port for {http} (default: any free one)", http="--http"),
    )


def add_installation(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `licences` and `self-check`."""
    licenses = commands.add_parser(
        "licences", parents=[common], help=tr("list bundled components and their licenses")
    )
    licenses.add_argument("--texts", action="store_true", help=tr("include the license texts"))
    add_json(licenses)
    check = commands.add_parser("self-check", parents=[common], help=tr("check this installation"))
    add_json(check)
    check.add_argument("--keyring", action="store_true", help=tr("store and delete a key in the keychain"))
    check.add_argument(
        "--bundle", type=argument_types.path, metavar="FILE", help=tr("save a zip for a report")
    )
    check.add_argument("--with-names", action="store_true", help=tr("keep your names in the bundle"))
    check.add_argument("--paint-only", action="store_true", help=argparse.SUPPRESS)  # how it calls itself
