// SPDX-License-Identifier: MIT
// ZkOwners: the sessions that own nodes of locks. Each claim has a session of its own, as long as
// its lease; the nodes of its holds and places end with that session. Nested runs and `acquire`
// use a session that another process created. If the reply to a session's creation was lost, its
// number is read from the node. One thread at a time.
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
    std::set<std::string> nodes = {};  // the known ones
    bool is_of(std::int64_t owner) const { return owner == session.identity().number; }
  };

  // `interrupt` may be null and must outlive us.
  ZkOwners(ZkAddress address, const Interrupt* interrupt)
      : address_(std::move(address)), interrupt_(interrupt) {}

  // The session of this owner's claims. A new session has asked no server yet.
  Own& of_claim(const OwnerId& owner, Duration timeout);
  // nullptr: this process has no session for this owner.
  Own* find(const OwnerId& owner);
  const Own* find(const OwnerId& owner) const;
  // Our session with this number, or another process's session, which was made for `timeout`.
  ZkSession& by_number(std::int64_t number, Duration timeout);

  // The session is over: its nodes may stay for a moment, but belong to no claim.
  void end(std::int64_t number);
  bool is_over(std::int64_t number) const { return over_.contains(number); }

  bool has(std::int64_t number) const;
  bool owns(const OwnerId& owner, const std::string& path) const;
  // Adds the node to the session with this number, if that is one of ours.
  void note_node(std::int64_t number, const std::string& path);
  // The node is gone. If its session is ours and has no other node, the session is ended.
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
