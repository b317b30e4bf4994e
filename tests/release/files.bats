#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what ./dev release has made is whole, signed as packaging/RELEASING.md says, and runs from
# where pip, npm and tar put it; each file has the program of its build. ./dev release test files
# shellcheck disable=SC2016  # for the inner shells
load ../support/suite
suite cli
load ../support/fetch

setup_file() {
  set_up_file
  export FILES=$PROJECT/build/files VERSION
  VERSION=$(sed -nE 's/^project\(dlock VERSION ([0-9.]+).*/\1/p' "$PROJECT/CMakeLists.txt")
}
setup() {
  set_up
  [ -e "$FILES/SHA256SUMS" ] || fail "there are no files of a release: ./dev release"
  export DLOCK_URL=sqlite://$BATS_TEST_TMPDIR/locks.db
  unset NODE_OPTIONS
}

# assert_runs PROGRAM…: it is this version, and holds a lock.
assert_runs() {
  run -0 "$@" --version
  assert_output "dlock $VERSION"
  run -7 "$@" run a -- sh -c '[ "$DLOCK_TOKEN" -gt 0 ] && exit 7'
}

@test "the sums are those of all files" {
  cd "$FILES"
  run -0 sha256sum --check --strict SHA256SUMS
  assert_equal "$(wc -l <SHA256SUMS)" "$(find . -type f ! -name 'SHA256SUMS*' | wc -l)"
  assert_equal "$(wc -l <SHA256SUMS)" 15
}

# verified SIGNERS: as packaging/RELEASING.md tells users, in the folder of the files.
verified() {
  ssh-keygen -Y verify -f "$1" -I maintainers@dlock.example -n dlock -s SHA256SUMS.sig <SHA256SUMS
}

# Files of a rehearsal may have no signature, or one of a key that the source does not name. Once the
# source names a key, a signature has to be that of this key.
@test "the signature, if there is one, is of these sums and of the key in the source" {
  local signers=$PROJECT/packaging/allowed_signers
  cd "$FILES"
  if [ ! -e SHA256SUMS.sig ]; then
    echo "# not signed: $FILES" >&3
  elif grep -q '^[^#]' "$signers"; then
    run -0 verified "$signers"
    assert_output --partial 'Good "dlock" signature for maintainers@dlock.example'
  else
    echo "# signed by a key that the source does not name: $FILES" >&3
    run -0 ssh-keygen -Y check-novalidate -n dlock -s SHA256SUMS.sig <SHA256SUMS
    assert_output --partial 'Good "dlock" signature'
  fi
}

@test "a signature is that of the key, and of nothing else" {
  cd "$BATS_TEST_TMPDIR"
  cp "$FILES/SHA256SUMS" .
  ssh-keygen -q -t ed25519 -N '' -C '' -f key
  run -0 python3 -B -c 'import sys; sys.path.insert(0, sys.argv[1]); import pathlib, papers
papers.sign(pathlib.Path("."), "key")' "$PROJECT/packaging/release"
  echo "maintainers@dlock.example namespaces=\"dlock\" $(cat key.pub)" >allowed_signers
  run -0 verified allowed_signers
  assert_output --partial 'Good "dlock" signature for maintainers@dlock.example'
  sed -i '1s/./g/' SHA256SUMS # no digit of a sum
  run ! verified allowed_signers
  cp "$FILES/SHA256SUMS" .
  ssh-keygen -q -t ed25519 -N '' -C '' -f another
  echo "maintainers@dlock.example namespaces=\"dlock\" $(cat another.pub)" >allowed_signers
  run ! verified allowed_signers
}

@test "a key that the source does not name signs no release" {
  cd "$BATS_TEST_TMPDIR"
  for key in ours another; do ssh-keygen -q -t ed25519 -N '' -C '' -f "$key"; done
  mkdir packaging
  # shellcheck source=/dev/null  # what it sets is not for the other tests
  . "$PROJECT/packaging/release/run.bash"
  echo "# no key yet" >packaging/allowed_signers
  run -0 may_sign another
  echo "maintainers@dlock.example namespaces=\"dlock\" $(cat ours.pub)" >>packaging/allowed_signers
  run -0 may_sign ours
  run ! may_sign another
}

