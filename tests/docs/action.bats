#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the GitHub Action takes a lock for the later steps of a job and releases it at the end, after
# a failure or a cancel too; nothing that a name, a reason or a program says is a command of the runner;
# and the password of the URL is shown nowhere. The GitLab include takes and releases, too. The runner is
# programs/action_runner.py.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154  # '…' is for inner shells; every test is a shell of its own
load ../support/suite
suite server empty cli

setup() {
  set_up
  installed Node node nodejs
  redis_url=$DLOCK_URL
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir bin
  ln -s "$(realpath "$DLOCK")" bin/dlock
  export PATH=$PWD/bin:$PATH
  action=$PROJECT/packaging/action
}

# job: runs the job whose steps are on stdin as YAML. "action" in it is the action.
job() {
  { echo 'jobs: {a: {steps: ['; sed 's,\<action\>,uses: dlock/dlock/packaging/action@v1,'; echo ']}}'; } >job.yml
  exec python3 "$PROGRAMS/action_runner.py" "$action" <job.yml
}
# begin LOG: the same in the background; sets RUNNER.
begin() {
  local steps
  steps=$(cat) # what runs in the background has no stdin of its own
  job <<<"$steps" >"$1" 2>&1 3>&- &
  RUNNER=$!
  OTHER_PIDS+=" $RUNNER"
}
ended() { # STATUS
  local rc=0
  wait "$RUNNER" || rc=$?
  assert_equal "$rc" "$1"
}
free() { run -1 dlock inspect -q "$1"; }
waits() { dlock inspect "$1" | grep -q '1 waiting'; }
nobody_waits() { dlock inspect --json "$1" | json 'd["locks"][0]["waiting"]' | grep -qx 0; }
left() { json "d$1" <job.json; }

@test "the later steps have the token, renew under dlock run, and the post releases: Redis and SQLite" {
  for DLOCK_URL in "$redis_url" "sqlite://$PWD/locks.db"; do
    run -0 job <<'END'
      {action, id: lock, with: {name: deploy}},
      {run: 'echo "token ${{ steps.lock.outputs.token }} $DLOCK_TOKEN"; dlock inspect -q deploy'},
      {run: 'echo "owner ${{ steps.lock.outputs.owner }} $DLOCK_OWNER $DLOCK_TTL_MS"'},
      {run: 'DLOCK_HOLDS= dlock run -n deploy -- echo never || echo "others: $?"'},
      {run: 'dlock run -n deploy -- sh -c "echo inside, \$DLOCK_TOKEN"; dlock renew deploy'}
END
    assert_line --regexp '^token ([0-9]{16}) \1$'
    assert_line --regexp '^owner ([0-9a-f:-]+) \1 900000$'
    assert_line "others: 75"
    assert_line --regexp '^inside, [0-9]{16}$'
    assert_line "post 0: 0"
    refute_line --regexp '^\['
    free deploy
  done
  assert_equal "$(left '["env"]["DLOCK_TOKEN"] == d["outputs"]["lock"]["token"]')" true
}

@test "a failed step: the post releases all the same, and the job fails" {
  run -1 job <<<'{action, with: {name: deploy}}, {run: exit 7}, {run: echo never}'
  assert_line "run 1: 7"
  refute_line never
  assert_line "post 0: 0"
  free deploy
}

@test "a cancel while the action waits: it leaves the line, holds nothing, and its post does nothing" {
  hold deploy
  begin log <<<'{action, with: {name: deploy}}, {run: echo never}'
  eventually 10s waits deploy
  # The job's log says at once who holds the lock.
  eventually 10s grep -q 'held by .* pid' log
  kill -INT "$RUNNER"
  ended 130
  run -0 cat log
  assert_line "main 0: 130"
  assert_line "post 0: 0"
  refute_line --regexp '^\[|^never'
  eventually 5s nobody_waits deploy
  let_go
  free deploy
  assert_equal "$(left '["states"]["0"]')" "{}"
}

@test "a cancel during a step: the post releases" {
  begin log <<<'{action, with: {name: deploy}}, {run: "touch runs; exec sleep 60"}'
  eventually 10s test -e runs
  run -0 dlock inspect -q deploy
  kill -INT "$RUNNER"
  ended 130
  run -0 grep -x "post 0: 0" log
  free deploy
}

