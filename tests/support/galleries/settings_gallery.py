"""The settings filled in: providers in their states, and a policy with its session replayed under two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from helix_desktop.agent.rule_usage import RuleUsage
from helix_desktop.config.build_info import Build
from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.settings import ModelEntry, Provider
from helix_desktop.context.policy_numbers import PROFILES
from helix_desktop.domain.model_spec import LocalModel, LocalServer, ModelSpec
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.replay.policy.policy_replay import PolicyReplay, PolicyRewrite, WindowPoint
from helix_desktop.services.provider_check import UNTESTED_STEPS, CheckStep
from helix_desktop.ui.settings.policy.page import PolicyPage
from helix_desktop.ui.settings.policy.replay_card import PolicyComparison
from helix_desktop.ui.settings.providers.editor import CheckNotice
from helix_desktop.ui.settings.providers.models import ShownProvider
from helix_desktop.ui.settings.view import SettingsView
from helix_desktop.ui.window.keyboard_page import KeyboardPage
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.words.policies import policy_name
from tests.support.default_settings import NothingOnScreen, default_settings, settings_view

OLLAMA_MODELS = (
    ModelEntry(
        name="qwen3-coder:30b",
        reported=ModelSpec(window=32_768, tools=True, images=False),
        reported_by="Ollama: loaded with this size",
    ),
    ModelEntry(
        name="gemma4:latest",
        reported=ModelSpec(window=4_096, tools=True, images=True),
        reported_by="Ollama's smallest default, though the model supports 131,072: "
        "test the model to detect the size",
    ),
    ModelEntry(name="a-model-with-a-name-that-is-longer-than-any-column:70b-instruct-q4_K_M", window=64_000),
)
CLAUDE_MODELS = tuple(
    ModelEntry(name=name) for name in ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
)
PROVIDERS = (
    ShownProvider(None),
    ShownProvider(
        Provider(
            name="ollama",
            base_url="http://127.0.0.1:11434/v1",
            models=OLLAMA_MODELS,
            default_model=OLLAMA_MODELS[0].name,
            headers={"X-Title": "Helix"},
            secret_headers=("X-Gateway-Token",),
            body={"service_tier": "flex"},
        ),
        in_use=True,
        key_note="Will be kept in Secret Service.",
    ),
    ShownProvider(
        Provider(
            name="anthropic",
            base_url="https://api.anthropic.com/v1",
            dialect="anthropic",
            models=(
                msgspec.structs.replace(CLAUDE_MODELS[0], window=200_000),
                *CLAUDE_MODELS[1:],
                ModelEntry(name="unheard-of"),
            ),
            default_model="claude-sonnet-5-5",
        ),
        key_source="keychain",
        key_note="Kept in Secret Service.",
    ),
)
PASSING_STEPS = (
    CheckStep("reach", "ok", "Answered in 41 ms."),
    CheckStep("tls", "ok", "TLS 1.3, with a certificate that this system trusts."),
    CheckStep("auth", "ok", "Key accepted."),
    CheckStep("streaming", "running", "Asking claude-sonnet-5-5…"),
    CheckStep("tools"),
)
FAILING_STEPS = (
    CheckStep("reach", "ok", "Answered in 41 ms."),
    CheckStep("tls", "ok", "Not used: the connection stays on this computer."),
    CheckStep("auth", "ok", "No key needed."),
    CheckStep("streaming", "ok", "14 pieces, the first after 0.4 s."),
    CheckStep(
        "tools",
        "failed",
        "gemma4:latest didn't call the tool as asked.",
        "It answered in words: I cannot call tools, but the word is lighthouse.",
        "Choose a model that can use tools. llama.cpp needs --jinja, vLLM --enable-auto-tool-choice with the "
        "--tool-call-parser of the model.",
    ),
)
UNTRUSTED_STEPS = (
    CheckStep("reach", "ok", "A server answers at this address."),
    CheckStep(
        "tls",
        "failed",
        "Can't reach gateway at https://models.corp.example/v1.",
        "The certificate for models.corp.example isn't trusted by this system "
        "(self-signed certificate in certificate chain).",
        "For your own server or company proxy, add its authority to the system's trust store.",
    ),
    *(CheckStep(tick.name, "skipped", "An earlier step failed.") for tick in UNTESTED_STEPS[2:]),
)
DETECTED_SERVERS = (
    LocalServer(
        "ollama",
        "http://127.0.0.1:11434/v1",
        tuple(
            LocalModel(entry.name, entry.reported or ModelSpec(), entry.reported_by, place == 0)
            for place, entry in enumerate(OLLAMA_MODELS)
        ),
    ),
    LocalServer(
        "lm-studio",
        "http://127.0.0.1:1234/v1",
        (
            LocalModel(
                "qwen/qwen3-coder-30b", ModelSpec(window=65_536), "LM Studio: loaded with this size", True
            ),
        ),
    ),
    LocalServer("vllm", "http://127.0.0.1:8000/v1", ()),
)


def show_settings(window: MainWindow) -> SettingsView:
    values = default_settings()
    session = NothingOnScreen()
    session.app.build_info.build = Build(
        version="0.1.0", target="deb", releases="https://helix-desktop.invalid/latest"
    )
    view = settings_view(values, session, {"keyboard": lambda: KeyboardPage(window.key_bindings, values)})
    window.add_settings(view.names, view.head, view)
    view.providers.set_catalog(ModelCatalog.load(resources_dir() / "models.toml"))
    view.providers.show_providers(PROVIDERS)
    view.providers.show_extras([shown.provider for shown in PROVIDERS if shown.provider])
    window.show_settings()
    return view


def _select_provider(row: int, steps: Sequence[CheckStep] = ()) -> Callable[[SettingsView], None]:
    def show(view: SettingsView) -> None:
        view.providers.list.setCurrentRow(row)
        if steps:
            view.providers.editor.check_view.show_steps(steps)
            view.providers.editor.show_testing(any(tick.state == "running" for tick in steps))

    return show


def _show_removed(view: SettingsView) -> None:
    view.providers.list.setCurrentRow(1)
    view.providers.undo_line.say("Removed anthropic.")


def _show_detected(view: SettingsView) -> None:
    view.providers.list.setCurrentRow(0)
    view.providers.found_servers.show_servers(DETECTED_SERVERS, ["http://127.0.0.1:1234/v1"])


def _show_notice(view: SettingsView) -> None:
    view.providers.list.setCurrentRow(1)
    words = "ollama/qwen3-coder:30b is now the default model."
    view.providers.editor.check_view.show_notices([CheckNotice("Model", "ok", words)])


SCENES: dict[str, Callable[[SettingsView], None]] = {
    "demo": _select_provider(0),
    "ollama": _select_provider(1, FAILING_STEPS),
    "anthropic": _select_provider(2, PASSING_STEPS),
    "untrusted": _select_provider(2, UNTRUSTED_STEPS),
    "removed": _show_removed,
    "found": _show_detected,
    "notice": _show_notice,
    "new": lambda view: view.providers.add(),
}


EDITED = msgspec.structs.replace(PROFILES["balanced"], protect_steps=14, intake_ask=False)
_BEGIN = 1_763_700_000  # seconds
_STEP = 95  # seconds
_GROWTH = 1_400  # tokens a request


def sample_replay(tokens_after: int, sweep_every: int, *, is_exact: bool = True) -> PolicyReplay:
    """Return a session of 120 requests that is swept down to `tokens_after` tokens so often."""
    points = []
    rewrites = []
    tokens = 9_000
    for number in range(120):
        seq = 2 + 3 * number
        at = _BEGIN + number * _STEP
        tokens += _GROWTH + (number * 733) % 900
        if number % sweep_every == sweep_every - 1:
            kind = "fold-made" if number % 2 else "sweep-made"
            if number > 100:
                kind = "handover-made"
            rewrites.append(PolicyRewrite(seq, at, kind, tokens, tokens_after))
            tokens = tokens_after
        points.append(WindowPoint(seq, at, tokens))
    sent = sum(point.tokens for point in points)
    return PolicyReplay(
        tuple(points),
        tuple(rewrites),
        128_000,
        108_800,
        sent,
        sent * 0.21,
        0.9 + tokens_after / 1e6,
        is_exact,
    )


def sample_comparison(*, is_exact: bool = True) -> PolicyComparison:
    """Return an edited policy beside the one in use."""
    names = {"edited": EDITED, "in_use": PROFILES["balanced"], "lean": PROFILES["lean"]}
    return PolicyComparison(
        {key: policy_name(policy) for key, policy in names.items()},
        "edited",
        "in_use",
        sample_replay(24_000, 13, is_exact=is_exact),
        sample_replay(52_000, 21),
        "ready" if is_exact else "busy",
        is_one=False,
    )


def fill_policy(page: PolicyPage) -> None:
    """Show an edited policy with its replay, effects and its fields."""
    page.show_policy("helix-desktop", EDITED, PROFILES["balanced"])
    page.replay_card.show_comparison(sample_comparison(is_exact=False))
    page.show_effects({"protect_steps": "This session: bills 12k more, coverage +1 %"})
    page.form.show_error("observe_at", "“Compact early from” can't be above “observe_place_at”.")


_SAVED = 1_763_000_000_000  # in November
RULES = (
    PermissionRule("run_command", "pytest -q", _SAVED),
    PermissionRule("*", "git push *", _SAVED, "pattern", effect="deny"),
    PermissionRule("*", "migrations", _SAVED, "folder", effect="ask"),
    PermissionRule("*", "src", 0, "folder", scope="session"),
)
USAGE: dict[str, RuleUsage] = {RULES[0].text: RuleUsage(41, _SAVED), RULES[1].text: RuleUsage()}
VERSIONS = (("Qt", "6.11.3"), ("Python", "3.11.2"), ("system", "Debian GNU/Linux 12 (bookworm), x86_64"))


def make_settings(window: MainWindow) -> SettingsView:
    """The settings of a window, on screen, with all pages filled."""
    view = show_settings(window)
    fill_policy(view.policy)
    view.permissions.show_rules("helix-desktop", RULES, USAGE, {})
    view.about.show_about(VERSIONS)
    return view
