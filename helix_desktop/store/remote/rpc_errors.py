"""Errors on the wire: the same class, with the same text, on the other side."""

from __future__ import annotations

import msgspec

from helix_desktop.domain import errors
from helix_desktop.domain.errors import DigestAmbiguous, DigestUnknown, HelixError, StoreError, StoreLocked
from helix_desktop.domain.translatable_text import verbatim

_VALUE_ERROR = "ValueError"
# By the names they had when they first crossed the wire: programs of two releases interoperate.
_ERROR_CLASSES: dict[str, type[HelixError]] = {
    "HelixError": errors.HelixError,
    "InputUnusable": errors.InvalidInput,
    "DataDirUnusable": errors.DataDirUnavailable,
    "SettingsDamaged": errors.SettingsDamaged,
    "SettingsUnreadable": errors.SettingsUnreadable,
    "WorkspaceMissing": errors.WorkspaceMissing,
    "WorkspaceUntrusted": errors.WorkspaceUntrusted,
    "WindowSilent": errors.InstanceNotResponding,
    "RecordingUnusable": errors.InvalidRecording,
    "ArchiveUnusable": errors.InvalidArchive,
    "ArchiveNotWritten": errors.ArchiveWriteFailed,
    "StoreError": errors.StoreError,
    "StoreLocked": errors.StoreLocked,
    "StoreClosed": errors.StoreClosed,
    "StoreUnreadable": errors.StoreUnreadable,
    "StoreDamaged": errors.StoreDamaged,
    "StoreMended": errors.StoreRepaired,
    "StoreWriteFailed": errors.StoreWriteFailed,
    "DigestUnknown": errors.DigestUnknown,
    "ContentForgotten": errors.ContentRedacted,
    "DigestAmbiguous": errors.DigestAmbiguous,
    "ContentDamaged": errors.ContentDamaged,
    "ContentTooLarge": errors.ContentTooLarge,
    "ModelError": errors.ModelError,
    "ModelUnreachable": errors.ModelUnreachable,
    "ModelRefused": errors.ModelRequestRejected,
    "KeyRefused": errors.AuthenticationFailed,
    "ImagesRefused": errors.ImagesRejected,
    "ModelOverflow": errors.ContextWindowExceeded,
    "ModelNonsense": errors.InvalidModelResponse,
    "ToolError": errors.ToolError,
    "SubagentFailed": errors.SubagentFailed,
    "ModelUnchosen": errors.ModelNotChosen,
    "BudgetSpent": errors.BudgetExhausted,
    "RequestInvalid": errors.RequestInvalid,
    "RequestTooLarge": errors.RequestTooLarge,
    "CompactionRefused": errors.CompactionRefused,
    "SummaryRefused": errors.SummaryRefused,
    "FormRefused": errors.OutputFormUnavailable,
}
_NAMES = {kind: name for name, kind in _ERROR_CLASSES.items()}


class RpcError(msgspec.Struct, frozen=True):
    """An error without its class: its name, its texts, and its other fields."""

    kind: str
    what: str
    why: str = ""
    fix: str = ""
    near: tuple[str, ...] = ()
    owner_pid: int | None = None


def to_rpc_error(error: HelixError | ValueError) -> RpcError:
    """Return an error in the form that is sent."""
    if isinstance(error, ValueError):
        return RpcError(_VALUE_ERROR, str(error))
    return RpcError(
        _NAMES.get(type(error), type(error).__name__),
        str(error.what),
        str(error.why),
        str(error.fix),
        error.near if isinstance(error, DigestUnknown | DigestAmbiguous) else (),
        error.owner_pid if isinstance(error, StoreLocked) else None,
    )


def from_rpc_error(rpc_error: RpcError) -> HelixError | ValueError:
    """Return the error that was sent; for an unknown class, a StoreError with its texts."""
    if rpc_error.kind == _VALUE_ERROR:
        return ValueError(rpc_error.what)
    kind = _ERROR_CLASSES.get(rpc_error.kind, StoreError)
    what, why, fix = map(verbatim, (rpc_error.what, rpc_error.why, rpc_error.fix))
    if issubclass(kind, DigestUnknown | DigestAmbiguous):
        return kind(what, why, fix, rpc_error.near)
    if issubclass(kind, StoreLocked):
        return kind(what, rpc_error.owner_pid, why, fix)
    if kind.__init__ not in {HelixError.__init__, errors.ToolError.__init__}:
        kind = StoreError  # it has fields that are not sent
    return kind(what, why, fix)
