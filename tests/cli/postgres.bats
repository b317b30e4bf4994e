#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: postgresql:// keeps the locks in two tables of a PostgreSQL: one at a time, first come
# first served, and a command never outlives the lock when that server dies, hangs or only reads.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases pool supersede databases

setup_file() {
  set_up_file
  start_postgres
}
setup() {
  set_up
  clean_tables
}
teardown_file() { stop_database; }
kill_store() { kill_database; }
run_store() { run_postgres; }
signal_store() { signal_database "$1"; }

@test "sixty at once increment one by one, and neither a lock nor a place is left" {
  count_in_parallel 60 1
  run -0 "$DLOCK" list
  assert_output ""
  [ "$(db 'SELECT count(*) FROM dlock_line')" = 0 ]
}

@test "waiters enter in the order of their arrival, and inspect lists them" { waiters_enter_in_order; }
@test "a first waiter that is frozen is passed over, one that was killed as well" { first_waiter_is_passed_over; }
@test "killed with its guard, a holder loses the lock when its lease ends" { killed_with_its_guard; }
@test "a server that is killed and comes back in time stops no command, and forgets no token" { server_comes_back_in_time; }
@test "a server that stands still for two leases: TERM, 79, and the lock is free when it goes on" { server_stands_still; }
@test "renew --while ends with the release of its hold, and waits for no renewal" { keeper_ends_with_the_release; }
@test "force-release stops the holder at once; the waiter runs after it" { force_release_stops; }
@test "two names in either order, again and again: all run" { names_in_either_order; }
@test "one of three names is held, and a waiter gets the first that is free" { one_of_several; }
@test "a nested run that outlives its parent keeps the lock until it ends" { nested_run_outlives_its_parent; }
@test "across steps, nested, several names, slots and readers" { all_that_a_lock_can; }

@test "a claim that comes while the release waits for the row gets its turn" {
  release_meets_a_waiter \
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
}

@test "a row that another program has taken since is not released" { foreign_row_stays; }

@test "what is refused, and with which status" {
  local at="$DB&port=$DB_PORT"
  run -77 --separate-stderr env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "postgresql://ann@/postgres?host=$at" run a -- touch "$MARKER"
  refute_stderr_has wr0ng
  run -69 "$DLOCK" --url "postgresql://ann@/postgres?host=$T" --connect-timeout 1s run a -- touch "$MARKER"
  run -64 --separate-stderr "$DLOCK" --url "postgresql://ann:s3cret@/postgres?host=$at&colour=red" run a -- touch "$MARKER"
  refute_stderr_has s3cret
  run -64 "$DLOCK" run $'\xff' -- touch "$MARKER"
  run -69 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "postgresql://reader@/postgres?host=$at" run a -- touch "$MARKER"
  assert_stderr_has "writing is switched off"
  assert_not_started
}

@test "through a pooler of transactions: counted exactly, and a waiter says that it polls" {
  start_pooler
  count_in_parallel 8 5 "$POOLER_URL"
  hold a
  export DLOCK_URL=$POOLER_URL
  stand a 1 -v
  eventually 20s file_has "$T/waiter-1.err" polling || fail "$(cat "$T/waiter-1.err")"
  let_go
  eventually 20s entered 1
  [ "$(grep -c "no LISTEN through the pooler.*polling" "$T/waiter-1.err")" = 1 ] || fail "$(cat "$T/waiter-1.err")"
}

@test "O10: through a pooler of sessions a holder keeps its place: waiters in a full pool do not end it" {
  start_pooler session 2
  export DLOCK_URL=$POOLER_URL
  dlock_run a --ttl 3s a -- sh -c 'touch "$0/in"; sleep 6' "$T"
  eventually 10s test -e "$T/in"
  dlock_run b --ttl 3s -w 20s a -- true
  dlock_run c --ttl 3s -w 20s a -- true
  ends 20s a "exit 0"
}

@test "R38: a password that is changed during a hold is read again from its file: the command goes on" {
  (umask 077; printf 's3cret\n' >"$T/password")
  dlock_run a --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT" --ttl 2s --password-file "$T/password" a -- \
    sh -c 'touch "$0/in"; sleep 3' "$T"
  eventually 10s test -e "$T/in"
  db "ALTER ROLE ann PASSWORD 'other'"
  printf 'other\n' >"$T/password"
  db "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'"
  ends 10s a "exit 0"
  db "ALTER ROLE ann PASSWORD 's3cret'; DROP TABLE dlock, dlock_line"
}

