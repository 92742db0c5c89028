"""States of paths and changes between them, as they are stored: field names are a format."""

from __future__ import annotations

from typing import Literal

import msgspec

FileKind = Literal["file", "link", "folder"]
"""What stands at a path. Pipes, sockets and devices are none of these: they are not covered."""

ChangeKind = Literal["created", "deleted", "changed", "moved", "mode"]
"""What happened to a path; `mode`: only its permissions changed."""


class FileState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands at a path at one moment; None in its place: nothing.

    `digest` and `size` (bytes) are those of a file's content, `mode` the permission bits of a file or folder
    (as `stat.S_IMODE`), `target` where a link leads. Of a file that is not `stored` the content is known by
    its hash alone (of one over the size limit not even that: its digest is empty), so it cannot be brought
    back. A file without a digest has the time it was last changed (`modified_ns`, nanoseconds since
    1970), so that two versions of it differ.
    """

    kind: FileKind = "file"
    digest: str = ""
    size: int = 0
    mode: int = 0
    target: str = ""
    stored: bool = True
    modified_ns: int = 0


def is_folder(state: FileState | None) -> bool:
    """Return True of the state of a folder; False where nothing is."""
    return state is not None and state.kind == "folder"


class FileChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path of the workspace, by its components joined with `/`, before and after a change.

    `moved_from` is the path whose content it has, where the same change removed that. `shared`: another call
    ran at the same time, and may have made it.
    """

    path: str
    before: FileState | None = None
    after: FileState | None = None
    moved_from: str = ""
    shared: bool = False

    @property
    def kind(self) -> ChangeKind:
        """What happened to the path."""
        if self.before is None:
            return "moved" if self.moved_from else "created"
        if self.after is None:
            return "deleted"
        if msgspec.structs.replace(self.before, mode=self.after.mode) == self.after:
            return "mode"
        return "changed"

    @property
    def is_covered(self) -> bool:
        """True if both states can be brought back."""
        return all(state is None or state.stored for state in (self.before, self.after))


class ChangeList(msgspec.Struct, frozen=True):
    """What one call changed, by path, each once; stored in the file history under the digest of its bytes."""

    changes: tuple[FileChange, ...]

    def encode(self) -> bytes:
        """Return its bytes; equal lists have equal bytes."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> ChangeList:
        """Return the list in its bytes. Raises msgspec.MsgspecError."""
        return msgspec.json.decode(data, type=cls)
