"""The approval card: the exact call and the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import ANY, ApprovalRequest, LastingRefusal, McpChange, PathProtection
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.ui.chat.actions import (
    AllowAllOnce,
    ApprovalAnswer,
    Decide,
    ListAction,
    OpenInWindow,
    OpenMenu,
    ToggleSection,
)
from helix_desktop.ui.chat.items.changed_files import FileBlock
from helix_desktop.ui.chat.items.item import ItemContext, ItemTools, RowItem, TextBlock, paragraph
from helix_desktop.ui.chat.markdown.parser import Paragraph, Prose, Span
from helix_desktop.ui.chat.rows.changed_file_rows import (
    MAX_EDITED_LINES,
    FileLines,
    count_edited_lines,
    edited_file_lines,
    fits_card,
)
from helix_desktop.ui.chat.rows.row_types import ApprovalRow
from helix_desktop.ui.chat.style import BODY, UI
from helix_desktop.ui.design.safe_text import escape_command, escape_invisible
from helix_desktop.ui.kit.boxes import Box, Button, Column, Flow, Frame, Icon, Pill, Row, Text, push_button
from helix_desktop.words.file_changes import line_counts_texts
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

_HEAD_PX = 25
_ASKER = 32  # characters of a subagent's title
_LABELS: dict[ApprovalAnswer, TranslatableText] = {
    "demo": text("Run all demo calls"),
    "once": text("Allow"),
    "deny": text("Deny"),
}
_DENY_WITH_MESSAGE = text("Deny with your message")
_REFUSALS: dict[LastingRefusal, TranslatableText] = {
    "destroys": text("Always allow isn't offered for what can destroy files or commits."),
    "leaves": text("Always allow isn't offered for what may reach outside the sandbox."),
}
_NAMED_PLACES = 5  # before the others are counted
_MAX_DETAIL_LINES = 12  # of an edit, until the user wants all: the answers are in sight with the card
_FIRST = (12, 740)  # first lines and characters that are shown of a longer text
_FIRST_OF_COMMAND = (7, 480)  # the same of a longer command
_LAST = (5, 260)  # the last ones of a longer command: what it ends with counts as much
# So little more isn't worth a button.
_FEW_LINES = 6
_FEW_CHARS = 240
_MAX_CARD_CHARS = 40_000  # that are laid out within 16 ms; longer ones are in a window of their own
# So much of what a server says of its tool is shown until the user wants all.
_ABOUT_LINES = 5
_ABOUT_CHARS = 400
_MCP_CHANGES: dict[McpChange, TranslatableText] = {
    "server": text("The server has changed since you allowed this."),
    "tool": text("The server has changed since you allowed this: it describes this tool differently now."),
    "new": text("The server has changed since you allowed this: it did not offer this tool then."),
}

_PART_CHARS = 60  # of a part of a command that no rule covers
_PATTERN_CHARS = 40  # of the words of a button
_REPEATED_CHARS = 120  # of a command that somebody may want to repeat as it is


def _always_offer(row: ApprovalRow) -> tuple[int, str]:
    """Return the number of the rule that covers what is repeated, and how a button names what it allows.

    Empty if no rule may be saved, or nobody would.
    """
    if row.request.kind != "command" or row.request.lasting_refusal:
        return 0, ""
    for number, rule in enumerate(row.request.offered_rules):
        if rule.kind == "pattern":
            command = ellipsize(rule.subject.removesuffix(f" {ANY}"), _PATTERN_CHARS)
            return number, tr("“{command}”", command=command)
    subject = row.request.offered_rules[0].subject
    is_readable = len(subject) <= _REPEATED_CHARS and "\n" not in subject
    return 0, tr("this command") if is_readable else ""


def _first_places(places: Sequence[str]) -> str:
    names = ", ".join(map(escape_invisible, places[:_NAMED_PLACES]))
    more = len(places) - _NAMED_PLACES
    return (
        tr.plural(more, "{names} and %n more place", "{names} and %n more places", names=names)
        if more > 0
        else names
    )


def _warnings(row: ApprovalRow) -> Iterator[str]:
    request = row.request
    if request.data_loss:
        names = _first_places([place.path for place in request.data_loss])
        yield tr("Destroys what can't be undone: {names}.", names=names)
    elif request.lasting_refusal == "destroys":
        yield tr("Can destroy files or commits.")
    if request.effect and not row.is_safely_sandboxed:
        yield translate(request.effect)
    if request.kind == "mcp":
        yield tr("MCP servers run outside the sandbox: only files in this folder can be undone.")
    if request.auto_executed:
        names = _first_places(request.auto_executed)
        yield tr("Other programs may run what it writes: {names}.", names=names)
    if request.secrets:
        names = _first_places(request.secrets)
        yield tr("May show keys or passwords to the model: {names}.", names=names)
    yield from _protected(request)
    if request.is_too_long:
        yield tr("Too long or too nested to be checked.")
    if request.kind == "read":
        yield tr("It may hold keys or passwords. What the agent reads is sent to the model.")
    if row.uncovered:
        yield tr("{sentence}.", "a whole sentence", sentence=row.uncovered)


def _protected(request: ApprovalRequest) -> Iterator[str]:
    """Yield what a command may use that no rule for its first words covers, but for what it surely shows."""
    paths: dict[PathProtection, list[str]] = {"secret": [], "outside": [], "ignored": []}
    for each in request.protected_paths:
        if each.path not in request.secrets:
            name = tr("anywhere in the workspace") if each.path == "." else each.path
            paths[each.protection].append(name)
    if paths["secret"]:
        names = _first_places(paths["secret"])
        yield tr("May use files with keys or passwords: {names}.", names=names)
    if paths["outside"]:
        yield tr("May use files outside the workspace: {names}.", names=_first_places(paths["outside"]))
    if paths["ignored"]:
        names = _first_places(paths["ignored"])
        yield tr("May use files that all tools leave out: {names}.", names=names)


def _uncovered(row: ApprovalRow) -> str:
    """Return why it is asked although a rule allows a part of it; empty if none does."""
    request = row.request
    rule = escape_command(request.uncovering_rule)
    if request.variables:
        names = ", ".join(map(escape_invisible, request.variables))
        return tr(
            "Your rule “{rule}” doesn't cover it: {names} can change what runs.", rule=rule, names=names
        )
    if not rule:
        return ""
    if not request.uncovered_parts:
        return tr("Your rule “{rule}” doesn't cover it: it may do more than that.", rule=rule)
    part = ellipsize(escape_command(request.uncovered_parts[0]), _PART_CHARS)
    return tr("Your rule “{rule}” doesn't cover “{part}”.", rule=rule, part=part)


def _further_lines(row: ApprovalRow) -> Iterator[str]:
    """Yield what stands behind “More”: what asks, and each place by its reason."""
    request = row.request
    if request.asking_rule:
        matched = escape_command(request.asking_rule)
        yield tr("Approval required by rule: {rule}", rule=matched)
    if request.lasting_refusal:
        yield translate(_REFUSALS[request.lasting_refusal])
    yield from map(translate, request.effect_details)
    yield from row.uncovered_places


def _file_text(file: FileLines) -> str:
    counts = " ".join(line_counts_texts(file.added, file.removed))
    return " · ".join(part for part in (file.name, file.note, counts) if part)


class ApprovalItem(RowItem):
    """Asks the user to approve a call; what saves another rule than “Always allow” is behind “More”."""

    def __init__(self, row: ApprovalRow, context: ItemContext, tools: ItemTools) -> None:
        self._row = row
        self._expanded = context.expanded
        self._primary: ApprovalAnswer = "demo" if row.request.offers_demo_calls else "once"
        self.backward_entry = f"decide:{self._primary}"
        is_command = row.request.kind == "command"
        theme = tools.style.theme
        edits = row.request.edits
        detail = self._edits(tools) if edits else self._detail(tools)
        about = [] if is_command else [paragraph(escape_invisible(row.summary), tools, theme.text, BODY)]
        texts: list[Box] = [*about, *self._line(tools), *self._description(tools)]
        if len(edits) > 1:  # the lines of the first may leave no room for the others
            names = "\n".join(_file_text(edited_file_lines(edit, 0)) for edit in edits)
            texts.append(_plain(names, theme.muted, UI, tools))
        body = [detail, *texts] if is_command else [*texts, detail]
        head = Row(
            [
                Icon("shield-alert", "warn", 17),
                Text(self.title, 13, "warn", 600, grow=True, shrink=True),
                *self._pills(),
            ],
            8,
        )
        answers = Flow(self._buttons(context), 8, line_gap=8)
        # As high without a pill: one comes with another call that waits, and the answers must not move.
        parts = [Frame(head, (0, 0, 0, 4), least=_HEAD_PX), *body, Frame(answers, (0, 6, 0, 0))]
        parts += self._more(tools)
        card = Frame(Column(parts, 6), (16, 12, 16, 15), "surface", "warn")
        super().__init__(row, context, tools, card)

    def _line(self, tools: ItemTools) -> list[Box]:
        """Return the line on what the call may do; none where the summary above it says all."""
        row = self._row
        spans = list[Span]()
        effect = translate(row.request.effect) or row.summary
        warnings = [*_warnings(row)]
        calm = [effect] if row.request.kind == "command" and effect not in warnings else []
        for words in filter(None, (*warnings, _uncovered(row), *calm)):
            spans += [Span(" "), Span(escape_invisible(words), is_warning=words in warnings)]
        prose = Prose((Paragraph(tuple(spans[1:])),))
        return [TextBlock(tools.writer.write_prose(prose, tools.style.theme.text, UI))] if spans else []

    def _description(self, tools: ItemTools) -> list[Box]:
        """Return what the server says of its tool, as untrusted text; what changed since comes first.

        A link leads to more of it than a few lines.
        """
        row = self._row
        theme = tools.style.theme
        if row.request.kind != "mcp":
            return []
        server = escape_invisible(row.request.server)
        parts = list[Box]()
        if row.request.mcp_change:
            parts.append(paragraph(translate(_MCP_CHANGES[row.request.mcp_change]), tools, theme.warn))
        if not row.request.description:
            note = tr("{server} does not say what this tool does.", server=server)
            return [*parts, paragraph(note, tools, theme.muted)]
        note = tr("What {server} says about this tool, not checked by Helix:", server=server)
        words = full = escape_hidden(row.request.description)
        if "about" not in self._expanded:
            words = ellipsize("\n".join(full.split("\n")[:_ABOUT_LINES]), _ABOUT_CHARS)
        parts += [paragraph(note, tools, theme.muted), _plain(words, theme.text, UI, tools)]
        if words != full:
            parts.append(_link("about", ToggleSection("about"), tr("Show the whole description")))
        return parts

    @property
    def sandbox_text(self) -> str:
        """What holds a command or a server's tool; empty for other calls, and where its effect says it."""
        if self._row.request.effect:
            return ""
        if self._row.is_sandboxed:
            return tr("Sandboxed, with network") if self._row.request.has_network else tr("Sandboxed")
        return tr("Not sandboxed") if self._row.request.kind in ("command", "mcp") else ""

    def _edits(self, tools: ItemTools) -> Box:
        """Return the files of an edit as cards of calls show them, as far as there is room.

        All lines are a click away: in the card, or in a window where they are too many or too long for it.
        """
        parts = list[Box]()
        edits = self._row.request.edits
        is_open = "detail" in self._expanded
        total = sum(count_edited_lines(edit.diff) for edit in edits)
        fits = fits_card(edits)
        room = _MAX_DETAIL_LINES
        if is_open or total <= room + _FEW_LINES:
            room = MAX_EDITED_LINES
        hidden = total - room
        for edit in edits:
            if room > 0 or not edit.diff.hunks:
                file = edited_file_lines(edit, room)
                parts.append(FileBlock(file, room, tools))
                room -= len(file.lines)
        if not fits:
            label = tr.plural(total, "Show the whole line", "Show all %n lines")
            if any(edit.diff.kind == "too_large" for edit in edits):
                label = tr("Show all that would be written")
            parts.append(_link("detail", OpenInWindow(), label))
        elif hidden > 0:
            label = tr.plural(hidden, "Show %n more line", "Show %n more lines")
            parts.append(_link("detail", ToggleSection("detail"), label))
        if not fits or hidden > 0:
            self.backward_entry = "open:detail"
        return Frame(Column(parts, 8), (0, 4, 0, 2))

    def _detail(self, tools: ItemTools) -> Box:
        """Return the command, or what a tool is asked; of a long one a button stands in the place of lines.

        They are a click away: in the card, or in a window where they are too long for it.
        """
        words = self.detail_text()
        is_command = self._row.request.kind == "command"
        (lines, chars), last = (_FIRST_OF_COMMAND, _LAST) if is_command else (_FIRST, (0, 0))
        split = words.split("\n")
        texts = [words]
        is_long = len(split) > lines + last[0] + _FEW_LINES or len(words) > chars + last[1] + _FEW_CHARS
        fits = len(words) <= _MAX_CARD_CHARS
        more = list[Box]()
        if is_long and not (fits and "detail" in self._expanded):
            head = "\n".join(split[:lines])
            tail = "\n".join(split[-last[0] :]) if last[0] else ""
            if len(head) > chars:  # in whole lines, where one has room
                head = head[:chars].rpartition("\n")[0] or head[:chars]
            if len(tail) > last[1]:
                tail = tail[-last[1] :].partition("\n")[2] or tail[-last[1] :]
            hidden = words[len(head) : len(words) - len(tail)]
            label = tr.plural(len(hidden), "Show %n more character", "Show %n more characters")
            if hidden.startswith("\n") and (hidden.endswith("\n") or not tail):
                count = hidden.count("\n") - bool(tail)
                label = tr.plural(count, "Show %n more line", "Show %n more lines")
            self.backward_entry = "open:detail"
            action = ToggleSection("detail") if fits else OpenInWindow()
            more = [Flow([push_button("open:detail", action, label, "chevron-down", high=26)])]
            texts = [head, *filter(None, [tail])]
        blocks = [TextBlock(tools.writer.write_plain(text, mono=True)) for text in texts]
        shown = Column([blocks[0], *more, *blocks[1:]], 6)
        return Frame(Frame(shown, (12, 9, 12, 9), "code_surface", "border", radius=8), (0, 2, 0, 6))

    def detail_text(self) -> str:
        escape = escape_command if self._row.request.kind == "command" else escape_invisible
        return escape(self._row.detail).rstrip("\n")

    def _more(self, tools: ItemTools) -> list[Box]:
        """Return what “More” shows below the answers, which it does not move."""
        if "more" not in self._expanded:
            return []
        further = "\n".join(_further_lines(self._row))
        lines: list[Box] = [_plain(further, tools.style.theme.muted, UI, tools)] if further else []
        tip = tr("For this session, for this alone, or never")
        menu = push_button("menu:rules", OpenMenu(), tr("Save a rule…"), "chevron-down", tip=tip, high=30)
        return [Frame(Column([*lines, Flow([menu])], 8), (0, 4, 0, 0))]

    def _buttons(self, context: ItemContext) -> list[Box]:
        """Return the answers: the button that allows all calls that wait must not move the others."""
        row = self._row
        tips = dict(context.answer_tips)
        tips["demo"] = tr(
            "Demo calls are scripted, and only change files in the sample's folder. The rest of them "
            "then runs without asking. Change it in Settings → Permissions."
        )
        labels = _LABELS | ({"deny": _DENY_WITH_MESSAGE} if context.has_message else {})
        buttons: list[Box] = [
            push_button(
                f"decide:{answer}", Decide(row.key.call_id, answer), translate(label),
                tip=tips.get(answer, ""), look="primary" if answer == self._primary else "push", high=30,
            )
            for answer, label in labels.items() if answer != "demo" or row.request.offers_demo_calls
        ]  # fmt: skip
        number, always = _always_offer(row)
        if always:
            rule = escape_command(row.offers[number])
            saved = tr("Saves a rule: {rule}", rule=rule)
            if row.is_rule_confined:
                saved = tr("Saves a rule: {rule}, in the sandbox", rule=rule)
            label = tr("Always allow {command} in this workspace", command=escape_command(always))
            action = Decide(row.key.call_id, "always", row.request.offered_rules[number])
            buttons.append(push_button("decide:always", action, label, tip=saved, high=30))
        icon = "chevron-up" if "more" in self._expanded else "chevron-down"
        more = tr("More", "about a request for approval")
        buttons.append(push_button("open:more", ToggleSection("more"), more, icon, look="ghost", high=30))
        if together := row.allowed_together:
            is_both = len(together) == 2  # noqa: PLR2004 - both are two
            label = tr("Allow both") if is_both else tr("Allow all {count}", count=len(together))
            buttons.append(push_button("decide:all", AllowAllOnce(together), label, high=30))
        return buttons

    @property
    def title(self) -> str:
        match self._row.request.kind:
            case "command":
                return tr("Run this command?")
            case "edit":
                return tr("Make this change?")
        return tr("{tool} needs your approval", tool=display_name(self._row.request.tool))

    def _pills(self) -> list[Pill]:
        row = self._row
        pills = list[Pill]()
        if self.sandbox_text:
            icon = "shield-check" if row.is_safely_sandboxed else "shield-alert"
            pills.append(Pill(self.sandbox_text, "ok" if row.is_safely_sandboxed else "warn", icon))
        if row.position:
            pills.insert(0, Pill(row.position))
        if row.request.subagent_title:
            subagent = ellipsize(" ".join(escape_invisible(row.request.subagent_title).split()), _ASKER)
            pills.insert(0, Pill(tr("Subagent: {title}", title=subagent), "accent", "bot"))
        return pills


def _plain(words: str, color: str, size: int, tools: ItemTools) -> TextBlock:
    return TextBlock(tools.writer.write_plain(words, mono=False, color=color, size=size))


def _link(name: str, action: ListAction, label: str) -> Box:
    words = Text(label, 12, "accent_text", 500)
    return Flow([Button(f"open:{name}", action, words, label, "words", high=20)])
