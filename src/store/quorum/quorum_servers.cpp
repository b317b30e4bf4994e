// SPDX-License-Identifier: MIT
#include "store/quorum/quorum_servers.hpp"

#include "sys/poll_limit.hpp"

#include <poll.h>

#include <array>

namespace dlock {

namespace {

constexpr Duration k_frozen = std::chrono::milliseconds(100);
constexpr std::size_t k_most_waiting = 16;

}  // namespace

Result<std::unique_ptr<QuorumServers>> QuorumServers::open(
    const std::vector<MemberThread::Opener>& servers, const Interrupt* interrupt) {
  std::unique_ptr<QuorumServers> all(new QuorumServers(interrupt));
  if (!all->mailbox_.wake_up().ok()) return Error{Errc::system, "out of file descriptors"};
  for (const MemberThread::Opener& opener : servers) {
    auto member = MemberThread::open(opener);
    if (!member) return member.error();
    all->threads_.push_back(std::move(*member));
  }
  const auto name = [](const auto& thread) { return thread->store().where(); };
  std::sort(all->threads_.begin(), all->threads_.end(), [&](const auto& one, const auto& other) {
    return name(one) < name(other);
  });
  for (std::size_t i = 1; i < all->size(); ++i) {
    if (name(all->threads_[i]) != name(all->threads_[i - 1])) continue;
    return Error{Errc::bad_config,
                 name(all->threads_[i]) + " is named twice; a server of a quorum has one vote"};
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
  std::array<pollfd, 2> fds{polled(&mailbox_.wake_up()), polled(interrupt)};
  if (::poll(fds.data(), fds.size(), poll_ms(until, BootClock::now())) > 0 &&
      ends_call(interrupt, fds[1]))
    return false;
  for (const Mailbox::Letter& letter : mailbox_.take_all())
    letter();
  return true;
}

bool QuorumServers::post(std::size_t server, Job job, bool may_be_cut) {
  MemberThread& thread = *threads_[server];
  if (may_be_cut && thread.backlog() >= k_most_waiting) return false;
  return thread.post([this, job = std::move(job)](LockStore& store) { mailbox_.put(job(store)); },
                     may_be_cut);
}

void QuorumServers::cut_frozen() {
  for (const auto& thread : threads_)
    thread->cut(k_frozen);
}

}  // namespace dlock
