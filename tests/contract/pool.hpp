// SPDX-License-Identifier: MIT
// Helpers for the tests of claims of one of several names.
#pragma once

#include <cstddef>
#include <vector>

#include "contract/in_line.hpp"

namespace dlock::contract {

// Three names, and the claim of one of them.
struct Pool {
  LockName a = fresh_name("a");
  LockName b = fresh_name("b");
  LockName c = fresh_name("c");
  std::vector<LockName> names() const { return {a, b, c}; }
  Claim claim(std::size_t from = 0) const {
    Claim claim = claim_of(names());
    claim.one_from = from;
    return claim;
  }
};

// Returns the holds of a client that has taken all names of the pool, in their order.
inline std::vector<Hold> take_all(Client& client, const Pool& pool) {
  std::vector<Hold> held;
  for (const LockName& name : pool.names())
    held.push_back(client.take(name).hold);
  return held;
}

inline void each_pool(const Body& body) {
  each_store_with(&StoreTraits::one_of, body);
}

}  // namespace dlock::contract
