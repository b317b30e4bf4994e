#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: every file in packaging/examples works as it stands. The jobs in them are stand-ins.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  load support/suite
  DLOCK=${DLOCK:-$BATS_TEST_DIRNAME/../build/dev/dlock}
  [ -x "$DLOCK" ] || fail "no program at $DLOCK: build it, or set DLOCK"
  examples=$BATS_TEST_DIRNAME/../packaging/examples

  # A store of our own, and nobody's settings.
  unset REDIS_URL REDISCLI_AUTH
  for variable in "${!DLOCK_@}"; do unset "$variable"; done
  export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
  mkdir -p "$BATS_TEST_TMPDIR/locks" "$BATS_TEST_TMPDIR/bin"
  export DLOCK_URL=local://$BATS_TEST_TMPDIR/locks
  ln -s "$(realpath "$DLOCK")" "$BATS_TEST_TMPDIR/bin/dlock"
  export PATH=$BATS_TEST_TMPDIR/bin:$PATH
  cd "$BATS_TEST_TMPDIR" || return 1
}

# shellcheck disable=SC2016  # for the stand-in to expand
stand_in() { # PATH: a job that says under which lock it runs, and with which words
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\necho "${0##*/} under $DLOCK_NAME: $*"\n' >"$1"
  chmod +x "$1"
}

appears() { # FILE: waits for it, half a minute at most
  for _ in {1..600}; do
    [ ! -e "$1" ] || return 0
    sleep 0.05
  done
  fail "$1 did not appear"
}

# Runs "$@" while another process holds the lock $1.
while_held() {
  local name=$1 holder rc=0
  shift
  dlock run "$name" -- sh -c 'touch held; while [ ! -e let-go ]; do sleep 0.05; done' 3>&- &
  holder=$!
  appears held
  "$@" || rc=$?
  touch let-go
  wait "$holder"
  rm -f held let-go
  return "$rc"
}

# The commands of the crontab, one a line, as cron hands them to sh.
crontab_commands() {
  sed -nE 's/^([^ #=]+ +){5}//p' "$examples/dlock.crontab"
}

@test "the crontab runs its jobs under their locks" {
  stand_in bin/refresh-cache
  stand_in bin/backup-shop
  stand_in bin/send-mail
  stand_in bin/import-prices
  run -0 sed -nE '/^[^#=]+$/p' "$examples/dlock.crontab"
  assert_equal "$(crontab_commands | wc -l)" 4
  run -0 sh -c "$(crontab_commands | sed -n 1p)"
  assert_output "refresh-cache under cache-refresh: "
  run -0 sh -c "$(crontab_commands | sed -n 2p)"
  assert_output "backup-shop under backup-shop: --full"
  run -0 sh -c "$(crontab_commands | sed -n 3p)"
  assert_output "send-mail under hourly-mail: "
  run -0 sh -c "$(crontab_commands | sed -n 4p)"
  assert_output "import-prices under import-prices: "
}

# shellcheck disable=SC2016  # for the job to expand
@test "the nightly cron job and the service run on one host: the next is skipped, unless the first one failed" {
  local command
  stand_in local/db-maintenance
  for command in "$(crontab_commands | sed -n 2p)" "$(service | sed -n 's/^ExecStart=//p')"; do
    printf '#!/bin/sh\n[ -e all-is-well ] && echo "$0"\n' >bin/backup-shop
    chmod +x bin/backup-shop
    cp bin/backup-shop local/db-maintenance
    rm -f all-is-well
    run -1 sh -c "$command"
    touch all-is-well
    run -0 sh -c "$command"
    refute_output ""
    run -0 --separate-stderr sh -c "$command"
    assert_output ""
  done
}

@test "the hourly cron job leaves its tick taken, for a host whose clock is behind" {
  stand_in bin/send-mail
  run -0 sh -c "$(crontab_commands | sed -n 3p)"
  assert_output "send-mail under hourly-mail: "
  run -0 sh -c "$(crontab_commands | sed -n 3p)"
  assert_output ""
  run -0 dlock inspect hourly-mail
  assert_output --partial "kept by "
  run -0 dlock force-release --yes hourly-mail
  run -0 sh -c "$(crontab_commands | sed -n 3p)"
  assert_output "send-mail under hourly-mail: "
}

