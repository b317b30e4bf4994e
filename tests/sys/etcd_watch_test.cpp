// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_watch.hpp"

#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/etcd_clients.hpp"
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

void begin(EtcdWatch& watch, const std::vector<EtcdRange>& ranges, EtcdRevision from = 0) {
  const auto opened = watch.open(ranges, from, ample());
  CAPTURE((opened ? "" : opened.error().text));
  REQUIRE(opened.has_value());
}

EtcdEvent next(EtcdWatch& watch) {
  const auto event = watch.await_event(ample());
  CAPTURE((event ? "" : event.error().text));
  REQUIRE(event.has_value());
  REQUIRE(event->has_value());
  return **event;
}

bool silent(EtcdWatch& watch) {
  const auto event = watch.await_event(soon());
  CAPTURE((event ? "" : event.error().text));
  REQUIRE(event.has_value());
  return !event->has_value();
}

Error end_of(EtcdWatch& watch, Time limit) {
  for (;;) {
    const auto event = watch.await_event(limit);
    if (!event) return event.error();
    REQUIRE(event->has_value());
  }
}

TEST_CASE("etcd watch: a key that is written, deleted, or goes with its lease") {
  EtcdClient one = etcd_client(shared_etcd().url());
  EtcdWatch watch = one.watch();
  CHECK_FALSE(watch.is_open());
  CHECK(watch.await_event(ample()).error().code == Errc::unavailable);
  const EtcdLease lease = new_etcd_lease();
  done(one, {EtcdGrant{lease, 60s}, put("seen/a", "1", lease), put("seen/b")});
  begin(watch, {{"seen/a"}, keys_below("see/")});
  CHECK(watch.is_open());
  CHECK(silent(watch));
  const auto wrote = done(one, {put("seen/a", "2", lease), put("see/c"), put("seen/b")});
  const EtcdEvent first = next(watch);
  CHECK_FALSE(first.deleted);
  CHECK(first.key.key == "seen/a");
  CHECK(first.key.value == "2");
  CHECK(first.key.lease == lease);
  CHECK(first.key.modified == wrote[0].revision);
  CHECK(next(watch).key.key == "see/c");
  done(one, {EtcdRevoke{lease}, remove("see/c"), remove("seen/b")});
  const EtcdEvent second = next(watch);
  CHECK(second.deleted);
  CHECK(second.key.key == "seen/a");
  CHECK(second.key.modified == wrote[2].revision + 1);
  CHECK(next(watch).deleted);
  CHECK(silent(watch));
}

TEST_CASE("etcd watch: nothing is missed from the revision on that it begins with") {
  EtcdClient one = etcd_client(shared_etcd().url());
  EtcdWatch watch = one.watch();
  const auto wrote = done(one, {put("old", "1"), put("old", "2"), put("old", "3"), remove("old")});
  begin(watch, {{"old"}}, wrote[1].revision);
  CHECK(next(watch).key.value == "2");
  CHECK(next(watch).key.value == "3");
  CHECK(next(watch).deleted);
  CHECK(silent(watch));
  // Another in its place.
  begin(watch, {{"old"}}, wrote[3].revision);
  CHECK(next(watch).deleted);
  CHECK(silent(watch));
}

TEST_CASE("etcd watch: an interrupt ends a call and not the watch") {
  const WakeUp interrupt;
  EtcdClient one = etcd_client(shared_etcd().url(), &interrupt);
  EtcdClient other = etcd_client(shared_etcd().url());
  EtcdWatch watch = one.watch();
  begin(watch, {{"interrupted"}});
  interrupt.raise();
  CHECK(watch.await_event(ample()).error().code == Errc::cancelled);
  CHECK(watch.is_open());
  interrupt.clear();
  done(other, {put("interrupted", "1")});
  CHECK(next(watch).key.value == "1");
}

