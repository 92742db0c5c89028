"""The provider page: which models there are, how they are reached, and whether they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from helix_desktop.ui.settings.providers.editor import EMPTY_FORM, ProviderEditor
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
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName(tr("Providers"))
        self.list.setIconSize(QSize(16, 16))
        # Not what is current: that is what Tab came to, and changes before what a click selects.
        self.list.itemSelectionChanged.connect(self._show_selected)
        self.editor = ProviderEditor()
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
        """Show these providers; the chosen one and its unsaved edits stay, at first it is the one in use."""
        selected_id = self._selected_id()
        used_text = tr("workspace default") if self._has_workspace else tr("default")
        self._forms = {form.id: form for form in forms}
        self._states = {state.id: state for state in states}
        self.list.blockSignals(True)
        self.list.clear()
        for form in forms:
            state = self._states.get(form.id)
            in_use = used_text if state is not None and state.in_use else ""
            words = (form.name, "" if form.demo else form.default_model, in_use)
            item = QListWidgetItem(" · ".join(word for word in words if word))
            item.setData(_ID, form.id)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self._paint_icons()
        line = max(_LINE_PX, self.list.sizeHintForRow(0))
        self.list.setFixedHeight(min(_LINES, max(1, len(forms))) * line + 12)
        if not selected_id and self.editor.has_unsaved_edits(""):
            return  # a new provider is on screen
        used = next((state.id for state in states if state.in_use), "")
        names = [form.id for form in forms]
        rows = (names.index(name) for name in (selected_id, used) if name in names)
        self.list.setCurrentRow(next(rows, 0))

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
        self.list.clearSelection()
        self.list.setCurrentRow(-1)
        self._show_editor(True)
        note = next((state.new_key_note for state in self._states.values() if state.new_key_note), "")
        self.editor.show_provider(form, ProviderStatus("", False, "none", note))
        self.editor.focus_first_empty()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        self._paint_icons()

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
        form = self._forms[item.data(_ID)]
        state = self._states.get(form.id, ProviderStatus(form.id, False, "none"))
        self._show_editor(not form.demo)
        self._use_demo_button.setVisible(form.demo and not state.in_use)
        if self.editor.has_unsaved_edits(form.id):
            self.editor.update_form(form)
        elif not form.demo:
            self.editor.show_provider(replace(form, key=""), state)
        self.provider_chosen.emit(form.id)
