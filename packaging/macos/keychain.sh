#!/bin/sh
# Puts the signing certificate into a keychain of its own (open), and takes that away again (close). For the release
# workflow: CERTIFICATE holds a .p12 in Base64, CERTIFICATE_PASSWORD its password, NOTARY_KEY a .p8 as it is.
set -eu
keychain=$RUNNER_TEMP/signing.keychain-db
notary=$RUNNER_TEMP/notary.p8

case ${1:-} in
open)
    umask 077
    [ -z "${NOTARY_KEY:-}" ] || printf '%s\n' "$NOTARY_KEY" > "$notary"
    if [ -z "${CERTIFICATE:-}" ]; then
        echo "keychain: there is no certificate (secret MACOS_CERTIFICATE); the image stays unsigned"
        exit 0
    fi
    # Never typed by anybody: it guards this keychain for as long as this job runs.
    password=$(openssl rand -hex 32)
    printf '%s' "$CERTIFICATE" | base64 -D > "$RUNNER_TEMP/certificate.p12"
    security create-keychain -p "$password" "$keychain"
    security set-keychain-settings -lut 21600 "$keychain"
    security unlock-keychain -p "$password" "$keychain"
    security import "$RUNNER_TEMP/certificate.p12" -k "$keychain" -f pkcs12 -P "${CERTIFICATE_PASSWORD:-}" \
        -T /usr/bin/codesign
    rm -f "$RUNNER_TEMP/certificate.p12"
    security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$keychain" > /dev/null
    # Beside those that are searched already, or the tools of this job lose theirs.
    # shellcheck disable=SC2046 # one word per keychain
    security list-keychains -d user -s "$keychain" $(security list-keychains -d user | tr -d '"')
    ;;
close)
    rm -f "$notary" "$RUNNER_TEMP/certificate.p12"
    [ ! -f "$keychain" ] || security delete-keychain "$keychain"
    ;;
*)
    echo "Usage: keychain.sh open|close" >&2
    exit 2
    ;;
esac
