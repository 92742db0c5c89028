"""Calls to a store between processes of a user: trust, frames, methods with their types, and errors.

An id matches an answer to its request; id 0 belongs to the handshake. A value that msgpack cannot hold (an
integer beyond 64 bits in a provider's verbatim answer) is sent as JSON, and the head says so. If the request
wants progress, progress frames come before the answer, under its id.

The types are those of the methods themselves: a new parameter with a default needs no change here, and a
caller that does not know it yet leaves it out.

The owner's address and proof of a shared secret let two processes find and trust each other. Where the system
has Unix domain sockets, the socket is in a folder of its own that nobody else may enter, with a short path:
an address has room for 104 to 108 bytes. Elsewhere it is a port of the loopback interface; there only the
secret keeps others out.
"""

from __future__ import annotations

import contextlib
import hmac
import inspect
import os
import secrets
import struct
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, get_type_hints, overload

import msgspec

from helix_desktop.domain import errors
from helix_desktop.domain.errors import (
    DigestAmbiguous,
    DigestUnknown,
    HelixError,
    StoreError,
    StoreLocked,
    StoreWriteFailed,
)
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.store import Commit
from helix_desktop.domain.translatable_text import plain_text, verbatim
from helix_desktop.store.archive_transfer import export_session, export_store, import_store
from helix_desktop.store.leveldb_store import LevelDbStore
from helix_desktop.store.opening import LevelDbHealth
from helix_desktop.store.redaction import LevelDbRedaction
from helix_desktop.store.retention import RowRetention
from helix_desktop.store.store_search import StoreSearch
from helix_desktop.system.files import read_regular, replace_file

PROTOCOL_VERSION = 1
HANDSHAKE_ID = 0
MAX_HANDSHAKE_BYTES = 1024  # bytes of a frame from a peer who has not proved to be the same user
MAX_ANSWER_BYTES = 1024 * 1024 * 1024  # bytes: the longest log of a session
MAX_REQUEST_BYTES = MAX_ANSWER_BYTES  # a commit of several events, each as large as one may be
_MSGPACK, _JSON, _PROGRESS = range(3)
_HEAD = struct.Struct(">IBBI")
HEAD_BYTES = _HEAD.size

P = ParamSpec("P")
T = TypeVar("T")


class InvalidFrame(Exception):
    """What was received is not a frame of this protocol; the connection cannot continue."""


class UnsupportedVersion(InvalidFrame):
    """The other process uses another version of the protocol."""


class FrameHead(msgspec.Struct, frozen=True):
    length: int
    id: int
    is_json: bool
    is_progress: bool = False  # reports the progress of an answer


class Frame(msgspec.Struct, frozen=True):
    payload: bytes
    is_json: bool = False
    is_progress: bool = False

    def encode_head(self, request_id: int) -> bytes:
        if self.is_progress:
            form = _PROGRESS
        elif self.is_json:
            form = _JSON
        else:
            form = _MSGPACK
        return _HEAD.pack(len(self.payload), PROTOCOL_VERSION, form, request_id)

    def decode(self, value_type: type[T]) -> T:
        """Return the value as `value_type`. Raise InvalidFrame."""
        try:
            if self.is_json:
                return msgspec.json.decode(self.payload, type=value_type)
            return msgspec.msgpack.decode(self.payload, type=value_type)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidFrame(f"a value is not understood ({error})") from error


def encode_frame(value: Any) -> Frame:
    """Return a value encoded for the wire. Raise ValueError for text that is not Unicode."""
    try:
        return Frame(msgspec.msgpack.encode(value, enc_hook=plain_text))
    except OverflowError:
        return Frame(msgspec.json.encode(value, enc_hook=plain_text), is_json=True)


def encode_progress(done: int, size: int) -> Frame:
    return Frame(msgspec.msgpack.encode((done, size)), is_progress=True)


def read_frame_head(data: bytes, max_bytes: int) -> FrameHead:
    """Parse the head of a payload that has at most `max_bytes` bytes. Raise InvalidFrame."""
    length, version, form, request_id = _HEAD.unpack(data)
    if version != PROTOCOL_VERSION:
        raise UnsupportedVersion(f"a frame of version {version} came, not of {PROTOCOL_VERSION}")
    if form not in (_MSGPACK, _JSON, _PROGRESS):
        raise InvalidFrame(f"a frame of the unknown form {form} came")
    if length > max_bytes:
        raise InvalidFrame(f"a frame claims {length} bytes, of at most {max_bytes}")
    return FrameHead(length, request_id, form == _JSON, form == _PROGRESS)


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
    "InputFiltered": errors.InputFiltered,
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
_NAMES = {kind: name for name, kind in _ERROR_CLASSES.items()} | {errors.WorkspaceClosed: "StoreClosed"}


