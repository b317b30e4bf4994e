# SPDX-License-Identifier: MIT
# Sourced by ./dev interop: fetches the clients by the ordinary means of their languages, compiles
# the drivers, runs each suite once for each of its clients, and prints which scenario went how.
# Everything fetched and compiled is in build/interop and is used again while the drivers stay as
# they are. A client that cannot be had is a failure, never a skip.
# shellcheck shell=bash disable=SC2154  # out is set by the caller

interop_home=$PWD/build/interop
drivers=$PWD/tests/interop/drivers

clients() { echo redisson-4.7.0 redisson-3.27.2 node-redisson redlock5 redlock4 redis-py redsync; }

# interop_packages: the groups of Debian packages for the tools that are not on the PATH.
interop_packages() {
  { have javac && have mvn; } || echo interop-java
  { have node && have npm; } || echo interop-node
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo interop-python
  have go || echo interop-go
}
have() { command -v "$1" >/dev/null; }

# --- fetching ----------------------------------------------------------------------------------

fetch_redisson() { # FOLDER
  local place=$interop_home/$1
  mvn -B -q -f "$drivers/redisson/pom.xml" -Dredisson.version="${1#redisson-}" \
    -DoutputDirectory="$place/jars" dependency:copy-dependencies &&
    javac -d "$place/classes" -cp "$place/jars/*" "$drivers/redisson/Driver.java"
}
fetch_node() {
  cp "$drivers"/node/* "$interop_home/node" && (cd "$interop_home/node" && npm ci --no-audit --no-fund)
}
fetch_python() {
  local place=$interop_home/redis-py
  python3 -m venv "$place/venv" && "$place/venv/bin/python" -m pip install -q \
    --disable-pip-version-check -r "$drivers/python/requirements.txt" &&
    cp "$drivers/python/driver.py" "$place"
}
fetch_redsync() {
  (cd "$drivers/redsync" && GOTOOLCHAIN=local GOFLAGS=-mod=readonly \
    go build -o "$interop_home/redsync/redsync" .)
}

# ready FOLDER SOURCES FETCH…: fetches into build/interop/FOLDER unless that was done from the same
# sources before. What was said is in FOLDER.log beside it.
ready() {
  local place=$interop_home/$1 log=$interop_home/$1.log sum
  sum=$(cat "$drivers/$2"/* | sha256sum)
  [ "$(cat "$place/made-from" 2>/dev/null)" != "$sum" ] || return 0
  rm -rf "$place" && mkdir -p "$place"
  echo "fetching $1"
  "${@:3}" >"$log" 2>&1 </dev/null && echo "$sum" >"$place/made-from"
}

# fetch CLIENT
fetch() {
  case $1 in
    redisson-*) ready "$1" redisson fetch_redisson "$1" ;;
    redis-py) ready redis-py python fetch_python ;;
    redsync) ready redsync redsync fetch_redsync ;;
    *) ready node node fetch_node ;;
  esac
}

# --- running -----------------------------------------------------------------------------------

# header FILE WORD: the text of its line "# WORD: …".
header() { sed -n "s/^# $2: //p" "$1"; }

# run_interop CLIENT…: the suites, two at a time.
run_interop() {
  local client file running=0 had=()
  export INTEROP_HOME=$interop_home INTEROP_FIGURES=$out/figures
  mkdir -p "$interop_home" && : >"$INTEROP_FIGURES"
  for client; do
    if fetch "$client"; then
      had+=("$client")
    else
      echo "FAILED  $client cannot be had:"
      tail -n 20 "$interop_home/$client.log" "$interop_home/node.log" 2>/dev/null | sed 's/^/  /'
      echo "$client: cannot be had" >"$out/$client.failed" && echo 0 1 0 >"$out/$client.count"
    fi
  done
  for file in tests/interop/*.bats; do
    for client in "${had[@]}"; do
      [[ " $(header "$file" clients) " == *" $client "* ]] || continue
      if [ "$running" = 2 ]; then wait -n || true; running=1; fi
      INTEROP_CLIENT=$client run_bats "$(basename "$file" .bats)@$client" "$file" &
      running=$((running + 1))
    done
  done
  wait
}

# The table: scenarios down, clients across. A mark that is a letter is explained below.
interop_table() {
  local file client name tap mark letter=a notes=()
  printf '\n%-80s' scenario && printf ' %-15s' "$@" && echo
  for file in tests/interop/*.bats; do
    [ -z "$(header "$file" others)" ] || {
      notes+=("$letter  $(header "$file" others)") && mark=$letter
      letter=$(tr 'a-y' 'b-z' <<<"$letter")
    }
    sed -nE 's/^@test "(.*)" \{$/\1/p' "$file" | while IFS= read -r name; do
      printf '%-80s' "$name"
      for client; do
        tap=$out/$(basename "$file" .bats)@$client.tap
        if [[ " $(header "$file" clients) " != *" $client "* ]]; then
          printf ' %-15s' "$mark"
        elif grep -qE "^ok [0-9]+ " "$tap" 2>/dev/null && sed -E 's/^ok [0-9]+ //' "$tap" | grep -qxF -- "$name"; then
          printf ' ✓%-14s' ''
        else
          printf ' %-15s' FAILED
        fi
      done
      echo
    done
  done
  printf '%s\n' "${notes[@]}"
  echo && sort "$INTEROP_FIGURES" && echo
}
