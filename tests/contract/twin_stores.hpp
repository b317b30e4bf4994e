// SPDX-License-Identifier: MIT
// Twin: one of two stores that get the same calls, at times that the test sets. Comparison: asks
// both.
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
  // Begins at 0 and empty again.
  std::function<void()> restart;
  // So much later than the restart: leases end and records grow older. Times of a server go on from
  // there by themselves.
  std::function<void(Duration)> set_time;

  // With the keys that this store has for the names of the ancestors.
  Claim own(Claim claim) const;
};

// Redis (a server of its own) and the memory store over lease_table.
std::array<Twin, 2> twin_stores();

// The machine stood still in a call: it may have ended a turn in one of the stores.
struct Standstill {};

// A game in both stores. Fails the case, with all calls, when their answers differ.
class Comparison {
 public:
  using Call = std::function<std::string(std::size_t)>;  // of the store of this number

  // Both begin at 0 and empty. The seed is for the report.
  Comparison(std::array<Twin, 2>& twins, unsigned seed);
  // Returns the answer. Throws Standstill.
  std::string ask(const std::string& words, const Call& call);
  // Inspects it; no part of the report.
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
