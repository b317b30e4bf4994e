// SPDX-License-Identifier: MIT
#include "store/quorum/quorum_servers.hpp"

#include "sys/poll_limit.hpp"

#include <poll.h>

#include <vector>

namespace dlock {

namespace {

constexpr std::size_t k_most_waiting = 16;

}  // namespace

Result<std::unique_ptr<QuorumServers>> QuorumServers::open(
    const std::vector<MemberFiber::Opener>& servers, const Interrupt* interrupt) {
  std::unique_ptr<QuorumServers> all(new QuorumServers(interrupt));
  for (const MemberFiber::Opener& opener : servers) {
    auto member = MemberFiber::open(opener);
    if (!member) return member.error();
    all->members_.push_back(std::move(*member));
  }
  const auto name = [](const auto& member) { return member->store().where(); };
  std::sort(all->members_.begin(), all->members_.end(), [&](const auto& one, const auto& other) {
    return name(one) < name(other);
  });
  for (std::size_t i = 1; i < all->size(); ++i) {
    if (name(all->members_[i]) != name(all->members_[i - 1])) continue;
    return Error{Errc::bad_config,
                 name(all->members_[i]) + " is named twice; a server of a quorum has one vote"};
  }
  return all;
}

std::vector<std::string> QuorumServers::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < size(); ++i)
    names.push_back(store(i).where());
  return names;
}

bool QuorumServers::wait(Time until, bool may_be_interrupted) {
  const Interrupt* const interrupt = may_be_interrupted ? interrupt_ : nullptr;
  std::vector<pollfd> fds{polled(interrupt)};
  for (const auto& member : members_)
    until = std::min(until, member->add_waits(fds));
  const int ms = letters_.empty() ? poll_ms(until, BootClock::now()) : 0;
  const int ready = ::poll(fds.data(), fds.size(), ms);
  const Time now = BootClock::now();
  const pollfd* next = fds.data() + 1;
  for (const auto& member : members_)
    next = member->go_on(next, now);
  for (const Letter& letter : std::exchange(letters_, {}))
    letter();
  // The interrupt is checked last, because it may run other work (the fork of the guard): that work
  // then runs while the servers answer.
  return ready <= 0 || !ends_call(interrupt, fds[0]);
}

bool QuorumServers::post(std::size_t server, Job job, bool may_be_cut) {
  MemberFiber& member = *members_[server];
  if (may_be_cut && member.backlog() >= k_most_waiting) return false;
  member.post([this, job = std::move(job)](LockStore& store) { letters_.push_back(job(store)); },
              may_be_cut);
  return true;
}

bool QuorumServers::have_answered() const {
  return std::all_of(
      members_.begin(), members_.end(), [](const auto& one) { return one->backlog() == 0; });
}

void QuorumServers::cut_frozen() {
  for (const auto& member : members_)
    member->cut(k_frozen);
}

}  // namespace dlock
