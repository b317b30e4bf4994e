// SPDX-License-Identifier: MIT
// Helpers for the tests of the line: clients that wait in line, and the messages that they get.
#pragma once

#include <cstdint>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

// Runs the body once for each store that keeps a line.
void each_line(const Body& body);

// Returns a client whose refused claims wait in line.
Client in_line(const Backing& backing);

// A client that waits in line with a claim of its own, and listens.
struct InLine {
  InLine(const Backing& backing, Claim what);
  InLine(const Backing& backing, const LockName& name) : InLine(backing, claim_of(name)) {}
  Taken enter() { return client.take(claim); }
  std::uint64_t refused();  // must be refused; returns its place in line
  Client client;
  Claim claim;
  std::uint64_t place = 0;
};

// Returns whether the waiter gets its turn. The second waiter may get "next" before that.
bool hears_its_turn(InLine& waiter);
bool hears(InLine& waiter, HandOff what);
bool hears_nothing(InLine& waiter);

// Repeats the claim until its turn has come.
Taken enters_eventually(InLine& waiter);

}  // namespace dlock::contract
