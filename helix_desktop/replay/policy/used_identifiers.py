"""What the agent used next, and whether a window had it: coverage without rendering every request.

The definitions are those of `replay/identifier_coverage.py`. Which message holds which identifier does not
depend on the policy, so that is read once; of a window only what stands there instead of messages is
searched.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, pairwise
from typing import NamedTuple

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.context.window.window import EntryState, PromptFrame, entry_state, render_entry
from helix_desktop.context.window.window import user_text as text_of_user
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.messages import Message
from helix_desktop.replay.identifier_coverage import (
    IdentifierCoverage,
    argument_names,
    key_word,
    message_texts,
    occurs_in,
    words_in,
    words_of,
)

_RUN = re.compile(r"[\w./@~+#:-]+")  # all characters that identifiers have
_FEW_WORDS = 50  # so many are found faster one by one than by reading all words of a text


class NameUse(NamedTuple):
    """A name that an answer uses, its key word, and the messages before that hold it."""

    name: str
    word: str
    holders: Sequence[int]


class UsedNames:
    """The identifiers that a session's calls use, and the messages that hold each; grows with the log."""

    def __init__(self) -> None:
        self._texts: list[tuple[int, str]] = []  # of all messages, each with its event
        self._read = 0  # texts that were searched for all names so far
        self._calls: list[tuple[int, tuple[str, ...]]] = []  # answers with the names in their arguments
        self._words: set[str] = set()  # by which the names are found
        self._lone: dict[str, list[str]] = {}  # names of one word and other signs, such as "/tmp"
        self._compounds: dict[tuple[str, ...], list[str]] = {}  # names of more than one word, by their words
        # In words, of such names by their last two: paths begin alike, and end each in its own way.
        self._lengths: dict[tuple[str, ...], set[int]] = {}
        self._compound_words: set[str] = set()  # by which such names are found
        self._in_runs: dict[str, tuple[str, ...]] = {}  # which of them each run of characters has
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
            word = key_word(name)
            self._words.add(word)
            if name != word:
                words = tuple(words_in(name))
                if len(words) == 1:
                    self._lone.setdefault(word, []).append(name)
                else:
                    self._compounds.setdefault(words, []).append(name)
                    self._lengths.setdefault(words[-2:], set()).add(len(words))
                self._compound_words.add(word)
        if new_names:
            self._in_runs.clear()
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
        for seq, text in self._texts[self._read : self._read + texts]:
            words = words_of(text)
            for name in self._seqs.keys() & words:
                self._hold(seq, name)
            if not self._compound_words.isdisjoint(words):
                for run in set(_RUN.findall(text)) - words:
                    for name in self._compounds_in(run):
                        self._hold(seq, name)
        self._read = min(self._read + texts, len(self._texts))
        if self._read == len(self._texts):
            self._in_runs.clear()  # some 25 MB at 10,000 events
        return self._read < len(self._texts)

    def _compounds_in(self, run: str) -> tuple[str, ...]:
        """Return the names of more than one word in a run of characters: no name goes beyond its run."""
        names = self._in_runs.get(run)
        if names is None:
            words = words_in(run)
            candidates = (
                self._compounds.get(tuple(words[max(0, end - length) : end]), ())
                for end, pair in enumerate(pairwise(words), 2)
                for length in self._lengths.get(pair, ())
            )
            lone = (self._lone[word] for word in self._lone.keys() & words)
            found = dict.fromkeys(chain.from_iterable(chain(lone, candidates)))
            names = self._in_runs[run] = tuple(name for name in found if occurs_in(name, run))
        return names

    def _note(self, seq: int, text: str, names: Iterable[str]) -> None:
        for name in names:
            if occurs_in(name, text):
                self._hold(seq, name)

    def _hold(self, seq: int, name: str) -> None:
        seqs = self._seqs[name]
        if not seqs or seqs[-1] != seq:
            seqs.append(seq)

    @property
    def key_words(self) -> Set[str]:
        """Return the words by which the names are found."""
        return self._words

    def by_call(self) -> dict[int, list[NameUse]]:
        """Return what each answer uses of what occurred before it, with the messages that hold it by then."""
        uses: dict[int, list[NameUse]] = {}
        for seq, names in self._calls:
            uses_of_call = [
                NameUse(name, key_word(name), self._seqs[name][: bisect_left(self._seqs[name], seq)])
                for name in names
            ]
            uses[seq] = [use for use in uses_of_call if use.holders]
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


class _Form(NamedTuple):
    """What stands in the window instead of a message: its text, the words in it, and what it depends on."""

    text: str
    words: Set[str]
    state: EntryState = ()


