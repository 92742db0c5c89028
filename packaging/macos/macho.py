"""Reads from a Mach-O file what decides where it runs: its architectures and the oldest macOS for it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_THIN_64 = 0xFEEDFACF
_FAT = 0xCAFEBABE
_FAT_64 = 0xCAFEBABF
_MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
_HEADER = 32
_COMMAND = 8
_VERSION_MIN = 0x24
_BUILD_VERSION = 0x32
# A Java class begins as a fat file does; no fat file has as many parts as a class file's version number.
_MAX_PARTS = 20


@dataclass(frozen=True)
class Slice:
    """One architecture of a Mach-O file."""

    machine: str
    oldest: tuple[int, int]
    """The oldest macOS it runs on; (0, 0) when it does not say."""


def is_macho(path: Path) -> bool:
    """Return True if a file is code that macOS signs and loads."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(_COMMAND)
    return _is_thin(start) or bool(_parts(start))


def slices(path: Path) -> list[Slice]:
    """List the architectures of a file. Raises ValueError when it is no Mach-O file, or a broken one."""
    data = path.read_bytes()
    try:
        if _is_thin(data):
            return [_slice(data)]
        form = ">IIQQII" if data[:4] == _FAT_64.to_bytes(4, "big") else ">IIIII"
        entries = (
            struct.unpack_from(form, data, _COMMAND + part * struct.calcsize(form))
            for part in range(_parts(data))
        )
        parts = [_slice(data[entry[2] :]) for entry in entries]
    except (struct.error, ValueError) as error:
        raise ValueError(f"{path} is cut off or damaged: {error}.") from error
    if not parts:
        raise ValueError(f"{path} is no Mach-O file of 64 bits.")
    return parts


def _is_thin(data: bytes) -> bool:
    return data[:4] == _THIN_64.to_bytes(4, "little")


def _parts(data: bytes) -> int:
    """Return how many architectures a fat file contains; 0 if it is none."""
    if len(data) < _COMMAND:
        return 0
    magic, count = struct.unpack_from(">II", data)
    return count if magic in {_FAT, _FAT_64} and count <= _MAX_PARTS else 0


def _slice(data: bytes) -> Slice:
    magic, machine, _, _, count, _, _, _ = struct.unpack_from("<IIIIIIII", data)
    if magic != _THIN_64:
        raise ValueError(f"a part begins with {magic:#x}, which is no code of 64 bits.")
    oldest = max((version for version in _oldest(data, count)), default=(0, 0))
    return Slice(_MACHINES.get(machine, f"{machine:#x}"), oldest)


def _oldest(data: bytes, count: int) -> Iterator[tuple[int, int]]:
    at = _HEADER
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command in {_VERSION_MIN, _BUILD_VERSION}:
            (version,) = struct.unpack_from("<I", data, at + (8 if command == _VERSION_MIN else 12))
            yield version >> 16, version >> 8 & 0xFF
        if size < _COMMAND:
            raise ValueError("a load command has no length.")
        at += size
