// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

#include "store/local/local_store.hpp"
#include "store/open_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/undo.hpp"

#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <utility>
#include <variant>

#include "support/etcd_process.hpp"
#include "support/memory_store.hpp"
#include "support/mysql_process.hpp"
#include "support/postgres_process.hpp"
#include "support/redis_process.hpp"
#include "support/temp_dir.hpp"
#include "support/zookeeper_process.hpp"

namespace dlock::contract {

namespace {

Backing memory_backing() {
  auto server = std::make_shared<MemoryServer>();
  return {.name = "memory",
          .across_processes = false,
          .open = [server](const Interrupt* interrupt) -> std::unique_ptr<LockStore> {
            return std::make_unique<MemoryStore>(server, interrupt);
          }};
}

Backing local_backing() {
  auto directory = std::make_shared<test::TempDir>();
  return {.name = "local", .open = [directory](const Interrupt* interrupt) {
            auto store = LocalStore::open("local://" + directory->path(), interrupt);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

Backing sqlite_backing() {
  auto directory = std::make_shared<test::TempDir>();
  return {.name = "sqlite", .open = [directory](const Interrupt* interrupt) {
            auto store = SqliteStore::open("sqlite://" + directory->path() + "/locks", interrupt);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

// The process is gone with the last client of it.
Backing postgres_backing() {
  auto started = test::PostgresProcess::create();
  REQUIRE_MESSAGE(started.has_value(), (started ? "" : started.error().text));
  std::shared_ptr<test::PostgresProcess> server(std::move(*started));
  return {.name = "postgres", .open = [server](const Interrupt* interrupt) {
            StoreOptions options;
            options.url = server->socket_url();
            options.interrupt = interrupt;
            auto store = open_store(options);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

Backing mysql_backing() {
  auto started = test::MysqlProcess::start();
  REQUIRE_MESSAGE(started.has_value(), (started ? "" : started.error().text));
  std::shared_ptr<test::MysqlProcess> server(std::move(*started));
  return {.name = "mysql", .open = [server](const Interrupt* interrupt) {
            StoreOptions options;
            options.url = server->url();
            options.interrupt = interrupt;
            auto store = open_store(options);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

Backing etcd_backing() {
  auto started = test::EtcdProcess::start({});
  REQUIRE_MESSAGE(started.has_value(), (started ? "" : started.error().text));
  std::shared_ptr<test::EtcdProcess> server(std::move(*started));
  return {.name = "etcd", .open = [server](const Interrupt* interrupt) {
            StoreOptions options;
            options.url = server->url();
            options.interrupt = interrupt;
            auto store = open_store(options);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

Backing zookeeper_backing() {
  auto started = test::ZookeeperProcess::create("maxSessionTimeout=600000\nmaxClientCnxns=0");
  REQUIRE_MESSAGE(started.has_value(), (started ? "" : started.error().text));
  std::shared_ptr<test::ZookeeperProcess> server(std::move(*started));
  return {.name = "zookeeper", .open = [server](const Interrupt* interrupt) {
            StoreOptions options;
            options.url = server->url() + "/locks";
            options.interrupt = interrupt;
            auto store = open_store(options);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

Backing redis_backing() {
  auto started = test::RedisProcess::start();
  REQUIRE_MESSAGE(started.has_value(), (started ? "" : started.error().text));
  std::shared_ptr<test::RedisProcess> server(std::move(*started));
  return {.name = "redis", .hears_death = true, .open = [server](const Interrupt* interrupt) {
            StoreOptions options;
            options.url = server->url();
            options.prefix = "dlock:";
            options.interrupt = interrupt;
            auto store = open_store(options);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

// Three servers of Redis, each with one vote.
Backing quorum_backing() {
  auto servers = std::make_shared<std::vector<std::unique_ptr<test::RedisProcess>>>();
  for (int i = 0; i < 3; ++i) {
    auto started = test::RedisProcess::start();
    REQUIRE_MESSAGE(started.has_value(), (started ? "" : started.error().text));
    servers->push_back(std::move(*started));
  }
  return {.name = "quorum", .hears_death = true, .open = [servers](const Interrupt* interrupt) {
            std::vector<StoreOptions> all;
            for (const auto& server : *servers) {
              StoreOptions& options = all.emplace_back();
              options.url = server->url();
              options.prefix = "dlock:";
            }
            auto store = open_quorum(all, 0s, interrupt);
            REQUIRE_MESSAGE(store.has_value(), (store ? "" : store.error().text));
            return std::move(*store);
          }};
}

// One hold for each name of the claim, in its order.
Taken taken_by(const Claim& claim, const Grant& grant) {
  REQUIRE(grant.holds.size() == claim.names.size());
  for (std::size_t i = 0; i < grant.holds.size(); ++i) {
    REQUIRE(grant.holds[i].name == claim.names[i]);
    REQUIRE(grant.holds[i].serial == grant.holds.front().serial);  // a quorum has one each round
  }
  return {.hold = grant.holds.front(), .holds = grant.holds, .sent_at = grant.sent_at};
}

template <class T>
T value_of(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().text));
  return std::move(*result);
}

}  // namespace

const std::vector<Store>& stores() {
  static const std::vector<Store> all{{"memory", &memory_backing},
                                      {"local", &local_backing},
                                      {"sqlite", &sqlite_backing},
                                      {"redis", &redis_backing},
                                      {"quorum", &quorum_backing},
                                      {"postgres", &postgres_backing, "databases"},
                                      {"mysql", &mysql_backing, "databases"},
                                      {"etcd", &etcd_backing, "coordinators"},
                                      {"zookeeper", &zookeeper_backing, "coordinators"}};
  return all;
}

// All stores, but with DLOCK_CONTRACT only those of this part, or the one of this name: some runs
// at once take less time.
const std::vector<Backing>& backings() {
  static const std::vector<Backing> chosen = [] {
    const char* const word = std::getenv("DLOCK_CONTRACT");
    const std::string part = word != nullptr ? word : "";
    std::vector<Backing> backings;
    for (const Store& store : stores()) {
      if (part.empty() || part == store.part || part == store.name)
        backings.push_back(store.start());
    }
    return backings;
  }();
  return chosen;
}

void each_store(const Body& body) {
  for (const Backing& backing : backings()) {
    INFO("store: ", backing.name);
    body(backing);
  }
}

void each_store_with(bool StoreTraits::*trait, const Body& body) {
  each_store([&](const Backing& backing) {
    if (backing.open(nullptr)->traits().*trait) body(backing);
  });
}

bool has_slots(const Backing& backing) {
  return backing.open(nullptr)->traits().slots;
}

Time soon() {
  return BootClock::now() + 10s;
}

LockName name_of(const std::string& text) {
  return value_of(LockName::parse(text));
}

LockName fresh_name(const std::string& text) {
  static std::atomic<int> count{0};
  return name_of(text + '-' + std::to_string(++count));
}

HolderInfo some_holder() {
  return {
      .host = "db1", .pid = 4711, .user = "alice", .command = "./job.sh --all", .reason = "CI 7"};
}

Claim claim_of(std::vector<LockName> names, Duration ttl) {
  return {.names = std::move(names),
          .owner = make_owner_id(4711),
          .serial = make_hold_serial(),
          .ttl = ttl,
          .who = some_holder(),
          .ancestors = {}};
}

Claim claim_of(const LockName& name, Duration ttl) {
  return claim_of(std::vector{name}, ttl);
}

Claim claim_as(Mode mode, const LockName& name, Duration ttl) {
  Claim claim = claim_of(name, ttl);
  claim.mode = mode;
  return claim;
}

Claim claim_slot(std::uint32_t slots, const LockName& name, Duration ttl) {
  Claim claim = claim_as(Mode::slots, name, ttl);
  claim.slots = slots;
  return claim;
}

RevokeOrder order(bool now) {
  return {.by = "bob@ops", .now = now, .if_owner = {}, .if_token = {}};
}

Duration lease_of(const Holding& holding, const OwnerId& owner) {
  for (const Holding::Owner& one : holding.owners) {
    if (one.id == owner) return one.lease_left.within().value_or(Duration::zero());
  }
  return Duration::zero();
}

AncestorHold ancestor_of(const Hold& hold) {
  // Whoever claims below it makes the store's key of the name.
  return {.store = "", .key = hold.name.text(), .owner = hold.owner, .serial = hold.serial};
}

Claim below(const Hold& hold, Claim claim) {
  claim.ancestors.push_back(ancestor_of(hold));
  return claim;
}

Claim claim_below(const Hold& hold, Duration ttl) {
  return below(hold, claim_of(hold.name, ttl));
}

Result<AcquireReply> Client::try_acquire(Claim claim) {
  for (AncestorHold& hold : claim.ancestors)
    hold.key = value_of(store_->key_of(name_of(hold.key)));
  return store_->acquire(claim, queueing_, soon());
}

AcquireReply Client::acquire(Claim claim) {
  return value_of(try_acquire(std::move(claim)));
}

void Client::must_be_lost(const Claim& claim) {
  const auto reply = try_acquire(claim);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Errc::lost);
}

Taken Client::take(const Claim& claim) {
  const AcquireReply reply = acquire(claim);
  REQUIRE(std::holds_alternative<Grant>(reply));
  return taken_by(claim, std::get<Grant>(reply));
}

Refusal Client::must_be_busy(const Claim& claim) {
  const AcquireReply reply = acquire(claim);
  REQUIRE(std::holds_alternative<Refusal>(reply));
  return std::get<Refusal>(reply);
}

Duration Client::must_be_done(const Claim& claim) {
  const AcquireReply reply = acquire(claim);
  REQUIRE(std::holds_alternative<Done>(reply));
  return std::get<Done>(reply).ago;
}

RenewReply Client::renew(const Holds& holds) {
  return value_of(store_->renew(holds, soon()));
}

ReleaseVerdict Client::release(const Holds& holds, const ReleaseOptions& options) {
  return value_of(store_->release(holds, options, soon()));
}

Holding Client::inspect(const LockName& name) {
  return value_of(store_->inspect(name, soon()));
}

RevokeReply Client::revoke(const LockName& name, const RevokeOrder& order) {
  return value_of(store_->revoke(name, order, soon()));
}

std::vector<std::string> Client::list(const std::string& glob) {
  return value_of(store_->list(glob, soon()));
}

void Client::watch(const LockName& name) {
  watch(claim_of(name));
}

void Client::watch(const Claim& claim, bool front) {
  const auto watching = store_->watch(claim, front, soon());
  REQUIRE_MESSAGE(watching.has_value(), (watching ? "" : watching.error().text));
}

void Client::watch_hold(const Holds& holds) {
  const auto watching = store_->watch_hold(holds, soon());
  REQUIRE_MESSAGE(watching.has_value(), (watching ? "" : watching.error().text));
}

RenewReply Client::check(const Holds& holds) {
  return value_of(store_->check(holds, soon()));
}

void Client::leave(const Claim& claim) {
  const auto left = store_->leave(claim, queueing_, soon());
  REQUIRE_MESSAGE(left.has_value(), (left ? "" : left.error().text));
}

void Client::undo(const Claim& claim) {
  const auto undone = dlock::undo(*store_, claim, queueing_, soon());
  REQUIRE_MESSAGE(undone.has_value(), (undone ? "" : undone.error().text));
}

HandOff Client::await_hand_off(Time until) {
  return value_of(store_->await_hand_off(until));
}

Taken Client::take_eventually(const Claim& claim) {
  std::optional<Grant> grant;
  const bool taken = eventually([&] {
    AcquireReply reply = acquire(claim);
    if (std::holds_alternative<Grant>(reply)) grant = std::get<Grant>(std::move(reply));
    return grant.has_value();
  });
  REQUIRE(taken);
  return taken_by(claim, *grant);
}

bool eventually(const std::function<bool()>& claim) {
  const Time end = soon();
  while (!claim()) {
    if (BootClock::now() >= end) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

}  // namespace dlock::contract
