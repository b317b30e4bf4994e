#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what is installed and packaged is complete and runs. Needs a build in $BUILD_OF_DLOCK.
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_TEST_DIRNAME/.." || return 1
  export build=${BUILD_OF_DLOCK:-$PWD/build/release}
  build=$(realpath -m "$build")
  version=$(sed -nE 's/^project\(dlock VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  export version packages=$BATS_FILE_TMPDIR/packages
  if [ -x "$build/dlock" ]; then
    (cd "$build" && cpack -G "DEB;RPM" -B "$packages") >"$BATS_FILE_TMPDIR/cpack.log" 2>&1 || true
  fi
}

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  load support/suite
  [ -x "$build/dlock" ] || fail "no program in $build: ./dev build release, or set BUILD_OF_DLOCK"
  root=$BATS_TEST_TMPDIR/root
  export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
  unset DLOCK_CONFIG DLOCK_URL DLOCK_TTL DLOCK_KILL_AFTER DLOCK_VERBOSE
  mkdir "$BATS_TEST_TMPDIR/locks"
}

# The files below $1, without the prefix, sorted.
files_in() { (cd "$1" && find . ! -type d | sed 's,^\./,,' | sort); }

expected_files() {
  printf '%s\n' bin/dlock \
    share/bash-completion/completions/dlock \
    share/fish/vendor_completions.d/dlock.fish \
    share/man/man1/dlock.1 share/man/man5/dlock.toml.5 share/man/man7/dlock-{protocol,faults,stores,guarantees,json,doctor}.7 \
    share/zsh/vendor-completions/_dlock \
    share/doc/dlock/{README.md,CHANGELOG.md,LICENSE,NOTICE,LGPL-2.1.txt} \
    share/doc/dlock/schemas/{inspect,acquire,result,log,doctor,config}.schema.json \
    share/doc/dlock/examples/{ci-job.yml,ci-steps.yml,dlock.crontab} \
    share/doc/dlock/examples/dlock-job.{service,timer} \
    share/doc/dlock/examples/{self-locking,fence-sql,fence-rename,fence-put}.sh | sort
}

# An installation below $1 (a prefix) is whole, and its program runs.
assert_whole() {
  run -0 files_in "$1"
  assert_output "$(expected_files)"
  run -0 "$1/bin/dlock" --version
  assert_output --partial "$version"
  run -7 env DLOCK_URL="local://$BATS_TEST_TMPDIR/locks" "$1/bin/dlock" run a -- sh -c 'exit 7'
  assert_output ""
  run -0 env MANPAGER=cat MANPATH="$1/share/man" man dlock
  assert_output --partial "run a command under a distributed lock"
  run -0 env MANPAGER=cat MANPATH="$1/share/man" man dlock-protocol
  assert_output --partial "how dlock keeps locks in Redis"
  run -0 env MANPAGER=cat MANPATH="$1/share/man" man dlock-faults
  assert_output --partial "what dlock does under which fault"
  run -0 env MANPAGER=cat MANPATH="$1/share/man" man dlock-stores
  assert_output --partial "where dlock keeps locks"
  run -0 env MANPAGER=cat MANPATH="$1/share/man" man dlock-guarantees
  assert_output --partial "what a lock of dlock promises"
  run -0 env MANPAGER=cat MANPATH="$1/share/man" man dlock.toml
  assert_output --partial "configuration files of dlock"
  run -0 bash -c "source '$1/share/bash-completion/completions/dlock' && complete -p dlock"
  run -0 zsh -n "$1/share/zsh/vendor-completions/_dlock"
  run -0 fish --no-execute "$1/share/fish/vendor_completions.d/dlock.fish"
  [ -x "$1/share/doc/dlock/examples/self-locking.sh" ]
  run -0 find "$1" -perm /022 ! -type l
  assert_output ""
}

@test "cmake --install puts everything in its place" {
  run -0 cmake --install "$build" --prefix "$root"
  assert_whole "$root"
}

@test "installing a second time changes nothing and leaves nothing stale" {
  run -0 cmake --install "$build" --prefix "$root"
  before=$(files_in "$root")
  touch -d yesterday "$root/bin/dlock"
  run -0 cmake --install "$build" --prefix "$root"
  assert_equal "$(files_in "$root")" "$before"
  assert_whole "$root"
}

@test "the program can be replaced while it runs" {
  run -0 cmake --install "$build" --prefix "$root"
  DLOCK_URL=local://$BATS_TEST_TMPDIR/locks "$root/bin/dlock" run a -- \
    sh -c "touch '$root/held'; while [ ! -e '$root/let-go' ]; do sleep 0.05; done" 3>&- &
  holder=$!
  for _ in {1..600}; do [ ! -e "$root/held" ] || break; sleep 0.05; done
  [ -e "$root/held" ]
  touch -d yesterday "$root/bin/dlock"
  run -0 cmake --install "$build" --prefix "$root"
  touch "$root/let-go"
  wait "$holder"
}

@test "the .deb is whole and runs from a scratch root" {
  deb=$(find "$packages" -maxdepth 1 -name 'dlock_*.deb' 2>/dev/null)
  [ -n "$deb" ] || fail "cpack made no .deb: $(cat "$BATS_FILE_TMPDIR/cpack.log")"
  assert_equal "$(basename "$deb")" "dlock_${version}_$(dpkg --print-architecture).deb"
  run -0 dpkg-deb -x "$deb" "$root"
  assert_equal "$(ls "$root")" usr
  assert_whole "$root/usr"
}

