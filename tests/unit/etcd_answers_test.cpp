// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_answers.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>

#include "support/has.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::has;

const EtcdGrant k_grant{77, 5s};
const EtcdTxn k_txn{.compares = {EtcdCompare{.range = {"a"}}},
                    .then = {EtcdPut{"a"}, EtcdDelete{{"b"}}},
                    .otherwise = {EtcdTxn{.compares = {}, .then = {EtcdGet{{"a"}}}}}};

// Returns an answer: the header that every answer has, and `rest`.
std::string with_header(const std::string& rest) {
  return R"({"header":{"cluster_id":"14841639068965178418","revision":"42","raft_term":"2"})" +
         rest + "}";
}

EtcdAnswer answer(const EtcdRequest& request, const std::string& body) {
  CAPTURE(body);
  auto read = read_answer(request, {200, body});
  REQUIRE(std::holds_alternative<EtcdAnswer>(read));
  CHECK(std::get<EtcdAnswer>(read).revision == 42);
  return std::get<EtcdAnswer>(std::move(read));
}

EtcdRefusal refusal(const EtcdRequest& request, int status, const std::string& body) {
  CAPTURE(body);
  auto read = read_answer(request, {status, body});
  REQUIRE(std::holds_alternative<EtcdRefusal>(read));
  return std::get<EtcdRefusal>(std::move(read));
}

TEST_CASE("etcd answers: leases") {
  CHECK(answer(k_grant, with_header(R"(,"ID":"77","TTL":"6")")).ttl == 6s);
  CHECK_FALSE(answer(k_grant, with_header(R"(,"ID":"77","TTL":"6")")).existed);
  CHECK(answer(EtcdKeepAlive{77}, R"({"result":)" + with_header(R"(,"ID":"77","TTL":"5")") + "}\n")
            .ttl == 5s);
  CHECK(answer(EtcdKeepAlive{77}, R"({"result":)" + with_header(R"(,"ID":"77")") + "}\n").ttl ==
        0s);
  answer(EtcdRevoke{77}, with_header(""));
}

TEST_CASE("etcd answers: what is as it was wished is no error") {
  const std::string exists = R"("message":"etcdserver: lease already exists","code":9)";
  for (const std::string& body : {R"({"error":"etcdserver: lease already exists",)" + exists + "}",
                                  "{" + exists + R"(,"details":[]})"}) {
    const auto read = read_answer(k_grant, {412, body});
    REQUIRE(std::holds_alternative<EtcdAnswer>(read));
    CHECK(std::get<EtcdAnswer>(read).existed);
  }
  const std::string missing = R"({"message":"etcdserver: requested lease not found","code":5})";
  CHECK(std::holds_alternative<EtcdAnswer>(read_answer(EtcdRevoke{77}, {404, missing})));
  CHECK(refusal(k_txn, 404, missing).code == Errc::refused);
  CHECK(refusal(k_txn, 404, missing).grpc == grpc_code::k_not_found);
}

TEST_CASE("etcd answers: the keys of a get") {
  const auto some = answer(
      EtcdGet{{"a"}},
      with_header(R"(,"kvs":[{"key":"YQ==","create_revision":"2","mod_revision":"3","version":"2",)"
                  R"("value":"Yg==","lease":"77"},{"key":"Yw==","create_revision":"4",)"
                  R"("mod_revision":"4"}],"count":"2")"));
  REQUIRE(some.keys.size() == 2);
  CHECK(some.keys[0].key == "a");
  CHECK(some.keys[0].value == "b");
  CHECK(some.keys[0].created == 2);
  CHECK(some.keys[0].modified == 3);
  CHECK(some.keys[0].lease == 77);
  CHECK(some.keys[1].lease == 0);
  CHECK(some.count == 2);
  CHECK(answer(EtcdGet{{"a"}}, with_header("")).keys.empty());
  const EtcdGet first{.range = {"a"}, .most = 1};
  CHECK(answer(first, with_header(R"(,"kvs":[{"key":"YQ=="}],"count":"2")")).count == 2);
}

TEST_CASE("etcd answers: each operation of a transaction has its part") {
  const auto done =
      answer(k_txn,
             with_header(R"(,"succeeded":true,"responses":[{"response_put":{"header":{}}},)"
                         R"({"response_delete_range":{"deleted":"3"}}])"));
  CHECK(done.succeeded);
  REQUIRE(done.parts.size() == 2);
  CHECK(done.parts[1].count == 3);
  const auto failed = answer(
      k_txn,
      with_header(R"(,"responses":[{"response_txn":{"header":{},"succeeded":true,)"
                  R"("responses":[{"response_range":{"kvs":[{"key":"YQ=="}],"count":"1"}}]}}])"));
  CHECK_FALSE(failed.succeeded);
  REQUIRE(failed.parts.size() == 1);
  CHECK(failed.parts[0].succeeded);
  CHECK(failed.parts[0].parts[0].keys[0].key == "a");
}

