// SPDX-License-Identifier: MIT
// LeaseKeeper: the policy of keeping a granted hold. It says when to ask the store about the lease,
// repeats a renewal that got no answer, and between renewals watches the hold, so that a deleted,
// overwritten or revoked lock is noticed at once. A change message only leads to a check: the
// store's answer to the check counts.
//
// A pure machine, like AcquireLoop: each call passes an event and its time, and returns the next
// step. It promises that
// - at most one request is unanswered at a time, besides the wait for a change message, and no
//   request follows a verdict against the hold;
// - only a confirmed renewal moves clock(), and only forward, to the time when it was sent;
// - an error changes nothing: the hold counts as neither kept nor lost, and the request is
//   repeated.
// It stops no command: the machine that owns the LeaseKeeper decides that by clock(), standing()
// and the notices of verdicts.
#pragma once

#include "core/ask.hpp"
#include "core/backoff.hpp"
#include "core/lease.hpp"
#include "core/notice.hpp"

#include <optional>
#include <string>

namespace dlock {

struct KeepTerms {
  LeaseTerms lease;
  bool renew = true;                   // false: the lease is checked, never renewed
  bool watch = true;                   // false: changes are noticed at the next renewal only
  bool complete = true;                // false: some servers of a quorum have not granted yet
  std::optional<Duration> every = {};  // time between renewals; nullopt: a third of ttl
};

// The next step: the notice is reported first, then the ask is sent. A notice of kind revoked or
// lost is a verdict.
struct KeepStep {
  std::optional<Notice> notice = {};
  std::optional<action::Ask> ask = {};
};

class LeaseKeeper {
 public:
  enum class Standing {
    ours,
    revoked,      // valid until the lease ends, but renewals are refused
    partly_lost,  // the claim is lost, but some of its names may still be ours and must be released
    lost,
  };

  // `sent_at`: when the newest confirmed request was sent (Grant::sent_at).
  LeaseKeeper(const KeepTerms& terms, Time sent_at, Time now);

  // Returns when to call on_time(); nullopt: an answer is due, or there is nothing to ask.
  std::optional<Time> next_deadline() const;
  KeepStep on_time(Time now);
  KeepStep on_renewed(const Result<RenewReply>& answer, Time now);  // the answer to renew or check
  KeepStep on_watched(const Result<Watching>& answer, Time now);    // the answer to watch_hold
  KeepStep on_change(const Result<HandOff>& answer, Time now);      // the answer to await_hand_off
  // Returns the ask that waits for a change of the hold; no ask if the hold is not watched. Called
  // after each renewal and check, and after an interrupted wait.
  KeepStep listen() const;

  // Notes the server that granted the hold (Grant::at), so that a move to another server is
  // noticed.
  void granted_at(std::string server) { server_ = std::move(server); }

  // Notes whether the lease has ended by our clock; to be called before each event. After that end
  // the store is not asked any more: a renewal must not revive a lock that others may have held
  // since. `regardless`: the command continues without the lease, so the store is still asked.
  void check_end(Time now, bool regardless) { ended_ = now >= clock_.safe_until() && !regardless; }

  const LeaseClock& clock() const { return clock_; }
  Standing standing() const { return standing_; }
  bool ours() const { return standing_ == Standing::ours || standing_ == Standing::revoked; }
  // The error of the newest renewal or check; empty: it did not fail.
  const std::string& trouble() const { return trouble_; }

 private:
  bool may_ask() const { return standing_ == Standing::ours && !ended_ && !asking_; }
  Time renew_at() const;
  std::optional<Time> question_at() const;
  std::optional<Time> look_at() const;
  std::optional<Time> watch_at() const;
  Time watch_until() const;
  KeepStep ask(action::Ask::What what, Time limit);
  KeepStep look(Time now);
  std::optional<Notice> moved(const std::string& server);

  KeepTerms terms_;
  LeaseClock clock_;
  Standing standing_ = Standing::ours;
  bool ended_ = false;   // the lease has ended by our clock
  bool asking_ = false;  // a request other than the wait for a change is unanswered
  std::string trouble_;
  std::string server_;  // the server that confirmed the hold last; empty: unknown
  std::optional<Time> retry_at_;
  Doubling retry_;
  enum class WatchState {
    later,  // watching begins at watch_from_
    on,     // the hold is watched
    off,    // the store cannot watch this hold
  };
  WatchState watch_state_ = WatchState::later;
  Time watch_from_;
  Time look_from_;               // change messages before this time lead to one check, at this time
  std::optional<Time> look_at_;  // when a check is due because of a change message
};

}  // namespace dlock
