"""Mutual proof of two processes that they read the same secret, which never crosses the wire."""

from __future__ import annotations

import hmac
import secrets

import msgspec

from helix_desktop.store.remote.frames import InvalidFrame

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
