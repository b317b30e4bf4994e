// SPDX-License-Identifier: MIT
// ZkOwners: the sessions that own the nodes of locks. Each claim has its own session, whose timeout
// is its ttl; the nodes of its holds and of its places in line disappear with the session. Nested
// runs, and the commands after `dlock acquire`, use a session that another process created. If the
// answer to a session's creation was lost, the session's number is read from its node. Used by one
// thread at a time.
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
    std::set<std::string> nodes = {};  // paths of its nodes, as far as known
    // A request that makes nodes got no answer, so it may still be carried out.
    bool unsettled = false;
    bool is_of(std::int64_t owner) const { return owner == session.identity().number; }
  };

  // `interrupt` may be null and must outlive us.
  ZkOwners(ZkAddress address, const Interrupt* interrupt)
      : address_(std::move(address)), interrupt_(interrupt) {}

  // Returns the session for this owner's claims. If it is new, no server knows it yet.
  Own& of_claim(const OwnerId& owner, Duration timeout);
  // Returns the session of this owner; nullptr: this process has no session of that owner.
  Own* find(const OwnerId& owner);
  const Own* find(const OwnerId& owner) const;
  // Returns our session with this number or, for another process's session, a ZkSession that takes
  // it over; `timeout`: the timeout with which it was made.
  ZkSession& by_number(std::int64_t number, Duration timeout);

  // Notes that the session is over: its nodes may exist for another moment, but no longer count.
  void end(std::int64_t number);
  bool is_over(std::int64_t number) const { return over_.contains(number); }

  bool has(std::int64_t number) const;
  bool owns(const OwnerId& owner, const std::string& path) const;
  // Adds a node to the session with this number, if it is one of ours.
  void note_node(std::int64_t number, const std::string& path);
  // Notes that a node is gone. If it was the last node of one of our sessions, that session is
  // ended.
  void forget_node(const std::string& path, Time limit);
  // Ends the owner's session if it has no nodes.
  void quit_idle(const OwnerId& owner, Time limit);
  void disconnect();  // closes the connections; the sessions continue

 private:
  ZkAddress address_;
  const Interrupt* interrupt_;
  std::map<OwnerId, Own> own_;
  std::map<std::int64_t, ZkSession> others_;
  std::set<std::int64_t> over_;
};

}  // namespace dlock
