"""The page of the context policy: a slider, the session replayed under it, and the numbers of its story."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import msgspec
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAccessibleWidget, QGridLayout, QLabel, QSizePolicy, QWidget

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, policy_fields, policy_from
from helix_desktop.context.window.used_tokens import gauge_of
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.replay.policy.session_replays import SessionReplays
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Disclosure, DisclosureHead, HelpLink
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import FlowBox, ResponsiveRow, card, clear_layout, column, line, pane, row
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, restyle
from helix_desktop.ui.kit.forms import Form
from helix_desktop.ui.kit.intents import OpenFolder, OpenSettings, perform
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import page_column, scrolling_page
from helix_desktop.ui.settings.policy.form import (
    FILE_FIELDS,
    POLICY,
    PolicyFiles,
    PolicyValues,
    Profile,
    conflict_text,
    profiles_beside,
)
from helix_desktop.ui.settings.policy.preview import PolicyPreview, ReplayPreparation
from helix_desktop.ui.settings.policy.replay_card import ReplayCard
from helix_desktop.words.next_compaction import threshold_text
from helix_desktop.words.policies import policy_name
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Policy")

# Radii in pixels.
_KNOB = 8.0
_STOP = 3.5
_MARGIN = 24.0  # pixels from the ends of the widget to the first and last stop: room for their names
_STEPS = {Qt.Key.Key_Down: -1, Qt.Key.Key_PageDown: -1, Qt.Key.Key_Up: 1, Qt.Key.Key_PageUp: 1}


class _SliderInterface(QAccessibleWidget):
    """A slider whose value is a text."""

    def __init__(self, track: StopTrack) -> None:
        super().__init__(track, QAccessible.Role.Slider)
        self._track = track

    def text(self, kind: QAccessible.Text) -> str:
        return self._track.value_text if kind == QAccessible.Text.Value else super().text(kind)


def _stop_x(widget: QWidget, stops: int, stop: float) -> float:
    """Return where a stop stands in a widget, in pixels."""
    share = stop / max(1, stops - 1)
    return _MARGIN + (widget.width() - 2 * _MARGIN) * share


class StopTrack(Themed, QWidget):
    """The line with its stops and its knob; arrow keys, Home, End, click and drag move the knob."""

    def __init__(self, select: Callable[[int], object]) -> None:
        super().__init__()
        self._select_stop = select
        self._stops = 1
        self._stop = 0
        self._is_changed = False
        self.value_text = ""
        self.setObjectName("policy_slider")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def make_accessible(self) -> QAccessibleWidget:
        return _SliderInterface(self)

    def set_stop(self, stops: int, stop: int, is_changed: bool, value_text: str) -> None:
        """Put the knob at a stop; it is hollow where numbers of the profile were changed, to either side."""
        is_other = self.value_text not in ("", value_text)
        self._stops = stops
        self._stop = stop
        self._is_changed = is_changed
        self.value_text = value_text
        self.setAccessibleDescription(value_text)
        if is_other and self.hasFocus():
            announce(self, value_text)
        self.update()

    def x_of(self, stop: float) -> float:
        return _stop_x(self, self._stops, stop)

    def sizeHint(self) -> QSize:
        return QSize(320, scaled(26))

    def _select(self, stop: int) -> None:
        stop = min(max(stop, 0), self._stops - 1)
        if stop != self._stop or self._is_changed:
            self._select_stop(stop)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {**_STEPS, Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        match Qt.Key(event.key()):
            case Qt.Key.Key_Home:
                self._select(0)
            case Qt.Key.Key_End:
                self._select(self._stops - 1)
            case key if key in steps:
                self._select(self._stop + steps[key])
            case _:
                super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._select_at(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._select_at(event.position().x())

    def _select_at(self, x: float) -> None:
        self._select(min(range(self._stops), key=lambda stop: abs(self.x_of(stop) - x)))

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        y = self.height() / 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        knob = QPointF(self.x_of(self._stop), y)
        for color, right in ((theme.border_strong, self.x_of(self._stops - 1)), (theme.accent, knob.x())):
            painter.setPen(QPen(QColor(color), 4, c=Qt.PenCapStyle.RoundCap))
            painter.drawLine(QPointF(self.x_of(0), y), QPointF(right, y))
        painter.setPen(QPen(QColor(theme.surface), 1.5))
        for stop in range(self._stops):
            is_passed = stop <= self._stop
            painter.setBrush(QColor(theme.accent if is_passed else theme.border_strong))
            painter.drawEllipse(QPointF(self.x_of(stop), y), _STOP + 1, _STOP + 1)
        painter.setPen(QPen(QColor(theme.accent), 2.5))
        painter.setBrush(QColor(theme.surface if self._is_changed else theme.accent))
        painter.drawEllipse(knob, _KNOB, _KNOB)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.accent), 1.5))
            painter.drawEllipse(knob, _KNOB + 3.5, _KNOB + 3.5)


class _StopName(PushButton):
    """The name of a stop, for the mouse; to a screen reader a text, because the slider has the keyboard."""

    accessible_role = QAccessible.Role.StaticText

    def __init__(self, profile: Profile) -> None:
        title = profile.title
        tip = profile.description
        super().__init__(title, "link", name=f"profile:{profile.name}", words=title, tip=tip)
        self.setAccessibleDescription(tip)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


class _StopNames(QWidget):
    """The names below the stops; in two rows where one is too narrow."""

    def __init__(self, select: Callable[[int], object]) -> None:
        super().__init__()
        self._select = select
        self.buttons = list[PushButton]()

    def set_names(self, profiles: Sequence[Profile]) -> None:
        for button in self.buttons:
            button.setParent(None)
            button.deleteLater()
        self.buttons = []
        for stop, profile in enumerate(profiles):
            button = _StopName(profile)
            button.setParent(self)
            button.clicked.connect(lambda _=False, stop=stop: self._select(stop))
            button.show()
            self.buttons.append(button)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)

    def minimumSizeHint(self) -> QSize:
        widths = sorted((button.sizeHint().width() for button in self.buttons), reverse=True)
        return QSize(sum(widths[:3]), self.sizeHint().height())

    def _place(self) -> None:
        places = list[QRectF]()
        stops = len(self.buttons)
        for stop, size in enumerate(button.sizeHint().toSizeF() for button in self.buttons):
            left = min(_stop_x(self, stops, stop) - size.width() / 2, self.width() - size.width())
            places.append(QRectF(QPointF(max(0.0, left), 0), size))
        overlaps = any(first.intersects(second) for first, second in pairwise(places))
        line = max((place.height() for place in places), default=0.0)
        for stop, (button, place) in enumerate(zip(self.buttons, places, strict=True)):
            place.moveTop(line * (stop % 2) if overlaps else 0.0)
            button.setGeometry(place.toRect())
        self.setFixedHeight(round(line * (2 if overlaps else 1)))


class PolicySlider(QWidget):
    profile_selected = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.track = StopTrack(self._on_selected)
        self.track.setAccessibleName(tr("Context policy, from keep more to send less"))
        self._names = _StopNames(self._on_selected)
        self._title = label("", "strong", wrap=True, name="policy_title")
        self._stops: tuple[Profile, ...] = ()
        self._lines = QGridLayout()
        self._words = list[tuple[QLabel, QLabel]]()
        """What the stops are called, and what each means."""
        ends = row(label(tr("Keep more"), "muted"), None, label(tr("Send less"), "muted"))
        self._lines.setHorizontalSpacing(12)
        self._lines.setVerticalSpacing(2)
        self._lines.setColumnStretch(1, 1)
        help_link = row(HelpLink("policy"), None)
        self.setLayout(column(ends, self.track, self._names, self._title, self._lines, help_link, gap=3))

    def show_policy(self, policy: ContextPolicy) -> None:
        stops = profiles_beside(policy)[::-1]  # the profiles are in order, the one that spends least first
        if stops != self._stops:
            self._stops = stops
            self._names.set_names(stops)
            self._list_stops(stops)
        names = [profile.name for profile in stops]
        stop = names.index(policy.profile if policy.enabled else "off")
        for place, (name, description) in enumerate(self._words):
            restyle(name, "role", "strong" if place == stop else "muted")
            restyle(description, "role", "" if place == stop else "muted")
        title = policy_name(policy)
        self._title.setText(title)
        is_changed = policy.enabled and policy != PROFILES[policy.profile]
        self._title.setVisible(is_changed)  # else the list of the stops says it
        self.track.set_stop(len(stops), stop, is_changed, title)

    def _list_stops(self, stops: Sequence[Profile]) -> None:
        clear_layout(self._lines)
        self._words = [(label(stop.title, "strong"), label(stop.description, wrap=True)) for stop in stops]
        for place, (name, description) in enumerate(self._words):
            self._lines.addWidget(name, place, 0, Qt.AlignmentFlag.AlignTop)
            self._lines.addWidget(description, place, 1)
            name.ensurePolished()
        widest = max(name.sizeHint().width() for name, _ in self._words)
        self._lines.setColumnMinimumWidth(0, widest)  # also while the widest name is not the one chosen

    def _on_selected(self, stop: int) -> None:
        self.profile_selected.emit(self._stops[stop].name)


_PREVIEW = "policy-preview"


class ApplyBar(QWidget):
    """What stands below the page: which policy is in use, and what becomes of the one on the page."""

    def __init__(self, page: PolicyPage) -> None:
        super().__init__()
        self._fallback = page.slider.track  # gets the keyboard of a button that can't be used any more
        self._text = label("", "muted", wrap=True, name="policy_in_use")
        tip = tr("This session follows the workspace again")
        self.use_workspace = PushButton(tr("Use workspace policy"), name="use_workspace_policy", tip=tip)
        self.use_workspace.clicked.connect(page.use_workspace_policy)
        self.discard = PushButton(tr("Discard"), name="discard_policy", on_click=lambda: page.replace(None))
        tip = tr("All sessions of the workspace without a policy of their own")
        self.workspace = PushButton(tr("Apply to workspace"), "primary", name="apply_to_workspace", tip=tip)
        self.workspace.clicked.connect(page.apply_to_workspace)
        self._buttons = (self.use_workspace, self.discard, self.workspace)
        words = ResponsiveRow(self._text, self._buttons, 180)
        self.setLayout(column(line(), page_column(column(words, margins=(28, 10, 28, 12))), gap=0))

    def show_use(
        self, policy: ContextPolicy, of_workspace: ContextPolicy, of_session: ContextPolicy | None
    ) -> None:
        """Show another state; no other button gets the keyboard of one that can't be used any more.

        Its neighbor does the opposite, and is pressed by the second of two Spaces.
        """
        focused = next((button for button in self._buttons if button.hasFocus()), None)
        is_edited = policy != of_workspace
        self._text.setText(_use_text(of_workspace, of_session, is_edited=is_edited))
        self.use_workspace.setVisible(of_session is not None and not is_edited)
        self.discard.setVisible(is_edited)
        self.workspace.setEnabled(is_edited)
        if focused is not None and (focused.isHidden() or not focused.isEnabled()):
            self._fallback.setFocus()


def _use_text(of_workspace: ContextPolicy, of_session: ContextPolicy | None, *, is_edited: bool) -> str:
    """Return which policies are in use; `of_session` is one that an older log chose for the session alone."""
    if is_edited:
        return tr("Preview. Nothing changes until you apply it.")
    workspace = policy_name(of_workspace)
    if of_session is None:
        return tr("In use: {workspace}, in the whole workspace.", workspace=workspace)
    session = policy_name(of_session)
    return tr("This session: {session}. Workspace: {workspace}.", session=session, workspace=workspace)


class PolicyPage(QWidget):
    """The context policy of a workspace: previewed here, then applied or discarded."""

    def __init__(
        self, session: Session, files: PolicyFiles, replays: SessionReplays, preparation: ReplayPreparation
    ) -> None:
        super().__init__()
        self._session = session
        self._files = files
        self._preparation = preparation
        self._edited: dict[str, ContextPolicy] = {}  # of workspaces, used nowhere yet
        self._workspace_on_page = ""
        self.slider = PolicySlider()
        self.replay_card = ReplayCard()
        self.values = PolicyValues(self._change)
        self.form = Form(POLICY, self.values, gap=12)
        self.apply_bar = ApplyBar(self)
        self._file_error = label("", "error", wrap=True)
        fix_file = PushButton(tr("Open file"), name="open_file", on_click=files.open)
        tip = tr("Overwrite the file with the policy in use. A copy of the file is kept.")
        replace_file = PushButton(tr("Replace file"), name="replace_file", tip=tip, on_click=files.replace)
        self._file_note = label("", "note", wrap=True)
        parts = (self._file_error, self._file_note, FlowBox([fix_file, replace_file]))
        self._file_card = card(column(*parts, margins=(16, 13, 16, 14), gap=7))
        self._file_card.setObjectName("policy_file_error")
        self._file_card.hide()
        tip = tr("All numbers of the policy. The file is read when you come back.")
        open_file = PushButton(
            tr("Open policy.toml"), "link", "external-link", px=13, name="open_policy_file", tip=tip
        )
        open_file.clicked.connect(files.open)
        file_row = ResponsiveRow(label(tr("The file has more numbers."), "faint", wrap=True), [open_file])
        self._unread_fields = label("", "faint", wrap=True, name="policy_unread_fields")
        self._unread_fields.hide()
        head = card(column(self.slider, margins=(16, 13, 16, 14)))
        self.replay = Disclosure(DisclosureHead(tr("What it would do to this session")), self.replay_card)
        numbers = pane(column(self.form, file_row, self._unread_fields, gap=12))
        self.numbers = Disclosure(DisclosureHead(tr("Numbers")), numbers)
        self.preview = PolicyPreview(
            self.replay_card, (self.replay_card, numbers), self.show_effects, session, replays
        )
        for part in (self.replay, self.numbers):
            part.head.toggled.connect(lambda _: self._show_current())
        self._of_workspace = pane(column(self._file_card, head, self.replay, self.numbers, gap=12))
        self._open_folder = PushButton(
            tr("Open folder…"), name="open_folder", on_click=lambda: perform(self, OpenFolder())
        )
        body = column(self._of_workspace, FlowBox([self._open_folder]))
        page, self._lead = scrolling_page(tr("Context policy"), " ", body)
        self.setLayout(column(page, self.apply_bar, gap=0))
        self.show_no_workspace()
        self.slider.profile_selected.connect(self._select_profile)
        files.changed.connect(lambda: self._show_current() if self.isVisible() else None)
        session.changed.connect(self._follow_session)

    async def refresh(self) -> None:
        self._files.read()
        self._show_current()

    def _show_current(self) -> None:
        workspace = self._session.opened
        if workspace is None:
            self.show_no_workspace()
            return
        if workspace.id != self._workspace_on_page:
            self._workspace_on_page = workspace.id
            self.form.refresh()
        policy = self._policy(workspace)
        transcript = self._session.transcript
        of_session = None if transcript.parent else transcript.session_policy  # a subagent keeps its own
        name = self._session.app.registry.get(workspace.id).name
        self.show_policy(name, policy, workspace.policy, of_session)
        is_known = workspace.policy_error is None
        self.replay.setVisible(is_known)
        if is_known:
            self.preview.show(workspace, policy, transcript.session_policy or workspace.policy)
        self.show_file_error(self._files.error_text())
        unread = self._files.unread_text()
        self._unread_fields.setText(unread)
        self._unread_fields.setVisible(bool(unread))

    def _policy(self, workspace: OpenWorkspace) -> ContextPolicy:
        return self._edited.get(workspace.id) or workspace.policy

    def _follow_session(self) -> None:
        """Show the session that is on screen now, if the page is in sight."""
        if self.isVisible():
            self._show_current()
        workspace = self._session.opened
        if workspace is not None and self._policy(workspace) == workspace.policy:
            self._session.notices.end(_PREVIEW)  # this workspace has what another one had not

    def remind_of_preview(self) -> None:
        """Say that a policy was looked at and is not in use, once the settings are closed."""
        workspace = self._session.opened
        if workspace is None or self._policy(workspace) == workspace.policy:
            return
        self._session.notices.notify(
            Notice(
                _PREVIEW,
                tr("Policy not applied: {policy}.", policy=policy_name(self._policy(workspace))),
                tr("The settings keep it as a preview."),
                answers=(
                    Answer(tr("Show"), lambda: perform(self, OpenSettings("policy")), "show", ends=True),
                    Answer(tr("Discard"), lambda: self.replace(None), "discard", ends=True),
                ),
                workspace_id=workspace.id,
                is_brief=True,
            )
        )

    def _edit(self, policy: ContextPolicy | None) -> None:
        """Put a policy on the page, that is used nowhere yet; None: the one in use."""
        self._edited.pop(self._session.workspace_id, None)
        if policy is not None:
            self._edited[self._session.workspace_id] = policy
        self._show_current()

    def replace(self, policy: ContextPolicy | None) -> None:
        """Put another policy on the page, without what was typed for the one there."""
        self.form.refresh()
        self._edit(policy)

    def _change(self, name: str, value: object) -> None:
        """Change a number of the policy on the page. Raises ValueError if it doesn't work with others."""
        workspace = self._session.opened
        if workspace is None:
            return
        changed = {**msgspec.structs.asdict(self._policy(workspace)), name: value}
        try:
            edited = policy_from(changed)
        except ValueError:
            raise ValueError(conflict_text(changed)) from None
        self._edit(edited)
        for other in self.form.errors():
            if other != name:
                self.form.retry(other)

    def _select_profile(self, name: str) -> None:
        workspace = self._session.opened
        if workspace is None:
            return
        of_file = {} if self._files.error_text() else self._files.of(workspace).fields()
        own = {**of_file, **policy_fields(self._policy(workspace))}
        fields = {**{key: own[key] for key in own if key in FILE_FIELDS}, "profile": name}
        try:
            self.replace(policy_from(fields))
        except ValueError:
            why = conflict_text({**msgspec.structs.asdict(PROFILES[name]), **fields})
            for key in ("handover_at", "observe_at"):
                self.form.show_error(key, why)

    def apply_to_workspace(self) -> None:
        workspace = self._session.opened
        if workspace is None or self.form.focus_error():
            return
        policy = self._policy(workspace)
        if not self._files.reload(workspace):
            return
        before = self._edited.pop(workspace.id, None)
        try:
            self._files.save(workspace, policy)
        except HelixError as error:
            if before is not None:
                self._edited[workspace.id] = before
            self._session.actions.show_error(error)

    def use_workspace_policy(self) -> None:
        conversation = self._session.find_conversation()
        if conversation is None:
            return

        async def record() -> None:
            await conversation.use_workspace_policy()
            if conversation is self._session.find_conversation():
                self._show_current()

        self._session.start(record(), "policy of a session")

    def show_file_error(self, message: str) -> None:
        self._file_error.setText(join_sentences(tr("The policy file has an error."), message))
        self._file_note.setText(self._files.error_effect())
        self._file_card.setVisible(bool(message))

    def show_no_workspace(self) -> None:
        """Offer nothing: each workspace has a policy of its own."""
        lead = tr("What leaves the context, and when. Open a folder: each workspace has its own policy.")
        self._show_parts(lead, has_workspace=False)

    def _show_parts(self, lead: str, *, has_workspace: bool) -> None:
        self._lead.setText(lead)
        self._open_folder.setVisible(not has_workspace)
        for part in (self._of_workspace, self.apply_bar):
            part.setVisible(has_workspace)

    def show_policy(
        self,
        workspace_name: str,
        policy: ContextPolicy,
        of_workspace: ContextPolicy,
        of_session: ContextPolicy | None = None,
    ) -> None:
        """Show a policy, and how it differs from those in use.

        `of_session` is one that an older log chose for the session alone.
        """
        self.slider.show_policy(policy)
        self.values.use(policy)
        self.form.setEnabled(policy.enabled)
        self.show_effects({})
        self.apply_bar.show_use(policy, of_workspace, of_session)
        lead = tr(
            "What leaves the context in {workspace}, and when. Changes apply from the next request.",
            workspace=workspace_name,
        )
        self._show_parts(lead, has_workspace=True)

    def show_effects(self, effects: Mapping[str, str]) -> None:
        """Say at each number what it does to the session on screen; the others say what they are."""
        for name, field in self.form.rows.items():
            field.show_note(effects.get(name) or self._note(name))

    def _note(self, name: str) -> str:
        conversation = self._session.find_conversation()
        if name == "handover_at" and conversation is not None:
            policy = self.values.policy
            trigger = gauge_of(0, policy, conversation.window.frame.info).trigger
            if trigger.limit != round(policy.handover_at, 2):
                return tr("At the latest: {threshold}.", threshold=threshold_text(policy, trigger))
        return translate(self.form.fields[name].note)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._preparation.set_page_visible(True)
        self._session.notices.end(_PREVIEW)
        self._files.read()
        self._show_current()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._preparation.set_page_visible(False)
        self.preview.leave()
