"""The workspace registry: one record per folder, whoever adds it, and rules that stay with it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from helix_desktop.config.paths import resources_dir
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.errors import HelixError, InvalidInput, SettingsUnreadable
from helix_desktop.domain.tools import ANY, ApprovalRequest, PermissionRule
from helix_desktop.permissions.rules import suggest_server_rules
from helix_desktop.services.samples import add_sample
from helix_desktop.workspaces.auto_run_files import find_auto_run_files
from helix_desktop.workspaces.registry import RECORD_FILE, WorkspaceRegistry
from helix_desktop.workspaces.saved_rules import DEMO_RULES, SavedRules

ROOT = Path(__file__).resolve().parents[3]
ADDING = """
import sys
import tomllib
from pathlib import Path
from helix_desktop.workspaces.registry import WorkspaceRegistry
registry = WorkspaceRegistry(Path(sys.argv[1]), lambda: 1)
print("ready", flush=True)
sys.stdin.readline()
print(registry.add(Path(sys.argv[2])).id)
"""
REQUEST = ApprovalRequest("c1", "run_command", "rm -r x", "", "", PermissionRule("run_command", "rm -r x"))


def registry_at(folder: Path) -> WorkspaceRegistry:
    """Return the registry as a process reads it at startup."""
    return WorkspaceRegistry(folder / "data" / "workspaces", lambda: 1)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def test_concurrent_processes_that_add_a_folder_create_one_workspace(
    tmp_path: Path, project: Path
) -> None:
    args = (sys.executable, "-c", ADDING, str(tmp_path / "data" / "workspaces"), str(project))
    pipe = asyncio.subprocess.PIPE
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    adding = [
        await asyncio.create_subprocess_exec(*args, stdin=pipe, stdout=pipe, env=environ) for _ in range(3)
    ]
    for process in adding:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    ids = {(await process.communicate(b"go\n"))[0].strip() for process in adding}
    assert len(ids) == 1
    assert len(registry_at(tmp_path).list_workspaces()) == 1


def test_a_change_by_another_process_is_preserved(tmp_path: Path, project: Path) -> None:
    first = registry_at(tmp_path)
    identity = first.add(project).id
    registry_at(tmp_path).change(identity, rules=(PermissionRule("run_command", "make"),))
    file = first.data_folder(identity) / RECORD_FILE
    file.write_text("future = 1\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    first.change(identity, name="renamed")
    assert "future = 1" in file.read_text(encoding="utf-8"), "of a newer version"
    stored = registry_at(tmp_path).get(identity)
    assert (stored.name, stored.rules) == ("renamed", (PermissionRule("run_command", "make"),))


def test_a_link_to_a_folder_is_the_same_workspace(tmp_path: Path, project: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    registry = registry_at(tmp_path)
    assert registry.add(tmp_path / "link") == registry.add(project)


def test_a_folder_is_the_same_workspace_in_any_case(tmp_path: Path, project: Path) -> None:
    upper = project.with_name(project.name.upper())
    if not upper.exists():
        pytest.skip("its file system tells names by their case")
    registry = registry_at(tmp_path)
    assert registry.add(upper) == registry.add(project)


def test_no_workspace_has_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("its file system has no such names")
    with pytest.raises(InvalidInput, match="isn't valid UTF-8"):
        registry_at(tmp_path).add(folder)


def test_no_workspace_may_be_inside_the_data_of_all_workspaces(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    record = registry.add(project)
    (tmp_path / "link").symlink_to(tmp_path / "data" / "workspaces")
    data = tmp_path / "data"
    for inside in (data, data / "workspaces", registry.data_folder(record.id), tmp_path / "link"):
        with pytest.raises(HelixError, match="can't be a workspace"):
            registry.add(inside)
        with pytest.raises(HelixError, match="can't be a workspace"):
            registry.relocate(record.id, inside)


def test_two_workspaces_never_share_a_folder(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    (tmp_path / "other").mkdir()
    other = registry.add(tmp_path / "other")
    registry.add(project)
    with pytest.raises(HelixError, match="is the folder of the workspace project"):
        registry.relocate(other.id, project)


def test_a_folder_is_trusted_when_the_user_says_so(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    record = registry.add(project)
    assert not record.trusted
    assert registry.add(project, trusted=True).trusted
    assert registry.add(project).trusted, "adding it again takes no trust away"
    registry.remove(record.id)
    assert registry_at(tmp_path).add(project).trusted
    (tmp_path / "elsewhere").mkdir()
    assert not registry.relocate(record.id, tmp_path / "elsewhere").trusted
    assert not registry_at(tmp_path).get(record.id).trusted


def test_a_record_that_says_nothing_of_trust_is_not_trusted(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    record = registry.add(project, trusted=True)
    file = registry.data_folder(record.id) / "workspace.toml"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("trusted")]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert not registry_at(tmp_path).get(record.id).trusted


def test_skills_are_named_as_what_the_agent_follows(project: Path) -> None:
    """By their folders' names, at most forty; not through a link out of the workspace."""
    (project / ".agents/skills/task-00").mkdir(parents=True)
    (skills,) = find_auto_run_files(project)
    assert skills.effect == "skills that your model may follow: task-00"
    for number in range(1, 41):
        (project / f".agents/skills/task-{number:02}").mkdir()
    (project / ".agents/skills/README.md").touch()
    (project / ".agents/skills/task-00/SKILL.md").symlink_to("nowhere")
    (project.parent / "skills" / "outside").mkdir(parents=True)
    (project / ".claude").symlink_to(project.parent)
    skills, *others = find_auto_run_files(project)
    assert (skills.path, skills.is_followed) == (".agents/skills", True)
    assert skills.effect.startswith("skills that your model may follow: task-00, task-01, ")
    assert skills.effect.endswith("task-39 and 1 more")
    assert [file.path for file in others] == [".claude"]
    (project / ".claude").unlink()
    (project / ".claude").symlink_to(".agents")
    assert [file.path for file in find_auto_run_files(project)] == [
        ".agents/skills",
        ".claude/skills",
        ".claude",
    ]


