"""The diagnostics bundle: what is in it, and what never is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from helix_desktop.config.paths import LOG_FILE, DataDir
from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.diagnostics import (
    FILE_NAMES,
    MAX_LOG_LINES,
    Diagnostics,
    DiagnosticsFile,
    write_bundle,
)

KEY = "plain-words-as-key"
HEADER = "team-red-9931"
BODY = "routing-word-77"
NAMES = ("acme", "llm.example.org", "inhouse-7", "orchard")


async def test_the_bundle_is_readable_and_holds_no_secrets_and_names_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIX_LANGUAGE", "xx")
    data = DataDir(tmp_path / "home" / "data")
    data.ensure()
    folder = tmp_path / "home" / "orchard"
    folder.mkdir()
    services = AppServices(data, {"ACME_KEY": KEY, "HELIX_ACME_KEY": KEY})
    record = services.registry.add(folder)
    services.settings = Settings(
        model="acme/inhouse-7",
        providers=(
            Provider(
                name="acme",
                base_url="https://ada:pw1234@llm.example.org/v1?tenant=secret1",
                models=(ModelEntry(name="inhouse-7"),),
                headers={"X-Team": HEADER},
                body={"route": {"to": [BODY]}},
            ),
        ),
    )
    line = f"ERROR acme inhouse-7 at llm.example.org: {KEY} {HEADER} {BODY} {folder}/a.py ada@example.net"
    (data.logs_dir / LOG_FILE).write_text("old line\n" * 2 + f"{line}\n" * MAX_LOG_LINES, encoding="utf-8")
    diagnostics = Diagnostics(services, tmp_path / "home", (("Qt", "6.1"),))
    try:
        plain = {file.name: file.text for file in await diagnostics.collect(with_names=False)}
        named = {file.name: file.text for file in await diagnostics.collect(with_names=True)}
        report = await diagnostics.self_check_file(f'{{"text": "{tmp_path}/home/x {KEY}"}}', with_names=False)
    finally:
        await services.close()
    secrets = (KEY, HEADER, BODY, "pw1234", "secret1", "ada@example.net", str(tmp_path / "home"))
    for texts, removed in ((plain, (*secrets, *NAMES)), (named, secrets)):
        whole = "\n".join(texts.values())
        assert [word for word in removed if word in whole] == []
    assert {*plain, report.name} == set(FILE_NAMES)
    assert json.loads(report.text) == {"text": "~/x [removed]"}
    for name in NAMES:
        assert name in named["settings.json"]
    settings = json.loads(plain["settings.json"])
    assert settings["model"] == "provider 1/model 1"
    assert settings["providers"][0]["key_place"] == "environment"
    assert json.loads(plain["policies.json"])["workspace 1"]["profile"] == "balanced"
    assert json.loads(plain["storage.json"])["workspace 1"]["is_open"] is False
    assert plain["versions.txt"].startswith("Helix Desktop ")
    assert "Data folder: ~/data" in plain["versions.txt"]
    assert "Language: en (unknown in HELIX_LANGUAGE: xx)" in plain["versions.txt"]
    assert "old line" not in plain["log.txt"]
    assert "provider 1 model 1 of provider 1 at host of provider 1" in plain["log.txt"]
    assert record.id in plain["settings.json"]


def test_a_bundle_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "report.zip"
    write_bundle(place, [DiagnosticsFile("log.txt", "a line \udc80")])
    with zipfile.ZipFile(place) as bundle:
        assert bundle.read("log.txt") == b"a line ?"
    assert list(tmp_path.iterdir()) == [place]
    with pytest.raises(HelixError, match="couldn't be saved"):
        write_bundle(tmp_path / "missing" / "report.zip", [])
