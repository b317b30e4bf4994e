#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: every file in packaging/examples works as it stands. The jobs in them are stand-ins.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  if [ -e "$BATS_TEST_DIRNAME/helpers.bash" ]; then load helpers; fi
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

appears() { # FILE: waits for it, ten seconds at most
  for _ in {1..200}; do
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
  run -0 sed -nE '/^[^#=]+$/p' "$examples/dlock.crontab"
  assert_equal "$(crontab_commands | wc -l)" 2
  run -0 sh -c "$(crontab_commands | sed -n 1p)"
  assert_output "refresh-cache under cache-refresh: "
  run -0 sh -c "$(crontab_commands | sed -n 2p)"
  assert_output "backup-shop under backup-shop: --full"
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

@test "the script that locks itself passes its words on" {
  run -0 "$examples/self-locking.sh" 0 'two words'
  assert_line --regexp '^report: begin \(token [0-9]+\)$'
  assert_line "report: end"
}

@test "a second copy of the script that locks itself ends at once with 75" {
  run -75 while_held nightly-report "$examples/self-locking.sh"
  refute_output --partial report:
  run -0 "$examples/self-locking.sh"
}

@test "of two copies started together one runs" {
  for i in 1 2; do
    { rc=0; "$examples/self-locking.sh" 2 >"out$i" 2>"err$i" || rc=$?; echo "$rc" >"rc$i"; } 3>&- &
  done
  wait
  assert_equal "$(sort -n rc1 rc2 | xargs)" "0 75"
  assert_equal "$(cat out1 out2 | grep -c '^report: end')" 1
}
