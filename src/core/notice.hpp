// SPDX-License-Identifier: MIT
// The events of waiting for, holding and losing a lock, as values: cmd/notice_table has a row for
// each kind, with its sentence and its log event.
#pragma once

#include "core/child_status.hpp"
#include "core/lock_store.hpp"

#include <optional>
#include <string>

namespace dlock {

// An event to report, just before its action is carried out. `text` is a reason from a lower floor;
// cmd/notice_table.cpp makes the sentences.
struct Notice {
  enum class Kind {
    polling,          // no subscription: the waiter polls
    untracked,        // no key tracking: other programs' changes are noticed late
    waiting,          // for the holder in `holding`, for `span` so far
    store_away,       // no answer for `seen_ago`; retried for `left` more. The claim has waited for
                      // `span`; `holding` is the last answer, if there was one
    unreachable,      // a call failed while waiting or renewing; it is retried
    granted,          // `holds`, after `span`
    renewed,          // lease good for `span`
    moved,            // renewed, or found held: by the server `text` now, by `before` until then
    lost,             // definite, as `holding` says; the child is being stopped, but for `runs_on`.
                      // `text`: the server that took over without the hold; empty: it is the same.
                      // Without `holding`: RenewReply::because
    revoked,          // by force-release; likewise
    lapsing,          // no renewal in time; likewise
    time_up,          // max_hold, which is `span`, or (zero) a lease that is not renewed is over;
                      // the child is being stopped
    killed,           // because of `kill`
    cannot_kill,      // neither did KILL, so far
    outlived,         // the command ended, others that are contained did not: they are waited for
    strays,           // `count` processes left the group and run on without the lock
    leftovers,        // the command ended, others of its group did not: they are being stopped
    release_unknown,  // no answer; the lease ends by itself in `span`, or (zero) about now
    lost_at_release,  // the lease had been lost before the release
    done_before,      // a run that succeeded was granted `span` ago, within once_per (`text`)
    signalled,        // `signal` goes to the child's group, which must end
    passed_on,        // `signal` goes there as well, and nothing follows
    ended,            // the command ended, as `child` says
    released,         // the store says so
    free,             // the wait of a bystander is over, after `span`; stays the last kind
  };
  static constexpr std::size_t k_kinds = static_cast<std::size_t>(Kind::free) + 1;
  Kind kind = Kind::waiting;
  std::string text;
  std::string before = {};           // of Kind::moved
  std::optional<std::size_t> which;  // of several names; nothing: all of them
  std::optional<Holding> holding;    // of that name
  std::uint64_t place = 0;           // in the line of that name: Refusal::place
  Duration span{};
  Duration seen_ago{};  // age of `holding`
  Duration left{};
  std::size_t count = 0;
  Holds holds;
  int signal = 0;
  KillReason kill = KillReason::grace_over;  // lapsing, time_up: `lapsed` if there is no TERM
  bool runs_on = false;  // lost, revoked, lapsing: the child is not stopped (on_lost=warn)
  ChildStatus child;
  std::optional<Time> safe_until;  // of the lease, by the newest confirmed request
};

// Gets every notice. Called on the main thread; must not block for long.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  virtual void on_notice(const Notice& notice) = 0;
};

}  // namespace dlock
