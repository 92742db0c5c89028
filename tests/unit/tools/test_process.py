"""The environment of child processes."""

from __future__ import annotations

from helix_desktop.tools.tool import clean_environment


def test_secrets_and_our_own_additions_are_removed() -> None:
    expected = ("PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "MONKEY", "KUBECONFIG")
    removed = (
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "my_api_key", "FOO_KEY"),
        *("QT_PLUGIN_PATH", "QT_QPA_PLATFORM", "QML2_IMPORT_PATH", "HELIX_DATA_DIR", "LD_LIBRARY_PATH"),
        "DATABASE_URL",
    )
    environment = clean_environment(dict.fromkeys((*expected, *removed), "x"))
    assert set(environment) & {*expected, *removed} == set(expected)
    assert environment["TERM"] == "dumb"


def test_the_user_s_values_from_before_the_frozen_program_are_restored() -> None:
    environment = clean_environment({"LD_LIBRARY_PATH": "/frozen", "LD_LIBRARY_PATH_ORIG": "/mine"})
    assert environment["LD_LIBRARY_PATH"] == "/mine"
    assert "LD_LIBRARY_PATH_ORIG" not in environment