@test "a cancel at any moment of the action leaves nothing held and nobody in line" {
  local i
  for i in {0..6}; do
    rm -f 0.main.OUTPUT
    begin log <<<'{action, with: {name: deploy}}'
    eventually 10s test -e 0.main.OUTPUT # node starts now
    sleep "0.$(printf %02d $((4 * i)))"
    kill -INT "$RUNNER" 2>/dev/null || true # it may be over
    wait "$RUNNER" || true
    grep -qx "post 0: 0" log || fail "try $i: $(cat log)"
    free deploy
    nobody_waits deploy
  done
}

@test "an action that is killed while it waits takes no lock later" {
  hold deploy
  begin log <<<'{action, with: {name: deploy}}'
  eventually 10s waits deploy
  node=$(pgrep -P "$RUNNER" node)
  kill -KILL "$node"
  ended 1
  let_go
  eventually 10s free deploy
  eventually 10s nobody_waits deploy
}

@test "a lock that the end of the job could not know of is released at once" {
  run -1 env INPUT_NAME=deploy GITHUB_STATE=/nowhere/state GITHUB_ENV="$PWD/env" GITHUB_OUTPUT="$PWD/output" \
    node "$action/main.js"
  assert_line --partial '::error title=dlock::released deploy, as no state can be left'
  [ ! -e env ]
  free deploy
}

@test "a busy lock: after the wait the step fails with 75 and an error that names lock and holder" {
  hold '50%25 a,b:c'
  run -1 job <<<'{action, with: {name: "50%25 a,b:c", wait: 100ms}}, {run: echo never}'
  assert_line "main 0: 75"
  assert_line --regexp '^\[error\] 50%25 a,b:c not acquired: "50%25 a,b:c" is busy: held by .* pid [0-9]+'
  refute_line never
  assert_line "post 0: 0"
  run -1 job <<<'{action, with: {name: "50%25 a,b:c", wait: 0}}'
  assert_line "main 0: 75"
  let_go
}

@test "what is wrong is said in the words of dlock, with its exit status" {
  run -1 job <<<'{action, with: {name: a, url: "redis://127.0.0.1:1", wait: 0}}'
  assert_line "main 0: 69"
  assert_line --regexp '^\[error\] a not acquired: .*127\.0\.0\.1:1.*connection refused'
  run -1 job <<<'{action, with: {name: a, ttl: "-x"}}'
  assert_line "main 0: 64"
  assert_line --regexp '^\[error\] a not acquired: --ttl.*-x'
  run -1 job <<<'{action, with: {name: a, mode: alone}}'
  assert_line '[error] the input "mode" is "alone": plain, shared or exclusive'
  run -1 job <<<'{action, with: {name: " "}}'
  assert_line '[error] the input "name" is empty'
  run -1 job <<<'{action, with: {name: a, path: ./none}}'
  assert_line "main 0: 127"
  assert_line --partial '[error] a not acquired: cannot start ./none: ENOENT; install it'
  run -1 env DLOCK_QUIET=true python3 "$PROGRAMS/action_runner.py" "$action" \
    <<<'jobs: {a: {steps: [{uses: dlock/action, with: {name: a, slots: x}}]}}'
  assert_line "main 0: 64"
  assert_line --regexp '^\[error\] a not acquired: '
}

@test "the release never fails the job: a lost lock is a warning, and so is a store that is away" {
  run -0 job <<<'{action, with: {name: a}}, {run: dlock force-release --now --yes a}'
  assert_line "post 0: 0"
  assert_line --regexp '^\[warning\] a not released: .*it was lost, and another job may have run meanwhile\.$'
  # Somebody else has it by then, and keeps it.
  run -0 job <<<'{action, with: {name: a}},
    {run: "dlock force-release --now --yes a; DLOCK_HOLDS= dlock acquire a"}'
  assert_line --regexp '^\[warning\] a not released: .*held by .*it was lost'
  run -0 dlock inspect -q a
  DLOCK_URL=sqlite://$PWD/locks.db
  run -0 job <<<'{action, with: {name: a}}, {run: "rm locks.db*; mkdir locks.db"}'
  assert_line "post 0: 0"
  assert_line --regexp '^\[warning\] a not released: .*locks\.db'
  refute_output --partial "it was lost"
}

