"""The user's messages, and the buttons below a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from helix_desktop.ui.chat.actions import (
    CopyAnswer,
    EditMessage,
    OpenVersion,
    RetryAnswer,
    RowAction,
    ToggleSection,
)
from helix_desktop.ui.chat.items.item import BlockStack, CodeBlock, ItemContext, ItemTools, RowItem
from helix_desktop.ui.chat.markdown.parser import parse_user_text
from helix_desktop.ui.chat.rows.row_types import AttachmentNote, TurnFooterRow, UserRow, Versions
from helix_desktop.ui.chat.style import cut_label, draw_thumbnail
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.viewer.picture import thumbnail_size
from helix_desktop.ui.kit.boxes import Box, Button, Column, Drawing, Flow, Frame, Icon, Pen, Row, Space, Text
from helix_desktop.ui.kit.intents import BranchSession, OpenOutput, RewindTo, ShowInTimeline
from helix_desktop.words.attachments import attachment_icon, attachment_name
from helix_desktop.words.state_words import STATE_WORDS, explain_outdated
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_PREVIOUS = "version:previous"
_NEXT = "version:next"
VERSION_ARROWS = (_PREVIOUS, _NEXT)


def versions_note(versions: Versions | None) -> list[str]:
    if versions is None:
        return []
    return [tr("Version {place} of {count}", place=versions.place + 1, count=len(versions.session_ids))]


def message_buttons(actions: Sequence[RowAction], versions: Versions | None) -> Row:
    boxes = list[Box]()
    if versions is not None:
        ids = versions.session_ids
        at = versions.place
        words = Text(f"{at + 1} / {len(ids)}", 12, "muted", 500)
        line = [
            _arrow(_PREVIOUS, "chevron-left", ids[at - 1] if at else "", ids, tr("Previous version")),
            Frame(words, wide=words.width() + scaled(3)),
            _arrow(_NEXT, "chevron-right", ids[at + 1] if at + 1 < len(ids) else "", ids, tr("Next version")),
        ]
        boxes.append(Frame(Row(line, 0), (0, 0, 6, 0)))
    return Row([*boxes, *map(_action_button, actions)], 2)


def _arrow(name: str, icon: str, session_id: str, ids: tuple[str, ...], label: str) -> Box:
    if not session_id:  # it leads nowhere
        return Frame(Icon(icon, "border_strong", 16), (5, 5, 5, 5))
    return _button(name, OpenVersion(session_id, versions=ids), icon, label, label)


def _button(name: str, action: RowAction, icon: str, label: str, tip: str, word: str = "") -> Button:
    """Return a button of an icon, with a `word` beside one that is not understood alone."""

    def content(icon_color: str, color: str) -> Box:
        face = Icon(icon, icon_color, 16)
        return Row([face, Text(word, 12, color)], 5) if word else face

    button = Button(name, action, content("faint", "muted"), label, "action", tip=tip)
    button.lit = content("text", "text")
    button.copied = Icon("check", "ok", 16)
    return button


def _action_button(action: RowAction) -> Button:
    match action:
        case CopyAnswer():
            return _button("copy", action, "copy", tr("Copy answer"), tr("Copy this answer as Markdown"))
        case EditMessage():
            tip = tr("Edit and send again. The original stays as a version.")
            return _button("edit", action, "pencil", tr("Edit message"), tip)
        case RewindTo():
            tip = tr("Go back to before this message: files, conversation or both.")
            return _button("rewind", action, "rewind", tr("Rewind to here"), tip, tr("Rewind"))
        case RetryAnswer():
            tip = tr("Answer again. This answer stays as a version.")
            return _button("retry", action, "rotate-ccw", tr("Retry"), tip)
        case _:
            label = tr("Branch")
            tip = tr("Continue from here in a new session, as a branch.")
            return _button("branch", action, "split", label, tip, label)


def answer_buttons(row: TurnFooterRow) -> Box:
    seq = row.key.seq
    line = message_buttons((CopyAnswer(), RetryAnswer(seq), BranchSession(seq)), row.versions)
    return Frame(line, (-5, 0, 0, 0))  # its first icon begins where texts do


# A longer text is folded: most likely it was pasted.
_FOLD_OVER_LINES = 40
_FOLD_OVER_CHARS = 4_000
_FOLDED_LINES = 24
_FOLDED_CHARS = 2_500
_MAX_CHIP = 380  # pixels of one attachment, without its thumbnail


class _Bubble(Box):
    """The text at the end of the line, as wide as it needs; a link below it shows all of a long one."""

    def __init__(self, stack: BlockStack, more: Button | None) -> None:
        super().__init__()
        self.stack = stack
        self._more = more

    def height(self, width: float) -> float:
        """Take a width; `rect` is from then on what the bubble needs of it, at its end."""
        pad = scaled(16)
        above = scaled(11)
        below = scaled(12)
        widest = min(width, max(scaled(280), width * 0.82)) - 2 * pad
        self.stack.arrange(0, 0, widest)
        blocks = self.stack.blocks
        if blocks and not any(isinstance(part, CodeBlock) for part in blocks):
            widest = min(widest, max(part.text.document.idealWidth() for part in blocks) + 1)
        if self._more is not None:
            widest = max(widest, scaled(220))
            below = below + 4 + round(self._more.height(0))
        left = width - widest - pad
        bottom = above + self.stack.arrange(left, above, widest)
        if self._more is not None:
            self._more.place(QRectF(left - 8, bottom + 6, self._more.width(), self._more.height(0)))
        self.rect = QRectF(left - pad, 0, widest + 2 * pad, bottom + below)
        return self.rect.height()

    def place(self, rect: QRectF) -> None:
        """Leave it where it is: at the top of its row."""

    def parts(self) -> Iterator[Box]:
        yield from (self, *self.stack.blocks, *([self._more] if self._more is not None else []))

    def paint(self, pen: Pen) -> None:
        pen.box(self.rect, "user_bubble", radius=14)
        self.stack.paint(pen)
        if self._more is not None:
            self._more.paint(pen)


class UserMessageItem(RowItem):
    """A bubble at the right; only code is marked up, very long texts are folded until opened."""

    def __init__(self, row: UserRow, context: ItemContext, tools: ItemTools) -> None:
        notes = list[str]()
        text = row.text
        more = None
        chips = list[Box]()
        if row.prompt:
            chips.append(_chip(row.prompt, row.prompt, "file-text"))
            notes.append(tr("From {prompt}", "a prompt file", prompt=row.prompt))
        for number, note in enumerate(row.attachments):
            name = attachment_name(note.attachment)
            icon = attachment_icon(note.attachment)
            label = note.label
            action = OpenOutput(note.attachment.digest)
            words = tr("Open {name}", name=label)
            chip = _chip(label, name, icon, note)
            tip = f"{label}\n{explain_outdated()}" if note.is_outdated else label
            chips.append(Button(f"attachment:{number}", action, chip, words, "chip", tip=tip))
            notes.append(tr("Attached: {name}", name=label))
        side = tr("Side question: not in context") if row.is_side else ""
        steered = tr("Sent during the turn") if row.steered else ""
        for words, icon in ((side, "message-square"), (row.context_note, "layers"), (steered, "zap")):
            if words:
                chip = _chip(words, words, icon)
                if row.cover_seq and icon == "layers":
                    chip = _chip(words, words, icon, tint=STATE_WORDS["folded"].color)
                    label = tr("Show in timeline")
                    chip = Button(
                        "open:rewrite", ShowInTimeline(row.cover_seq), chip, label, "chip", tip=label
                    )
                chips.append(chip)
                notes.append(words)
        lines = text.count("\n") + 1
        if lines > _FOLD_OVER_LINES or len(text) > _FOLD_OVER_CHARS:
            label = tr("Show less")
            if "more" not in context.expanded:
                label = tr.plural(len(text), "Show %n character", "Show all %n characters")
                if lines > _FOLDED_LINES:
                    label = tr.plural(lines, "Show %n line", "Show all %n lines")
                text = "\n".join(text[:_FOLDED_CHARS].split("\n")[:_FOLDED_LINES]) + " …"
            words_box = Text(label, 12, "accent_text", 500)
            more = Button("open:more", ToggleSection("more"), words_box, label, "icon", high=24)
        stack = BlockStack(tools)
        for block in (block for chunk in parse_user_text(text) for block in chunk.blocks):
            stack.add(block)
        parts: list[Box] = [_Bubble(stack, more)]
        actions: list[RowAction] = (
            [EditMessage(row.key.seq), RewindTo(row.key.seq)] if row.is_editable else []
        )
        notes += versions_note(row.versions)
        line: list[Box] = []
        if chips:
            flow = Flow(chips, 6, is_at_end=True, line_gap=6)
            line.append(Frame(flow, (0, 4, 0, 0), grow=True, shrink=True))
        if actions or row.versions:
            line += [*([] if chips else [Space(grow=True)]), message_buttons(actions, row.versions)]
        parts += [Row(line, 4, True)] if line else []
        super().__init__(row, context, tools, Column(parts, 4), notes)


def _chip(label: str, name: str, icon: str, note: AttachmentNote | None = None, tint: str = "") -> Box:
    """Return a chip below the bubble: a name, which is cut where it is too long, and what follows."""
    is_warning = note is not None and (note.is_left_out or note.is_outdated)
    image = note.attachment.image if note else None
    color = "warn" if is_warning else "muted"
    facts = label.removeprefix(name)

    def cut(metrics: QFontMetricsF, _label: str, room: float) -> str:
        return cut_label(metrics, name, facts, room)

    words = Text(label, 11, color, 500, cut=cut, grow=True, shrink=True)
    picture: Box = Icon(icon, tint or color, 12)
    extra = 0.0
    if note is not None and image is not None:
        size = thumbnail_size(image.width, image.height)
        extra = scaled(size.width())
        paint = partial(draw_thumbnail, note.thumbnail, color)
        picture = Drawing((size.width(), size.height()), paint)
    content = Row([picture, Frame(words, (0, 4, 0, 4), grow=True, shrink=True)], 5 if image else 3)
    fill, edge = ("warn_soft", "") if is_warning else ("raised", "border")
    pad = (4, 4, 9, 4) if image else (8, 0, 6, 0)
    chip = Frame(content, pad, fill, edge, radius=8 if image else 10.5)
    chip.wide = min(chip.width(), scaled(_MAX_CHIP) + extra)
    return chip
