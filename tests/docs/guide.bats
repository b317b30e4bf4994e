#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: every example of dlock-guide(7) does what its section says. The jobs in them are stand-ins,
# and so are docker, sudo and ansible-playbook.
# shellcheck disable=SC2016,SC2034,SC2154  # '…' is for inner shells; set by set_up_docs, and exported there

load ../support/suite
suite docs

setup() {
  set_up_docs
  own_store
  DLOCK_URL=sqlite://$PWD/locks.db
  examples=$PROJECT/packaging/examples
}

# block TEXT: prints the example that has TEXT, as the reader sees it.
block() {
  blocks | awk -v RS='\f' -v text="$1" 'index($0, text) { printf "%s", $0; found = 1; exit } END { exit !found }'
}
# blocks: all examples, each followed by a form feed.
blocks() {
  sed -n '/^\.EX/,/^\.EE/p' "$PROJECT/man/dlock-guide.7" |
    sed "/^\.EX/d; s/^\.EE/\f/; s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\e/\\\\/g; s/^\\\\&//" |
    sed -z 's/\f\n/\f/g'
}
@test "each example of the guide is run by a test here" {
  local used text found
  mapfile -t used < <(grep -oP "(?<!#)\bblock '\K[^']+" "$BATS_TEST_FILENAME" | sort -u)
  run -0 grep -c '^\.EX' "$PROJECT/man/dlock-guide.7"
  assert_equal "$(blocks | tr -dc '\f' | wc -c)" "$output"
  assert_equal "${#used[@]}" "$output"
  for text in "${used[@]}"; do block "$text" >/dev/null || fail "no example has: $text"; done
  assert_equal "$(for text in "${used[@]}"; do block "$text" | md5sum; done | sort -u | wc -l)" "$output"
}

stand_in() { # PATH…: jobs that say under which lock they run, and with which words
  local path
  for path; do
    mkdir -p "$(dirname "$path")"
    printf '#!/bin/sh\necho "${0##*/} under $DLOCK_NAME: $*"\n' >"$path"
    chmod +x "$path"
  done
}
# while_held NAME COMMAND…: runs it while another process holds the lock.
while_held() {
  local rc=0 && rm -f let-go
  dlock run "$1" -- sh -c 'touch held; until [ -e let-go ]; do sleep 0.02; done' 3>&- &
  eventually 10s test -e held
  "${@:2}" || rc=$?
  touch let-go
  wait $!
  rm -f held
  return "$rc"
}
# yaml PATH: prints what is at this place of YAML on stdin: a text, or one item of a list a line.
yaml() {
  python3 - "$1" 3<&0 <<'P'
import os, sys
try:
    import yaml
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages") # Debian's, for the python of a version manager
    import yaml
d = yaml.safe_load(os.fdopen(3))
value = eval("d" + sys.argv[1])
print(*value, sep="\n") if isinstance(value, list) else print(value)
P
}

@test "the configuration: the store of the host, and 78 where no setting names one" {
  block 'require-url = true' >config.toml
  run -0 env -u DLOCK_URL dlock --config config.toml config
  assert_line --regexp '^url +redis://db1.example:6379 +config.toml$'
  run -78 env -u DLOCK_URL dlock --config <(grep require-url config.toml) run x -- true
}

@test "cron: the lines are those of the examples, run their jobs, and mail what they should" {
  stand_in bin/refresh-cache bin/backup-shop bin/send-mail bin/import-prices
  block 'cache-refresh -- refresh-cache' >lines
  run -0 grep -cxFf "$examples/dlock.crontab" lines
  assert_output 4
  sed -E 's/^([^ ]+ +){5}//' lines >commands
  while read -r command; do
    run -0 sh -c "$command"
    assert_output --regexp '^[a-z-]+ under [a-z-]+: '
  done <commands
  # Busy: no mail, and a wait is one. No store: mail.
  rm locks.db*
  run -0 while_held cache-refresh sh -c "$(sed -n 1p commands)"
  assert_output ""
  run -75 while_held backup-shop sh -c "$(sed -n 2p commands | sed 's/-w 1h/-w 100ms/')"
  assert_output ""
  run -75 while_held backup-shop sh -c "$(sed -n 2p commands | sed 's/-w 1h/-w 100ms/; s/ -q / /')"
  assert_output --partial 'is busy'
  run -69 env DLOCK_URL=redis://127.0.0.1:1 DLOCK_CONNECT_TIMEOUT=100ms sh -c "$(sed -n 1p commands)"
  assert_output --partial 'connection refused'
}

