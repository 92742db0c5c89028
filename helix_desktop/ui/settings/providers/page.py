"""The provider page: which models there are, how they are reached, and whether they answer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QMenu, QWidget

from helix_desktop.config.model_catalog import ModelCatalog, Vendor
from helix_desktop.config.settings import ModelEntry
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.layout.fitted_stack import FittedStack
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.pill import Badge
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.onboarding.found_servers import FoundServerList
from helix_desktop.ui.settings.forms import ProviderForm, ProviderStatus
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.ui.settings.providers.editor import EMPTY_FORM, ProviderEditor, without_tests
from helix_desktop.words.models import demo_model_name
from helix_desktop.words.translation import Translator

tr = Translator("Settings: Models")
_LINE_PX, _LINES = 32, 4
_ID = int(Qt.ItemDataRole.UserRole)


class ProvidersPage(Themed, QWidget):
    """The list of providers with the demo model first, and the fields of the chosen one."""

    provider_chosen = Signal(str)
    scan_requested = Signal()

    def __init__(self) -> None:
        """Start with an empty list."""
        super().__init__()
        self._forms: dict[str, ProviderForm] = {}
        self._states: dict[str, ProviderStatus] = {}
        self._drafts: dict[str, ProviderForm] = {}  # what is not saved of providers
        self._edited_from: dict[str, ProviderForm] = {}  # what was saved when the user began to edit
        self._edited_key = ""  # of the provider whose fields the editor has
        self._new_count = 0
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName(tr("Providers"))
        self.list.setIconSize(QSize(16, 16))
        # Not what is current: that is what Tab came to, and changes before what a click selects.
        self.list.itemSelectionChanged.connect(self._show_selected)
        self.editor = ProviderEditor()
        self.editor.edited.connect(self._keep_draft)
        self.editor.discarded.connect(self._discard)
        self.editor.conflict.stored_chosen.connect(self._discard)
        self.editor.conflict.edit_kept.connect(self._keep_edit)
        self.found_servers = FoundServerList()
        self._add_button, self._scan_button = (
            PushButton(tr("Add provider"), "", "plus", name="add_provider"),
            PushButton(tr("Find local servers"), "", "search", name="find_servers"),
        )
        self._menu = QMenu(self)
        self._add_button.setMenu(self._menu)
        self._scan_button.clicked.connect(self.scan_requested)
        self._use_demo_button = PushButton(tr("Use in this workspace"), name="use_demo")
        self._use_demo_button.setToolTip(tr("Make it the default model of this workspace"))
        self._use_demo_button.clicked.connect(lambda: self.editor.use_requested.emit(self._selected_id()))
        self._stack = FittedStack(self.editor, self._demo_page())
        page, _ = scrolling_page(
            tr("Model providers"),
            tr("A key is sent only to its own server. Proxy and certificates are those of the system."),
            column(
                self.list,
                FlowBox([self._add_button, self._scan_button]),
                self.found_servers,
                8,
                self._stack,
                gap=8,
            ),
        )
        self.setLayout(column(page, self.editor.footer, gap=0))
        self._use_demo_button.hide()
        self._show_editor(False)
        self.show_scope(has_workspace=True)
        self.set_catalog(ModelCatalog())

    def _show_selected(self) -> None:
        for item in self.list.selectedItems():
            self._show_item(item)

    def _demo_page(self) -> QWidget:
        words = label(
            tr(
                "A built-in script that works on the sample project with the real tools. It needs no key and "
                "no network. It can't answer questions: choose another model for that."
            ),
            "muted",
            wrap=True,
        )
        demo = QWidget()
        demo.setLayout(
            column(row(Badge(demo_model_name()), None), words, row(self._use_demo_button, None), None, gap=10)
        )
        return demo

    def set_catalog(self, catalog: ModelCatalog) -> None:
        """Offer the vendors that are known, and know what they publish."""
        self._menu.clear()
        for key in (True, False):
            for vendor in catalog.vendors:
                if vendor.key is key:
                    self._add_vendor_action(vendor)
            self._menu.addSeparator()
        other = QAction(tr("Other server"), self._menu)
        other.setObjectName("another_server")
        other.triggered.connect(self.add)
        self._menu.addAction(other)
        self.editor.set_catalog(catalog)

    def _add_vendor_action(self, vendor: Vendor) -> None:
        action = QAction(vendor.title, self._menu)
        action.setObjectName(f"vendor:{vendor.name}")
        action.triggered.connect(lambda _=False, clicked_vendor=vendor: self.add_vendor(clicked_vendor))
        self._menu.addAction(action)

    def show_scope(self, has_workspace: bool) -> None:
        """Say whether a workspace is on screen, whose default model is chosen here."""
        self._has_workspace = has_workspace
        self.editor.show_scope(has_workspace)

    def show_providers(self, forms: Sequence[ProviderForm], states: Sequence[ProviderStatus]) -> None:
        """Show these providers; the chosen one and all unsaved edits stay, at first it is the one in use."""
        self._keep_draft()
        selected_id = self._selected_id()
        new_forms = {key: form for key, form in self._forms.items() if not form.id and key in self._drafts}
        self._forms = {form.id: form for form in forms} | new_forms
        self._drafts = {key: draft for key, draft in self._drafts.items() if key in self._forms}
        self._edited_from = {key: form for key, form in self._edited_from.items() if key in self._drafts}
        self._states = {state.id: state for state in states} | {key: self._states[key] for key in new_forms}
        self.list.blockSignals(True)
        self.list.clear()
        for key in self._forms:
            self._add_row(key)
        self.list.blockSignals(False)
        self._fit_list()
        used = next((state.id for state in states if state.in_use), "")
        names = list(self._forms)
        rows = (names.index(name) for name in (selected_id, used) if name in names)
        self.list.setCurrentRow(next(rows, 0))

    def _add_row(self, key: str) -> None:
        item = QListWidgetItem(self._row_text(key))
        item.setData(_ID, key)
        self.list.addItem(item)

    def _fit_list(self) -> None:
        self._paint_icons()
        for place in range(self.list.count()):
            item = self.list.item(place)
            item.setSizeHint(QSize())
            # Without a width of its own, a line is as wide as the list, and cut where it is longer.
            item.setSizeHint(QSize(1, self.list.sizeHintForRow(place)))
        line = max(_LINE_PX, self.list.sizeHintForRow(0))
        self.list.setFixedHeight(min(_LINES, max(1, self.list.count())) * line + 12)

    def _row_text(self, key: str) -> str:
        form, state = self._drafts.get(key, self._forms[key]), self._states.get(key)
        used = tr("workspace default") if self._has_workspace else tr("default")
        words = (
            form.name or tr("New provider"),
            "" if form.demo else form.default_model,
            used if state is not None and state.in_use else "",
            tr("not saved") if key in self._drafts else "",
        )
        return " · ".join(word for word in words if word)

    def _row_of(self, key: str) -> int:
        rows = range(self.list.count())
        return next((row for row in rows if self.list.item(row).data(_ID) == key), -1)

    def _keep_draft(self) -> None:
        """Keep what is edited and not saved of the provider in the editor, and say so in the list."""
        key = self._edited_key
        if key not in self._forms:
            return
        if self.editor.has_unsaved_edits():
            self._drafts[key] = self.editor.form()
            self._edited_from.setdefault(key, self._forms[key])
        else:
            self._drafts.pop(key, None)
            self._edited_from.pop(key, None)
        if (row_number := self._row_of(key)) >= 0:
            self.list.item(row_number).setText(self._row_text(key))

    def _forget_new(self, key: str) -> None:
        """Take a new provider off the list."""
        del self._forms[key]
        self._drafts.pop(key, None)
        self.list.takeItem(self._row_of(key))
        self._fit_list()

    def _discard(self) -> None:
        """Show what is saved of the provider in the editor; a new one goes."""
        key = self._edited_key
        self._drafts.pop(key, None)
        self._edited_from.pop(key, None)
        self._edited_key = ""
        if self._forms[key].id:
            self.list.item(self._row_of(key)).setText(self._row_text(key))
            self._show_selected()
        else:
            self._forget_new(key)

    def has_unsaved_edits(self) -> bool:
        """Return True if a provider was edited and not saved."""
        self._keep_draft()
        return bool(self._drafts)

    def _keep_edit(self) -> None:
        """Let what is edited replace what was saved elsewhere meanwhile."""
        self._edited_from[self._edited_key] = self._forms[self._edited_key]

    def is_edited_from(self, form: ProviderForm) -> bool:
        """Return True if a saved provider is as it was when the user began to edit it."""
        return without_tests(self._edited_from.get(form.id, form)) == without_tests(form)

    def note_saved(self, form: ProviderForm, saved: ProviderForm) -> None:
        """Know that what was filled in is saved, and as what; what was typed since stays."""
        if form.id in self._forms:
            self._forms[form.id] = saved
            self._edited_from.pop(form.id, None)
        self._drafts = {key: draft for key, draft in self._drafts.items() if draft != form}
        if form == self.editor.form() or (form.id and form.id == self._edited_key):
            self.editor.note_saved(form)

    def update_form(self, form: ProviderForm) -> None:
        """Know what is saved of a provider now; the fields on screen stay as they are."""
        self._forms[form.id] = form
        self.editor.update_form(form)

    def add(self) -> None:
        """Begin a new provider."""
        self._start_editing(EMPTY_FORM)

    def add_vendor(self, vendor: Vendor) -> None:
        """Begin a provider with what is known of a vendor, so that only its key is missing."""
        models = tuple(ModelEntry(name=name) for name in vendor.begin)
        default = vendor.begin[0] if vendor.begin else ""
        self._start_editing(ProviderForm("", vendor.name, vendor.base_url, vendor.dialect, models, default))
        self.editor.require_key(vendor.key)

    def add_key(self, key: str, vendor: Vendor | None) -> None:
        """Begin a provider with a key; if its vendor is recognized, all is ready for a test."""
        if vendor is None:
            self.add()
        else:
            self.add_vendor(vendor)
        self.editor.enter_key(key, is_ready=vendor is not None)

    def _start_editing(self, form: ProviderForm) -> None:
        self._new_count += 1
        key = f" {self._new_count}"  # no provider's name has a space
        note = next((state.new_key_note for state in self._states.values() if state.new_key_note), "")
        self._forms[key], self._states[key] = form, ProviderStatus("", False, "none", note)
        self._add_row(key)
        self._fit_list()
        self.list.setCurrentRow(self._row_of(key))
        self.editor.focus_first_empty()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        self._fit_list()

    def _paint_icons(self) -> None:
        for place in range(self.list.count()):
            item = self.list.item(place)
            demo = self._forms[item.data(_ID)].demo
            item.setIcon(icon("play" if demo else "server", self._theme.muted, 16))

    def _selected_id(self) -> str:
        item = self.list.currentItem()
        return str(item.data(_ID)) if item is not None else ""

    def _show_editor(self, visible: bool) -> None:
        self._stack.setCurrentIndex(0 if visible else 1)
        self.editor.footer.setVisible(visible)

    def _show_item(self, item: QListWidgetItem) -> None:
        key = str(item.data(_ID))
        form = self._forms[key]
        state = self._states.get(key, ProviderStatus(key, False, "none"))
        self._leave(key)
        self._show_editor(not form.demo)
        self._use_demo_button.setVisible(form.demo and not state.in_use)
        if key == self._edited_key and self.editor.has_unsaved_edits():
            self.editor.update_form(form)
        elif not form.demo:
            self._edited_key = key
            self.editor.taken_names = {other.id for other in self._forms.values() if other.id} - {form.id}
            self.editor.show_provider(replace(form, key=""), state, self._drafts.get(key))
        self.editor.show_conflict(key in self._drafts and not self.is_edited_from(form))
        self.provider_chosen.emit(form.id)

    def _leave(self, next_key: str) -> None:
        """Keep what is edited of the provider before; a new one of which nothing was typed goes."""
        left = self._edited_key
        self._keep_draft()
        if left != next_key and left in self._forms and not self._forms[left].id and left not in self._drafts:
            self._forget_new(left)
