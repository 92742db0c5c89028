"""The approval card: the exact call and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from PySide6.QtCore import QRectF
from PySide6.QtGui import QTextCharFormat, QTextCursor

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import LastingRefusal, McpChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, change_facts
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.ui.chat.actions import AllowAllOnce, ApprovalAnswer, Decide, OpenMenu, ToggleSection
from helix_desktop.ui.chat.items.changed_files import FileBlock
from helix_desktop.ui.chat.items.dividers_and_notices import paragraph_layout
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.items.painting import (
    BUTTON_HEIGHT,
    CHIP_HEIGHT,
    ChatPainter,
    ChipStyle,
    button_width,
    chip_width,
)
from helix_desktop.ui.chat.markdown.text_layout import TextLayout
from helix_desktop.ui.chat.rows.changed_files import MAX_LINES, FileLines, color_lines, patch_files
from helix_desktop.ui.chat.rows.row_types import MAX_REASON_PLACES, ApprovalRow
from helix_desktop.ui.chat.style import BODY, MEDIUM, SEMIBOLD, SMALL, UI
from helix_desktop.ui.design.safe_text import escape_command, escape_invisible
from helix_desktop.ui.kit.boxes import HitArea
from helix_desktop.words.file_changes import line_counts_texts
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_PAD = 16.0
_ASKER = 32  # characters of a subagent's title
_LINK = 26.0  # height of the link to more lines
_MARK = 22.0  # of a line that opens, with the gap behind it
_LABELS: dict[ApprovalAnswer, TranslatableText] = {
    "demo": text("Run all demo calls"),
    "once": text("Allow"),
    "deny": text("Deny"),
}
_REFUSALS: dict[LastingRefusal, TranslatableText] = {
    "destroys": text("Always allow isn't offered: the command can destroy files or commits."),
    "leaves": text("Always allow isn't offered: the command leaves the sandbox."),
}
_MAX_DETAIL_LINES = 12  # of an edit, until the user wants all: the answers are in sight with the card
_FIRST_LINES, _LAST_LINES = 7, 5  # of a longer command: what it ends with counts as much
_FIRST_CHARS, _LAST_CHARS = 480, 260
_GAP_LINE = "⋯"
_ABOUT_LINES, _ABOUT_CHARS = 5, 400  # of what a server says of its tool, until the user wants all
_MCP_CHANGES: dict[McpChange, TranslatableText] = {
    "server": text("The server has changed since you allowed this."),
    "tool": text("The server has changed since you allowed this: it describes this tool differently now."),
    "new": text("The server has changed since you allowed this: it did not offer this tool then."),
}


def _first_places(places: Sequence[str]) -> str:
    names = ", ".join(map(escape_invisible, places[:MAX_REASON_PLACES]))
    more = len(places) - MAX_REASON_PLACES
    return (
        tr.plural(more, "{names} and %n more place", "{names} and %n more places", names=names)
        if more > 0
        else names
    )


def _reason_texts(row: ApprovalRow) -> list[str]:
    """Return why the user is asked, and what there is to know before the answer."""
    matched = translate(change_facts(row.matched_rule, escape_command))
    reasons = [tr("Approval required by rule: {rule}", rule=matched)] if row.matched_rule else []
    if row.variables:
        names = ", ".join(map(escape_invisible, row.variables))
        rule = escape_command(row.uncovering_rule)
        reasons.append(
            tr("Your rule “{rule}” doesn't cover it: {names} can change what runs.", rule=rule, names=names)
        )
    if row.data_loss:
        names = _first_places(row.data_loss)
        reasons.append(tr("Auto mode asks because this can't be undone: {names}", names=names))
    if row.auto_executed:
        names = _first_places(row.auto_executed)
        reasons.append(tr("Auto mode asks because other programs may run this: {names}", names=names))
    if row.secrets:
        names = _first_places(row.secrets)
        reasons.append(
            tr("Auto mode asks because this may show keys or passwords to the model: {names}", names=names)
        )
    if row.is_too_long:
        reasons.append(tr("Auto mode asks because this command is too long or too nested to be checked."))
    if row.lasting_refusal:
        reasons.append(translate(_REFUSALS[row.lasting_refusal]))
    if row.kind == "read":
        reasons.append(tr("It may hold keys or passwords. What the agent reads is sent to the model."))
    if row.kind == "mcp":
        reasons.append(tr("MCP servers run outside the sandbox: only files in this folder can be undone."))
    if row.others:
        names = escape_invisible(" · ".join(row.others))
        count = len(row.allowed_together)
        reasons.append(tr("“Allow all {count} once” also allows: {names}", count=count, names=names))
    return reasons


def _file_text(file: FileLines) -> str:
    counts = " ".join(line_counts_texts(file.added, file.removed))
    return " · ".join(part for part in (file.name, file.note, counts) if part)


class ApprovalItem(RowItem):
    """Asks the user to approve a call; what would save a rule is in a menu, with the rule."""

    def __init__(self, row: ApprovalRow, context: ItemContext, tools: ItemTools) -> None:
        super().__init__(row, context, tools)
        self._approval = row
        self._primary: ApprovalAnswer = "demo" if row.offers_demo_calls else "once"
        self.backward_entry = f"decide:{self._primary}"
        theme, writer = self.style.theme, tools.writer
        self._is_command = row.kind == "command"
        summary = row.effect or row.summary if self._is_command else row.summary
        size = UI if self._is_command else BODY
        self._summary = paragraph_layout(escape_invisible(summary), tools, theme.text, size)
        is_edit = row.kind == "edit"  # a command that looks like a diff is no less a command
        files = patch_files(escape_invisible(row.detail)) if is_edit else ()
        self._hidden_lines = 0
        self._blocks = self._make_blocks(files, tools)
        self._detail = [] if self._blocks else [self._plain_detail(tools)]
        self._about, self._is_cut = self._description(tools)
        reasons = _reason_texts(row)
        self._reasons = [paragraph_layout(reason, tools, theme.muted, UI) for reason in reasons]
        if len(files) > 1:  # the lines of the first may leave no room for the others
            names = "\n".join(map(_file_text, files))
            self._reasons.append(writer.write_plain(names, mono=False, color=theme.muted, size=UI))
        places = escape_invisible("\n".join(row.uncovered_places)) if "places" in context.expanded else ""
        muted = theme.muted
        self._places = [writer.write_plain(places, mono=False, color=muted, size=SMALL)] if places else []
        detail = [block.text for block in self._blocks if block.text is not None] or self._detail
        self._set_texts([self._summary, *self._about, *self._reasons, *detail, *self._places])
        self._well = QRectF()

    def _description(self, tools: ItemTools) -> tuple[list[TextLayout], bool]:
        """Return what the server says of its tool, as untrusted text, and whether more of it is hidden.

        What changed since the user allowed it comes first.
        """
        row, theme = self._approval, self.style.theme
        if row.kind != "mcp":
            return [], False
        server, change = escape_invisible(row.server), []
        if row.mcp_change:
            change = [paragraph_layout(translate(_MCP_CHANGES[row.mcp_change]), tools, theme.warn, UI)]
        if not row.description:
            note = tr("{server} does not say what this tool does.", server=server)
            return [*change, paragraph_layout(note, tools, theme.muted, UI)], False
        note = tr("What {server} says about this tool, not checked by Helix:", server=server)
        words = full = escape_hidden(row.description)
        if "about" not in self.context.expanded:
            words = ellipsize("\n".join(full.split("\n")[:_ABOUT_LINES]), _ABOUT_CHARS)
        text_layout = tools.writer.write_plain(words, mono=False, color=theme.text, size=UI)
        return [*change, paragraph_layout(note, tools, theme.muted, UI), text_layout], words != full

    @property
    def sandbox_text(self) -> str:
        """What holds a command or a server's tool; empty for other calls, and where its effect says it."""
        if self._approval.effect:
            return ""
        if self._approval.is_sandboxed:
            return tr("Sandboxed, with network") if self._approval.has_network else tr("Sandboxed")
        return tr("Not sandboxed") if self._approval.kind in ("command", "mcp") else ""

    def _make_blocks(self, files: Sequence[FileLines], tools: ItemTools) -> list[FileBlock]:
        """Return the files of an edit as cards of calls show them, as far as there is room."""
        total = room = sum(len(file.lines) for file in files)
        if "detail" not in self.context.expanded:
            room = min(room, _MAX_DETAIL_LINES)
        self._hidden_lines = total - room
        blocks = []
        for file in files:
            if room > 0:
                lines = color_lines(file.lines[: min(room, MAX_LINES)], file.path)
                blocks.append(FileBlock(replace(file, lines=(*lines, *file.lines[MAX_LINES:])), room, tools))
            room -= len(file.lines)
        return blocks

    def _plain_detail(self, tools: ItemTools) -> TextLayout:
        escape = escape_command if self._approval.kind == "command" else escape_invisible
        words = escape(self._approval.detail).rstrip("\n")
        lines = words.split("\n")
        if "detail" not in self.context.expanded:
            if self._is_command:
                words = self._shorten_command(words, lines)
            else:
                self._hidden_lines = max(0, len(lines) - _MAX_DETAIL_LINES)
                words = "\n".join(lines[: len(lines) - self._hidden_lines])
        detail = tools.writer.write_plain(words, mono=True)
        detail.wrap_at_words()
        if any(line.startswith(("@@", "--- ", "+++ ")) for line in lines):
            self._color_diff(detail)
        return detail

    def _shorten_command(self, words: str, lines: Sequence[str]) -> str:
        """Return a command without its middle where it is long: a click shows all of it."""
        if len(lines) > _FIRST_LINES + _LAST_LINES + 1:
            self._hidden_lines = len(lines) - _FIRST_LINES - _LAST_LINES
            lines = [*lines[:_FIRST_LINES], _GAP_LINE, *lines[-_LAST_LINES:]]
            words = "\n".join(lines)
        if len(words) > _FIRST_CHARS + _LAST_CHARS:
            self._hidden_lines = max(1, self._hidden_lines)
            words = f"{words[:_FIRST_CHARS]}\n{_GAP_LINE}\n{words[-_LAST_CHARS:]}"
        return words

    def _color_diff(self, detail: TextLayout) -> None:
        theme = self.style.theme
        block = detail.document.begin()
        while block.isValid():
            sign = block.text()[:1]
            if sign in ("+", "-"):
                form = QTextCharFormat()
                form.setForeground(self.style.color(theme.ok if sign == "+" else theme.error))
                cursor = QTextCursor(block)
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                cursor.setPosition(block.position())
                cursor.setPosition(block.position() + block.length() - 1, QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(form)
            block = block.next()

    def _arrange(self, width: float) -> float:
        style, pad = self.style, self.style.px(_PAD)
        inner = width - 2 * pad
        self.hit_areas = []
        y = style.px(44)
        if self._is_command:
            y = self._arrange_detail(y, inner)
        for text in (self._summary, *self._about):
            text.x, text.y = pad, y
            y += text.layout(inner) + style.px(6)
        if self._is_cut:
            rect = QRectF(pad - 6, y - style.px(4), style.px(200), style.px(_LINK))
            label = tr("Show the whole description")
            self.hit_areas.append(HitArea("open:about", ToggleSection("about"), label, rect, radius=6))
            y = rect.bottom() + style.px(4)
        for text in self._reasons:
            text.x, text.y = pad, y
            y += text.layout(inner) + style.px(6)
        y = y + style.px(4) if self._is_command else self._arrange_detail(y + style.px(4), inner)
        y = self._arrange_uncovered(y, inner)
        more = tr("More…") if self._approval.always else tr("Save a rule…")
        tip = tr("Save a rule: for this session, for this alone, or never") if self._approval.always else ""
        rules = HitArea("menu:rules", OpenMenu(), more, QRectF(), radius=8, tip=tip)
        answers = [answer for answer in _LABELS if answer != "demo" or self._approval.offers_demo_calls]
        always = self._always_area()
        areas = [*map(self._answer_area, answers), *always, rules, *self._together_area()]
        return self._arrange_buttons(areas, y, width) + style.px(15)

    def _arrange_detail(self, y: float, inner: float) -> float:
        style, pad, top = self.style, self.style.px(_PAD), y
        for block in self._blocks:
            y = block.arrange(y, inner + 2 * pad, _PAD) + style.px(8)
        for text in self._detail:
            text.x, text.y = pad + style.px(12), y + style.px(9)
            y += text.layout(inner - style.px(24)) + style.px(18)
        if self._hidden_lines:
            rect = QRectF(pad + 6, y - 8 * (not self._blocks), style.px(200), style.px(_LINK))
            label = tr.plural(self._hidden_lines, "Show %n more line", "Show %n more lines")
            if self._is_command:
                label = tr("Show the whole command")
            self.hit_areas.append(HitArea("open:detail", ToggleSection("detail"), label, rect, radius=6))
            y += style.px(24)
        self._well = QRectF(pad, top, inner, y - top)
        return y + style.px(8 if self._blocks else 12)

    def _arrange_uncovered(self, y: float, inner: float) -> float:
        """Place the line on what can't be undone; a click shows each place with its reason."""
        style, row = self.style, self._approval
        if not row.uncovered:
            return y
        line = QRectF(style.px(_PAD), y - style.px(4), inner, style.px(22))
        label = escape_invisible(row.uncovered)
        self.hit_areas.append(HitArea("open:places", ToggleSection("places"), label, line, radius=6))
        y = line.bottom() + style.px(4)
        for text in self._places:
            text.x, text.y = style.px(_PAD) + style.px(_MARK), y
            y += text.layout(inner - style.px(_MARK)) + style.px(6)
        return y + style.px(6)

    def _answer_area(self, answer: ApprovalAnswer) -> HitArea:
        action = Decide(self._approval.key.call_id, answer)
        tip = dict(self.context.answer_tips).get(answer, "")
        if answer == "demo":
            tip = tr(
                "Demo calls are scripted, and only change files in the sample's folder. The rest of them "
                "then runs without asking. Change it in Settings → Permissions."
            )
        return HitArea(f"decide:{answer}", action, translate(_LABELS[answer]), QRectF(), radius=8, tip=tip)

    def _always_area(self) -> list[HitArea]:
        """Return the button that allows what is repeated of a command, with the rule that it saves."""
        row = self._approval
        if not row.always:
            return []
        rule = translate(change_facts(row.offers[row.always_offer], escape_command))
        saved = tr("Saves a rule: {rule}", rule=rule)
        if row.is_rule_confined:
            saved = tr("Saves a rule: {rule}, in the sandbox", rule=rule)
        label = tr("Always allow {command} here", command=escape_command(row.always))
        action = Decide(row.key.call_id, "always", row.always_offer)
        return [HitArea("decide:always", action, label, QRectF(), radius=8, tip=saved)]

    def _together_area(self) -> list[HitArea]:
        """Return the button that allows all calls that wait, after the others, which it must not move."""
        call_ids = self._approval.allowed_together
        if not call_ids:
            return []
        label = tr.plural(len(call_ids), "Allow %n once", "Allow all %n once")
        return [HitArea("decide:all", AllowAllOnce(call_ids), label, QRectF(), radius=8)]

    def _arrange_buttons(self, areas: Iterable[HitArea], y: float, width: float) -> float:
        style = self.style
        x, tall = style.px(_PAD), style.px(BUTTON_HEIGHT)
        for area in areas:
            wide = button_width(style, area.label, with_icon=isinstance(area.action, OpenMenu))
            if x + wide > width - style.px(_PAD) and x > style.px(_PAD):
                x, y = style.px(_PAD), y + tall + style.px(8)
            self.hit_areas.append(area._replace(rect=QRectF(x, y, wide, tall)))
            x += wide + style.px(8)
        return y + tall

    def _paint(self, painter: ChatPainter) -> None:
        theme = self.style.theme
        card = QRectF(0, 0, self.width, self.height)
        painter.box(card, theme.surface, theme.warn, 12)
        self._paint_head(painter)
        if self._detail:
            painter.box(self._well, theme.code_surface, theme.border, 8)
        for block in self._blocks:
            block.paint(painter)
        in_blocks = [block.text for block in self._blocks]
        for text in self.texts:
            if text not in in_blocks:
                painter.text(text)
        for area in self.hit_areas:
            self._paint_area(painter, area)

    def _paint_head(self, painter: ChatPainter) -> None:
        px, color = self.style.px, self.style.theme.warn
        pad, side = px(_PAD), px(17)
        line = QRectF(pad + side + 9, px(12), self.width - 2 * pad - side - 9, px(24))
        middle, right = line.center().y(), line.right()
        painter.icon("shield-alert", color, pad, middle, 17)
        for words, chip in reversed(self._chips()):
            wide, tall = chip_width(self.style, words, chip), px(CHIP_HEIGHT)
            painter.chip(QRectF(right - wide, middle - tall / 2, wide, tall), words, chip)
            right -= wide + px(6)
        line.setRight(right - px(4))
        painter.line(line, self.title, self.style.font(UI, SEMIBOLD), color)

    @property
    def title(self) -> str:
        match self._approval.kind:
            case "command":
                return tr("Run this command?")
            case "edit":
                return tr("Make this change?")
        return tr("{tool} needs your approval", tool=display_name(self._approval.tool))

    def _chips(self) -> list[tuple[str, ChipStyle]]:
        theme, row = self.style.theme, self._approval
        chips = []
        if row.requester:
            subagent = ellipsize(" ".join(escape_invisible(row.requester).split()), _ASKER)
            style = ChipStyle(theme.accent_text, theme.accent_soft, "", "bot")
            chips.append((tr("Subagent: {title}", title=subagent), style))
        if row.position:
            chips.append((row.position, ChipStyle(theme.muted, theme.raised, theme.border)))
        if self.sandbox_text:
            is_safe = row.is_sandboxed and not row.has_network
            color, soft = (theme.ok, theme.ok_soft) if is_safe else (theme.warn, theme.warn_soft)
            icon = "shield-check" if is_safe else "shield-alert"
            chips.append((self.sandbox_text, ChipStyle(color, soft, "", icon)))
        return chips

    def _paint_area(self, painter: ChatPainter, area: HitArea) -> None:
        style, theme = self.style, self.style.theme
        match area.action:
            case ToggleSection("places"):
                icon = "chevron-down" if self._places else "chevron-right"
                painter.icon(icon, theme.faint, area.rect.x(), area.rect.center().y(), 14)
                line = area.rect.adjusted(style.px(_MARK), 0, 0, 0)
                painter.line(line, area.label, style.font(SMALL), theme.muted)
            case OpenMenu():
                painter.button(area, "ghost", "chevron-down")
            case ToggleSection():
                rect = area.rect.adjusted(6, 0, 0, 0)
                painter.line(rect, area.label, style.font(SMALL, MEDIUM), theme.accent_text)
            case Decide(answer=answer):
                painter.button(area, "primary" if answer == self._primary else "outline")
            case AllowAllOnce():
                painter.button(area)
