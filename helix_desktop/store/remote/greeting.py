"""How two processes prove to each other that they read the same secret, which never crosses the wire."""

from __future__ import annotations

import hmac
import secrets

import msgspec

from helix_desktop.store.remote.wire import FrameRefused

_NONCE_BYTES = 32


class Hello(msgspec.Struct, frozen=True):
    """The owner speaks first: a number that is used once."""

    nonce: bytes


class Proof(msgspec.Struct, frozen=True):
    """The guest's proof, and its own number."""

    nonce: bytes
    mac: bytes


class Welcome(msgspec.Struct, frozen=True):
    """The owner's proof, and whose store it serves."""

    mac: bytes
    workspace: str
    pid: int


def hello() -> Hello:
    """The owner's first words."""
    return Hello(secrets.token_bytes(_NONCE_BYTES))


def prove(secret: bytes, greeted: Hello) -> Proof:
    """The guest's answer."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return Proof(nonce, _mac(secret, b"guest", greeted.nonce, nonce))


def welcome(secret: bytes, greeted: Hello, proof: Proof, workspace: str, pid: int) -> Welcome:
    """The owner's answer to a guest who has the secret. Raises FrameRefused for any other."""
    if not hmac.compare_digest(proof.mac, _mac(secret, b"guest", greeted.nonce, proof.nonce)):
        raise FrameRefused("a guest came without the secret")
    return Welcome(_mac(secret, b"owner", greeted.nonce, proof.nonce), workspace, pid)


def check_owner(secret: bytes, greeted: Hello, proof: Proof, answer: Welcome) -> None:
    """Whether it is the owner who answers. Raises FrameRefused."""
    if not hmac.compare_digest(answer.mac, _mac(secret, b"owner", greeted.nonce, proof.nonce)):
        raise FrameRefused("the one who answers has not the secret")


def _mac(secret: bytes, role: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.digest(secret, b"\0".join((role, first, second)), "sha256")
