// SPDX-License-Identifier: MIT
// The contract suite tries every promise of core/lock_store.hpp on every store. A store joins by
// one row of stores() in lock_store_contract.cpp. A case runs its body once for each backing; each
// failure names the store.
//
// Leases are long (30 s) unless a case is about their end; every wait is bounded by 10 s. A case
// fails if a call made through Client returns an error.
#pragma once

#include "core/lock_store.hpp"
#include "core/names.hpp"
#include "sys/interrupt.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/installed.hpp"

namespace dlock::contract {

using namespace std::chrono_literals;

// Opens one more client of the same locks.
using Open = std::function<std::unique_ptr<LockStore>(const Interrupt*)>;

struct Backing {
  std::string name;
  bool across_processes = true;  // a forked process reaches the same locks
  bool hears_death = false;      // the store notices the death of a waiter: it gets no turn
  Open open;
};

struct Store {
  std::string name;
  Open (*start)();
  std::string part = "others";  // of the suite; several parts can run in parallel
  bool across_processes = true;
  bool hears_death = false;
  std::vector<test::Installable> needs = {};
};
const std::vector<Store>& stores();

// Returns which servers are missing if this run can try no store at all; otherwise "".
std::string missing_servers();

// Returns the backings of this run, started.
const std::vector<Backing>& backings();

using Body = std::function<void(const Backing&)>;
void each_store(const Body& body);
// Runs the body once for each store that has the trait; traits_test.cpp shows the answers of the
// others.
void each_store_with(bool StoreTraits::*trait, const Body& body);

// Returns whether the store has slots; a quorum has no slots.
bool has_slots(const Backing& backing);

constexpr std::array<Mode, 3> k_alone_or_shared{Mode::plain, Mode::exclusive, Mode::shared};

// Returns the limit for a bounded call of the suite.
Time soon();

// Returns a name that no other case uses.
LockName fresh_name(const std::string& text = "lock");
LockName name_of(const std::string& text);

HolderInfo some_holder();
Claim claim_of(const LockName& name, Duration ttl = 30s);

// Returns the claim of a run whose ancestor has `hold`.
Claim claim_below(const Hold& hold, Duration ttl = 30s);
AncestorHold ancestor_of(const Hold& hold);

// Returns one claim of several names.
Claim claim_of(std::vector<LockName> names, Duration ttl = 30s);
Claim claim_as(Mode mode, const LockName& name, Duration ttl = 30s);
Claim claim_slot(std::uint32_t slots, const LockName& name, Duration ttl = 30s);
inline Claim reader(const LockName& name, Duration ttl = 30s) {
  return claim_as(Mode::shared, name, ttl);
}
inline Claim writer(const LockName& name, Duration ttl = 30s) {
  return claim_as(Mode::exclusive, name, ttl);
}

RevokeOrder order(bool now = false);

// Returns the remaining lease of one of several owners.
Duration lease_of(const Holding& holding, const OwnerId& owner);

// Returns the claim as made by a run whose ancestor has `hold`.
Claim below(const Hold& hold, Claim claim);

struct Taken {
  Hold hold;    // hold of the first name
  Holds holds;  // holds of all names
  Time sent_at;
};

// A client whose calls must succeed.
class Client {
 public:
  explicit Client(const Backing& backing, const Interrupt* interrupt = nullptr)
      : store_(backing.open(interrupt)) {}

  LockStore& store() { return *store_; }
  // From now on, refused claims of this client wait in line.
  void wait_in_line(Queueing how = Queueing::listening) { queueing_ = how; }
  AcquireReply acquire(Claim claim);
  Result<AcquireReply> try_acquire(Claim claim);  // the one call that may fail
  Taken take(const Claim& claim);                 // must be granted
  Taken take(const LockName& name, Duration ttl = 30s) { return take(claim_of(name, ttl)); }
  Refusal must_be_busy(const Claim& claim);
  void must_be_lost(const Claim& claim);
  Duration must_be_done(const Claim& claim);
  RenewReply renew(const Holds& holds);
  RenewReply renew(const Hold& hold) { return renew(Holds{hold}); }
  ReleaseVerdict release(const Holds& holds, const ReleaseOptions& options = {});
  ReleaseVerdict release(const Hold& hold, const ReleaseOptions& options = {}) {
    return release(Holds{hold}, options);
  }
  Holding inspect(const LockName& name);
  RevokeReply revoke(const LockName& name, const RevokeOrder& order);
  std::vector<std::string> list(const std::string& glob);
  RenewReply check(const Holds& holds);
  RenewReply check(const Hold& hold) { return check(Holds{hold}); }
  void leave(const Claim& claim);
  void undo(const Claim& claim);
  void watch(const LockName& name);
  void watch(const Claim& claim, bool front = true);
  void watch_hold(const Holds& holds);
  void watch_hold(const Hold& hold) { watch_hold(Holds{hold}); }
  HandOff await_hand_off(Time until);

  // Repeats the claim until the lease in the way is over.
  Taken take_eventually(const Claim& claim);

 private:
  std::unique_ptr<LockStore> store_;
  Queueing queueing_ = Queueing::no;
};

inline bool is_free(Client& client, const LockName& name) {
  return client.inspect(name).kind == Holding::Kind::none;
}

// Repeats `claim` until it returns true; returns false after 10 s.
bool eventually(const std::function<bool()>& claim);

}  // namespace dlock::contract
