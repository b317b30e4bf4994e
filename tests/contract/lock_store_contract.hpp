// SPDX-License-Identifier: MIT
// The contract suite: every promise of core/lock_store.hpp as a sentence, tried on every store.
// A store joins by one row of stores() in lock_store_contract.cpp. A case runs its body once for
// each backing; the name of the store stands beside every failure.
//
// Leases are long (30 s) unless their end is the point; every wait is bounded by 10 s. The calls
// made through Client fail the case when the store answers with an error.
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

namespace dlock::contract {

using namespace std::chrono_literals;

// Makes one more client of a place that keeps locks.
using Open = std::function<std::unique_ptr<LockStore>(const Interrupt*)>;

struct Backing {
  std::string name;
  bool across_processes = true;  // a forked process reaches the same locks
  bool hears_death = false;      // a waiter that died costs no turn
  Open open;
};

struct Store {
  std::string name;
  Open (*start)();
  std::string part = "others";  // of the suite: what runs at one time
  bool across_processes = true;
  bool hears_death = false;
};
const std::vector<Store>& stores();

// Those of this run, started.
const std::vector<Backing>& backings();

using Body = std::function<void(const Backing&)>;
void each_store(const Body& body);
// That supports it; traits_test.cpp shows what the others say.
void each_store_with(bool StoreTraits::*trait, const Body& body);

// A quorum has none.
bool has_slots(const Backing& backing);

constexpr std::array<Mode, 3> k_alone_or_shared{Mode::plain, Mode::exclusive, Mode::shared};

// When a bounded call of the suite must be over.
Time soon();

// Names no other case uses.
LockName fresh_name(const std::string& text = "lock");
LockName name_of(const std::string& text);

HolderInfo some_holder();
Claim claim_of(const LockName& name, Duration ttl = 30s);

// A claim of a process below `hold`.
Claim claim_below(const Hold& hold, Duration ttl = 30s);
AncestorHold ancestor_of(const Hold& hold);

// Several names by one claim.
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

// What an owner beside others has left.
Duration lease_of(const Holding& holding, const OwnerId& owner);

// The claim as one of a process below `hold`.
Claim below(const Hold& hold, Claim claim);

struct Taken {
  Hold hold;    // of the first name
  Holds holds;  // of all
  Time sent_at;
};

// A client whose calls must succeed.
class Client {
 public:
  explicit Client(const Backing& backing, const Interrupt* interrupt = nullptr)
      : store_(backing.open(interrupt)) {}

  LockStore& store() { return *store_; }
  // From now on its claims that are refused wait in line.
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

  // Tries until the lease in the way is over.
  Taken take_eventually(const Claim& claim);

 private:
  std::unique_ptr<LockStore> store_;
  Queueing queueing_ = Queueing::no;
};

inline bool is_free(Client& client, const LockName& name) {
  return client.inspect(name).kind == Holding::Kind::none;
}

// Asks again until it says yes; false after 10 s.
bool eventually(const std::function<bool()>& claim);

}  // namespace dlock::contract
