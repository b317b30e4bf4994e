#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: rediss:// encrypts, verifies chain and name of the server's certificate before it sends
# anything, reads its files at each connection, and says in one line what is wrong and what to do.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154
load ../support/suite
suite cli refused tls

setup_file() {
  set_up_file
  make_ca ca
  make_ca foreign
  make_certificate server ca "$HERE"
  make_certificate client ca "$HERE"
  make_certificate stranger foreign "$HERE"
}
setup() {
  set_up
  unset SSL_CERT_FILE SSL_CERT_DIR
  export DLOCK_CACERT=$TLS/ca.crt
}

# refused_by CERTIFICATE TEXT: the server has it; 69, TEXT in one line, and no word of AUTH arrived.
refused_by() {
  openssl_server -cert "$TLS/$1.crt" -key "$TLS/$1.key"
  DLOCK_PASSWORD=sesame refused 69 run x -- touch "$MARKER"
  assert_one_line
  assert_not_started
  assert_stderr_has "cannot reach rediss://localhost:$PORT/0: "
  assert_stderr_has ": its certificate $2" # perhaps after ::1, where nothing listens
  run ! grep -aE 'AUTH|sesame' "$SAID"
}

@test "rediss:// runs over TLS 1.3 with a verified server, and authenticates" {
  tls_redis server --requirepass sesame
  export DLOCK_PASSWORD=sesame REDISCLI_AUTH=sesame
  run -0 --separate-stderr "$DLOCK" run x -- sh -c 'redis-cli -s "$0" client list' "$TLS_SOCKET"
  assert_no_stderr
  assert_output --partial "laddr=127.0.0.1:$PORT"
  run -0 "$DLOCK" --url "rediss://127.0.0.1:$PORT" list
  DLOCK_PASSWORD=wrong refused 77 run x -- touch "$MARKER"
  run -0 openssl s_client -connect "127.0.0.1:$PORT" -CAfile "$TLS/ca.crt" -brief </dev/null
  assert_output --partial TLSv1.3
}

@test "TLS 1.2 works too, and a server with neither is told so" {
  tls_redis server --tls-protocols TLSv1.2
  run -0 --separate-stderr "$DLOCK" run x -- true
  assert_no_stderr
  openssl_server -tls1_1 -cipher 'DEFAULT@SECLEVEL=0'
  refused 69 run x -- touch "$MARKER"
  assert_stderr_has 'it has no TLS version or cipher in common with dlock, which offers 1.2 and 1.3'
}

@test "a certificate of a CA that is not trusted is refused before anything is sent: 69" {
  refused_by stranger 'is not signed by anyone trusted here (unable to get local issuer certificate); name the CA with --cacert FILE'
}

@test "a self-signed certificate is refused: 69" {
  refused_by foreign 'is not signed by anyone trusted here (self-signed certificate); name the CA with --cacert FILE'
}

@test "a certificate for other names is refused, and the error lists them: 69" {
  make_certificate db ca 'DNS:db1.example,DNS:*.db.example,IP:10.0.0.9'
  refused_by db 'is for db1.example, *.db.example, 10.0.0.9, not for "localhost"; connect by one of these names, or say --sni db1.example'
  end_helpers
  tls_redis db
  run -0 "$DLOCK" --sni db1.example run x -- true
  run -0 "$DLOCK" --sni a.db.example run x -- true
  refused 69 --sni 10.0.0.8 run x -- touch "$MARKER"
  refused 69 --sni a.b.db.example run x -- touch "$MARKER"
  refused 69 --sni db2.example run x -- touch "$MARKER"
}

@test "an address is compared with the addresses of the certificate, not with its names: 69" {
  make_certificate named ca 'DNS:localhost,DNS:127.0.0.1'
  tls_redis named
  run -0 "$DLOCK" run x -- true
  refused 69 --url "rediss://127.0.0.1:$PORT" run x -- touch "$MARKER"
  assert_stderr_has 'not for "127.0.0.1"'
}

