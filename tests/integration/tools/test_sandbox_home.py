"""What commands see of the home folder, with each sandbox that works here, and how files are looked at."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import pytest

from helix_desktop.permissions.home_folder import home_names
from helix_desktop.system.home import NO_HOME
from helix_desktop.tools.shell.file_lookups import FileLookups, read_text
from helix_desktop.tools.shell.sandbox_bubblewrap import make_mount_point
from helix_desktop.tools.shell.sandbox_detect import SandboxProvider
from tests.support.git_checkouts import git
from tests.support.sandbox_rig import SandboxRig, write_file
from tests.support.tool_rig import make_call, make_tools

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sandboxes are for POSIX systems")

PATH = {"PATH": os.environ["PATH"]}
KEY_PLACES = (
    ".bashrc", ".zshrc", ".profile", ".env", ".envrc", ".netrc", ".wgetrc", ".curlrc", ".npmrc", ".pypirc",
    ".yarnrc.yml", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".ssh/id_rsa",
    ".config/glab-cli/config.yml", ".config/github-copilot/apps.json", ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json", ".config/opencode/opencode.json", ".claude/settings.json",
    ".claude.json", ".codex/auth.json", ".cursor/mcp.json", ".config/containers/auth.json",
    ".docker/config.json", ".kube/config", ".aws/credentials", ".azure/msal_token_cache.json",
    ".config/gcloud/access_tokens.db", ".cargo/credentials.toml", ".cargo/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".config/pip/pip.conf", ".cache/huggingface/token", ".terraformrc",
    ".terraform.d/credentials.tfrc.json", ".vault-token", ".pgpass", ".my.cnf", ".gnupg/secring.gpg",
    ".local/share/keyrings/login.keyring", ".mozilla/firefox/logins.json", ".config/rclone/rclone.conf",
    ".bash_history", ".rye/credentials", ".local/share/uv/credentials/credentials.toml", ".config/unheard-of",
    ".unheard-of/token", "Documents/passwords.txt", "keys.txt", ".cache/unheard-of/token",
    ".local/share/unheard-of/auth.json", ".julia/servers/a/auth.toml", ".pub-cache/credentials.json",
    ".composer/auth.json", ".platformio/appstate.json", ".conan2/credentials.json", ".hex/hex.config",
    ".ssh/id_ed25519", "data/settings.toml", "notes.txt",
)  # fmt: skip


async def test_no_place_with_keys_in_the_home_can_be_read(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    for name in KEY_PLACES:
        write_file(home, name, "key-4711\n")
    listed = "\n".join(f"cat '{home}/{name}'" for name in KEY_PLACES)
    text = await sandbox_rig.text(
        f"{listed}\ncat ~/.bashrc; grep -rs 4711 {home} --exclude-dir=work; echo end"
    )
    assert "key-4711" not in text
    assert text.endswith("end\n")


async def test_keys_stay_hidden_where_the_workspace_is_the_home(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    dotted = tuple(name for name in KEY_PLACES if name.startswith("."))
    for name in dotted:
        write_file(home, name, "key-4711\n")
    write_file(home, ".gitconfig", "[user]\n\tname = Ann\n[github]\n\ttoken = key-4711\n")
    sandbox_rig.box = sandbox_rig.tools(home)
    listed = "\n".join(f"cat '{name}'" for name in (*dotted, ".gitconfig"))
    moved = (
        "mv .ssh/id_rsa .netrc work; ln .netrc work/key; mv .ssh .now; ln -s .netrc k; cat .now/* work/* k"
    )
    text = await sandbox_rig.text(f"{listed}\ngrep -rs 4711 .; {moved}; cat notes.txt; echo new > made.txt")
    assert "key-4711" not in text
    assert "in notes.txt" in text
    assert "4711" not in await sandbox_rig.text("grep -rs 4711 .; echo end")
    assert await sandbox_rig.text("cat made.txt; cd work; mkdir new; echo 1 > new/a; cat new/a") == "new\n1\n"
    assert (home / ".netrc").read_text() == "key-4711\n"


@pytest.mark.parametrize("is_checkout", [False, True])
async def test_hidden_files_of_a_home_are_not_moved_or_linked_into_sight(
    sandbox_rig: SandboxRig, is_checkout: bool
) -> None:
    """Under a name that is not hidden the next command would read them, with a network or without one."""
    home = sandbox_rig.home
    names = (".ssh/id_rsa", ".netrc", ".config/gh/hosts.yml", ".local/share/keyrings/login.keyring")
    for name in names:
        write_file(home, name, "key-4711\n")
    write_file(home, ".config/git/config", "[user]\n\tname = Ann\n[github]\n\ttoken = key-4711\n")
    if is_checkout:
        await asyncio.to_thread(git, home, "init", "-q")
    sandbox_rig.box = sandbox_rig.tools(home)
    moves = (
        "mv .ssh/id_rsa a", "mv .ssh b", "mv .netrc c", "ln .netrc d", "ln .ssh/id_rsa e", "mv .config/gh f",
        "mv .config/gh .config/g", "mv .config/git h", "mv .config i", "mv .local/share/keyrings j",
        "mv .local/share k", "mv .local l", "mv .config/git/config .config/git/m",
    )  # fmt: skip
    for script in ("; ".join(moves), "true"):
        for network in (False, True):  # each command looks for what the one before it moved
            text = await sandbox_rig.text(f"grep -rs 4711 .; {script}; echo end", network=network)
            assert "key-4711" not in text, text
            assert text.endswith("end\n")
    for name in names:
        assert (home / name).read_text() == "key-4711\n"


async def test_a_checkout_that_is_the_home_stays_whole_but_for_known_keys(bubblewrap_rig: SandboxRig) -> None:
    home = bubblewrap_rig.home
    for name in (".vimrc", ".ssh/id_rsa", ".gemini/oauth_creds.json"):
        write_file(home, name, "mine-4711\n")
    await asyncio.to_thread(git, home, "init", "-q")
    bubblewrap_rig.box = bubblewrap_rig.tools(home)
    assert "mine-4711" in await bubblewrap_rig.text("cat .vimrc")
    assert "mine-4711" not in await bubblewrap_rig.text("cat .ssh/id_rsa .gemini/oauth_creds.json")


async def test_shared_memory_can_be_used_but_not_listed(sandbox_rig: SandboxRig) -> None:
    """With bubblewrap it is the command's own."""
    code = (
        "from multiprocessing import Lock, shared_memory as s; Lock(); "
        "m = s.SharedMemory(create=True, size=9); m.buf[0] = 7; "
        "n = s.SharedMemory(m.name); print(n.buf[0]); n.close(); m.close(); m.unlink()"
    )
    assert "7\n" in await sandbox_rig.text(f'python3 -c "{code}"')
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as other:
        name = os.path.basename(other.name)
        assert name not in await sandbox_rig.text("ls /dev/shm; echo end")


