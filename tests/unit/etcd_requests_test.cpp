// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_requests.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <set>
#include <string>

namespace dlock {
namespace {

using namespace std::chrono_literals;

std::string json(const EtcdRequest& request) {
  return words_of(request).json;
}

TEST_CASE("etcd requests: leases, with a ttl of whole seconds") {
  CHECK(words_of(EtcdGrant{77, 5s}).path == "/v3/lease/grant");
  CHECK(json(EtcdGrant{77, 5s}) == R"({"TTL":"5","ID":"77"})");
  CHECK(json(EtcdGrant{77, 5001ms}) == R"({"TTL":"6","ID":"77"})");
  CHECK(json(EtcdGrant{std::numeric_limits<EtcdLease>::max(), 1ms}) ==
        R"({"TTL":"1","ID":"9223372036854775807"})");
  CHECK(words_of(EtcdRevoke{8}).path == "/v3/lease/revoke");
  CHECK(json(EtcdRevoke{8}) == R"({"ID":"8"})");
  CHECK(words_of(EtcdKeepAlive{8}).path == "/v3/lease/keepalive");
  CHECK(json(EtcdKeepAlive{8}) == R"({"ID":"8"})");
}

TEST_CASE("etcd requests: what lets a client hang up is longer than the buffer of Go's HTTP") {
  CHECK(long_words().json.size() > 4096);
  CHECK(long_words().path == words_of(EtcdStatus{}).path);
}

TEST_CASE("etcd requests: a get says no more than it has to") {
  CHECK(words_of(EtcdGet{{"a"}}).path == "/v3/kv/range");
  CHECK(json(EtcdGet{{"a"}}) == R"({"key":"YQ=="})");
  CHECK(json(EtcdGet{.range = {"a", "b"}, .keys_only = true, .by_creation = true, .most = 2}) ==
        R"({"key":"YQ==","range_end":"Yg==","limit":"2","sort_order":"ASCEND",)"
        R"("sort_target":"CREATE","keys_only":true})");
  CHECK(json(EtcdGet{.range = {"a"}, .created_until = 5, .written_from = 7}) ==
        R"({"key":"YQ==","max_create_revision":"5","min_mod_revision":"7"})");
  CHECK(json(EtcdStatus{}) == "{}");
}

TEST_CASE("etcd requests: a transaction, with one inside") {
  const EtcdTxn inner{.compares = {}, .then = {EtcdDelete{{"a", "b"}}, EtcdGet{{"a"}}}};
  const EtcdTxn txn{
      .compares = {{.range = {"a", "b"}},
                   {.range = {"c"}, .number = EtcdCompare::Number::modified, .than = 7},
                   {.range = {"c"},
                    .number = EtcdCompare::Number::lease,
                    .relation = EtcdCompare::Relation::not_equal,
                    .than = 8},
                   {.range = {"c"},
                    .number = EtcdCompare::Number::version,
                    .relation = EtcdCompare::Relation::less,
                    .than = 9}},
      .then = {EtcdPut{.key = "a", .value = std::string("\0", 1), .lease = 7}, EtcdPut{"c"}},
      .otherwise = {inner}};
  CHECK(words_of(txn).path == "/v3/kv/txn");
  const std::string text =
      R"({"compare":[)"
      R"({"key":"YQ==","range_end":"Yg==","target":"CREATE","result":"EQUAL",)"
      R"("create_revision":"0"},)"
      R"({"key":"Yw==","target":"MOD","result":"EQUAL","mod_revision":"7"},)"
      R"({"key":"Yw==","target":"LEASE","result":"NOT_EQUAL","lease":"8"},)"
      R"({"key":"Yw==","target":"VERSION","result":"LESS","version":"9"}],)"
      R"("success":[{"request_put":{"key":"YQ==","value":"AA==","lease":"7"}},)"
      R"({"request_put":{"key":"Yw==","value":""}}],)"
      R"("failure":[{"request_txn":{"compare":[],"success":[)"
      R"({"request_delete_range":{"key":"YQ==","range_end":"Yg=="}},)"
      R"({"request_range":{"key":"YQ=="}}],"failure":[]}}]})";
  CHECK(json(txn) == text);
  CHECK(json(txn) == json(EtcdTxn(txn)));
}

TEST_CASE("etcd requests: all keys with a prefix") {
  CHECK(keys_below("a/").first == "a/");
  CHECK(keys_below("a/").end == "a0");
  CHECK(keys_below("a\xff\xff").end == "b");
  CHECK(keys_below("\xff").end == std::string(1, '\0'));
}

TEST_CASE("etcd requests: a new lease is positive and of our own, with the digits of etcdctl") {
  std::set<EtcdLease> all;
  for (int i = 0; i < 1000; ++i) {
    const EtcdLease lease = new_etcd_lease();
    CHECK(lease > 0);
    all.insert(lease);
  }
  CHECK(all.size() == 1000);
  CHECK(lease_digits(0x0694'5c6d'0a2b'3f01) == "6945c6d0a2b3f01");
  CHECK(lease_digits(std::numeric_limits<EtcdLease>::max()) == "7fffffffffffffff");
  CHECK(lease_digits(1) == "1");
}

TEST_CASE("etcd requests: a login and a watch") {
  CHECK(login_words("ann", "p\"w").path == "/v3/auth/authenticate");
  CHECK(login_words("ann", "p\"w").json == R"({"name":"ann","password":"p\"w"})");
  CHECK(watch_words({{"a"}}, 0, EtcdEvents::all).path == "/v3/watch");
  CHECK(watch_words({{"a"}}, 0, EtcdEvents::all).json == R"({"create_request":{"key":"YQ=="}})");
  CHECK(watch_words({{"a"}}, 0, EtcdEvents::deletes).json ==
        R"({"create_request":{"key":"YQ==","filters":["NOPUT"]}})");
  CHECK(watch_words({{"a"}, {"b", "c"}}, 9, EtcdEvents::all).json ==
        R"({"create_request":{"key":"YQ==","start_revision":"9"}})"
        R"({"create_request":{"key":"Yg==","range_end":"Yw==","start_revision":"9"}})");
}

}  // namespace
}  // namespace dlock