@test "a common name is no name of a server: 69" {
  make_certificate addressed ca IP:127.0.0.1
  tls_redis addressed
  refused 69 --sni addressed.example run x -- touch "$MARKER"
  assert_stderr_has 'its certificate is for 127.0.0.1, not for "addressed.example"; connect by one of these names'
  refute_stderr_has '--sni'
  openssl req -new -key "$TLS/addressed.key" -subj /CN=addressed.example -out "$TLS/csr" 2>/dev/null
  openssl x509 -req -in "$TLS/csr" -CA "$TLS/ca.crt" -CAkey "$TLS/ca.key" -CAcreateserial -days 30 \
    -out "$TLS/common.crt" 2>/dev/null
  rt config set tls-cert-file "$TLS/common.crt"
  refused 69 --sni addressed.example run x -- touch "$MARKER"
  assert_stderr_has 'its certificate has no subjectAltName, so it is not for "addressed.example"'
}

@test "N17: a certificate that has expired is refused, with its end and this machine's clock: 69" {
  make_certificate old ca "$HERE" -startdate 20200101000000Z -enddate 20201001120000Z
  refused_by old "expired on 2020-10-01 12:00 UTC (this machine's clock: 2"
}

@test "a certificate that is not valid yet is refused, with its begin: 69" {
  make_certificate new ca "$HERE" -startdate 20480101000000Z -enddate 20490101000000Z
  refused_by new "is not valid before 2048-01-01 00:00 UTC (this machine's clock: 2"
}

@test "--insecure takes any certificate, and warns at every start, also with -q" {
  tls_redis stranger
  refused 69 run x -- touch "$MARKER"
  run -0 --separate-stderr "$DLOCK" -q --insecure run x -- true
  assert_one_line
  assert_stderr_has '--insecure: the certificate of the server is not verified'
}

@test "rediss:// at a server without TLS that keeps silent: 69 within the limit, and a hint" {
  second_redis --port "$(free_port)" --bind 127.0.0.1
  local port
  port=$(r2 config get port | tail -n 1)
  export DLOCK_PASSWORD=sesame
  refused 69 --url "rediss://127.0.0.1:$port" --connect-timeout 300ms run x -- touch "$MARKER"
  assert_stderr_has "cannot reach rediss://127.0.0.1:$port/0: no answer to the TLS handshake within"
  assert_stderr_has 'a server without TLS keeps silent like this: is it redis:// ?'
  fake_server http
  refused 69 --url "rediss://127.0.0.1:$FAKE_PORT" run x -- touch "$MARKER"
  assert_stderr_has 'it does not speak TLS; is it redis:// ?'
}

@test "redis:// at a server with TLS: 69 at once, and a hint" {
  tls_redis server
  unset DLOCK_CACERT
  refused 69 --url "redis://127.0.0.1:$PORT" --connect-timeout 60s run x -- touch "$MARKER"
  assert_stderr_has "redis://127.0.0.1:$PORT/0 expects TLS; is it rediss:// ?"
}

@test "N17: a server that wants a client certificate: 77 without one and with a foreign one, in both versions" {
  local version
  for version in TLSv1.2 TLSv1.3; do
    tls_redis server --tls-auth-clients yes --tls-protocols "$version"
    refused 77 run x -- touch "$MARKER"
    assert_stderr_has ": it wants a client certificate; name it with --cert FILE --key FILE"
    refused 77 --cert "$TLS/stranger.crt" --key "$TLS/stranger.key" run x -- touch "$MARKER"
    assert_stderr_has ": it does not accept our certificate $TLS/stranger.crt (unknown CA)"
    run -0 --separate-stderr "$DLOCK" --cert "$TLS/client.crt" --key "$TLS/client.key" run x -- true
    assert_no_stderr
    end_helpers
    rm -f "$TLS_SOCKET"
  done
}

@test "a private key of another user is refused, and one that others can read is told of" {
  tls_redis server --tls-auth-clients yes
  export DLOCK_CERT=$TLS/client.crt DLOCK_KEY=$BATS_TEST_TMPDIR/open/client.key
  install -d -m 777 "$BATS_TEST_TMPDIR/open"
  install -m 644 "$TLS/client.key" "$DLOCK_KEY"
  run -0 --separate-stderr "$DLOCK" run x -- true
  assert_stderr_has "$DLOCK_KEY: is a private key, and others can read it; chmod 600 it"
  chmod 666 "$DLOCK_KEY"
  refused 78 run x -- touch "$MARKER"
  assert_stderr_has "$DLOCK_KEY: can be written by others"
  chmod 600 "$DLOCK_KEY"
  run -0 --separate-stderr "$DLOCK" run x -- true
  assert_no_stderr
  [ "$(id -u)" = 0 ] || return 0
  chown 12345 "$DLOCK_KEY"
  refused 78 run x -- touch "$MARKER"
  assert_stderr_has "$DLOCK_KEY: is owned by user 12345"
}

