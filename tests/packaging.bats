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
    # shellcheck source=packaging/release/run.bash
    . packaging/release/run.bash
    packages_of "$build" "$packages" >"$BATS_FILE_TMPDIR/packages.log" 2>&1 || true
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

# expected_files COMPLETIONS: with the folder for zsh's.
expected_files() {
  local page schema
  for page in "$BATS_TEST_DIRNAME"/../man/*.[1-9]; do
    echo "share/man/man${page##*.}/${page##*/}.gz"
  done
  for schema in "$BATS_TEST_DIRNAME"/../packaging/schemas/*; do
    echo "share/doc/dlock/schemas/${schema##*/}"
  done
  printf '%s\n' bin/dlock \
    share/bash-completion/completions/dlock \
    share/fish/vendor_completions.d/dlock.fish "share/zsh/$1/_dlock" \
    share/doc/dlock/{README.md,CHANGELOG.md,NOTICE,LGPL-2.1.txt,THIRD-PARTY.txt} \
    share/doc/dlock/examples/{ci-action.yml,ci-job.yml,ci-steps.yml,dlock.crontab} \
    share/doc/dlock/examples/dlock-job.{service,timer} \
    share/doc/dlock/examples/{self-locking,fence-sql,fence-rename,fence-put}.sh
}

# An installation below $1 (a prefix) is whole, and its program runs: it has the files on stdin.
assert_whole() {
  local page
  run -0 files_in "$1"
  assert_output "$(sort)"
  run -0 "$1/bin/dlock" --version
  assert_output --partial "$version"
  run -7 env DLOCK_URL="local://$BATS_TEST_TMPDIR/locks" "$1/bin/dlock" run a -- sh -c 'exit 7'
  assert_output ""
  for page in "$BATS_TEST_DIRNAME"/../man/*.[1-9]; do
    page=${page##*/}
    run -0 env MANPAGER=cat MANPATH="$1/share/man" man "${page##*.}" "${page%.*}"
    assert_line --partial "${page%.*}" # of NAME
  done
  run -0 bash -c "source '$1/share/bash-completion/completions/dlock' && complete -p dlock"
  run -0 zsh -n "$1"/share/zsh/*/_dlock
  run -0 fish --no-execute "$1/share/fish/vendor_completions.d/dlock.fish"
  [ -x "$1/share/doc/dlock/examples/self-locking.sh" ]
  run -0 find "$1" -perm /022 ! -type l
  assert_output ""
}

installed_files() { expected_files site-functions && echo share/doc/dlock/{LICENSE,copyright} | xargs -n 1; }
files_of_deb() {
  expected_files vendor-completions
  printf '%s\n' share/doc/dlock/{copyright,changelog.gz} share/lintian/overrides/dlock
}

@test "cmake --install puts everything in its place" {
  run -0 cmake --install "$build" --prefix "$root"
  assert_whole "$root" < <(installed_files)
}

@test "installing a second time changes nothing and leaves nothing stale" {
  run -0 cmake --install "$build" --prefix "$root"
  files=$(files_in "$root")
  touch -d yesterday "$root/bin/dlock"
  run -0 cmake --install "$build" --prefix "$root"
  assert_equal "$(files_in "$root")" "$files"
  assert_whole "$root" < <(installed_files)
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
  [ -n "$deb" ] || fail "there is no .deb: $(cat "$BATS_FILE_TMPDIR/packages.log")"
  assert_equal "$(basename "$deb")" "dlock_${version}_$(dpkg --print-architecture).deb"
  run -0 dpkg-deb -x "$deb" "$root"
  assert_equal "$(ls "$root")" usr
  assert_whole "$root/usr" < <(files_of_deb)
}

run_under_valgrind() { # OPTION…
  env -i PATH="$PATH" HOME="$HOME" DLOCK_URL="$DLOCK_URL" valgrind "$@" "$build/dlock" run counted -- true
}

# What one run of $build/dlock executes in user mode, without its command and its guard: the same at
# each run and on a busy machine, unlike a time (packaging/bench/single.py counts so too).
instructions_of_run() {
  run_under_valgrind --tool=callgrind --callgrind-out-file=/dev/null 2>&1 |
    sed -nE 's/.*Collected *: ([0-9]+)$/\1/p' | sort -n | tail -1
}

@test "a run of a free lock executes at most 232,000 instructions" {
  grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt" || skip "a loader would be counted too"
  start_redis
  run -0 instructions_of_run # loads the scripts
  run -0 instructions_of_run
  stop_redis
  echo "$output instructions"
  assert_regex "$output" '^[0-9]+$'
  [ "$output" -le 232000 ]
}

# How many pieces of 64 KiB the code lies in that one run of $build/dlock executes. The kernel maps one
# piece at a page fault.
pieces_of_run() {
  run_under_valgrind --tool=lackey --trace-mem=yes --log-file="$BATS_TEST_TMPDIR/used.%p"
  cat "$BATS_TEST_TMPDIR"/used.* | sed -nE 's/^I  (.*)[0-9a-f]{4},.*/\1/p' | sort -u | wc -l
}

