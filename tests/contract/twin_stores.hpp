// SPDX-License-Identifier: MIT
// Twin: one of two stores that get the same calls, at times that the test sets.
#pragma once

#include "core/lock_store.hpp"

#include <array>
#include <functional>
#include <memory>
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

}  // namespace dlock::contract
