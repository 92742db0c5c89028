#!/bin/sh
# Signs programs for Windows in place (HELIX_WINDOWS_SIGN of packaging/windows), with the certificate in HELIX_WINDOWS_PFX
# (a .pfx in Base64) and its password in HELIX_WINDOWS_PFX_PASSWORD. Without them it says so and changes nothing.
set -eu
tell() {
    echo "sign-windows: $1"
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || echo "- Windows: $1" >> "$GITHUB_STEP_SUMMARY"
}

if [ -z "${HELIX_WINDOWS_PFX:-}" ]; then
    tell "unsigned because the secret WINDOWS_CERTIFICATE is not set. Windows warns whoever opens it."
    exit 0
fi
command -v osslsigncode > /dev/null || { echo "sign-windows: osslsigncode is missing:  sudo apt-get install -y osslsigncode" >&2; exit 1; }

umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s' "$HELIX_WINDOWS_PFX" | base64 -d > "$folder/certificate.pfx"
printf '%s' "${HELIX_WINDOWS_PFX_PASSWORD:-}" > "$folder/password"
for file in "$@"; do
    # Stamped with the time, so that the signature holds when the certificate has run out.
    osslsigncode sign -pkcs12 "$folder/certificate.pfx" -readpass "$folder/password" -h sha256 \
        -n "Helix Desktop" -ts http://timestamp.digicert.com -in "$file" -out "$folder/signed.exe"
    mode=$(stat -c %a "$file")
    mv "$folder/signed.exe" "$file"
    chmod "$mode" "$file"
    tell "$(basename "$file") is signed."
done