@test "the code of a run lies side by side, in at most 20 pieces of 64 KiB" {
  grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt" || skip "a loader would be counted too"
  grep -q '^DLOCK_CODE_ORDER:INTERNAL=1' "$build/CMakeCache.txt" || skip "this linker cannot do it"
  start_redis
  run -0 pieces_of_run # loads the scripts
  rm "$BATS_TEST_TMPDIR"/used.*
  run -0 pieces_of_run
  stop_redis
  echo "$output pieces; ./dev order makes the list of what a run uses anew"
  assert_regex "$output" '^[0-9]+$'
  [ "$output" -le 20 ]
}

@test "a start of the static program leaves the processor alone until TLS is wanted" {
  grep -q '^DLOCK_STATIC:BOOL=ON' "$build/CMakeCache.txt" || skip "the library is not in the program"
  [ "$(uname -m)" = x86_64 ] || skip "only there OpenSSL asks the processor at each start"
  run -0 objdump -d -j .init "$build/dlock"
  assert_output --partial '<__wrap_OPENSSL_cpuid_setup>'
  refute_output --partial '<OPENSSL_cpuid_setup>'
}

@test "the .deb says who it is, and needs nothing" {
  deb=$(find "$packages" -maxdepth 1 -name 'dlock_*.deb' 2>/dev/null)
  [ -n "$deb" ] || fail "there is no .deb"
  run -0 dpkg-deb -f "$deb"
  assert_line "Package: dlock"
  assert_line "Version: $version"
  assert_line "Section: utils"
  assert_line --partial "Maintainer: dlock maintainers <"
  assert_line --partial "Homepage: https://"
  assert_line "Recommends: ca-certificates"
  assert_line --partial "Redis (alone, with sentinels"
  refute_line --partial Depends:
  run ldd "$build/dlock"
  assert_output --regexp 'not a dynamic executable|statically linked'
}

@test "dpkg installs the .deb over itself and leaves nothing behind when it is removed" {
  deb=$(find "$packages" -maxdepth 1 -name 'dlock_*.deb' 2>/dev/null)
  [ -n "$deb" ] || fail "there is no .deb"
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
  assert_whole "$root/usr" < <(files_of_deb)
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
  [ -n "$rpm" ] || fail "there is no .rpm: $(cat "$BATS_FILE_TMPDIR/packages.log")"
  assert_equal "$(rpm -qp --qf '%{NAME} %{VERSION} %{LICENSE}' "$rpm")" "dlock $version MIT AND\
 Apache-2.0 AND BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1 AND LGPL-2.1-or-later AND\
 PostgreSQL AND Zlib AND blessing"
  run -0 bash -c "rpm -qp --requires '$rpm' | grep -vE '^(rpmlib|/bin/sh$|shadow-utils$)'; true"
  assert_output ""
  run -0 rpm -qp --recommends "$rpm"
  assert_output ca-certificates
  run -0 rpm -qp --qf '%{DESCRIPTION}' "$rpm"
  assert_output --partial "Redis (alone, with sentinels"
  run -0 rpm -qp --scripts "$rpm"
  assert_output --partial "install -d -m 2770"
  mkdir "$root"
  umask 022 # for the folders that the package shares with others, and does not list
  if command -v cpio >/dev/null; then
    (cd "$root" && rpm2cpio "$rpm" | cpio -idm --quiet)
  else # a cpio archive is plain enough to be read by hand
    (cd "$root" && rpm2cpio "$rpm" | unpack_cpio)
  fi
  assert_whole "$root/usr" < <(expected_files site-functions |
    sed -E 's,doc/dlock/(NOTICE|LGPL|THIRD),licenses/dlock/\1,' && echo share/licenses/dlock/LICENSE)
}

