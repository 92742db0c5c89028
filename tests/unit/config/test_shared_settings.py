"""Two processes write the settings: the last one that sets a field wins, and every other field stays."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import LearnedWindow

SMALL = ModelEntry(name="small")
LARGE = ModelEntry(name="large")
BOX = Provider(name="box", base_url="http://127.0.0.1:1/v1", models=(SMALL, LARGE))
LAB = Provider(name="lab", base_url="http://127.0.0.1:2/v1")
START = Settings(model="box/small", providers=(BOX, LAB), shortcuts={"copy": ["Ctrl+C"]})

Edit = Callable[[Settings], Settings]


class Process:
    """A process that has read the settings and changes them."""

    def __init__(self, path: Path) -> None:
        self.file = SettingsFile(path)
        self.settings, _ = self.file.load()

    async def change(self, edit: Edit) -> None:
        self.settings = edit(self.settings)
        saved = await self.file.save(self.settings)
        self.settings = saved.current(self.settings)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    SettingsFile(path).save_now(START)
    return path


def with_entry(provider: str, entry: ModelEntry) -> Edit:
    def edit(settings: Settings) -> Settings:
        found = settings.provider(provider)
        assert found is not None
        return settings.with_provider(found.with_entry(entry))

    return edit


def with_address(provider: str, address: str) -> Edit:
    def edit(settings: Settings) -> Settings:
        found = settings.provider(provider)
        assert found is not None
        return settings.with_provider(replace(found, base_url=address))

    return edit


async def test_each_process_keeps_what_the_other_has_set(file: Path) -> None:
    window = Process(file)
    command = Process(file)
    await command.change(with_entry("box", replace(SMALL, learned=LearnedWindow(8_192, "too long"))))
    await window.change(lambda settings: replace(settings, theme="dark"))
    await window.change(with_entry("box", replace(LARGE, price_in=3.0, price_out=9.0)))
    await command.change(with_address("box", "http://127.0.0.1:9/v1"))
    await window.change(lambda settings: settings.with_provider(replace(LAB, dialect="anthropic")))
    await command.change(lambda settings: replace(settings, shortcuts={**settings.shortcuts, "find": []}))
    stored, error = SettingsFile(file).load()
    assert error is None
    box = stored.provider("box")
    assert box is not None
    assert box.entry("small").learned == LearnedWindow(8_192, "too long")
    assert box.entry("large").price_out == 9.0
    assert (box.base_url, stored.theme) == ("http://127.0.0.1:9/v1", "dark")
    assert stored.provider("lab") == replace(LAB, dialect="anthropic")
    assert stored.shortcuts == {"copy": ["Ctrl+C"], "find": []}
    assert command.settings == stored, "it has read what the other one set"


async def test_the_last_one_that_sets_a_field_wins_also_over_a_removal(file: Path) -> None:
    window = Process(file)
    command = Process(file)
    await window.change(with_address("box", "http://127.0.0.1:8/v1"))
    await command.change(with_address("box", "http://127.0.0.1:9/v1"))
    await window.change(lambda settings: settings.with_provider_removed("lab"))
    assert [provider.base_url for provider in SettingsFile(file).load()[0].providers] == [
        "http://127.0.0.1:9/v1"
    ]
    await command.change(with_entry("box", ModelEntry(name="added")))
    assert command.settings.provider("lab") is None, "who only reads it brings nothing back"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(1, 5)), max_size=12))
async def test_no_change_of_either_process_is_lost(steps: list[tuple[bool, int, int]]) -> None:
    """Each step sets one of seven values; the file has each one's last value in the end."""
    edits: list[Callable[[int], Edit]] = [
        lambda value: lambda settings: replace(settings, text_size=10 + value),
        lambda value: lambda settings: replace(settings, fast=f"box/{value}"),
        lambda value: with_address("box", f"http://127.0.0.1:{value}/v1"),
        lambda value: with_address("lab", f"http://127.0.0.2:{value}/v1"),
        lambda value: lambda settings: _with_window(settings, "small", value * 10_000),
        lambda value: lambda settings: _with_window(settings, "large", value * 10_000),
        lambda value: lambda settings: replace(settings, shortcuts={**settings.shortcuts, "copy": [value]}),
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.toml"
        SettingsFile(path).save_now(START)
        processes = Process(path), Process(path)
        expected = START
        for is_second, place, value in steps:
            edit = edits[place](value)
            expected = edit(expected)
            await processes[is_second].change(edit)
        assert SettingsFile(path).load() == (expected, None)


def _with_window(settings: Settings, model: str, tokens: int) -> Settings:
    box = settings.provider("box")
    assert box is not None
    return settings.with_provider(box.with_entry(replace(box.entry(model), window=tokens)))


def test_writers_at_the_same_time_lose_nothing(file: Path) -> None:
    """Ten files as of ten processes: the lock is the only thing between them."""
    names = [f"p{number}" for number in range(10)]
    files = [SettingsFile(file) for _ in names]
    loaded = [each.load()[0] for each in files]
    threads = []
    for name, each, settings in zip(names, files, loaded, strict=True):
        added = settings.with_provider(Provider(name=name, base_url="http://127.0.0.1:1/v1"))
        threads.append(threading.Thread(target=each.save_now, args=(added,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = {provider.name for provider in SettingsFile(file).load()[0].providers}
    assert stored == {"box", "lab", *names}


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


async def test_what_is_written_by_hand_is_read_and_its_comments_stay(file: Path) -> None:
    window = Process(file)
    text = read(file)
    extras = '# for the gateway\nheaders = { X-Title = "Helix" } # mine\n'
    write(file, text.replace('name = "box"\n', f'name = "box"\n{extras}'))
    await window.change(with_entry("box", replace(SMALL, window=9_000)))
    await window.change(with_entry("lab", ModelEntry(name="new")))
    after = read(file)
    assert extras in after
    box = window.settings.provider("box")
    assert box is not None
    assert (box.headers, box.entry("small").window) == ({"X-Title": "Helix"}, 9_000)


async def test_a_mistake_made_by_hand_stays_to_be_corrected_and_counts_for_nothing(file: Path) -> None:
    window = Process(file)
    text = read(file)
    mistake = 'headers = { Authorization = "x" }\n'
    write(file, text.replace('name = "box"\n', f'name = "box"\n{mistake}'))
    error = window.file.find_error()
    assert error is not None
    assert "Authorization" in error.why
    await window.change(with_entry("box", replace(SMALL, window=9_000)))
    assert mistake in read(file)
    box = window.settings.provider("box")
    assert box is not None
    assert (box.headers, box.entry("small").window) == ({}, 9_000)
    write(file, read(file).replace(mistake, ""))
    assert SettingsFile(file).load() == (window.settings, None)


async def test_a_renamed_provider_keeps_what_only_the_file_has(file: Path) -> None:
    window = Process(file)
    own = 'name = "box"\nregion = "eu" # mine\n'
    write(file, read(file).replace('name = "box"\n', own))
    renamed = tuple(replace(each, name="crate") if each.name == "box" else each for each in START.providers)
    await window.change(lambda settings: replace(settings, providers=renamed, model="crate/small"))
    assert own.replace("box", "crate") in read(file)
    assert SettingsFile(file).load() == (replace(START, providers=renamed, model="crate/small"), None)


async def test_a_file_that_is_no_toml_any_more_is_not_replaced(file: Path) -> None:
    window = Process(file)
    write(file, "[[providers]\n")
    with pytest.raises(HelixError, match=r"couldn.t be saved.*damaged") as caught:
        await window.change(lambda settings: replace(settings, theme="dark"))
    assert "line 1" in str(caught.value.why)
    assert read(file) == "[[providers]\n"
    other = file.with_name("other.toml")
    SettingsFile(other).save_now(START)
    shutil.move(other, file)
    await window.change(lambda settings: settings)
    assert SettingsFile(file).load()[0] == replace(START, theme="dark")


async def test_a_file_that_is_gone_is_written_whole(file: Path) -> None:
    window = Process(file)
    os.remove(file)
    await window.change(lambda settings: replace(settings, theme="dark"))
    assert SettingsFile(file).load() == (replace(START, theme="dark"), None)
