"""The agent without its loop: records what the engine would record, and maintains the window as it does.

A `SessionSimulator` stores every request that would have been sent, with the contents of a store.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from helix_desktop.agent.compaction.rewriter import WindowRewriter
from helix_desktop.agent.model_roles import ModelRoles
from helix_desktop.agent.ports import Store
from helix_desktop.agent.session import Session
from helix_desktop.context.intake.marker import sweep_arguments
from helix_desktop.context.intake.output_forms import preview_output
from helix_desktop.context.log.mode_notes import newest_mode_note
from helix_desktop.context.log.steps import point_after
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy
from helix_desktop.context.rewrites import caching
from helix_desktop.context.rewrites.anchors import SWEEP_TITLE
from helix_desktop.context.rewrites.caching import SweepPlan
from helix_desktop.context.summaries.covered_facts import check_covered_facts, covered_facts
from helix_desktop.context.summaries.extractive_handover import extractive_handover
from helix_desktop.context.summaries.handover import (
    agent_texts,
    covered_counts,
    covered_messages,
    newest_turn_words,
    previous_handover,
    render_handover,
    section_text,
    uncovered_messages,
    user_text_budget,
)
from helix_desktop.context.summaries.index_entry import build_index_entry
from helix_desktop.context.summaries.legal_ranges import HandoverRange, furthest_range
from helix_desktop.context.window.attachment_text import attachment_text
from helix_desktop.context.window.used_tokens import UsageGauge, measure_next_request
from helix_desktop.context.window.window import PromptFrame, Window, output_marker, project
from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import (
    AssistantSpoke,
    Attachment,
    MessageQueued,
    ToolAnswered,
    TurnEnded,
    UserSpoke,
)
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.events.rewrite import Form, HandoverTrigger, Redone, SweepMade, SweepReason, Undone
from helix_desktop.domain.events.session import SessionBranched, SessionStarted
from helix_desktop.domain.events.summary import SUMMARY_TEXT_VERSION, HandoverMade
from helix_desktop.domain.image import Image
from helix_desktop.domain.messages import ModelInfo, ModelRequest, ToolCall, ToolSpec, TurnOutcome, Usage
from helix_desktop.domain.store import Content
from helix_desktop.domain.text_format import first_line
from helix_desktop.store.memory import MemoryStore
from helix_desktop.system.clock import ClockMs
from helix_desktop.system.task_scope import TaskScope
from tests.support.scripted_model import ScriptedModel, text_reply

MODEL = ModelInfo("test", "small", window=4_000, reserve=200, images=True)
RECALL_TOOL = "recall_cached_content"
TOOL_NAMES = ("read_file", "run_command", "search_text", "write_file", "list_directory")
T = TypeVar("T")


class SentRequest(msgspec.Struct, frozen=True):
    """A request that would have been sent, and the seq of the last event it knew."""

    seq: int
    window: Window

    @property
    def request(self) -> ModelRequest:
        return self.window.request


def count_tokens(text: str) -> int:
    """A plain count: four characters are a token."""
    return len(text) // 4 + 1


class _TokenCounter:
    """The exact count, for the agent's estimates."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [count_tokens(text) for text in texts]