async def test_sockets_in_the_home_are_out_of_reach(sandbox_rig: SandboxRig) -> None:
    path = sandbox_rig.home / ".agent.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r}); print('rea' + 'ched')"
        for network in (False, True)[: 1 + (sandbox_rig.sandbox.network_reach != "programs")]:
            text = await sandbox_rig.text(f'python3 -c "{code}"', network=network)
            assert "reached" not in text
            assert "Error" in text


async def test_what_is_written_to_the_home_goes_to_a_copy(bubblewrap_rig: SandboxRig) -> None:
    """It is there for later commands of the workspace; not for others, and never in the home."""
    home = bubblewrap_rig.home
    write_file(home, ".cargo/registry/a", "crate\n")
    before = sorted(home.rglob("*"))
    made = "mkdir -p ~/.cache/tool ~/.cargo/new && echo kept > ~/.cache/tool/a && echo lock > ~/.cargo/.lock"
    assert (await bubblewrap_rig.run(f"HOME={home}; {made}")).ok
    assert await bubblewrap_rig.text(f"cat {home}/.cache/tool/a {home}/.cargo/.lock") == "kept\nlock\n"
    assert await bubblewrap_rig.text(f"cat {home}/.cargo/registry/a") == "crate\n"
    assert sorted(home.rglob("*")) == before
    other = home / "other"
    other.mkdir()
    result = await bubblewrap_rig.tools(other).run(
        make_call("run_command", command=f"cat {home}/.cache/tool/a")
    )
    assert not result.ok