@test "the texts name each library in the program with its version, its authors and its licence" {
  run -0 cmake --install "$build" --prefix "$root"
  doc=$root/share/doc/dlock
  count=0
  while read -r library number; do
    count=$((count + 1))
    grep -qiF "${library%%[-+]*}" "$doc/NOTICE" || fail "NOTICE does not name $library"
    grep -qF "$library $number: " "$doc/THIRD-PARTY.txt" || fail "THIRD-PARTY.txt has no $library $number"
  done < <("$root/bin/dlock" -v --version | sed "1,/^built with/d")
  [ "$count" -ge 16 ]
  run -0 cat "$doc/THIRD-PARTY.txt"
  refute_output --partial "was not there when dlock was built"
  refute_output --partial "version unknown"
  for author in "Salvatore Sanfilippo" "University of Cincinnati" "Victor Zverovich" "Niels Lohmann" \
    "Gabi Melman" "Toru Niina" "Jean-loup Gailly" "PostgreSQL Global Development Group" \
    "MariaDB" "Free Software Foundation" "Joyent" "Massachusetts Institute of Technology"; do
    assert_output --partial "$author"
  done
  assert_output --partial "Apache License"
  assert_output --partial "Redistributions in binary form must reproduce the above copyright"
}

@test "no folder of the machine that built it is in the program" {
  grep -q '^CMAKE_BUILD_TYPE:STRING=Rel' "$build/CMakeCache.txt" || skip "a debugger wants them"
  run grep -aoF "$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")" "$build/dlock"
  assert_output ""
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

# comparing: in this folder, a repository with ./dev release and ./dev release compare. All that takes
# long has a stand-in; what is made has the bytes of the file `program`, and of $EXTRA.
comparing() {
  mkdir -p packaging/release
  cp "$BATS_TEST_DIRNAME/../packaging/release/run.bash" packaging/release
  echo /build/ >.gitignore
  echo bytes >program
  cat >dev <<'END'
#!/usr/bin/env bash
. packaging/release/run.bash
say() { echo "$@"; }
need() { :; }
as_root() { :; }
old_libraries() { :; }
word_build() { :; }
arm64_root() { [[ $PWD != *" "* ]]; } # as the real one asks
release_tools() { :; }
make_files() { mkdir -p "$1" && (cd "$1" && cat "$OLDPWD/program" - <<<"$EXTRA" >a && sha256sum a >SHA256SUMS); }
shift
case ${1:-} in
  compare) EXTRA=${EXTRA_HERE:-} && compare ;;
  *) release ;;
esac
END
  chmod +x dev
  git init -q .
  git add .
  git -c user.name=a -c user.email=a@b.example commit -qm a
}
@test "release compare makes files of its own: those that are signed stay" {
  mkdir "$BATS_TEST_TMPDIR/here" "$BATS_TEST_TMPDIR/tmp"
  cd "$BATS_TEST_TMPDIR/here"
  comparing
  run -0 ./dev release
  echo signature >build/files/SHA256SUMS.sig
  run -0 env TMPDIR="$BATS_TEST_TMPDIR/tmp" ./dev release compare
  assert_output $'ok      a\n1 passed, 0 failed'
  run -0 cat build/files/SHA256SUMS.sig
  assert_output signature
  run -1 env TMPDIR="$BATS_TEST_TMPDIR/tmp" EXTRA_HERE=more ./dev release compare
  assert_output $'FAILED  a: other bytes in another folder\n0 passed, 1 failed'
  run -0 ls "$BATS_TEST_TMPDIR/tmp" # nothing of a comparison stays
  assert_output ""
}