@test "the last run: who, when, how it ended" {
  tells_the_last_run
}

@test "freeze, unfreeze: free and held locks, refusals, list and inspect" {
  freezes
}

@test "supersede: the newest run wins; a holder that said so is revoked" {
  supersedes
  supersedes_the_holder
}

@test "a lock that a newer dlock wrote is refused before anything is changed" {
  newer_row_is_refused
}

@test "a row of another program without an end is listed beside the others, and is held" {
  "$DLOCK" run a -- true
  db "INSERT INTO dlock (name, lock_until, locked_at, locked_by) VALUES ('endless', 'infinity', '-infinity', 'app1')"
  run -0 "$DLOCK" run a -- "$DLOCK" list
  assert_line --regexp '^endless: held by a foreign lock \(ShedLock, app1'
  assert_line --regexp '^a: held by '
  run -75 "$DLOCK" run -n endless -- touch "$MARKER"
  assert_not_started
}

@test "a table with a column more or less is used, or refused with the way to mend it" {
  columns_more_or_less
}

@test "on a database of another encoding any reason is kept in ASCII, and a name that does not fit is 64" {
  db "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
  local url="postgresql://postgres@/latin?host=$DB&port=$DB_PORT"
  run -0 "$DLOCK" --url "$url" run --reason '日本 🚀 é' é -- "$DLOCK" --url "$url" inspect -v é
  assert_output --partial '日本 🚀 é'
  run -64 --separate-stderr "$DLOCK" --url "$url" run 日本 -- touch "$MARKER"
  assert_stderr_has "a name has to fit the encoding of the database"
  assert_not_started
}

@test "the URL alone says where the locks are; postgres:// is the same, and PGPASSWORD the last password" {
  local url="ann@/postgres?host=$DB&port=$DB_PORT"
  export PGHOST=none.invalid PGPORT=1 PGUSER=reader PGDATABASE=none PGPASSWORD=s3cret
  run -5 "$DLOCK" --url "postgres://$url" run -n a -- env -u DLOCK_HOLDS "$DLOCK" --url "postgresql://$url" run -n -E 5 a -- true
  run -77 env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "postgres://$url" run a -- touch "$MARKER"
  db 'CREATE SCHEMA other AUTHORIZATION ann'
  local odd=(PGHOSTADDR=127.0.0.1 PGSERVICE=none PGOPTIONS='-c search_path=other' PGTZ=Mars/North PGCHANNELBINDING=require)
  hold a --url "postgres://$url"
  run -75 env "${odd[@]}" "$DLOCK" --url "postgres://$url" run -n a -- touch "$MARKER"
  let_go
  run -0 env "${odd[@]}" "$DLOCK" --url "postgres://$url" run a -- printenv PGOPTIONS PGSERVICE
  assert_line "-c search_path=other"
  assert_line none
  db 'DROP SCHEMA other'
  unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD
  assert_not_started
  db 'DROP TABLE dlock, dlock_line'
}

@test "a right that is missing is named with those that are needed" {
  "$DLOCK" run a -- true
  run -77 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT" run a -- \
    touch "$MARKER"
  assert_stderr_has "permission denied for table dlock"
  assert_stderr_has "dlock doctor --ddl prints its tables, and the grants"
  run -0 "$DLOCK" doctor --ddl --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT"
  db "$(sed -n 's/^-- //p' <<<"$output")"
  run -0 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT" run a -- true
  assert_not_started
}

@test "the rights of the page suffice, and each is needed by a command" {
  "$DLOCK" run a -- true
  export DLOCK_PASSWORD=s3cret
  USER_URL="postgresql://ann@/postgres?host=$DB&port=$DB_PORT" no_row_right_too_many ann
}

# mallory may make tables in the schema, as everybody up to version 14.
mallory() {
  db "DROP OWNED BY mallory; DROP ROLE mallory" >/dev/null 2>&1 || true
  db "CREATE ROLE mallory; GRANT CREATE ON SCHEMA public TO mallory; DROP TABLE IF EXISTS ran; CREATE TABLE ran (who text);
    GRANT INSERT ON ran TO PUBLIC" >/dev/null
  db "SET ROLE mallory; $1" >/dev/null
}
MAKES_TABLE="CREATE TABLE dlock (name varchar(512) PRIMARY KEY, lock_until timestamp(6) not null, locked_at timestamp(6) not null,
  locked_by varchar(255) not null, token bigint not null default 0, version bigint not null default 0, state text not null default '');
  GRANT ALL ON dlock TO PUBLIC"
