"""The events of what was written in place of old history: observations and handovers."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.events.rewrite import HandoverTrigger, PlacementReason, SummaryProblem
from helix_desktop.domain.events.session import EventBase

NO_MODEL = "no model (ledger and extracts)"  # the label of a summary that no model wrote


class Bullet(msgspec.Struct, frozen=True):
    """One sentence of a handover with the seqs of the events it comes from; none means unsupported."""

    text: str
    sources: tuple[int, ...] = ()


class Section(msgspec.Struct, frozen=True):
    """One section, by the title it had then."""

    title: str
    bullets: tuple[Bullet, ...] = ()


FactKind = Literal["instructions", "tasks", "conclusions", "files", "hashes", "numbers", "commands"]


class SummaryCoverage(msgspec.Struct, frozen=True):
    """How many facts of a kind, in the messages covered, a summary and its ledger name.

    Of the others, `verbatim` are in messages that are quoted with it, or in a sentence that
    stands below for another one. `missing` are the newest of the rest, each with its event: hashes and
    numbers as their sentences; they stand below the summary.
    """

    kind: FactKind
    named: int
    total: int
    missing: tuple[Bullet, ...] = ()
    verbatim: int = 0


class Observation(msgspec.Struct, frozen=True):
    """A dated fact: milliseconds since 1970, 1 (vital) to 3 (minor), the text, the seqs it comes from."""

    at: int
    priority: int
    text: str
    sources: tuple[int, ...] = ()


class EndedObservation(msgspec.Struct, frozen=True):
    """An earlier observation that is done or over, and the tokens that its line takes in the window."""

    observation: Observation
    tokens: int = 0


class ObservationsMade(EventBase, frozen=True, tag="observations-made"):
    """History behind `after`, up to and with `upto`, was distilled into observations; inert until placed.

    `quoted` are the seqs of the user's messages that stay verbatim, `replaces` the seqs of the observations
    that a reflection refines, `tokens` counts what will stand in the window. `refused` is the text of a model
    before this one that was not used. The index is named by the first `handle_digits` of its hex digits.
    While these stand in the window, the observations in `over` do not. The user's messages take at most
    `quote_tokens` (0: all are whole), the oldest may be cut. `text_version` is as of handovers. The first
    model was sent `read` tokens by our count (0: no model was sent anything).
    """

    after: int
    upto: int
    observations: tuple[Observation, ...]
    quoted: tuple[int, ...]
    ledger: str
    index: str
    index_entries: int
    tokens: int
    before: int
    messages: int
    model: str
    reflection: bool = False
    replaces: tuple[int, ...] = ()
    fallback: str = ""
    duration_ms: int = 0
    demo: bool = False
    calls: int = 1
    spent: int = 0
    prompt: str = ""
    cost: float = 0.0
    refused: str = ""
    handle_digits: int = 64
    over: tuple[EndedObservation, ...] = ()
    coverage: tuple[SummaryCoverage, ...] = ()
    estimated: bool = False
    unpriced: int | None = None
    quote_tokens: int = 0
    text_version: int = 0
    read: int = 0


class ObservationsPlaced(EventBase, frozen=True, tag="observations-placed"):
    """Prepared observations took the place of the history they cover.

    `threshold` is the share of the context window at which they did, 0 where none was the reason or none was
    recorded. With `averted_handover_at` the context had reached that share, at which a handover is due, and
    is below it with them.
    """

    made: int
    reason: PlacementReason
    saved: int
    threshold: float = 0.0
    averted_handover_at: float = 0.0


class ObservationsFailed(EventBase, frozen=True, tag="observations-failed"):
    """Observations or a reflection were tried and not made; the other fields are as of handovers."""

    what: str
    why: str = ""
    spent: int = 0
    cost: float = 0.0
    problem: SummaryProblem | None = None
    refused: str = ""
    estimated: bool = False
    unpriced: int | None = None
    upto: int = 0
    read: int = 0

    @property
    def is_error(self) -> bool:
        """False if it came too late to be of use: the history had changed, or become as short by itself."""
        return self.problem is not None


SUMMARY_TEXT_VERSION = 5
"""Of the words that Helix puts around a summary. A log with a summary of another version is not read."""


class Quote(msgspec.Struct, frozen=True):
    """Words of another session, verbatim, and their tokens."""

    by: Literal["user", "agent"]
    text: str
    tokens: int


class HandoverMade(EventBase, frozen=True, tag="handover-made"):
    """Older messages were replaced by a summary.

    Covers every event up to and with `upto` but the one user message `kept` (0: none), which stays.
    `index` is the digest of the index entry that names every covered output; `tokens` counts the summary;
    `calls` counts the model calls it took, `spent` their tokens in and out; `prompt` is the version of the
    model's prompt, `fallback` says what had to be done other than ask the first model once; `edited`: the
    user changed its text; `cost` is in US dollars. `threshold` is the share of the context window at which
    it started, 0 where none was the trigger or none was recorded. `refused` is the text of a model before
    this one that was not used. The index is named by the first `handle_digits` of its hex digits. `words` are
    the seqs of the agent's messages in the newest complete turn, which stay verbatim.
    With an `origin` it is the handover of that other session, titled `origin_title`, which this one
    continues: made there as `origin_seq` (0: as it would have been then). It covers nothing here, and
    `quotes` go with it. Its sentences name no sources: events of another log would be others here.
    With `revises`, the user changed the sections of that handover, and no model was asked. With `replaces`,
    it was written again: while it is active, those handovers are not, whatever they cover. `mode_note` is the
    newest note on the permission mode that it covers: it stays in force. `checkpoint` is the event of the
    checkpoint that it was made from (0: none): brought up to date, or, without a call, as it was.
    `text_version` is SUMMARY_TEXT_VERSION, or 0 where a session continues one that no model had summarized:
    then the index stands below the ledger, and headings and ledger say nothing of what happened since. Its
    calls `read` so many tokens by our count (0: none, or beside a checkpoint). With `prepaid`, what they
    took is counted by the event that holds its draft.
    """

    upto: int
    kept: int
    sections: tuple[Section, ...]
    ledger: str
    index: str
    index_entries: int
    tokens: int
    before: int
    after: int
    messages: int
    model: str
    trigger: HandoverTrigger
    former: int = 0
    fallback: str = ""
    focus: str = ""
    duration_ms: int = 0
    demo: bool = False
    edited: bool = False
    calls: int = 1
    spent: int = 0
    prompt: str = ""
    cost: float = 0.0
    threshold: float = 0.0
    refused: str = ""
    handle_digits: int = 64
    coverage: tuple[SummaryCoverage, ...] = ()
    words: tuple[int, ...] = ()
    origin: str = ""
    origin_title: str = ""
    origin_seq: int = 0
    quotes: tuple[Quote, ...] = ()
    revises: int = 0
    replaces: tuple[int, ...] = ()
    estimated: bool = False
    unpriced: int | None = None
    mode_note: str = ""
    checkpoint: int = 0
    text_version: int = 0
    read: int = 0
    prepaid: bool = False


class HandoverFailed(EventBase, frozen=True, tag="handover-failed"):
    """A handover was tried and not made; nothing changed but what it `spent`, in tokens, and its `cost`.

    Where a model's summary was not used, `problem` says why and `refused` is its text. The last request had
    `read` tokens by our count, and its messages end with event `upto`. `upto` is 0 where no text came back:
    then these messages do not count as read.
    """

    what: str
    why: str = ""
    spent: int = 0
    cost: float = 0.0
    problem: SummaryProblem | None = None
    refused: str = ""
    estimated: bool = False
    unpriced: int | None = None
    upto: int = 0
    read: int = 0

    @property
    def is_refusal(self) -> bool:
        """True if it was not worth it, which cost nothing: no failure to tell about."""
        return self.problem is None and not (self.spent or self.cost)


class HandoverPrepared(msgspec.Struct, frozen=True, omit_defaults=True):
    """A checkpoint: a handover of everything up to its `upto`, written before one is due; no request has it.

    Its `former` is the checkpoint or handover that it updates; it has no index until it is put in place.
    `history` are the tokens of the messages since that one, with outputs in full; its calls read `read`
    tokens by our count. With `revises` the user changed the sections of that checkpoint.
    """

    handover: HandoverMade
    history: int = 0
    read: int = 0


class SavedHandoverDraft(msgspec.Struct, frozen=True, omit_defaults=True):
    """A draft of a handover that is not used yet; `text` is its sections as the user left them.

    `handover` is what it would become, `prepaid` by the event that holds it; it has no index until it
    is used.
    It can be used while `context`, the digest of what it covers, is the same. With `rerun` it takes the place
    of that handover; one that `is_whole` is for a new session. `doubt` says why it may say too little,
    `sweep_savings` how many tokens less are in context for what is cached along with it.
    """

    handover: HandoverMade
    text: str
    context: str
    rerun: int = 0
    is_whole: bool = False
    doubt: str = ""
    sweep_savings: int = 0


class FailedPreparation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A checkpoint, a title or a handover was tried and not written.

    `why` says what the last request brought.
    That request had `read` tokens by our count, and its messages end with event `upto`. `upto` is 0 where no
    text came back: then these messages do not count as read. `refused` is the text that was not used. A
    handover would have taken the place of the one in event `replaces`, which was made without a model.
    """

    work: Literal["checkpoint", "title", "handover"]
    why: str
    upto: int = 0
    read: int = 0
    refused: str = ""
    replaces: int = 0


class HandoverDiscarded(EventBase, frozen=True, tag="handover-discarded"):
    """Calls of a model changed nothing in the context: what they `spent`, in tokens and US dollars.

    They wrote the checkpoint `prepared`, the `draft` of a handover, or came to nothing: a checkpoint or a
    title `failed`, a handover, observations or a side question were canceled, a connection broke in an
    answer. `estimated`: some by our count, as a call was cut off before its report. `unpriced`: the tokens
    whose price is not known.
    """

    spent: int = 0
    cost: float = 0.0
    estimated: bool = False
    unpriced: int | None = None
    prepared: HandoverPrepared | None = None
    draft: SavedHandoverDraft | None = None
    failed: FailedPreparation | None = None


def checkpoint_in(event: object) -> HandoverPrepared | None:
    return event.prepared if isinstance(event, HandoverDiscarded) else None
