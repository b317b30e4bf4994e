#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: README.md is short, its commands run as they stand, and its tables are the program's.
# The jobs in it are stand-ins, db1.example is a server of this file, and nothing is downloaded.
# shellcheck disable=SC2154  # set by run

load ../support/suite
suite docs server empty

readme=$PROJECT/README.md

setup() {
  set_up_docs
  set_up
  export HOME=$BATS_TEST_TMPDIR/home
  mkdir -p "$HOME" "$BATS_TEST_TMPDIR/bin"
  cd "$HOME" || return 1
  ln -s "$(realpath "$DLOCK")" "$BATS_TEST_TMPDIR/bin/dlock"
  export PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

teardown() {
  touch "$HOME/go" # what a test that failed has left
  clean_up
}

# block TEXT: the fenced block that has TEXT.
block() {
  awk -v text="$1" '/^```/ { if (inside && index(block, text)) { printf "%s", block; exit }
    inside = !inside; block = ""; next } inside { block = block $0 "\n" }' "$readme"
}

# rows HEADER: the table whose first line begins so: its cells with a bar between, without the code
# marks.
rows() {
  awk -v head="$1 |" 'index($0, head) == 1 { wanted = 1; getline; next } !/\|/ { wanted = 0 } wanted' "$readme" |
    sed 's/`//g; s/ *| */|/g'
}

# shellcheck disable=SC2016  # for the stand-in to expand
stand_in() { # NAME [COMMAND]: a job that says under which lock it runs, and does COMMAND
  printf '#!/bin/sh\necho "${0##*/} under ${DLOCK_NAME-no lock}"\n%s\n' "${2-}" >"$1"
  chmod +x "$1"
}

# say_jobs: what the commands of a block on stdin say if dlock runs each of them: "job.sh under order-42".
say_jobs() { sed -nE 's,^dlock run(| .*) ([a-z0-9-]+) -- \./([a-z.]+).*,\3 under \2,p'; }

line_of() { block "$1" | grep -F -- "$1" | sed 's/ *#.*//'; } # TEXT

@test "README.md has at most 1,300 words" {
  [ "$(wc -w <"$readme")" -le 1300 ]
}

