#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the .deb installs, replaces version 0.1.0, works, and is purged with all its files, on fresh
# systems of Debian 12 and 13; the .rpm does on a root of its own. The group dlock stays, as Debian
# lets it: another package must not get its number. ./dev release test debian
# shellcheck disable=SC2016  # for the shells in the roots
load ../support/suite
suite cli
load ../support/fetch

setup_file() {
  set_up_file
  VERSION=$(sed -nE 's/^project\(dlock VERSION ([0-9.]+).*/\1/p' "$PROJECT/CMakeLists.txt")
  export VERSION FILES=$PROJECT/build/files DEB=$PROJECT/build/files/dlock_${VERSION}_amd64.deb
}
setup() {
  set_up
  [ -e "$DEB" ] || fail "there is no .deb: ./dev release"
  [ "$(id -u)" = 0 ] || skip "a root of one's own needs root"
}

# fresh_root RELEASE: a minimal Debian in $root, unpacked from build/roots, which is made once.
fresh_root() {
  local place=$PROJECT/build/roots/$1
  ready "$place" "minbase" mmdebstrap --quiet --variant=minbase "$1" "$place/root.tar" || fail "$(cat "$place.log")"
  root=$BATS_TEST_TMPDIR/root
  mkdir "$root"
  tar -xf "$place/root.tar" -C "$root" --exclude='./dev/*'
  touch "$root/dev/null"
  chmod 666 "$root/dev/null"
  cp "$DEB" "$root/tmp/dlock.deb"
}
inside() {
  unshare --mount --pid --fork --root="$root" --wd=/ --mount-proc \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$1"
}

# old_package: /tmp/old.deb, with the files that that of 0.1.0 had, where it had them.
old_package() {
  local old=$BATS_TEST_TMPDIR/old
  dpkg-deb -R "$DEB" "$old"
  sed -i "s/^Version: .*/Version: 0.1.0~before/; /^Recommends:/d" "$old/DEBIAN/control"
  rm -rf "$old/usr/share/lintian" "$old"/usr/share/doc/dlock/{copyright,changelog.gz,THIRD-PARTY.txt}
  find "$old/usr/share/man" -name '*.gz' -exec gunzip {} +
  cp "$PROJECT/LICENSE" "$old/usr/share/doc/dlock"
  (cd "$old" && find usr -type f -print0 | xargs -0 md5sum >DEBIAN/md5sums)
  dpkg-deb --root-owner-group -b "$old" "$root/tmp/old.deb" >/dev/null
}

tried() {
  fresh_root "$1"
  old_package
  run -0 inside 'dpkg -i /tmp/old.deb && test -e /usr/share/man/man1/dlock.1 &&
    test -e /usr/share/doc/dlock/LICENSE &&
    dlock run --url local:///var/lib/dlock a -- true && chmod 2775 /var/lib/dlock'
  run -0 inside 'dpkg -i /tmp/dlock.deb'
  run -0 inside 'dpkg-query -W -f "\${Version} \${Status}" dlock'
  assert_output "$VERSION install ok installed"
  for file in /usr/share/man/man1/dlock.1 /usr/share/doc/dlock/LICENSE; do
    run -0 inside "test ! -e $file && test ! -L $file"
  done
  run -0 inside 'dpkg --verify dlock' # no file differs from the package
  assert_output ""
  run -0 inside 'stat -c "%a %U %G" /var/lib/dlock' # as the administrator left it
  assert_output "2775 root dlock"
  run -7 inside 'dlock run --url sqlite:///root/locks.db a -- sh -c "exit 7"'
  run -0 inside 'dlock run --url local:///var/lib/dlock a -- dlock --version'
  assert_output "dlock $VERSION"
  run -0 inside 'dpkg --purge dlock'
  run -0 inside 'find / -xdev ! -path "/tmp/*" \( -name "dlock*" -o -name _dlock \)'
  assert_output ""
  run -0 inside 'getent group dlock'
}
@test "the .deb on Debian 12: over version 0.1.0, used, purged" { tried bookworm; }
@test "the .deb on Debian 13: over version 0.1.0, used, purged" { tried trixie; }

@test "the .rpm on a root of its own: installed, verified, used, erased" {
  fresh_root bookworm
  rpm_here() { rpm --root "$root" --dbpath /var/lib/rpm --nodeps --noscripts "$@"; }
  run -0 rpm_here -i "$FILES/dlock-$VERSION-1.x86_64.rpm"
  run -0 rpm_here -V dlock
  assert_output ""
  run -0 inside 'dlock run --url sqlite:///root/locks.db a -- dlock --version'
  assert_output "dlock $VERSION"
  run -0 inside 'ls /usr/share/licenses/dlock'
  assert_output $'LGPL-2.1.txt\nLICENSE\nNOTICE\nTHIRD-PARTY.txt'
  # What follows the installation, as rpm would run it.
  run -0 bash -c 'rpm -qp --qf "%{POSTIN}" "$1" | chroot "$2" sh' - "$FILES/dlock-$VERSION-1.x86_64.rpm" "$root"
  run -0 inside 'stat -c "%a %U %G" /var/lib/dlock'
  assert_output "2770 root dlock"
  run -0 rpm_here -e dlock
  run ! inside 'ls /usr/bin/dlock'
}
