"""Settings: saved atomically, loaded whatever the file contains, unknown keys preserved."""

from __future__ import annotations

import asyncio
import os
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.config import toml_file
from helix_desktop.config.settings import ModelEntry, Provider, Settings, key_variable, parse_label
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.domain.errors import HelixError, SettingsDamaged, SettingsUnreadable
from helix_desktop.domain.messages import ModelInfo
from helix_desktop.domain.model_spec import LearnedWindow, ModelSpec
from helix_desktop.domain.request_extras import RequestExtras
from helix_desktop.domain.translatable_text import TextContext

LOCAL = Provider(
    name="local",
    base_url="http://127.0.0.1:8080/v1",
    models=(ModelEntry(name="small", window=8_192, reserve=1_024), ModelEntry(name="org/large")),
    default_model="org/large",
)
SETTINGS = Settings(theme="dark", text_size=17, enter_sends=False, model="local/small", providers=(LOCAL,))

WORD = st.text("abc-é漢", min_size=1, max_size=6)
REPORTED_SPECS = st.builds(
    ModelSpec, window=st.integers(0, 9_000), price_in=st.floats(0, 9), tools=st.sampled_from([None, True])
)
MODELS = st.builds(
    ModelEntry,
    name=WORD,
    window=st.integers(5_000, 2_000_000),
    images=st.sampled_from([None, True, False]),
    price_out=st.floats(0, 90),
    reported=st.none() | REPORTED_SPECS,
    reported_by=st.text(max_size=5),
)
PROVIDERS = st.builds(
    Provider, name=WORD, base_url=st.text(max_size=9), models=st.lists(MODELS, max_size=3).map(tuple)
)
ANY_SETTINGS = st.builds(
    Settings,
    theme=st.sampled_from(["system", "light", "dark"]),
    text_size=st.integers(10, 32),
    enter_sends=st.booleans(),
    model=st.text(max_size=9),
    recent=st.lists(WORD, max_size=3).map(tuple),
    providers=st.lists(PROVIDERS, max_size=3, unique_by=lambda provider: provider.name).map(tuple),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


@given(st.lists(ANY_SETTINGS, min_size=1, max_size=3))
def test_the_last_save_is_loaded(saved: list[Settings]) -> None:
    with TemporaryDirectory() as folder:
        settings_file = SettingsFile(Path(folder) / "settings.toml")
        for settings in saved:
            settings_file.save_now(settings)
        assert settings_file.load() == (saved[-1], None)


def test_without_a_file_settings_are_the_defaults(file: Path) -> None:
    assert SettingsFile(file).load() == (Settings(), None)
    assert not file.exists()


def test_comments_and_unknown_keys_are_preserved(file: Path) -> None:
    file.write_text(
        '# mine\nfuture = 1\n[odd]\nx = 2\n[[providers]]\nname = "local"\nbase_url = "old"\nregion = "eu"\n'
        '[[providers.models]]\nname = "small"\nprice = 1.5\n',
        encoding="utf-8",
    )
    SettingsFile(file).save_now(SETTINGS)
    text = file.read_text(encoding="utf-8")
    for fragment in ("# mine", "future = 1", "[odd]", 'region = "eu"', "price = 1.5"):
        assert fragment in text
    assert SettingsFile(file).load() == (SETTINGS, None)


NESTED = (
    "a = " + "[" * 5_000 + "]" * 5_000,
    "a = " + "{a = " * 5_000 + "1" + "}" * 5_000,
    ".".join("a" * 5_000) + " = 1",
    "[" + ".".join("a" * 5_000) + "]",
    "a = " + "[" * 60 + "]" * 60,
)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        *((content, "") for content in (b"theme = ", b"\xff\xfe\x00", b"[[providers]\n")),
        *((text.encode(), "nested too deeply") for text in NESTED),
    ],
)
def test_a_damaged_file_is_set_aside_and_reported(file: Path, content: bytes, why: str) -> None:
    file.write_bytes(content)
    settings_file = SettingsFile(file)
    settings, damaged = settings_file.load()
    assert settings == Settings()
    assert isinstance(damaged, SettingsDamaged)
    assert damaged.fix
    assert why in str(damaged.why)
    assert "settings.damaged-1.toml" in str(damaged)
    asyncio.run(settings_file.save(SETTINGS))
    assert file.with_name("settings.damaged-1.toml").read_bytes() == content
    assert SettingsFile(file).load() == (SETTINGS, None)


