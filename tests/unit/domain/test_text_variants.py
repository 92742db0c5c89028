"""Forms in which a text is found, and reports without the user's own."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.private_details import REMOVED, PrivateDetails
from helix_desktop.domain.redaction import Redaction, RedactionRequest
from helix_desktop.domain.secret_forms import has_form_of_secret
from helix_desktop.domain.text_variants import (
    MIN_BASE64_BYTES,
    SURE,
    OutputCopies,
    encoded_variants,
    join_result,
    redact_cut_rest,
)

TIMESTAMP_MS = 1_800_000_000_000
SECRETS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=MIN_BASE64_BYTES, max_size=40).filter(
    lambda text: (
        len(text.strip()) >= MIN_BASE64_BYTES and "FORGOTTEN" not in text and text not in "[FORGOTTEN 20"
    )
)


@given(SECRETS, st.binary(max_size=20), st.binary(max_size=20), st.booleans())
def test_a_text_is_found_in_base64_at_any_offset(
    secret: str, before: bytes, suffix: bytes, safe: bool
) -> None:
    encode = urlsafe_b64encode if safe else b64encode
    encoded = encode(before + secret.encode() + suffix)
    redaction = Redaction(RedactionRequest(secret), TIMESTAMP_MS)
    assert redaction.matches(encoded)
    remaining = redaction.redact_data(encoded)
    assert not any(form.encode() in remaining for form in encoded_variants(secret))


@given(SECRETS)
def test_a_text_is_found_in_urls_json_and_nested_json(secret: str) -> None:
    redaction = Redaction(RedactionRequest(secret), TIMESTAMP_MS)
    payload = {"key": secret}
    for text in (
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        urlencode(payload),
        quote(secret, safe="").lower() if "%" in quote(secret, safe="") and secret.islower() else secret,
        json.dumps(payload),
        json.dumps(payload, ensure_ascii=False),
        json.dumps({"arguments": json.dumps(payload)}),
    ):
        assert redaction.redact_text(text) != text
        assert secret not in redaction.redact_text(text)


def test_a_standalone_encoding_is_removed_with_its_padding() -> None:
    encoded = b64encode(b"sk-live-0123456789abcdef").decode()
    other = b64encode(b"sk-live-0123456789abcde").decode()
    assert other.endswith("=")
    for secret, text in (("sk-live-0123456789abcdef", encoded), ("sk-live-0123456789abcde", other)):
        redaction = Redaction(RedactionRequest(secret), TIMESTAMP_MS)
        assert redaction.redact_text(f"key: {text}.") == f"key: {redaction.mark}."


@pytest.mark.parametrize(
    "secret", ["tr0ub4dor&3x", "sk-live-" + "Ab3dEf6h" * 4, "correct horse battery staple"]
)
def test_what_a_cut_leaves_of_a_text_is_removed(secret: str) -> None:
    """Wherever a note, a title or an excerpt cuts it: its beginning, its end, what is between two cuts."""
    redaction = Redaction(RedactionRequest(secret), TIMESTAMP_MS)
    least = min(8, len(secret) // 2)
    for place in range(least, len(secret) - least + 1):
        head = secret[:place]
        rest = secret[place:]
        for text, clean in (
            (f"key: {head}…", "key: [F]…"),
            (f"key: {head} […] and more", "key: [F] […] and more"),
            (f"a word […] {rest}, and more", "a word […] [F], and more"),
            (f"…{rest}\nand more", "…[F]\nand more"),
            (f"key: {head} […] {rest}.", "key: [F] […] [F]."),
            (f"…{secret[2:place + least]}…", "…[F]…"),
        ):  # fmt: skip
            redacted = redaction.redact_text(text).replace(redaction.mark, "[F]")
            assert redacted.replace(" ", "") == clean.replace(" ", ""), text


def test_what_only_resembles_a_part_of_a_text_stays() -> None:
    """Less than half of it, a part of another word, and what no cut borders."""
    redaction = Redaction(RedactionRequest("testpassword"), TIMESTAMP_MS)
    for text in ("Run the test…", "contestpass…", "testpass and more", "[…] words and more", "… password2 …"):
        assert redaction.redact_text(text) == text


def test_space_before_a_text_is_not_a_part_of_it() -> None:
    """A line is pasted with its indentation; that of other lines stays, and does not hold up the search."""
    redaction = Redaction(RedactionRequest("        testpassword"), TIMESTAMP_MS)
    assert redaction.redact_text("if x:            y …") == "if x:            y …"
    assert redaction.redact_text("key: testpass…") == f"key: {redaction.mark}…"


def test_many_equal_characters_do_not_hold_up_the_search() -> None:
    """An output can have any number of them, and another text a part behind a cut."""
    text = f"…{'ab' * 200_000}!"
    removed = f"x{'ab' * 100_000}c"
    assert redact_cut_rest(text, removed, "[F]", SURE) == f"…[F]{'ab' * 100_000}!"


def test_a_short_text_is_not_searched_in_base64() -> None:
    assert all(form in ("abcd",) for form in encoded_variants("abcd"))
    assert len(encoded_variants("abcdefgh")) > 1
    with pytest.raises(InvalidInput):
        Redaction(RedactionRequest("abc"), TIMESTAMP_MS)


HOME = "/home/ada"
# A bracket is part of the mark that replaces secrets, so what is left could begin with one by itself.
REPORTED_SECRETS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=4, max_size=24).filter(
        lambda secret: len(secret.strip()) >= 4 and not any(v in REMOVED for v in encoded_variants(secret))
    ),
    min_size=1,
    max_size=4,
)


@given(REPORTED_SECRETS, st.data())
def test_no_secret_survives_in_any_encoded_form(secrets: list[str], data: st.DataObject) -> None:
    forms = sorted({form for secret in secrets for form in encoded_variants(secret)})
    pieces = st.sampled_from([*forms, HOME, " ", "\n", "/home/", "key=", "x@y.org", "workspace", "~"])
    text = "".join(data.draw(st.lists(pieces, max_size=8)))
    redacted = PrivateDetails(HOME, secrets, {"workspace": "w1"}).redact(text)
    assert not [form for form in forms if form in redacted]


def test_names_and_code_that_look_like_a_key_stay() -> None:
    text = (
        "readings.sort(key=lambda reading: reading.time), key=str.lower\n"
        "test_a_gap_of_2_hours_is_reported_as_one_line (tests.test_cli)"
    )
    assert PrivateDetails(HOME).redact(text) == text
    assert not has_form_of_secret(text)
    for secret in ("key=hunter2hunter2", "password=lambdalambda", "a1b2c3d4e5_f6g7h8i9j0_k1l2m3n4o5p6"):
        assert "[removed]" in PrivateDetails(HOME).redact(secret)
        assert has_form_of_secret(secret)


def test_what_has_the_form_of_a_key_or_an_address_is_removed_and_digests_stay() -> None:
    digest = "9f3a" * 16
    identity = "0a1b2c3d-1111-4222-8333-444455556666"
    text = PrivateDetails(HOME).redact(
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
    redacted = PrivateDetails(HOME, (), names).redact("acme: /srv/acme/shop/a.py acmeist")
    assert redacted == "provider 1: [folder of workspace 1]/a.py acmeist"


def test_a_short_home_folder_is_no_part_of_other_words() -> None:
    text = "repo/adm-relative, the git-adm-path; /adm/x, /admin"
    assert PrivateDetails("/adm").redact(text) == "repo/adm-relative, the git-adm-path; ~/x, /admin"


def test_a_user_whose_home_is_the_root_folder_keeps_readable_paths() -> None:
    assert PrivateDetails("/").redact("/usr/lib/x.so") == "/usr/lib/x.so"


def test_a_result_of_short_lines_is_found_as_notes_state_it() -> None:
    """Each line is too short to be looked for anywhere."""
    stated = join_result(["codes:", "4711", "0815"])
    copies = OutputCopies(["codes:\n4711\n0815\n"], [], "[GONE]")
    note = f"user: 4711 | 0815\ndid: shell a.txt → {stated}, b.txt → 4711x | 0815; done"
    assert copies.remove_from(note) == (
        "user: 4711 | 0815\ndid: shell a.txt → [GONE], b.txt → 4711x | 0815; done"
    )
