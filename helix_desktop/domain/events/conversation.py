"""The events of the conversation: messages, calls and their answers, approvals, turns."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from helix_desktop.domain.answer_bounds import AnswerBound
from helix_desktop.domain.choices import ForeignAgent, PermissionMode, SentEffort
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.events.session import EventBase, ModelRole
from helix_desktop.domain.files.content import FileVersion
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import (
    QueuedMessage,
    StopReason,
    ToolCall,
    TurnOutcome,
    Usage,
)
from helix_desktop.domain.question import QuestionReply
from helix_desktop.domain.slash_command import PromptSource
from helix_desktop.domain.tools import ApprovalDecision, AutoRunChange, Excerpt, SubagentUsage

_PART = re.compile(
    r"lines [\d,]+-|(?:over )?[\d,]+ lines? (?:for|in) |nothing\b|table of |['\"]\S[^\n]*['\"] elsewhere: "
)
"""How `about` begins where it says which lines a recall brought, not what the whole output holds."""

AttachmentKind = Literal["cached", "file", "pdf", "paste"]
"""Where an attachment comes from: the cache, a file, the text of a PDF, or a long text that was pasted."""


class Attachment(msgspec.Struct, frozen=True):
    """Content that the user put into a message: its digest, its name, and its text or the image it is.

    `marker_tokens` counts the text that can replace an image, or a text that a program put in. `text` is
    what the window shows of the stored content: all of it, lines `first_line` to `last_line` of its
    `lines` with their numbers, or a preview of these, whose marker names the digest by the first
    `handle_digits` of its hex digits; `full_tokens` then counts what the preview is of. With `again` the
    window names it only, as an earlier message holds the same text whole; `full_tokens` counts that then.
    With `words` it holds the lines in which these stand. `path` is a file of the workspace, as it was in
    `version`; empty for what comes from elsewhere. `pages` are those of a PDF that were read. `stored` is
    when a cached content was stored first, in milliseconds since 1970; 0: not known. `changed_by` is
    the event that changed its file since; 0: none was known.
    """

    digest: str
    label: str
    text: str
    tokens: int
    size: int
    image: Image | None = None
    marker_tokens: int = 0
    kind: AttachmentKind = "cached"
    path: str = ""
    version: FileVersion | None = None
    first_line: int = 0
    last_line: int = 0
    lines: int = 0
    form: Literal["full", "preview"] = "full"
    full_tokens: int = 0
    handle_digits: int = 64
    pages: int = 0
    again: bool = False
    stored: int = 0
    words: str = ""
    changed_by: int = 0

    @property
    def is_whole(self) -> bool:
        """Return True if a message holds all of a text."""
        is_part = self.form == "preview" or self.first_line or self.again or self.words
        return not is_part and self.image is None


class MessageQueued(EventBase, frozen=True, tag="message-queued"):
    """The user sent a message while the agent was busy; it is not in the window yet.

    An event, so that a crash can't drop it.
    One that is to `steer` goes into the running turn after the step under way, the others begin turns.
    `prompt` is the prompt file that its text was made from.
    """

    text: str
    attachments: tuple[Attachment, ...] = ()
    steer: bool = False
    prompt: PromptSource | None = None


class QueueChanged(EventBase, frozen=True, tag="queue-changed"):
    """The user changed the queue: order, texts, what steers. Messages not listed were removed."""

    waiting: tuple[QueuedMessage, ...]


class ShortText(msgspec.Struct, frozen=True, gc=False):
    """A message's text as a sweep shows it: with markers in place of what programs put into it.

    It has `saved` tokens less. `digests` and `sizes` (bytes) are those of the contents behind the markers.
    `is_cut`: the user's own words are shortened too, so that it is used only where nothing else fits.
    """

    text: str
    saved: int
    digests: tuple[str, ...]
    sizes: tuple[int, ...]
    is_cut: bool = False


class UserSpoke(EventBase, frozen=True, tag="user-spoke"):
    """The user's message entered the window; `queued` is the seq it had waited under.

    It began a turn, or `steered` the running one. `mode` is the session's at that time; `note` tells
    the model of a new mode and of what happened to files, before the user's text, and counts in `tokens`.
    `prompt` is the prompt file that the text was made from. `short` is the text as a sweep shows it, where
    that is shorter.
    """

    text: str
    tokens: int
    attachments: tuple[Attachment, ...] = ()
    queued: int = 0
    mode: PermissionMode = "ask"
    note: str = ""
    steered: bool = False
    prompt: PromptSource | None = None
    short: ShortText | None = None


class SweptCall(msgspec.Struct, frozen=True, gc=False):
    """A call whose large argument values can be markers: its arguments then, and what they stand for."""

    call_id: str
    arguments: str
    digests: tuple[str, ...]
    sizes: tuple[int, ...]


class AssistantSpoke(EventBase, frozen=True, tag="assistant-spoke"):
    """A model answered: one step. `estimate` is what we thought the request's input was, in tokens.

    `short` holds the calls that can be shortened, `short_tokens` counts the message when they are. `cost` is
    in US dollars, by the model's prices of that moment; 0 where they are not known. `window` is the model's
    context window then, in tokens; 0: not known. `cache_lifetime_s` is how long the provider was asked to
    store what the request began with; 0: as it usually does.
    `identifiers` are those in its text and in the arguments of its calls. `effort` is the level of reasoning
    that the request asked for; empty: none. `sent_after` is the last event before its request, where the
    window was rewritten while the model answered; 0: it was not.
    `ratio` is the model's tokens per token of ours where its usage was not reported. `unpriced` are the
    tokens whose price is not known; None: all of them if there is no `cost`. `agent` is the other agent in
    whose session it was made: what it took is not counted here. `managed_window` is as many tokens of
    `window` as the policy managed; 0: all of it. `bound` is the bound of ours that ended the answer.
    """

    text: str
    model: str
    tokens: int
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage | None = None
    estimate: int = 0
    stop: StopReason = "end"
    duration_ms: int = 0
    demo: bool = False
    verbatim: dict[str, Any] | None = None
    short: tuple[SweptCall, ...] = ()
    short_tokens: int = 0
    cost: float = 0.0
    window: int = 0
    cache_lifetime_s: int = 0
    identifiers: tuple[str, ...] = ()
    effort: SentEffort = ""
    sent_after: int = 0
    ratio: float = 1.0
    unpriced: int | None = None
    agent: ForeignAgent | Literal[""] = ""
    managed_window: int = 0
    bound: AnswerBound = ""

    @property
    def share_window(self) -> int:
        """The tokens that the policy's shares counted from; 0 where the log does not say."""
        return self.managed_window or self.window