@test "the lists of parts are CycloneDX, and name what dlock names" {
  local tools=$PROJECT/build/cyclonedx arch
  wanted="cyclonedx-python-lib[json-validation]==11.5.0"
  install_validator() {
    python3 -m venv "$tools/venv" &&
      in_time "$tools/venv/bin/python" -m pip install -q --disable-pip-version-check "$wanted"
  }
  ready "$tools" "$wanted" install_validator || fail "$(cat "$tools.log")"
  for arch in amd64 arm64; do
    run -0 "$tools/venv/bin/python" -c 'import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = open(sys.argv[1]).read()
error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
assert error is None, error
for part in json.loads(text)["components"]: print(part["name"], part["version"])' \
      "$FILES/dlock-$VERSION-linux-$arch.cdx.json"
    [ "$arch" = amd64 ] || continue
    assert_output "$("$DLOCK" -v --version | sed '1,/^built with/d')"
  done
  assert_equal "$(wc -l <<<"$output")" 16
}

# section HEADING: what is below this heading of CHANGELOG.md, without the empty lines around it.
section() {
  awk -v heading="## [$1]" '/^## / { on = index($0, heading) == 1; next } on' "$PROJECT/CHANGELOG.md" |
    sed -e '/./,$!d'
}

@test "the notes are the whole section of the changelog on this version" {
  local wanted
  wanted=$(section "$VERSION")
  wanted=${wanted:-$(section Unreleased)}
  [ -n "$wanted" ]
  diff "$FILES/NOTES.md" - <<<"# dlock $VERSION"$'\n\n'"$wanted"
}

# program FILE PATH [ARCH]: what FILE has at PATH. ARCH chooses from an image.
program() {
  local place=$BATS_TEST_TMPDIR/image-${3:-}
  case $1 in
    *-oci.tar)
      skopeo copy -q --insecure-policy --override-arch "$3" "oci-archive:$1" "dir:$place" &&
        tar -xzOf "$place/$(jq -r '.layers[].digest | ltrimstr("sha256:")' "$place/manifest.json")" "$2"
      ;;
    *.deb) dpkg-deb --fsys-tarfile "$1" | tar -xO "./$2" ;;
    *.rpm) rpm2cpio "$1" | cpio -i --quiet --to-stdout "./$2" ;;
    *.whl) python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$1" "$2" ;;
    *) tar --warning=no-unknown-keyword -xzOf "$1" "$2" ;;
  esac
}

