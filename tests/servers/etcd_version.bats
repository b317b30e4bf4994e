#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: ./dev servers tests the etcd that it names. Only for that word.
load ../support/suite
suite cli etcd

setup_file() { start_etcd; }
teardown_file() { stop_etcd; }

@test "the etcd of the suites has the version that was asked for" {
  run -0 e endpoint status -w json
  assert_equal "$(json 'd[0]["Status"]["version"]' <<<"$output")" "$SERVER_VERSION"
}
