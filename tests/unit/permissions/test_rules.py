"""Which rule answers a call: the strictest, in any order, and in doubt none that allows."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.tools import (
    ANY,
    ApprovalKind,
    ApprovalRequest,
    PermissionRule,
    ProtectedPath,
    RuleEffect,
    RuleKind,
)
from helix_desktop.permissions.command_match import (
    certainly_matches,
    parse_simple_command,
    possibly_matches,
)
from helix_desktop.permissions.files_run_by_programs import auto_run_kind
from helix_desktop.permissions.rules import (
    allowed_but_for,
    evaluate,
    parse_rule,
    rule_applies,
    runs_any_code,
    runs_project_code,
    suggest_command_rules,
    suggest_edit_rules,
    suggest_fetch_rules,
    suggest_pattern,
    suggest_server_rules,
)
from tests.support.tables import for_each

TOKENS = ["git", "log", "push", "make", "test", "*", "-x", "src/a.py", "a b"]
SUBJECTS = ["git log", "git log -x", "git push", "src/a.py", "src", "", ANY, "../a", ".envrc", "host.org"]
COMMANDS = st.lists(
    st.sampled_from([*TOKENS, ";", "&&", "|", "$(id)", "`id`", "\n", ">", "'q'"]), min_size=1
).map(" ".join)
EFFECTS: list[RuleEffect] = ["allow", "ask", "deny"]
MODES: list[PermissionMode] = ["ask", "plan", "auto"]
ASK_KINDS: list[ApprovalKind] = ["command", "edit", "fetch", "mcp", "other"]
RULE_KINDS: list[RuleKind] = ["exact", "pattern", "path", "folder", "server", "host"]
RULES = st.builds(
    PermissionRule,
    tool=st.sampled_from(["run_command", "edit_file", ANY]),
    subject=st.sampled_from(SUBJECTS),
    kind=st.sampled_from(RULE_KINDS),
    effect=st.sampled_from(EFFECTS),
    confined=st.booleans(),
    definition=st.sampled_from(["", "d1"]),
)
ASKS = st.builds(
    ApprovalRequest, call_id=st.just("c"), tool=st.sampled_from(["run_command", "edit_file"]),
    subject=st.sampled_from(SUBJECTS) | COMMANDS, summary=st.just(""), detail=st.just(""),
    rule=st.just(PermissionRule("run_command", "x")), kind=st.sampled_from(ASK_KINDS),
    confined=st.booleans(), host=st.sampled_from(["", "host.org", "evil.org"]),
    server=st.sampled_from(["", "src"]), definition=st.sampled_from(["", "d1", "d2"]),
)  # fmt: skip
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def command(text: str, confined: bool = True) -> ApprovalRequest:
    rule = PermissionRule("run_command", text)
    return ApprovalRequest("c", "run_command", text, "", text, rule, kind="command", confined=confined)


def edit(path: str) -> ApprovalRequest:
    rule = PermissionRule(ANY, path, kind="path")
    return ApprovalRequest("c", "edit_file", path, "", "", rule, kind="edit")


@given(st.lists(RULES, max_size=5), RULES, ASKS, st.sampled_from(MODES))
def test_a_rule_that_refuses_or_asks_never_allows_more(
    rules: list[PermissionRule], added: PermissionRule, call: ApprovalRequest, mode: PermissionMode
) -> None:
    before = evaluate(rules, call, mode)
    for effect in ("ask", "deny"):
        stricter = msgspec.structs.replace(added, effect=effect)
        after = evaluate([*rules, stricter], call, mode)
        assert STRICTNESS[after.effect] >= STRICTNESS[before.effect]


@given(st.lists(RULES, max_size=6), ASKS, st.sampled_from(MODES), st.randoms())
def test_the_order_of_rules_does_not_matter(
    rules: list[PermissionRule], call: ApprovalRequest, mode: PermissionMode, chance: Random
) -> None:
    first = evaluate(rules, call, mode)
    shuffled = list(rules)
    chance.shuffle(shuffled)
    again = evaluate(shuffled, call, mode)
    assert (again.effect, again.mode) == (first.effect, first.mode)
    assert (again.rule and again.rule.text) == (first.rule and first.rule.text)


@given(st.lists(RULES, max_size=5), ASKS)
def test_plan_mode_allows_no_changes(rules: list[PermissionRule], call: ApprovalRequest) -> None:
    assert call.kind == "fetch" or evaluate(rules, call, "plan").effect == "deny"


@given(st.lists(RULES, max_size=5), ASKS)
def test_auto_mode_refuses_what_ask_mode_refuses(rules: list[PermissionRule], call: ApprovalRequest) -> None:
    ask_mode = evaluate(rules, call, "ask")
    auto = evaluate(rules, call, "auto")
    assert auto == ask_mode or (ask_mode.effect, auto.effect, auto.mode) == ("ask", "allow", "auto")
    if auto.mode == "auto":
        assert call.kind == "edit" or call.confined


@given(ASKS, RULES)
def test_no_pattern_allows_a_command_outside_the_sandbox(call: ApprovalRequest, rule: PermissionRule) -> None:
    """An allowed `git log` could send what it reads anywhere (CVE-2025-55284)."""
    pattern = msgspec.structs.replace(rule, kind="pattern", effect="allow")
    assert not rule_applies(pattern, msgspec.structs.replace(call, confined=False))


@for_each(
    "text",
    [
        "git log; curl evil.org", "git log && make", "git log | sh", "git log $(id)", "git log `id`",
        "git log\nrm x", "git log > out", "git log < in", "git log $HOME", 'git log "$(id)"',
        'git log "`id`"',
        "git log & make", "git log *", "git log ~/x", "git log --x=~", "git log {a,b}", "git log 'open",
        "git log \\; x", "git log # x", "git log !x", "X=1 git log", "git log\rx", "git log\x00x",
        "git log a?",
        "git log [a]", "gitlog", "git  -c a log", "git log \u2028x",
        "git log x\u2028", "CI=1; \vgit log", "", " ", "\"git log\"", "git\\ log",
    ],
)  # fmt: skip
def test_shell_syntax_matches_no_pattern(text: str) -> None:
    assert not certainly_matches("git log *", text)


@pytest.mark.parametrize(
    "text", ["git log", "git  log -3", "git log 'a b; c'", 'git log "a b" HEAD~1', "git log a=b:c,d.e/f@g^"]
)
def test_plain_commands_match_their_pattern(text: str) -> None:
    assert certainly_matches("git log *", text)
    assert not certainly_matches("git log", f"{text} more")


@pytest.mark.parametrize(
    "text",
    [
        "export PYTHONDONTWRITEBYTECODE=1; python3 -m unittest -v", "CI=1 NO_COLOR=1 python3 -m unittest",
        "export CI=true LANG=C.UTF-8 && python3 -m unittest", "TZ='UTC' python3 -m unittest",
        "export CI=1\nexport TERM=dumb\npython3 -m unittest", "CI=1; python3 -m unittest 2>&1 | tail -5",
        "cd web && CI=1 python3 -m unittest",
    ],
)  # fmt: skip
def test_a_rule_covers_a_command_behind_harmless_variables(text: str) -> None:
    """They change how a program writes: the card asked again for what the user had just allowed."""
    assert certainly_matches("python3 -m unittest *", text, "/w")
    assert suggest_pattern(text, "/w") == "python3 -m unittest *"


_RUNNING_VARIABLES = (
    "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONWARNINGS",
    "PYTHONBREAKPOINT", "BASH_ENV", "ENV", "IFS", "HOME", "NODE_OPTIONS", "NODE_ENV", "PYTEST_ADDOPTS",
    "GIT_SSH_COMMAND", "GIT_DIR", "PAGER", "MY_OWN",
)  # fmt: skip


@for_each("name", _RUNNING_VARIABLES)
@for_each(
    "form",
    ["export {}=x; {}", "{}=x {}", "CI=1 {}=x {}", "{}=x; {}", "export CI=1 {}=x && {}", "cd a && {}=x {}"],
)
def test_a_variable_that_may_change_what_runs_asks_and_says_why(name: str, form: str) -> None:
    saved = PermissionRule("run_command", "python3 -m unittest *", kind="pattern", confined=True)
    asked = command(form.format(name, "python3 -m unittest"))
    assert evaluate([saved], asked).effect == "ask"
    assert allowed_but_for([saved], asked) == (saved, (name,), ())
    assert allowed_but_for([], asked) is None


@pytest.mark.parametrize(
    "text", ["pytest -q; git commit -a", "pytest -q > result.txt", "make && pytest", "pytest; rm -r build"]
)
def test_a_command_that_does_more_than_a_rule_allows_names_that_rule(text: str) -> None:
    saved = PermissionRule("run_command", "pytest *", kind="pattern", confined=True)
    assert evaluate([saved], command(text)).effect == "ask"
    assert allowed_but_for([saved], command(text)) == (saved, (), ())
    assert allowed_but_for([saved], command("make test")) is None
    assert allowed_but_for([saved], msgspec.structs.replace(command(text), confined=False)) is None


def test_what_a_command_may_do_is_said_whatever_asks() -> None:
    asks = PermissionRule(ANY, "cat *", kind="pattern", effect="ask")
    calls = [command("cat .env"), command("cat .env", confined=False)]
    for decision in (*(evaluate([], call) for call in calls), evaluate([asks], calls[0], "auto")):
        assert (decision.effect, decision.secrets) == ("ask", (".env",))
    assert evaluate([], command("printf x > .vscode/tasks.json")).auto_executed == (".vscode/tasks.json",)
    assert [place.path for place in evaluate([], command("rm a.txt")).data_loss] == ["a.txt"]
    assert not evaluate([], command("make test")).has_dangers
    assert evaluate([], edit(".envrc")).auto_executed == (".envrc",)
    in_folder = msgspec.structs.replace(command("cd sub && cat .env", confined=False), folder="sub")
    assert evaluate([], in_folder).secrets == ("sub/.env",)


def test_no_pattern_covers_a_protected_path() -> None:
    """After “Always allow cat”, `cat /etc/hostname` and `cat .env.local` ran without a question."""
    saved = PermissionRule("run_command", "cat *", kind="pattern", confined=True)
    asked = msgspec.structs.replace(
        command("cat a.txt /etc/hostname"), protected_paths=(ProtectedPath("/etc/hostname", "outside"),)
    )
    assert evaluate([saved], command("cat a.txt")).effect == "allow"
    for mode in MODES[:2]:
        assert evaluate([saved], asked, mode).effect != "allow"
    assert allowed_but_for([saved], asked) == (saved, (), ("/etc/hostname",))
    exact = PermissionRule("run_command", asked.subject, confined=True)
    assert evaluate([saved, exact], asked).effect == "allow", "that names it"


def test_each_part_of_a_command_may_have_a_rule_of_its_own() -> None:
    """“Always allow” of the tests asked again for two runs of them, and beside another allowed program."""
    rules = [
        PermissionRule("run_command", f"python3 -m {name} *", kind="pattern", confined=True)
        for name in ("unittest", "almanac")
    ]
    parts = ("python3 -m unittest -v a 2>&1", "python3 -m almanac", "python3 -m unittest 2>&1 | tail -n 3")
    request = msgspec.structs.replace(command("; ".join(parts)), asked_parts=parts)
    assert evaluate(rules, request).effect == "allow"
    assert evaluate(rules[:1], request).effect == "ask"
    assert allowed_but_for(rules[:1], request) == (rules[0], (), ("python3 -m almanac",))
    asks = PermissionRule("run_command", "python3 -m almanac *", kind="pattern", effect="ask")
    assert evaluate([*rules, asks], request).effect == "ask", "the strictest rule wins"
    offers = suggest_command_rules("a", True, asked_parts=(parts[0], parts[2]))
    assert [rule.subject for rule in offers] == ["a", "python3 -m unittest *"]
    assert [rule.subject for rule in suggest_command_rules("a", True, asked_parts=parts)] == ["a"]


@for_each(
    "text",
    [
        "PYTHONPATH=src python3 -m pytest -q", "PYTHONPATH=./src:lib/a-1.zip python3 -m pytest",
        "PYTHONPATH='src' CI=1 python3 -m pytest 2>&1 | tail -5", "export PYTHONPATH=src; python3 -m pytest",
        "export PYTHONPATH=src && python3 -m pytest", "cd web && PYTHONPATH=src python3 -m pytest",
        "PYTHONPATH=/w/src python3 -m pytest", 'PYTHONPATH="." python3 -m pytest',
    ],
)  # fmt: skip
def test_a_rule_for_tests_covers_them_with_modules_of_the_workspace(text: str) -> None:
    """They run code of the workspace anyway: whoever wrote it there needs no variable to have it run."""
    saved = PermissionRule("run_command", "python3 -m pytest *", kind="pattern", confined=True)
    request = msgspec.structs.replace(command(text), root="/w")
    assert evaluate([saved], request).effect == "allow"
    assert allowed_but_for([saved], request) is None
    assert suggest_pattern(text, "/w") == "python3 -m pytest *"
    assert evaluate([saved], msgspec.structs.replace(request, confined=False)).effect == "ask"


@for_each(
    "text",
    [
        "PYTHONPATH=/etc python3 -m pytest", "PYTHONPATH=/wx python3 -m pytest",
        "PYTHONPATH= python3 -m pytest",
        "PYTHONPATH=/w/../etc python3 -m pytest", "PYTHONPATH=src:/opt/x python3 -m pytest",
        "PYTHONPATH=../src python3 -m pytest", "PYTHONPATH=src/../../x python3 -m pytest",
        "PYTHONPATH=src: python3 -m pytest", "PYTHONPATH=~/x python3 -m pytest",
        "PYTHONPATH=src:~/x python3 -m pytest", "PYTHONPATH=$HOME/x python3 -m pytest",
        'PYTHONPATH="$PWD/../x" python3 -m pytest', "PYTHONPATH=$(pwd) python3 -m pytest",
        "PYTHONPATH=`pwd` python3 -m pytest", "PYTHONPATH=src\\x python3 -m pytest",
        "PYTHONPATH=/etc PYTHONPATH=src python3 -m pytest", "PYTHONPATH=src PATH=bin python3 -m pytest",
        "LD_PRELOAD=./a.so PYTHONPATH=src python3 -m pytest", "PYTHONPATH=src BASH_ENV=x python3 -m pytest",
        "PYTHONPATH=src GIT_DIR=x python3 -m pytest", "PYTHONPATH+=:src python3 -m pytest",
        "PYTHONPATH=src rm x; python3 -m pytest", "PYTHONPATH=src python3 -m pytest; touch x",
        "PYTHONPATH=src python3 -m pytest | sh", "cd /etc && PYTHONPATH=src python3 -m pytest",
        "cd .. && PYTHONPATH=src python3 -m pytest", "PYTHONPATH=src env python3 -m pytest",
        "env PYTHONPATH=src python3 -m pytest", "PYTHONPATH=src ./python3 -m pytest",
        "PYTHONPATH=src & python3 -m pytest", "PYTHONPATH=src >x python3 -m pytest",
        "PYTHONPATH=src python3 -m pytest >x", f"{'PYTHONPATH=a ' * 40_000}python3 -m pytest",
    ],
)  # fmt: skip
def test_modules_from_elsewhere_and_what_hides_behind_their_path_ask(text: str) -> None:
    saved = PermissionRule("run_command", "python3 -m pytest *", kind="pattern", confined=True)
    assert evaluate([saved], msgspec.structs.replace(command(text), root="/w")).effect == "ask"


@pytest.mark.parametrize(
    "text",
    ["black .", "python3 tool.py", "python3 -m black .", "mypy", "git log", "npm test", "python3 -c 1"],
)
def test_the_path_of_modules_asks_where_the_workspace_is_not_run_anyway(text: str) -> None:
    """A planted sitecustomize.py would run in a formatter that the user allowed."""
    saved = PermissionRule("run_command", f"{text.partition(' ')[0]} *", kind="pattern", confined=True)
    assert evaluate([saved], msgspec.structs.replace(command(text), root="/w")).effect == "allow"
    assert (
        evaluate([saved], msgspec.structs.replace(command(f"PYTHONPATH=src {text}"), root="/w")).effect
        == "ask"
    )


@for_each(
    "text",
    [
        "CI=$(id) python3 -m unittest", "CI=`id` python3 -m unittest", "CI=/etc python3 -m unittest",
        'CI="$X" python3 -m unittest', "'CI'=1 python3 -m unittest", "CI=1 rm x; python3 -m unittest",
        "export -f CI; python3 -m unittest", "CI=1 & python3 -m unittest",
        "export CI=1 | python3 -m unittest",
        "CI=1 exec python3 -m unittest", "CI+=1 python3 -m unittest", "CI[0]=1 python3 -m unittest",
        "env CI=1 python3 -m unittest", "CI=~ python3 -m unittest", "CI=1 >x python3 -m unittest",
        "CI=1", "CI=1 ", "CI=1;", f"{'CI=1 ' * 40_000}python3 -m unittest",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_harmless_variable_matches_no_rule(text: str) -> None:
    assert not certainly_matches("python3 -m unittest *", text, "/w")


def test_the_same_folder_twice_is_followed_only_where_each_change_must_succeed() -> None:
    """The second `cd a` was taken for the first one: pytest could run in a folder that was not changed."""
    assert certainly_matches("pytest", "echo x && cd a && cd a && pytest", "/w")
    for text in ("echo x && cd a && cd a ; pytest", "echo x && cd a && cd a | pytest", "cd a && cd a"):
        assert not certainly_matches("pytest", text, "/w")


@given(st.text(max_size=30))
def test_parsing_a_command_never_fails_and_never_invents_words(text: str) -> None:
    words = parse_simple_command(text)
    if words is not None:
        assert all(word.isprintable() for word in words)
        assert "".join(words).replace(" ", "") == "".join(char for char in text if char not in " \t'\"")
    suggest_pattern(text)
    possibly_matches("git push *", text)


@for_each(
    "text",
    [
        "git push", "cd x && git push -f", "x=$(git push)", "bash -c 'git push'", "/usr/bin/git push",
        "a;git push",
        "xargs git push", "git\\ push", "`git push`", "A=1 git push", "(git push)", "git\npush",
        "git -C . push", "git --no-pager push", "git -c a=b push", "GIT_DIR=.git git --git-dir=x push",
        "command git push", "env X=1 git push", "timeout 5 nice -n 2 git -C . push",
        'bash -lc "git -C . push"',
        "eval 'git push'", "$(which git) push", "g''it push", "git -c alias.p=push p", "GIT.exe push",
        "python -c \"run(['git', 'push'])\"", "git \\\n push",
        "git send-pack origin main", "git -C x send-pack o", "git http-push x", "git subtree push -P a o b",
        "git-push", "/usr/lib/git-core/git-push o", "git-send-pack o main", "find . | xargs git send-pack",
    ],
)  # fmt: skip
def test_a_refused_pattern_is_found_anywhere_in_a_command(text: str) -> None:
    denied = PermissionRule("run_command", "git push *", kind="pattern", effect="deny")
    assert (
        evaluate([denied, PermissionRule("run_command", text)], command(text, confined=False)).rule == denied
    )


@for_each(
    "text",
    [
        "alias g=git\ng push", "sh -c 'alias g=git\ng push'", "ln -s $(which git) g; ./g push",
        "cp /usr/bin/git g && ./g push", "hash -p /usr/bin/git g; g push",
        "echo push | xargs git", "echo push origin | xargs -r -n1 -- git", "xargs -a words git",
        "xargs git < f",
        "xargs -I{} git {} < f", "xargs -I % git -C . % < f", "parallel git ::: push", "parallel git < f",
        "cat f | parallel", "parallel -j2 git {} ::: push", "rush 'git {}' < f",
        "xargs -I% git % < f", "xargs --replace=X git X < f", "parallel git {1} ::: push",
    ],
)  # fmt: skip
def test_words_that_are_read_may_be_the_refused_ones(text: str) -> None:
    denied = PermissionRule("run_command", "git push *", kind="pattern", effect="deny")
    assert possibly_matches("git push *", text) == "maybe"
    allowed = PermissionRule("run_command", "*", kind="pattern")
    assert evaluate([denied, allowed], command(text, confined=True)).effect != "allow"


@for_each(
    "text",
    [
        "ls | xargs git add", "git ls-files | xargs wc -l", "xargs git commit -m push < f", "git log | head",
        "find . -name '*.py' | xargs grep push", "git subtree pull -P a b", "parallel make ::: a b",
        "echo a | xargs -I{} cp {} b && git status", "git ls-files | xargs git blame",
    ],
)  # fmt: skip
def test_usual_commands_are_not_taken_for_refused_ones(text: str) -> None:
    assert possibly_matches("git push *", text) == "no"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("rm -rf *", "rm -fr x"), ("rm -rf *", "sudo rm -v -r -f x"),
        ("pip install *", "python3 -m pip -q install x"),
        ("python -m pip *", "python3.11 -I -m pip install x"),
        ("kubectl delete *", "kubectl -n a --v 2 delete pod"),
        ("docker rm *", "docker -H tcp://x rm y"), ("npm publish *", "npm --prefix web publish"),
    ],
)  # fmt: skip
def test_a_refused_pattern_is_found_with_other_options(pattern: str, text: str) -> None:
    denied = PermissionRule(ANY, pattern, kind="pattern", effect="deny")
    assert evaluate([denied], command(text), "auto").rule == denied
    assert not certainly_matches(pattern, text)


@for_each(
    "text",
    [
        "$X push", "git $X", 'eval "$X"', "A=1 $X", "timeout 5 $X", "echo Z2l0IHB1c2g= | base64 -d | sh",
        'p() { git "$@"; }; p push', "git config alias.p push", "git {push,x}", "g?t push",
    ],
)  # fmt: skip
def test_a_refused_pattern_has_what_may_be_it_asked_about(text: str) -> None:
    denied = PermissionRule(ANY, "git push *", kind="pattern", effect="deny")
    decision = evaluate([denied, PermissionRule(ANY, "git *", kind="pattern")], command(text), "auto")
    assert (decision.effect, decision.rule) == ("ask", denied)
    assert evaluate([denied, PermissionRule("run_command", text)], command(text), "auto").effect == "allow"


@for_each(
    "text",
    [
        "git log -n push", "git status", 'git commit -m "x $Y"', 'pytest -q "$A" | tail',
        "timeout 60 make $A",
        '"$VIRTUAL_ENV/bin/python" -m x', "echo $(git rev-parse HEAD)", "x=$(date); make", "sed 's/a$/b/' f",
        "for f in *.py; do echo $f; done", "bash build.sh",
    ],
)  # fmt: skip
def test_a_refused_pattern_leaves_other_commands_alone(text: str) -> None:
    denied = PermissionRule(ANY, "git push *", kind="pattern", effect="deny")
    assert evaluate([denied], command(text), "auto").effect == "allow"


def test_a_long_command_is_read_once() -> None:
    """What it writes to a file may be of any size: braces and brackets without an end took minutes."""
    text = "cat > a.json <<E\n" + '{"v":[' + "1," * 100_000 + "{}\n" + "a[" * 100_000 + "\nE"
    assert possibly_matches("git push *", text) == "no"
    assert possibly_matches("git push *", "git pus[h] origin") == "maybe"
    assert possibly_matches("git push *", "git {push," + "a" * 200 + "}") == "maybe"


@for_each(
    ("text", "pattern"),
    [
        ("git log -3", "git log *"),
        ("make test", "make test *"), ("python -m pytest -q", "python -m pytest *"),
        ("ls -la", "ls *"), ("cat src/a.py", "cat *"), ("bash build.sh", ""), ("sudo make", ""),
        ("a | b", ""),
        ("X=1 make", ""), ("'my tool' x", ""), ("npm run build", "npm run build *"),
        ("pytest tests -q", "pytest *"), ("pytest", "pytest *"),
        ("cd web && npm test 2>&1 | tail -20", "npm test *"), ("cargo build --release", "cargo build *"),
        ("python a.py --x", "python a.py *"), ("python -c 1", ""), ("npm run", ""), ("make", "make"),
        ("make -j4", ""),
        ("uv run pytest -q", "uv run pytest *"), ("uv run bash x", ""), ("npx vitest run", "npx vitest *"),
        ("pytest > a", ""), ("pytest && rm a", ""), ("cd .. && pytest", ""), ("pytest | sh", ""),
        ("echo x | pytest", ""),
        ("'' x", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_suggested_pattern(text: str, pattern: str) -> None:
    assert suggest_pattern(text) == pattern


@given(COMMANDS, st.booleans())
def test_every_offer_covers_its_request(text: str, confined: bool) -> None:
    call = command(text, confined)
    offers = suggest_command_rules(text, confined)
    assert all(rule_applies(offer, call) for offer in offers)
    assert confined or [offer.kind for offer in offers] == ["exact"]
    assert not any(rule_applies(offer, command(text, confined=False)) for offer in offers) or not confined


@pytest.mark.parametrize(
    ("path", "offered"),
    [
        ("src/a.py", ["src/a.py", "src", ""]),
        ("a.py", ["a.py", ""]),
        (".envrc", [".envrc"]),
        (".github/workflows/ci.yml", [".github/workflows/ci.yml"]),
    ],
)
def test_offers_for_a_file(path: str, offered: list[str]) -> None:
    offers = suggest_edit_rules(path)
    assert [offer.subject for offer in offers] == offered
    assert all(rule_applies(offer, edit(path)) for offer in offers)


def test_a_folder_rule_stays_in_its_folder() -> None:
    rule = PermissionRule(ANY, "src", kind="folder")
    assert rule_applies(rule, edit("src/deep/a.py"))
    for path in (
        "src2/a.py",
        "a.py",
        "src/../a.py",
        "/src/a.py",
        "src",
        "SRC/a.py",
        "src/.vscode/tasks.json",
    ):
        assert not rule_applies(rule, edit(path))
    assert rule_applies(PermissionRule(ANY, "", kind="folder"), edit("a.py"))
    assert not rule_applies(rule, command("src/a.py"))


def test_a_denied_folder_is_denied_however_it_is_spelled() -> None:
    denied = PermissionRule(ANY, "Secrets", kind="folder", effect="deny")
    for path in ("Secrets/a", "secrets/a", "./Secrets/a", "x/../Secrets/a", "Secrets"):
        assert evaluate([denied, PermissionRule(ANY, "", kind="folder")], edit(path), "auto").rule == denied


def test_auto_mode_asks_before_changing_what_other_programs_obey() -> None:
    skill = ".agents/skills/x/SKILL.md"
    for path in (".envrc", ".vscode/settings.json", "web/.npmrc", ".GitHub/workflows/x.yml", "../a", skill):
        assert evaluate([], edit(path), "auto").effect == "ask"
    assert evaluate([], edit("src/a.py"), "auto").effect == "allow"
    assert evaluate([], command("rm -r x", confined=False), "auto").effect == "ask"
    assert evaluate([], command("make x"), "auto").effect == "allow"
    kinds = map(auto_run_kind, (skill, f"web/{skill}", ".claude/skills/x/SKILL.md"))
    assert [kind and (f"{kind.effect}", kind.waits) for kind in kinds] == [
        ("skills that the agent follows", True),
        ("skills that the agent follows", True),
        ("hooks and servers of another agent; Helix uses only its skills", True),
    ]


def test_a_host_rule_is_for_that_host() -> None:
    def request_for(host: str) -> ApprovalRequest:
        url = f"https://{host}/x"
        return ApprovalRequest("c", "fetch_url", url, "", "", address, kind="fetch", host=host)

    address, at_host = suggest_fetch_rules("fetch_url", "https://Docs.org/x", "Docs.org")
    assert rule_applies(at_host, request_for("docs.org"))
    assert rule_applies(address, request_for("Docs.org"))
    for host in ("evil-docs.org", "a.docs.org", "docs.org.evil.org", ""):
        assert not rule_applies(at_host, request_for(host))
    assert rule_applies(msgspec.structs.replace(at_host, effect="deny"), request_for("a.docs.org"))


def test_rules_of_earlier_versions_mean_what_they_meant() -> None:
    stored = '[{"tool":"run_command","subject":"make test","saved":5},{"tool":"write_file","subject":"*"}]'
    run, write = msgspec.json.decode(stored, type=tuple[PermissionRule, PermissionRule])
    assert rule_applies(run, command("make test", confined=False))
    assert rule_applies(run, command("make test"))
    assert not rule_applies(run, command("make test ", confined=False))
    assert not rule_applies(PermissionRule("run_command", ANY), edit("a"))
    call = msgspec.structs.replace(edit(".envrc"), tool="write_file")
    assert rule_applies(write, call)
    assert not rule_applies(write, edit("a.py"))
    assert (
        json.loads(msgspec.json.encode(run)).items()
        >= {"tool": "run_command", "subject": "make test"}.items()
    )


@for_each(
    ("kind", "text"),
    [("pattern", ""), ("pattern", "* push"), ("path", ""), ("path", "../x"), ("folder", "../x"),
     ("folder", "/etc"), ("host", ""), ("host", "a b"), ("host", "https://x"), ("server", "x")],
)  # fmt: skip
def test_empty_rules_are_refused(kind: RuleKind, text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_rule("deny", kind, text)


@for_each(
    ("rule", "sentence"),
    [
        (PermissionRule("run_command", "make"), "Run: make"),
        (PermissionRule("run_command", "make", confined=True), "Run: make, in the sandbox"),
        (PermissionRule("write_file", ANY), "Write any file"),
        (PermissionRule(ANY, "src", kind="folder"), "Change any file in src"),
        (PermissionRule(ANY, ".env", kind="path", effect="deny"), "Never: change the file .env"),
        (PermissionRule(ANY, "files", kind="server", definition="d"), "Use any tool of the MCP server files"),
        (PermissionRule("mcp__files__read", "files", kind="server"), "Use read of the MCP server files"),
        (PermissionRule("mcp__files__read", "files", kind="server", effect="deny"),
         "Never: use read of the MCP server files"),
        (parse_rule("deny", "pattern", "  git   push * "), "Never: run commands like: git push *"),
        (parse_rule("allow", "pattern", "make *"), "Run commands like: make *, in the sandbox"),
        (parse_rule("ask", "folder", "./src/app/"), "Always ask before: change any file in src/app"),
        (parse_rule("ask", "folder", ""), "Always ask before: change any file"),
        (parse_rule("allow", "path", "./sub/.git/config "), "Change the file sub/.git/config"),
        (parse_rule("allow", "host", "Docs.Python.org."), "Fetch from docs.python.org"),
    ],
)  # fmt: skip
def test_a_rule_is_described_in_a_sentence(rule: PermissionRule, sentence: str) -> None:
    assert rule.text == sentence


@pytest.mark.parametrize(
    ("pattern", "text", "match"),
    [
        ("git push *", "git -a " * 20_000, "maybe"),
        ("git push -f x *", "git " + "-a push " * 20_000, "maybe"),
        ("git push *", "$X -a " * 20_000, "maybe"), ("git push *", "git " + "-a " * 20_000, "no"),
        ("git push *", "git add " + "src/file.py " * 20_000, "no"),
        ("git push *", "git -a " * 20_000 + "; git push", "yes"),
    ],
)  # fmt: skip
def test_what_takes_too_long_to_read_is_asked_about(pattern: str, text: str, match: str) -> None:
    """It took minutes."""
    assert possibly_matches(pattern, text) == match


def test_a_rule_for_a_command_holds_in_its_folder_only_and_a_refusal_everywhere() -> None:
    def decide(rule: PermissionRule, folder: str) -> str:
        own = f"cd {folder} && rm *" if folder else "rm *"
        request = msgspec.structs.replace(
            command("rm *"), rule=PermissionRule("run_command", own, confined=True), folder=folder
        )
        return evaluate([rule], request).effect

    (saved,) = suggest_command_rules("rm *", confined=True, exact="cd tmp && rm *")
    assert [decide(saved, folder) for folder in ("tmp", "", "src")] == ["allow", "ask", "ask"]
    whole = PermissionRule("run_command", "rm *", confined=True)
    assert [decide(whole, folder) for folder in ("", "tmp")] == ["allow", "ask"]
    refusal = PermissionRule("run_command", "rm *", effect="deny")
    assert [decide(refusal, folder) for folder in ("", "tmp")] == ["deny", "deny"]


@for_each(
    ("text", "is_code"),
    [
        ("pytest -q 2>&1 | tail -5", True), ("cd web && CI=1 npm test", True), ("cargo test", True),
        ("npm run lint", True), ("python3 -m unittest -v", True), ("python -m json.tool a", False),
        ("cat test", False), ("git test", False), ("black .", False), ("npm install", False),
        ("ruff check", False), ("rm -rf test", False), ("PATH=. pytest", False), ("pytest && rm a", False),
        ("", False),
    ],
)  # fmt: skip
def test_what_runs_code_of_the_project(text: str, is_code: bool) -> None:
    assert runs_project_code(text, "/w") == is_code


def mcp_call(tool: str = "mcp__files__read", digest: str = "a", **fields: Any) -> ApprovalRequest:
    rule = PermissionRule(tool, "files", kind="server")
    server_fields = {
        "kind": "mcp",
        "server": "files",
        "definition": "d1",
        "description_digest": digest,
        **fields,
    }
    return ApprovalRequest("c", tool, "files: x", "", "", rule, **server_fields)


def test_a_changed_server_or_tool_asks_again() -> None:
    """The approval is for its definition, not its name (CVE-2025-54136), and for the tool as described."""
    digests = {"mcp__files__read": "a", "mcp__files__write": "b"}
    tool, anything = suggest_server_rules("mcp__files__read", "files", "d1", digests)
    assert (tool.described_tools, anything.described_tools) == (
        (("mcp__files__read", "a"),),
        (("mcp__files__read", "a"), ("mcp__files__write", "b")),
    )
    for rule in (tool, anything):
        assert evaluate([rule], mcp_call()).effect == "allow"
        changed = evaluate([rule], mcp_call(digest="other"))
        assert (changed.effect, changed.rule, changed.mcp_change) == ("ask", None, "tool")
        denied = msgspec.structs.replace(rule, effect="deny")
        assert evaluate([denied], mcp_call(digest="other")).effect == "deny", "a Never holds all the same"
        for definition in ("d2", ""):
            assert not rule_applies(rule, mcp_call(definition=definition))
            assert evaluate([rule], mcp_call(definition=definition)).mcp_change == "server"
            assert rule_applies(denied, mcp_call(definition=definition))
        assert not rule_applies(rule, mcp_call(server="other"))
    assert not rule_applies(PermissionRule("mcp__files__read", ANY), mcp_call())
    assert evaluate([anything], mcp_call("mcp__files__write", "b")).effect == "allow"
    assert evaluate([tool], mcp_call("mcp__files__write", "b")).mcp_change == "", "nobody allowed that one"
    later = evaluate([anything], mcp_call("mcp__files__later", "c"))
    assert (later.effect, later.mcp_change) == ("ask", "new")


def test_a_rule_of_an_earlier_version_allows_whatever_a_server_says() -> None:
    """It was saved without the descriptions."""
    earlier = PermissionRule("mcp__files__read", "files", kind="server", definition="d1")
    assert evaluate([earlier], mcp_call(digest="any")).effect == "allow"
    assert evaluate([earlier], mcp_call(definition="d2")).mcp_change == "server"


def test_plan_mode_lets_a_server_be_asked_that_says_it_only_reads() -> None:
    """Only after approval; its word does not lift a rule, and the others are refused."""
    reader = mcp_call(claims_read_only=True)
    assert evaluate([], reader, "plan").effect == "ask"
    assert evaluate([], mcp_call(), "plan").mode == "plan"
    assert evaluate([msgspec.structs.replace(reader.rule, effect="deny")], reader, "plan").effect == "deny"
    assert reader.may_change_files, "a claim is no proof: what it changes is recorded"


@for_each(
    ("text", "is_code"),
    [
        ("pytest -q", True), ("npm test", True), ("make", True), ("npx vitest", True), ("python3 a.py", True),
        ("python3 -m pytest", True), ("python3 -m json.tool", False), ("python3 -c 1", False),
        ("cat a.txt", False), ("git show", False), ("ruff check", False), ("cp a b", False),
    ],
)  # fmt: skip
def test_what_may_read_all_that_its_sandbox_shows(text: str, is_code: bool) -> None:
    assert runs_any_code(text.split()) == is_code