@test "systemd: the lines of the service are those of the example" {
  block 'Type=oneshot' >lines
  run -0 grep -cxFf "$examples/dlock-job.service" lines
  assert_output "$(wc -l <lines)"
}

@test "systemd: the unit of a daemon is accepted, and a second host takes over" {
  stand_in local/billing
  block 'Type=exec' | sed "s#/usr/bin/dlock#$PWD/bin/dlock#; s#/usr/local/bin/#$PWD/local/#" >billing.service
  run -0 systemd-analyze verify --man=no ./billing.service
  assert_output ""
  sed -n 's/^ExecStart=//p' billing.service >start
  run -0 sh start
  assert_output "billing under billing: "
  printf '#!/bin/sh\necho $$ >>started; exec sleep 60\n' >local/billing
  sh -c "exec $(cat start)" 3>&- &
  first=$!
  eventually 10s test -s started
  sh -c "exec $(cat start)" 3>&- &
  second=$!
  eventually 10s sh -c 'dlock inspect billing | grep -q "1 waiting"'
  kill -TERM $first
  wait $first || true
  eventually 10s sh -c '[ "$(wc -l <started)" = 2 ]'
  kill -TERM $second
  wait $second || true
}

# entrypoint: the words of ENTRYPOINT and CMD, with the files of this test.
entrypoint() {
  block 'ENTRYPOINT' | sed -nE 's/^(ENTRYPOINT|CMD) //p' | python3 -c 'import json, sys
print(*[word for line in sys.stdin for word in json.loads(line)], sep="\n")' |
    sed "s#^/usr/local/bin/dlock#$PWD/bin/dlock#; s#^/app/#$PWD/app/#"
}
@test "containers: the entrypoint runs its command with the secret, and passes TERM on as process 1" {
  local words variable
  stand_in app/report
  mapfile -t words < <(entrypoint)
  variable=$(block 'ENTRYPOINT' | sed -n 's/^ENV //p')
  start_redis --requirepass secret
  echo secret >dlock-secret
  chmod 600 dlock-secret
  run -0 env "${variable/\/run\/secrets\/dlock/$PWD/dlock-secret}" "${words[@]}"
  assert_output "report under daily-report: --daily"
  run -77 "${words[@]}"
  stop_redis
  export DLOCK_URL=sqlite://$PWD/locks.db
  [ "$(id -u)" = 0 ] || skip "needs root, for a process 1"
  printf '#!/bin/sh\ntrap "echo stopped; exit 3" TERM\ntouch up; while :; do sleep 0.02; done\n' >app/report
  unshare --pid --fork --mount-proc "${words[@]}" >out 3>&- &
  eventually 10s test -e up
  kill -TERM "$(pgrep -P $! -x dlock)"
  rc=0
  wait $! || rc=$?
  assert_equal "$rc $(cat out)" "3 stopped"
}

@test "containers: with the folder mounted they exclude each other" {
  cat >bin/docker <<'SH'
#!/bin/sh
# The options of the guide only: the folder is where it is, the image is a command.
[ "$1 $2 $4" = "run -v -e" ] && [ -d "${3%%:*}" ] && [ "${3%%:*}" = "${3#*:}" ] || exit 99
exec env -u DLOCK_HOLDS "$5" "$6"
SH
  chmod +x bin/docker
  printf '#!/bin/sh\ndlock run -n report -- touch ran\n' >bin/report
  chmod +x bin/report
  mkdir shared
  block 'docker run' | sed "s#/var/lib/dlock#$PWD/shared#g" >line
  run -0 sh line
  rm ran
  run -75 env DLOCK_URL="sqlite://$PWD/shared/dlock.db" dlock run report -- sh line
  [ ! -e ran ]
}