async def test_a_link_in_the_copy_leads_no_mount_out_of_it(bubblewrap_rig: SandboxRig) -> None:
    home = bubblewrap_rig.home
    outside = home / "outside"
    outside.mkdir()
    for target in (f"/oldroot{outside}", str(outside)):
        await bubblewrap_rig.run(f"rm -rf {home}/.cargo {home}/.gitconfig; ln -s {target} {home}/.cargo")
        await bubblewrap_rig.run(f"ln -sf {target}/made {home}/.gitconfig; ln -sf {target} {home}/.npm")
        write_file(home, ".cargo/registry/a", "crate\n")
        write_file(home, ".npm/_cacache/a", "package\n")
        write_file(home, ".gitconfig", "[user]\n\tname = Ann\n")
        assert await bubblewrap_rig.text(
            f"cat {home}/.cargo/registry/a; git config -f {home}/.gitconfig user.name"
        ) == ("crate\nAnn\n")
        moved = f"mv {home}/.cargo {home}/x || rm -rf {home}/.cargo; ln -s {target} {home}/.cargo"
        await bubblewrap_rig.run(moved)
        assert await bubblewrap_rig.text(f"cat {home}/.cargo/registry/a") == "crate\n"
        shutil.rmtree(home / ".cargo")
        shutil.rmtree(home / ".npm")
    assert list(outside.iterdir()) == []


