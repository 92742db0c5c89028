"""The arguments of the commands on the installation: its licenses, and whether it works."""

from __future__ import annotations

import argparse

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.options import Commands, add_json
from helix_desktop.words.translation import Translator

tr = Translator("Command line")


def add_installation(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `licenses` and `self-check`."""
    licenses = commands.add_parser(
        "licenses",
        aliases=["licences"],
        parents=[common],
        help=tr("list bundled components and their licenses"),
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
