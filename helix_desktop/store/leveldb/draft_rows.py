"""Rows of drafts: a plain text, as older versions wrote it, or a text with its attachments."""

from __future__ import annotations

from helix_desktop.domain.draft import Draft
from helix_desktop.store.core import keys
from helix_desktop.store.core.row_codec import Codec, RowDamaged, RowType
from helix_desktop.store.core.write_batch import WriteBatch
from helix_desktop.store.leveldb.database import ReadView

DRAFT_TYPE: RowType[str | Draft] = RowType(str | Draft)  # type: ignore[arg-type]  # a union is no class to mypy


def read_draft(codec: Codec, key: bytes, row: bytes | None) -> Draft:
    """Return the draft of a row; an empty one without a row. Raise RowDamaged."""
    if row is None:
        return Draft()
    value = codec.decode(key, row, DRAFT_TYPE)
    return Draft(value) if isinstance(value, str) else value


def stage_draft(batch: WriteBatch, codec: Codec, session: str, draft: Draft) -> None:
    """Put a draft into the batch, or delete the row for an empty one."""
    key = keys.draft(session)
    if draft:
        batch.put(key, codec.encode(key, draft if draft.attachments else draft.text))
    else:
        batch.delete(key)


def read_draft_digests(view: ReadView, codec: Codec) -> frozenset[str]:
    """Return the contents that drafts name; a damaged draft names none."""
    digests: frozenset[str] = frozenset()
    for key, row in view.scan(keys.DRAFTS):
        try:
            digests |= read_draft(codec, key, row).digests
        except RowDamaged:
            continue
    return digests
