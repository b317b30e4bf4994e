// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

#include "store/open_store.hpp"
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

template <class T>
T value_of(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().text));
  return std::move(*result);
}

// The server ends with the last copy of the pointer.
template <class Server>
std::shared_ptr<Server> running(Result<std::unique_ptr<Server>> started) {
  return value_of(std::move(started));
}

StoreOptions options_of(const std::string& url, const Interrupt* interrupt = nullptr) {
  return {.url = url, .prefix = "dlock:", .password = {}, .interrupt = interrupt};
}

// Each client keeps `place` alive.
Open at(std::shared_ptr<void> place, const std::string& url) {
  return [place, url](const Interrupt* interrupt) {
    return value_of(open_store(options_of(url, interrupt)));
  };
}

Open memory() {
  return [server = std::make_shared<MemoryServer>()](const Interrupt* interrupt) {
    return std::make_unique<MemoryStore>(server, interrupt);
  };
}

Open local() {
  const auto directory = std::make_shared<test::TempDir>();
  return at(directory, "local://" + directory->path());
}

Open sqlite() {
  const auto directory = std::make_shared<test::TempDir>();
  return at(directory, "sqlite://" + directory->path() + "/locks");
}

Open redis() {
  const auto server = running(test::RedisProcess::start());
  return at(server, server->url());
}

// Three servers of Redis, each with one vote.
Open quorum() {
  std::vector<std::shared_ptr<test::RedisProcess>> servers;
  std::vector<StoreOptions> all;
  for (int i = 0; i < 3; ++i) {
    servers.push_back(running(test::RedisProcess::start()));
    all.push_back(options_of(servers.back()->url()));
  }
  return [servers, all](const Interrupt* interrupt) {
    return value_of(open_quorum(all, 0s, interrupt));
  };
}

Open postgres() {
  const auto server = running(test::PostgresProcess::create());
  return at(server, server->socket_url());
}

Open mysql() {
  const auto server = running(test::MysqlProcess::start());
  return at(server, server->url());
}

Open etcd() {
  const auto server = running(test::EtcdProcess::start({}));
  return at(server, server->url());
}

Open zookeeper() {
  const auto server =
      running(test::ZookeeperProcess::create("maxSessionTimeout=600000\nmaxClientCnxns=0"));
  return at(server, server->url() + "/locks");
}

// Checks that there is one hold for each name of the claim, in order, or one hold if one name is
// enough, and returns the holds.
Taken taken_by(const Claim& claim, const Grant& grant) {
  REQUIRE(grant.holds.size() == (claim.one_from ? 1 : claim.names.size()));
  for (std::size_t i = 0; i < grant.holds.size(); ++i) {
    if (!claim.one_from) REQUIRE(grant.holds[i].name == claim.names[i]);
    // A quorum uses a new serial in each round, the same for all holds.
    REQUIRE(grant.holds[i].serial == grant.holds.front().serial);
  }
  return {.hold = grant.holds.front(), .holds = grant.holds, .sent_at = grant.sent_at};
}

// Returns whether this run tries the store: with DLOCK_CONTRACT it tries only the stores of one
// part, or one store by its name. Parts can run in parallel to save time.
bool wanted(const Store& store) {
  const char* const word = std::getenv("DLOCK_CONTRACT");
  const std::string part = word != nullptr ? word : "";
  return part.empty() || part == store.part || part == store.name;
}

// Returns which server of the store is not installed; "" if all are.
std::string lacking(const Store& store) {
  for (const test::Installable& one : store.needs)
    if (std::string text = test::missing(one); !text.empty()) return text;
  return {};
}

}  // namespace

const std::vector<Store>& stores() {
  static const std::vector<Store> all{
      {.name = "memory", .start = &memory, .across_processes = false},
      {.name = "local", .start = &local},
      {.name = "sqlite", .start = &sqlite},
      {.name = "redis", .start = &redis, .hears_death = true, .needs = {test::k_redis}},
      {.name = "quorum", .start = &quorum, .hears_death = true, .needs = {test::k_redis}},
      {.name = "postgres", .start = &postgres, .part = "databases", .needs = {test::k_postgres}},
      {.name = "mysql", .start = &mysql, .part = "databases", .needs = {test::k_mariadb}},
      {.name = "etcd", .start = &etcd, .part = "coordinators", .needs = {test::k_etcd}},
      {.name = "zookeeper",
       .start = &zookeeper,
       .part = "coordinators",
       .needs = {test::k_zookeeper, test::k_java}}};
  return all;
}

const std::vector<Backing>& backings() {
  static const std::vector<Backing> chosen = [] {
    std::vector<Backing> backings;
    for (const Store& store : stores()) {
      if (!wanted(store)) continue;
      if (const std::string text = lacking(store); !text.empty()) {
        FAIL_CHECK(text);  // one test fails, and every test runs on the other stores
        continue;
      }
      backings.push_back({.name = store.name,
                          .across_processes = store.across_processes,
                          .hears_death = store.hears_death,
                          .open = store.start()});
    }
    return backings;
  }();
  return chosen;
}

std::string missing_servers() {
  std::string all;
  for (const Store& store : stores()) {
    if (!wanted(store)) continue;
    const std::string text = lacking(store);
    if (text.empty()) return {};
    if (all.find(text) == std::string::npos) all += (all.empty() ? "" : ", ") + text;
  }
  return all;
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