class RpcError(msgspec.Struct, frozen=True):
    """An error without its class: its name, its texts, and its other fields."""

    kind: str
    what: str
    why: str = ""
    fix: str = ""
    near: tuple[str, ...] = ()
    owner_pid: int | None = None


def to_rpc_error(error: HelixError | ValueError) -> RpcError:
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


class RpcRequest(msgspec.Struct, frozen=True, array_like=True):
    """A method's name, its arguments in order, still encoded, and a flag to report progress."""

    method: str
    args: msgspec.Raw
    wants_progress: bool = False


class RpcAnswer(msgspec.Struct, frozen=True, array_like=True):
    """An error, or the method's result, still encoded."""

    fault: RpcError | None
    value: msgspec.Raw


class CallOwner(Protocol):
    async def __call__(
        self, method: RpcMethod[..., T], /, *args: object, on_progress: OnProgress | None = None
    ) -> T:
        """Return the method's result. Raise what it raises, StoreClosed if the owner is gone.

        `on_progress` is called with the progress of the answer.
        """
        ...


_LOCAL_PARAMS = ("on_progress", "is_writable", "totals")  # not sent


class RpcMethod(Generic[P, T]):
    """One method of a store: as a client calls it, with the method's own types, and as the owner decodes it.

    `name` is what crosses the wire, whatever the method's name is here: two releases interoperate.
    `part` names the part of the store that has it. `is_repeatable`: asking the next owner again does no harm,
    if it is not known whether the first one carried it out.
    """

    def __init__(
        self,
        name: str,
        method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
        part: str = "",
        *,
        is_repeatable: bool = True,
    ) -> None:
        self.name = name
        self.is_repeatable = is_repeatable
        self.path = f"{part}.{method.__name__}" if part else method.__name__
        hints = get_type_hints(method)
        params = list(inspect.signature(method).parameters.values())[1:]
        self._signature = inspect.Signature(params)
        self.reports_progress = "on_progress" in self._signature.parameters
        fields: list[Any] = [
            (param.name, hints[param.name])
            if param.default is inspect.Parameter.empty
            else (param.name, hints[param.name], param.default)
            for param in params
            if param.name not in _LOCAL_PARAMS
        ]
        self.args_type: type[msgspec.Struct] = msgspec.defstruct(
            f"Args_{method.__name__}", fields, array_like=True, frozen=True
        )
        self.result_type: Any = hints["return"]
        METHODS[name] = self

    @overload
    def __get__(self, client: None, kind: type) -> Self: ...

    @overload
    def __get__(
        self, client: RemoteReads | RemotePart, kind: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(
        self, client: RemoteReads | RemotePart | None, kind: type
    ) -> Self | Callable[P, Coroutine[Any, Any, T]]:
        """Return the method as that of a client, or itself for the class."""
        if client is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            on_progress = bound.arguments.pop("on_progress", None)
            return client.call_owner(self, *bound.args, on_progress=on_progress)

        return call

    def request(self, *args: object, wants_progress: bool = False) -> Frame:
        """Return the request that a client sends. Raise ValueError for text that is not Unicode."""
        return encode_frame((self.name, args, True) if wants_progress else (self.name, args))

    def decode_args(self, request: RpcRequest, is_json: bool) -> tuple[Any, ...]:
        """Return the arguments of a request, for the owner. Raise InvalidFrame."""
        return msgspec.structs.astuple(Frame(bytes(request.args), is_json).decode(self.args_type))

    def decode_result(self, value: bytes, is_json: bool) -> T:
        """Return the result in an answer, for the client. Raise InvalidFrame."""
        result: T = Frame(value, is_json).decode(self.result_type)
        return result


METHODS: dict[str, RpcMethod[..., Any]] = {}
"""All that cross the wire, by their names there."""


class _CommitMethod(RpcMethod[[Commit], None]):
    """The call that commits: the fields of the commit cross the wire as its arguments."""

    def __init__(self) -> None:
        super().__init__("commit", LevelDbStore.commit)
        self.args_type = Commit

    def request(self, *args: object, wants_progress: bool = False) -> Frame:
        (commit,) = args
        return encode_frame((self.name, commit))

    def decode_args(self, request: RpcRequest, is_json: bool) -> tuple[Any, ...]:
        return (Frame(bytes(request.args), is_json).decode(Commit),)


COMMIT = _CommitMethod()
EXPORT = RpcMethod("export_store", export_store)
EXPORT_SESSION = RpcMethod("export_session", export_session)
IMPORT = RpcMethod("import_store", import_store)


class RemoteReads(StoreSearch):
    """What another process's store is asked, and the drafts it saves: the methods of the store itself."""

    @abstractmethod
    async def call_owner(
        self, method: RpcMethod[..., T], /, *args: object, on_progress: OnProgress | None = None
    ) -> T:
        """See `CallOwner`."""

    events = RpcMethod("events", LevelDbStore.events)
    sessions = RpcMethod("sessions", LevelDbStore.sessions)
    get = RpcMethod("get", LevelDbStore.get)
    entry = RpcMethod("entry", LevelDbStore.entry)
    find = RpcMethod("find", LevelDbStore.find)
    list_page = RpcMethod("listed", LevelDbStore.list_page)
    list_digests = RpcMethod("listed_digests", LevelDbStore.list_digests)
    tools = RpcMethod("tools", LevelDbStore.tools)
    handovers = RpcMethod("handovers", LevelDbStore.handovers)
    find_passages = RpcMethod("find_passages", LevelDbStore.find_passages)
    wait_until_indexed = RpcMethod("indexed", LevelDbStore.wait_until_indexed)
    totals = RpcMethod("totals", LevelDbStore.totals)
    save_draft = RpcMethod("save_draft", LevelDbStore.save_draft)
    save_partial_answer = RpcMethod("save_partial_answer", LevelDbStore.save_partial_answer)
    save_partial_outputs = RpcMethod("save_partial_outputs", LevelDbStore.save_partial_outputs)
    draft = RpcMethod("draft", LevelDbStore.draft)
    show_contents = RpcMethod("show_contents", LevelDbStore.show_contents)


class RemotePart:
    """A part of another process's store."""

    def __init__(self, call_owner: CallOwner) -> None:
        self.call_owner = call_owner


class RemoteRetention(RemotePart):
    references = RpcMethod("keep.references", RowRetention.references, "retention")
    session_digests = RpcMethod("keep.named", RowRetention.session_digests, "retention")
    pin = RpcMethod("keep.pin", RowRetention.pin, "retention")
    plan = RpcMethod("keep.plan", RowRetention.plan, "retention")
    trash = RpcMethod("keep.trash", RowRetention.trash, "retention")
    # The results of these would differ the second time.
    collect = RpcMethod("keep.collect", RowRetention.collect, "retention", is_repeatable=False)
    restore = RpcMethod("keep.restore", RowRetention.restore, "retention", is_repeatable=False)
    trash_session = RpcMethod(
        "keep.trash_session", RowRetention.trash_session, "retention", is_repeatable=False
    )
    restore_session = RpcMethod(
        "keep.restore_session", RowRetention.restore_session, "retention", is_repeatable=False
    )
    empty_trash = RpcMethod("keep.empty_trash", RowRetention.empty_trash, "retention", is_repeatable=False)
    delete_permanently = RpcMethod(
        "keep.delete_permanently", RowRetention.delete_permanently, "retention", is_repeatable=False
    )


class RemoteRedaction(RemotePart):
    """Redaction, as far as another process may: `redact` raises StoreLocked.

    The owner's conversations are open, and hold the data to be redacted.
    """

    preview = RpcMethod("forgetting.preview", LevelDbRedaction.preview, "redaction")
    redact = RpcMethod("forgetting.carry_out", LevelDbRedaction.redact, "redaction")
    redacted_at = RpcMethod("forgetting.when", LevelDbRedaction.redacted_at, "redaction")
    lift = RpcMethod("forgetting.lift", LevelDbRedaction.lift, "redaction", is_repeatable=False)


class RemoteHealth(RemotePart):
    """The health of a store, as its owner sees it; damage and repairs are reported in the owner."""

    report = None
    check = RpcMethod("health.check", LevelDbHealth.check, "health")

    def __init__(self, call_owner: CallOwner, check_open: Callable[[], None]) -> None:
        super().__init__(call_owner)
        self._check_open = check_open

    async def acknowledge(self) -> None:
        """Do nothing: there is no report here to acknowledge. Raise StoreClosed."""
        self._check_open()

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Return a no-op: damage met here is raised here, and reported where the store is open."""
        return lambda: None

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return None: the owner says so when it quits, and when it refuses a write."""
        return None


def method_of(request: RpcRequest) -> RpcMethod[..., Any]:
    """Return the method that a request names. Raise InvalidFrame."""
    try:
        return METHODS[request.method]
    except KeyError:
        raise InvalidFrame(f"the method {request.method[:40]!r} is not known") from None


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
    return secrets.token_bytes(_SECRET_BYTES)


def write_endpoint(folder: Path, endpoint: OwnerEndpoint) -> None:
    """Write the address of the owner into a store's folder. Raise OSError."""
    part = folder / f"{ENDPOINT_FILE}.part"
    part.unlink(missing_ok=True)
    part.touch(mode=0o600, exist_ok=False)
    part.write_bytes(msgspec.json.encode(endpoint))
    replace_file(part, folder / ENDPOINT_FILE)


def read_endpoint(folder: Path) -> OwnerEndpoint | None:
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
    return Challenge(secrets.token_bytes(_NONCE_BYTES))


def prove_client(secret: bytes, challenge: Challenge) -> ClientProof:
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