TELLS="CREATE FUNCTION public.tells() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN NEW; END'"

# not_used TEXT: by a superuser and by ann: 78, one line, and nothing of another role has run.
not_used() {
  local url
  export DLOCK_PASSWORD=s3cret
  for url in "$DLOCK_URL" "${DLOCK_URL/postgres@/ann@}"; do
    run -78 --separate-stderr "$DLOCK" --url "$url" run a -- touch "$MARKER"
    assert_stderr_has "$1"
    assert_one_line
    run -78 "$DLOCK" --url "$url" inspect a
    run -78 "$DLOCK" --url "$url" list
    run -1 "$DLOCK" --url "$url" doctor
    assert_output --partial "$1"
  done
  assert_not_started
  [ -z "$(db 'SELECT * FROM ran')" ]
}

@test "a table that another role made first is refused, also by a superuser, and its triggers do not run" {
  mallory "$MAKES_TABLE; $TELLS; CREATE TRIGGER tells BEFORE INSERT OR UPDATE ON dlock FOR EACH ROW EXECUTE FUNCTION tells()"
  not_used "the table dlock belongs to mallory, who is neither this user, nor the owner of the database, nor a superuser, nor the owner of a schema that the URL names"
  db "DROP TABLE dlock" >/dev/null
  mallory "CREATE FUNCTION public.tells(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN \$1; END';
    CREATE VIEW dlock AS SELECT tells('a') AS name, now()::timestamp AS lock_until, now()::timestamp AS locked_at, ''::text AS locked_by,
    0::bigint AS token, 0::bigint AS version, ''::text AS state; GRANT ALL ON dlock TO PUBLIC"
  not_used "the table dlock belongs to mallory"
  db "DROP VIEW dlock" >/dev/null
  "$DLOCK" run a -- true
  db "DROP TABLE dlock_line" >/dev/null
  mallory "CREATE TABLE dlock_line (name varchar(512), arrival bigint, waiter text, alive_until bigint, who text); GRANT ALL ON dlock_line TO PUBLIC"
  db "GRANT ALL ON dlock TO PUBLIC" >/dev/null
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "the table dlock_line belongs to mallory"
  run -78 "$DLOCK" inspect a
  assert_not_started
}

@test "a table with a trigger or a rule is refused, whoever made it" {
  mallory "$TELLS; GRANT EXECUTE ON FUNCTION tells TO PUBLIC"
  "$DLOCK" run a -- true
  db "GRANT ALL ON dlock, dlock_line TO PUBLIC; CREATE TRIGGER tells BEFORE UPDATE ON dlock FOR EACH ROW EXECUTE FUNCTION tells()" >/dev/null
  not_used "the table dlock has the trigger tells, which could change a lock, with the rights of each user of dlock: drop trigger tells on dlock"
  db "DROP TRIGGER tells ON dlock; CREATE RULE tells AS ON UPDATE TO dlock DO ALSO INSERT INTO ran VALUES ('rule')" >/dev/null
  not_used "the table dlock has the rule tells"
  db "DROP RULE tells ON dlock" >/dev/null
  run -0 "$DLOCK" run a -- true
}

@test "tables of the owner of the schema or of the database, of a superuser and of one's own role are used" {
  local owner url=${DLOCK_URL/postgres@/ann@}
  export DLOCK_PASSWORD=s3cret
  mallory "SELECT 1"
  db "CREATE ROLE own; CREATE ROLE team; GRANT team TO ann; CREATE SCHEMA other AUTHORIZATION own; GRANT USAGE ON SCHEMA other TO ann" >/dev/null
  "$DLOCK" --url "$DLOCK_URL&table=other.dlock" run a -- true
  db "GRANT ALL ON other.dlock, other.dlock_line TO ann" >/dev/null
  for owner in own team postgres ann; do
    db "ALTER TABLE other.dlock OWNER TO $owner; ALTER TABLE other.dlock_line OWNER TO $owner" >/dev/null
    run -0 "$DLOCK" --url "$url&table=other.dlock" run a -- true
  done
  db "ALTER TABLE other.dlock OWNER TO mallory; GRANT ALL ON other.dlock TO ann" >/dev/null
  run -78 "$DLOCK" --url "$url&table=other.dlock" run a -- touch "$MARKER"
  db "GRANT own TO mallory" >/dev/null
  run -0 "$DLOCK" --url "$url&table=other.dlock" run a -- true
  db "DROP SCHEMA other CASCADE; DROP ROLE own, team" >/dev/null
  assert_not_started
}

