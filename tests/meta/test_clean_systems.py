"""The parts of the checks in clean systems: registry settings, tables, stray files."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
import qt_libraries
from check import host, namespace
from check.chroot import Chroot, CommandResult, discard, mounted_below
from check.deb_checks import ran_well
from check.host import Source
from check.model import serving
from check.run import check
from check.script_checks import _command_in
from check.table import Table, Wrong
from check.usage_checks import strays
from environment import SetupFailed

FIELDS = """\
# the usual one
Types: deb deb-src
URIs: http://mirror.invalid/debian
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb-src
URIs: http://source.invalid/debian
Suites: bookworm
Components: main

Enabled: no
Types: deb
URIs: http://off.invalid/debian
Suites: bookworm
Components: main
"""
LINES = """\
# deb http://off.invalid/debian bookworm main
deb [arch=amd64 signed-by=/etc/key.gpg] http://tools.invalid/apt tools-bookworm main
deb http://mirror.invalid/debian bookworm main contrib # all of it
deb-src http://source.invalid/debian bookworm main
"""
MIRROR = Source("http://mirror.invalid/debian", ("bookworm", "bookworm-updates"), ("main", "contrib"))


def test_sources_of_fields_and_of_lines_are_read() -> None:
    """Disabled entries, and deb-src entries, are left out."""
    assert list(host.sources([FIELDS])) == [MIRROR]
    of_tools = Source("http://tools.invalid/apt", ("tools-bookworm",), ("main",))
    plain = Source("http://mirror.invalid/debian", ("bookworm",), ("main", "contrib"))
    assert list(host.sources([LINES, FIELDS])) == [of_tools, plain, MIRROR]


def test_the_mirror_is_that_of_the_systems_own_main() -> None:
    """Not the first address: others have packages, too, but no Debian."""
    assert host.mirror(host.sources([LINES]), "bookworm") == "http://mirror.invalid/debian"
    assert host.mirror(host.sources([LINES]), "trixie") is None


def test_only_variables_for_registries_are_passed_on() -> None:
    """Hooks of this machine's apt, and places on its disk, do not come into a clean system."""
    dump = (
        'Acquire::http::Proxy "http://proxy.invalid:3128";\n'
        'Acquire::Check-Date "false";\n'
        'APT::Update::Post-Invoke:: "appstreamcli refresh";\n'
        'Acquire::Languages "none";\n'
    )
    assert host.apt_settings(dump) == "".join(dump.splitlines(keepends=True)[:2])
    listed = (
        "global.index-url='http://index.invalid/all'\n"
        "global.extra-index-url='file:///srv/wheels http://more.invalid/all'\n"
        "global.find-links='/srv/wheels'\n"
        ":env:.default-timeout='60'\n"
        "global.cert='/srv/ca.crt'\n"
    )
    assert host.pip_settings(listed) == {
        "index-url": "http://index.invalid/all",
        "extra-index-url": "http://more.invalid/all",
        "timeout": "60",
    }


def test_a_table_continues_after_a_failure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each step is listed with its result; Ctrl+C is no failed step."""
    table = Table("deb trixie")
    with table.step("first") as step:
        step.detail = "as | wanted"
    with table.step("second"):
        raise Wrong("exit code 3")
    with pytest.raises(KeyboardInterrupt), table.step("third"):
        raise KeyboardInterrupt
    assert table.failures == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("first: as | wanted")
    assert lines[1].startswith("deb trixie       FAIL")
    table.write(tmp_path / "new" / "table.md")
    assert "| ok | first | as \\| wanted | 0.0 |" in (tmp_path / "new" / "table.md").read_text(
        encoding="utf-8"
    )


def test_files_left_by_a_start_are_reported_apart() -> None:
    """Its own folder may grow; caches of libraries are listed; everything else is wrong."""
    new = {
        "home/ada/.local/share/helix-desktop/settings.toml",
        "home/ada/.cache",
        "home/ada/.cache/fontconfig/x-le64.cache-8",
        "home/ada/.config/helix.ini",
        "tmp/helix-7",
    }
    assert strays(new) == (
        ["/home/ada/.config/helix.ini", "/tmp/helix-7"],
        ["~/.cache/fontconfig (fontconfig)"],
    )


def test_nothing_that_is_mounted_is_deleted(tmp_path: Path) -> None:
    """A folder without mounts is deleted; mounts are found only below its folder."""
    (tmp_path / "room" / "root").mkdir(parents=True)
    discard(tmp_path / "room")
    assert not (tmp_path / "room").exists()
    assert mounted_below(tmp_path) == []
    assert "/proc" in mounted_below(Path("/"))


def test_missing_privileges_are_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that cannot be made is refused before anything is built."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(namespace, "DEBIANS_KEYS", Path("/"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SetupFailed, match=r"needs root\. Call this again with sudo\.$"):
        namespace.prepare()
    monkeypatch.setattr("shutil.which", lambda name: None if name == "debootstrap" else f"/usr/bin/{name}")
    monkeypatch.setattr(qt_libraries, "os_release", lambda: {"ID": "debian"})
    with pytest.raises(SetupFailed, match=r"sudo apt-get install -y --no-install-recommends debootstrap$"):
        namespace.prepare()


def test_an_unknown_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and the list of commands."""
    assert check(["sarge"]) == 2
    assert "not 'sarge'" in capsys.readouterr().err


def test_a_chroot_reports_how_a_command_ended(tmp_path: Path) -> None:
    """The code, and the end of the output."""
    done = Chroot(tmp_path, "bookworm").run("true")  # nothing is in there, and only root may go there
    with pytest.raises(Wrong, match=r"^exit code \d+ instead of 0: "):
        done.must()
    assert done.must(done.code) is done


def test_the_printed_command_is_extracted() -> None:
    """One line, one command; a second line is wrong."""
    line = "helix: no suitable Python was found. Run this again:  sudo apt-get install -y python3\n"
    assert _command_in(CommandResult(1, line, 0.1)) == "apt-get install -y python3"
    with pytest.raises(Wrong):
        _command_in(CommandResult(1, f"{line}and more\n", 0.1))


def test_only_a_complete_self_check_counts() -> None:
    """Its report is returned; anything but all parts is wrong."""
    well = (
        "ok    versions       Helix Desktop 1\nok    window         xcb, 5 font families\nall checks passed\n"
    )
    assert ran_well(well) == "Helix Desktop 1; xcb, 5 font families"
    with pytest.raises(Wrong):
        ran_well("ok    versions       Helix Desktop 1\nFAIL  window  no display\n1 of 9 checks failed\n")


def test_the_model_runs_one_command_and_ends() -> None:
    """The second request has the output of the command."""
    with serving("env") as model:
        messages = [{"role": "user", "content": "What is set?"}]
        assert '\\"command\\": \\"env\\"' in _posted(model.address, messages)
        messages += [{"role": "assistant"}, {"role": "tool", "content": "PATH=/bin"}]
        assert "Done." in _posted(model.address, messages)
    assert model.outputs() == ["PATH=/bin"]


def _posted(address: str, messages: list[dict[str, str]]) -> str:
    body = json.dumps({"messages": messages, "tools": [{"type": "function"}], "stream": True}).encode()
    request = urllib.request.Request(
        f"{address}/chat/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        text: str = reply.read().decode().replace('\\\\"', '\\"')
    assert text.endswith("data: [DONE]\n\n")
    return text