async def test_a_hidden_file_is_named_where_a_command_fails(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    name = f"; hidden by the sandbox: {home}/notes.txt; "

    async def header(command: str) -> str:
        return (await sandbox_rig.run(command)).content.decode().partition("\n")[0]

    assert name in await header(f"cat {home}/notes.txt")
    assert name in await header("cat ../notes.txt")
    assert "hidden by" not in await header(f"cat {home}/not-there.txt")
    assert "hidden by" not in await header("cat no.txt; echo /etc/passwd; false")
    assert "hidden by" not in await header(f"cat {home}/notes.txt || true")


async def test_programs_of_version_managers_run(sandbox_rig: SandboxRig) -> None:
    """By stand-ins at the places of pyenv, nvm, rustup, pipx, and others; links are followed."""
    home = sandbox_rig.home
    programs = (
        ".pyenv/versions/3.12/bin/tool", ".nvm/versions/node/v20/bin/tool", ".cargo/bin/tool",
        ".rustup/toolchains/stable/bin/tool", ".local/bin/tool", "go/bin/tool", ".bun/bin/tool",
        ".sdkman/candidates/java/17/bin/tool", "miniconda3/envs/a/bin/tool", ".asdf/shims/tool",
        ".local/share/mise/installs/node/20/bin/tool", ".volta/bin/tool",
        ".local/share/pipx/venvs/a/bin/tool",
    )  # fmt: skip
    for name in programs:
        write_file(home, name, "#!/bin/sh\necho ran $0\n").chmod(0o755)
    write_file(home, "elsewhere/pyenv/versions/3.11/bin/tool", "#!/bin/sh\necho ran $0\n").chmod(0o755)
    (home / ".rbenv").symlink_to(home / "elsewhere/pyenv")
    linked = f"{home}/.rbenv/versions/3.11/bin/tool"
    if sandbox_rig.sandbox.kind == "landlock":  # a link itself is followed by the kernel
        linked = f"{home}/elsewhere/pyenv/versions/3.11/bin/tool"
    for path in (*(f"{home}/{name}" for name in programs), linked):
        assert await sandbox_rig.text(path) == f"ran {path}\n"


async def test_programs_of_the_path_run_with_their_installation(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    write_file(home, "tools/app/bin/tool", "#!/bin/sh\ncat $(dirname $0)/../lib/words\n").chmod(0o755)
    write_file(home, "tools/app/lib/words", "from its lib\n")
    write_file(home, "opt/node/bin/linked", "#!/bin/sh\necho linked\n").chmod(0o755)
    write_file(home, "opt/node/lib/x", "")
    (home / "bin").mkdir()
    (home / "bin/linked").symlink_to(home / "opt/node/bin/linked")
    environ = {**os.environ, "PATH": f"{home}/tools/app/bin:{home}/bin:{os.environ['PATH']}"}
    sandboxes = SandboxProvider(lambda: sandbox_rig.sandbox, home, environ=environ)
    box = make_tools(sandbox_rig.root, sandbox_provider=sandboxes, environ=environ)
    result = await box.run(make_call("run_command", command="tool && linked"))
    assert result.content.decode().endswith("from its lib\nlinked\n")
    assert not (await box.run(make_call("run_command", command=f"cat {home}/notes.txt"))).ok


async def test_a_commit_has_the_name_of_the_users_configuration(bubblewrap_rig: SandboxRig) -> None:
    """Lines with keys are left out, also of files that it includes."""
    home = bubblewrap_rig.home
    config = "[include]\n\tpath = ~/.config/me.inc\n[github]\n\tuser = ann\n\ttoken = key-4711\n"
    extra = '[url "https://ann:key-4711@example.org/"]\n\tinsteadOf = x\n[alias]\n\tst = status\n'
    write_file(home, ".gitconfig", config + extra)
    write_file(home, ".config/me.inc", "[user]\n\tname = Ann Author\n\temail = ann@example.org\n")
    text = await bubblewrap_rig.text(
        "git init -q . && git add -A && git commit -qm one && git log -1 --format=%an && cat ~/.gitconfig"
    )
    assert "Ann Author" in text
    assert "st = status" in text
    assert "key-4711" not in text


@pytest.mark.parametrize("is_home", [False, True])
@pytest.mark.parametrize(
    ("place", "other"), [(".gitconfig", ".config/git/config"), (".config/git/config", ".gitconfig")]
)
async def test_git_runs_where_a_part_of_its_configuration_is_hidden(
    sandbox_rig: SandboxRig, place: str, other: str, is_home: bool
) -> None:
    """It reads both places, and what they include, without the keys."""
    home = sandbox_rig.home
    write_file(home, place, "[include]\n\tpath = more.inc\n[github]\n\ttoken = key-4711\n")
    included = (home / place).with_name("more.inc")
    included.write_text("[user]\n\tname = Ann Author\n[http]\n\tcookieFile = key-4711\n")
    write_file(home, other, "[user]\n\temail = ann@example.org\n")
    if is_home:
        sandbox_rig.box = sandbox_rig.tools(home)
    folder = "work/new" if is_home else "new"
    text = await sandbox_rig.text(
        f"git init -q {folder}; cd {folder} && git commit -q --allow-empty -m one; "
        "git log -1 --format='%an %ae'; git config -l"
    )
    assert "Ann Author ann@example.org" in text
    assert "key-4711" not in text


async def test_an_environment_outside_the_workspace_can_be_used(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "venv", "--without-pip", str(home / "venvs/app")], check=True
    )
    write_file(sandbox_rig.root, "test_a.py", "print('passed')\n")
    assert "passed" in await sandbox_rig.text(f". {home}/venvs/app/bin/activate && python test_a.py")


async def test_projects_that_this_one_builds_with_are_seen_without_their_keys(
    sandbox_rig: SandboxRig,
) -> None:
    home = sandbox_rig.home
    root = sandbox_rig.root
    write_file(home, "lib/Cargo.toml", "[package]\n")
    write_file(home, "lib/src/lib.rs", "words\n")
    write_file(home, "lib/.env", "key-4711\n")
    write_file(home, ".config/tool/package.json", "key-4711\n")
    write_file(home, "private/words", "key-4711\n")
    write_file(root, "Cargo.toml", '[dependencies]\nlib = { path = "../lib" }\n')
    write_file(
        root, "package.json", '{"dependencies": {"a": "file:../.config/tool", "b": "file:../private"}}'
    )
    (root / "link").symlink_to(home / ".config/tool")
    assert await sandbox_rig.text("cat ../lib/src/lib.rs") == "words\n"
    text = await sandbox_rig.text(
        "cat ../lib/.env ../.config/tool/package.json ../private/words link/*; echo end"
    )
    assert "key-4711" not in text


async def test_no_link_or_file_of_the_workspace_shows_more_of_the_home(bubblewrap_rig: SandboxRig) -> None:
    """As a confined command may leave them: an interpreter, a git folder, a package, a link."""
    home = bubblewrap_rig.home
    root = bubblewrap_rig.root
    keys = (".local/share/tool/auth.json", ".cfg/objects/key", "Documents/key", "other/key", ".tool/key")
    for name in keys:
        write_file(home, name, "key-4711\n")
    for name in (
        ".local/lib/python3.11/x",
        "Documents/lib/python3.11/x",
        ".local/bin/tool",
        "Documents/bin/tool",
    ):
        write_file(home, name, "")
    write_file(home, ".cfg/HEAD", "ref: refs/heads/main\n")
    write_file(home, ".tool/package.json", "{}")
    write_file(root, ".git", f"gitdir: {home}/.cfg\n")
    write_file(root, "package.json", '{"a": "file:../other", "b": "file:../.tool", "c": "file:../Documents"}')
    (root / "link").symlink_to(home / ".tool")
    for number, target in enumerate((".local/bin/tool", "Documents/bin/tool")):
        write_file(root, f"{('.venv', 'venv')[number]}/pyvenv.cfg", "")
        python = root / ("venv" if number else ".venv") / "bin/python"
        python.parent.mkdir()
        python.symlink_to(home / target)
    text = await bubblewrap_rig.text("\n".join(f"cat {home}/{name}" for name in keys))
    assert "key-4711" not in text


async def test_a_part_of_a_checkout_and_a_worktree_know_their_repository(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    root = sandbox_rig.root
    part = home / "mono/part"

    def prepare() -> None:
        part.mkdir(parents=True)
        git(home / "mono", "init", "-q")
        git(home / "mono", "commit", "-qm", "one", "--allow-empty")
        git(home / "mono", "worktree", "add", "-q", str(root / "tree"))
        shutil.move(root / "tree", home / "tree")
        git(home / "mono", "worktree", "repair", str(home / "tree"))

    await asyncio.to_thread(prepare)
    for folder in (part, home / "tree"):
        box = sandbox_rig.tools(folder)
        result = await box.run(make_call("run_command", command="git log --format=%s"))
        assert result.content.decode().endswith("\none\n"), result.content


async def test_the_users_list_decides_what_is_seen(sandbox_rig: SandboxRig) -> None:
    home = sandbox_rig.home
    write_file(home, ".pyenv/version", "3.12\n")
    names = home_names(("~/.tool", "../..", "/etc", ""), (".pyenv",))
    write_file(home, ".tool/words", "seen\n")
    sandboxes = SandboxProvider(lambda: sandbox_rig.sandbox, home, home_names=lambda: names, environ={})
    box = make_tools(sandbox_rig.root, sandbox_provider=sandboxes)
    assert (await box.run(make_call("run_command", command=f"cat {home}/.tool/words"))).ok
    assert not (await box.run(make_call("run_command", command=f"cat {home}/.pyenv/version"))).ok


@pytest.mark.parametrize("seed", range(20))
def test_links_are_resolved_as_the_system_does(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    top = Path(os.path.realpath(tmp_path))
    names = ["a", "b", "c", "d"]
    for _ in range(12):
        place = top.joinpath(*random.choices(names, k=random.randint(1, 3)))
        if place.parent.is_dir() and not os.path.lexists(place):
            target = "/".join(random.choices([*names, "..", "."], k=random.randint(1, 4)))
            if random.random() < 0.5:
                place.mkdir()
            else:
                place.symlink_to(target if random.random() < 0.7 else top / target)
    lookups = FileLookups()
    for _ in range(300):
        path = f"{top}/{'/'.join(random.choices([*names, '..', '.', ''], k=random.randint(1, 5)))}"
        if os.path.exists(path):
            assert lookups.mode(path) == os.stat(path).st_mode, path
            assert lookups.real_path(path) == os.path.realpath(path), path
        elif lookups.mode(path):  # by leaving out `nothing/..`, as in `os.path.realpath`
            assert lookups.real_path(path) == os.path.realpath(path), path


def test_odd_files_are_read_as_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    lookups = FileLookups()
    odd = ("pipe", "loop", "nothing", "a\0b", "\udcff\ud800", "/".join("a" * 4_000), "x" * 5_000)
    for name in odd:
        path = f"{tmp_path}/{name}"
        assert (read_text(path), lookups.entries(path)) == ("", ())
        assert not lookups.is_file(path)
        assert lookups.real_path(path)


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap runs on Linux alone")
@pytest.mark.parametrize("is_folder", [True, False], ids=["folder", "file"])
@pytest.mark.parametrize("place", ["a/b", "a/b/point"])
@pytest.mark.parametrize("planted", ["nothing", "link", "link to nothing", "file", "folder"])
def test_what_stands_in_the_place_of_a_mount_is_replaced(
    tmp_path: Path, planted: str, place: str, is_folder: bool
) -> None:
    home = tmp_path / "home"
    outside = tmp_path / "outside"
    outside.mkdir()
    (home / place).parent.mkdir(parents=True)
    match planted:
        case "link":
            (home / place).symlink_to(outside)
        case "link to nothing":
            (home / place).symlink_to(outside / "nothing")
        case "file":
            (home / place).write_text("planted")
        case "folder":
            (home / place / "inner").mkdir(parents=True)
    make_mount_point(home, ("a", "b", "point"), is_folder)
    point = home / "a/b/point"
    assert not (home / "a/b").is_symlink()
    assert not point.is_symlink()
    assert point.is_dir() if is_folder else point.is_file()
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "has_account"),
    [
        *((variable, False) for variable in ("", "/", "home", "/dev/null", "/etc/hostname", "/nonexistent")),
        *(("", True), ("/nonexistent/home", True)),
    ],
)
async def test_commands_run_where_home_is_no_folder(
    sandbox_rig: SandboxRig, tmp_path: Path, variable: str, has_account: bool
) -> None:
    """Each failed, as the sandbox could not make the place where the home is mounted."""
    account = tmp_path / "account"
    account.mkdir()
    known = account if has_account else NO_HOME
    rig = sandbox_rig
    environ = {"HOME": variable, **PATH}
    rig.sandboxes = SandboxProvider(lambda: rig.sandbox, known, environ=environ)
    rig.box = make_tools(rig.root, sandbox_provider=rig.sandboxes, environ=environ)
    write = "" if has_account else "touch made && ls &&"
    result = await rig.run(f"cd ~ && {write} pwd && touch $OLDPWD/here && date > /dev/null")
    assert result.ok, result.content.decode()
    lines = result.content.decode().splitlines()[1:]
    assert lines == [str(account)] if has_account else lines[0] == "made"
    assert (rig.root / "here").exists()
    (rig.root / "notes.txt").write_text("read\n")
    assert (await rig.read("cat notes.txt")).content.endswith(b"read\n")