@test "the reason of a holder is no command of the runner" {
  hold a --reason $'x\n::error::forged\r::warning::forged ##[save-state name=holds]forged'
  run -1 job <<<'{action, with: {name: a, wait: 100ms}}'
  assert_line --partial '##[save-state name=holds]forged'
  assert_equal "$(grep -c '^\[' <<<"$output")" 1
  assert_equal "$(left '["states"]["0"]')" "{}"
  let_go
}

@test "what the program says sets no other variable and is no command, even if it is not dlock" {
  cat >other <<'SH'
#!/usr/bin/env python3
import json, sys
text = "x\nPATH=/evil\nEVIL<<E\n1\nE\r\n::error::forged"
sys.stderr.write("::error::forged\n##[save-state name=holds]forged\n::set-output name=token::forged\nhalf")
if sys.argv[1] == "acquire":
    lock = {"owner": text, "token": text, "slot": text}
    print(json.dumps({"locks": [lock], "ttl_ms": text, "holds": text}))
SH
  chmod +x other
  run -0 job <<<'{action, with: {name: "a%0Ab", path: ./other, slots: 2}}, {run: "echo later"}'
  assert_line half
  assert_line later
  refute_line --regexp '^\['
  assert_equal "$(left '["env"].keys() - {"DLOCK_OWNER", "DLOCK_TOKEN", "DLOCK_TTL_MS", "DLOCK_HOLDS", "DLOCK_SLOT"} == set()')" true
  text='"x\nPATH=/evil\nEVIL<<E\n1\nE\r\n::error::forged"'
  assert_equal "$(left '["env"]["DLOCK_SLOT"] == '"$text")" true
  assert_equal "$(left '["states"]["0"] == {"names": "a%0Ab", "holds": '"$text}")" true
  assert_equal "$(left '["outputs"]["0"] == {"owner": '"$text"', "token": '"$text}")" true
  # The line that ends a value cannot be guessed: each has one of its own.
  run -0 grep -hoE '^[A-Za-z_]+<<[0-9a-f]{32}$' 0.main.ENV 0.main.STATE 0.main.OUTPUT
  assert_equal "$(cut -d'<' -f3 <<<"$output" | sort -u | wc -l)" 9
}

@test "the URL of the input goes to dlock alone: no log, file, later step or command line has it" {
  second_redis --requirepass zq7sesame9xk
  printf '#!/bin/sh\necho "$0 $*" >>words\nexec dlock "$@"\n' >seen
  chmod +x seen
  unset DLOCK_URL
  export SECRET_URL=redis+unix://:zq7sesame9xk@$SECOND_SOCKET
  run -0 job <<<'{action, with: {name: a, path: ./seen, url: "${{ secrets.URL }}"}}, {run: "env | grep DLOCK_"}'
  refute_output --partial zq7sesame
  refute_output --partial DLOCK_URL
  refute_line --regexp '^\['
  run -1 grep -rF zq7sesame . --exclude-dir=second
  assert_output ""
  assert_equal "$(cut -d' ' -f1-3 words | xargs)" "./seen acquire --json ./seen release --"
  SECRET_URL=redis+unix://:zq7wrong@$SECOND_SOCKET run -1 job <<<'{action, with: {name: a, url: "${{ secrets.URL }}"}}'
  assert_line "main 0: 77"
  refute_output --partial zq7wrong
}

@test "several names, several actions, and the same name again: each post releases its own" {
  run -0 job <<'END'
    {action, with: {name: "a b\n\n  c\n--json"}},
    {action, with: {name: d, mode: shared}},
    {action, with: {name: d, mode: shared, wait: 0}},
    {action, with: {name: e, slots: 3}},
    {run: 'echo "slot $DLOCK_SLOT"; for name in "a b" c --json d e; do dlock inspect -q -- "$name"; done'},
    {action, with: {name: f, mode: exclusive}},
    {run: 'echo "slot $DLOCK_SLOT."; dlock inspect f | grep exclusive; dlock run -n --and c "a b" -- echo both'}
END
  assert_line "slot 0"
  assert_line "slot ."
  assert_line both
  refute_line --regexp '^\['
  assert_equal "$(grep '^post' <<<"$output" | xargs)" "post 5: 0 post 3: 0 post 2: 0 post 1: 0 post 0: 0"
  assert_no_keys
}