class _MemorySession(Session):
    """A session without a loop and without a disk: recorded events are stored at once."""

    def __init__(self, simulator: SessionSimulator) -> None:
        super().__init__(
            "s",
            MemoryStore(),
            _TokenCounter(),
            simulator.clock,
            TaskScope(),
            simulator.log,
            simulator.transcript,
            lambda: (simulator.policy, simulator.frame, simulator.roles),
        )
        self._simulator = simulator

    async def record(
        self,
        *events: Event,
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        ends_partial_answer: bool = False,
    ) -> list[RecordedEvent]:
        return await self.record_decided(lambda: events, contents, recalls)

    async def record_decided(
        self,
        decide: Callable[[], Sequence[Event]],
        contents: Sequence[Content] = (),
        recalls: Sequence[str] = (),
        ends_partial_answer: bool = False,
    ) -> list[RecordedEvent]:
        """Make the events that `decide` names facts, after their contents."""
        events = decide()
        self._simulator.contents.update((content.digest, content.data) for content in contents)
        return self._simulator.record(*events)


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """The outcome of work that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        outcome: T = done.value
        return outcome
    raise AssertionError("it waited for something")


def create_session(
    session_id: str, store: Store, clock: ClockMs, scope: TaskScope, log: list[RecordedEvent]
) -> Session:
    """Return a session whose model says that it is done."""
    roles = ModelRoles(ScriptedModel(lambda _: text_reply("Done."), MODEL))
    frame = PromptFrame(MODEL, "")
    return Session(
        session_id,
        store,
        _TokenCounter(),
        clock,
        scope,
        log,
        Transcript(log),
        lambda: (PROFILES["balanced"], frame, roles),
    )


class SessionSimulator:
    """Records events as the agent would; `upkeep` is the agent's own."""

    def __init__(self, policy: ContextPolicy, info: ModelInfo = MODEL) -> None:
        self.policy = policy
        spec = ToolSpec("read_file", "Reads a file.", {"type": "object"})
        self.frame = PromptFrame(info, "You are an agent.", (spec,), 6, 20)
        self.log: list[RecordedEvent] = []
        self.contents: dict[str, bytes] = {}
        self.sent_requests: list[SentRequest] = []
        self.call_count = 0
        self.now_ms = 0
        self.roles = ModelRoles(ScriptedModel(lambda _: text_reply("Done."), info))
        self.reload()
        self.record(SessionStarted("A session"))

    def reload(self) -> None:
        """Rebuild everything from the stored log, as after a restart."""
        stored = msgspec.msgpack.encode(self.log)
        self.log = msgspec.msgpack.decode(stored, type=list[RecordedEvent])
        self.transcript = Transcript(self.log)
        self.window_rewriter = WindowRewriter(_MemorySession(self))

    def clock(self) -> int:
        """Milliseconds; the newest event is as old as the newest record."""
        return self.now_ms

    def record(self, *events: Event) -> list[RecordedEvent]:
        """Make events facts, one second after the last."""
        new_events: list[RecordedEvent] = []
        for event in events:
            self.now_ms += 1_000
            recorded = RecordedEvent(self.transcript.last_seq + 1, self.now_ms, event)
            self.transcript.apply(recorded)
            self.log.append(recorded)
            new_events.append(recorded)
        return new_events

    def store_content(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        digest = digest_of(data)
        self.contents[digest] = data
        return digest

    def gauge(self, window_size: int = 0) -> UsageGauge:
        """Return the usage of the next request; in a window of another size, if one is given."""
        info = msgspec.structs.replace(self.frame.info, window=window_size or self.frame.info.window)
        return measure_next_request(
            self.transcript, self.policy, msgspec.structs.replace(self.frame, info=info)
        )

    def window(self) -> Window:
        return project(self.transcript, self.policy, self.frame)

    def send_message(self, text: str, attached: str = "", image: Image | None = None) -> None:
        """Send a user message: a new turn, or a queued message during one."""
        attachments: tuple[Attachment, ...] = ()
        if attached:
            digest = self.store_content(attached)
            size = len(attached)
            preview = preview_output(attached, digest, 60)
            attachment = Attachment(digest, "a\nlabel", preview, 0, size)
            if preview != attached:
                attachment = msgspec.structs.replace(attachment, kind="paste", form="preview")
            tokens = count_tokens(attachment_text(attachment))
            attachments = (msgspec.structs.replace(attachment, tokens=tokens),)
        if image:
            count = image.tokens + count_tokens(image.text)
            about = Attachment(
                image.digest, image.label, "", count, image.size, image, count_tokens(image.marker)
            )
            attachments = (*attachments, about)
        if self.transcript.turn_open:
            self.record(MessageQueued(text, attachments))
            return
        if self.transcript.queued_messages:
            self.record(MessageQueued(text, attachments))
            seq, waiting = next(iter(self.transcript.queued_messages.items()))
            self.record(UserSpoke(waiting.text, count_tokens(waiting.text), waiting.attachments, seq))
            return
        self.record(UserSpoke(text, count_tokens(text), attachments))

    def steer(self, text: str) -> None:
        """Steer the running turn: the message follows the answers of the completed step."""
        self.answer_all_calls("rest")
        self.record(MessageQueued(text, steer=True))
        seq = self.transcript.last_seq
        self.record(UserSpoke(text, count_tokens(text), queued=seq, steered=True))

    def apply_due_rewrites(self) -> None:
        """Apply the rewrites that the agent makes before each request."""
        run_sync(self.window_rewriter.apply_due_rewrites())

    def step(
        self, text: str, calls: int | Sequence[ToolCall], usage_ratio: float = 0.0, reports_cache: bool = True
    ) -> None:
        """One model call: tidy, send, answer with these calls, or so many; none ends the turn."""
        self.answer_all_calls("rest")
        self.apply_due_rewrites()
        window, _ = self.window_rewriter.measure()
        self.sent_requests.append(SentRequest(self.transcript.last_seq, window))
        tool_calls = (
            tuple(self.tool_call(n) for n in range(calls)) if isinstance(calls, int) else tuple(calls)
        )
        reply = text if text.strip() or tool_calls else "Done."
        usage = Usage(int(window.estimate * usage_ratio), 5, reports_cache=reports_cache)
        self.record(
            msgspec.structs.replace(
                assistant_event(self, reply, tool_calls),
                usage=usage if usage_ratio else None,
                estimate=window.estimate,
            )
        )
        if not tool_calls:
            self.record(TurnEnded("done"))

    def tool_call(self, number: int, arguments: str = "", name: str = "") -> ToolCall:
        """A call as a model makes it: the `number`th of its answer."""
        self.call_count += 1
        # Some servers count the calls of each answer from zero again.
        identity = f"call_{number}" if self.call_count % 3 else f"call-{self.call_count}"
        tool_name = name or TOOL_NAMES[self.call_count % len(TOOL_NAMES)]
        path = '{"path": "src/a%d.py"}' % (self.call_count % 7)  # noqa: UP031 - the text is full of braces
        return ToolCall(identity, tool_name, arguments or path)

    def answer_call(self, index: int, text: str, ok: bool = True, form: Form = "full") -> None:
        """End one open call, in any order, with its output in a form."""
        waiting = list(self.transcript.open_calls.values())
        if not waiting:
            return
        call = waiting[index % len(waiting)]
        digest = self.store_content(text)
        body = output_in_form(text, digest, form)
        exit_code = None
        if call.name == "run_command":
            exit_code = 0 if ok else 1
        answer = ToolAnswered(
            call_id=call.id, name=call.name, text=body, digest=digest, size=len(self.contents[digest]),
            tokens=count_tokens(body), marker_tokens=0,
            target=f"src/a{index}.py" if index % 5 else f"cat <<X\n{'ab' * 32} e1 read_file",
            first_line=first_line(text), ok=ok,
            exit_code=exit_code, whole=body == text,
            form=form, full_tokens=0 if form == "full" else count_tokens(text),
        )  # fmt: skip
        self.record(msgspec.structs.replace(answer, marker_tokens=count_tokens(output_marker(answer))))

    def recall(self, digest: str) -> None:
        """Let the agent recall a content and get its beginning."""
        text = f"Recalled {digest[:12]}\n" + self.contents[digest].decode("utf-8", "replace")[:400]
        if not self.transcript.turn_open:
            self.send_message("What was that?")
        arguments = msgspec.json.encode({"hash": digest}).decode()
        self.step("I look again.", [self.tool_call(0, arguments, RECALL_TOOL)])
        (call,) = self.transcript.open_calls.values()
        answer = ToolAnswered(
            call_id=call.id, name=RECALL_TOOL, text=text, digest=digest, size=len(self.contents[digest]),
            tokens=count_tokens(text), marker_tokens=0, whole=False, recalled=digest,
        )  # fmt: skip
        self.record(msgspec.structs.replace(answer, marker_tokens=count_tokens(output_marker(answer))))

    def answer_all_calls(self, text: str) -> None:
        """All open calls end."""
        while self.transcript.open_calls:
            self.answer_call(0, text)

    def end_turn(self, outcome: TurnOutcome, partial: str = "") -> None:
        """Interrupt the turn: close open calls, keep the partial answer."""
        if not self.transcript.turn_open:
            return
        if partial and not self.transcript.open_calls:
            self.record(AssistantSpoke(partial, self.frame.info.label, count_tokens(partial), stop="stopped"))
        for call in list(self.transcript.open_calls.values()):
            text = "The user stopped the turn before this call ended."
            self.record(
                ToolAnswered(call.id, call.name, text, "", 0, 30, 30, ok=False, outcome="interrupted")
            )
        self.record(TurnEnded(outcome))

    def retry(self) -> None:
        """Repeat the last step of a turn that was cut off."""
        if (event := self.transcript.retry_event()) is not None:
            self.record(event)

    def branch(self, seq: int) -> int:
        """Go on as the branch that ends behind `seq` and its step; return where; 0 if that still runs."""
        try:
            end = point_after(self.log, seq)
        except InvalidInput:
            return 0
        self.go_on_behind(end)
        return end

    def go_on_behind(self, seq: int) -> None:
        """Go on as the branch that ends with event `seq`; what was sent later is the parent's."""
        self.sent_requests = [sent for sent in self.sent_requests if sent.seq <= seq]
        first = RecordedEvent(seq + 1, self.now_ms, SessionBranched("parent", seq, "A branch"))
        self.log = [*self.log[:seq], first]
        self.reload()

    def record_sweep(self, plan: SweepPlan | None, reason: SweepReason) -> None:
        if plan is not None:
            items = (self.transcript.messages.item(seq) for seq in plan.swept)
            outputs = [item.seq for item in items if item and isinstance(item.event, ToolAnswered)]
            anchors = f"{SWEEP_TITLE} e{outputs[-1]}: name_{outputs[-1]}" if outputs else ""
            if count_tokens(anchors) > plan.saved // 2:
                anchors = ""
            anchor_tokens = count_tokens(anchors) if anchors else 0
            carrier = outputs[-1] if anchors else 0
            self.record(
                SweepMade(plan.swept, plan.saved - anchor_tokens, reason, anchors, anchor_tokens, carrier)
            )

    def undo(self, index: int) -> int:
        """Undo one active rewrite; return its seq, 0 if there is none."""
        undoable = [seq for seq in sorted(self.transcript.rewrites.by_seq) if self.transcript.can_undo(seq)]
        if not undoable:
            return 0
        self.record(Undone(undoable[index % len(undoable)]))
        return undoable[index % len(undoable)]

    def redo(self, index: int) -> int:
        """Redo one rewrite that was undone; its seq, 0 if there is none."""
        gone = [seq for seq in sorted(self.transcript.rewrites.undone) if self.transcript.can_redo(seq)]
        if not gone:
            return 0
        self.record(Redone(gone[index % len(gone)]))
        return gone[index % len(gone)]

    def hand_over(self, keep_tokens: int) -> HandoverMade | None:
        """Hand over at the latest cut that keeps this many tokens, with the sweep that comes with it."""
        cut = furthest_range(self.transcript, keep_tokens)
        if cut is None:
            return None
        handover = self.handover_at(cut)
        self.record(handover)
        self.record_sweep(
            caching.sweep_with_rewrite(self.transcript, self.policy, self.gauge()), SweepReason.HANDOVER
        )
        return handover

    def handover_at(self, cut: HandoverRange) -> HandoverMade:
        """The handover that `HandoverWriter` would write there without a model."""
        latest = self.transcript.window.handover
        previous = previous_handover(self.transcript)
        covered = covered_messages(self.transcript, cut.upto, cut.kept_seq)
        uncovered = uncovered_messages(self.transcript, cut.upto, cut.kept_seq)
        fresh = self.transcript.window.without_excluded(uncovered)
        text, entries = build_index_entry(self.transcript, 0, cut.upto, cut.kept_seq)
        sections = extractive_handover(fresh, previous)
        facts = covered_facts(covered)
        ledger = facts.ledger.text(self.policy.ledger_tokens)
        summary = "\n".join([*map(section_text, sections), ledger])
        budget = user_text_budget(self.policy.user_text_tokens, self.frame.info.window)
        event = HandoverMade(
            text_version=SUMMARY_TEXT_VERSION,
            upto=cut.upto, kept=cut.kept_seq, sections=sections, ledger=ledger,
            index=self.store_content(text), index_entries=entries, tokens=0, before=self.window().estimate,
            after=0, messages=covered_counts(self.transcript, cut.upto, cut.kept_seq).messages,
            model="none", trigger=HandoverTrigger.MANUAL, former=latest[0] if latest else 0,
            coverage=check_covered_facts(facts, summary, self.policy.ledger_tokens * 3),
            words=newest_turn_words(self.transcript, cut.upto, budget),
            mode_note=newest_mode_note(covered),
        )  # fmt: skip
        texts = agent_texts(self.transcript, event.words)
        return msgspec.structs.replace(event, tokens=count_tokens(render_handover(event, (), texts)))


def assistant_event(simulator: SessionSimulator, text: str, calls: tuple[ToolCall, ...]) -> AssistantSpoke:
    """Return an answer with its large arguments stored, sometimes with provider reasoning."""
    swept = [sweep for call in calls if (sweep := sweep_arguments(call)) is not None]
    for sweep in swept:
        for argument in sweep.texts:
            simulator.store_content(argument)
    short = {sweep.call.call_id: sweep.call.arguments for sweep in swept}
    originals = [call.name + call.arguments for call in calls]
    left = [call.name + short.get(call.id, call.arguments) for call in calls]
    thought = simulator.call_count % 4 == 1
    return AssistantSpoke(
        text=text,
        model=simulator.frame.info.label,
        tokens=count_tokens(text) + sum(map(count_tokens, originals)),
        calls=calls,
        reasoning="It must be so." if thought else "",
        stop="calls" if calls else "end",
        verbatim={"signature": f"s{simulator.call_count}"} if thought else None,
        short=tuple(sweep.call for sweep in swept),
        short_tokens=count_tokens(text) + sum(map(count_tokens, left)) if swept else 0,
    )


def output_in_form(text: str, digest: str, form: Form) -> str:
    match form:
        case "full":
            return text
        case "preview":
            return preview_output(text, digest, 60)
        case "compact":
            return f"What matters: {first_line(text)}\n{bare_marker(digest)} the whole output"
