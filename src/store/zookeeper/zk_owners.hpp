// SPDX-License-Identifier: MIT
// ZkOwners: the sessions that own nodes of locks. Each claim has one of its own, as long as its
// lease, and the nodes of its holds and places end with it. Those of a nested run and of an acquire
// are of a session that another process made. One whose making had no answer is like these: its
// node tells its number. One thread at a time.
#pragma once

#include "core/names.hpp"
#include "store/zookeeper/zk_session.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace dlock {

class ZkOwners {
 public:
  struct Own {
    ZkSession session;
    std::set<std::string> nodes = {};  // that we know of
    bool is_of(std::int64_t owner) const { return owner == session.identity().number; }
  };

  // `interrupt` may be null and must outlive us.
  ZkOwners(ZkAddress address, const Interrupt* interrupt)
      : address_(std::move(address)), interrupt_(interrupt) {}

  // The one of this owner's claims, with no server asked yet if it is new.
  Own& of_claim(const OwnerId& owner, Duration timeout);
  // nullptr: this process has none.
  Own* find(const OwnerId& owner);
  const Own* find(const OwnerId& owner) const;
  // The own one with this number, or that of another process, which was made for `timeout`.
  ZkSession& by_number(std::int64_t number, Duration timeout);

  // It is over: its nodes, which may be there for a moment, are of no claim.
  void end(std::int64_t number);
  bool is_over(std::int64_t number) const { return over_.contains(number); }

  bool has(std::int64_t number) const;
  bool owns(const OwnerId& owner, const std::string& path) const;
  // Of one of our own sessions, if it is that.
  void note_node(std::int64_t number, const std::string& path);
  // The node is gone: an own session without any is ended.
  void forget_node(const std::string& path, Time limit);
  // Ends the session if it has no nodes.
  void quit_idle(const OwnerId& owner, Time limit);
  void disconnect();  // the sessions go on

 private:
  ZkAddress address_;
  const Interrupt* interrupt_;
  std::map<OwnerId, Own> own_;
  std::map<std::int64_t, ZkSession> others_;
  std::set<std::int64_t> over_;
};

}  // namespace dlock
