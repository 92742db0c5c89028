"""Output forms: the user changes the form in which an output stands in the window."""

from __future__ import annotations

from helix_desktop.agent.intake.extractor import Extractor
from helix_desktop.agent.intake.intake import Intake, decode_text
from helix_desktop.agent.models.completion import CallBill
from helix_desktop.agent.ports.store import Store
from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.session_updates import IntakeProgress
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.intake.output_form_choice import OutputSource
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.log.window_layout import LogItem, PinnedCopy
from helix_desktop.context.window.window import output_text
from helix_desktop.domain.cost import unused_calls
from helix_desktop.domain.errors import HelixError, OutputFormUnavailable
from helix_desktop.domain.events.conversation import ToolAnswered
from helix_desktop.domain.events.rewrite import Form, FormChosen
from helix_desktop.domain.translatable_text import TextContext, verbatim

_text = TextContext("Agent")


class OutputForms:
    """Builds another form of an output from its stored bytes, and records it as the current one."""

    def __init__(
        self, runtime: SessionRuntime, store: Store, rewriter: WindowRewriter, extractor: Extractor
    ) -> None:
        self._runtime, self._store, self._rewriter, self._extractor = runtime, store, rewriter, extractor
        self._intake = Intake(runtime.counter)

    async def choose(self, seq: int, form: Form, instructions: str = "") -> None:
        """Show the output recorded as `seq` in a form; `instructions` say what a compact one must contain.

        Canceling changes nothing. What an extract cost that is not used is recorded. Raises
        OutputFormUnavailable if it cannot have that form, StoreError if its bytes cannot be read, ModelError
        if no model wrote the extract.
        """
        item, output = self._output_in_window(seq)
        text = await decode_text(await self._store.get(output.digest), output.digest)
        bill, session, is_used = CallBill(self._runtime.counter), self._runtime.session, False
        try:
            event = await self._build_form(seq, output, text, form, instructions, bill)
            is_used = True  # canceling no longer ends it
            is_used = bool(await session.record_decided(lambda: self._events_to_record(item, output, event)))
        except HelixError:
            is_used = False
            raise
        finally:
            spent = bill.spent
            if spent.tokens and not is_used:
                await session.record(unused_calls(spent))

    def _output_in_window(self, seq: int) -> tuple[LogItem, ToolAnswered]:
        """Return the output `seq` as it stands in the window. Raises OutputFormUnavailable."""
        item = self._runtime.transcript.messages.item(seq)
        if item is None or not isinstance(item.event, ToolAnswered) or not item.event.digest:
            raise OutputFormUnavailable(
                _text("This can't be sent in another form."),
                _text("Only tool outputs can be sent as a preview or an extract."),
            )
        if item.event.images:
            raise OutputFormUnavailable(
                _text("An image can't be shortened."),
                _text("Only text can be sent as a preview or an extract."),
            )
        if not any(entry in (item, PinnedCopy(item)) for entry in self._runtime.transcript.window.entries()):
            raise OutputFormUnavailable(
                _text("This output isn't in the context."),
                _text("A summary or a note replaced it."),
                _text("Undo that, or pin the output first."),
            )
        return item, item.event

    async def _build_form(
        self, seq: int, output: ToolAnswered, text: str, form: Form, instructions: str, bill: CallBill
    ) -> FormChosen:
        match form:
            case "preview":
                max_tokens = self._runtime.policy.preview_tokens
                preview_text, tokens = await self._intake.preview(text, output, max_tokens)
                return FormChosen(seq, form, preview_text, tokens)
            case "full":
                tokens = await self._runtime.count_tokens(text)
                return FormChosen(seq, form, text, tokens)
        if not instructions.strip():
            raise OutputFormUnavailable(
                _text("The extract needs instructions."), fix=_text("Describe what it must contain.")
            )
        self._runtime.session.publish(IntakeProgress("extract", (output.call_id,)))
        try:
            return await self._build_extract(seq, output, text, instructions.strip(), bill)
        finally:
            self._runtime.session.publish(IntakeProgress("idle"))

    async def _build_extract(
        self, seq: int, output: ToolAnswered, text: str, instructions: str, bill: CallBill
    ) -> FormChosen:
        started_at_ms = self._runtime.clock()
        tokens = await self._runtime.count_tokens(text)
        source = OutputSource.from_answer(output, text, tokens)
        extract = await self._extractor.extract(source, instructions, bill)
        if extract.rejection:
            raise OutputFormUnavailable(
                _text("The extract wasn't used."),
                verbatim(extract.rejection),
                _text("Ask for less, or send a preview."),
            )
        return FormChosen(
            seq,
            "compact",
            extract.text,
            extract.tokens,
            asked=instructions,
            intake_tokens=bill.spent.tokens,
            intake_cached=bill.spent.cached,
            intake_ms=self._runtime.elapsed_ms(started_at_ms),
            intake_model=extract.model,
            intake_note=extract.fallback_reason,
            intake_cost=bill.spent.cost,
            intake_estimated=bill.spent.estimated,
            intake_unpriced=bill.spent.unpriced,
        )

    def _events_to_record(
        self, item: LogItem, output: ToolAnswered, event: FormChosen
    ) -> tuple[FormChosen, ...]:
        """Return the event to record; empty if the output already has that form.

        Raises OutputFormUnavailable if the output has left the window, or the form does not fit.
        """
        self._output_in_window(item.seq)
        transcript = self._runtime.transcript
        if output_text(item, output, transcript) == event.text:
            return ()
        _, gauge = self._rewriter.measure()
        added_tokens = round(
            (event.tokens + FRAMING_TOKENS - transcript.window.entry_tokens(item)) * gauge.ratio
        )
        tokens_left = min(gauge.window - gauge.reserve, gauge.panic_threshold - 1) - gauge.used
        if added_tokens > max(tokens_left, 0):
            raise OutputFormUnavailable(
                _text("The output doesn't fit the context window."),
                _text(
                    "It needs about {needed} more tokens; {left} are left.",
                    needed=added_tokens,
                    left=max(tokens_left, 0),
                ),
                _text("Send a preview or an extract, or compact the conversation first."),
                remedies=("compact",),
            )
        return (event,)
