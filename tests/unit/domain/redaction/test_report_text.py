"""What is removed from a text for a bug report."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.text_variants import REMOVED, ReportRedaction, encoded_variants

HOME = "/home/ada"
# A bracket is part of the mark that replaces secrets, so what is left could begin with one by itself.
SECRETS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=4, max_size=24).filter(
        lambda secret: len(secret.strip()) >= 4 and not any(v in REMOVED for v in encoded_variants(secret))
    ),
    min_size=1,
    max_size=4,
)


@given(SECRETS, st.data())
def test_no_secret_survives_in_any_encoded_form(secrets: list[str], data: st.DataObject) -> None:
    forms = sorted({form for secret in secrets for form in encoded_variants(secret)})
    pieces = st.sampled_from([*forms, HOME, " ", "\n", "/home/", "key=", "x@y.org", "workspace", "~"])
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    redacted = ReportRedaction(HOME, secrets, {"workspace": "w1"}).redact(text)
    assert not [form for form in forms if form in redacted]


def test_what_has_the_form_of_a_key_or_an_address_is_removed_and_digests_stay() -> None:
    digest, identity = "9f3a" * 16, "0a1b2c3d-1111-4222-8333-444455556666"
    text = ReportRedaction(HOME).redact(
        "api_key=abcdef123456 Authorization: Bearer qwertyuiop1 https://ada:pw@host/x ada.l@example.org "
        f"sk-proj-abcdefghijklmnop {'Zx9' * 14} {digest} {identity} /home/ada/code/app.py /media/ada/disk "
        r"folder=%2Fhome%2Fada%2Fx DB_PASSWORD=correcthorse OPENAI_API_KEY='battery1' clientSecret: staple22"
    )
    for secret in (
        "correcthorse",
        "battery1",
        "staple22",
        "abcdef123456",
        "qwertyuiop1",
        "ada",
        "sk-proj",
        "Zx9Zx9",
        "example.org",
    ):
        assert secret not in text
    for expected in (digest, identity, "~/code/app.py", "/media/[user]/disk"):
        assert expected in text


def test_names_are_replaced_as_whole_words_the_longest_first() -> None:
    names = {"acme": "provider 1", "/srv/acme/shop": "[folder of workspace 1]"}
    redacted = ReportRedaction(HOME, (), names).redact("acme: /srv/acme/shop/a.py acmeist")
    assert redacted == "provider 1: [folder of workspace 1]/a.py acmeist"


def test_a_user_whose_home_is_the_root_folder_keeps_readable_paths() -> None:
    assert ReportRedaction("/").redact("/usr/lib/x.so") == "/usr/lib/x.so"
