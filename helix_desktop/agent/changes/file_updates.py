"""Tell what changed of files that the model knows: the diff from its version to the current one, bounded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from helix_desktop.agent.changes.capture_events import read_state_content
from helix_desktop.agent.ports.file_history import FileHistory
from helix_desktop.agent.ports.model import TokenCounter
from helix_desktop.context.log.notes import FileUpdate
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.diff import FileDiff, PatchFile, diff_contents, patch_text
from helix_desktop.domain.files.content import ChangedFile
from helix_desktop.domain.unicode_safety import escape_hidden_name, repair_surrogates

_MAX_TOKENS = 1_500  # tokens of all diffs together
_MAX_CHARS = 20_000  # characters of one diff that are counted at all
_MAX_FILES = 20  # files whose diff is made
_MAX_BYTES = 1024 * 1024  # bytes of a file that is compared
_DEADLINE_S = 2.0  # seconds: the message, or the edit, waits for it
log = logging.getLogger(__name__)


async def file_updates(
    files: Sequence[ChangedFile], history: FileHistory | None, counter: TokenCounter
) -> list[FileUpdate]:
    """Return what changed of files that are still there, as far as the history has both versions.

    Together some 1,500 tokens of diffs; of what does not fit, how many lines changed. Never raises.
    """
    compared = [file for file in files if file.before and not file.is_gone][:_MAX_FILES]
    if history is None or not compared:
        return []
    try:
        async with asyncio.timeout(_DEADLINE_S):
            return await _fitting([(file.path, await _diff(file, history)) for file in compared], counter)
    except Exception:  # the diff is a help, no condition; TimeoutError is one
        log.warning("what changed of files could not be compared", exc_info=True)
        return []


async def _fitting(diffs: Sequence[tuple[str, FileDiff | None]], counter: TokenCounter) -> list[FileUpdate]:
    texts = [_patch(path, diff) if diff is not None else "" for path, diff in diffs]
    counts = await counter.count(texts)
    updates: list[FileUpdate] = []
    left = _MAX_TOKENS
    for (path, diff), text, tokens in zip(diffs, texts, counts, strict=True):
        if text and tokens <= left:
            left -= tokens
            updates.append(FileUpdate(path, text))
        elif diff is not None:
            updates.append(FileUpdate(path, _summary(path, diff)))
    return updates


async def _diff(file: ChangedFile, history: FileHistory) -> FileDiff | None:
    """Return the diff of a file; None if a version is not known, is too large, or is no text."""
    try:
        present = (await history.current_states([file.path]))[file.path]
        if present is None or present.size > _MAX_BYTES:
            return None
        after = await read_state_content(history, present)
        before = await history.content(file.before)
    except HelixError:
        return None
    if after is None or len(before) > _MAX_BYTES:
        return None
    diff = await asyncio.to_thread(diff_contents, before, after)
    return diff if diff.kind == "text" and diff.hunks else None


def _patch(path: str, diff: FileDiff) -> str:
    state = FileState()
    text = patch_text([PatchFile(FileChange(path, state, FileState(digest="0")), diff)])
    text = repair_surrogates(text.partition("\n")[2].rstrip("\n"))
    return text if len(text) <= _MAX_CHARS else ""


def _summary(path: str, diff: FileDiff) -> str:
    return (
        f"{escape_hidden_name(path)}: {diff.added} lines added, {diff.removed} removed, too many to show; "
        "read it again."
    )
