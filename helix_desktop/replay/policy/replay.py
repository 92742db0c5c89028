"""Replay a session under a policy by the live engine's decisions; whether windows had what was used next.

Of what the agent used next, the definitions are those of `replay/next_call_identifiers.py`. Which message
holds which identifier does not depend on the policy, so that is read once; of a window only what stands there
instead of messages is searched.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import chain, pairwise
from typing import NamedTuple

from msgspec.structs import replace

from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.log.window_layout import LogItem, SummaryBlock, WindowEntry
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, managed_window
from helix_desktop.context.window.provider_cache import cache_prices
from helix_desktop.context.window.used_tokens import (
    estimate_next_request,
    handover_threshold,
    replayed_tokens,
)
from helix_desktop.context.window.window import EntryState, PromptFrame, entry_state, render_entry
from helix_desktop.context.window.window import user_text as text_of_user
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, TurnRetried, UserSpoke
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsPlaced
from helix_desktop.domain.messages import Message, ModelInfo
from helix_desktop.replay.billing import bill_of
from helix_desktop.replay.next_call_identifiers import (
    IdentifierCoverage,
    argument_names,
    key_word,
    message_texts,
    occurs_in,
    words_in,
    words_of,
)
from helix_desktop.replay.policy.approximation import SessionSums, approximate_policy
from helix_desktop.replay.policy.engine import PolicyEngine, run_inline
from helix_desktop.replay.policy.policy_replay import (
    PolicyReplay,
    PolicyRewrite,
    ReplayableEvents,
    ReplayedForms,
    WindowPoint,
    partly_exact,
)
from helix_desktop.replay.recording import SessionFacts
from helix_desktop.replay.token_counters import LineTokenCounter

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
        self._transcript = transcript
        self._policy = policy
        self._frame = frame
        self._key_words = key_words
        self._known_words = len(key_words)
        self._origins = origins
        self._shortened = shortened
        self._rewrite_seq = -1
        self._count = 0
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
        entries = self._transcript.window.entries()
        last_seq = self._rewrite_seq
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
        self._entries = entries
        self._count = len(entries)

    def _forget(self) -> None:
        """Forget what was read of the window: it was searched for fewer words."""
        self._known_words = len(self._key_words)
        self._entries = None
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
        seq = item.seq
        rewrites = self._transcript.rewrites
        is_rewritten = seq in rewrites.swept or seq in rewrites.chosen_forms or seq in rewrites.excluded
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


class RequestSums:
    """Running sums, without the requests themselves; tokens as the model counts them.

    As `billed` of `SentTotals`, but of the first message that differs nothing counts as cached: what it has
    in common with the one before is a few tokens.
    """

    def __init__(self, transcript: Transcript, facts: SessionFacts) -> None:
        self._transcript = transcript
        self._fixed_tokens = facts.fixed_tokens
        self._prices = cache_prices(facts.info)
        self._previous = 0  # tokens of the request before, by our count
        self._changed_from: int | None = None  # the first event that a rewrite changed since, if one did
        self.sent = 0
        self._billed = 0.0

    def note_change(self, first_seq: int) -> None:
        """Note that the window changed from an event on; 0: perhaps from the first of all."""
        self._changed_from = first_seq if self._changed_from is None else min(self._changed_from, first_seq)

    def add(self, used: int, estimate: int) -> None:
        """Add the request that would be sent now: its tokens as the model counts them and by our count."""
        shared = min(self._previous, self._unchanged(estimate))
        scale = used / estimate if estimate else 0.0
        self.sent += used
        self._billed += bill_of(estimate, shared, self._prices) * scale
        self._previous = estimate
        self._changed_from = None

    def billed(self, summary_tokens: int) -> float:
        """Return what all requests cost, with the input of the summarizing calls, in fresh input tokens."""
        return self._billed + summary_tokens

    def _unchanged(self, estimate: int) -> int:
        """Return the leading tokens that no rewrite changed since the request before."""
        if self._changed_from is None:
            return estimate
        changed = 0
        for entry in reversed(self._transcript.window.entries()):
            if isinstance(entry, SummaryBlock) and isinstance(entry.event, HandoverMade):
                # What it quotes is not counted here:
                return self._fixed_tokens + self._transcript.opening_tokens
            if entry.upto < self._changed_from:
                break
            changed += self._transcript.window.entry_tokens(entry)
        return estimate - changed


MS = 1_000  # in a second
_ASKED_EVERY = 64  # events between two looks at whether the replay is still wanted
_TEXTS_AT_ONCE = 200  # read between two such looks
_PROFILES = frozenset(PROFILES.values())
_MAX_RUNS = len(_PROFILES) + 3  # that can go on with the session; each takes some 40 MB at 10,000 events
ShouldStop = Callable[[], bool]


class ReplayStopped(Exception):
    """A replay was called off: nobody waits for it."""


class SessionReplay:
    """A session that is replayed again and again; what does not depend on the policy is read once."""

    def __init__(self, facts: SessionFacts, counter: LineTokenCounter) -> None:
        self.facts = facts
        self._counter = counter
        self.events: list[RecordedEvent] = []
        self._replayable = ReplayableEvents()
        self._names = UsedNames()
        self._sums = SessionSums()
        self._uses: dict[int, list[NameUse]] | None = None  # None: to be read
        self._runs: dict[ContextPolicy, _Run] = {}  # the newest last
        self._playing: _Run | None = None
        self._output_forms = ReplayedForms(counter)

    def add(self, log: Sequence[RecordedEvent]) -> None:
        events = self._replayable.take(log)
        self.events += events
        self._sums.add(events)
        self._names.add(events)
        self._uses = None

    def prepare(self, should_stop: ShouldStop = lambda: False) -> None:
        """Read what coverage needs of the new events; once, it takes longer than a replay.

        Raises ReplayStopped once `should_stop` returns True; the next call goes on from there.
        """
        if self._uses is not None:
            return
        self._counter.text_tokens("")  # loads the vocabulary
        while self._names.read(_TEXTS_AT_ONCE):
            if should_stop():
                raise ReplayStopped
        self._uses = self._names.by_call()

    def approximate(self, policy: ContextPolicy) -> PolicyReplay:
        """Return a first picture of a policy, without the coverage."""
        return approximate_policy(self._sums, policy, self.facts)

    def is_exact(self, policy: ContextPolicy) -> bool:
        """Return True if the replay of a policy is there already."""
        run = self._runs.get(policy)
        return run is not None and run.played == len(self.events)

    def picture(self, estimate: PolicyReplay) -> PolicyReplay:
        """Return a first picture with what the replay that plays came to so far; for `should_stop`."""
        return partly_exact(self._playing.result(), estimate) if self._playing is not None else estimate

    def run(self, policy: ContextPolicy, should_stop: ShouldStop = lambda: False) -> PolicyReplay:
        """Return the exact replay of a policy, from where an earlier one of it ended or was called off.

        That of another policy will do if each of its decisions is the same under this one. Raises
        ReplayStopped once `should_stop` returns True.
        """
        self.prepare(should_stop)
        result = self._same_run(policy, should_stop)
        return result or self._play(policy, should_stop)

    def _same_run(self, policy: ContextPolicy, should_stop: ShouldStop) -> PolicyReplay | None:
        """Return the replay of another policy that comes to the same; None if there is none."""
        if policy in self._runs:
            return None
        least = len(self.events) // 2  # else most of what is played may be for nothing
        for other in [other for other, run in self._runs.items() if run.played >= least]:
            result = self._play_for(policy, other, should_stop)
            if result is not None:
                return result
        return None

    def _play_for(
        self, policy: ContextPolicy, other: ContextPolicy, should_stop: ShouldStop
    ) -> PolicyReplay | None:
        """Return the replay of the other policy; None once a decision might differ."""
        run = self._runs[other]
        if not run.decides_as(policy):
            return None
        try:
            result = self._play(other, lambda: not run.decides_as(policy) or should_stop())
        except ReplayStopped:
            if run.decides_as(policy):
                raise
            return None
        if not run.decides_as(policy):
            return None
        return replace(result, handover_at=_handover_at(policy, self.facts.info))

    def _play(self, policy: ContextPolicy, should_stop: ShouldStop) -> PolicyReplay:
        run = self._runs.pop(policy, None)
        if run is None:
            key_words = self._names.key_words
            run = _Run(policy, self.facts, self._counter, self._output_forms, key_words)
        self._playing = run
        try:
            if run.played < len(self.events):
                run_inline(lambda: run.play(self.events, self._uses or {}, should_stop))
        except ReplayStopped:
            self._keep(policy, run)
            raise
        finally:
            self._playing = None
        self._keep(policy, run)
        return run.result()

    def _keep(self, policy: ContextPolicy, run: _Run) -> None:
        while len(self._runs) >= _MAX_RUNS:
            del self._runs[next(other for other in self._runs if other not in _PROFILES)]
        self._runs[policy] = run


def _handover_at(policy: ContextPolicy, model: ModelInfo) -> int:
    """Return the threshold of a policy in tokens."""
    return handover_threshold(policy.scaled(model.window), model)


class _Run:
    """One replay in progress; between two events nothing runs in its background."""

    def __init__(
        self,
        policy: ContextPolicy,
        facts: SessionFacts,
        counter: LineTokenCounter,
        output_forms: ReplayedForms,
        key_words: Set[str],
    ) -> None:
        self._facts = facts
        self._uses: Mapping[int, Sequence[NameUse]] = {}
        self.played = 0  # events
        engine = PolicyEngine(policy, facts, counter, output_forms, self._on_rewrite)
        self._engine = engine
        self.decides_as = engine.decides_as
        self._handover_at = _handover_at(policy, facts.info)
        transcript = self._transcript = engine.transcript
        self._sums = RequestSums(transcript, facts)
        origins = engine.origins
        shortened = engine.shortened
        self._in_window = WindowNames(transcript, engine.policy, engine.frame, key_words, origins, shortened)
        self._points: list[WindowPoint] = []
        self._rewrites: list[PolicyRewrite] = []
        self._first_too_large = 0
        self._seq = 0  # the newest event of the session's own log
        self._scale = facts.ratio

    async def play(
        self, events: Sequence[RecordedEvent], uses: Mapping[int, Sequence[NameUse]], should_stop: ShouldStop
    ) -> None:
        """Feed the events that were not fed before, with a request before each answer."""
        self._uses = uses
        try:
            for recorded in events[self.played :]:
                if self.played % _ASKED_EVERY == 0 and should_stop():
                    raise ReplayStopped
                if isinstance(recorded.event, AssistantSpoke):
                    await self._request(recorded.seq, recorded.event)
                self._note_retry(recorded)
                self._seq = recorded.seq  # what was written while an answer came is behind its request
                await self._engine.step(recorded)
                self.played += 1
        finally:
            await self._engine.scope.close()

    def _note_retry(self, recorded: RecordedEvent) -> None:
        if isinstance(recorded.event, TurnRetried):
            self._sums.note_change(self._engine.seq_at(recorded.event.after) + 1)

    async def _request(self, seq: int, answer: AssistantSpoke) -> None:
        gauge = await self._engine.prepare(answer)
        estimate = self._estimate()
        used = replayed_tokens(estimate, answer, gauge.ratio)
        self._scale = used / estimate if estimate else 1.0
        self._points.append(WindowPoint(self._seq, self._engine.now_ms // MS, used))
        self._sums.add(used, estimate)
        if not gauge.fits:
            self._first_too_large = self._first_too_large or len(self._points)
        elif seq in self._uses:
            self._in_window.add(self._uses[seq])

    def _estimate(self) -> int:
        return estimate_next_request(self._transcript, self._engine.policy, self._engine.frame)

    def _on_rewrite(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if not isinstance(event, SweepMade | FoldMade | ObservationsPlaced | HandoverMade):
            return
        self._sums.note_change(self._transcript.rewrites.first_changed(event))
        freed = event.before - event.after if isinstance(event, HandoverMade) else event.saved * self._scale
        tokens = round(self._estimate() * self._scale)
        kind = str(type(event).__struct_config__.tag)
        rewrite = PolicyRewrite(self._seq, recorded.at // MS, kind, tokens + round(freed), tokens)
        self._rewrites.append(rewrite)

    def result(self) -> PolicyReplay:
        covered = self._in_window.result
        return PolicyReplay(
            points=tuple(self._points),
            rewrites=tuple(self._rewrites),
            window=managed_window(self._engine.policy, self._facts.info.window),
            handover_at=self._handover_at,
            sent=self._sums.sent,
            billed=self._sums.billed(self._engine.summary_tokens),
            coverage=covered.share if covered.identifiers else None,
            is_exact=True,
            first_too_large=self._first_too_large,
        )