@test "Kubernetes: the manifest is YAML; a report that failed is made again, one that succeeded is not" {
  local words
  stand_in app/report
  block 'kind: CronJob' >cronjob.yml
  at='["spec"]["jobTemplate"]["spec"]["template"]["spec"]'
  mapfile -t words < <(yaml "${at}['containers'][0]['command']" <cronjob.yml | sed "s#^/app/#$PWD/app/#")
  printf '#!/bin/sh\nexit 3\n' >fails && chmod +x fails
  run -3 "${words[@]/#$PWD\/app\/report/$PWD/fails}"
  # A pod that waits for one whose report fails makes the report; it does not end with 0 for nothing.
  printf '#!/bin/sh\ntouch begun; until [ -e fail-now ]; do sleep 0.02; done; exit 3\n' >fails
  "${words[@]/#$PWD\/app\/report/$PWD/fails}" 3>&- &
  eventually 10s test -e begun
  "${words[@]}" >second 3>&- &
  second=$!
  eventually 10s sh -c 'dlock inspect nightly-report | grep -q "1 waiting"'
  [ ! -s second ]
  touch fail-now
  wait $second
  assert_equal "$(cat second)" "report under nightly-report: "
  run -0 "${words[@]}"
  refute_output --partial "report under"
  # What is mounted is where the password is looked for, and the pod has longer than the job.
  run -0 yaml "${at}['containers'][0]['env'][1]['value'].startswith(d${at}['containers'][0]['volumeMounts'][0]['mountPath'] + '/')" <cronjob.yml
  assert_output True
  run -0 yaml "${at}['terminationGracePeriodSeconds'] > 10" <cronjob.yml
  assert_output True
}

@test "CI: one command in GitHub, GitLab and Jenkins" {
  stand_in deploy.sh
  run -0 sh -c "$(block 'secrets.DLOCK_URL' | yaml '["steps"][0]["run"]')"
  assert_output "deploy.sh under deploy-production: "
  block 'DLOCK_WAIT: 30m' >gitlab.yml
  run -0 bash -e -c "$(yaml '["deploy"]["script"]' <gitlab.yml)"
  assert_output "deploy.sh under deploy-production: production"
  # All but its stage and its lease is in the example.
  run -1 grep -vxFf "$examples/ci-job.yml" gitlab.yml
  assert_output ""
  run -0 sh -c "$(block 'pipeline {' | sed -nE "s/.*sh '(.*)' \}/\1/p")"
  assert_output "deploy.sh under deploy-production: "
}

@test "CI: the steps with the action are those of the example, which docs/action runs" {
  block 'packaging/action@v1' | sed 's/^ *//' >lines
  run -1 grep -vxFf <(sed 's/^ *//' "$examples/ci-action.yml") lines
  assert_output ""
}

# step NUMBER: what that step does in GitHub, with the variables that the steps before have left.
step() {
  local -a variables
  block 'GITHUB_ENV' | yaml "['steps'][$1]['run']" >step.sh
  touch github_env
  mapfile -t variables <github_env
  env GITHUB_ENV="$PWD/github_env" "${variables[@]}" bash -e step.sh
}
@test "CI: several steps in GitHub; nothing is released where nothing was granted" {
  stand_in deploy.sh migrate.sh
  block 'GITHUB_ENV' | sed 's/^ *//' >lines
  run -1 grep -vxFf <(sed 's/^ *//' "$examples/ci-steps.yml") lines
  run -0 step 0
  assert_output ""
  run -0 step 1
  assert_output --regexp '^migrate.sh under : --token [0-9]+$'
  run -0 step 2
  assert_output "deploy.sh under deploy-production: "
  run -75 dlock run -n deploy-production -- true
  run -0 step 3
  run -1 dlock inspect -q deploy-production
  # The runner looks at the condition; without a grant the step would fail.
  assert_equal "$(block 'GITHUB_ENV' | yaml "['steps'][3]['if']")" "always() && env.DLOCK_OWNER"
  rm github_env
  run -64 step 3
}