class WindowNames:
    """Tells whether a name is in the window of one run; reads of it only what changed since the last time."""

    def __init__(
        self,
        transcript: Transcript,
        policy: ContextPolicy,
        frame: PromptFrame,
        key_words: Set[str],
        origins: Mapping[int, int],
        shortened: Set[int] = frozenset(),
    ) -> None:
        """`key_words` are those of all names that `add` may get; the set may grow.

        `origins` are the messages' numbers in the session's log, as names have them, by those in the run.
        `shortened` are the outputs of the run that have less of their text than there; it may grow.
        """
        self._transcript, self._policy, self._frame = transcript, policy, frame
        self._key_words, self._known_words = key_words, len(key_words)
        self._origins, self._shortened = origins, shortened
        self._rewrite_seq, self._count = -1, 0
        self._entries: list[WindowEntry] | None = None  # as they were read last, `_count` of them
        self._raw: set[int] = set()  # messages that stand there as they came, by their origins
        self._forms: dict[int, _Form] = {}  # of single messages in the window, by event
        self._by_word: defaultdict[str, set[int]] = defaultdict(set)  # their events by each of the words
        self._others: list[_Form] = []  # of the opening, summaries and all else: few
        self._rendered: dict[int, _Form] = {}
        self.used = self.found = 0

    def add(self, uses: Sequence[NameUse]) -> None:
        """Count the uses of an answer against the window of its request."""
        self._update()
        self.used += len(uses)
        for use in uses:
            self.found += not self._raw.isdisjoint(use.holders) or self._is_in_form(use.name, use.word)

    def _is_in_form(self, name: str, word: str) -> bool:
        seqs = self._by_word.get(word)
        if seqs and (name == word or any(occurs_in(name, self._forms[seq].text) for seq in seqs)):
            return True
        others = (other for other in self._others if word in other.words)
        return any(name == word or occurs_in(name, other.text) for other in others)

    @property
    def result(self) -> IdentifierCoverage:
        """The counts so far, without those by age."""
        return IdentifierCoverage(self.used, self.found)

    def _update(self) -> None:
        if len(self._key_words) != self._known_words:
            self._forget()
        entries, last_seq = self._transcript.window.entries(), self._rewrite_seq
        self._rewrite_seq = self._transcript.window.last_rewrite_seq
        # An arranged window is another list: in the same one, entries were only added or swept.
        seqs = self._transcript.window.swept_since(last_seq) if entries is self._entries else None
        if seqs is None or len(entries) < self._count:
            self._read_all(entries)
        else:
            present = (seq for seq in seqs if seq in self._forms or self._origins.get(seq) in self._raw)
            items = (item for seq in present if (item := self._transcript.messages.item(seq)) is not None)
            for entry in chain(items, entries[self._count :]):
                self._read_entry(entry)
        self._entries, self._count = entries, len(entries)

    def _forget(self) -> None:
        """Forget what was read of the window: it was searched for fewer words."""
        self._known_words, self._entries = len(self._key_words), None
        self._forms.clear()
        self._by_word.clear()
        self._rendered.clear()

    def _read_all(self, entries: Sequence[WindowEntry]) -> None:
        raw_seqs: list[int] = []
        others: list[WindowEntry] = []
        for entry in entries:
            if isinstance(entry, LogItem) and not self._is_changed(entry):
                raw_seqs.append(entry.seq)
            else:
                others.append(entry)
        in_other_form = {entry.seq for entry in others if isinstance(entry, LogItem)}
        for seq in self._forms.keys() - in_other_form:
            self._hide(seq)
        self._raw = {self._origins[seq] for seq in raw_seqs}
        opening = "\n".join(text.text for text in self._transcript.opening or ())
        self._others = [self._read(opening)]
        for entry in others:
            self._read_entry(entry)

    def _read_entry(self, entry: WindowEntry) -> None:
        if not isinstance(entry, LogItem):
            self._others.append(self._form_of(entry))
        elif self._is_changed(entry):
            self._raw.discard(self._origins[entry.seq])
            self._show(entry.seq, self._form_of(entry))
        else:
            self._hide(entry.seq)
            self._raw.add(self._origins[entry.seq])

    def _show(self, seq: int, form: _Form) -> None:
        if self._forms.get(seq) is not form:
            self._hide(seq)
            self._forms[seq] = form
            by_word = self._by_word
            for word in form.words:
                by_word[word].add(seq)

    def _hide(self, seq: int) -> None:
        if seq in self._forms:
            by_word = self._by_word
            for word in self._forms.pop(seq).words:
                by_word[word].discard(seq)

    def _is_changed(self, item: LogItem) -> bool:
        """Return True if a message stands in the window in another form than it came in."""
        seq, rewrites = item.seq, self._transcript.rewrites
        is_rewritten = seq in rewrites.masked or seq in rewrites.chosen_forms or seq in rewrites.excluded
        return is_rewritten or seq in self._shortened

    def _form_of(self, entry: WindowEntry) -> _Form:
        """Return what an entry shows that is no message as it was first sent."""
        if not isinstance(entry, LogItem | SummaryBlock):
            return self._read(render_entry(entry, self._transcript, self._policy, self._frame)[0].text)
        state = entry_state(entry, self._transcript, self._policy, self._frame)
        rendered = self._rendered.get(entry.seq)
        if rendered is None or rendered.state != state:
            message, _ = render_entry(entry, self._transcript, self._policy, self._frame)
            rendered = self._rendered[entry.seq] = self._read("\n".join(message_texts(message)), state)
        return rendered

    def _read(self, text: str, state: EntryState = ()) -> _Form:
        return _Form(text, self._key_words & words_of(text), state)
