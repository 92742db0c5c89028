"""Commands see the person's environment without secrets and without what this program added."""

from __future__ import annotations

from helix_desktop.tools.process.environment import clean_environment


def test_secrets_and_our_own_additions_stay_out() -> None:
    stays = ("PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "MONKEY", "KUBECONFIG")
    goes = (
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "my_api_key", "FOO_KEY"),
        *("QT_PLUGIN_PATH", "QT_QPA_PLATFORM", "QML2_IMPORT_PATH", "HELIX_DATA_DIR", "LD_LIBRARY_PATH"),
        "DATABASE_URL",
    )
    kept = clean_environment(dict.fromkeys((*stays, *goes), "x"))
    assert set(kept) & {*stays, *goes} == set(stays)
    assert kept["TERM"] == "dumb"


def test_what_the_person_had_before_the_frozen_program_is_put_back() -> None:
    kept = clean_environment({"LD_LIBRARY_PATH": "/frozen", "LD_LIBRARY_PATH_ORIG": "/mine"})
    assert kept["LD_LIBRARY_PATH"] == "/mine"
    assert "LD_LIBRARY_PATH_ORIG" not in kept
