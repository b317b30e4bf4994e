# SPDX-License-Identifier: MIT
# A private PostgreSQL or MariaDB for a file: on a unix socket and a free port of the loopback, in
# $DB (a folder of the file), stopped when the file ends. A part of suite.bash.
# shellcheck shell=bash

# in_database COMMAND…: replaces this shell by COMMAND in the folder $DB. If we are root, COMMAND
# runs as $DB_ACCOUNT, because neither server runs as root.
in_database() {
  cd "$DB" || exit
  [ "$(id -u)" != 0 ] ||
    set -- setpriv --reuid="$DB_ACCOUNT" --regid="$DB_ACCOUNT" --clear-groups "$@"
  exec "$@"
}

# new_database ACCOUNT: sets DB, a folder of that account, DB_ACCOUNT and DB_PORT.
new_database() {
  clean_environment
  export DB=$BATS_FILE_TMPDIR/db DB_ACCOUNT=$1 DB_PORT
  DB_PORT=$(free_port)
  mkdir -p "$DB"
  [ "$(id -u)" = 0 ] || return 0
  chown "$DB_ACCOUNT" "$DB"
  chmod a+x "$BATS_RUN_TMPDIR" "$(dirname "$BATS_FILE_TMPDIR")" "$BATS_FILE_TMPDIR"
}

# run_database COMMAND…: starts the server by COMMAND, and returns when it answers.
run_database() {
  in_database "$@" >>"$DB/log" 2>&1 3>&- &
  echo $! >"$DB/pid"
  eventually 20s database_answers || { tail "$DB/log"; return 1; }
}
# db SQL: prints the answer of the server. db_of_ACCOUNT alone reads SQL from its standard input.
db() { "db_of_$DB_ACCOUNT" "$1"; }
database_answers() { [ "$(db 'SELECT 1' 2>/dev/null)" = 1 ]; }
# Prints the pids of the server; MariaDB has only one.
database_pids() {
  local pid
  pid=$(cat "$DB/pid")
  echo "$pid" "$(cat "/proc/$pid/task"/*/children 2>/dev/null)"
}
# signal_database SIGNAL: sends it to all processes of the server.
signal_database() {
  is_ours "$(cat "$DB/pid")" || return 0
  # shellcheck disable=SC2046  # words
  kill "-$1" $(database_pids) 2>/dev/null || true
}
kill_database() {
  local pid pids
  pids=$(database_pids)
  signal_database KILL
  for pid in $pids; do eventually 10s gone "$pid"; done
}
stop_database() { [ ! -s "${DB:-}/pid" ] || kill_database; }

# start_postgres: starts a PostgreSQL with the roles postgres (trusted), ann and reader (their
# password is s3cret; reader writes nothing).
start_postgres() {
  POSTGRES_BIN=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  installed PostgreSQL "$POSTGRES_BIN/initdb" postgresql || return 1
  new_database postgres
  export POSTGRES_BIN DLOCK_URL="postgresql://postgres@/postgres?host=$DB&port=$DB_PORT"
  (in_database "$POSTGRES_BIN/initdb" --pgdata="$DB/data" --auth=trust --no-sync \
    --username=postgres --no-locale --encoding=UTF8) >"$DB/log" 2>&1 || { cat "$DB/log"; return 1; }
  printf '%s\n' 'local all postgres trust' 'local all all scram-sha-256' \
    'host all postgres 127.0.0.1/32 trust' 'host all all 127.0.0.1/32 scram-sha-256' \
    >"$DB/data/pg_hba.conf"
  # A commit must survive the end of the processes, but not of the machine.
  printf '%s\n' "listen_addresses = '127.0.0.1'" "port = $DB_PORT" \
    "unix_socket_directories = '$DB'" 'fsync = off' 'full_page_writes = off' \
    'max_connections = 200' 'shared_buffers = 8MB' 'autovacuum = off' \
    'deadlock_timeout = 100ms' >>"$DB/data/postgresql.conf"
  run_postgres
  db "CREATE ROLE ann LOGIN PASSWORD 's3cret'; CREATE ROLE reader LOGIN PASSWORD 's3cret';
    ALTER ROLE reader SET default_transaction_read_only = on;
    GRANT CREATE ON SCHEMA public TO ann, reader" >/dev/null
}
run_postgres() { run_database "$POSTGRES_BIN/postgres" -D "$DB/data"; }
db_of_postgres() { psql -XAtq -h "$DB" -p "$DB_PORT" -U postgres postgres ${1:+-c "$1"}; }

# start_mariadb: starts a MariaDB with the database `locks`, in which the account `ann` has all
# rights (its password is s3cret).
start_mariadb() {
  installed MariaDB mariadbd mariadb-server || return 1
  new_database mysql
  export DLOCK_URL="mysql://root@/locks?socket=$DB/socket"
  printf '%s\n' 'FLUSH PRIVILEGES;' 'CREATE DATABASE locks;' \
    "CREATE USER ann@localhost IDENTIFIED BY 's3cret', ann@'127.0.0.1' IDENTIFIED BY 's3cret';" \
    "GRANT ALL ON locks.* TO ann@localhost, ann@'127.0.0.1';" >"$DB/accounts.sql"
  chmod a+r "$DB/accounts.sql"
  (in_database mariadb-install-db --no-defaults --datadir="$DB/data" --tmpdir="$DB" --skip-test-db \
    --auth-root-authentication-method=normal --extra-file="$DB/accounts.sql") >"$DB/log" 2>&1 ||
    { cat "$DB/log"; return 1; }
  run_mariadb
}
# A commit must survive the end of the process, as with PostgreSQL.
run_mariadb() {
  run_database mariadbd --no-defaults --datadir="$DB/data" --tmpdir="$DB" --socket="$DB/socket" \
    --port="$DB_PORT" --bind-address=127.0.0.1 --pid-file="$DB/mariadb.pid" --skip-log-bin \
    --skip-name-resolve --innodb-buffer-pool-size=8M --innodb-flush-log-at-trx-commit=2 \
    --innodb-fast-shutdown=2 --max-connections=300 --performance-schema=0
}
db_of_mysql() { mariadb --no-defaults -NBn -S "$DB/socket" -u root locks ${1:+-e "$1"}; }

# Removes all locks of the test before.
clean_tables() { db 'DROP TABLE IF EXISTS dlock, dlock_line' >/dev/null 2>&1; }

# start_pooler [MODE [SIZE]]: starts a pgbouncer in front of the PostgreSQL; sets POOLER_URL. It
# lends one of SIZE connections to each transaction or, in the MODE `session`, to each client.
start_pooler() {
  local port mode=${1:-transaction} size=${2:-4}
  port=$(free_port)
  printf '%s\n' '[databases]' "postgres = host=$DB port=$DB_PORT user=postgres" '[pgbouncer]' \
    "listen_addr = 127.0.0.1" "listen_port = $port" "unix_socket_dir =" 'auth_type = any' \
    "pool_mode = $mode" "default_pool_size = $size" 'ignore_startup_parameters = options,extra_float_digits' \
    >"$DB/pooler.ini"
  chmod a+r "$DB/pooler.ini"
  in_database pgbouncer "$DB/pooler.ini" >"$DB/pooler.log" 2>&1 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  POOLER_URL="postgresql://postgres@127.0.0.1:$port/postgres?sslmode=disable"
  eventually 10s "$DLOCK" --url "$POOLER_URL" list || { tail -n 5 "$DB/pooler.log"; return 1; }
}
