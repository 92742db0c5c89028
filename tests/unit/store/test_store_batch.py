"""Batches laid over each other."""

from __future__ import annotations

from helix_desktop.store.batch import Batch


def nothing(key: bytes) -> None:
    """A store that holds nothing."""


def test_a_row_written_early_outlives_its_removal_earlier_in_the_same_write() -> None:
    batch = Batch(nothing)
    removing, writing = batch.over(), batch.over()
    removing.delete(b"c1")
    removing.delete(b"c2")
    batch.absorb(removing)
    writing.put_early(b"c1", b"data")
    batch.absorb(writing)
    assert batch.rows == {b"c2": None}
    assert batch.early == {b"c1": b"data"}
