// SPDX-License-Identifier: MIT
// Threads claim a name in random modes, each as a client of its own. A record beside the lock shows
// which of them hold it at the same time.
#include <poll.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

constexpr std::uint32_t k_slots = 3;

// Records which threads hold each name; keeps the first violation.
class Watchman {
 public:
  void enter(const Holds& holds) {
    const std::lock_guard guard(mutex_);
    for (const Hold& hold : holds) {
      Room& room = rooms_[hold.name.text()];
      if (hold.mode == Mode::shared) {
        expect(room.alone == 0 && room.slots.empty(), "a reader beside others");
        ++room.readers;
      } else if (hold.mode == Mode::slots) {
        expect(room.alone == 0 && room.readers == 0, "a slot beside others");
        expect(hold.slot && *hold.slot < k_slots, "a slot that there is not");
        expect(room.slots.insert(hold.slot.value_or(0)).second, "a slot given twice");
      } else {
        expect(room.alone == 0 && room.readers == 0 && room.slots.empty(), "not alone");
        ++room.alone;
      }
      expect(hold.token > room.token, "a token that did not grow");
      // The tokens of readers grow, but readers may enter in another order.
      if (hold.mode < Mode::shared) room.token = hold.token;
      ++entered_;
    }
  }

  void leave(const Holds& holds) {
    const std::lock_guard guard(mutex_);
    for (const Hold& hold : holds) {
      Room& room = rooms_[hold.name.text()];
      if (hold.mode == Mode::shared)
        --room.readers;
      else if (hold.mode == Mode::slots)
        room.slots.erase(hold.slot.value_or(0));
      else
        --room.alone;
    }
  }

  void complain(const std::string& what) {
    const std::lock_guard guard(mutex_);
    expect(false, what);
  }

  int entered() const { return entered_; }
  const std::string& complaint() const { return complaint_; }

 private:
  struct Room {
    int alone = 0;
    int readers = 0;
    std::set<std::uint32_t> slots;
    FencingToken token = 0;
  };
  void expect(bool well, const std::string& what) {
    if (!well && complaint_.empty()) complaint_ = what;
  }

  std::mutex mutex_;
  std::map<std::string, Room> rooms_;
  int entered_ = 0;
  std::string complaint_;
};

// Returns what a thread claims in one round.
using Wish = std::function<Claim(std::mt19937&)>;

// One thread: claims, and releases soon after a grant. No doctest in here.
void come_and_go(
    LockStore& store, const Wish& wish, unsigned seed, int rounds, Watchman& watchman) {
  std::mt19937 random(seed);
  const Time end = BootClock::now() + 60s;
  // A claim is repeated until it is granted: another wish would let readers crowd out the writers.
  Claim claim = wish(random);
  int cut_off = 0;
  for (int done = 0; done < rounds;) {
    const auto reply = store.acquire(claim, Queueing::no, soon());
    // ZooKeeper has closed a connection before its answer, once in some hundred thousand. Whether a
    // claim was carried out is then unknown, and it is asked again, as dlock does.
    if (!reply && reply.error().code == Errc::unavailable && ++cut_off <= 3) continue;
    if (!reply) return watchman.complain(reply.error().text);
    if (BootClock::now() > end) return watchman.complain("not through within a minute");
    const auto* grant = std::get_if<Grant>(&*reply);
    if (grant == nullptr) {
      ::poll(nullptr, 0, static_cast<int>(random() % 3));
      continue;
    }
    if (grant->holds.size() != claim.names.size()) return watchman.complain("half a grant");
    watchman.enter(grant->holds);
    ::poll(nullptr, 0, 1 + static_cast<int>(random() % 2));  // long enough to meet others
    if (random() % 4 == 0 && store.renew(grant->holds, soon())->verdict != RenewVerdict::renewed) {
      return watchman.complain("lost");
    }
    watchman.leave(grant->holds);
    const auto verdict = store.release(grant->holds, {}, soon());
    if (!verdict) return watchman.complain(verdict.error().text);
    if (*verdict != ReleaseVerdict::released) return watchman.complain("not released");
    ++done;
    claim = wish(random);
  }
}

void many_come_and_go(const Backing& backing, const Wish& wish) {
  constexpr int k_threads = 8;
  constexpr int k_rounds = 40;
  Watchman watchman;
  std::vector<std::unique_ptr<LockStore>> stores(k_threads);
  for (auto& store : stores)
    store = backing.open(nullptr);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    threads.emplace_back([&, i] {
      come_and_go(*stores[i], wish, static_cast<unsigned>(i + 1), k_rounds, watchman);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(watchman.complaint() == "");
  CHECK(watchman.entered() >= k_threads * k_rounds);
}

}  // namespace

TEST_CASE("threads that read and write: readers are never beside a writer") {
  each_store([](const Backing& backing) {
    const LockName name = fresh_name();
    many_come_and_go(backing, [&](std::mt19937& random) {
      return claim_as(random() % 4 == 0 ? Mode::exclusive : Mode::shared, name);
    });
  });
}

TEST_CASE("threads that take slots: never more holders than slots, and no number twice") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    const LockName name = fresh_name();
    many_come_and_go(backing, [&](std::mt19937&) { return claim_slot(k_slots, name); });
  });
}

TEST_CASE("threads that hold one name in every mode") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    const LockName name = fresh_name();
    many_come_and_go(backing, [&](std::mt19937& random) {
      const std::array<Claim, 4> claims{claim_as(Mode::plain, name),
                                        claim_as(Mode::exclusive, name),
                                        claim_as(Mode::shared, name),
                                        claim_slot(k_slots, name)};
      return claims.at(random() % claims.size());
    });
  });
}

TEST_CASE("threads that take names in any order: no deadlock, and no pair half held (2172, 4050)") {
  each_store([](const Backing& backing) {
    const std::array<LockName, 3> names{fresh_name("a"), fresh_name("b"), fresh_name("c")};
    many_come_and_go(backing, [&](std::mt19937& random) {
      std::vector<LockName> some(names.begin(), names.end());
      std::shuffle(some.begin(), some.end(), random);
      some.erase(some.begin() + 1 + static_cast<long>(random() % some.size()), some.end());
      Claim claim = claim_of(some);
      claim.mode = random() % 3 == 0 ? Mode::shared : Mode::plain;
      return claim;
    });
    Client client(backing);
    for (const LockName& name : names)
      CHECK(client.inspect(name).kind == Holding::Kind::none);
  });
}

}  // namespace dlock::contract
