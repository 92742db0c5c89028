"""Small files that are replaced atomically: a crash leaves the old or the new one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from helix_desktop.domain.translatable_text import plain_text
from helix_desktop.system.files import read_regular, replace_file, sync_folder

T = TypeVar("T")


def read_struct(path: Path, kind: type[T]) -> T | None:
    """Return the content of a file; None if it is absent. Raise msgspec.DecodeError, OSError."""
    try:
        return msgspec.json.decode(read_regular(path), type=kind)
    except FileNotFoundError:
        return None
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error


def write_struct(path: Path, value: object) -> None:
    """Replace a file so that a crash leaves the complete old or new one. Raise OSError."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(msgspec.json.encode(value, enc_hook=plain_text) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    replace_file(part, path)
    sync_folder(path.parent)
