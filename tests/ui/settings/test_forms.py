"""The settings as forms: accepted input, hidden secrets; the policy's numbers, its slider and its chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QPainterPathStroker
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.context import policy_numbers
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, policy_fields, policy_from
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.replay.policy.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.plot import Plot
from helix_desktop.ui.design.style.stylesheet import apply
from helix_desktop.ui.design.style.theme import DARK, LIGHT, Theme
from helix_desktop.ui.kit.forms import all_fields
from helix_desktop.ui.settings.policy.form import (
    FILE_FIELDS,
    POLICY,
    SLIDER_FIELDS,
    Number,
    ToolNames,
    conflict_text,
    profiles_beside,
)
from helix_desktop.ui.settings.policy.page import PolicySlider
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison, ReplayChart, label_rects
from helix_desktop.ui.settings.providers.models import (
    ShownProvider,
    is_web_address,
    listed_models,
    web_address,
    without_model,
)
from helix_desktop.ui.settings.providers.page import ProvidersPage
from helix_desktop.ui.settings.view import SettingsView
from tests.support.default_settings import NothingOnScreen, default_settings, settings_view
from tests.support.tables import for_each
from tests.support.window.buttons import find_button, find_buttons, press, trigger
from tests.support.window.list_contents import cell_texts
from tests.support.window.looks import ShowLook

QWEN = ModelEntry(name="qwen3", window=32_768, reserve=4_000)
GOOD = Provider(name="p1", base_url="http://localhost:11434/v1", models=(QWEN,), default_model="qwen3")
DEMO = ShownProvider(None, in_use=True)
IN_SERVICE = "Will be kept in Secret Service."
CATALOG = ModelCatalog.load(resources_dir() / "models.toml")


@pytest.fixture
def dialog(qtbot: QtBot) -> Iterator[SettingsView]:
    """Settings with the demo in use and one provider whose key is in the keychain."""
    frame = QWidget()
    settings_dialog = settings_view(default_settings(), NothingOnScreen())
    settings_dialog.head.hide()  # there is room for the list
    frame.setLayout(row(settings_dialog.names, settings_dialog, settings_dialog.head, gap=0))
    frame.resize(980, 760)
    qtbot.addWidget(frame)
    settings_dialog.providers.set_catalog(CATALOG)
    kept = ShownProvider(GOOD, key_source="keychain", key_note="Kept in Secret Service.")
    settings_dialog.providers.show_providers((DEMO, kept))
    with qtbot.waitExposed(frame):
        frame.show()
    yield settings_dialog
    frame.close()


def line(root: QWidget, name: str) -> QLineEdit:
    return next(edit for edit in root.findChildren(QLineEdit) if edit.accessibleName() == name)


def words(root: QWidget) -> str:
    return "\n".join(label.text() for label in root.findChildren(QLabel) if label.isVisible())


def _are_uncut(buttons: Sequence[PushButton]) -> bool:
    return all(button.sizeHint().width() <= button.width() for button in buttons)


def test_page_names_are_never_cut_at_any_text_size(
    qapp: QApplication, dialog: SettingsView, qtbot: QtBot
) -> None:
    for text_px in (13, 20):
        apply(qapp, LIGHT, text_px)
        names = [
            button for button in dialog.names.findChildren(PushButton) if button.property("kind") == "nav"
        ]
        assert len(names) == 10
        qtbot.waitUntil(partial(_are_uncut, names))
    apply(qapp, LIGHT)


def test_the_demo_comes_first_without_fields_and_a_stored_key_is_never_displayed(
    dialog: SettingsView,
) -> None:
    """The page says where a key is stored."""
    page = dialog.providers
    assert "workspace default" in page.list.item(0).text()
    page.list.setCurrentRow(0)
    assert not page.editor.isVisible()
    assert "needs no key" in words(dialog)
    page.list.setCurrentRow(1)
    assert page.editor.isVisible()

    key = line(dialog, "API key")
    assert key.text() == ""
    assert key.echoMode() is QLineEdit.EchoMode.Password
    assert "Kept in Secret Service." in words(dialog)
    for shown, note in (
        (ShownProvider(GOOD, False, "environment", "From OPENAI_API_KEY."), "From OPENAI_API_KEY."),
        (ShownProvider(GOOD, False, "none", IN_SERVICE), IN_SERVICE),
        (ShownProvider(GOOD), "Will be kept in the system's keychain, if there is one."),
    ):
        page.editor.show_provider(shown)
        assert note in words(dialog)
    page.show_providers((DEMO,))
    assert not page.editor.isVisible()


def test_the_provider_in_use_comes_first(qtbot: QtBot) -> None:
    page = ProvidersPage(NothingOnScreen())
    qtbot.addWidget(page)
    shown = ShownProvider(None), ShownProvider(GOOD, in_use=True)
    page.show_providers(shown)
    assert page.list.currentRow() == 1
    page.list.setCurrentRow(0)
    page.show_providers(shown)
    assert page.list.currentRow() == 0


def test_a_new_server_is_asked_for_its_address_first(qtbot: QtBot, dialog: SettingsView) -> None:
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    menu = dialog.providers.findChildren(QMenu)[0]
    trigger(menu, "another_server")
    address = dialog.providers.new_server.form.line("base_url")
    assert address.hasFocus()
    QTest.keyClicks(address, "not an address")
    press(dialog, "add_server")
    assert "web address" in dialog.providers.new_server.form.errors()["base_url"]
    assert address.hasFocus()
    press(dialog, "cancel_server")
    assert not dialog.providers.new_server.isVisible()


def test_the_table_of_models_shows_window_and_price(dialog: SettingsView) -> None:
    """Of the catalog, and what the user sets counts more."""
    page = dialog.providers
    vendor = next(vendor for vendor in CATALOG.vendors if vendor.name == "anthropic")
    entries = tuple(ModelEntry(name=name) for name in vendor.begin)
    provider = Provider(name="anthropic", base_url=vendor.base_url, dialect=vendor.dialect, models=entries)
    page.show_providers((DEMO, ShownProvider(provider)))
    page.list.setCurrentRow(1)
    models = page.editor.models
    assert cell_texts(models.table)[0] == ["claude-opus-5-5 · default", "1,000,000", "4 / 20"]
    window = models.spec_form.form.line("window")
    assert (window.text(), window.placeholderText()) == ("", "1,000,000")
    window.setText("200k")
    window.editingFinished.emit()
    assert page.editor.provider.models[0].window == 200_000
    assert cell_texts(models.table)[0][1] == "200,000"
    press(dialog, "forget_figures")
    assert page.editor.provider.models[0] == ModelEntry(name="claude-opus-5-5")


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8185/v1", "http://localhost:8185/v1"),
        ("127.0.0.1/v1", "http://127.0.0.1/v1"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("two words.com", "two words.com"),
    ],
)
def test_an_address_gets_its_scheme(typed: str, address: str) -> None:
    assert web_address(typed) == address


def test_models_are_added_and_one_is_the_default(dialog: SettingsView) -> None:
    dialog.providers.list.setCurrentRow(1)
    editor = dialog.providers.editor
    models = editor.models
    spec = SourcedSpec("server", "its list of models", ModelSpec(window=8_192, tools=True))
    models.set_offered({"small": spec, "qwen3": spec})
    assert cell_texts(models.table)[0][1] == "32,768", "the user's own figure stays"
    models.name_field.setEditText("small")
    press(dialog, "add_model")
    assert cell_texts(models.table)[1][:2] == ["small", "8,192"]
    assert models.selected_model == "small"
    press(dialog, "use_by_default")
    assert editor.provider.default_model == "small"
    removed: list[tuple[str, str]] = []
    editor.model_removed.connect(lambda *names: removed.append(names))
    models.table.select_model("qwen3")
    press(dialog, "remove_model")
    assert removed == [("p1", "qwen3")]


def test_a_model_that_goes_is_no_default_any_more() -> None:
    two = replace(GOOD, models=(QWEN, ModelEntry(name="small")))
    assert without_model(two, "qwen3") == replace(two, models=two.models[1:], default_model="")
    assert without_model(two, "small") == GOOD
    unlisted = replace(GOOD, models=())
    assert [entry.name for entry in listed_models(unlisted)] == ["qwen3"]


@pytest.mark.parametrize(
    ("address", "is_usable"),
    [
        ("ftp://x", False),
        ("http://", False),
        ("http://x:99999999", False),
        ("http://localhost:11434/v1", True),
    ],
)
def test_an_address_is_one_of_the_web(address: str, is_usable: bool) -> None:
    assert is_web_address(address) is is_usable


BALANCED = PROFILES["balanced"]


def typed(dialog: SettingsView, key: str, text: str) -> QLineEdit:
    entry = dialog.policy.form.controls[key]
    assert isinstance(entry, QLineEdit)
    entry.setFocus()
    entry.selectAll()
    QTest.keyClicks(entry, text)
    QTest.keyClick(entry, Qt.Key.Key_Return)
    return entry


def test_each_profile_is_a_stop_of_one_slider(qtbot: QtBot, dialog: SettingsView) -> None:
    """From the one that sends most to the one that sends least, by click on its name and by keys.

    Own changes, which may send more or less, stay at its stop; a screen reader hears the name, not a number.
    """
    accessibility.install()
    page = dialog.policy
    selected = list[str]()
    page.slider.profile_selected.connect(selected.append)
    page.show_policy("helix", BALANCED, BALANCED)
    dialog.show_page("policy")
    for profile in profiles_beside(BALANCED):
        assert find_button(page, f"profile:{profile.name}").accessibleDescription() == profile.description
    find_button(page, "profile:lean").click()
    track = page.slider.track
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End):
        QTest.keyClick(track, key)
    assert selected == ["lean", "lean", "classic", "off", "lean"]
    QTest.mouseClick(track, Qt.MouseButton.LeftButton, pos=QPoint(round(track.x_of(0.8)), 9))
    assert selected[-1] == "classic"

    own = msgspec.structs.replace(PROFILES["balanced"], protect_steps=14)
    page.show_policy("helix", own, BALANCED)
    interface = QAccessible.queryAccessibleInterface(track)
    assert (interface.role(), interface.text(QAccessible.Text.Value)) == (
        QAccessible.Role.Slider,
        "Balanced with 1 change",
    )
    QTest.keyClick(track, Qt.Key.Key_Left)
    QTest.keyClick(track, Qt.Key.Key_Right)
    assert selected[-2:] == ["classic", "lean"]


def test_numbers_of_a_policy_are_changed_one_by_one_refused_and_reset(dialog: SettingsView) -> None:
    """Typing goes on in the same field of another policy; while it is off, no number can be changed."""
    page = dialog.policy
    page.show_policy("helix", PROFILES["off"], BALANCED)
    dialog.show_page("policy")
    entry = page.form.controls["protect_steps"]
    assert not page.form.controls["handover_at"].isEnabled()
    page.show_policy("helix", BALANCED, BALANCED)
    assert page.form.controls["handover_at"].isEnabled()
    page.show_policy("helix", PROFILES["lean"], BALANCED)
    assert page.form.controls["protect_steps"] is entry
    assert isinstance(entry, QLineEdit)
    assert entry.text() == str(PROFILES["lean"].protect_steps)

    page.show_policy("helix", BALANCED, BALANCED)
    changes: list[tuple[str, object]] = []
    page.values.change = lambda name, value: changes.append((name, value))
    typed(dialog, "protect_steps", "12")
    typed(dialog, "handover_at", "80")
    typed(dialog, "checkpoint_tokens", "12,500")
    assert changes == [("protect_steps", 12), ("handover_at", 0.8), ("checkpoint_tokens", 12_500)]
    changes.clear()
    typed(dialog, "handover_at", "20")
    assert not changes
    assert page.form.errors().get("handover_at", "") == "Enter a number from 30 % to 95 %."
    numbers = msgspec.structs.asdict(PROFILES["balanced"])
    page.form.show_error("observe_at", conflict_text({**numbers, "observe_at": 0.8}))
    assert page.form.errors()["observe_at"] == "“Compact early from” can't be above “observe_place_at”."

    own = msgspec.structs.replace(PROFILES["balanced"], protect_steps=14, handover_at=0.7)
    page.show_policy("helix", own, BALANCED)
    assert page.slider.track.value_text == "Balanced with 2 changes"
    back = find_buttons(page, "reset")
    assert [button.text().strip() for button in back] == [str(PROFILES["balanced"].protect_steps), "85 %"]
    back[1].click()
    assert changes == [("handover_at", 0.85)]
    page.show_policy("helix", BALANCED, BALANCED)
    assert all(button.isHidden() for button in back)
    assert page.slider.track.value_text == "Balanced"


def test_a_rule_can_be_revoked_and_its_hidden_characters_are_codes(
    qtbot: QtBot, dialog: SettingsView
) -> None:
    dialog.show_page("permissions")
    rule = PermissionRule("*", "pytest *", kind="pattern")
    dialog.permissions.show_rules("helix", [rule], {}, {})
    qtbot.waitUntil(lambda: rule.text in words(dialog))
    outdated = "The server describes a tool differently since you allowed this."
    assert outdated not in words(dialog)
    dialog.permissions.show_rules("helix", [rule], {}, {rule.text: "tool"})
    qtbot.waitUntil(lambda: outdated in words(dialog))
    dialog.permissions.show_rules("helix", [], {}, {})
    assert "the agent asks before what may change something" in words(dialog)

    hidden = PermissionRule("*", "pytest \u202e*", kind="pattern")
    dialog.permissions.show_rules("helix", [hidden], {}, {})
    qtbot.waitUntil(lambda: "\\u202e" in words(dialog))


FIELDS = [field for field in all_fields(POLICY) if isinstance(field, Number)]


def numbers(**changes: float) -> dict[str, Any]:
    return {**msgspec.structs.asdict(PROFILES["balanced"]), **changes}


def test_every_field_of_the_policy_is_in_its_form_or_in_the_file_alone() -> None:
    """Each once; those of the form with a label, a unit and an explanation."""
    fields = all_fields(POLICY)
    keys = [field.name for field in fields]
    assert sorted([*keys, *FILE_FIELDS, *SLIDER_FIELDS]) == sorted(ContextPolicy.__struct_fields__)
    assert [group.title for group in POLICY] == ["Cache", "Compact"]
    assert len(fields) <= 12, "more belong in the file"
    assert all(field.label and field.note and "_" not in field.label for field in fields)
    assert [field.name for field in fields if not field.unit] == ["prepare_early"], "a switch has no unit"
    described = {name for name, field in policy_numbers.FIELDS.items() if field.label}
    assert described == set(keys), "what has words is on the page"
    assert policy_numbers.FIELDS.keys() | policy_numbers.CHOICES == set(ContextPolicy.__struct_fields__), (
        "each is described"
    )


def test_tools_that_are_never_cached_are_typed_by_their_names() -> None:
    """Each once; one that does not exist is named, because nothing would ever be said of it."""
    field = next(field for field in all_fields(POLICY) if isinstance(field, ToolNames))
    names = field.read(" run_command, mcp__web__fetch ,run_command,")
    assert names == ("run_command", "mcp__web__fetch")
    assert (field.read(field.typed(names)), field.in_text(())) == (names, "none")
    with pytest.raises(ValueError, match="“run_comand” isn't the name of a tool"):
        field.read("run_comand")
    own = policy_from({"never_cache": list(names)})
    assert policy_fields(own) == {"profile": "balanced", "never_cache": list(names)}
    assert policy_from(policy_fields(own)) == own
    subagents = own.for_subagents()
    assert subagents is not None
    assert (subagents.profile, subagents.never_cache) == ("lean", names)


def test_the_slider_has_plain_only_where_a_file_chose_it(qtbot: QtBot) -> None:
    """A policy that is turned off by hand stands at Off, whatever its profile."""

    def names(policy: ContextPolicy) -> list[str]:
        return [profile.name for profile in profiles_beside(policy)]

    assert names(PROFILES["balanced"]) == ["lean", "balanced", "classic", "off"]
    assert "plain" in names(PROFILES["plain"])
    slider = PolicySlider()
    qtbot.addWidget(slider)
    slider.show_policy(policy_from({"profile": "balanced", "enabled": False}))
    assert slider.track.value_text == "Off"


@for_each("field", FIELDS)
def test_the_form_bounds_a_number_as_the_policy_does(field: Number) -> None:
    """The policy accepts each number that the form accepts; it refuses those below or above."""
    # Only the bounds of the field itself: rules between fields are reported by the policy's own messages.
    free = {"sweep_min": 0, "sweep_max": 10_000_000, "observe_at": 0.0, "observe_place_at": 0.9,
            "panic_to": 0.1, "handover_at": 0.3, "panic_at": 1.0}  # fmt: skip
    base = {**free, field.name: field.minimum}
    policy_from(base)
    if field.is_percent:
        policy_from({**free, field.name: field.maximum})
        for beyond in (field.minimum - 0.01, field.maximum + 0.01):
            with pytest.raises(ValueError, match=field.name):
                policy_from({**free, field.name: beyond})
    else:
        with pytest.raises(ValueError, match=field.name):
            policy_from({**free, field.name: -1})


@pytest.mark.parametrize("name", ["classic", "plain"])
def test_a_profile_is_described_with_the_threshold_that_holds(name: str) -> None:
    """That of the policy on the page; the other profiles with their own."""

    def descriptions(**changes: float) -> dict[str, str]:
        profiles = profiles_beside(policy_from({"profile": name, **changes}))
        return {profile.name: profile.description for profile in profiles}

    own = descriptions()
    changed = descriptions(handover_at=0.6)
    assert "85 %" in own[name]
    assert changed[name] == own[name].replace("85 %", "60 %")
    others = own.keys() - {name}
    assert all(changed[other] == own[other] for other in others)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"observe_at": 0.5}, "“Compact early from” can't be above “observe_place_at”."),
        ({"panic_to": 0.9, "panic_at": 0.9}, "“panic_to” must be below “panic_at”."),
        ({"panic_at": 0.8}, "“Compact at” can't be above “panic_at”."),
    ],
)
def test_numbers_that_cannot_work_together_are_named_as_in_the_form_or_the_file(
    changes: dict[str, float], text: str
) -> None:
    with pytest.raises(ValueError, match="must"):
        policy_from(numbers(**changes))
    assert conflict_text(numbers(**changes)) == text


def fault(field: Number, typed: str) -> str:
    """Why a typed number can't be used; empty: it can."""
    try:
        field.read(typed)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("abc", "Enter a number."),
        ("2.5", "Enter a whole number."),
        ("10,0", ""),
        ("201", "Enter a number from 2 to 200."),
    ],
)
def test_a_policy_number_is_held_against_its_range(typed: str, why: str) -> None:
    assert fault(Number("protect_steps", minimum=2, maximum=200), typed) == why


