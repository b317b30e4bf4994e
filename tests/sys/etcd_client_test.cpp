// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_client.hpp"

#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/etcd_clients.hpp"
#include "support/fake_redis.hpp"
#include "support/has.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::done;
using test::etcd;
using test::etcd_client;
using test::failed;
using test::has;
using test::put;
using test::remove;
using test::shared_etcd;
using test::soon;
using test::value_of;

using Number = EtcdCompare::Number;

// Returns the requests of a claim as a store makes them: the first claim gets "h", all others wait
// in line with "w".
std::vector<EtcdRequest> claim(const std::string& name, EtcdLease lease) {
  const std::string key = name + "/" + lease_digits(lease);
  const EtcdTxn queue{.compares = {{.range = {key}}}, .then = {EtcdPut{key, "w", lease}}};
  return {
      EtcdGrant{lease, 60s},
      EtcdTxn{.compares = {{.range = keys_below(name + "/")}},
              .then = {EtcdPut{key, "h", lease}},
              .otherwise = {queue, EtcdGet{.range = keys_below(name + "/"), .by_creation = true}}}};
}

TEST_CASE("etcd: a lease and a claim travel in one write, and so does the same once more") {
  EtcdClient one = etcd_client(shared_etcd().url());
  const EtcdLease lease = new_etcd_lease();
  const Time before = BootClock::now();
  const auto first = done(one, claim("claim", lease));
  CHECK(one.sent_at() > before);
  CHECK(one.sent_at() < BootClock::now());
  CHECK(first[0].ttl == 60s);
  CHECK_FALSE(first[0].existed);
  CHECK(first[1].succeeded);
  CHECK(first[1].parts.size() == 1);
  CHECK(first[1].revision > first[0].revision);

  const auto again = done(one, claim("claim", lease));
  CHECK(again[0].existed);
  CHECK_FALSE(again[1].succeeded);
  CHECK_FALSE(again[1].parts[0].succeeded);
  const auto& keys = again[1].parts[1].keys;
  REQUIRE(keys.size() == 1);
  CHECK(keys[0].key == "claim/" + lease_digits(lease));
  CHECK(keys[0].value == "h");
  CHECK(keys[0].created == first[1].revision);
  CHECK(keys[0].modified == first[1].revision);
  CHECK(keys[0].lease == lease);
  CHECK(again[1].revision == first[1].revision);

  EtcdClient other = etcd_client(shared_etcd().url());
  const EtcdLease second = new_etcd_lease();
  const auto queued = done(other, claim("claim", second));
  CHECK_FALSE(queued[1].succeeded);
  CHECK(queued[1].parts[0].succeeded);
  REQUIRE(queued[1].parts[1].keys.size() == 2);
  CHECK(queued[1].parts[1].keys[1].value == "w");
  CHECK(queued[1].parts[1].keys[1].created == queued[1].revision);
}

TEST_CASE("etcd: a URL of Redis at its port is told at the second try that it speaks HTTP") {
  const std::string etcd_url = shared_etcd().url();
  RedisClient wrong = test::client_of("redis" + etcd_url.substr(etcd_url.find("://")));
  CHECK_FALSE(wrong.call({"PING"}, ample()).has_value());  // an answer that was lost, perhaps
  const auto answer = wrong.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::protocol);
  CHECK(answer.error().text == wrong.where() + " speaks HTTP, as etcd does; is it etcd:// ?");
}

TEST_CASE("etcd: a compare that fails changes nothing") {
  EtcdClient one = etcd_client(shared_etcd().url());
  const EtcdLease lease = new_etcd_lease();
  const auto made = done(one, {EtcdGrant{lease, 60s}, put("cmp", "1", lease)});
  const auto guarded = [&](const EtcdCompare& compare) {
    return EtcdTxn{.compares = {compare},
                   .then = {EtcdPut{"cmp", "2", lease}},
                   .otherwise = {EtcdGet{{"cmp"}}}};
  };
  const EtcdRevision revision = made[1].revision;
  const auto refused =
      done(one,
           {guarded({.range = {"cmp"}, .number = Number::created, .than = 0}),
            guarded({.range = {"cmp"}, .number = Number::modified, .than = revision - 1}),
            guarded({.range = {"cmp"}, .number = Number::lease, .than = lease - 1}),
            guarded({.range = {"no cmp"}, .number = Number::modified, .than = revision}),
            guarded({.range = {"cmp"},
                     .number = Number::created,
                     .relation = EtcdCompare::Relation::less,
                     .than = revision})});
  for (const EtcdAnswer& answer : refused) {
    CHECK_FALSE(answer.succeeded);
    REQUIRE(answer.parts[0].keys.size() == 1);
    CHECK(answer.parts[0].keys[0].value == "1");
  }
  const auto taken =
      done(one,
           {EtcdTxn{.compares = {{.range = {"cmp"}, .number = Number::modified, .than = revision},
                                 {.range = {"cmp"}, .number = Number::lease, .than = lease}},
                    .then = {EtcdDelete{{"cmp"}}, EtcdPut{"done", "", 0}}},
            EtcdGet{{"cmp"}}});
  CHECK(taken[0].succeeded);
  CHECK(taken[0].parts[0].count == 1);
  CHECK(taken[1].keys.empty());
}