@test "the daily cron job tries again after a failure, and rests after a success" {
  printf '#!/bin/sh\necho try; [ -e all-is-well ]\n' >bin/import-prices
  chmod +x bin/import-prices
  run -1 sh -c "$(crontab_commands | sed -n 4p)"
  assert_output try
  touch all-is-well
  run -0 sh -c "$(crontab_commands | sed -n 4p)"
  assert_output try
  run -0 sh -c "$(crontab_commands | sed -n 4p)"
  assert_output ""
}

@test "the crontab has no percent sign, which cron takes for a line break" {
  run -1 grep -v '^#' <(crontab_commands | grep %)
}

@test "the cron job that comes second is skipped without a word" {
  stand_in bin/refresh-cache
  run -0 --separate-stderr while_held cache-refresh sh -c "$(crontab_commands | sed -n 1p)"
  assert_equal "$output" ""
  # shellcheck disable=SC2154  # set by run
  assert_equal "$stderr" ""
}

# The service with the programs of this test in place of the installed ones.
service() {
  stand_in local/db-maintenance
  sed "s#/usr/bin/dlock#$PWD/bin/dlock#; s#/usr/local/bin/#$PWD/local/#" \
    "$examples/dlock-job.service"
}

@test "systemd accepts the service and the timer" {
  command -v systemd-analyze >/dev/null || fail "no systemd-analyze here: install systemd"
  service >dlock-job.service
  cp "$examples/dlock-job.timer" .
  run -0 systemd-analyze verify --man=no ./dlock-job.service ./dlock-job.timer
  assert_output ""
}

@test "the service runs its job under the lock" {
  run -0 sh -c "$(service | sed -n 's/^ExecStart=//p')"
  assert_output "db-maintenance under db-maintenance: "
}

@test "the service counts a busy lock as no failure, and lets dlock stop the job itself" {
  start=$(service | sed -n 's/^ExecStart=//p' | sed 's/--wait 10m/--wait 1s/')
  run -75 while_held db-maintenance sh -c "$start"
  run -0 grep -x SuccessExitStatus=75 "$examples/dlock-job.service"
  run -0 grep -x KillMode=mixed "$examples/dlock-job.service"
  grace=$(grep -oE 'kill-after [0-9]+' "$examples/dlock-job.service" | tr -dc 0-9)
  stop=$(sed -n 's/^TimeoutStopSec=\([0-9]*\)s$/\1/p' "$examples/dlock-job.service")
  [ "$stop" -gt "$grace" ]
}

# The part of the CI job that a runner hands to bash: its variables, then its script.
ci_script() {
  sed -nE '/^  variables:/,/^  [a-z]+:$/ s/^    ([A-Z_]+): *(.*)/export \1=\2/p' \
    "$examples/ci-job.yml"
  sed -nE '/^  script:/,/^  [^ ]/ s/^    - //p' "$examples/ci-job.yml"
}

@test "the CI job runs its script under the lock, and says to others which job it is" {
  assert_equal "$(ci_script | wc -l)" 3
  stand_in deploy.sh
  run -0 bash -e -c "$(ci_script)"
  assert_output "deploy.sh under deploy-production: production"

  printf '#!/bin/sh\ndlock inspect deploy-production\n' >deploy.sh
  run -0 env CI_JOB_URL=https://ci.example/jobs/7 bash -e -c "$(ci_script)"
  assert_output --partial https://ci.example/jobs/7
}

# step NAME: what that step of the CI job runs, as a runner does: in a shell of its own, which ends at
# the first failure, with the variables that the steps before have left.
step() {
  local -a variables
  sed -n "/- name: $1\$/,/^      [-#] /{/- name: $1/d; /^      [-#] /q; p}" "$examples/ci-steps.yml" |
    sed -nE 's/^        run: ([^|].*)/\1/p; s/^          //p' >step.sh
  [ -s step.sh ] || fail "no step: $1"
  touch github_env
  mapfile -t variables <github_env
  env GITHUB_ENV="$PWD/github_env" "${variables[@]}" bash -e step.sh
}