@pytest.mark.parametrize(
    ("typed", "why"), [("38", ""), ("38.5 %", ""), ("91", "Enter a number from 0 % to 90 %.")]
)
def test_policy_shares_are_typed_as_percent(typed: str, why: str) -> None:
    field = Number("observe_at", maximum=0.9, is_percent=True)
    assert fault(field, typed) == why
    assert (field.typed(0.38), field.in_text(0.38)) == ("38", "38 %")
    if not why:
        assert field.read(typed) == pytest.approx(float(typed.removesuffix("%")) / 100)


WINDOW = 128_000
HANDOVER_AT = 108_800


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_dot_of_a_handover_lies_at_the_drop_above_those_of_the_many_sweeps(
    qtbot: QtBot, show_look: ShowLook, theme: Theme
) -> None:
    """Also where the other curve has a point just before the drop."""
    kinds = ("handover-made", "sweep-made")
    rewrites = tuple(PolicyRewrite(2, 2, kind, 90_000, 9_000) for kind in kinds)
    chart = ReplayChart()
    qtbot.addWidget(chart)
    chart.resize(300, 160)
    show_look(theme)
    names = {"edited": "Plain", "in_use": "Lean"}
    replay = _replay({1: 90_000, 4: 9_000, 5: 12_000}, rewrites)
    other = _replay({1: 5_000, 3: 5_000, 5: 5_000})
    chart.show_comparison(PolicyComparison(names, "edited", "in_use", replay, other, "ready", is_one=False))

    image = chart.grab().toImage()
    places: dict[str, list[int]] = {}
    for x, y in product(range(image.width()), range(image.height())):
        places.setdefault(image.pixelColor(x, y).name(), []).append(y)
    assert min(places[theme.seg_handover]) > image.height() / 2
    assert theme.seg_output not in places