TEST_CASE("etcd answers: what does not answer the request is no answer") {
  const auto none = [](const EtcdRequest& request, const std::string& body) {
    CHECK(refusal(request, 200, body).code == Errc::protocol);
  };
  const EtcdGet get{{"a"}};
  for (const char* const body : {"",
                                 "{",
                                 "[]",
                                 "null",
                                 "7",
                                 "{}",
                                 R"({"header":7,)",
                                 R"({"header":{"revision":"-1"}})",
                                 R"({"header":{"revision":"1x"}})",
                                 R"({"header":{"revision":[]}})",
                                 R"({"header":{"revision":"9007199254740992"}})",
                                 R"({"header":{"revision":"9223372036854775807"}})",
                                 R"({"header":{"revision":"99999999999999999999"}})"}) {
    none(get, body);
    none(k_txn, body);
    none(EtcdRevoke{7}, body == std::string("{}") ? "" : body);
  }
  none(get, with_header(R"(,"kvs":7)"));
  none(get, with_header(R"(,"count":"1")"));
  none(get, with_header(R"(,"kvs":[{"key":"YQ=="}],"count":"2")"));
  none(get, with_header(R"(,"kvs":[{"key":"YQ"}],"count":"1")"));
  none(get, with_header(R"(,"kvs":[{"key":7}],"count":"1")"));
  none(get, with_header(R"(,"kvs":[{"value":"YQ=="}],"count":"1")"));
  none(get, with_header(R"(,"kvs":[7],"count":"1")"));
  none(k_txn, with_header(""));
  const EtcdTxn unconditional{.then = {EtcdGet{{"a"}}}};
  none(unconditional, with_header(""));
  none(unconditional, with_header(R"(,"succeeded":false,"responses":[])"));
  none(k_txn, with_header(R"(,"succeeded":true)"));
  none(k_txn, with_header(R"(,"succeeded":"true","responses":[])"));
  none(k_txn, with_header(R"(,"succeeded":true,"responses":[{"response_put":{}}])"));
  none(k_txn,
       with_header(R"(,"succeeded":true,"responses":[{"response_put":{}},{"response_put":{}}])"));
  none(k_txn, with_header(R"(,"responses":[{"response_txn":{"succeeded":true}}])"));
  none(k_grant, with_header(R"(,"ID":"77")"));
  none(k_grant, with_header(R"(,"ID":"78","TTL":"5")"));
  none(k_grant, with_header(R"(,"ID":"77","TTL":"99999999999")"));
  none(EtcdKeepAlive{77}, with_header(R"(,"ID":"77","TTL":"5")"));
  none(EtcdStatus{}, with_header(""));
}

TEST_CASE("etcd answers: what a refusal means") {
  const auto meaning = [](int code, const std::string& message) {
    return refusal(
        k_txn, 400, R"({"code":)" + std::to_string(code) + R"(,"message":")" + message + R"("})");
  };
  CHECK(meaning(7, "etcdserver: permission denied").code == Errc::denied);
  CHECK(meaning(7, "etcdserver: permission denied").text == "etcdserver: permission denied");
  CHECK_FALSE(meaning(7, "etcdserver: permission denied").login);
  CHECK(meaning(16, "etcdserver: invalid auth token").code == Errc::denied);
  CHECK(meaning(16, "etcdserver: invalid auth token").login);
  CHECK(meaning(3, "etcdserver: user name is empty").code == Errc::denied);
  CHECK(has(meaning(3, "etcdserver: user name is empty").hint, "set DLOCK_PASSWORD"));
  CHECK(meaning(3, "etcdserver: revision of auth store is old").login);
  CHECK(meaning(3, "etcdserver: duplicate key given in txn request").code == Errc::refused);
  CHECK(meaning(8, "etcdserver: too many requests").code == Errc::unavailable);
  CHECK(meaning(8, "etcdserver: too many requests").repeat);
  CHECK(meaning(14, "etcdserver: no leader").code == Errc::unavailable);
  CHECK(meaning(14, "etcdserver: no leader").repeat);
  CHECK(meaning(14, "etcdserver: leader changed").code == Errc::unavailable);
  CHECK_FALSE(meaning(14, "etcdserver: leader changed").repeat);
  CHECK(
      meaning(14, "etcdserver: request timed out, possibly due to previous leader failure").code ==
      Errc::timed_out);
  CHECK(meaning(4, "context deadline exceeded").code == Errc::timed_out);
  CHECK(meaning(2, "whatever").code == Errc::unavailable);
  CHECK(meaning(12, "unknown method").code == Errc::protocol);
  CHECK(meaning(99, "whatever").code == Errc::protocol);
  CHECK(meaning(9, R"(a\u001b[2J\nb)").text == "a\\x1b[2J\\nb");
  CHECK(meaning(9, std::string(1000, 'x')).text.size() <= 200);
}

