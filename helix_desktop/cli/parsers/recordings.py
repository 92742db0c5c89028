"""The arguments of `replay`, which measures recorded sessions."""

from __future__ import annotations

import argparse

from helix_desktop.cli import argument_types
from helix_desktop.cli.parsers.options import Commands, add_window
from helix_desktop.words.translation import Translator

tr = Translator("Command line")
_PROFILES = ("balanced", "lean", "classic", "plain", "off")
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
    add_recordings(replay)
    add_window(replay, default=128_000)
    replay.add_argument("--recalls", action="store_true", help=tr("simulate recalls"))
    replay.add_argument(
        "--recall-rate",
        type=argument_types.fraction,
        default=None,
        metavar="SHARE",
        help=tr("share of model calls with a simulated recall, in addition to files that are read again"),
    )
    replay.add_argument(
        "--reach-every",
        type=argument_types.count,
        default=0,
        metavar="N",
        help=tr("recall every output at each Nth model call, not only at the last"),
    )
    replay.add_argument(
        "--jobs",
        type=argument_types.number_between(1, argument_types.MAX_JOBS),
        default=1,
        metavar="N",
        help=tr("number of processes"),
    )
    replay.add_argument(
        "--json", action="store_true", help=tr("print one JSON document with the figures of each file")
    )


def add_recordings(command: argparse.ArgumentParser) -> None:
    """Add the recordings, and the policy to replay them under."""
    command.add_argument(
        "files",
        nargs="+",
        type=argument_types.path,
        metavar="FILE",
        help=tr("recordings, or folders of recordings"),
    )
    command.add_argument(
        "--policy",
        type=argument_types.non_empty_text,
        default="balanced",
        metavar="NAME",
        help=tr("TOML file, or one of the profiles {profiles}", profiles=_PROFILES),
    )
