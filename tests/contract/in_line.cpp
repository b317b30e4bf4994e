// SPDX-License-Identifier: MIT
#include "contract/in_line.hpp"

#include <utility>

namespace dlock::contract {

void each_line(const Body& body) {
  int lines = 0;
  each_store([&](const Backing& backing) {
    if (!Client(backing).store().traits().line) return;
    ++lines;
    body(backing);
  });
  CHECK(lines > 0);
}

Client in_line(const Backing& backing) {
  Client client(backing);
  client.wait_in_line();
  return client;
}

InLine::InLine(const Backing& backing, Claim what)
    : client(in_line(backing)), claim(std::move(what)) {
  client.watch(claim, false);
  place = client.must_be_busy(claim).place;
}

std::uint64_t InLine::refused() {
  place = client.must_be_busy(claim).place;
  return place;
}

bool hears_its_turn(InLine& waiter) {
  return eventually([&] { return waiter.client.await_hand_off(soon()) == HandOff::turn; });
}

bool hears(InLine& waiter, HandOff what) {
  return waiter.client.await_hand_off(soon()) == what;
}

bool hears_nothing(InLine& waiter) {
  return waiter.client.await_hand_off(BootClock::now() + 50ms) == HandOff::timed_out;
}

Taken enters_eventually(InLine& waiter) {
  return waiter.client.take_eventually(waiter.claim);
}

}  // namespace dlock::contract