@test "the workflow of the examples runs, and the README of the action shows the same steps" {
  local script
  for script in migrate.sh deploy.sh; do
    printf '#!/bin/sh\necho "${0##*/} $DLOCK_NAME $*"\n' >$script
    chmod +x $script
  done
  export SECRET_DLOCK_URL=$DLOCK_URL
  unset DLOCK_URL
  # Not for ever, if the hold does not reach the later steps.
  DLOCK_WAIT=5s run -0 python3 "$PROGRAMS/action_runner.py" "$action" <"$PROJECT/packaging/examples/ci-action.yml"
  assert_line --regexp '^migrate.sh  --token [0-9]{16}$'
  assert_line --regexp '^deploy.sh deploy-production $'
  assert_line "post 1: 0"
  DLOCK_URL=$SECRET_DLOCK_URL free deploy-production
  sed -n '/^```yaml$/,/^```$/p' "$action/README.md" | grep -v '^```' | sed 's/^ *//' >shown
  [ "$(wc -l <shown)" -gt 5 ]
  run -1 grep -vxFf <(sed 's/^ *//' "$PROJECT/packaging/examples/ci-action.yml") shown
  assert_output ""
}

# gitlab PART: the lines of the part of a job that extends .dlock: script has those of
# before_script before it, as in GitLab. The job is the one that the file shows, whose jobs are stand-ins.
gitlab() {
  python3 - "$PROJECT/packaging/gitlab/dlock.yml" "$1" <<'P'
import re, sys
try:
    import yaml
except ImportError:
    sys.path.append("/usr/lib/python3/dist-packages") # Debian's, for the python of a version manager
    import yaml
text = open(sys.argv[1]).read()
base, shown = yaml.safe_load(text)[".dlock"], yaml.safe_load("".join(re.findall(r"(?m)^#   (.*\n)", text)))
job = {**base, **shown["deploy"], "variables": {**base["variables"], **shown["deploy"]["variables"]}}
assert list(yaml.safe_load(text)) == [job.pop("extends")]
assert 75 in job["retry"]["exit_codes"]
for name, value in {**job["variables"], "CI_JOB_ID": 42}.items():
    print(f"export {name}={value}")
print(*(job["before_script"] if sys.argv[2] == "script" else []), *job[sys.argv[2]], sep="\n")
P
}

@test "the GitLab include: a job that extends it has the lock until its end, also after a failure" {
  local script
  for script in migrate.sh deploy.sh; do
    printf '#!/bin/sh\necho "${0##*/} $DLOCK_NAME $*"; dlock inspect -q deploy-production\n' >$script
    chmod +x $script
  done
  gitlab script >job
  gitlab after_script >after
  run -0 bash -e -o pipefail job
  assert_line --regexp '^migrate.sh deploy-production --token [0-9]{16}$'
  assert_line "deploy.sh deploy-production "
  run -0 dlock inspect -q deploy-production
  run -0 bash -e -o pipefail after
  free deploy-production
  printf 'exit 7\n' >migrate.sh
  run -7 bash -e -o pipefail job
  run -0 bash -e -o pipefail after
  free deploy-production
  rm .dlock-42.env
}

@test "the GitLab include: a busy lock or no name ends the job, and then nothing is released" {
  gitlab script | sed 's/DLOCK_WAIT=30m/DLOCK_WAIT=100ms/' >job
  gitlab after_script >after
  hold deploy-production
  run -75 bash -e -o pipefail job
  run -0 bash -e -o pipefail after
  assert_output ""
  run -0 dlock inspect -q deploy-production
  let_go
  run -64 bash -e -o pipefail <(sed '/LOCK_NAME=/d' job)
  assert_output --partial name
}
