"""Errors as they cross the wire: the same kind, with the same words, on the other side."""

from __future__ import annotations

import msgspec

from helix_desktop.context import errors
from helix_desktop.context.errors import DigestAmbiguous, DigestUnknown, HelixError, StoreError, StoreLocked

_VALUE_ERROR = "ValueError"
# By the names they had when they first crossed the wire: programs of two releases understand each other.
_KINDS: dict[str, type[HelixError]] = {
    "HelixError": errors.HelixError,
    "InputUnusable": errors.InputUnusable,
    "DataDirUnusable": errors.DataDirUnusable,
    "SettingsDamaged": errors.SettingsDamaged,
    "WorkspaceMissing": errors.WorkspaceMissing,
    "WorkspaceUntrusted": errors.WorkspaceUntrusted,
    "WindowSilent": errors.WindowSilent,
    "RecordingUnusable": errors.RecordingUnusable,
    "ArchiveUnusable": errors.ArchiveUnusable,
    "ArchiveNotWritten": errors.ArchiveNotWritten,
    "StoreError": errors.StoreError,
    "StoreLocked": errors.StoreLocked,
    "StoreClosed": errors.StoreClosed,
    "StoreUnreadable": errors.StoreUnreadable,
    "StoreDamaged": errors.StoreDamaged,
    "StoreMended": errors.StoreMended,
    "StoreWriteFailed": errors.StoreWriteFailed,
    "DigestUnknown": errors.DigestUnknown,
    "ContentForgotten": errors.ContentForgotten,
    "DigestAmbiguous": errors.DigestAmbiguous,
    "ContentDamaged": errors.ContentDamaged,
    "ContentTooLarge": errors.ContentTooLarge,
    "ModelError": errors.ModelError,
    "ModelUnreachable": errors.ModelUnreachable,
    "ModelRefused": errors.ModelRefused,
    "KeyRefused": errors.KeyRefused,
    "ImagesRefused": errors.ImagesRefused,
    "ModelOverflow": errors.ModelOverflow,
    "ModelNonsense": errors.ModelNonsense,
    "ToolError": errors.ToolError,
    "SubagentFailed": errors.SubagentFailed,
    "ModelUnchosen": errors.ModelUnchosen,
    "BudgetSpent": errors.BudgetSpent,
    "RequestInvalid": errors.RequestInvalid,
    "RequestTooLarge": errors.RequestTooLarge,
    "CompactionRefused": errors.CompactionRefused,
    "SummaryRefused": errors.SummaryRefused,
    "FormRefused": errors.FormRefused,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


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
        _NAMES.get(type(error), type(error).__name__),
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
