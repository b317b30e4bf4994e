// SPDX-License-Identifier: MIT
// LeaseKeeper: the policy of keeping a granted hold. It says when the store has to be asked about
// the lease, repeats a renewal that got no answer, and watches the hold between two renewals, so
// that a deleted, overwritten or revoked lock is noticed at once. A change message saves time and
// decides nothing: it leads to a check, and only the answer of the store counts.
//
// A pure machine, like AcquireLoop: each call passes an event and its time, and returns the next
// step. It promises that
//   - it asks one question at a time beside the watch, and none after a verdict against the hold;
//   - only a confirmed renewal moves clock(), and it moves forward by the time of its sending
//   alone;
//   - an error changes nothing: the hold is neither kept nor lost by it, and is asked about again.
// It does not end anything: its user goes by clock(), standing() and the notice of a verdict.
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
  bool renew = true;     // false: the lease is only checked, and ends when it ends
  bool watch = true;     // false: changes of the lock between two renewals are not watched
  bool complete = true;  // Grant::complete
  std::optional<Duration> every = {};  // between two renewals; nothing: a third of ttl
};

// The next step: first the notice, then the ask. A notice of kind revoked or lost is the verdict.
struct KeepStep {
  std::optional<Notice> notice = {};
  std::optional<action::Ask> ask = {};
};

class LeaseKeeper {
 public:
  enum class Standing {
    ours,
    revoked,      // ours until the lease ends, and renewals are refused
    partly_lost,  // a master says that it is not ours; some names may still be
    lost,
  };

  // `sent_at`: when the newest confirmed request was sent, as in Grant and RenewReply.
  LeaseKeeper(const KeepTerms& terms, Time sent_at, Time now);

  // When on_time() has to be called; nothing: an answer is due, or there is nothing to ask.
  std::optional<Time> next_deadline() const;
  KeepStep on_time(Time now);
  KeepStep on_renewed(const Result<RenewReply>& answer, Time now);  // of renew and check
  KeepStep on_watched(const Result<Watching>& answer, Time now);    // of watch_hold
  KeepStep on_change(const Result<HandOff>& answer, Time now);      // of await_hand_off
  // The ask that awaits a change of the hold, if it is watched: after each renewal and check, and
  // after an interrupted wait.
  KeepStep listen() const;

  // The server that granted the hold, if that can change (Grant::at).
  void granted_at(std::string server) { server_ = std::move(server); }

  // Called before each event. Once the lease has ended by our clock, no more is asked: a renewal
  // must not revive a lock that others may have had. `regardless`: the command runs on without the
  // lease, so a late renewal is better than none.
  void check_end(Time now, bool regardless) { ended_ = now >= clock_.safe_until() && !regardless; }

  const LeaseClock& clock() const { return clock_; }
  Standing standing() const { return standing_; }
  bool ours() const { return standing_ == Standing::ours || standing_ == Standing::revoked; }
  // Why the newest question got no answer; empty: it was answered.
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
  bool asking_ = false;  // a question is out, other than await_hand_off
  std::string trouble_;
  std::string server_;  // confirmed the hold last; empty: unknown
  std::optional<Time> retry_at_;
  Doubling retry_;
  enum class WatchState {
    later,  // watched from watch_from_ on
    on,     // the hold is watched
    off,    // the store cannot watch here
  };
  WatchState watch_state_ = WatchState::later;
  Time watch_from_;
  Time look_from_;               // a change message before this leads to a look only then
  std::optional<Time> look_at_;  // due because of a change message
};

}  // namespace dlock