def test_auto_run_files_are_named_but_not_opened(project: Path) -> None:
    assert find_auto_run_files(project) == ()
    (project / ".git" / "hooks").mkdir(parents=True)
    for name in ("pre-commit", "pre-push.sample"):
        (project / ".git" / "hooks" / name).write_text("exit 1", encoding="utf-8")
    os.mkfifo(project / "Makefile")  # would block a reader
    (project / ".envrc").symlink_to("nowhere")
    os.mkfifo(project / "AGENTS.md")
    for name in ("shop.code-workspace", "lefthook.yml", "lefthook.go", ".hg"):
        (project / name).touch()
    (project / "CLAUDE.md").write_text("@AGENTS.md", encoding="utf-8")
    assert [(file.path, file.effect) for file in find_auto_run_files(project)] == [
        ("AGENTS.md", "instructions that go to your model with every request"),
        ("CLAUDE.md", "instructions that go to your model with every request"),
        (".git/hooks", "programs that git runs: pre-commit"),
        (".envrc", "sets the environment of every shell in the folder"),
        ("lefthook.yml", "programs that git runs on commits"),
        (".hg", "programs that version control runs on every command"),
        ("shop.code-workspace", "tasks that an editor runs"),
        ("Makefile", "commands that make runs"),
    ]
    assert find_auto_run_files(project / "nowhere") == ()


