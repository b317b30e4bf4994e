#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./dev elsewhere RELEASE [--new] [--cxx COMPILER] [build | SUITE…]: this checkout on another release of
# Debian, in a chroot that mmdebstrap makes. ./dev runs there and installs what it needs, as on a fresh
# machine. The chroot stays in build/elsewhere with what was installed and built; --new makes it again.
# Needs root. ELSEWHERE_LIMIT is how many seconds one command may take inside; an hour if it is not set.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.."

say() { printf '%s\n' "$*"; }
die() { say "elsewhere: $*" >&2; exit 2; }

# The mirror of Debian that apt uses here.
# shellcheck disable=SC2016  # for apt-get
mirror() {
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' --format '$(REPO_URI)' |
    head -n 1
}

# make_root: makes the chroot in $root. What stopped half-way is not taken for a whole one. A mirror may
# be older than its release files say; their signatures are checked all the same.
make_root() {
  local include=ca-certificates,git
  [ -z "$cxx" ] || include+=,$(package_of "$cxx")
  rm -rf --one-file-system "$root" "$root.new"
  mkdir -p "$(dirname "$root")"
  say "making a chroot of $release"
  mmdebstrap --quiet --variant=apt --include="$include" --aptopt='Acquire::Check-Valid-Until "false"' \
    "$release" "$root.new" "$(mirror)" || die "mmdebstrap cannot make a chroot of $release"
  mv "$root.new" "$root"
}

# package_of COMPILER: clang++-19 is in clang-19, g++-16 in a package of its own name.
package_of() { echo "${1/#clang++/clang}"; }

# copy_checkout: makes the sources in the chroot those of this checkout.
copy_checkout() {
  # shellcheck source=tests/support/copy_sources.bash
  . tests/support/copy_sources.bash
  copy_sources "$root/dlock"
  rm -rf "$root/dlock/.git"
  # The last commit comes along: the time in packages is that of the commit.
  git clone -q --bare --depth 1 "file://$PWD" "$root/dlock/.git"
  git -C "$root/dlock" config core.bare false
  git -C "$root/dlock" reset -q
}

# inside COMMAND…: runs it in the copy. Its processes and mounts end with it.
inside() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  # shellcheck disable=SC2016  # for the inner shell
  timeout --foreground -k 30 "${ELSEWHERE_LIMIT:-3600}" \
    unshare --mount --propagation private --pid --fork --kill-child sh -euc '
      root=$1
      shift
      mount --bind "$root" "$root" # a chroot that is a mount can have mount namespaces of its own
      mount -t proc proc "$root/proc"
      mount --rbind /sys "$root/sys"
      mount --rbind /dev "$root/dev"
      mount -t tmpfs -o mode=755 run "$root/run"
      exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
        sh -c "cd /dlock && exec \"\$@\"" sh "$@"' sh "$root" "$@"
}

# build_with: builds the program with the compiler $cxx and runs it.
build_with() {
  inside apt-get update -q
  inside apt-get install -q -y --no-install-recommends "$(package_of "$cxx")"
  inside ./dev setup build
  inside cmake --preset dev -B "build/$cxx" -DCMAKE_CXX_COMPILER="$cxx" -DDLOCK_TESTS=OFF
  inside cmake --build "build/$cxx" -j "$(nproc)"
  inside "build/$cxx/dlock" --version
  inside "build/$cxx/dlock" --url sqlite:///root/elsewhere.db run elsewhere -- true
}

release=${1:-} cxx="" new=""
[[ $release =~ ^[a-z]+$ ]] || die "which release of Debian? bookworm, trixie or sid"
shift
while [[ ${1:-} == --* ]]; do
  case $1 in
    --new) new=yes ;;
    --cxx) cxx=${2:?elsewhere: --cxx needs a compiler, as in g++-14} && shift ;;
    *) die "unknown word $1" ;;
  esac
  shift
done
[ "$(id -u)" = 0 ] || die "a chroot needs root"
root=$PWD/build/elsewhere/$release
if [ -n "$new" ] || [ ! -d "$root" ]; then make_root; fi
copy_checkout

if [ -n "$cxx" ]; then
  build_with && say "1 passed, 0 failed"
  exit
fi
if [ "${1:-}" = build ]; then
  inside ./dev build dev dlock && say "1 passed, 0 failed"
  exit
fi
[ $# != 0 ] || set -- unit sys contract cli docs
said=$root.said passed=0 failed=0
if inside ./dev demo >"$said" 2>&1; then
  say "ok      demo" && passed=1
else
  say "FAILED  demo" && cat "$said" && failed=1
fi
inside ./dev test "$@" 2>&1 | tee "$said" || true
if read -r p _ f _ rest < <(grep -E '^[0-9]+ passed, [0-9]+ failed' <(tail -n 1 "$said") | tr -d ,); then
  say "$((passed + p)) passed, $((failed + f)) failed${rest:+, $rest}"
else
  say "$passed passed, $((failed + 1)) failed"
fi
[ "$failed" = 0 ] && [ "${f:-1}" = 0 ]