@test "the steps of a CI job share a lock: taken, used, renewed, given back" {
  printf '#!/bin/sh\necho "migrate $*"; dlock inspect -q deploy-production\n' >migrate.sh
  chmod +x migrate.sh
  stand_in deploy.sh
  run -0 step "take the lock"
  assert_output ""
  # Held with no process of ours behind it; others are refused.
  run -75 dlock run -n deploy-production -- true
  run -0 step "migrate the database"
  assert_output --regexp '^migrate --token [0-9]{16}$'
  run -0 step deploy
  assert_output "deploy.sh under deploy-production: "
  run -0 dlock inspect -q deploy-production
  run -0 step "release the lock"
  run -1 dlock inspect -q deploy-production
  run -1 step "release the lock"
}

@test "a CI job that dies between its steps: its late release touches nothing of the next one" {
  run -0 step "take the lock"
  run -0 dlock force-release --now --yes deploy-production # in place of 15 minutes
  run -75 while_held deploy-production step "release the lock"
  assert_output --partial "held by"
  run -79 step "migrate the database"
}

@test "the script that locks itself passes its words on" {
  run -0 "$examples/self-locking.sh" 0 'two words'
  assert_line --regexp '^report: begin \(token [0-9]+\)$'
  assert_line "report: end"
}

@test "the script that locks itself may be called by a shell, by its name alone, or from the PATH" {
  cp "$examples/self-locking.sh" bin/nightly.sh
  run -0 nightly.sh
  assert_line "report: end"
  cd bin
  run -0 sh nightly.sh
  assert_line "report: end"
  chmod -x nightly.sh
  run -0 sh ./nightly.sh
  assert_line "report: end"
}

@test "a second copy of the script that locks itself ends at once with 75" {
  run -75 while_held nightly-report "$examples/self-locking.sh"
  refute_output --partial report:
  run -0 "$examples/self-locking.sh"
}

@test "of two copies started together one runs" {
  # The work of one lasts until the other has ended, however late that began.
  cat >bin/sleep <<SH
#!/bin/sh
for _ in \$(seq 600); do
  [ ! -e rc1 ] && [ ! -e rc2 ] || exit 0
  $(command -v sleep) 0.05
done
SH
  chmod +x bin/sleep
  for i in 1 2; do
    { rc=0; "$examples/self-locking.sh" 2 >"out$i" 2>"err$i" || rc=$?; echo "$rc" >"rc$i"; } 3>&- &
  done
  wait
  assert_equal "$(sort -n rc1 rc2 | xargs)" "0 75"
  assert_equal "$(cat out1 out2 | grep -c '^report: end')" 1
}

# --- the fence: three resources that compare the token --------------------------------------------

# Each of them: report_is TEXT, history (the tokens of all writes, in order) and write TOKEN TEXT.
use_table() {
  sqlite3 shop.db "CREATE TABLE report (id INTEGER PRIMARY KEY, body TEXT, fence INTEGER);
    CREATE TABLE history (fence INTEGER);
    CREATE TRIGGER note AFTER UPDATE ON report
      BEGIN INSERT INTO history VALUES (NEW.fence); END;
    INSERT INTO report VALUES (7, NULL, 0);"
  report_is() { [ "$(sqlite3 shop.db 'SELECT body FROM report WHERE id = 7')" = "$1" ]; }
  history() { sqlite3 shop.db 'SELECT fence FROM history ORDER BY rowid'; }
  write() { DLOCK_TOKEN=$1 "$examples/fence-sql.sh" shop.db "$2"; }
}

# mv takes its time, and notes what it is given: by then nobody else may be between the two steps.
use_file() {
  cat >bin/mv <<SH
#!/bin/sh
sleep 0.0\$((\$\$ % 5))
case \$2 in *.fence) cat "\$1" >>"$PWD/history" ;; esac
exec $(command -v mv) "\$@"
SH
  chmod +x bin/mv
  report_is() { [ "$(cat report.html)" = "$1" ]; }
  history() { cat history; }
  write() { DLOCK_TOKEN=$1 "$examples/fence-rename.sh" report.html <<<"$2"; }
}

