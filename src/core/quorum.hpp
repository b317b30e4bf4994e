// SPDX-License-Identifier: MIT
// A quorum: a lock is held by whom a majority of independent servers has granted it. The machines
// of quorum_claim.hpp and quorum_hold.hpp decide what the answers of all servers mean together;
// here are their words, and what is known of each server from one call to the next.
//
// Pure, like all machines of core: no clock is read and nothing is asked here. The user sends the
// asks of one server in their order, one at a time, and passes each answer with the ask it is for.
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

// Any two sets of so many servers have one in common.
constexpr std::size_t needed(std::size_t servers) {
  return servers / 2 + 1;
}

// One question to one server.
struct Ask {
  enum class What { acquire, raise, renew, check, release };
  std::size_t server = 0;
  What what = What::acquire;
  Claim claim = {};  // of acquire
  Queueing queueing = Queueing::no;
  Holds holds = {};  // of all others
  ReleaseOptions release_options = {};
  Time limit = {};
};
using Asks = std::vector<Ask>;
void append(Asks& all, Asks more);
using Answer =
    std::variant<Result<AcquireReply>, Result<void>, Result<RenewReply>, Result<ReleaseVerdict>>;

// The Q-th newest of times, one for each of the servers that has any: when the first of a majority
// was asked. nullopt: they are too few.
std::optional<Time> newest_of_majority(std::vector<Time> times, std::size_t needed);

// The answer to such a question that is an error.
Answer answer_with(Ask::What what, const Error& error);

// nullptr: it was answered.
const Error* error_of(const Answer& answer);

// "2 of 3 servers gave no vote: …; …"; what several say in the same words stands there once. The
// code is the one that most of these errors have, and more than `spare` of them; else unavailable.
Error failed_servers(const std::vector<Error>& errors,
                     std::size_t servers,
                     std::size_t spare,
                     const std::string& what);

bool same_owners(const Holds& one, const Holds& other);
bool same_tokens(const Holds& one, const Holds& other);

// One of them is a part of the hold of an ancestor.
bool joins(const Holds& holds);

// Holds that a server may have, and has to release.
struct Owed {
  Holds holds;
  ReleaseOptions options = {};
  bool asked = false;  // the release is on its way
};

// What is known of one server.
struct Member {
  std::string name;                    // for people
  Holds holds = {};                    // of the round that is kept, as granted there; empty: none
  std::optional<Time> confirmed = {};  // when the newest confirmed request for them was sent
  bool raised = false;                 // it has the token of the round that is kept
  std::vector<Owed> owed = {};
  std::string trouble = {};  // why it did not answer the newest question
};

// What is known of all. Each answer that is no longer waited for comes here as well.
class Members {
 public:
  explicit Members(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      all_.push_back({.name = name});
  }

  std::size_t size() const { return all_.size(); }
  std::size_t needed() const { return quorum::needed(all_.size()); }
  std::size_t spare() const { return all_.size() - needed(); }  // so many may fail
  Member& operator[](std::size_t server) { return all_[server]; }
  const Member& operator[](std::size_t server) const { return all_[server]; }

  // The first that has answered its newest question: who gets its vote is to get all, and its line
  // is the one to wait in.
  std::size_t leader() const;

  // The round whose hold is kept; its claim, for servers that have no part of it yet.
  void keep(Claim round, Holds holds);
  const std::optional<Claim>& kept() const { return kept_; }
  const Holds& kept_holds() const { return kept_holds_; }
  // Whether these are the holds that are kept.
  bool keeps(const Holds& holds) const;
  void forget_kept();

  // The lease: a majority refuses others until the lease ends that began then, at the Q-th newest
  // confirmed request. nullopt: too few have confirmed any.
  std::optional<Time> sent_at() const;

  void owe(std::size_t server, Holds holds, const ReleaseOptions& options = {});
  // The releases that are not on their way yet.
  Asks asks_owed(std::size_t server, Time limit);

  // What an answer says of its server, whether or not it came in time for its call. What it was
  // granted late still has to get the token of the others.
  Asks heard(const Ask& ask, const Answer& answer);

 private:
  void heard_release(Member& member, const Ask& ask, bool done);
  Asks heard_grant(const Ask& ask, const Grant& grant);
  void heard_renewal(Member& member, const Ask& ask, const RenewReply& reply) const;

  std::vector<Member> all_;
  std::optional<Claim> kept_;
  Holds kept_holds_;  // with the tokens that a majority has
};

}  // namespace dlock::quorum