def test_a_sample_asks_until_all_its_calls_are_allowed_and_always_for_other_models(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    record = add_sample(registry, tmp_path / "samples", "pagemill")
    assert record.trusted
    assert record.rules == (), "nobody agreed to anything"
    saved = SavedRules(registry, record.id)
    assert saved.rules(demo=True) == ()
    assert saved.offers_demo_calls()
    assert saved.allow_demo_calls()
    assert not saved.offers_demo_calls()
    assert saved.rules(demo=True) == DEMO_RULES
    assert saved.rules() == ()
    saved.set_demo_calls("ask")
    assert saved.rules(demo=True) == ()
    assert not saved.offers_demo_calls(), "the user wants to be asked each time"


async def test_a_rule_is_saved_once_with_its_time_and_replaces_one_with_the_same_text(
    tmp_path: Path, project: Path
) -> None:
    registry = registry_at(tmp_path)
    saved = SavedRules(registry, registry.add(project).id)
    make = PermissionRule("run_command", "make")
    server = PermissionRule("mcp__shelf__dump", ANY, definition="f00d")
    for rule in (make, server, make):
        await saved.add(rule)
    saved_make, saved_server = saved.rules()
    assert (saved_make.subject, saved_make.saved, saved_server.definition) == ("make", 1, "f00d")
    saved.restore(msgspec.structs.replace(make, saved=7))
    assert saved.rules() == (saved_make, saved_server)
    await saved.add(msgspec.structs.replace(server, definition="beef"))
    assert [rule.definition for rule in saved.rules()] == ["", "beef"]
    saved.revoke(saved_make)
    saved.restore(msgspec.structs.replace(make, saved=7))
    assert [rule.saved for rule in saved.rules()] == [1, 7], "a rule that is restored keeps its time"


def test_a_sample_of_a_read_only_program_is_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = tmp_path / "resources"
    shutil.copytree(resources_dir() / "demo" / "pagemill", resources / "demo" / "pagemill")
    for path in (*resources.rglob("*"), resources):
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setattr("helix_desktop.services.samples.resources_dir", lambda: resources)
    add_sample(registry_at(tmp_path), tmp_path / "samples", "pagemill")
    copied = tmp_path / "samples" / "pagemill"
    assert all(path.stat().st_mode & 0o200 for path in (copied, *copied.rglob("*")))
    for path in (resources, *resources.rglob("*")):  # so that the test's folder can be removed
        path.chmod(0o755)


def test_a_moved_sample_leaves_its_rules_behind(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    record = add_sample(registry, tmp_path / "samples", "pagemill")
    moved = registry.relocate(record.id, project)
    assert (moved.rules, moved.demo) == ((), False)


def test_an_existing_folder_gets_no_sample_rules(tmp_path: Path) -> None:
    (tmp_path / "samples" / "pagemill").mkdir(parents=True)
    record = add_sample(registry_at(tmp_path), tmp_path / "samples", "pagemill")
    assert (record.rules, record.trusted) == ((), False)
    assert list((tmp_path / "samples").iterdir()) == [tmp_path / "samples" / "pagemill"]


def test_a_change_to_the_same_values_writes_only_a_record_that_cannot_be_read(
    tmp_path: Path, project: Path
) -> None:
    """Each session that is shown is saved as the last one: mostly it is that already."""
    registry = registry_at(tmp_path)
    record = registry.change(registry.add(project).id, session="s1")
    file = registry.data_folder(record.id) / RECORD_FILE
    os.utime(file, ns=(1, 1))
    assert registry.change(record.id, session="s1") == record
    assert file.stat().st_mtime_ns == 1
    file.write_text("= damaged", encoding="utf-8")
    registry.change(record.id, session="s1")
    assert registry_at(tmp_path).get(record.id) == record
    file.unlink()
    registry.change(record.id, session="s1")
    assert registry_at(tmp_path).get(record.id) == record


def test_a_record_that_cannot_be_read_is_reported_and_never_replaced(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    record = registry.add(project)
    file = registry.data_folder(record.id) / RECORD_FILE
    file.unlink()
    file.mkdir()
    with pytest.raises(HelixError, match=r"The settings of .* weren.t saved.*can.t be read"):
        registry.change(record.id, trusted=True)
    assert file.is_dir()
    (problem,) = registry_at(tmp_path).problems
    assert problem.what == f"The file {file} can't be read."
    assert "Errno" not in str(problem)


def test_a_policy_that_cannot_be_read_is_never_replaced(tmp_path: Path, project: Path) -> None:
    registry = registry_at(tmp_path)
    policy_file = registry.policy_file(registry.add(project).id)
    policy_file.path.unlink()
    policy_file.path.mkdir()
    with pytest.raises(SettingsUnreadable, match=r"can.t be read. Is a directory. Move the folder away"):
        policy_file.load()
    for save in (policy_file.save, policy_file.replace):
        with pytest.raises(HelixError, match=r"The policy wasn.t saved.*can.t be read"):
            save(ContextPolicy())
    assert policy_file.path.is_dir()
    assert not list(policy_file.path.parent.glob("*damaged*"))


def test_a_server_rule_is_stored_with_what_the_server_said(tmp_path: Path, project: Path) -> None:
    """The stored form is read by other versions; a rule of an older one has no descriptions."""
    registry = registry_at(tmp_path)
    identity = registry.add(project).id
    digests = {"mcp__shelf__dump": "ab12", "mcp__shelf__find": "cd34"}
    registry.change(identity, rules=suggest_server_rules("mcp__shelf__dump", "shelf", "f00d", digests))
    record_file = next(tmp_path.rglob(RECORD_FILE))
    stored = record_file.read_text(encoding="utf-8")
    own, every = tomllib.loads(stored)["rules"]
    assert own == {
        "tool": "mcp__shelf__dump", "subject": "shelf", "saved": 0, "kind": "server", "scope": "workspace",
        "effect": "allow", "confined": False, "definition": "f00d",
        "described_tools": [["mcp__shelf__dump", "ab12"]],
    }  # fmt: skip
    assert every["described_tools"] == [["mcp__shelf__dump", "ab12"], ["mcp__shelf__find", "cd34"]]
    assert registry_at(tmp_path).get(identity).rules == registry.get(identity).rules
    older = "\n".join(line for line in stored.splitlines() if not line.startswith("described_tools"))
    record_file.write_text(older, encoding="utf-8")
    assert [rule.described_tools for rule in registry_at(tmp_path).get(identity).rules] == [(), ()]
