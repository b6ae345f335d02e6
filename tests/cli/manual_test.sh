#!/bin/sh
# The manual page is troff that man formats without a warning.
#
#   tests/cli/manual_test.sh build/assay
set -u
if ! command -v man >/dev/null || ! command -v groff >/dev/null; then
    echo "skipped: manual_test: man or groff is missing (apt-get install man-db groff-base)"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" man >"$folder/assay.1" || exit 1
LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings=all -E UTF-8 -l "$folder/assay.1" \
    >"$folder/page" 2>"$folder/warnings" || exit 1
if [ -s "$folder/warnings" ]; then
    cat "$folder/warnings"
    exit 1
fi
for title in NAME SYNOPSIS DESCRIPTION COMMANDS 'EXIT STATUS' ENVIRONMENT \
    FILES EXAMPLES; do
    if ! grep -q "^$title" "$folder/page"; then
        echo "no section $title"
        exit 1
    fi
done