@pytest.mark.parametrize("peak", [110_000, 130_000, 150_000, 300_000, 600_000, 3_000_000])
def test_the_labels_of_the_bounds_are_in_the_plot_and_clear_of_the_curves(peak: int) -> None:
    """Also without compaction, where the session grows to many times the window."""
    plot = Plot(QRectF(40, 8, 400, 120), 101, peak)
    curves = [peak * at // 100 for at in range(101)], [min(90_000, 3_000 * at) for at in range(101)]
    sizes = [QSize(90, 16), QSize(56, 16)]
    bounds = [tokens for tokens in (WINDOW, HANDOVER_AT) if tokens <= peak]
    rects = label_rects(plot, bounds, sizes[: len(bounds)], curves)
    assert all(plot.rect.contains(rect) for rect in rects)
    assert not any(rect.intersects(other) for rect, other in combinations(rects, 2))
    lines = [QPainterPathStroker().createStroke(plot.line_of(curve)) for curve in curves]
    assert not any(line.intersects(rect) for line in lines for rect in rects)


def _replay(tokens: dict[int, int], rewrites: tuple[PolicyRewrite, ...] = ()) -> PolicyReplay:
    points = tuple(WindowPoint(seq, seq, tokens) for seq, tokens in tokens.items())
    return PolicyReplay(points, rewrites, WINDOW, HANDOVER_AT, 111_000, 1.0, None, is_exact=True)