use_object() {
  python3 "$PROGRAMS/object_store.py" "$PWD/puts" >port 2>server.err 3>&- &
  server=$!
  eventually 10s file_has port
  printf 'http://127.0.0.1:%s/report' "$(cat port)" >url
  report_is() { [ "$(curl -sS "$(cat url)" | tail -n +2)" = "$1" ]; }
  history() { sed 's/^fence //' puts; }
  write() {
    echo "$2" >"text.$1.$BASHPID"
    DLOCK_TOKEN=$1 "$examples/fence-put.sh" "$(cat url)" "text.$1.$BASHPID"
  }
}
teardown() { [ -z "${server:-}" ] || kill "$server"; }

refused() { # TOKEN TEXT
  run -1 write "$@"
  assert_output "refused: a newer holder has written"
}

# A holder that was paused wakes up when the next one has written.
keeps_stale_holders_out() {
  write 1795219200123456 "first"
  write 1795219200123456 "first, written on"
  write 1795219200123457 "it's second"
  report_is "it's second"
  refused 1795219200123456 "first, too late"
  refused 7 "a shorter number"
  report_is "it's second"
  write 1795219200123457 "second, written on"
  report_is "second, written on"
}

# Writers with twenty tokens at once: each is written or refused, and no token follows a larger one.
compares_and_writes_in_one_step() {
  local token writers=()
  for token in $(seq 100 119 | shuf); do
    write "$token" "text of $token" >"said.$token" 2>&1 3>&- &
    writers+=($!)
  done
  for token in "${writers[@]}"; do wait "$token" || true; done
  report_is "text of 119"
  run -0 history
  assert_line 119
  assert_equal "$(history | xargs)" "$(history | sort -n | xargs)"
  # Who was not written was refused, for this reason and no other.
  assert_equal "$({ history && grep -l '^refused: ' said.* | sed 's/said\.//'; } | sort -u | wc -l)" 20
  assert_equal "$(cat said.* | grep -vc '^refused: ')" 0
}

@test "the fence in SQL: a stale holder is refused, the present one may write again" {
  use_table
  keeps_stale_holders_out
}

@test "the fence in SQL: twenty at once, and no token follows a larger one" {
  use_table
  compares_and_writes_in_one_step
}

@test "the fence of a file: a stale holder is refused, the present one may write again" {
  use_file
  keeps_stale_holders_out
}

@test "the fence of a file: twenty at once, and no token follows a larger one" {
  use_file
  compares_and_writes_in_one_step
  run -0 find . -name 'report.html.[0-9]*'
  assert_output "" # nothing half-written is left
}

@test "the fence of an object: a stale holder is refused, the present one may write again" {
  use_object
  keeps_stale_holders_out
}

@test "the fence of an object: the same text under a newer token is another object" {
  use_object
  write 5 "the same"
  write 6 "the same"
  refused 5 "the same"
  assert_equal "$(history | xargs)" "5 6"
}

@test "the fence of an object: twenty at once, and no token follows a larger one" {
  use_object
  compares_and_writes_in_one_step
}

@test "the fences take their token from dlock, and nothing else for one" {
  use_table
  run -0 dlock run report-7 -- "$examples/fence-sql.sh" shop.db "under the lock"
  report_is "under the lock"
  run -0 dlock run report-7 -- sh -c "echo text | '$examples/fence-rename.sh' report.html"
  use_object
  run -0 dlock run report-7 -- sh -c "echo text >text; '$examples/fence-put.sh' '$(cat url)' text"
  report_is text
  for script in "$examples"/fence-*.sh; do
    run ! env -u DLOCK_TOKEN "$script" "$(cat url)" text </dev/null
    assert_output --partial "run this below dlock run"
    run -64 env DLOCK_TOKEN="1); DROP TABLE report; --" "$script" "$(cat url)" text </dev/null
  done
}