def test_a_damaged_file_stays_until_a_setting_is_changed(file: Path) -> None:
    """An opened workspace does not replace it; what was corrected in between stays."""
    file.write_text("[[providers]\n", encoding="utf-8")
    settings_file = SettingsFile(file)
    settings, damaged = settings_file.load()
    assert damaged is not None
    assert "correct the file or its copy, save it as settings.toml" in str(damaged.fix)
    asyncio.run(settings_file.save(settings.with_recent("w1")))
    assert file.read_text(encoding="utf-8") == "[[providers]\n"
    file.write_text("titles = false\n", encoding="utf-8")
    asyncio.run(settings_file.save(SETTINGS))
    assert SettingsFile(file).load() == (msgspec.structs.replace(SETTINGS, titles=False), None)


def test_what_cannot_be_read_is_not_called_damaged_and_is_never_replaced(file: Path) -> None:
    file.mkdir()
    settings_file = SettingsFile(file)
    settings, error = settings_file.load()
    assert (settings, settings_file.knows_models) == (Settings(), False)
    assert isinstance(error, SettingsUnreadable)
    assert error.what == f"The file {file} can't be read."
    assert error.why == "Is a directory."
    assert error.fix == "Move the folder away, then start Helix Desktop again."
    asyncio.run(settings_file.save(settings.with_recent("w1")))
    with pytest.raises(HelixError, match=r"couldn.t be saved.*can.t be read.*last until you quit"):
        asyncio.run(settings_file.save(SETTINGS))
    file.rmdir()
    file.write_text('theme = "dark"\n', encoding="utf-8")
    with pytest.raises(HelixError, match="start Helix Desktop again"):
        asyncio.run(settings_file.save(SETTINGS))
    assert file.read_text(encoding="utf-8") == 'theme = "dark"\n', "its other settings are not in this run"
    file.unlink()
    asyncio.run(settings_file.save(SETTINGS))
    assert SettingsFile(file).load() == (SETTINGS, None)
    assert not list(file.parent.glob("*damaged*"))


def test_a_file_without_permission_to_read_stays_as_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> BinaryIO:
        raise PermissionError(13, "Permission denied", path)

    file.write_text('theme = "dark"\n', encoding="utf-8")
    settings_file = SettingsFile(file)
    with monkeypatch.context() as locked:
        locked.setattr(toml_file, "open_regular", refuse)
        error = settings_file.load()[1]
    assert isinstance(error, SettingsUnreadable)
    assert error.why == "Permission denied."
    assert error.fix == "Make it readable, then start Helix Desktop again."
    with pytest.raises(HelixError, match=r"Permission denied\."):
        asyncio.run(settings_file.save(SETTINGS))
    assert file.read_text(encoding="utf-8") == 'theme = "dark"\n'


@pytest.mark.skipif(sys.platform == "win32", reason="has neither named pipes nor devices in folders")
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "device"])
def test_a_file_that_would_never_end_is_not_waited_for(file: Path, kind: str) -> None:
    other = file.with_name("other")
    if kind == "device":
        file.symlink_to("/dev/zero")
    else:
        os.mkfifo(other)
        file.symlink_to(other) if kind.startswith("link") else other.rename(file)
    settings_file = SettingsFile(file)
    settings, error = settings_file.load()
    assert settings == Settings()
    assert isinstance(error, SettingsUnreadable)
    assert error.why == "Not a regular file."
    assert error.fix == "Move it away: only a file is read here. Then start Helix Desktop again."
    with pytest.raises(HelixError, match="start Helix Desktop again"):
        asyncio.run(settings_file.save(SETTINGS))
    assert not file.is_file(), "what stands there is not replaced"