# What one run of $build/dlock executes in user mode, without its command and its guard: the same at
# each run and on a busy machine, unlike a time (packaging/bench/single.py counts so too).
instructions_of_run() {
  env -i PATH="$PATH" HOME="$HOME" DLOCK_URL="$DLOCK_URL" valgrind --tool=callgrind \
    --callgrind-out-file=/dev/null "$build/dlock" run counted -- true 2>&1 |
    sed -nE 's/.*Collected *: ([0-9]+)$/\1/p' | sort -n | tail -1
}

@test "a run of a free lock executes at most 236,000 instructions" {
  grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt" || skip "a loader would be counted too"
  start_redis
  run -0 instructions_of_run # loads the scripts
  run -0 instructions_of_run
  stop_redis
  echo "$output instructions"
  assert_regex "$output" '^[0-9]+$'
  [ "$output" -le 236000 ]
}

@test "a start of the static program leaves the processor alone until TLS is wanted" {
  grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt" || skip "the library is not in the program"
  [ "$(uname -m)" = x86_64 ] || skip "only there OpenSSL asks the processor at each start"
  run -0 objdump -d -j .init "$build/dlock"
  assert_output --partial '<__wrap_OPENSSL_cpuid_setup>'
  refute_output --partial '<OPENSSL_cpuid_setup>'
}

@test "the .deb says who it is, and needs nothing if the program is static" {
  deb=$(find "$packages" -maxdepth 1 -name 'dlock_*.deb' 2>/dev/null)
  [ -n "$deb" ] || fail "cpack made no .deb"
  run -0 dpkg-deb -f "$deb"
  assert_line "Package: dlock"
  assert_line "Version: $version"
  assert_line "Section: utils"
  assert_line --partial "Maintainer: dlock maintainers <"
  assert_line --partial "Homepage: https://"
  if grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt"; then
    refute_line --partial Depends:
    run ldd "$build/dlock"
    assert_output --regexp 'not a dynamic executable|statically linked'
  else
    assert_line --regexp '^Depends: .*libc6 '
  fi
}

@test "dpkg installs the .deb over itself and leaves nothing behind when it is removed" {
  deb=$(find "$packages" -maxdepth 1 -name 'dlock_*.deb' 2>/dev/null)
  [ -n "$deb" ] || fail "cpack made no .deb"
  mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/log"
  touch "$root/var/lib/dpkg/status"
  dpkg_here() {
    dpkg --root="$root" --log="$root/var/log/dpkg.log" --force-not-root --force-depends \
      --force-script-chrootless "$@"
  }
  mkdir "$root/etc"
  : >"$root/etc/group"
  run -0 dpkg_here --install "$deb"
  run -0 dpkg_here --install "$deb"
  assert_whole "$root/usr"
  # The place for locks of several users.
  group=$(sed -nE 's/^dlock:[^:]*:([0-9]+):.*/\1/p' "$root/etc/group")
  [ -n "$group" ]
  assert_equal "$(stat -c '%a %u %g' "$root/var/lib/dlock")" "2770 0 $group"
  chmod 2775 "$root/var/lib/dlock"
  run -0 dpkg_here --install "$deb"
  assert_equal "$(stat -c %a "$root/var/lib/dlock")" 2775
  run -0 dpkg_here --remove dlock
  [ -d "$root/var/lib/dlock" ]
  [ ! -e "$root/usr/bin/dlock" ]
  [ ! -d "$root/usr" ] || assert_equal "$(files_in "$root/usr")" ""
  run -0 dpkg_here --purge dlock
  [ ! -e "$root/var/lib/dlock" ]
}

@test "the .rpm is whole and runs from a scratch root" {
  command -v rpm2cpio >/dev/null || skip "no rpm2cpio here"
  rpm=$(find "$packages" -maxdepth 1 -name 'dlock-*.rpm' 2>/dev/null)
  [ -n "$rpm" ] || fail "cpack made no .rpm: $(cat "$BATS_FILE_TMPDIR/cpack.log")"
  assert_equal "$(rpm -qp --qf '%{NAME} %{VERSION} %{LICENSE}' "$rpm")" "dlock $version MIT"
  run -0 rpm -qpl "$rpm"
  for file in $(expected_files); do assert_line "/usr/$file"; done
  if grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt"; then
    run -0 bash -c "rpm -qp --requires '$rpm' | grep -vE '^(rpmlib|/bin/sh$|shadow-utils$)'; true"
    assert_output ""
  fi
  run -0 rpm -qp --scripts "$rpm"
  assert_output --partial "install -d -m 2770"
  mkdir "$root"
  umask 022 # for the folders that the package shares with others, and does not list
  if command -v cpio >/dev/null; then
    (cd "$root" && rpm2cpio "$rpm" | cpio -idm --quiet)
  else # a cpio archive is plain enough to be read by hand
    (cd "$root" && rpm2cpio "$rpm" | unpack_cpio)
  fi
  assert_whole "$root/usr"
}

# The newc format: a header of 110 bytes, the name, the content, each padded to four bytes.
unpack_cpio() {
  python3 -c '
import os, stat, sys
data, at = sys.stdin.buffer.read(), 0
while True:
    field = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
    mode, size, length = field[1], field[6], field[11]
    name = data[at + 110:at + 109 + length].decode()
    at = (at + 110 + length + 3) // 4 * 4
    if name == "TRAILER!!!":
        break
    if stat.S_ISDIR(mode):
        os.makedirs(name, exist_ok=True)
    elif stat.S_ISREG(mode):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as out:
            out.write(data[at:at + size])
        os.chmod(name, stat.S_IMODE(mode))
    at = (at + size + 3) // 4 * 4
'
}
