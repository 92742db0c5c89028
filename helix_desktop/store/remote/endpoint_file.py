"""Where a store's owner listens: written into a file of the store's folder that only its user can read.

Where the system has Unix domain sockets, the socket lies in a folder of its own that nobody else may enter,
with a short path: an address has room for 104 to 108 bytes. Elsewhere it is a port of the loopback interface;
there the secret alone keeps others out.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import tempfile
from pathlib import Path

import msgspec

from helix_desktop.system.files import replace

LOOPBACK = sys.platform == "win32"
ENDPOINT_FILE = "owner.address"
_HOST = "127.0.0.1"
_FOLDER_PREFIX = "helix-"
_SOCKET_NAME = "s"
_MAX_SOCKET_PATH_BYTES = 100  # bytes of a socket's path that every system takes
_SECRET_BYTES = 32


class OwnerEndpoint(msgspec.Struct, frozen=True):
    """Either the path of a socket or a port of loopback, and the secret of this owner."""

    secret: bytes
    path: str = ""
    port: int = 0
    host: str = _HOST


def new_secret() -> bytes:
    """Return a secret for one opening of a store."""
    return secrets.token_bytes(_SECRET_BYTES)


def write_endpoint(folder: Path, endpoint: OwnerEndpoint) -> None:
    """Say in a store's folder where its owner listens. Raise OSError."""
    part = folder / f"{ENDPOINT_FILE}.part"
    part.unlink(missing_ok=True)
    part.touch(mode=0o600, exist_ok=False)
    part.write_bytes(msgspec.json.encode(endpoint))
    replace(part, folder / ENDPOINT_FILE)


def read_endpoint(folder: Path) -> OwnerEndpoint | None:
    """Return where the owner of a store listens; None when it does not say."""
    try:
        return msgspec.json.decode((folder / ENDPOINT_FILE).read_bytes(), type=OwnerEndpoint)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def new_socket_path() -> Path:
    """Return a path for a socket in a new folder that only this user may enter. Raise OSError."""
    places = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]
    for place in filter(os.path.isdir, places):
        room = len(os.fsencode(place)) + len(f"/{_FOLDER_PREFIX}12345678/{_SOCKET_NAME}")
        if room <= _MAX_SOCKET_PATH_BYTES and os.access(place, os.W_OK):
            return Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=place)) / _SOCKET_NAME
    raise OSError("there is no folder for a socket whose path is short enough")


def remove_endpoint(folder: Path) -> None:
    """Remove what an owner, this one or one that died, has left: the file, its socket, that one's folder."""
    left = read_endpoint(folder)
    with contextlib.suppress(OSError):
        (folder / ENDPOINT_FILE).unlink()
    if left is not None and left.path:
        remove_socket(Path(left.path))


def remove_socket(path: Path) -> None:
    """Remove a socket and its folder, if they are such as `new_socket_path` names."""
    if path.name != _SOCKET_NAME or not path.parent.name.startswith(_FOLDER_PREFIX):
        return
    with contextlib.suppress(OSError):
        if path.is_socket():
            path.unlink()
        path.parent.rmdir()
