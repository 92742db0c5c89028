"""SHA256SUMS beside what was built: written sorted, and held against the files again."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "SHA256SUMS"
# The format of sha256sum, which reads it with --check; its mark for binary files is allowed too.
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def products(folder: Path) -> list[Path]:
    """Return the files of a folder, without the list itself, sorted by name."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path != folder / NAME)
    return sorted(paths, key=lambda path: path.relative_to(folder).as_posix())


def write(folder: Path) -> Path:
    """Write the list of a folder and return its path. Raise ValueError if the folder is empty."""
    files = products(folder)
    if not files:
        raise ValueError(f"{folder} holds nothing to sum up. Build something first:  ./helix package all")
    lines = [f"{digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / NAME).write_text("".join(lines), encoding="utf-8", newline="\n")
    return folder / NAME


def complaints(folder: Path) -> list[str]:
    """List where a folder and its list differ: changed, missing and unlisted files. Raises ValueError."""
    listed = _read(folder / NAME)
    there = {path.relative_to(folder).as_posix(): path for path in products(folder)}
    return [
        *(f"{name} is missing" for name in sorted(listed.keys() - there.keys())),
        *(f"{name} is not in the list" for name in sorted(there.keys() - listed.keys())),
        *(
            f"{name} is not what was listed"
            for name in sorted(listed.keys() & there.keys())
            if digest(there[name]) != listed[name]
        ),
    ]


def _read(path: Path) -> dict[str, str]:
    hashes: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _LINE.fullmatch(line)
        if not match:
            raise ValueError(f"{path}, line {number}: this is no SHA-256 and name.")
        if match[2] in hashes:
            raise ValueError(f"{path}, line {number}: {match[2]} stands there twice.")
        hashes[match[2]] = match[1]
    return hashes


def main(arguments: Sequence[str]) -> int:
    """Write the list, or with --verify check the files against it; return 1 if something is wrong."""
    grammar = argparse.ArgumentParser(prog="checksums", description=__doc__)
    grammar.add_argument("folder", type=Path, nargs="?", default=Path("dist"))
    grammar.add_argument("--verify", action="store_true", help="change nothing, tell what differs")
    args = grammar.parse_args(arguments)
    try:
        wrong = complaints(args.folder) if args.verify else []
        if not args.verify:
            sys.stdout.write(write(args.folder).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        wrong = [str(error)]
    sys.stderr.writelines(f"checksums: {problem}\n" for problem in wrong)
    return 1 if wrong else 0


def build(root: Path, words: Sequence[str]) -> int:
    """Write dist/SHA256SUMS, or check dist/ against it with `-- --verify`."""
    return main([str(root / "dist"), *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