@test "beyond this machine a server without TLS gets no password, and the three ways out are named" {
  cat >"$T/no_tls.py" <<'END'
import socket, subprocess, sys, threading
server = socket.create_server(("192.0.2.2", 5432))
def refuse():
    while True:
        client = server.accept()[0]
        client.recv(8)
        client.sendall(b"N")
threading.Thread(target=refuse, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
END
  DLOCK_PASSWORD=s3cret run -69 unshare -n sh -c 'ip link set lo up && ip addr add 192.0.2.2/32 dev lo && exec python3 "$@"' - \
    "$T/no_tls.py" "$DLOCK" --url postgresql://ann@192.0.2.2/x --connect-timeout 2s run -n a -- touch "$MARKER"
  assert_output --partial "it has no TLS, which it is asked for"
  assert_output --partial "?cacert=FILE names its CA, ?sslmode=require takes any, ?sslmode=disable goes without TLS"
}

@test "a schema that another role made does not come before one's own" {
  local url=${DLOCK_URL/postgres@/ann@}
  export DLOCK_PASSWORD=s3cret
  run -0 "$DLOCK" run a -- true
  mallory "SELECT 1"
  db "GRANT ALL ON dlock, dlock_line TO ann; CREATE SCHEMA ann AUTHORIZATION mallory" >/dev/null
  db "SET ROLE mallory; SET search_path = ann; $MAKES_TABLE; GRANT USAGE ON SCHEMA ann TO ann" >/dev/null
  run -78 --separate-stderr "$DLOCK" --url "$url" run a -- touch "$MARKER"
  assert_stderr_has "the table dlock belongs to mallory"
  run -1 "$DLOCK" --url "$url" doctor
  run -0 "$DLOCK" --url "$url&table=public.dlock" run a -- true
  db "DROP SCHEMA ann CASCADE" >/dev/null
  assert_not_started
}

@test "no operator or function that another role made is called, however well it would fit" {
  mallory "CREATE FUNCTION public.tells_of(varchar, varchar) RETURNS bool LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN true; END';
    CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.tells_of);
    CREATE OPERATOR public.> (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.tells_of);
    CREATE FUNCTION public.tells_of(numeric, int) RETURNS numeric LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 0; END';
    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = int, FUNCTION = public.tells_of);
    CREATE FUNCTION public.tells_of(bigint, numeric) RETURNS numeric LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 0; END';
    CREATE OPERATOR public./ (LEFTARG = bigint, RIGHTARG = numeric, FUNCTION = public.tells_of);
    CREATE FUNCTION public.to_timestamp(numeric) RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN now(); END';
    CREATE FUNCTION public.pg_typeof(timestamp) RETURNS text LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 0; END';
    CREATE FUNCTION public.hashtextextended(text, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.ran VALUES (current_user); RETURN 0; END'"
  run -0 "$DLOCK" run a -- true
  run -0 "$DLOCK" run --once-per 1h a -- true
  run -0 "$DLOCK" inspect a
  run -0 "$DLOCK" list
  run -0 "$DLOCK" doctor
  run -0 "$DLOCK" --url "$DLOCK_URL&with=advisory" run a -- true
  db "CREATE TABLE IF NOT EXISTS jobs (job varchar(20)); INSERT INTO jobs VALUES ('a')" >/dev/null
  run -0 "$DLOCK" --url "$DLOCK_URL&with=row:jobs.job" run a -- true
  hold a
  run -75 "$DLOCK" --url "$DLOCK_URL&with=row:jobs.job" run -n a -- touch "$MARKER"
  let_go
  [ -z "$(db 'SELECT * FROM ran')" ]
  db "DROP TABLE jobs" >/dev/null
  mallory "SELECT 1"
}

@test "list shows a thousand locks and more: it reads them in pages" {
  hold a --ttl 60s
  db "INSERT INTO dlock (name, lock_until, locked_at, locked_by, token, version, state) SELECT 'n' || i,
    lock_until, locked_at, locked_by, token, version, replace(state, '\"name\":\"a\"', '\"name\":\"n' || i || '\"')
    FROM dlock, generate_series(1, 1100) i WHERE name = 'a'"
  run -0 "$DLOCK" list 'n*'
  [ "$(grep -cE '^n[0-9]+: held' <<<"$output")" = 1100 ] || fail "$output"
  let_go
}
