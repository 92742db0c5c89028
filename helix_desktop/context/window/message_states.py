"""The state of a message in the window: sent, cached, excluded, pinned, or covered by a summary."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import Cover, LogItem, PinnedCopy, WindowEntry
from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.conversation import ToolAnswered, UserSpoke
from helix_desktop.domain.events.rewrite import FoldMade
from helix_desktop.domain.events.summary import ObservationsMade

MessageState: TypeAlias = Literal[
    "in_window", "cached", "excluded", "folded", "truncated", "observed", "handed_over", "pinned"
]


class MessageStates:
    def __init__(self, transcript: Transcript) -> None:
        self._rewrites = transcript.rewrites
        self._covers = transcript.window.covers  # none overlaps another
        self._ends = [cover.upto for cover in self._covers]

    def state_of(self, seq: int) -> MessageState:
        if seq in self._rewrites.pinned:
            return "pinned"
        cover = self.cover_of(seq)
        if cover is not None:
            return _state_of_cover(cover)
        if seq in self._rewrites.excluded:
            return "excluded"
        return "cached" if seq in self._rewrites.swept else "in_window"

    def cover_of(self, seq: int) -> Cover | None:
        index = bisect_left(self._ends, seq)
        cover = self._covers[index] if index < len(self._covers) else None
        if cover is None or seq <= cover.after or getattr(cover.event, "kept", 0) == seq:
            return None
        return cover


def sent_outputs(entries: Iterable[WindowEntry], transcript: Transcript) -> Mapping[str, bool]:
    """Return which contents are sent, as they arrived or recalled whole, and whether all of each is."""
    out = transcript.window.swept | transcript.rewrites.excluded.keys()
    sent: dict[str, bool] = {}
    for entry in entries:
        if not isinstance(entry, LogItem | PinnedCopy) or entry.seq in out:
            continue
        match entry.event:
            case ToolAnswered(digest=digest) as output:
                is_whole = is_in_full(entry.seq, output, transcript)
                if is_whole or not output.recalled:
                    sent[digest] = is_whole or sent.get(digest, False)
            case UserSpoke(attachments=attachments):
                sent |= {attachment.digest: True for attachment in attachments if attachment.is_whole}
    return sent


def is_repeated(output: ToolAnswered, sent: Mapping[str, bool]) -> bool:
    """Return True if what a marker stands for is `sent` elsewhere; a part of it is not what was recalled."""
    return sent.get(output.digest, False) or (output.digest in sent and not output.recalled)


def is_in_full(seq: int, output: ToolAnswered, transcript: Transcript) -> bool:
    """Return True if an output in the window is shown in full, not as a preview, an extract or some lines."""
    chosen_form = transcript.rewrites.chosen_forms.get(seq)
    if chosen_form is not None:
        return chosen_form.form == "full"
    return output.whole or (output.form == "full" and _is_recalled_in_full(output))


def _is_recalled_in_full(output: ToolAnswered) -> bool:
    """Return True if a recall shows a whole content, below its heading, or as an image."""
    if not output.recalled or output.images:
        return bool(output.recalled)
    content = output.text.partition("\n")[2]  # lines of a part have numbers: they may be longer than all
    return digest_of(content.encode("utf-8", "surrogatepass")) == output.recalled


def _state_of_cover(cover: Cover) -> MessageState:
    match cover.event:
        case FoldMade(how="truncate"):
            return "truncated"
        case FoldMade():
            return "folded"
        case ObservationsMade():
            return "observed"
        case _:
            return "handed_over"