@test "a key with a password needs --key-password-file, with the right one: 78" {
  local secret=$BATS_TEST_TMPDIR/secret
  openssl pkey -in "$TLS/client.key" -aes256 -passout pass:sesame -out "$TLS/locked.key"
  tls_redis server --tls-auth-clients yes
  export DLOCK_CERT=$TLS/client.crt DLOCK_KEY=$TLS/locked.key
  refused 78 run x -- touch "$MARKER"
  assert_stderr_has "cannot use --key $TLS/locked.key: it has a password; give it by --key-password-file"
  (umask 077 && echo wrong >"$secret")
  refused 78 --key-password-file "$secret" run x -- touch "$MARKER"
  assert_stderr_has 'the password of --key-password-file does not fit'
  echo sesame >"$secret"
  run -0 "$DLOCK" --key-password-file "$secret" run x -- true
}

@test "a file that cannot be used is named before any connection: 78" {
  export DLOCK_URL=rediss://127.0.0.1:1
  local no=$BATS_TEST_TMPDIR/no empty=$BATS_TEST_TMPDIR/empty
  : >"$empty"
  refused 78 --cacert "$no" run x -- touch "$MARKER"
  assert_stderr_has "cannot use --cacert $no: no such file or directory"
  refused 78 --cacert "$empty" run x -- touch "$MARKER"
  assert_stderr_has "cannot use --cacert $empty: it has no certificate in PEM format"
  refused 78 --cert "$TLS/client.crt" run x -- touch "$MARKER"
  assert_stderr_has -- '--cert and --key are needed together'
  refused 78 --cert "$TLS/client.crt" --key "$TLS/server.key" run x -- touch "$MARKER"
  assert_stderr_has "cannot use --key $TLS/server.key: it does not belong to --cert"
  refused 78 --cert "$TLS/client.crt" --key "$TLS/client.crt" run x -- touch "$MARKER"
  assert_stderr_has 'it has no private key in PEM format'
  refused 78 --cert "$empty" --key "$TLS/client.key" run x -- touch "$MARKER"
  assert_stderr_has "cannot use --cert $empty: "
}

@test "a directory of CAs needs hashed names: 78 with the way to make them" {
  local folder=$BATS_TEST_TMPDIR/cas
  mkdir "$folder"
  tls_redis server
  unset DLOCK_CACERT
  refused 78 --cacertdir "$folder" run x -- touch "$MARKER"
  cp "$TLS/ca.crt" "$folder/ca.pem"
  refused 78 --cacertdir "$folder" run x -- touch "$MARKER"
  assert_stderr_has "cannot use --cacertdir $folder: no file in it has a hashed name such as 5ed36f99.0; run openssl rehash $folder"
  openssl rehash "$folder"
  run -0 "$DLOCK" --cacertdir "$folder" run x -- true
  SSL_CERT_DIR=$folder run -0 "$DLOCK" run x -- true
  SSL_CERT_FILE=$TLS/ca.crt run -0 "$DLOCK" run x -- true
  SSL_CERT_FILE=$TLS/none SSL_CERT_DIR=$folder run -0 "$DLOCK" run x -- true
  SSL_CERT_FILE=$TLS/none refused 78 run x -- touch "$MARKER"
  assert_stderr_has "cannot use SSL_CERT_FILE $TLS/none: no such file or directory"
  SSL_CERT_DIR=$TLS/none refused 78 run x -- touch "$MARKER"
  assert_stderr_has "cannot use SSL_CERT_DIR $TLS/none: "
  refused 69 run x -- touch "$MARKER"
  assert_stderr_has 'name the CA with --cacert FILE'
}

@test "without --cacert a system with hashed names reads none of its bundle" {
  compgen -G '/etc/ssl/certs/????????.0' >/dev/null || skip "this machine has no hashed CAs"
  tls_redis server
  unset DLOCK_CACERT
  run -69 strace -f -e trace=openat -o "$BATS_TEST_TMPDIR/trace" "$DLOCK" run x -- true
  grep -q /etc/ssl/certs "$BATS_TEST_TMPDIR/trace"
  run ! grep -E 'ca-certificates.crt|openssl.cnf' "$BATS_TEST_TMPDIR/trace"
}