@test "each file has the program of its build for its architecture, byte for byte" {
  local arch machine file path compared=() tries
  cd "$FILES"
  strip -o "$BATS_TEST_TMPDIR/amd64" "$PROJECT/build/release/dlock"
  aarch64-linux-gnu-strip -o "$BATS_TEST_TMPDIR/arm64" "$PROJECT/build/release-arm64/dlock"
  for arch in amd64:x86_64 arm64:aarch64; do
    machine=${arch#*:} arch=${arch%:*}
    tries=("dlock-$VERSION-linux-$arch.tar.gz dlock-$VERSION-linux-$arch/bin/dlock"
      "dlock_${VERSION}_$arch.deb usr/bin/dlock" "dlock-$VERSION-1.$machine.rpm usr/bin/dlock"
      "dlock_${VERSION}_$machine.apk usr/bin/dlock"
      "$(echo dlock_bin-"$VERSION"-*_"$machine".whl) dlock_bin-$VERSION.data/scripts/dlock"
      "dlock-bin-$VERSION.tgz package/bin/dlock-$arch" "dlock-$VERSION-oci.tar dlock")
    while read -r file path; do
      program "$file" "$path" "$arch" >"$BATS_TEST_TMPDIR/inside" || fail "$file has no $path"
      cmp "$BATS_TEST_TMPDIR/inside" "$BATS_TEST_TMPDIR/$arch" || fail "$file has another program"
      compared+=("$file")
    done < <(printf '%s\n' "${tries[@]}")
  done
  # So a new kind of file cannot be left out here.
  assert_equal "$(printf '%s\n' "${compared[@]}" | sort -u)" \
    "$(cut -d ' ' -f 3 SHA256SUMS | grep -vE '\.cdx\.json$|^NOTES\.md$' | sort)"
}

# in_root FOLDER COMMAND…: with this folder as /, and a /proc, which every Linux has.
in_root() {
  mkdir -p "$1/proc"
  unshare --map-root-user --mount --pid --fork --root="$1" --wd=/ --mount-proc "${@:2}"
}

@test "the .tar.gz needs nothing: it runs where there is no other file" {
  mkdir "$BATS_TEST_TMPDIR/root"
  tar -xzf "$FILES/dlock-$VERSION-linux-amd64.tar.gz" -C "$BATS_TEST_TMPDIR/root" --strip-components 1
  run -0 find "$BATS_TEST_TMPDIR/root" -maxdepth 1 -mindepth 1 -printf '%f\n'
  assert_equal "$(sort <<<"$output" | xargs)" "bin share"
  run -0 in_root "$BATS_TEST_TMPDIR/root" /bin/dlock run --url sqlite:///locks.db a -- /bin/dlock --version
  assert_output "dlock $VERSION"
  run -0 env MANPAGER=cat MANPATH="$BATS_TEST_TMPDIR/root/share/man" man dlock
  assert_runs "$BATS_TEST_TMPDIR/root/bin/dlock"
}

@test "the wheel: pip puts a dlock beside python, for each architecture" {
  local wheels=("$FILES"/dlock_bin-"$VERSION"-py3-none-*x86_64*.whl)
  python3 -m venv "$BATS_TEST_TMPDIR/venv"
  run -0 "$BATS_TEST_TMPDIR/venv/bin/pip" install -q --disable-pip-version-check --no-index "${wheels[0]}"
  assert_runs "$BATS_TEST_TMPDIR/venv/bin/dlock"
  run -0 "$BATS_TEST_TMPDIR/venv/bin/pip" show --disable-pip-version-check -f dlock-bin
  assert_line --partial "licenses/THIRD-PARTY.txt"
  run -0 "$BATS_TEST_TMPDIR/venv/bin/pip" install -q --disable-pip-version-check --no-index --no-deps \
    --only-binary=:all: --platform manylinux2014_aarch64 --target "$BATS_TEST_TMPDIR/arm64" \
    "$FILES"/dlock_bin-"$VERSION"-py3-none-*aarch64*.whl
  run -0 file -b "$BATS_TEST_TMPDIR/arm64/bin/dlock"
  assert_output --partial "ARM aarch64"
}

@test "the npm package: npx runs dlock itself, and a signal is for dlock" {
  mkdir "$BATS_TEST_TMPDIR/js"
  cd "$BATS_TEST_TMPDIR/js"
  run -0 npm install --offline --no-audit --no-fund --cache "$BATS_TEST_TMPDIR/cache" \
    "$FILES/dlock-bin-$VERSION.tgz"
  run -0 npx --offline --cache "$BATS_TEST_TMPDIR/cache" dlock --version
  assert_output "dlock $VERSION"
  assert_runs node_modules/.bin/dlock
  node_modules/.bin/dlock run a -- sh -c 'trap "exit 5" TERM; touch up; while :; do sleep 0.1; done' 3>&- &
  eventually 10s test -e up
  kill -TERM $!
  rc=0
  wait $! || rc=$?
  assert_equal $rc 5
  run -0 file -b node_modules/dlock-bin/bin/dlock-arm64
  assert_output --partial "ARM aarch64"
}

@test "the .apk has the files; no program here can install it" {
  run -0 tar --warning=no-unknown-keyword -tzf "$FILES/dlock_${VERSION}_x86_64.apk"
  for file in .PKGINFO .post-install usr/bin/dlock usr/share/man/man1/dlock.1.gz \
    usr/share/zsh/site-functions/_dlock usr/share/doc/dlock/NOTICE; do
    assert_line "$file"
  done
  run -0 tar --warning=no-unknown-keyword -xzOf "$FILES/dlock_${VERSION}_aarch64.apk" .PKGINFO
  assert_line "arch = aarch64"
  assert_line "pkgver = $VERSION"
}

@test "lintian finds no error in a .deb, rpmlint none in an .rpm but those that are meant" {
  run -0 lintian --fail-on error --allow-root "$FILES"/*.deb
  refute_line --regexp '^E:'
  run rpmlint "$FILES"/*.rpm
  assert_output --partial "2 packages and 0 specfiles checked"
  # One file that runs everywhere; not each package is signed, but the sums are.
  run -1 grep -E ': E: ' <<<"$(grep -vE 'statically-linked-binary|no-signature' <<<"$output")"
}
