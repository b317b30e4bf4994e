# SPDX-License-Identifier: MIT
# Shared by suites that speak TLS: certificates of CAs made here, in $TLS, and servers with them.
# shellcheck shell=bash disable=SC2034  # the suites read what is set here

TLS=$BATS_FILE_TMPDIR/tls

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

# make_ca NAME: makes a CA, $TLS/NAME.crt and .key.
make_ca() {
  mkdir -p "$TLS"
  new_key "$TLS/$1.key"
  openssl req -x509 -new -key "$TLS/$1.key" -days 30 -subj "/CN=dlock test $1" -out "$TLS/$1.crt"
}

# make_certificate NAME CA SAN [OPTION…]: makes a certificate of this CA, $TLS/NAME.crt and .key.
# The options are those of openssl-ca(1).
make_certificate() {
  local name=$1 ca=$2 san=$3 folder=$TLS/$1.new
  shift 3
  mkdir -p "$folder"
  : >"$folder/index"
  printf '%s\n' '[ca]' 'default_ca = own' '[own]' "database = $folder/index" "new_certs_dir = $folder" \
    'rand_serial = yes' 'default_md = sha256' 'default_days = 30' 'policy = any' \
    '[any]' 'commonName = supplied' '[names]' "subjectAltName = $san" >"$folder/conf"
  new_key "$folder/key"
  openssl req -new -key "$folder/key" -subj "/CN=$name.example" -out "$folder/csr" 2>/dev/null
  openssl ca -batch -notext -config "$folder/conf" -extensions names -in "$folder/csr" -out "$folder/crt" \
    -cert "$TLS/$ca.crt" -keyfile "$TLS/$ca.key" "$@" 2>"$folder/said" || fail "$(cat "$folder/said")"
  mv "$folder/key" "$TLS/$name.key"
  mv "$folder/crt" "$TLS/$name.crt"
}

HERE=DNS:localhost,IP:127.0.0.1

# tls_redis NAME [OPTION…]: starts a redis-server with the certificate NAME that trusts the CA "ca";
# sets PORT and TLS_PID. Its unix socket is $TLS_SOCKET.
tls_redis() {
  local name=$1 folder=$BATS_TEST_TMPDIR/tls
  shift
  mkdir -p "$folder"
  TLS_SOCKET=$folder/redis.sock
  for _ in 1 2 3; do # the port may be taken meanwhile
    PORT=${WANTED_PORT:-$(free_port)}
    redis-server --port 0 --tls-port "$PORT" --bind 127.0.0.1 --unixsocket "$TLS_SOCKET" --save '' \
      --tls-cert-file "$TLS/$name.crt" --tls-key-file "$TLS/$name.key" --tls-ca-cert-file "$TLS/ca.crt" \
      --tls-auth-clients no --dir "$folder" "$@" >"$folder/log" 2>&1 3>&- &
    TLS_PID=$!
    OTHER_PIDS="${OTHER_PIDS:-} $TLS_PID"
    eventually 10s tls_redis_is_there_or_gone
    [ ! -S "$TLS_SOCKET" ] || break
  done
  eventually 10s tls_redis_answers
  export DLOCK_URL=rediss://localhost:$PORT
}
tls_redis_is_there_or_gone() { [ -S "$TLS_SOCKET" ] || gone "$TLS_PID"; }
tls_redis_answers() { redis-cli -s "$TLS_SOCKET" ping >/dev/null 2>&1; }
rt() { redis-cli -s "$TLS_SOCKET" "$@"; }

# tls_sentinel NAME PORT PASSWORD: starts a sentinel with the certificate NAME. Its master,
# "mymaster", is at PORT. Then sets PORT to the sentinel's own.
tls_sentinel() {
  local name=$1 master=$2 folder=$BATS_TEST_TMPDIR/sentinel
  mkdir -p "$folder"
  PORT=$(free_port)
  printf '%s\n' "port 0" "tls-port $PORT" "bind 127.0.0.1" "dir $folder" "tls-replication yes" \
    "tls-cert-file $TLS/$name.crt" "tls-key-file $TLS/$name.key" "tls-ca-cert-file $TLS/ca.crt" \
    "tls-auth-clients no" "sentinel monitor mymaster 127.0.0.1 $master 1" \
    "sentinel auth-pass mymaster $3" >"$folder/conf"
  redis-server "$folder/conf" --sentinel >"$folder/log" 2>&1 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  eventually 10s tls_sentinel_answers
}
tls_sentinel_answers() {
  redis-cli --tls --cacert "$TLS/ca.crt" -h localhost -p "$PORT" ping >/dev/null 2>&1
}

# openssl_server OPTION…: starts openssl-s_server(1) with the certificate "server"; sets PORT, and
# writes what clients say to $SAID.
openssl_server() {
  SAID=$BATS_TEST_TMPDIR/said
  PORT=$(free_port)
  rm -f "$SAID.in"
  mkfifo "$SAID.in"
  # It ends with its standard input, which has no end here.
  timeout 60 openssl s_server -accept "127.0.0.1:$PORT" -cert "$TLS/server.crt" -key "$TLS/server.key" \
    "$@" <>"$SAID.in" >"$SAID" 2>&1 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  eventually 10s grep -q ACCEPT "$SAID"
  export DLOCK_URL=rediss://localhost:$PORT
}

# tls_front MS: starts tls_front.cpp in front of the server of tls_redis; sets DLOCK_URL. The
# program writes to $FRONT.
tls_front() {
  FRONT=$BATS_TEST_TMPDIR/front
  "${CXX:-c++}" -std=c++20 -O1 -pthread -o "$FRONT.program" "$PROGRAMS/tls_front.cpp" -lssl -lcrypto
  "$FRONT.program" "$TLS/server.crt" "$TLS/server.key" "$TLS_SOCKET" "$1" >"$FRONT" 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  eventually 10s test -s "$FRONT"
  DLOCK_URL=rediss://localhost:$(head -n 1 "$FRONT")
}
front_says() { grep -c "^$1$" "$FRONT" || true; }
