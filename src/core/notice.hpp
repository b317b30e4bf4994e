// SPDX-License-Identifier: MIT
// The events of waiting for, holding and losing a lock, as values. cmd/notice_table has a row for
// each kind, with its sentence and its log event.
#pragma once

#include "core/child_status.hpp"
#include "core/lock_store.hpp"

#include <optional>
#include <string>

namespace dlock {

// An event to report, just before its action is carried out. `text` is a reason from the store or
// from sys, no whole sentence.
struct Notice {
  enum class Kind {
    polling,      // there is no subscription: the waiter polls
    untracked,    // there is no key tracking: changes by other programs are noticed late
    waiting,      // still waiting for the holder in `holding`, so far for `span`
    store_away,   // no answer for `seen_ago`; retried for `left` more. The claim has waited for
                  // `span`; `holding` is the last answer, if any
    unreachable,  // a call failed while waiting or renewing; it is repeated
    granted,      // `holds` were granted after `span`
    renewed,      // the lease is good for `span`
    moved,        // server `text` has renewed or checked the hold; before, it was server `before`
    lost,  // a server that may write says that the lease is lost; `holding` is the present state.
           // The child is being stopped, unless `runs_on`. `text`: the server that took over and
           // does not know the hold, if any; without `holding`: RenewReply::because
    revoked,  // force-release asked the holder to stop; the child is being stopped, as for lost
    lapsing,  // there was no renewal in time; the child is being stopped, as for lost
    time_up,  // max_hold (`span`) is over or, if `span` is zero, a lease that is not renewed; the
              // child is being stopped
    killed,   // the child got KILL, for the reason `kill`
    cannot_kill,  // the child is still alive after a KILL
    outlived,     // the command ended, contained descendants did not: dlock waits for them
    strays,       // `count` processes left the command's group and run on without the lock
    leftovers,    // the command ended, other processes of its group did not: they are being stopped
    // No answer to the release; the lease ends in `span` or, if that is zero, about now.
    release_unknown,
    lost_at_release,  // the release found that the lease had been lost before
    done_before,      // a successful run was granted `span` ago, less than once_per (`text`)
    signalled,        // `signal` goes to the child's group, which must end
    passed_on,        // `signal` goes to the child's group; dlock does nothing more
    ended,            // the command ended, as `child` says
    released,         // the store has confirmed the release
    free,             // a bystander's wait is over, after `span`; must stay the last one
  };
  static constexpr std::size_t k_kinds = static_cast<std::size_t>(Kind::free) + 1;
  Kind kind = Kind::waiting;
  std::string text;
  std::string before = {};           // for Kind::moved
  std::optional<std::size_t> which;  // index of the name; nullopt: all names
  std::optional<Holding> holding;    // state of the name `which`
  std::uint64_t place = 0;           // place in the line of the name `which`: Refusal::place
  Duration span{};
  Duration seen_ago{};  // age of `holding`
  Duration left{};
  std::size_t count = 0;
  Holds holds;
  int signal = 0;
  KillReason kill = KillReason::grace_over;  // for lapsing and time_up: `lapsed` if no TERM is sent
  bool runs_on = false;  // for lost, revoked and lapsing: the child is not stopped (on_lost=warn)
  ChildStatus child;
  std::optional<Time> safe_until;  // end of the lease, by the newest confirmed request
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
