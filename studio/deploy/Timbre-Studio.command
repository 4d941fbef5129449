#!/bin/sh
# Open it: it sets up Python and Timbre Studio, once, and opens the page. On a Mac the first time with a right click, then Open.
# With uv (https://docs.astral.sh/uv), in folders of this user; `uv tool uninstall timbre-studio` removes it again.
set -eu
cd "$(dirname "$0")/../.."
PATH="$HOME/.local/bin:$PATH"

fail() {
    echo "$1" >&2
    printf 'Press Return to close this window. ' >&2
    read -r _ || true
    exit 1
}

if ! command -v uv >/dev/null; then
    echo "Fetching uv, which brings Python ..."
    curl -LsSf https://astral.sh/uv/install.sh | sh || true
    command -v uv >/dev/null || fail "uv could not be fetched. Is there a connection to the internet?"
fi
echo "Setting up Timbre Studio; the first time it fetches 600 MB ..."
uv tool install --quiet --python 3.11 --torch-backend cpu . ||
    fail "Timbre Studio could not be set up; the reason stands above. Once it is mended, open this again: it goes on."
echo "Timbre Studio runs as long as this window is open."
"$(uv tool dir --bin)/timbre-studio" serve --open-page on || fail "Timbre Studio ended; the reason stands above."
