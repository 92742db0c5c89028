"""How two processes of a user find and trust each other: the owner's address, and proof of a shared secret.

Where the system has Unix domain sockets, the socket is in a folder of its own that nobody else may enter,
with a short path: an address has room for 104 to 108 bytes. Elsewhere it is a port of the loopback interface;
there only the secret keeps others out.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import sys
import tempfile
from pathlib import Path

import msgspec

from helix_desktop.store.remote.rpc import InvalidFrame
from helix_desktop.system.files import read_regular, replace_file

LOOPBACK = sys.platform == "win32"
ENDPOINT_FILE = "owner.address"
_HOST = "127.0.0.1"
_FOLDER_PREFIX = "helix-"
_SOCKET_NAME = "s"
_MAX_SOCKET_PATH_BYTES = 100  # length in bytes of a socket's path that every system accepts
_SECRET_BYTES = 32


class OwnerEndpoint(msgspec.Struct, frozen=True):
    """The path of a socket or a port of loopback, and the secret of this owner."""

    secret: bytes
    path: str = ""
    port: int = 0
    host: str = _HOST


def new_secret() -> bytes:
    """Return a secret for one opening of a store."""
    return secrets.token_bytes(_SECRET_BYTES)


def write_endpoint(folder: Path, endpoint: OwnerEndpoint) -> None:
    """Write the address of the owner into a store's folder. Raise OSError."""
    part = folder / f"{ENDPOINT_FILE}.part"
    part.unlink(missing_ok=True)
    part.touch(mode=0o600, exist_ok=False)
    part.write_bytes(msgspec.json.encode(endpoint))
    replace_file(part, folder / ENDPOINT_FILE)


def read_endpoint(folder: Path) -> OwnerEndpoint | None:
    """Return the address of a store's owner; None if there is none."""
    try:
        return msgspec.json.decode(read_regular(folder / ENDPOINT_FILE), type=OwnerEndpoint)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def new_socket_path() -> Path:
    """Return a path for a socket in a new folder that only this user may enter. Raise OSError."""
    folders = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]
    for folder in filter(os.path.isdir, folders):
        path_bytes = len(os.fsencode(folder)) + len(f"/{_FOLDER_PREFIX}12345678/{_SOCKET_NAME}")
        if path_bytes <= _MAX_SOCKET_PATH_BYTES and os.access(folder, os.W_OK):
            return Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=folder)) / _SOCKET_NAME
    raise OSError("there is no folder for a socket whose path is short enough")


def remove_endpoint(folder: Path) -> None:
    """Remove what an owner, this one or a dead one, has left: the file, its socket, the socket's folder."""
    endpoint = read_endpoint(folder)
    with contextlib.suppress(OSError):
        (folder / ENDPOINT_FILE).unlink()
    if endpoint is not None and endpoint.path:
        _remove_socket(Path(endpoint.path))


def _remove_socket(path: Path) -> None:
    """Remove a socket and its folder, if the names are as from `new_socket_path`."""
    if path.name != _SOCKET_NAME or not path.parent.name.startswith(_FOLDER_PREFIX):
        return
    with contextlib.suppress(OSError):
        if path.is_socket():
            path.unlink()
        path.parent.rmdir()


_NONCE_BYTES = 32


class Challenge(msgspec.Struct, frozen=True):
    """The owner's first message: a number that is used once."""

    nonce: bytes


class ClientProof(msgspec.Struct, frozen=True):
    """The client's proof, and its own number."""

    nonce: bytes
    mac: bytes


class OwnerProof(msgspec.Struct, frozen=True):
    """The owner's proof, and the workspace it serves."""

    mac: bytes
    workspace_id: str = msgspec.field(name="workspace")
    pid: int


def new_challenge() -> Challenge:
    """Return the owner's first message."""
    return Challenge(secrets.token_bytes(_NONCE_BYTES))


def prove_client(secret: bytes, challenge: Challenge) -> ClientProof:
    """Return the client's answer."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return ClientProof(nonce, _mac(secret, b"guest", challenge.nonce, nonce))


def prove_owner(
    secret: bytes, challenge: Challenge, client_proof: ClientProof, workspace_id: str, pid: int
) -> OwnerProof:
    """Return the owner's answer to a client who has the secret. Raise InvalidFrame for any other."""
    if not hmac.compare_digest(client_proof.mac, _mac(secret, b"guest", challenge.nonce, client_proof.nonce)):
        raise InvalidFrame("a guest came without the secret")
    return OwnerProof(_mac(secret, b"owner", challenge.nonce, client_proof.nonce), workspace_id, pid)


def check_owner(
    secret: bytes, challenge: Challenge, client_proof: ClientProof, owner_proof: OwnerProof
) -> None:
    """Raise InvalidFrame unless the owner's proof is valid."""
    if not hmac.compare_digest(owner_proof.mac, _mac(secret, b"owner", challenge.nonce, client_proof.nonce)):
        raise InvalidFrame("the one who answers has not the secret")


def _mac(secret: bytes, role: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.digest(secret, b"\0".join((role, first, second)), "sha256")
