# SPDX-License-Identifier: MIT
# Sourced by ./dev interop: fetches the clients by the ordinary means of their languages, compiles
# the drivers, runs each suite once for each of its clients, and prints which scenario went how.
# Everything fetched and compiled is in build/interop and is used again while the drivers stay as
# they are. A client that cannot be had is a failure, never a skip.
# shellcheck shell=bash disable=SC2154  # out and nightly are set by the caller

interop_home=$PWD/build/interop
drivers=$PWD/tests/interop/drivers

clients() {
  echo redisson-4.7.0 redisson-3.27.2 node-redisson redlock5 redlock4 redis-py redsync \
    shedlock-postgres shedlock-mariadb etcd-go curator kazoo go-zookeeper
}

# interop_packages: the groups of Debian packages for the tools that are not on the PATH.
interop_packages() {
  { have javac && have mvn; } || echo interop-java
  { have node && have npm; } || echo interop-node
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo interop-python
  have go || echo interop-go
}
have() { command -v "$1" >/dev/null; }

# --- fetching ----------------------------------------------------------------------------------

fetch_java() { # FOLDER DRIVER [OPTION…]
  local place=$interop_home/$1
  # -U: what was not found a moment ago is asked for again. rto: Maven's own limit is half an hour.
  in_time mvn -B -q -U -f "$drivers/$2/pom.xml" "${@:3}" \
    -Dmaven.wagon.rto=60000 -Dmaven.wagon.http.retryHandler.count=5 \
    -DoutputDirectory="$place/jars" dependency:copy-dependencies &&
    javac -d "$place/classes" -cp "$place/jars/*" "$drivers"/{actors/Actors,"$2"/Driver}.java
}
fetch_node() {
  cp "$drivers"/node/* "$interop_home/node" &&
    (cd "$interop_home/node" && in_time npm ci --no-audit --no-fund --fetch-retries=5 \
      --fetch-timeout=60000)
}
fetch_python() { # FOLDER DRIVER
  local place=$interop_home/$1
  python3 -m venv "$place/venv" && in_time "$place/venv/bin/python" -m pip install -q \
    --disable-pip-version-check --retries 10 --timeout 60 -r "$drivers/$2/requirements.txt" &&
    cp "$drivers"/{actors/actors,"$2"/driver}.py "$place"
}
fetch_go() { # FOLDER DRIVER
  (cd "$drivers/$2" && GOTOOLCHAIN=local GOFLAGS=-mod=readonly \
    in_time go build -o "$interop_home/$1/$1" .)
}

# in_folder FOLDER SOURCES FETCH…: below build/interop, for the drivers in SOURCES and what they share.
in_folder() {
  ready "$interop_home/$1" "$(cat "$drivers/$2"/* "$drivers"/actors/* | sha256sum)" "${@:3}"
}

# fetch CLIENT: what was said is in log_of CLIENT.
fetch() {
  case $1 in
    redisson-*)
      in_folder "$1" redisson fetch_java "$1" redisson -Dredisson.version="${1#redisson-}"
      ;;
    shedlock-*) in_folder shedlock shedlock fetch_java shedlock shedlock ;;
    curator) in_folder curator curator fetch_java curator curator ;;
    redis-py) in_folder redis-py python fetch_python redis-py python ;;
    kazoo) in_folder kazoo kazoo fetch_python kazoo kazoo ;;
    redsync) in_folder redsync redsync fetch_go redsync redsync ;;
    etcd-go | go-zookeeper) in_folder "$1" "${1/-/_}" fetch_go "$1" "${1/-/_}" ;;
    node-redisson | redlock*) in_folder node node fetch_node ;;
  esac
}
log_of() {
  case $1 in
    shedlock-*) echo "$interop_home/shedlock.log" ;;
    node-redisson | redlock*) echo "$interop_home/node.log" ;;
    *) echo "$interop_home/$1.log" ;;
  esac
}

# --- running -----------------------------------------------------------------------------------

# header FILE WORD: the text of its line "# WORD: …".
header() { sed -n "s/^# $2: //p" "$1"; }

# suites_now: the suites to run: those with "# nightly: yes", if ./dev interop was asked for these.
suites_now() {
  local file
  for file in tests/interop/*.bats; do
    [ "$(header "$file" nightly)" != "$nightly" ] || echo "$file"
  done
}

# run_interop CLIENT…: the suites, four at a time, as they mostly wait; then, one by one, those
# that measure ("# alone: yes").
run_interop() {
  local client had=()
  export INTEROP_HOME=$interop_home INTEROP_FIGURES=$out/figures
  mkdir -p "$interop_home" && : >"$INTEROP_FIGURES"
  for client; do
    if fetch "$client"; then had+=("$client"); else not_had "$client"; fi
  done
  run_files "" 4 "${had[@]}"
  run_files yes 1 "${had[@]}"
}

not_had() { # CLIENT
  echo "FAILED  $1 cannot be had:"
  tail -n 20 "$(log_of "$1")" | sed 's/^/  /'
  echo "$1: cannot be had" >"$out/$1.failed" && echo 0 1 0 >"$out/$1.count"
}

run_files() { # ALONE AT_A_TIME CLIENT…
  local file client running=0
  for file in $(suites_now); do
    [ "$(header "$file" alone)" = "$1" ] || continue
    for client in "${@:3}"; do
      [[ " $(header "$file" clients) " == *" $client "* ]] || continue
      if [ "$running" = "$2" ]; then wait -n || true; running=$((running - 1)); fi
      INTEROP_CLIENT=$client run_fairly run_bats "$(basename "$file" .bats)@$client" "$file" &
      running=$((running + 1))
    done
  done
  wait
}

# --- the table ---------------------------------------------------------------------------------

# mark FILE CLIENT SCENARIO: how it went, or nothing.
mark() {
  local tap
  tap=$out/$(basename "$1" .bats)@$2.tap
  # Without -q, whose early end would be a failure of the pipe.
  if sed -E 's/^ok [0-9]+ //' "$tap" 2>/dev/null | grep -xF -- "$3" >/dev/null; then
    echo "✓"
  elif [ -z "$pattern" ] || grep -q "^not ok [0-9]* $3" "$tap" 2>/dev/null; then
    echo FAILED
  fi
}

# interop_table CLIENT…: scenarios down, clients across. A letter is explained below.
interop_table() {
  local file client name letter notes=() letters=abcdefghijklmnopqrstuvwxyz
  printf '\n%-84s' scenario && printf '%-18s' "$@" && echo
  for file in $(suites_now); do
    letter=""
    if [ -n "$(header "$file" others)" ]; then
      letter=${letters:${#notes[@]}:1}
      notes+=("$letter  $(header "$file" others)")
    fi
    while IFS= read -r name; do
      printf '%-84s' "$name"
      for client; do
        if [[ " $(header "$file" clients) " == *" $client "* ]]; then
          pad "$(mark "$file" "$client" "$name")"
        else
          pad "$letter"
        fi
      done
      echo
    done < <(sed -nE 's/^@test "(.*)" \{$/\1/p' "$file")
  done
  printf '%s\n' "" "${notes[@]}" "" && sort "$INTEROP_FIGURES" && echo
}
pad() { printf '%s%*s' "$1" $((18 - ${#1})) ''; }