TEST_CASE("etcd answers: a server without the gateway, and other servers in between") {
  CHECK(refusal(k_txn, 404, "404 page not found\n").code == Errc::bad_config);
  CHECK(has(refusal(k_txn, 404, "404 page not found\n").hint, "--enable-grpc-gateway"));
  CHECK(refusal(k_txn, 503, "<html>").code == Errc::unavailable);
  CHECK(refusal(k_txn, 502, "").code == Errc::unavailable);
  CHECK(refusal(k_txn, 403, "no").code == Errc::denied);
  CHECK(refusal(k_txn, 301, "").code == Errc::protocol);
  CHECK(refusal(k_txn, 301, "").text == "HTTP status 301");
  CHECK(refusal(k_txn, 200, "<html>").code == Errc::protocol);
}

TEST_CASE("etcd answers: a login") {
  const auto token = read_login({200, with_header(R"(,"token":"abc.1")")});
  CHECK(std::get<std::string>(token) == "abc.1");
  const auto open =
      read_login({412, R"({"message":"etcdserver: authentication is not enabled","code":9})"});
  CHECK(std::get<std::string>(open).empty());
  const auto wrong = read_login(
      {400,
       R"({"message":"etcdserver: authentication failed, invalid user ID or password","code":3})"});
  CHECK(std::get<EtcdRefusal>(wrong).code == Errc::denied);
  for (const char* const bad : {R"("")", R"("a\r\nX: y")", R"("a b")", "7"})
    CHECK(std::get<EtcdRefusal>(read_login({200, with_header(R"(,"token":)" + std::string(bad))}))
              .code == Errc::protocol);
}

TEST_CASE("etcd answers: the lines of a watch") {
  const auto news = [](const std::string& line) {
    CAPTURE(line);
    auto read = read_news(line);
    REQUIRE(std::holds_alternative<EtcdNews>(read));
    return std::get<EtcdNews>(std::move(read));
  };
  CHECK(news(R"({"result":{"header":{},"created":true}})").created == 1);
  const auto two =
      news(R"({"result":{"watch_id":"1","events":[{"type":"DELETE","kv":{"key":"YQ==",)"
           R"("mod_revision":"7"}},{"kv":{"key":"Yg==","value":"Yw==","mod_revision":"8"}}]}})");
  CHECK(two.created == 0);
  REQUIRE(two.events.size() == 2);
  CHECK(two.events[0].deleted);
  CHECK(two.events[0].key.key == "a");
  CHECK(two.events[0].key.modified == 7);
  CHECK_FALSE(two.events[1].deleted);
  CHECK(two.events[1].key.value == "c");

  const auto end = [](const std::string& line) {
    CAPTURE(line);
    auto read = read_news(line);
    REQUIRE(std::holds_alternative<EtcdRefusal>(read));
    return std::get<EtcdRefusal>(std::move(read));
  };
  CHECK(end(R"({"result":{"canceled":true,"compact_revision":"4"}})").code == Errc::unavailable);
  const auto denied =
      end(R"({"result":{"created":true,"canceled":true,"watch_id":"-1","cancel_reason":)"
          R"("rpc error: code = PermissionDenied desc = etcdserver: permission denied"}})");
  CHECK(denied.code == Errc::denied);
  CHECK(denied.text == "etcdserver: permission denied");
  CHECK(end(R"({"result":{"canceled":true,"cancel_reason":)"
            R"("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token"}})")
            .login);
  CHECK(end(R"({"result":{"canceled":true}})").code == Errc::unavailable);
  for (const std::string code : {R"("grpc_code":14,"http_code":503)", R"("code":14)"}) {
    const auto gone = end(R"({"error":{"message":"etcdserver: no leader",)" + code + "}}");
    CHECK(gone.code == Errc::unavailable);
    CHECK(gone.text == "etcdserver: no leader");
  }
  for (const char* const line : {"",
                                 "{}",
                                 R"({"result":{"events":7}})",
                                 R"({"result":{"events":[{"type":"DELETE"}]}})",
                                 R"({"result":{"events":[{"kv":{}}]}})"})
    CHECK(end(line).code == Errc::protocol);
  CHECK(read_end_of_news({200, ""}).code == Errc::unavailable);
  CHECK(read_end_of_news({503, R"({"message":"etcdserver: no leader","code":14})"}).text ==
        "etcdserver: no leader");
  CHECK(read_end_of_news({404, ""}).code == Errc::bad_config);
}

}  // namespace
}  // namespace dlock
