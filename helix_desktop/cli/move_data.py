"""The command `move-data`: move the data directory to another folder."""

from __future__ import annotations

import argparse
import json
import os

from helix_desktop.app.data_move import move_data_dir
from helix_desktop.cli.output import ProgressPrinter, print_err, print_notice, print_out
from helix_desktop.config.paths import POINTER_FILE, DataDir, may_be_deleted
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
text = TextContext("Command line")


def move_data(args: argparse.Namespace) -> int:
    """Move the data directory; keep the old one unless its removal is requested. Raises HelixError."""
    data = DataDir.locate(getattr(args, "data_dir", None), os.environ)
    data.check_has_data(text("Nothing to move."))
    data.ensure()
    printer = ProgressPrinter()
    move = move_data_dir(data, args.folder, printer.update)
    not_removed = move.remove_old() if args.remove_old else ()
    data_move = {
        "to": str(move.target),
        "from": str(move.source),
        "files": len(move.files),
        "size": move.size,
    }
    if args.json:
        print_out(json.dumps({**data_move, "removed": bool(args.remove_old) and not not_removed}))
        return 0
    print_out(f"{move.target}  {format_size(move.size)}")
    if not_removed:
        print_notice(tr("Couldn't delete {paths}.", paths=tuple(map(str, not_removed))))
    elif not args.remove_old:
        print_err(
            tr.plural(
                len(move.files),
                "%n file moved and verified. The old copy is still in {folder}.",
                "%n files moved and verified. The old copy is still in {folder}.",
                folder=move.source,
            )
        )
        print_err(
            tr("You can delete it.")
            if may_be_deleted(move.source)
            else tr("Don't delete {file}: it says where the data is now.", file=move.source / POINTER_FILE)
        )
    return 0