@test "CI: several steps in GitLab; nothing is released where nothing was granted" {
  stand_in deploy.sh migrate.sh
  block 'after_script' >gitlab.yml
  yaml '["deploy"]["script"]' <gitlab.yml | sed 's/30m/100ms/' >script
  yaml '["deploy"]["after_script"]' <gitlab.yml >after
  run -0 bash -e -o pipefail script
  assert_line "deploy.sh under deploy-production: "
  assert_line --partial "migrate.sh under deploy-production"
  run -0 dlock inspect -q deploy-production
  run -0 bash -e -o pipefail after
  run -1 dlock inspect -q deploy-production
  rm dlock.env
  run -75 while_held deploy-production bash -e -o pipefail script
  refute_line --partial "under deploy-production"
  run -0 bash -e -o pipefail after
  assert_output ""
}

@test "Ansible: a playbook and a task" {
  local words
  stand_in bin/ansible-playbook opt/rebuild-index
  run -0 sh -c "$(block 'ansible-playbook')"
  assert_output "ansible-playbook under ansible-shop: site.yml"
  block 'ansible.builtin.command' >task.yml
  mapfile -t words < <(yaml '[0]["ansible.builtin.command"]["argv"]' <task.yml | sed "s#^/opt/shop#$PWD/opt#")
  run -0 "${words[@]}"
  assert_output "rebuild-index under index-shop: "
  run -75 while_held index-shop "${words[@]:0:3}" 100ms "${words[@]:4}"
  assert_equal "$(yaml '[0]["failed_when"]' <task.yml)" "index.rc not in [0, 75]"
}

@test "make: a target for each environment, and 2 where dlock ends with something else" {
  stand_in deploy.sh
  block 'deploy: ;' >Makefile
  run -0 make -s deploy ENV=test
  assert_output "deploy.sh under deploy-test: test"
  sed -i 's/10m/100ms/' Makefile
  run -2 while_held deploy-live make deploy ENV=live
  assert_output --partial 'Error 75'
  run -0 while_held deploy-live make -s deploy ENV=test
}

@test "migrations: one of three migrates, all start; after a failure the next one tries" {
  local i
  printf '#!/bin/sh\necho try >>tries; sleep 0.3; [ "$(wc -l <tries)" -gt 1 ] || exit 1\n' >migrate.sh
  printf '#!/bin/sh\necho served >>served\n' >server
  chmod +x migrate.sh server
  block 'migrate-v42' >start.sh
  for i in 1 2 3; do sh start.sh 2>/dev/null 3>&- & done
  wait
  assert_equal "$(wc -l <tries)" 2 # the first failed, the second did it
  assert_equal "$(wc -l <served)" 2
  run -0 sh start.sh
  assert_equal "$(wc -l <tries)" 2
}

@test "pools: four at a time, each with a number; two locks at once; one of three, and which" {
  local i
  printf '#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES" >>slots; until [ "$(wc -l <slots)" = 4 ]; do sleep 0.02; done\n' >train
  chmod +x train
  for i in 1 2 3 4; do sh -c "$(block 'CUDA_VISIBLE_DEVICES')" 3>&- & done
  wait
  assert_equal "$(sort slots | xargs)" "0 1 2 3"
  stand_in transfer.sh bin/make
  PATH=$PWD/bin:$PATH run -0 --separate-stderr sh -c "$(block 'account-9 account-7'); $(block 'freeze --for 1d'); $(block '--or test-db-2')"
  assert_output --regexp $'^transfer.sh under account-7 account-9: 7 9\nmake under test-db-[13]: check$'
}