def test_an_invalid_value_stays_in_the_file_until_it_is_set(file: Path) -> None:
    file.write_text(
        'theme = "purple"\ntext_size = 900\n[[providers]]\nname = "lab"\nbase_url = "z"\ndialect = "odd"\n'
        '[[providers]]\nname = "x"\nbase_url = "y"\n',
        encoding="utf-8",
    )
    settings_file = SettingsFile(file)
    settings, damaged = settings_file.load()
    assert settings == Settings(providers=(Provider(name="x", base_url="y"),))
    assert damaged is not None
    assert "theme, text_size, providers.lab" in damaged.what
    assert "dialect" in damaged.why
    assert not settings_file.knows_models
    added = settings.with_provider(Provider(name="new", base_url="w"))
    asyncio.run(settings_file.save(msgspec.structs.replace(added, text_size=15)))
    stored = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (stored["theme"], stored["text_size"]) == ("purple", 15)
    assert [entry["name"] for entry in stored["providers"]] == ["x", "new", "lab"]
    assert stored["providers"][2]["dialect"] == "odd"
    settings, damaged = settings_file.load()
    assert damaged is not None
    assert "theme, providers.lab" in damaged.what
    settings_file.save_now(
        msgspec.structs.replace(
            settings.with_provider(Provider(name="lab", base_url="z")), theme="dark", text_size=13
        )
    )
    loaded, damaged = SettingsFile(file).load()
    assert damaged is None
    assert (loaded.theme, [provider.name for provider in loaded.providers]) == ("dark", ["x", "new", "lab"])
    assert sorted(path.name for path in file.parent.iterdir()) == ["settings.lock", "settings.toml"]


def test_an_invalid_provider_neither_goes_with_one_of_its_name_nor_comes_back(file: Path) -> None:
    file.write_text(
        '[[providers]]\nname = "lab"\nbase_url = "y"\nown = 1\n[[providers]]\nname = "odd"\ndialect = "odd"\n'
        '[[providers]]\nname = "lab"\nbase_url = "z"\ndialect = "odd"\nown = 2\n',
        encoding="utf-8",
    )

    def stored() -> list[tuple[str, object]]:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))["providers"]
        return [(entry["name"], entry.get("own", "")) for entry in entries]

    settings_file = SettingsFile(file)
    settings, _ = settings_file.load()
    settings_file.save_now(settings.with_provider(Provider(name="odd", base_url="w")))
    assert stored() == [("lab", 1), ("odd", ""), ("lab", 2)]
    settings_file.save_now(settings)
    assert stored() == [("lab", 1), ("lab", 2)]
    settings_file.save_now(settings.with_provider_removed("lab"))
    assert stored() == [("lab", 2)]


