// SPDX-License-Identifier: MIT
// The words of the tests about the line: clients that stand there, and what they hear.
#pragma once

#include <cstdint>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

// Once for each store that keeps a line.
void each_line(const Body& body);

// A client whose refused claims wait in line.
Client in_line(const Backing& backing);

// A client that waits in line with a claim of its own, and listens.
struct InLine {
  InLine(const Backing& backing, Claim what);
  InLine(const Backing& backing, const LockName& name) : InLine(backing, claim_of(name)) {}
  Taken enter() { return client.take(claim); }
  std::uint64_t refused();  // its place
  Client client;
  Claim claim;
  std::uint64_t place = 0;
};

// The second of a line hears "next" first, perhaps.
bool hears_its_turn(InLine& waiter);
bool hears(InLine& waiter, HandOff what);
bool hears_nothing(InLine& waiter);

// Tries until its turn has come.
Taken enters_eventually(InLine& waiter);

}  // namespace dlock::contract
