// SPDX-License-Identifier: MIT
#include "sim/scene.hpp"

#include <algorithm>
#include <utility>

namespace dlock::sim {

using namespace std::chrono_literals;

void Server::when_up(std::function<void()> what) {
  if (stopped_ == 0) return what();
  waiting_.push_back(std::move(what));
}

void Server::go_on() {
  if (stopped_ == 0 || --stopped_ != 0) return;
  for (const auto& what : std::exchange(waiting_, {}))
    what();
}

// After 200 ms without a copy the claim or renewal has failed; the copy may come later.
void Server::when_copied(std::function<void(bool)> then) {
  const auto number = ++asked_;
  unconfirmed_.push_back({number, std::move(then)});
  agenda_.after(200ms, [this, number] {
    const auto is_it = [number](const Unconfirmed& one) { return one.number == number; };
    const auto found = std::find_if(unconfirmed_.begin(), unconfirmed_.end(), is_it);
    if (found == unconfirmed_.end()) return;
    const auto late = std::move(found->then);
    unconfirmed_.erase(found);
    late(false);
  });
}

void Server::copy() {
  if (copies_stopped > 0) return;
  store.copy();
  for (const auto& one : std::exchange(unconfirmed_, {}))
    one.then(true);
}

void Server::promote() {
  unconfirmed_.clear();
  subscribers_.clear();
  store.promote();
}

void Server::heal() {
  refusing = 0;
  copies_stopped = 0;
  copy();
  if (stopped_ == 0) return;
  stopped_ = 1;
  go_on();
}

std::uint64_t Server::listen(Subscriber subscriber) {
  subscribers_.emplace(++subscribers_made_, std::move(subscriber));
  return subscribers_made_;
}

Subscriber* Server::subscriber(std::uint64_t number) {
  const auto found = subscribers_.find(number);
  return found == subscribers_.end() ? nullptr : &found->second;
}

bool Server::call(HoldId whose, HandOff word) {
  if (word == HandOff::turn && at_next_turn) std::exchange(at_next_turn, {})(whose);
  bool heard = false;
  for (const auto& [number, subscriber] : subscribers_) {
    if (subscriber.whose != whose || !subscriber.turns) continue;
    subscriber.hear(word);
    heard = true;
  }
  return heard;
}

void Server::tell_of_change(NameId name, std::optional<HoldId> by, bool release) {
  for (const auto& [number, subscriber] : subscribers_) {
    if (std::find(subscriber.names.begin(), subscriber.names.end(), name) == subscriber.names.end())
      continue;
    const bool told = release && subscriber.releases;
    if (told || (subscriber.changes && subscriber.whose != by)) subscriber.hear(HandOff::changed);
  }
}

void Process::when_awake(std::function<void()> what) {
  if (dead_) return;
  if (frozen_) return held_back_.push_back(std::move(what));
  what();
}

void Process::later(Duration pause, std::function<void()> what) {
  scene_.agenda.after(pause, [this, what = std::move(what)] { when_awake(what); });
}

void Process::at_local(Time when, std::function<void()> what) {
  scene_.agenda.at(clock_.truly(when), [this, what = std::move(what)] { when_awake(what); });
}

void Process::go_on() {
  if (!frozen_ || dead_) return;
  frozen_ = false;
  for (auto& what : std::exchange(held_back_, {}))
    later(lag(), std::move(what));
}

Duration Process::lag() {
  Dice& dice = scene_.dice;
  return dice.between(1us,
                      dice.one_in(30) ? slowest_turn_ : std::min<Duration>(slowest_turn_, 200us));
}

void Process::reached(Point point) {
  if (!trap_ || trap_->first != point) return;
  std::exchange(trap_, {})->second();
}

}  // namespace dlock::sim