TEST_CASE("etcd: keys and values are any bytes, in the order that is asked for") {
  EtcdClient one = etcd_client(shared_etcd().url());
  const std::string bytes("\0\xff\n\"", 4);
  done(one, {put("any/b" + bytes, bytes), put("any/a", "2"), put("any/c", "3"), put("anz", "4")});
  const auto all = done(one,
                        {EtcdGet{.range = keys_below("any/"), .by_creation = true},
                         EtcdGet{.range = keys_below("any/"), .keys_only = true, .most = 2}});
  REQUIRE(all[0].keys.size() == 3);
  CHECK(all[0].keys[0].key == "any/b" + bytes);
  CHECK(all[0].keys[0].value == bytes);
  CHECK(all[0].keys[2].key == "any/c");
  REQUIRE(all[1].keys.size() == 2);
  CHECK(all[1].count == 3);
  CHECK(all[1].keys[0].key == "any/a");
  CHECK(all[1].keys[0].value.empty());
}

TEST_CASE("etcd: a lease is kept alive, and revoked with its keys") {
  EtcdClient one = etcd_client(shared_etcd().url());
  const EtcdLease lease = new_etcd_lease();
  const auto kept = done(
      one,
      {EtcdGrant{lease, 4500ms}, put("kept", "1", lease), EtcdKeepAlive{lease}, EtcdGet{{"kept"}}});
  CHECK(kept[0].ttl == 5s);
  CHECK(kept[2].ttl == 5s);
  CHECK(kept[3].keys.size() == 1);
  const auto gone =
      done(one, {EtcdRevoke{lease}, EtcdKeepAlive{lease}, EtcdGet{{"kept"}}, EtcdRevoke{lease}});
  CHECK(gone[1].ttl == 0s);
  CHECK(gone[2].keys.empty());
}

TEST_CASE("etcd: a request that is refused is named, and those before it are carried out") {
  EtcdClient one = etcd_client(shared_etcd().url());
  const EtcdLease missing = new_etcd_lease();
  const Error error = failed(one, {put("before", "1"), put("with", "1", missing)});
  CHECK(error.code == Errc::refused);
  CHECK(error.text == one.where() + " says: etcdserver: requested lease not found");
  CHECK(one.failure().refused);
  CHECK(one.failure().request == 1);
  CHECK(one.failure().grpc == grpc_code::k_not_found);
  CHECK_FALSE(one.failure().repeat);
  CHECK(one.connected());
  CHECK(value_of(one, "before") == "1");
  CHECK(value_of(one, "with") == "none");
  CHECK_FALSE(one.failure().refused);

  EtcdTxn twice = put("twice");
  twice.then.push_back(EtcdPut{"twice"});
  CHECK(failed(one, {twice}).code == Errc::refused);
}