@test "a setting of TLS with a URL that does not encrypt is refused, not ignored: 78" {
  local scheme place
  for scheme in redis redis+sentinel redis+cluster etcd zookeeper; do
    place=127.0.0.1:1
    [ "$scheme" != redis+sentinel ] || place+=/m
    refused 78 --url "$scheme://$place" run x -- touch "$MARKER"
    assert_stderr_has "$scheme:// is not encrypted: a setting of TLS"
    assert_stderr_has "needs ${scheme/redis/rediss}" # etcds and zookeepers, too, begin so
    refused 78 --url "$scheme://$place" doctor
    (
      unset DLOCK_CACERT
      refused 78 --url "$scheme://$place" --insecure run x -- touch "$MARKER"
      refused 78 --url "$scheme://$place?cacert=/ca.pem" run x -- touch "$MARKER"
      assert_stderr_has "$scheme:// is not encrypted"
    )
  done
  local servers=(--url redis://127.0.0.1:1 --url redis://127.0.0.1:2 --url redis://127.0.0.1:3)
  refused 78 "${servers[@]}" run x -- touch "$MARKER"
  assert_stderr_has 'redis:// is not encrypted'
}

@test "a URL carries its own files of TLS, which go before the options" {
  unset DLOCK_CACERT
  tls_redis server --tls-auth-clients yes
  local own="$DLOCK_URL/0?cacert=$TLS/ca.crt&cert=$TLS/client.crt&key=$TLS/client.key"
  DLOCK_URL=$own run -0 --separate-stderr "$DLOCK" run x -- true
  assert_no_stderr
  run -0 "$DLOCK" --url "$own" --cacert "$TLS/foreign.crt" run x -- true
  refused 69 --url "$own&sni=other" run x -- touch "$MARKER"
  assert_stderr_has ": its certificate is for localhost, 127.0.0.1, not for \"other\""
  refused 78 --url "$DLOCK_URL?cacert=$TLS/no.crt" run x -- touch "$MARKER"
  assert_stderr_has "cannot use --cacert $TLS/no.crt: no such file or directory"
}

@test "the words of other clients are refused with the one to use, as any wrong URL is" {
  export DLOCK_URL='rediss://h?ssl_ca_certs=/ca.pem'
  refused 78 run x -- touch "$MARKER"
  assert_stderr_has 'DLOCK_URL: ssl_ca_certs is the parameter cacert here'
  refused 64 --url 'rediss://h?ssl_cert_reqs=none' run x -- touch "$MARKER"
  assert_stderr_has '--url: leave ssl_cert_reqs out: chain and name of the certificate are always verified'
}

@test "rediss+sentinel: TLS to sentinel and master, with the CA and the password of each" {
  unset DLOCK_CACERT
  tls_redis server --requirepass sesame
  local master=$PORT
  tls_sentinel server "$master" sesame
  DLOCK_URL=rediss+sentinel://:sesame@127.0.0.1:$PORT/mymaster
  refused 78 --cacert "$TLS/no.crt" run x -- touch "$MARKER"
  refused 69 --connect-timeout 60s --cacert "$TLS/foreign.crt" run x -- touch "$MARKER"
  assert_stderr_has 'no sentinel answers: cannot reach rediss://127.0.0.1:'
  DLOCK_URL+="?cacert=$TLS/ca.crt"
  run -0 --separate-stderr "$DLOCK" run x -- true
  assert_no_stderr
  run "$DLOCK" doctor --json
  assert_output --partial "rediss://127.0.0.1:$master"
  refute_output --partial 'cannot reach'
  run "$DLOCK" doctor
  for PORT in "$PORT" "$master"; do
    assert_line --regexp "^i connect +rediss://127.0.0.1:$PORT/0  TLSv1.3, its certificate is for localhost and"
  done
}

@test "rediss+sentinel: a master that is named by an address which its certificate lacks: 69, and the way out" {
  make_certificate db1 ca DNS:db1.example
  tls_redis db1
  tls_sentinel server "$PORT" none
  DLOCK_URL=rediss+sentinel://localhost:$PORT/mymaster
  refused 69 run x -- touch "$MARKER"
  assert_stderr_has 'its certificate is for db1.example, not for "127.0.0.1"; let the sentinels name it so (resolve-hostnames yes, announce-hostnames yes), or say --sni db1.example'
}

@test "a hold goes on with certificates that were replaced while it lasts, on a server started anew" {
  cp "$TLS/ca.crt" "$TLS/trusted.crt"
  tls_redis server --appendonly yes --appendfsync always
  DLOCK_CACERT=$TLS/trusted.crt hold x --ttl 9s
  make_ca next
  make_certificate second next "$HERE"
  # The old connection ends; only the new CA has signed what the server shows now.
  kill -KILL "$TLS_PID"
  wait "$TLS_PID" || true
  rm -f "$TLS_SOCKET"
  cp "$TLS/next.crt" "$TLS/trusted.crt"
  WANTED_PORT=$PORT tls_redis second --appendonly yes --appendfsync always
  [ "$(rt exists dlock:x)" = 1 ]
  eventually 9s renewed_anew
  let_go
  assert_equal "$(rt exists dlock:x)" 0
}
renewed_anew() { rt info commandstats | grep -q cmdstat_evalsha; }

@test "a waiter over TLS is woken by the release" {
  tls_redis server
  hold x
  "$DLOCK" run x -- touch "$MARKER" 3>&- &
  local waiter=$!
  eventually 10s in_line
  let_go
  wait "$waiter"
  [ -e "$MARKER" ]
}
in_line() { [ "$(rt zcard 'dlock:line:{dlock:x}')" = 1 ]; }

@test "key updates and tickets of a server without news: every connection is kept, and no time is spent" {
  tls_redis server
  tls_front 20
  hold x -v --ttl 6s
  "$DLOCK" run x -- touch "$MARKER" 3>&- &
  local waiter=$! before spent
  eventually 10s in_line
  eventually 10s no_new_connection
  before=$(front_says connection)
  spent=$(($(ticks_of "$HOLDER") + $(ticks_of "$waiter")))
  : >"$BATS_TEST_TMPDIR/holder.err"
  eventually 10s grep -q renewed "$BATS_TEST_TMPDIR/holder.err"
  spent=$(($(ticks_of "$HOLDER") + $(ticks_of "$waiter") - spent))
  [ "$(front_says update)" -gt 50 ]
  assert_equal "$(front_says connection) $(front_says end)" "$before 0"
  [ "$spent" -lt 25 ] || fail "$spent ticks of a hundredth of a second"
  let_go
  wait "$waiter"
  [ -e "$MARKER" ]
}
# The holder and the first waiter have two each, the second one to listen.
no_new_connection() { [ "$(front_says connection)" = 4 ]; }
ticks_of() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

@test "a server that stops in the middle of the handshake: 69 within the limit, or a signal ends the wait" {
  tls_redis server
  kill -STOP "$TLS_PID"
  refused 69 --connect-timeout 300ms run x -- touch "$MARKER"
  assert_stderr_has 'no answer to the TLS handshake within'
  "$DLOCK" --connect-timeout 60s run x -- touch "$MARKER" 3>&- &
  local waiter=$!
  eventually 10s connected_to "$PORT" "$waiter"
  kill -TERM "$waiter"
  local rc=0
  wait "$waiter" || rc=$?
  assert_equal "$rc" 143
  assert_not_started
  kill -CONT "$TLS_PID"
}
connected_to() { compgen -G "/proc/$2/fd/*" | xargs -r readlink | grep -q socket:; }

@test "dlock --version -v names the library that speaks TLS, and each library with its version" {
  local package
  run -0 "$DLOCK" -v --version
  assert_line -n 1 --regexp '^OpenSSL [3-9]\.'
  assert_line -n 2 'built with:'
  # What a binary of this system loads, and what is only in its headers.
  for package in libssl-dev:OpenSSL libhiredis-dev:hiredis libsqlite3-dev:SQLite libpq-dev:libpq \
    libmariadb-dev:libmariadb libhttp-parser-dev:http_parser libc-ares-dev:c-ares libc6-dev:glibc \
    nlohmann-json3-dev:nlohmann-json libspdlog-dev:spdlog libcli11-dev:CLI11 libtoml11-dev:toml11; do
    assert_line "${package#*:} $(dpkg-query -W -f '${Version}' "${package%:*}")"
  done
  refute_output --partial unknown
}