TEST_CASE("etcd watch: what the server cannot tell any more, and what it may not tell") {
  const auto server = etcd();
  EtcdClient one = etcd_client(server->url("ann:s3cret@"));
  const auto wrote = done(one, {put("ann/k", "1"), put("ann/k", "2"), put("ann/k", "3")});
  REQUIRE(server->etcdctl({"compact", std::to_string(wrote[1].revision)}).has_value());
  EtcdWatch watch = one.watch();
  const auto late = watch.open({{"ann/k"}}, wrote[0].revision, ample());
  const Error compacted = late ? end_of(watch, ample()) : late.error();
  CHECK(compacted.code == Errc::unavailable);
  CHECK(has(compacted.text, one.where() + " says: the revisions before "));
  CHECK_FALSE(watch.is_open());

  REQUIRE(server->demand_login().has_value());
  begin(watch, {keys_below("ann/")});
  const auto forbidden = watch.open({{"bob/k"}}, 0, ample());
  REQUIRE_FALSE(forbidden.has_value());
  CHECK(forbidden.error().code == Errc::denied);
  CHECK(
      forbidden.error().text ==
      one.where() +
          " says: etcdserver: permission denied (the role needs readwrite on the keys NAME/ of the "
          "lock, as a prefix)");
  EtcdClient nameless = etcd_client(server->url());
  CHECK(nameless.watch().open({{"ann/k"}}, 0, ample()).error().code == Errc::denied);

  // The token that both have ends with the server.
  begin(watch, {keys_below("ann/")});
  server->kill();
  CHECK(end_of(watch, ample()).code == Errc::unavailable);
  CHECK_FALSE(watch.is_open());
  CHECK(watch.open({{"ann/k"}}, 0, ample()).error().code == Errc::not_listening);
  REQUIRE(server->restart().has_value());
  begin(watch, {keys_below("ann/")});
  done(one, {put("ann/k", "4")});
  CHECK(next(watch).key.value == "4");
}

// Makes a call, and repeats it: it may be lost while the members find each other.
std::vector<EtcdAnswer> tried(EtcdClient& client, const std::vector<EtcdRequest>& requests) {
  for (const Time limit = ample(); BootClock::now() < limit; ::poll(nullptr, 0, 20))
    if (auto answers = client.run(requests, BootClock::now() + 300ms)) return std::move(*answers);
  REQUIRE(false);
  return {};
}

// Two of three members are frozen for a while.
TEST_CASE("etcd: a member without the others answers nothing, and says so to a watch") {
  const auto server = etcd({.members = 3});
  EtcdClient one = etcd_client(server->url_of(0));
  EtcdWatch watch = one.watch();
  const EtcdLease lease = new_etcd_lease();
  done(one, {EtcdGrant{lease, 60s}, put("k", "1", lease)});
  begin(watch, {{"k"}});
  server->freeze(1);
  server->freeze(2);
  // Whatever the keep-alive says: the read beside it is not answered.
  const std::vector<EtcdRequest> renewal{EtcdKeepAlive{lease}, EtcdGet{{"k"}}};
  const Error first = failed(one, renewal, BootClock::now() + 300ms);
  CHECK((first.code == Errc::timed_out || first.code == Errc::unavailable));
  const Error ended = end_of(watch, ample());
  CHECK(ended.code == Errc::unavailable);
  CHECK(ended.text == one.where() + " says: etcdserver: no leader");
  const Time asked = BootClock::now();
  const Error second = failed(one, renewal, BootClock::now() + 5s);
  CHECK(second.code == Errc::unavailable);
  CHECK(second.text == one.where() + " says: etcdserver: no leader");
  CHECK(one.failure().repeat);
  CHECK(BootClock::now() < asked + 1s);
  CHECK(watch.open({{"k"}}, 0, ample()).error().code == Errc::unavailable);
  server->thaw(1);
  server->thaw(2);
  const auto again = tried(one, renewal);
  CHECK(again[0].ttl == 60s);
  CHECK(again[1].keys[0].value == "1");

  // The next member is asked when one keeps silent.
  EtcdClient all = etcd_client(server->url());
  tried(all, {EtcdGet{{"k"}}});
  server->freeze(0);
  tried(all, {EtcdGet{{"k"}}});
  CHECK(all.where() != server->url_of(0));
  server->thaw(0);
}

}  // namespace
}  // namespace dlock