class ApprovalGiven(EventBase, frozen=True, tag="approval-given"):
    """A call that needs approval got its answer, by the `rule` or the `mode` named, or by the user.

    `words` is the user's comment on a denial, `saved` the rule that their answer saved.
    """

    call_id: str
    tool: str
    subject: str
    decision: ApprovalDecision
    rule: str = ""
    mode: Literal["", "plan", "auto"] = ""
    words: str = ""
    saved: str = ""


class SubagentStarted(EventBase, frozen=True, tag="subagent-started"):
    """A call began a subagent: the session that does the task, by its title, and which model answers it."""

    call_id: str
    session: str
    title: str
    model: ModelRole = "main"


class ToolAnswered(EventBase, frozen=True, tag="tool-answered"):
    """A tool call's output, stored under `digest` before this fact existed; `text` is its shown form.

    The log has the shown form so that a request needs no disk, and a damaged content is no damaged log.
    `tokens` counts the shown form, `marker_tokens` the marker that would replace it. `form` names the shown
    form, `asked` the agent's instructions for a compact one, `chosen` who chose it, `intake_note` why it is
    not the form that was asked for. `intake_tokens` went in and out of models for it (`intake_cached` of them
    cached by the provider) in `intake_ms`; the one question of a batch counts at its first output.
    `subagent` is the session of the subagent whose result this is, `delegated` what it took. `images`
    accompany the shown form and count in `tokens`; the text of the shown form says what they are.
    `intake_cost` is what models took for the form, in US dollars, `intake_estimated` some of it by our
    count, `intake_unpriced` the tokens that it leaves out as their price is not known.
    `intake_slow_model` is the label of a model that was not asked, because it had missed the deadline.
    `full_tokens` counts the whole output where another form is shown; 0 where it is whole.
    `about` says in a few words what the output holds, for its marker; the marker names
    its digest by the first `handle_digits` of its hex digits.
    `identifiers` are the names of paths, symbols, errors and the like in it; `files` are those that the call
    read or wrote, as they were then. `excerpt` is what the agent once showed to the user, `reply` the
    user's reply where the call asked a question, `auto_run` what it changed that other programs run by
    themselves.
    """

    call_id: str
    name: str
    text: str
    digest: str
    size: int
    tokens: int
    marker_tokens: int
    target: str = ""
    first_line: str = ""
    ok: bool = True
    exit_code: int | None = None
    duration_ms: int = 0
    whole: bool = True
    recalled: str = ""
    outcome: Literal["ran", "denied", "interrupted", "stopped"] = "ran"
    form: Form = "full"
    asked: str = ""
    chosen: Literal["rule", "agent", "timeout", "user"] = "rule"
    intake_tokens: int = 0
    intake_cached: int = 0
    intake_ms: int = 0
    intake_model: str = ""
    intake_note: str = ""
    subagent: str = ""
    images: tuple[Image, ...] = ()
    delegated: SubagentUsage | None = None
    intake_cost: float = 0.0
    full_tokens: int = 0
    about: str = ""
    handle_digits: int = 64
    identifiers: tuple[str, ...] = ()
    files: tuple[FileVersion, ...] = ()
    excerpt: Excerpt | None = None
    reply: QuestionReply | None = None
    intake_estimated: bool = False
    intake_unpriced: int | None = None
    intake_slow_model: str = ""
    auto_run: tuple[AutoRunChange, ...] = ()

    @property
    def form_failure(self) -> Literal["", "slow", "failed"]:
        """Why no part was chosen: the model was too slow, or anything else."""
        if self.chosen == "timeout" or self.intake_slow_model:
            return "slow"
        return "failed" if self.form != "compact" and (self.asked or self.intake_note) else ""

    @property
    def recalled_part(self) -> str:
        """Of a recall, which lines it brought or found; empty if it brought the whole output."""
        return self.about if self.recalled and _PART.match(self.about) else ""


