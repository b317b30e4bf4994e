// SPDX-License-Identifier: MIT
// A quorum: a client holds the lock if a majority of independent servers granted it to that client.
// The machines in quorum_claim.hpp and quorum_hold.hpp decide what the answers of all servers mean
// together. This file has their types, and what is known of each server from call to call.
//
// Pure, like all machines of core: they read no clock and send nothing. Their caller sends the asks
// to each server in order, one at a time, and passes each answer back to the machine, with its ask.
#pragma once

#include "core/lock_store.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dlock::quorum {

// Fewer than three servers tolerate no loss; more than nine cost more than they help.
inline constexpr std::size_t k_least = 3;
inline constexpr std::size_t k_most = 9;

// Returns the size of a majority: any two sets of this many servers have a server in common.
constexpr std::size_t needed(std::size_t servers) {
  return servers / 2 + 1;
}

// One request to one server.
struct Ask {
  enum class What { acquire, raise, renew, check, release };
  std::size_t server = 0;
  What what = What::acquire;
  Claim claim = {};  // for acquire
  Queueing queueing = Queueing::no;
  Holds holds = {};  // for all but acquire
  ReleaseOptions release_options = {};
  Time limit = {};
};
using Asks = std::vector<Ask>;
void append(Asks& all, Asks more);
using Answer =
    std::variant<Result<AcquireReply>, Result<void>, Result<RenewReply>, Result<ReleaseVerdict>>;

// Returns the `needed`-th newest of `times`, which has at most one time per server: a majority was
// asked at that time or later. nullopt: there are fewer than `needed` times.
std::optional<Time> newest_of_majority(std::vector<Time> times, std::size_t needed);

// Returns the error as an answer to a request of this kind.
Answer answer_with(Ask::What what, const Error& error);

// Returns the error in the answer; nullptr: the answer is no error.
const Error* error_of(const Answer& answer);

// Returns "2 of 3 servers gave no vote: …; …". A text that several servers gave appears once, with
// their names. If more than half of the errors have one code, and these are more than `spare` (the
// number of servers that may fail), the result has that code; otherwise Errc::unavailable.
Error failed_servers(const std::vector<Error>& errors,
                     std::size_t servers,
                     std::size_t spare,
                     const std::string& what);

bool same_owners(const Holds& one, const Holds& other);
bool same_tokens(const Holds& one, const Holds& other);

// Returns whether one of the holds joins an ancestor's hold.
bool joins(const Holds& holds);

// Holds that a server may have and that must be released there.
struct Owed {
  Holds holds;
  ReleaseOptions options = {};
  bool asked = false;  // the release was sent
};

// What is known about one server.
struct Member {
  std::string name;                    // for display
  Holds holds = {};                    // the granted holds, if this server has granted them, too
  std::optional<Time> confirmed = {};  // when the newest confirmed request for `holds` was sent
  bool raised = false;                 // the server has the token of the granted hold
  std::vector<Owed> owed = {};
  std::string trouble = {};  // why it did not answer the newest request; empty: it did
};

// What is known about all servers. An answer that arrives after its call has ended is noted here,
// too.
class Members {
 public:
  explicit Members(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      all_.push_back({.name = name});
  }

  std::size_t size() const { return all_.size(); }
  std::size_t needed() const { return quorum::needed(all_.size()); }
  std::size_t spare() const { return all_.size() - needed(); }  // how many servers may fail
  Member& operator[](std::size_t server) { return all_[server]; }
  const Member& operator[](std::size_t server) const { return all_[server]; }

  // Returns the leader: the first server in the list that answered its newest request. Waiters
  // stand in the line of the leader, which also decides between rival claims.
  std::size_t leader() const;

  // Remembers a claim as it was granted, and its holds. With this claim, servers that have not
  // granted the holds yet are asked to grant them.
  void keep(Claim round, Holds holds);
  const std::optional<Claim>& kept() const { return kept_; }
  const Holds& kept_holds() const { return kept_holds_; }
  // Returns whether `holds` are the remembered holds.
  bool keeps(const Holds& holds) const;
  void forget_kept();

  // Returns when the lease began: the needed()-th newest of the times when the servers' newest
  // confirmed requests were sent. From then on a majority refuses other owners for one lease.
  // nullopt: fewer than needed() servers have confirmed a request.
  std::optional<Time> sent_at() const;

  // Notes that the server must release these holds: it has granted them, or may have done so.
  void owe(std::size_t server, Holds holds, const ReleaseOptions& options = {});
  // Returns the releases that owe() has noted for this server and that have not been sent yet.
  Asks asks_owed(std::size_t server, Time limit);

  // Notes what an answer says about its server, even if it came too late for its call. If the
  // server has granted late, and with another token than the others, returns the request that gives
  // this server the token of the others.
  Asks heard(const Ask& ask, const Answer& answer);

 private:
  void heard_release(Member& member, const Ask& ask, bool done);
  Asks heard_grant(const Ask& ask, const Grant& grant);
  void heard_renewal(Member& member, const Ask& ask, const RenewReply& reply) const;

  std::vector<Member> all_;
  std::optional<Claim> kept_;
  Holds kept_holds_;  // the holds of kept_, with the tokens that a majority recorded
};

}  // namespace dlock::quorum