@test "monitoring: a job leaves its counters, the locks are one file, and a ping follows a success" {
  local folder=$PWD/node_exporter && mkdir "$folder"
  stand_in bin/nightly-job bin/weekly-job bin/curl
  block 'metrics-dir' | sed -E "s/^([^ ]+ +){5}//; s|/var/lib/node_exporter|$folder|g" >commands
  while read -r command; do run -0 sh -c "$command"; done <commands
  run -0 grep -h 'outcome="child"\|^dlock_up' "$folder"/*.prom
  assert_output $'dlock_runs_total{lock="nightly",outcome="child"} 1\ndlock_up 1'
  grep -qF "$(block 'max by (lock)' | grep -oE 'dlock_[a-z_]+\{[^}]*\}')" "$folder/dlock_nightly.prom"
  run -1 env DLOCK_URL=sqlite:///nowhere/at/all sh -c "$(sed -n 2p commands); ! grep -q 'dlock_up 0' locks.prom"
  run -0 sh -c "$(block 'weekly-job && curl' | sed -E 's/^([^ ]+ +){5}//')"
  assert_output $'weekly-job under weekly: \ncurl under weekly: -fsS -m 10 https://ping.example/weekly'
  run -0 while_held weekly sh -c "$(block 'weekly-job && curl' | sed -E 's/^([^ ]+ +){5}//')"
  refute_output --partial curl
  run -0 while_held nightly sh -c "$(block '--notify')"
  assert_line --partial 'curl under nightly: -fsS -m 10 --data-binary @- https://chat.example/hook'
}

@test "agents: turns without a server, and the list tells who holds what" {
  stand_in bin/make
  run -0 env HOME="$PWD" sh -c "$(block 'what you are doing')"
  assert_output $'make under build: \nmake under tests: check'
  printf '#!/bin/sh\ndlock list\n' >bin/make
  run -0 env HOME="$PWD" sh -c "$(block 'what you are doing')"
  assert_line --regexp '^build: held by .*: what you are doing'
}

@test "scripts: a pipe under one lock fails with its first command" {
  printf '#!/bin/sh\necho dump\n[ ! -e broken ] || exit 5\n' >bin/pg_dump
  chmod +x bin/pg_dump
  run -0 sh -c "$(block 'pg_dump')"
  assert_equal "$(gunzip <shop.sql.gz)" dump
  touch broken
  run -5 sh -c "$(block 'pg_dump')"
}

@test "scripts: one that locks itself, and one that holds a lock as with flock" {
  { echo '#!/bin/sh' && block '= --locked' && echo 'echo "under $DLOCK_NAME: $*"'; } >nightly.sh
  run -0 sh nightly.sh 'two words'
  assert_output "under nightly-report: two words"
  run -75 while_held nightly-report sh nightly.sh
  run -0 grep -qF 'dlock run -n nightly-report -- sh "$0" --locked "$@"' "$examples/self-locking.sh"
  stand_in first.sh second.sh
  block 'flock 9' >steps.sh
  run -0 sh -e steps.sh
  assert_line "second.sh under order-42: "
  run -1 dlock inspect -q order-42
}

@test "what a waiter prints is as the guide shows it" {
  block 'acquired "order' >shown
  dlock run --reason 'nightly import' order-42 -- sh -c 'touch held; until [ -e let-go ]; do sleep 0.02; done' 3>&- &
  eventually 10s test -e held
  dlock run order-42 -- true 2>printed 3>&- &
  eventually 15s grep -q 'waiting 3s' printed
  touch let-go
  wait
  shape() { sed -E 's/[0-9.]+(m?s)/N\1/g; s/ by [^ ]+ pid [0-9]+ \([^)]*\)/ by WHO/; s/, lease N[ms]+ left//' "$1"; }
  assert_equal "$(shape printed | grep 'waiting' | sort -u)" "$(shape shown | grep waiting)"
  assert_equal "$(shape printed | grep 'acquired')" "$(shape shown | grep acquired)"
}

@test "sudo: the store and the lock above go with it" {
  cat >bin/sudo <<'SH'
#!/bin/sh
# As sudo(8) with env_reset: only PATH, and what --preserve-env=A,B names.
keep=
case $1 in --preserve-env=*) keep=${1#*=} && shift ;; esac
for name in $(echo "$keep" | tr , ' '); do
  eval "value=\${$name-}"
  set -- "$name=$value" "$@"
done
exec env -i PATH="$PATH" "$@"
SH
  chmod +x bin/sudo
  stand_in job.sh
  block 'preserve-env' >line
  run -0 sh line
  assert_output "job.sh under nightly: "
  run -0 timeout 10 dlock run nightly -- sh line
  assert_output "job.sh under nightly: "
}

teardown() { stop_redis; }
