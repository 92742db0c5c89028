"""What the agent used next, and whether a window had it: coverage without rendering every request.

The definitions are those of `replay/coverage.py`. Which message holds which identifier does not depend on the
policy, so that is read once; of a window only what stands there instead of messages is searched.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import PromptFrame, render_entry
from helix_desktop.context.window.window import user_text as text_of_user
from helix_desktop.domain.events.session import AssistantSpoke, RecordedEvent, ToolAnswered, UserSpoke
from helix_desktop.domain.messages import Message
from helix_desktop.replay.coverage import (
    Coverage,
    argument_names,
    key_word,
    message_texts,
    occurs_in,
    words_of,
)

_FEW_WORDS = 50  # so many are found faster one by one than by reading all words of a text


class UsedNames:
    """The identifiers that a session's calls use, and the messages that hold each; grows with the log."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []  # of all messages, each with its event
        self._read = 0  # texts that were searched for all names so far
        self._calls: list[tuple[int, tuple[str, ...]]] = []  # answers with the names in their arguments
        self._names_by_word: dict[str, list[str]] = {}
        self._seqs: dict[str, list[int]] = {}  # the messages that hold a name, ascending

    def add(self, events: Iterable[RecordedEvent]) -> None:
        """Add further events of the session; what they hold is read by `read`."""
        new_names: dict[str, None] = {}
        for recorded in events:
            message = _as_message(recorded)
            if message is None:
                continue
            names = argument_names(message)
            if names and isinstance(recorded.event, AssistantSpoke):
                self._calls.append((recorded.seq, names))
            new_names.update(dict.fromkeys(name for name in names if name not in self._seqs))
            self._texts += [(recorded.seq, text) for text in message_texts(message)]
        for name in new_names:
            self._seqs[name] = []
            self._names_by_word.setdefault(key_word(name), []).append(name)
        self._search_earlier(new_names)

    def _search_earlier(self, names: Iterable[str]) -> None:
        """Search the texts that were read before for names that are new."""
        by_word: dict[str, list[str]] = {}
        for name in names:
            by_word.setdefault(key_word(name), []).append(name)
        few = by_word if len(by_word) <= _FEW_WORDS else {}
        for seq, text in self._texts[: self._read] if by_word else ():
            words = [word for word in few if word in text] if few else by_word.keys() & words_of(text)
            for word in words:
                self._note(seq, text, by_word[word])

    def read(self, texts: int) -> bool:
        """Search the next texts, at most so many; return True while some are left."""
        words = self._names_by_word.keys()
        for seq, text in self._texts[self._read : self._read + texts]:
            for word in words & words_of(text):
                self._note(seq, text, self._names_by_word[word])
        self._read = min(self._read + texts, len(self._texts))
        return self._read < len(self._texts)

    def _note(self, seq: int, text: str, names: Iterable[str]) -> None:
        for name in names:
            seqs = self._seqs[name]
            if (not seqs or seqs[-1] != seq) and occurs_in(name, text):
                seqs.append(seq)

    def by_call(self) -> dict[int, list[tuple[str, list[int]]]]:
        """Return what each answer uses of what occurred before it, with the messages that hold it by then."""
        uses: dict[int, list[tuple[str, list[int]]]] = {}
        for seq, names in self._calls:
            uses_of_call = [(name, self._seqs[name][: bisect_left(self._seqs[name], seq)]) for name in names]
            uses[seq] = [(name, seqs) for name, seqs in uses_of_call if seqs]
        return uses


def _as_message(recorded: RecordedEvent) -> Message | None:
    match recorded.event:
        case UserSpoke() as spoke:
            return Message("user", text_of_user(spoke))
        case AssistantSpoke(text=text, calls=calls):
            return Message("assistant", text, calls)
        case ToolAnswered(text=text, call_id=call_id, name=name):
            return Message("tool", text, call_id=call_id, name=name)
    return None


class WindowNames:
    """Tells whether a name is in the window of one run; reads of it only what changed since the last time."""

    def __init__(self, transcript: Transcript, policy: ContextPolicy, frame: PromptFrame) -> None:
        self._transcript, self._policy, self._frame = transcript, policy, frame
        self._rewrite_seq, self._count = -1, 0
        self._raw: set[int] = set()
        self._other = ""
        self._rendered: dict[int, tuple[object, str]] = {}
        self.used = self.found = 0

    def add(self, uses: Sequence[tuple[str, Sequence[int]]], seqs: dict[int, int]) -> None:
        """Count the uses of an answer against the window of its request; `seqs` as PolicyEngine has them."""
        self._update()
        self.used += len(uses)
        for name, holders in uses:
            is_raw = seqs[holders[-1]] in self._raw or not self._raw.isdisjoint(map(seqs.get, holders))
            self.found += is_raw or occurs_in(name, self._other)

    @property
    def result(self) -> Coverage:
        """The counts so far, without those by age."""
        return Coverage(self.used, self.found)

    def _update(self) -> None:
        transcript = self._transcript
        entries = transcript.window_entries()
        if transcript.last_rewrite_seq != self._rewrite_seq or len(entries) < self._count:
            self._rewrite_seq, self._count = transcript.last_rewrite_seq, 0
            self._raw.clear()
            texts = [text.text for text in transcript.opening or ()]
            texts += [
                self._text_of(entry)
                for entry in entries
                if not isinstance(entry, LogItem) or self._is_changed(entry)
            ]
            self._other = "\n".join(texts)
        added = [entry for entry in entries[self._count :] if not isinstance(entry, LogItem)]
        if self._count and added:
            self._other = "\n".join([self._other, *map(self._text_of, added)])
        self._raw.update(
            entry.seq
            for entry in entries[self._count :]
            if isinstance(entry, LogItem) and not self._is_changed(entry)
        )
        self._count = len(entries)

    def _is_changed(self, item: LogItem) -> bool:
        """Return True if a message stands in the window in another form than it came in."""
        rewrites = self._transcript.rewrites
        return (
            item.seq in rewrites.masked or item.seq in rewrites.chosen_forms or item.seq in rewrites.excluded
        )

    def _text_of(self, entry: WindowEntry) -> str:
        """Return the texts of an entry that is no message as it was first sent."""
        rewrites = self._transcript.rewrites
        if isinstance(entry, LogItem):
            forms = rewrites.chosen_forms.get(entry.seq), rewrites.excluded.get(entry.seq)
            state: object = (rewrites.anchors.get(entry.seq), *forms)
        elif isinstance(entry, SummaryBlock):
            state = (entry.covers, self._transcript.exclusions_of(entry))
        else:
            return render_entry(entry, self._transcript, self._policy, self._frame)[0].text
        rendered = self._rendered.get(entry.seq)
        if rendered is None or rendered[0] != state:
            message, _ = render_entry(entry, self._transcript, self._policy, self._frame)
            rendered = self._rendered[entry.seq] = (state, "\n".join(message_texts(message)))
        return rendered[1]
