"""Errors as they cross the wire: the same kind, with the same words, on the other side."""

from __future__ import annotations

import msgspec

from helix_desktop.context import errors
from helix_desktop.context.errors import DigestAmbiguous, DigestUnknown, HelixError, StoreError, StoreLocked

_VALUE_ERROR = "ValueError"
_KINDS = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, HelixError)
}


class Fault(msgspec.Struct, frozen=True):
    """An error without its class: its name, its words, and what it carries beside them."""

    kind: str
    what: str
    why: str = ""
    fix: str = ""
    near: tuple[str, ...] = ()
    owner_pid: int | None = None


def fault_of(error: HelixError | ValueError) -> Fault:
    """What is sent of an error."""
    if isinstance(error, ValueError):
        return Fault(_VALUE_ERROR, str(error))
    return Fault(
        type(error).__name__,
        error.what,
        error.why,
        error.fix,
        error.near if isinstance(error, DigestUnknown | DigestAmbiguous) else (),
        error.owner_pid if isinstance(error, StoreLocked) else None,
    )


def error_of(fault: Fault) -> HelixError | ValueError:
    """The error that was sent; of a kind that is not known here, a StoreError with its words."""
    if fault.kind == _VALUE_ERROR:
        return ValueError(fault.what)
    kind = _KINDS.get(fault.kind, StoreError)
    if issubclass(kind, DigestUnknown | DigestAmbiguous):
        return kind(fault.what, fault.why, fault.fix, fault.near)
    if issubclass(kind, StoreLocked):
        return kind(fault.what, fault.owner_pid, fault.why, fault.fix)
    if kind.__init__ is not HelixError.__init__:
        kind = StoreError  # it carries something that does not travel
    return kind(fault.what, fault.why, fault.fix)