TEST_CASE("etcd: many and large answers arrive in their order") {
  EtcdClient one = etcd_client(shared_etcd().url());
  const std::string large(20'000, 'x');
  std::vector<EtcdRequest> requests;
  for (int i = 0; i < 20; ++i) {
    requests.emplace_back(put("many", large + std::to_string(i)));
    requests.emplace_back(EtcdGet{{"many"}});
  }
  const auto answers = done(one, requests);
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(answers[2 * i + 1].keys[0].value == large + std::to_string(i));
  const std::string larger(1'000'000, 'x');
  done(one, {put("many", larger)});
  CHECK(value_of(one, "many") == larger);
  CHECK(done(one, {EtcdStatus{}})[0].version.starts_with("3."));
}

TEST_CASE("etcd: a limit and an interrupt end a run, and its late answer is never taken") {
  const auto server = etcd();
  const WakeUp interrupt;
  EtcdClient one = etcd_client(server->url(), &interrupt);
  done(one, {put("late", "1")});
  server->freeze();
  const Time before = BootClock::now();
  const Error late = failed(one, {put("late", "2"), EtcdGet{{"late"}}}, soon());
  CHECK(late.code == Errc::timed_out);
  CHECK(has(late.text, "no answer from " + one.where() + " within"));
  CHECK(BootClock::now() < before + 5s);
  CHECK_FALSE(one.connected());
  CHECK_FALSE(one.failure().refused);
  server->thaw();
  CHECK(done(one, {EtcdGet{{"other"}}})[0].keys.empty());

  server->freeze();
  CHECK(failed(one, {EtcdGet{{"late"}}}, BootClock::now() - 1s).code == Errc::timed_out);
  std::thread raiser([&] {
    ::poll(nullptr, 0, 50);
    interrupt.raise();
  });
  const Error ended = failed(one, {EtcdGet{{"late"}}});
  raiser.join();
  server->thaw();
  CHECK(ended.code == Errc::cancelled);
  CHECK(ended.text == "stopped waiting for " + one.where());
  interrupt.clear();
  CHECK(value_of(one, "other") == "none");
}

TEST_CASE("etcd: a server that has gone, one that is back, and the next in line") {
  const auto server = etcd();
  EtcdClient one = etcd_client(server->url());
  done(one, {put("kept", "1")});
  server->kill();
  const Error gone = failed(one, {EtcdGet{{"kept"}}});
  CHECK(gone.code == Errc::not_listening);
  CHECK(gone.text == "cannot reach " + one.where() + ": connection refused");
  REQUIRE(server->restart().has_value());
  CHECK(value_of(one, "kept") == "1");
  server->kill();
  REQUIRE(server->restart().has_value());
  CHECK(value_of(one, "kept") == "1");  // its connection had ended while it was idle

  const test::DeafPort deaf;
  const std::string first = "127.0.0.1:" + std::to_string(deaf.port);
  EtcdClient two = etcd_client("etcd://" + first + "," + server->url().substr(7));
  CHECK(value_of(two, "kept") == "1");
  CHECK(two.where() == server->url());
  EtcdClient none = etcd_client("etcd://" + first + ",no-such-host.invalid:1");
  const Error error = failed(none, {EtcdGet{{"kept"}}}, BootClock::now() + 2s);
  CHECK(has(error.text,
            "cannot reach etcd://" + first + ",no-such-host.invalid:1: " + first +
                ": connection refused; no-such-host.invalid:1: "));
}

TEST_CASE("etcd: a login by password, a right that is missing, and a token that ends") {
  const auto server = etcd();
  EtcdClient early = etcd_client(server->url("ann:s3cret@"));
  done(early, {put("ann/k", "1")});  // it demands no login yet
  REQUIRE(server->demand_login().has_value());
  CHECK(value_of(early, "ann/k") == "1");

  EtcdClient nameless = etcd_client(server->url());
  const Error silent = failed(nameless, {EtcdGet{{"ann/k"}}});
  CHECK(silent.code == Errc::denied);
  CHECK(has(silent.text, "set DLOCK_PASSWORD"));
  for (const char* const user : {"ann:wr0ng@", "eve:s3cret@", "ann@"}) {
    EtcdClient wrong = etcd_client(server->url(user));
    const Error error = failed(wrong, {EtcdGet{{"ann/k"}}});
    CHECK(error.code == Errc::denied);
    CHECK(has(error.text, "authentication failed"));
    CHECK_FALSE(has(error.text, "wr0ng"));
    CHECK_FALSE(has(error.text, "s3cret"));
  }

  EtcdClient ann = etcd_client(server->url("ann:s3cret@"));
  CHECK(value_of(ann, "ann/k") == "1");
  const Error denied = failed(ann, {put("ann/k", "2"), put("bob/k", "2")});
  CHECK(denied.code == Errc::denied);
  CHECK(
      denied.text ==
      ann.where() +
          " says: etcdserver: permission denied (the role needs readwrite on the keys NAME/ of the "
          "lock, as a prefix)");
  CHECK(ann.failure().request == 1);
  CHECK(value_of(ann, "ann/k") == "2");

  // Its tokens end with the member; only what was refused is sent again.
  server->kill();
  REQUIRE(server->restart().has_value());
  const EtcdLease lease = new_etcd_lease();
  const auto again = done(
      ann,
      {EtcdGrant{lease, 60s}, put("ann/k", "3", lease), EtcdKeepAlive{lease}, EtcdGet{{"ann/k"}}});
  CHECK_FALSE(again[0].existed);
  CHECK(again[3].keys[0].value == "3");
}

TEST_CASE("etcd: a server without its gateway is told so") {
  const auto server = etcd({.gateway = false});
  EtcdClient one = etcd_client(server->url());
  const Error error = failed(one, {EtcdGet{{"k"}}});
  CHECK(error.code == Errc::bad_config);
  CHECK(has(error.text, one.where() + " says: HTTP status 404 (its JSON gateway is off"));
}

TEST_CASE("etcd: TLS is verified, and a server that expects it is recognised") {
  const auto server = etcd({.tls = true});
  TlsSettings trusting;
  trusting.cacert = server->certificate();
  EtcdClient one = etcd_client(server->url(), nullptr, trusting);
  CHECK(value_of(one, "k") == "none");
  const auto stranger = etcd({.tls = true});
  EtcdClient two =
      etcd_client(stranger->url() + server->url().replace(0, 8, ","), nullptr, trusting);
  CHECK(value_of(two, "k") == "none");  // the second member's answer
  EtcdClient distrusting = etcd_client(server->url());
  CHECK(failed(distrusting, {EtcdGet{{"k"}}}).code == Errc::protocol);
  EtcdClient plain = etcd_client("etcd" + server->url().substr(5));
  CHECK(failed(plain, {EtcdGet{{"k"}}}).code == Errc::unavailable);
  const Error error = failed(plain, {EtcdGet{{"k"}}});
  CHECK(error.code == Errc::protocol);
  CHECK(error.text == plain.where() + " expects TLS; is it etcds:// ?");
  EtcdClient sealed = etcd_client("etcds" + shared_etcd().url().substr(4));
  CHECK(has(failed(sealed, {EtcdGet{{"k"}}}).text, "is it etcd:// ?"));
}

}  // namespace
}  // namespace dlock
