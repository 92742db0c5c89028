"""The parsers of all commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator


def command_parsers(
    name: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield a parser and those of its commands at any depth, each with its words behind `name`."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from command_parsers(f"{name} {word}".strip(), inner)