class OutputHeld(EventBase, frozen=True, tag="output-held"):
    """A large output arrived and was stored; its shown form is not chosen yet.

    `answer` is what the call is answered with if nobody chooses: a preview.
    """

    answer: ToolAnswered


class TurnEnded(EventBase, frozen=True, tag="turn-ended"):
    """The agent's turn is over, and how; the three texts are for the user when it failed.

    A turn that was stopped while its request was repeated has that failure as `why`.

    `details` are the words of another program, such as a model's server. `remedies` name what the app can
    do about it. `cause` says that the budget was spent, that the model `refused_by` refused an image in one
    of the messages `images`, that its filter refused one of them, or that the app was closed in order.
    `interruption` says why the end was recorded later: the app ended during the turn, or the turn could not
    be saved.
    `spent` are the tokens, by our count, of its requests without a recorded answer, `cost` is in US dollars,
    `unpriced` the tokens that it leaves out as their price is not known.
    """

    how: TurnOutcome
    what: str = ""
    why: str = ""
    fix: str = ""
    cause: Literal["", "budget", "image", "filter", "closed"] = ""
    images: tuple[int, ...] = ()
    refused_by: str = ""
    remedies: tuple[str, ...] = ()
    details: str = ""
    interruption: Literal["", "crash", "unsaved"] = ""
    spent: int = 0
    cost: float = 0.0
    unpriced: int | None = None


class TurnRetried(EventBase, frozen=True, tag="turn-retried"):
    """The user repeated the last step of the turn that ended with event `of`.

    Messages after event `after` left the context: an answer that broke off. So the request is the same,
    byte for byte. Steps that ran tools stay, because what they changed stays changed.
    """

    of: int
    after: int


class SideQuestionAnswered(EventBase, frozen=True, tag="side-question-answered"):
    """The user asked the model something beside the conversation; no window contains question or answer.

    `spent` are its tokens in and out, as `usage` reports them or, `estimated`, by our count, `cost` is in US
    dollars.
    `stopped`: the user canceled it, and this is what had come.
    """

    question: str
    answer: str
    model: str
    usage: Usage | None = None
    spent: int = 0
    cost: float = 0.0
    duration_ms: int = 0
    demo: bool = False
    stopped: bool = False
    estimated: bool = False
    unpriced: int | None = None


MessageEvent = UserSpoke | AssistantSpoke | ToolAnswered
"""The events that are messages of the conversation."""
