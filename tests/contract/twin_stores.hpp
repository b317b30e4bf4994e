// SPDX-License-Identifier: MIT
// Twin: one of two stores that get the same calls at the same played times. Comparison: calls both
// and compares the answers.
#pragma once

#include "core/lock_store.hpp"

#include <array>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "contract/answer_text.hpp"
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

struct Twin {
  std::string name;
  std::unique_ptr<LockStore> store;
  // Empties the store and sets its time to 0.
  std::function<void()> restart;
  // Sets the time since the restart: leases end and records age. Between two calls, the clock of a
  // real server runs on by itself.
  std::function<void(Duration)> set_time;

  // Returns the claim with the keys that this store uses for the names of ancestors.
  Claim own(Claim claim) const;
};

// Returns Redis (a server of its own) and the memory store over lease_table.
std::array<Twin, 2> twin_stores();

// Thrown if the machine stood still during a call: one of the stores may have ended a turn.
struct Standstill {};

// Plays a game in both stores. If their answers differ, the case fails and prints all calls.
class Comparison {
 public:
  using Call = std::function<std::string(std::size_t)>;  // calls the store with this number

  // Restarts both stores. The seed is only for the report.
  Comparison(std::array<Twin, 2>& twins, unsigned seed);
  // Makes the call in both stores and returns the answer. Throws Standstill.
  std::string ask(const std::string& words, const Call& call);
  // Inspects the name in both stores; the report does not show this.
  void look(const LockName& name);
  void advance(Duration by);

  std::array<AnswerText, 2> texts;

 private:
  std::array<std::string, 2> answers_to(const Call& call);
  void compare(const std::array<std::string, 2>& answers);
  void set_time();

  std::array<Twin, 2>& twins_;
  unsigned seed_;
  Duration time_{};
  Time synced_;  // when both stores showed time_
  std::ostringstream transcript_;
};

}  // namespace dlock::contract