@pytest.mark.parametrize("content", ["providers = 3\n", "providers = [3]\n", "[providers]\nx = 1\n"])
def test_providers_that_are_none_stay_in_the_file(file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    settings_file = SettingsFile(file)
    settings, damaged = settings_file.load()
    assert damaged is not None
    settings_file.save_now(msgspec.structs.replace(settings, text_size=15))
    stored = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (stored["providers"], stored["text_size"]) == (tomllib.loads(content)["providers"], 15)


async def test_concurrent_saves_run_one_after_the_other(file: Path) -> None:
    settings_file = SettingsFile(file)
    sizes = range(10, 20)
    await asyncio.gather(*(settings_file.save(Settings(text_size=size)) for size in sizes))
    assert settings_file.load() == (Settings(text_size=19), None)
    assert sorted(path.name for path in file.parent.iterdir()) == ["settings.lock", "settings.toml"]


GOLDEN = Path(__file__).parents[2] / "golden" / "settings.toml"
"""Every field, none with its default, as this version writes it."""


def test_the_golden_file_is_read_and_written_back_the_same(file: Path) -> None:
    file.write_bytes(GOLDEN.read_bytes())
    settings, damaged = SettingsFile(file).load()
    assert damaged is None
    assert_has_no_default(settings)
    settings_file = SettingsFile(file)
    settings_file.save_now(msgspec.structs.replace(settings_file.load()[0], text_size=18))
    assert file.read_bytes() != GOLDEN.read_bytes()
    settings_file.save_now(settings)
    assert file.read_bytes() == GOLDEN.read_bytes()
    file.unlink()
    SettingsFile(file).save_now(settings)
    assert file.read_bytes() == GOLDEN.read_bytes()


def assert_has_no_default(value: msgspec.Struct) -> None:
    """Fail for a field with its default, at any depth: the golden file would not have it."""
    for field in msgspec.structs.fields(value):
        content = getattr(value, field.name)
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        assert content != default, field.name
        for inner in content if isinstance(content, tuple) else (content,):
            if isinstance(inner, msgspec.Struct):
                assert_has_no_default(inner)


def test_a_figure_that_is_taken_back_leaves_what_is_unknown(file: Path) -> None:
    file.write_text(
        'model = "local/small"\n[[providers]]\nname = "local"\nbase_url = "http://127.0.0.1:8080/v1"\n'
        'default_model = "small"\n[[providers.models]]\nname = "small"\nwindow = 8192\nreserve = 1024\n'
        "images = false\nmine = 1\n"
    )
    settings_file = SettingsFile(file)
    settings, damaged = settings_file.load()
    assert damaged is None
    provider, info = settings.find_model("local/small")
    assert (info.window, info.reserve, info.images) == (8_192, 1_024, False)
    assert provider.resolved_spec("small").values["window"].origin == "you"

    forgotten = msgspec.structs.replace(provider, models=(ModelEntry(name="small"),))
    settings_file.save_now(settings.with_provider(forgotten))
    text = file.read_text()
    assert "8192" not in text, "a figure that was taken back does not stay"
    assert "mine = 1" in text, "what this version does not know does"


def test_a_text_is_saved_in_its_english_words(file: Path) -> None:
    """Where a server's figures come from is a text of the catalog until it is stored."""
    source = TextContext("Tests")("Ollama: {tokens} tokens", tokens=4_096)
    entry = ModelEntry(name="small", reported=ModelSpec(window=4_096), reported_by=source)
    settings_file = SettingsFile(file)
    settings_file.save_now(Settings(providers=(Provider(name="local", base_url="x", models=(entry,)),)))
    loaded, damaged = settings_file.load()
    assert damaged is None
    assert loaded.providers[0].models[0].reported_by == "Ollama: 4,096 tokens"


def test_a_learned_window_is_saved_and_counts_where_it_is_smaller(file: Path) -> None:
    learned = LearnedWindow(8_192, "prompt is over n_ctx (8192)")
    entry = ModelEntry(name="small", reported=ModelSpec(window=32_768), learned=learned)
    box = Provider(name="local", base_url="x", models=(entry,))
    SettingsFile(file).save_now(Settings(providers=(box,)))
    (loaded,) = SettingsFile(file).load()[0].providers
    assert loaded.entry("small").learned == learned
    known = loaded.resolved_spec("small")
    assert known.number("window") == 8_192
    assert "prompt is over n_ctx (8192)" in known.values["window"].source
    for change in ({"learned": None}, {"learned": LearnedWindow(65_536, "")}):
        other = loaded.with_entry(msgspec.structs.replace(entry, **change))
        assert other.resolved_spec("small").number("window") == 32_768


class TestProviders:
    def test_a_dialect_is_preserved_and_defaults_to_chat_completions(self, file: Path) -> None:
        file.write_text('[[providers]]\nname = "x"\nbase_url = "y"\n', encoding="utf-8")
        (older,) = SettingsFile(file).load()[0].providers
        assert older.dialect == "openai-chat"
        claude = Provider(name="claude", base_url="https://api.anthropic.com", dialect="anthropic")
        SettingsFile(file).save_now(Settings(providers=(older, claude)))
        assert SettingsFile(file).load() == (Settings(providers=(older, claude)), None)

    def test_a_label_finds_provider_and_model(self) -> None:
        assert SETTINGS.find_model("local/small") == (
            LOCAL,
            ModelInfo("local", "small", 8_192, 1_024, images=True, images_known=False),
        )
        assert SETTINGS.find_model("local/org/large")[1] == ModelInfo(
            "local", "org/large", images=True, images_known=False
        )
        assert SETTINGS.find_model("local/unlisted")[1] == ModelInfo(
            "local", "unlisted", images=True, images_known=False
        )
        assert SETTINGS.find_model("local")[1].name == "org/large"
        assert SETTINGS.find_model("local/small")[1].label == "local/small"

    @pytest.mark.parametrize("label", ["elsewhere/small", "", "/small", "elsewhere"])
    def test_a_label_without_a_match_is_explained(self, label: str) -> None:
        with pytest.raises(HelixError) as caught:
            SETTINGS.find_model(label)
        assert caught.value.fix

    def test_a_provider_without_models_needs_a_name(self) -> None:
        with pytest.raises(HelixError, match="No model from bare"):
            Provider(name="bare", base_url="x").model_info()

    def test_providers_are_replaced_added_and_removed(self) -> None:
        other = Provider(name="other", base_url="x")
        changed = SETTINGS.with_provider(msgspec.structs.replace(LOCAL, base_url="new")).with_provider(other)
        assert [entry.base_url for entry in changed.providers] == ["new", "x"]
        assert changed.with_provider_removed("other").model == "local/small"
        assert changed.with_provider_removed("local").model == ""
        assert changed.with_provider_removed("local").providers == (other,)

    def test_opened_workspaces_are_listed_first_once_and_capped(self) -> None:
        settings = Settings()
        for number in range(30):
            settings = settings.with_recent(str(number))
        assert settings.with_recent("29") == settings
        assert settings.with_recent("15").recent[:2] == ("15", "29")
        assert len(settings.recent) == 20

    @pytest.mark.parametrize("name", ["", "a/b", "a b", "a\n"])
    def test_a_provider_s_name_is_a_single_word(self, name: str) -> None:
        with pytest.raises(ValueError, match="no provider's name"):
            Provider(name=name, base_url="x")

    def test_a_reserve_leaves_space(self) -> None:
        with pytest.raises(ValueError, match="leaves nothing"):
            ModelEntry(name="m", window=100, reserve=100)


@pytest.mark.parametrize(
    ("label", "parts"),
    [("openai/gpt-5", ("openai", "gpt-5")), (" router/a/b ", ("router", "a/b")), ("local", ("local", ""))],
)
def test_a_label_is_parted_into_provider_and_model(label: str, parts: tuple[str, str]) -> None:
    assert parse_label(label) == parts


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("OpenRouter", "OPENROUTER_API_KEY"),
        ("my-box", "HELIX_MY_BOX_KEY"),
        ("größe", "HELIX_GR__E_KEY"),
    ],
)
def test_a_provider_s_key_has_a_variable_of_its_own(provider: str, variable: str) -> None:
    assert key_variable(provider) == variable


