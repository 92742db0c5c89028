"""The window of a conversation's handovers: pick a version, read, edit, compare and write it, and use it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from helix_desktop.agent.compaction.handover_writer import (
    OLDER_MESSAGES,
    WHOLE_SESSION,
    CountedPart,
    HandoverDraft,
    HandoverScope,
    RevisionDraft,
)
from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import CompactionProgress
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts
from helix_desktop.context.summaries.handover_revision import (
    compare_handovers,
    editable_sections,
    fields_to_markdown,
    from_fields,
    listed_below,
    markdown_to_fields,
    original_of,
    to_fields,
)
from helix_desktop.context.summaries.sections import PREFERENCES, can_be_settled, ordered_sections
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.events.rewrite import Redone, Undone
from helix_desktop.domain.events.summary import Bullet, HandoverDiscarded, HandoverMade, Section
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton, show_copied
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead, Pill
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.labels import SelectableText, label
from helix_desktop.ui.design.layout import FlowBox, ResponsiveRow, card, column, pane, row
from helix_desktop.ui.design.safe_text import escape_invisible
from helix_desktop.ui.design.style.theme import restyle
from helix_desktop.ui.handover.drafts import (
    OpenDraft,
    draft_warnings,
    purpose_text,
    sizes_as_sent,
    sweep_note,
    use_text,
)
from helix_desktop.ui.handover.parts import CompareWith, PutBack, SectionField, WindowParts, warning_line
from helix_desktop.ui.handover.range_choice import WHOLE_CONVERSATION, RangeChoice
from helix_desktop.ui.handover.versions import (
    DRAFT,
    FORMER_DRAFT,
    NOTHING,
    NOW,
    ChooseVersion,
    EditRefusal,
    Version,
    edit_refusal,
    recorded_versions,
    rerun_seq,
    version_before,
)
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.intents import Intent, IntentHandlers, handles, perform
from helix_desktop.ui.timeline.bullet_view import BulletView
from helix_desktop.words.model_names import recorded_writer, writer_name
from helix_desktop.words.numbers import format_token_change, format_token_count, format_token_difference
from helix_desktop.words.summaries import as_of_text, handover_titles, missing_rules, missing_rules_text
from helix_desktop.words.times import format_exact_duration
from helix_desktop.words.translation import Translator, translate

tr = Translator("Handover")

Place: TypeAlias = Literal["text", "changes"]

_SENT_CHARS = 60_000  # of what the model gets that are shown


class HandoverWindow(WindowParts):
    """While it runs, the handovers of one conversation. What was typed stays while another one is read.

    Closing it saves a draft, and drops unsaved changes of a recorded handover once that was warned of.
    """

    def __init__(self, parent: QWidget, conversation: Conversation, actions: AsyncActions) -> None:
        self._conversation = conversation
        self._handovers = conversation.handovers
        self._writer = conversation.handovers.writer
        self._intents = IntentHandlers()
        self._intents.async_actions = AsyncActions(
            actions.scope,
            lambda error: self.show_error(error) if self._is_open else actions.show_error(error),
        )
        self._intents.add(self)
        self._start = self._intents.async_actions.start
        super().__init__(parent, RangeChoice(conversation, self._start))
        self.seq = NOW
        self._other = NOTHING
        self._before_writing = NOW
        self.draft: OpenDraft | None = None
        self._former: tuple[Section, ...] = ()  # of the draft before, which was written again
        self._preview: OpenDraft | None = None  # made without a model, of the range to compact
        self._preview_upto: int | None = None  # of the newest one that is read or was; None: of none yet
        self._revision: RevisionDraft | None = None
        self._edits: dict[int, dict[str, str]] = {}
        self._writing: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None  # the preview
        self._checks = 0
        self._is_open = self._is_busy = self._is_compaction = False
        self._is_valid = True
        self._built: tuple[int, bool, Mapping[str, str], str] | None = None  # what the fields show
        self.fields: list[SectionField] = []
        self.stop_button.clicked.connect(self.stop_writing)
        self.write_button.clicked.connect(self.write)
        self.save_button.clicked.connect(lambda: self._start(self._save(), "save handover"))
        self.use_button.clicked.connect(lambda: self._start(self._use_draft(), "use draft"))
        self.session_button.clicked.connect(
            lambda: self.perform(intents.ContinueSession(max(NOTHING, self.seq)))
        )
        self.copy_button.clicked.connect(self._copy)
        self.compare_button.clicked.connect(self._toggle_comparison)
        self.ranges.chosen.connect(self.refresh)
        self.ranges.focus.returnPressed.connect(self.write_button.click)
        self.ranges.focus.textChanged.connect(self._show_buttons)
        self._pause.timeout.connect(lambda: self._start(self._check(), "check-edited-handover"))
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self, self._press_primary)

    @property
    def _transcript(self) -> Transcript:
        return self._conversation.session.transcript

    @property
    def is_writing(self) -> bool:
        return self._writing is not None

    @property
    def is_outdated(self) -> bool:
        """Return True if the draft on screen covers another range than the chosen one."""
        return self._shown_draft is not None and self.ranges.upto not in (self._shown_draft.upto, None)

    @property
    def _shown_draft(self) -> OpenDraft | None:
        return {DRAFT: self.draft, NOW: self._preview}.get(self.seq)

    @property
    def _scope(self) -> int | None:
        """Return which handover writing would replace, 0 for none; None where nothing can be written."""
        if self.seq == DRAFT:
            return self.draft.scope.rerun_seq if self.draft is not None else self.ranges.scope
        return rerun_seq(self._transcript, self.seq)

    # The run: what is open, and what becomes of it

    async def run(
        self, seq: int, place: Place, *, focus: str = "", upto: int = 0, is_compaction: bool = False
    ) -> None:
        """Show a version until the window is closed; what is being written then ends, and a draft is saved.

        `place` has the keyboard at first. With `upto` the range ends at that event, or as near before it as
        can be. For a compaction the draft that was saved comes first. Raises CompactionRefused where there is
        nothing to compact.
        """
        scope = rerun_seq(self._transcript, seq)
        self.ranges.focus.setText(focus)
        self.seq = seq
        self._is_open = True
        self._is_compaction = is_compaction and seq == NOW
        if self._is_compaction:
            self.setWindowTitle(tr("Compact conversation"))
        session = self._conversation.session
        ends = list[Callable[[], None]]()
        try:
            if is_compaction:
                ranges = await self._writer.ranges(upto, HandoverScope(scope or 0))
                if not ranges:
                    self.deleteLater()
                    await self._writer.find_range(0, HandoverScope(scope or 0))  # says why there is nothing
                self.ranges.show_legal_ranges(scope or 0, ranges)
                if upto:
                    self.ranges.choose(upto)
            await self._restore_draft()
            if (is_compaction or (place == "text" and seq == NOW)) and self._goes_on_with_draft(scope, upto):
                self.choose(DRAFT)
            else:
                self._other = self._former_of(seq)
                self.refresh()
            if place == "changes":
                self.comparison.other_box.setFocus()
            elif self.fields:
                self.fields[0].editor.setFocus(Qt.FocusReason.OtherFocusReason)
            elif self._reading is not None and not focus:
                self.close_button.setFocus()
                self._reading.add_done_callback(self._on_first_preview)
            elif self._scope is not None:
                self.ranges.focus.setFocus()
            else:
                self.versions.setFocus()
            ends = [
                session.on(CompactionProgress, self._show_progress),
                session.on(HandoverMade | HandoverDiscarded | Undone | Redone, self._on_change),
            ]
            await exec_async(self)
        finally:
            self._is_open = False
            for end in ends:
                end()
            self.stop_writing()
            if (draft := self.draft) is not None:
                text = draft.text(self._texts(DRAFT))
                rerun = draft.scope.rerun_seq
                await self._handovers.save_draft(draft.draft, text, rerun, draft.scope.is_whole)

    def _goes_on_with_draft(self, scope: int | None, upto: int) -> bool:
        """Return True if the draft that was saved is one of what the user wants to write now."""
        if self.draft is None or self.draft.scope.rerun_seq != scope:
            return False
        focus = self.ranges.focus.text()
        is_offered = self.ranges.scope is None or self.ranges.box.findData(self.draft.upto) >= 0
        return is_offered and focus in ("", self.draft.draft.event.focus) and upto in (0, self.draft.upto)

    async def _restore_draft(self) -> None:
        """Take up the draft that the user left, while its context is the same."""
        active = self._transcript.window.handover
        for rerun in (0, active[0] if active is not None else 0):
            saved = self._handovers.restore_draft(rerun, is_whole_possible=True)
            if saved is not None:
                scope = WHOLE_SESSION if saved.is_whole else HandoverScope(rerun)
                parts = await self._writer.parts_as_sent(saved.draft, saved.is_whole)
                self.draft = OpenDraft(saved.draft, scope, tuple(parts))
                if saved.text != saved.draft.text:
                    self._edits[DRAFT] = markdown_to_fields(saved.text)
                return

    def perform(self, intent: Intent) -> None:
        """Do what is done here; else close, as it shows what stands behind, unless changes would be lost."""
        if self._intents.knows(intent):
            self._intents.perform(intent)
        elif isinstance(intent, intents.CopyText) or self._confirm_discard():
            if not isinstance(intent, intents.CopyText):
                self.accept()
            perform(self.parentWidget(), intent)

    def reject(self) -> None:
        """Stop the writing first; drop changes of a handover only when asked for a second time."""
        if self.is_writing:
            self.stop_writing()
        elif self._confirm_discard():
            super().reject()

    def _confirm_discard(self) -> bool:
        """Return True if no change would be lost, or the user asked for it twice; drafts are saved."""
        self._keep_edits()
        changed = next((seq for seq in self._edits if seq != DRAFT), None)
        if changed is None or self._is_warned:
            return True
        self.choose(changed)
        self.show_problem(tr("Your changes aren't saved. Close again to discard them."))
        self._is_warned = True
        return False

    def _on_change(self, event: HandoverMade | HandoverDiscarded | Undone | Redone) -> None:
        if isinstance(event, HandoverDiscarded) and event.prepared is None:
            return  # what it cost: no version is another one
        self._preview = self._preview_upto = None
        self.ranges.read_again()
        self.refresh()

    # Versions

    @handles(ChooseVersion)
    def choose(self, seq: int) -> None:
        if seq != self.seq:
            self._keep_edits()
            self.show_problem()
            self.seq = seq
            self._other = self._former_of(seq)
            self._is_valid = True
            self.refresh()
            if seq == DRAFT and self.draft is not None:
                self.ranges.choose(self.draft.upto)
                self.ranges.focus.setText(self.ranges.focus.text() or self.draft.draft.event.focus)

    @handles(CompareWith)
    def compare_with(self, seq: int) -> None:
        self._other = seq
        self.refresh()

    def _toggle_comparison(self) -> None:
        others = (version.seq for version in self._versions() if version.seq != self.seq)
        former = self._former_of(self.seq) or version_before(self._transcript, self.seq) or next(others)
        self.compare_with(NOTHING if self._other != NOTHING else former)

    @handles(intents.Redo)
    async def redo(self, seqs: tuple[int, ...]) -> None:
        """Let an undone handover hold again, and show it. Raises CompactionRefused in a wider one."""
        await self._conversation.window.redo(*seqs)
        self.choose(seqs[0])

    def _former_of(self, seq: int) -> int:
        if seq == NOW:
            return NOTHING  # until the user compares it
        is_written_again = seq == DRAFT and self.draft is not None and bool(self._former)
        return FORMER_DRAFT if is_written_again else version_before(self._transcript, seq)

    def refresh(self) -> None:
        """Show the version as it is on record now, and what can be done with it."""
        if self.seq > NOTHING and self.seq not in self._transcript.written_handovers:
            self.seq = NOW
        upto = 0 if self.ranges.scope else self.ranges.upto
        if NOW in (self.seq, self._other) and upto not in (None, self._preview_upto):
            self._preview_upto = upto
            self._reading = self._start(self._read_preview(upto), "preview handover")
        versions = self._versions()
        self.versions.show_versions(versions, self.seq)
        self._side.setVisible(len(versions) > 1)
        is_written = self.seq == DRAFT and self.is_writing
        self._pages.setCurrentIndex(int(is_written))
        self.compare_button.setVisible(not is_written and len(versions) > 1)
        self.compare_button.setChecked(self._other != NOTHING)
        self.comparison.setVisible(not is_written and self._other != NOTHING)
        scope = self._scope
        if scope is not None and scope != self.ranges.scope and not self.is_writing:
            upto = self.draft.upto if self.draft is not None and self.seq == DRAFT else 0
            self.ranges.offer(scope, self.ranges.upto or upto)
        self._show_fields()
        self._show_head()
        self._compare()
        self._show_buttons()

    def _versions(self) -> list[Version]:
        now = Version(NOW, tr("If you compact now"), tr("Made without a model"))
        log = self._conversation.session.log
        is_managed = self._conversation.session.policy.enabled
        listed = [now, *recorded_versions(self._transcript, log, is_managed=is_managed)]
        if self.is_writing:
            listed.insert(0, Version(DRAFT, tr("Draft"), tr("Writing…")))
        elif self.draft is not None:
            listed.insert(0, Version(DRAFT, self._title(DRAFT), _writer_text(self.draft.draft.event)))
        return listed

    def _title(self, seq: int) -> str:
        if seq == NOW:
            return tr("If you compact now")
        titles = handover_titles(self._transcript)
        if seq != DRAFT:
            return titles.get(seq, "")
        former = titles.get(self.draft.scope.rerun_seq, "") if self.draft is not None else ""
        return tr("Draft of “{title}”", title=former) if former else tr("Draft")

    async def _read_preview(self, upto: int) -> None:
        scope = WHOLE_SESSION if upto == WHOLE_CONVERSATION else OLDER_MESSAGES
        try:
            preview = OpenDraft(await self._handovers.previews.preview(max(0, upto), scope), scope)
        except HelixError:
            preview = None  # what there is to say stands where the price does
        if self._is_open and upto == self._preview_upto:
            self.show_preview(preview)

    def _on_first_preview(self, _: object) -> None:
        """Give the keyboard to the button that uses it, unless the user took it elsewhere meanwhile."""
        if self._is_open and self.focusWidget() is self.close_button:
            self.use_button.setFocus()

    def show_preview(self, preview: OpenDraft | None) -> None:
        self._preview = preview
        self.refresh()

    # Text

    def _event(self, seq: int) -> HandoverMade | None:
        opened = {DRAFT: self.draft, NOW: self._preview}.get(seq)
        return opened.draft.event if opened is not None else self._transcript.written_handovers.get(seq)

    def _sections(self, seq: int) -> tuple[Section, ...]:
        if seq == FORMER_DRAFT:
            return self._former
        event = self._event(seq)
        return editable_sections(event) if event is not None else ()

    def _texts(self, seq: int) -> dict[str, str]:
        """Return the text of each section of a version, with what the user changed."""
        if self._built is not None and self._built[0] == seq and self.fields:
            return {field.title: field.text for field in self.fields}
        return self._edits.get(seq) or to_fields(self._sections(seq))

    def _keep_edits(self) -> None:
        """Keep what differs from the record, for when its version is chosen again."""
        if self._built is not None and self.fields:
            seq, _, recorded, _ = self._built
            texts = self._texts(seq)
            self._edits.pop(seq, None)
            if texts != recorded:
                self._edits[seq] = texts

    def _refusal(self) -> EditRefusal | None:
        return edit_refusal(self._transcript, self.seq) if self.seq != DRAFT else None

    def _show_fields(self) -> None:
        """Build the sections again where they are others than before: to edit, or to read."""
        is_editable = self._refusal() is None
        sections = self._sections(self.seq)
        event = self._event(self.seq)
        as_of = as_of_text(event, self._transcript) if event is not None else ""
        if self._built == (built := (self.seq, is_editable, to_fields(sections), as_of)):
            return
        self._keep_edits()
        texts = self._edits.get(self.seq) or built[2]
        self._built = built
        self.fields = []
        parts = list[QWidget]()
        is_edited = is_editable or self.seq in self._edits
        original = self._original()
        for section in ordered_sections([Section(title) for title in texts]):
            title = section.title
            text = texts[section.title]
            when = as_of if can_be_settled(title) else ""
            if is_edited:
                field = SectionField(title, text, original.get(title, ""), when)
                field.editor.setReadOnly(not is_editable)
                field.changed.connect(self._on_typed)
                self.fields.append(field)
                parts.append(field)
            elif bullets := next((part.bullets for part in sections if part.title == title), ()):
                is_flagged = event is not None and not event.origin
                parts.append(_read_only(title, when, bullets, is_flagged=is_flagged))
        self._legend.setVisible(bool(self.fields))
        self._fill(self._sections_column, parts)
        self._scroll.set_stop(not is_edited)
        self._scroll.verticalScrollBar().setValue(0)
        if self.seq in self._edits:
            self._pause.start()  # their tokens are not on record

    def _original(self) -> dict[str, str]:
        """Return the text of each section as it was first recorded, or as the draft was written."""
        handovers = self._transcript.written_handovers
        if self.seq not in handovers:
            return to_fields(self._sections(self.seq))
        return to_fields(editable_sections(handovers[original_of(handovers, self.seq)]))

    def _on_typed(self) -> None:
        if self.problem:
            self.show_problem()
        self._show_buttons()
        self._pause.start()

    def _valid_seqs(self) -> frozenset[int]:
        return frozenset(item.seq for item in self._transcript.messages.items)

    def _parse(self, texts: Mapping[str, str]) -> tuple[Section, ...]:
        try:
            return from_fields(texts, self._valid_seqs())
        except InvalidInput:
            return ()

    def _compare(self) -> None:
        """Show what differs from the other version; nothing typed leaves every sentence dropped."""
        versions = [version for version in self._versions() if version.seq != self.seq]
        if self.fields:
            versions.insert(0, Version(self.seq, tr("{title}, unchanged", title=self._title(self.seq))))
        if self._former:
            versions.insert(0, Version(FORMER_DRAFT, tr("Draft before this one")))
        self.comparison.show_choices(versions, self._other)
        sections = self._parse(self._texts(self.seq)) if self.fields else self._sections(self.seq)
        other = self._sections(self._other)
        if self._other != self.seq and self._other in self._edits:
            other = self._parse(self._edits[self._other])
        event = self._event(self.seq)
        compared = compare_handovers(other, sections, listed_below(event) if event is not None else ())
        self.comparison.show_sections(compared, can_put_back=self._refusal() is None)

    @handles(PutBack)
    def put_back(self, title: str, bullet: Bullet) -> None:
        field = next((field for field in self.fields if field.title == title), self.fields[0])
        field.add_sentence(bullet)
        announce(self, tr("Put back into {section}.", section=field.title))
        self._compare()

    def _add_rule(self, rule: Bullet) -> None:
        next(field for field in self.fields if field.title == PREFERENCES.title).add_sentence(rule)
        self._show_missing()

    async def _check(self) -> None:
        """Show what the text takes and leaves out now; an older check that ends later is dropped."""
        if not self._is_open:
            return
        self._checks += 1
        number = self._checks
        seq = self.seq
        texts = self._texts(self.seq)
        self._is_valid = True
        try:
            from_fields(texts, self._valid_seqs())
        except InvalidInput as error:
            self.show_error(error)
            self._is_valid = False
        self._compare()
        self._show_buttons()
        self._show_missing()
        event = self._event(seq)
        if seq < NOTHING or event is None or not self._is_valid:
            return
        revision = await self._revision_of(seq)
        if texts != to_fields(self._sections(seq)):
            sections = from_fields(texts, revision.valid_seqs)
            event = await self._handovers.revisions.check(revision, sections)
        if self._is_open and (number, seq) == (self._checks, self.seq):
            self._show_tokens(event)

    async def _revision_of(self, seq: int) -> RevisionDraft:
        if self._revision is None or self._revision.seq != seq:
            self._revision = await self._handovers.revisions.draft(seq)
        return self._revision

    async def _save(self) -> None:
        """Record the handover again with what the user changed, and show that. Raises HelixError."""
        if self._is_busy:
            return
        self._set_busy(True)
        seq = self.seq
        texts = self._texts(self.seq)
        before = self._transcript.written_handovers
        try:
            revision = await self._revision_of(seq)
            await self._handovers.revisions.record(revision, from_fields(texts, revision.valid_seqs))
        finally:
            self._set_busy(False)
        self._keep_edits()
        self._built = None
        self._edits.pop(seq, None)
        self.choose(max(self._transcript.written_handovers.keys() - before.keys(), default=self.seq))
        announce(self, tr("Saved as “{title}”.", title=self._title(self.seq)))

    # Writing

    def write(self) -> None:
        upto = self.ranges.upto
        if self.is_writing or upto is None:
            return
        self._keep_edits()
        self.show_problem()
        focus = self.ranges.focus.text().strip()
        scope = self.ranges.scope_of(upto)
        self._before_writing = self.seq
        self.seq = DRAFT
        self._writing_since_s = time.monotonic()
        self.model_output.clear()
        self._writing = self._start(self._write(focus, upto, scope), "draft-handover")
        self._writing.add_done_callback(self._on_written)
        self.show_phase("read")
        self._seconds.start()
        self.refresh()
        self.stop_button.setFocus()

    async def _write(self, focus: str, upto: int, scope: HandoverScope) -> None:
        try:
            draft = await self._handovers.write_draft(focus, upto, scope)  # till then the former can be used
            if self.draft is not None:
                self.keep_former_draft()
            parts = await self._writer.parts_as_sent(draft, scope.is_whole)
            self._writing = None  # what is shown now can be clicked at once
            self.show_draft(draft, parts, scope)
        except HelixError as error:
            self._end_writing()
            self.show_error(error)

    def keep_former_draft(self) -> None:
        """Keep the text of the draft that is written again, to compare with and to put back from."""
        self._former = self._parse(self._texts(DRAFT))

    def show_draft(self, draft: HandoverDraft, parts: Sequence[CountedPart], scope: HandoverScope) -> None:
        """Hold a draft that was written, and show it unless the user reads another version."""
        self._edits.pop(DRAFT, None)
        self.draft = OpenDraft(draft, scope, tuple(parts))
        self._seconds.stop()
        if self.seq == DRAFT:
            self._built = None
            self._other = self._former_of(DRAFT)
        self.refresh()
        announce(self, tr("The draft is written."))
        if self.seq == DRAFT:
            self.fields[0].editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def stop_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    def _on_written(self, task: asyncio.Task[None]) -> None:
        if self._writing is task and self._is_open:
            self._end_writing()

    def _end_writing(self) -> None:
        """Go back to the draft before, or to where it was written from."""
        self._writing = None
        self._seconds.stop()
        if self.seq == DRAFT:
            self.seq = DRAFT if self.draft is not None else self._before_writing
            self._other = self._former_of(self.seq)
        has_keyboard = self.stop_button.hasFocus()
        self.refresh()
        if has_keyboard:
            self.write_button.setFocus()

    def _show_progress(self, update: CompactionProgress) -> None:
        if self.is_writing and update.phase != "idle":
            self.show_phase(update.phase, update.text)

    async def _use_draft(self) -> None:
        """Compact with the shown draft, replace a handover, or start a session. Raises HelixError."""
        draft = self._shown_draft
        if draft is None or self._is_busy:
            return
        self._set_busy(True)
        text = draft.text(self._texts(self.seq))
        try:
            if draft.scope.is_whole:
                edited = await self._writer.apply_edits(draft.draft, text)
                perform(self.parent(), intents.ContinueSession(0, edited))
            else:
                await self._writer.commit(draft.draft, text)
        except HelixError:
            if self.fields:
                self.fields[0].editor.setFocus()  # the button lost the keyboard while it was off
            raise
        finally:
            self._set_busy(False)
        if draft is self.draft:
            self.draft = None
        self.accept()

    def _set_busy(self, is_busy: bool) -> None:
        """Let nothing be pressed twice while something is recorded."""
        self._is_busy = is_busy
        self._show_buttons()

    # What stands around the text

    def _show_head(self) -> None:
        """Show what the version is called, what is said of it, and what can be done instead of editing it."""
        event = self._event(self.seq)
        refusal = self._refusal()
        draft = self._shown_draft
        self.title.setText(self._title(self.seq) or tr("Draft"))
        warnings = list[str]()
        notes = list[str]()
        if draft is not None:
            warnings = draft_warnings(draft)
            event = draft.draft.event
            former = handover_titles(self._transcript).get(draft.scope.rerun_seq, "")
            counts = translate(handover_counts(self._transcript, event).text)
            notes = [
                purpose_text(draft, former, counts),
                sweep_note(draft.draft.sweep_savings),
                translate(event.fallback),
                missing_rules_text(event.coverage).text if self.seq == NOW else "",
            ]
        elif refusal is not None:
            notes = [refusal.reason]
        lines: list[QWidget] = []
        if self.seq == DRAFT and self.is_outdated and draft is not None:
            drafted = self.ranges.box.itemText(self.ranges.box.findData(draft.upto))
            text = tr("This draft and its figures are for another range: {range}.", range=drafted)
            back = PushButton(tr("Back to its range"), "link", name="draft-range-back")
            back.clicked.connect(lambda: self.ranges.choose(draft.upto))
            lines.append(ResponsiveRow(warning_line(text, "draft-range"), [back]))
        lines += [warning_line(text, "draft-warning") for text in warnings]
        for text in filter(None, notes):
            lines.append(label(text, "muted", wrap=True, name="version-note"))
        if refusal is not None and (intent := refusal.intent) is not None:
            action = PushButton(
                refusal.label, "link", name="edit-action", on_click=lambda: self.perform(intent)
            )
            lines.append(ResponsiveRow(lines.pop(), [action]))
        self._fill(self._notes, lines)
        self._show_pills(event)
        self._show_below()
        self._show_missing()

    def _show_pills(self, event: HandoverMade | None) -> None:
        pills = list[Pill]()
        draft = self._shown_draft
        if event is not None and self.seq != NOW:
            if draft is None or draft.scope != OLDER_MESSAGES:  # else the note has these figures
                self.tokens = Pill("", "accent", "gauge")
                self.tokens.setToolTip(
                    tr(
                        "What the handover summary takes in the context, with your own messages that "
                        "it quotes"
                    )
                )
                self._show_tokens(event)
                counts = translate(handover_counts(self._transcript, event).text)
                pills = [self.tokens, Pill(counts, icon_name="message-square")]
            pills.append(Pill(_writer_text(event), "warn" if event.fallback else "neutral", "bot"))
            if event.duration_ms:
                pills.append(Pill(format_exact_duration(event.duration_ms), icon_name="clock"))
        self._fill(self._pills, [FlowBox(pills)] if pills else [])

    def _show_tokens(self, event: HandoverMade) -> None:
        """Show what a handover takes: a draft of the context, a recorded one with the edits so far."""
        if self.seq == DRAFT:
            text = format_token_change(event.before, event.after)
            if self.draft is not None and self.draft.scope.is_whole:
                text = format_token_count(event.tokens)
        else:
            recorded = self._transcript.written_handovers[self.seq]
            sent = self._handovers.revisions.tokens_as_sent(recorded)
            change = event.tokens - recorded.tokens if event.sections != recorded.sections else 0
            text = format_token_count(sent + change)
            if change:
                text = tr("{tokens} ({change})", tokens=text, change=format_token_difference(change))
        self.tokens.set_text(text)

    def _ledger(self) -> str:
        event = self._event(self.seq)
        return event.ledger if event is not None else ""

    def _show_below(self) -> None:
        if self.seq == DRAFT and (draft := self.draft) is not None:
            words = tr("What the model gets"), sizes_as_sent(draft.parts)
            text = partial(self._text_as_sent, draft)
        elif ledger := self._ledger():
            words = tr("Files, commands and errors"), tr.plural(ledger.count("\n") + 1, "%n line", "%n lines")
            text = partial(str, ledger)
        else:
            self._fill(self._below, [])
            return
        head = DisclosureHead(*words, "muted")
        self._fill(self._below, [Disclosure(head, lambda: SelectableText(text(), 12, "muted", mono=True))])

    def _text_as_sent(self, draft: OpenDraft) -> str:
        text = "\n".join(part.text for part, _ in draft.parts)
        return text.replace(draft.draft.text, draft.text(self._texts(DRAFT)), 1)[:_SENT_CHARS]

    def _show_missing(self) -> None:
        """Quote the instructions and decisions that the text does not say, with buttons that add them."""
        event = self._event(self.seq)
        texts = "\n".join(self._texts(self.seq).values())
        lines = list[QWidget]()
        for rule in missing_rules(event.coverage) if event is not None and self.fields else ():
            if " ".join(rule.text.split()) not in texts:
                words = tr("Not in the text: “{rule}”", rule=escape_invisible(rule.text))
                add = PushButton(tr("Add"), name=f"add-rule:{rule.sources[0]}")
                add.clicked.connect(lambda _=False, missing=rule: self._add_rule(missing))
                lines.append(ResponsiveRow(warning_line(words, "missing-rule"), [add]))
        self._fill(self._missing, lines)

    def _show_buttons(self) -> None:
        is_recorded = self.seq > NOTHING
        is_writing = self.seq == DRAFT and self.is_writing
        draft = self._shown_draft if not is_writing else None
        can_write = self._scope is not None and not is_writing
        is_changed = is_recorded and bool(self.fields)
        is_changed = is_changed and self._texts(self.seq) != to_fields(self._sections(self.seq))
        for part in (self.ranges, self.write_button, self.ranges.price):
            part.setVisible(can_write)
        self.stop_button.setVisible(is_writing)
        self.write_button.setEnabled(not (self.is_writing or self._is_busy or self.ranges.upto is None))
        self.write_button.setText(tr("Have the model write it") if self.seq == NOW else tr("Write again"))
        self.save_button.setVisible(is_changed)
        self.save_button.setEnabled(self._is_valid and not self._is_busy and self._refusal() is None)
        self.use_button.setVisible(draft is not None or self.seq == NOW)
        is_usable = draft is not None and self._is_valid
        self.use_button.setEnabled(is_usable and not (self.is_outdated or self._is_busy))
        self.use_button.setToolTip(
            tr("The draft covers another range. Write it again, or go back to its range.")
            if self.is_outdated
            else tr("Ctrl+Enter", "keys")
        )
        if draft is not None:
            self.use_button.setText(use_text(draft.scope))
        is_whole = self.ranges.upto == WHOLE_CONVERSATION
        is_offered = self.seq == NOW and not (self._is_compaction or is_whole)
        self.session_button.setVisible(is_recorded or is_offered)
        self.session_button.setText(tr("New session from this") if is_recorded else tr("New session"))
        whole = tr("It starts with a handover summary of the whole conversation")
        self.session_button.setToolTip(
            tr("Start a session whose context begins with this handover summary") if is_recorded else whole
        )
        primary = self._primary()
        for button in (*self._used_first, self.write_button, self.session_button):
            restyle(button, "kind", "primary" if button is primary else "")

    def _primary(self) -> PushButton | None:
        """Return the button of what most users want next; there is none while a draft is written.

        The text that no model writes is used as soon as it is made; a focus is for the model.
        """
        buttons = [*self._used_first, self.session_button if self.seq > NOTHING else self.write_button]
        if self.seq == NOW and self.ranges.focus.text():
            buttons.insert(0, self.write_button)
        shown = (button for button in buttons if not button.isHidden())
        return next((button for button in shown if button.isEnabled() or self.seq == NOW), None)

    def _press_primary(self) -> None:
        if (button := self._primary()) is not None:
            button.click()

    def _copy(self) -> None:
        text = fields_to_markdown(self._texts(self.seq))
        if ledger := self._ledger():
            text += f"\n## {tr('Files, commands and errors')}\n\n```\n{ledger}\n```\n"
        self.perform(intents.CopyText(text))
        show_copied(self.copy_button)


def _writer_text(event: HandoverMade) -> str:
    return writer_name(recorded_writer(event.model), event.demo)


def _read_only(title: str, as_of: str, bullets: Sequence[Bullet], *, is_flagged: bool) -> QWidget:
    body = column(margins=(10, 7, 10, 7), gap=3)
    for bullet in bullets:
        body.addWidget(BulletView(bullet, is_flagged=is_flagged))
    head = row(label(title, "strong"), *([label(as_of, "faint")] if as_of else []), None)
    return pane(column(head, card(body, "well"), gap=4))
