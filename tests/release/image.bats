#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the image has dlock, certificates of CAs, a user who is not root, and no more; dlock runs in
# it with a file and with TLS. ./dev release test image
load ../support/suite
suite cli tls

setup_file() {
  set_up_file
  bats_load_library bats-support
  VERSION=$(sed -nE 's/^project\(dlock VERSION ([0-9.]+).*/\1/p' "$PROJECT/CMakeLists.txt")
  export VERSION IMAGE=$PROJECT/build/files/dlock-$VERSION-oci.tar ROOT=$BATS_FILE_TMPDIR/amd64/rootfs
  [ -e "$IMAGE" ] || return 0
  unpacked amd64
  unpacked arm64
  mkdir "$ROOT/proc" # as a runtime does
}
# unpacked ARCH: the image of this architecture, in $BATS_FILE_TMPDIR/ARCH/rootfs.
unpacked() {
  local rootless=()
  [ "$(id -u)" = 0 ] || rootless=(--rootless)
  skopeo copy -q --insecure-policy --override-arch "$1" "oci-archive:$IMAGE" \
    "oci:$BATS_FILE_TMPDIR/$1.oci:here" &&
    umoci unpack "${rootless[@]}" --image "$BATS_FILE_TMPDIR/$1.oci:here" "$BATS_FILE_TMPDIR/$1" 2>/dev/null
}
setup() {
  set_up
  [ -x "$ROOT/dlock" ] || fail "there is no image: ./dev release"
  [ "$(id -u)" = 0 ] || skip "a root of one's own needs root"
}
teardown() {
  [ -z "${TLS_PID:-}" ] || end_ours "$TLS_PID"
  clean_up
}

# inside WORD…: dlock as a runtime would start it, with DLOCK_URL.
inside() {
  env -i DLOCK_URL="$DLOCK_URL" ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} \
    unshare --mount --pid --fork --root="$ROOT" --wd=/ --mount-proc --setgid 65532 --setuid 65532 /dlock "$@"
}

@test "its settings are those of a container: the user, the program, the platform" {
  local arch
  for arch in amd64 arm64; do
    run -0 skopeo inspect --config --override-arch "$arch" "oci-archive:$IMAGE"
    assert_output --partial '"architecture": "'"$arch"'"'
    run -0 jq -c '[.config.User, .config.Entrypoint, .config.Labels["org.opencontainers.image.version"]]' \
      <<<"$output"
    assert_output '["65532:65532",["/dlock"],"'"$VERSION"'"]'
  done
  run -0 file -b "$BATS_FILE_TMPDIR/arm64/rootfs/dlock"
  assert_output --partial "ARM aarch64"
}

@test "it has no other files, for each architecture" {
  local arch
  for arch in amd64 arm64; do
    run -0 find "$BATS_FILE_TMPDIR/$arch/rootfs" -type f -printf '%P\n'
    assert_equal "$(sort <<<"$output" | xargs)" "dlock etc/group etc/passwd\
 etc/ssl/certs/ca-certificates.crt usr/share/doc/dlock/LGPL-2.1.txt usr/share/doc/dlock/LICENSE\
 usr/share/doc/dlock/NOTICE usr/share/doc/dlock/THIRD-PARTY.txt"
  done
}

@test "dlock runs in it as PID 1, as a user who is not root, with a lock in a file" {
  export DLOCK_URL=sqlite:///var/lib/dlock/locks.db
  run -0 inside run a -- /dlock inspect --json a
  assert_output --partial '"user": "dlock"'
  assert_equal "$(stat -c %u "$ROOT/var/lib/dlock/locks.db")" 65532
}

@test "dlock speaks TLS in it: the certificates of CAs are there, and a stranger's is refused" {
  make_ca ca
  make_certificate here ca "$HERE"
  tls_redis here
  [ "$(grep -c 'BEGIN CERTIFICATE' "$ROOT/etc/ssl/certs/ca-certificates.crt")" -gt 100 ]
  run -69 inside run --wait 1s a -- /dlock --version
  assert_output --partial certificate
  cp "$TLS/ca.crt" "$ROOT/tmp/ca.crt"
  SSL_CERT_FILE=/tmp/ca.crt run -0 inside run a -- /dlock --version
  assert_output "dlock $VERSION"
}
