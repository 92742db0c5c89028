"""The arguments of `replay`, which measures recorded sessions."""

from __future__ import annotations

import argparse

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.options import Commands, add_json, add_policy, add_window
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
_MESSAGE = '{"role": "system|user|assistant|tool", "content": TEXT}'
_CALLS = '"tool_calls": [{"id", "name", "arguments"}]'
_CALL_ID, _NAME = '"tool_call_id"', '"name"'


def add_replay(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add `replay`."""
    replay = commands.add_parser(
        "replay",
        parents=[common],
        help=tr("measure what a policy does with recorded sessions"),
        description=tr(
            "A recording is a file of JSON lines, plain or gzip, with one message per line: {message}. "
            "Assistant messages can have {calls}. Tool messages have {call_id} and {name}.",
            message=_MESSAGE,
            calls=_CALLS,
            call_id=_CALL_ID,
            name=_NAME,
        ),
    )
    replay.add_argument("files", nargs="+", type=argument_types.path, metavar="FILE", help=tr("recordings"))
    add_policy(replay)
    add_window(replay, default=128_000)
    add_json(replay)
