#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: ./dev servers tests the server that it names. Only for that word.
load ../support/suite
suite server

@test "the server of the suites has the version that was asked for" {
  local facts version
  facts=$(r info server | tr -d '\r')
  version=$(sed -n 's/^valkey_version://p' <<<"$facts") # its redis_version says 7.2.4
  : "${version:=$(sed -n 's/^redis_version://p' <<<"$facts")}"
  echo "asked for $SERVER_VERSION, found $version"
  [ "$version" = "$SERVER_VERSION" ]
}
