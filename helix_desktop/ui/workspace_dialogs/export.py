"""The dialog that asks what is exported, and in which format."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.choices import ARCHIVE_SUFFIX, HTML_SUFFIX, JSON_LINES_SUFFIX, TRANSCRIPT_SUFFIX
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.kit.forms import Choice, Choices, Draft, Form
from helix_desktop.words.translation import Translator, translate

text = TextContext("Workspaces")
tr = Translator("Workspaces")

_WIDTH_PX, _LIST_PX = 482, 360
FOLDER, ZIP_SUFFIX, BACKUP = "folder", ".zip", "backup"
_DOCUMENT = text("For others to read, without keys. You see it before it is saved.")
_FORMATS = {
    ARCHIVE_SUFFIX: (
        text("Helix file (.helix)"),
        text("With every output, verified. It can be imported again."),
    ),
    HTML_SUFFIX: (text("Page for a browser (.html)"), _DOCUMENT),
    TRANSCRIPT_SUFFIX: (text("Markdown (.md)"), _DOCUMENT),
    JSON_LINES_SUFFIX: (text("JSON lines (.jsonl)"), _DOCUMENT),
    FOLDER: (text("Files in a folder"), text("One file for each output, and a list of what they are.")),
    ZIP_SUFFIX: (text("Zip (.zip)"), text("One file for each output, and a list of what they are.")),
    BACKUP: (text("Helix files in a folder"), text("A backup: one verified file for each workspace.")),
}
"""By the ending of the file, or a name: its words, and what it is for."""
_FORMATS_OF = {
    "session": (ARCHIVE_SUFFIX, HTML_SUFFIX, TRANSCRIPT_SUFFIX, JSON_LINES_SUFFIX),
    "outputs": (FOLDER, ZIP_SUFFIX),
    "workspace": (ARCHIVE_SUFFIX,),
    "all": (BACKUP,),
}


class ExportDialog(FittedDialog):
    def __init__(self, parent: QWidget, subjects: Mapping[str, str], subject: str) -> None:
        """`subjects` are what can be exported, of `_FORMATS_OF`, with their words; `subject` is chosen."""
        super().__init__(parent, tr("Export"), _WIDTH_PX)
        self.setObjectName("export")
        self._values = Draft({"subject": subject, "format": _FORMATS_OF[subject][0]})
        self.form = Form(
            (
                Choice("subject", text("What"), choices=tuple(subjects.items())),
                Choice("format", text("Format"), choices=self._formats),
            ),
            self._values,
            is_dialog=True,
            gap=8,
        )
        for control in self.form.controls.values():
            control.setFixedWidth(_LIST_PX)
        self._note = label("", "muted", wrap=True)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        export = PushButton(tr("Export…"), "primary", name="export", on_click=self.accept)
        export.setDefault(True)
        buttons = FlowBox([cancel, export], right_from=0)
        body = column(label(tr("Export"), "title"), 4, self.form, self._note, 8, buttons)
        body.setContentsMargins(*DIALOG_MARGINS)
        self.setLayout(body)
        self._values.changed.connect(self._show)
        self._show("format")

    @property
    def chosen(self) -> tuple[str, str]:
        """What is exported, and its format."""
        return self._values.get("subject"), self._values.get("format")

    def _formats(self) -> Choices:
        return [(each, _FORMATS[each][0]) for each in _FORMATS_OF[self._values.get("subject")]]

    def _show(self, name: str) -> None:
        if name == "subject":
            self._values.set("format", self._formats()[0][0])
        self._note.setText(translate(_FORMATS[self._values.get("format")][1]))
        self.form.controls["format"].setEnabled(len(self._formats()) > 1)