async def test_a_canceled_save_is_repeated(tmp_path: Path) -> None:
    """Closing the window cancels its tasks; the last choice is on disk all the same."""
    file = SettingsFile(tmp_path / "settings.toml")
    saves = [asyncio.ensure_future(file.save(Settings(text_size=size))) for size in (14, 16, 18)]  # noqa: TID251 - cut off below
    await asyncio.sleep(0)
    for save in saves:
        save.cancel()
    await asyncio.gather(*saves, return_exceptions=True)
    await file.flush()
    assert SettingsFile(tmp_path / "settings.toml").load()[0].text_size == 18


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            'headers = { Authorization = "Bearer x" }',
            "box: The header Authorization can't be added: it carries",
        ),
        ("body = { stream = false }", "box: The field stream can't be added"),
        ('headers = ["X-Title"]', "headers must be an object (got a list)"),
        ('[[providers.models]]\nname = "small"\neffort = "huge"', "can't be 'huge'"),
        (
            '[[providers.models]]\nname = "small"\nsecret_headers = ["x-api-key"]',
            "small: The header x-api-key",
        ),
    ],
)
def test_a_mistake_in_extras_by_hand_is_named(file: Path, line: str, words: str) -> None:
    file.write_text(f'[[providers]]\nname = "box"\nbase_url = "http://x/v1"\n{line}\n', encoding="utf-8")
    _, damaged = SettingsFile(file).load()
    assert damaged is not None
    assert words in damaged.why


def test_extras_by_hand_are_read_and_written_back(file: Path) -> None:
    file.write_text(
        '[[providers]]\nname = "box"\nbase_url = "http://x/v1"\nheaders = { X-Title = "a" }\n'
        'secret_headers = ["X-Token"]\nbody = { a = { b = [1, 2] } }\n'
        '[[providers.models]]\nname = "small"\neffort = "high"\nbody = { top_p = 0.5 }\n',
        encoding="utf-8",
    )
    settings, damaged = SettingsFile(file).load()
    assert damaged is None
    (box,) = settings.providers
    assert box.model_info("small").effort == "high"
    assert box.extras("small") == RequestExtras(
        {"X-Title": "a"}, ("X-Token",), {"a": {"b": [1, 2]}, "top_p": 0.5}
    )
    SettingsFile(file).save_now(settings)
    assert SettingsFile(file).load() == (settings, None)