# Each block is for one of the tests below.
@test "no block of README.md is without a test" {
  local text known=('apt install' 'sha256sum' 'sqlite://' 'redis://' '*/5 * * * *' './dev demo')
  for text in "${known[@]}"; do [ -n "$(block "$text")" ] || fail "no block with $text"; done
  assert_equal "$(grep -c '^```' "$readme")" $((2 * ${#known[@]}))
}

# release: in this folder, files with the names of a release; the tarball has the program, and the sums
# are signed by the key in allowed_signers.
release() {
  local arch machine
  mkdir -p dlock-9.8.7-linux-amd64/bin
  cp "$DLOCK" dlock-9.8.7-linux-amd64/bin/dlock
  tar -czf dlock-9.8.7-linux-amd64.tar.gz dlock-9.8.7-linux-amd64
  rm -r dlock-9.8.7-linux-amd64
  for arch in amd64:x86_64 arm64:aarch64; do
    machine=${arch#*:}
    touch "dlock_9.8.7_${arch%:*}.deb" "dlock-9.8.7-1.$machine.rpm" "dlock_9.8.7_$machine.apk" \
      "dlock_bin-9.8.7-py3-none-manylinux_2_17_$machine.manylinux2014_$machine.musllinux_1_1_$machine.whl"
  done
  touch dlock-9.8.7-linux-arm64.tar.gz dlock-bin-9.8.7.tgz dlock-9.8.7-oci.tar
  sha256sum -- *.* >SHA256SUMS
  ssh-keygen -q -t ed25519 -N '' -C '' -f key
  echo "maintainers@dlock.example namespaces=\"dlock\" $(cat key.pub)" >allowed_signers
  ssh-keygen -q -Y sign -f key -n dlock SHA256SUMS
}

# shellcheck disable=SC2016  # for the stand-ins to expand
# Downloads and changes of the system: only their form, with each program as one that says its words.
@test "README.md: each command that installs a package names one file of a release" {
  local program
  release
  for program in sudo pip npm; do
    printf '#!/bin/sh\necho "${0##*/} $*"\n' >"$BATS_TEST_TMPDIR/bin/$program"
    chmod +x "$BATS_TEST_TMPDIR/bin/$program"
  done
  block 'apt install' >block.sh
  run -0 sh -eu block.sh
  assert_output "sudo apt install ./dlock_9.8.7_amd64.deb
sudo dnf install ./dlock-9.8.7-1.x86_64.rpm
sudo apk add --allow-untrusted ./dlock_9.8.7_x86_64.apk
pip install ./dlock_bin-9.8.7-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl
sudo npm install -g ./dlock-bin-9.8.7.tgz"
  grep -oE '\./dlock[^ ]*' <<<"$output" | xargs ls >/dev/null
}

@test "README.md: the tarball is verified and installed as it says, and a changed one is not" {
  release
  # shellcheck disable=SC2016  # for the shell of sudo
  printf '#!/bin/sh\neval "set -- $(echo "$*" | sed "s,/usr/local,$HOME/local,")"\nexec "$@"\n' >"$BATS_TEST_TMPDIR/bin/sudo"
  chmod +x "$BATS_TEST_TMPDIR/bin/sudo"
  mkdir -p local/bin
  block sha256sum >block.sh
  run -0 grep -c '^sudo cp .* /usr/local/bin/$' block.sh
  run -0 sh -eu block.sh
  assert_output --partial 'Good "dlock" signature for maintainers@dlock.example'
  assert_line "dlock-9.8.7-linux-amd64.tar.gz: OK"
  run -0 local/bin/dlock --version
  echo >>dlock-9.8.7-linux-amd64.tar.gz
  run ! sh -eu block.sh
  assert_line "dlock-9.8.7-linux-amd64.tar.gz: FAILED"
  sha256sum -- *.gz >SHA256SUMS
  run ! sh -eu block.sh
  refute_output --partial OK
}

@test "README.md, without a server: the three commands run their jobs as they stand" {
  block sqlite:// >block.sh
  stand_in job.sh
  stand_in report.sh
  stand_in client.sh
  assert_equal "$(say_jobs <block.sh | wc -l)" 3
  run -0 --separate-stderr sh -eu block.sh
  assert_output "$(say_jobs <block.sh)"
  assert_equal "$stderr" ""
  [ -e "$HOME/dlock.db" ]
}

@test "README.md, without a server: -n ends with 75, and at most three have a slot" {
  local pids=() i
  eval "$(line_of sqlite://)"
  stand_in report.sh
  stand_in client.sh "touch in.\$DLOCK_SLOT; until [ -e go ]; do sleep 0.02; done"
  sh -c "$(line_of nightly-report | sed 's,\./report.sh,./client.sh,')" >/dev/null 3>&- &
  pids+=($!)
  for i in 1 2 3; do
    sh -c "$(line_of '--slots 3')" >/dev/null 3>&- &
    pids+=($!)
  done
  for i in 0 1 2 ''; do eventually 20s test -e "in.$i"; done
  run -75 timeout 30 sh -c "$(line_of nightly-report)"
  run -75 timeout 30 env DLOCK_NONBLOCK=true sh -c "$(line_of '--slots 3')"
  touch go
  for i in "${pids[@]}"; do wait "$i"; done
}

# The block with its server in place of db1.example.
with_server() {
  block redis:// | sed "s,redis://db1.example:6379,$DLOCK_URL,"
}

@test "README.md, with a server: one deploys, one migrates, and the next only starts" {
  with_server >block.sh
  run -0 grep -c "^export DLOCK_URL=redis+unix:" block.sh
  stand_in deploy.sh
  stand_in migrate.sh
  stand_in server
  assert_equal "$(say_jobs <block.sh | wc -l)" 2
  run -0 --separate-stderr sh -eu block.sh
  assert_output "$(say_jobs <block.sh)
server under no lock"
  assert_equal "$stderr" ""
  run -0 --separate-stderr sh -eu block.sh
  assert_output "deploy.sh under deploy-production
server under no lock"
}

@test "README.md, with a server: while one host migrates the others wait, skip that, and start" {
  local line pids=() i
  line=$(with_server | sed -n '/^export/p; /migrate/p')
  stand_in migrate.sh 'touch in; until [ -e go ]; do sleep 0.02; done'
  stand_in server
  for i in 1 2 3; do
    sh -eu -c "$line" >"said.$i" 2>"err.$i" 3>&- &
    pids+=($!)
  done
  eventually 20s test -e in
  eventually 20s sh -c 'dlock inspect migrate-v42 | grep -q "2 waiting"'
  run -0 cat said.1 said.2 said.3
  assert_output "migrate.sh under migrate-v42"
  touch go
  for i in "${pids[@]}"; do wait "$i"; done
  run -0 sort said.1 said.2 said.3
  assert_output "migrate.sh under migrate-v42
server under no lock
server under no lock
server under no lock"
}

@test "README.md, with a server: a waiting CI job shows the URL of the job that deploys" {
  stand_in deploy.sh 'touch in; until [ -e go ]; do sleep 0.02; done'
  CI_JOB_URL=https://ci.example/jobs/7 sh -c "$(line_of '--wait 30m')" >/dev/null 3>&- &
  first=$!
  eventually 20s test -e in
  sh -c "$(line_of '--wait 30m')" >/dev/null 2>waits 3>&- &
  second=$!
  eventually 20s file_has waits https://ci.example/jobs/7
  touch go
  wait "$first"
  wait "$second"
}

@test "README.md: of the crontab's hosts one runs the job, the others skip silently" {
  local line
  line=$(block '*/5 * * * *' | sed -nE 's/^([^ ]+ +){5}//p')
  stand_in "$BATS_TEST_TMPDIR/bin/refresh-cache"
  run -0 sh -c "$line"
  assert_output "refresh-cache under cache-refresh"
  run -0 sh -c "$line" # comes a moment later, as from a host whose clock is behind
  assert_output ""
}

# shellcheck disable=SC2016  # the code marks are for grep
# spans: the code in the text that begins with dlock, without that of the tables.
spans() { awk '/^```/ { inside = !inside } !inside && !/\|/' "$readme" | tr '\n' ' ' | grep -oE '`dlock [^`]*`' | tr -d '`'; }

@test "README.md: the commands in its text do what it says" {
  stand_in job.sh
  stand_in hold.sh 'touch held; until [ -e go ]; do sleep 0.02; done'
  # shellcheck disable=SC2016  # for the shell of four.sh
  stand_in four.sh 'touch "in.$$"; until [ "$(ls in.* | wc -l)" = 4 ]; do sleep 0.02; done'
  run -0 spans
  assert_output "dlock run order-42 -- ./job.sh
dlock inspect NAME
dlock force-release NAME
dlock doctor
dlock run a -- xargs -n1 -P4 dlock run a -- CMD
dlock help run
dlock config
dlock run"
  local said=("${lines[@]}")
  run -0 sh -c "${said[0]}"
  assert_output "job.sh under order-42"
  dlock run NAME -- ./hold.sh >/dev/null 2>&1 3>&- &
  holder=$!
  eventually 20s test -e held
  run -0 sh -c "${said[1]}"
  assert_output --regexp 'held by .* lease [0-9.]+s left'
  run -0 sh -c "${said[2]} --yes"
  status=0
  wait "$holder" || status=$?
  assert_equal "$status" 79
  run -0 sh -c "${said[1]}"
  assert_output --partial free
  run sh -c "${said[3]}" # this server keeps no file, which doctor has to say
  assert_output --regexp 'W persist .* [0-9]+ good'
  run -0 timeout 60 sh -c "seq 4 | ${said[4]/CMD/./four.sh}"
  assert_equal "$(grep -c 'four.sh under a' <<<"$output")" 4
  run -0 sh -c "${said[5]}"
  assert_output --partial --once-per
  run -0 env DLOCK_TTL=1m sh -c "${said[6]}"
  assert_output --regexp 'ttl +1m +DLOCK_TTL'
}

# entry OPTION: what the help of run says of it, in one line.
entry() {
  dlock help run | awk -v option="$1" '/^  -/ { wanted = 0; split($0, words, /[ ,=]+/)
    for (i in words) if (words[i] == option) wanted = 1 } /^[^ ]/ { wanted = 0 } wanted' | tr -s ' \n' ' '
}

@test "README.md: the settings are options of run, with the defaults that it has" {
  local options default option
  run -0 rows option
  [ "${#lines[@]}" -ge 7 ]
  while IFS='|' read -r options default _; do
    for option in $(option_words <<<"$options"); do
      [ -n "$(entry "$option")" ] || fail "run has no option $option"
    done
    case $options in
      --url*) run -0 env -u DLOCK_URL dlock config && assert_line --regexp "^url +$default +default" ;;
      *) [ -z "$default" ] || entry "$option" | grep -qE "\(default:? ${default}[,)]" || fail "$options: not $default" ;;
    esac
  done < <(rows option)
}

@test "README.md: the exit statuses are those of dlock help run" {
  in_help=$(dlock help run | sed -n '/^exit status/,/^$/p' | grep -oE '(^|  )[0-9]{2,3} ' | sort -n | xargs)
  in_readme=$(rows status | cut -d '|' -f 1 | grep -oE '[0-9]+' | sort -n | xargs)
  [ -n "$in_help" ]
  assert_equal "$in_readme" "$in_help"
}

@test "README.md: each store of the table is one that the program knows" {
  local scheme
  run -0 sh -c "awk '/^you have/,/^$/' '$readme' | grep -oE '\`[a-z+]+://' | tr -d '\`' | sort -u"
  [ "${#lines[@]}" = 9 ]
  for scheme in "${lines[@]}"; do dlock help run | grep -qF "$scheme" || fail "no store $scheme"; done
}

# shellcheck disable=SC2016  # the single quotes are for sed
@test "README.md: what it has in place of other tools runs, and is busy when they are" {
  local theirs ours
  run -0 rows "instead of"
  [ "${#lines[@]}" = 6 ]
  while IFS='|' read -r theirs ours; do
    run -0 sh -c "${ours/CMD/true}"
    assert_output ""
    [[ $theirs == *"flock "*/tmp/x* ]] || continue
    theirs=${theirs//\/tmp\/x/$HOME/x} theirs=${theirs/ 30 / 0.2 } ours=${ours/ 30 / 0.2 }
    run -1 flock "$HOME/x" sh -c "${theirs/CMD/true}"
    run -1 dlock run x -- env -u DLOCK_HOLDS sh -c "${ours/CMD/true}"
  done < <(rows "instead of")
}

@test "README.md: the manual pages that it names are there" {
  local page
  run -0 sh -c "grep -oE 'dlock[a-z.-]*\([0-9]\)' '$readme' | tr -d ')' | tr '(' . | sort -u"
  [ "${#lines[@]}" -ge 5 ]
  for page in "${lines[@]}"; do [ -e "$PROJECT/man/$page" ] || fail "no man/$page"; done
}
