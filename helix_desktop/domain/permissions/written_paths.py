"""The paths that the options of a program name to be written: outputs, downloads, folders to unpack into."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

_OUTPUT = ("-o", "--output", "--out", "--output-file")
_DOWNLOAD_FOLDER = {"curl": r"--output-dir", "wget": r"-P|--directory-prefix", "openssl": r"-outdir"}
_DOWNLOAD_FILE = {
    "curl": r"-[a-zA-Z]*?o|--output", "wget": r"-[a-zA-Z]*?O|--output-document", "openssl": r"-out",
}  # fmt: skip
_KEEPS_NAME = re.compile(r"-[a-zA-Z]*O[a-zA-Z]*|--remote-name(?:-all)?")
_UNPACK_FOLDER = {
    "unzip": r"-[a-zA-Z]*?d",
    "7z": r"-o",
    "tar": r"-[a-zA-Z]*?C|--directory",
    "patch": r"-d|--directory",
}
_UNPACKS = re.compile(r"-?[a-zA-Z]*x[a-zA-Z]*|--extract|--get")
_TARGET_FOLDER = r"-[a-zA-Z]*?t|--target-directory"


def written_by_options(name: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the files that a program writes as its options say, and the folders that it unpacks into."""
    if name in _DOWNLOAD_FILE:
        yield from downloaded_paths(name, words)
        return
    for word, after in pairwise((*words, "")):
        option, is_joined, value = word.partition("=")
        if option in _OUTPUT:
            yield value if is_joined else after
    unpacker = "tar" if name == "bsdtar" else name
    if unpacker in _UNPACK_FOLDER and (unpacker != "tar" or _unpacks(words)):
        yield from _values(words, _UNPACK_FOLDER[unpacker])
    if unpacker == "tar" and _unpacks(words):
        operands = [word for word in words[not words[0].startswith("-") :] if not word.startswith("-")]
        yield from operands[1:]  # behind the archive: what it unpacks
    if name == "patch":
        yield from [word for word in words if not word.startswith("-")][:1]


def downloaded_paths(name: str, words: Sequence[str]) -> list[str]:
    """Return the files that curl, wget or openssl write, by options; else they are named by the address."""
    if name not in _DOWNLOAD_FILE:
        return []
    folder = next(_values(words, _DOWNLOAD_FOLDER[name]), "")
    files = [path for path in _values(words, _DOWNLOAD_FILE[name]) if path != "-"]
    is_named = any(re.match(_DOWNLOAD_FILE[name], word) for word in words)
    keeps_name = not is_named if name == "wget" else name == "curl" and any(map(_KEEPS_NAME.fullmatch, words))
    if keeps_name:
        files += [posixpath.basename(word) for word in words if "/" in word and not word.startswith("-")]
        files += [""] if folder else []
    return [posixpath.join(folder, path) for path in files]


def target_folder(words: Sequence[str]) -> str:
    """Return the folder that cp, mv, install or ln put their files into by option; empty if none."""
    return next(_values(words, _TARGET_FOLDER), "")


def _values(words: Sequence[str], options: str) -> Iterator[str]:
    """Yield the values of options, which may follow them directly, behind `=`, or as the next word."""
    for word, after in pairwise((*words, "")):
        if found := re.fullmatch(rf"(?:{options})(?:=?(.+))?", word, re.DOTALL):
            yield found[1] or after


def _unpacks(words: Sequence[str]) -> bool:
    return any(_UNPACKS.fullmatch(word) for word in words if word.startswith("-") or word == words[0])
