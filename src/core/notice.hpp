// SPDX-License-Identifier: MIT
// The events of waiting for, holding and losing a lock, as values. cmd/notice_table has a row for
// each kind, with its sentence and its log event.
#pragma once

#include "core/child_status.hpp"
#include "core/lock_store.hpp"

#include <optional>
#include <string>

namespace dlock {

// An event to report. It is reported just before dlock acts on it. `text` is a reason that the
// store or this machine gave, no whole sentence.
struct Notice {
  enum class Kind {
    splay,      // the first try comes in `span`, at random within --splay (`text`)
    polling,    // the waiter gets no messages, so it polls
    untracked,  // there is no key tracking: changes by other programs are noticed late
    waiting,    // still waiting, for `span` so far; `holding` shows the holder
    // The store has not answered for `seen_ago`, and is tried for `left` more. The claim has waited
    // for `span`; `holding` is the last answer, if any.
    store_away,
    unreachable,  // a call failed while waiting or renewing; it is repeated
    // The hold of the name `which` that `holding` shows was released: its holder, on this machine,
    // is dead with all of its processes.
    reclaimed,
    unavailable,  // the store is away (`text`), so nothing is run (OnUnavailable::skip)
    unlocked,     // the store is away (`text`), so the command runs without the lock
    granted,      // `holds` were granted after `span`
    renewed,      // the lease was renewed, and ends in `span` at the earliest
    moved,        // server `text` now confirms the hold; until now server `before` did
    // A server that may write says that the lease is lost; `holding` is the present state. The
    // child is being stopped, unless `runs_on`. `text` is the server that has answered, if another
    // server had confirmed the hold before. Without `holding`, `text` is RenewReply::because.
    lost,
    revoked,  // force-release asked us to stop; the child is being stopped, unless `runs_on`
    lapsing,  // there was no renewal in time; the child is being stopped, unless `runs_on`
    // max_hold (`span`) is over. If `span` is zero, the end of a lease without renewals
    // (--no-renew) is near. The child is being stopped.
    time_up,
    killed,       // the child got KILL, for the reason `kill`
    cannot_kill,  // the child is still alive after a KILL
    outlived,     // --contain: the command ended, descendants did not: dlock waits for them
    strays,       // `count` processes left the command's group and run on without the lock
    leftovers,    // the command ended, other processes of its group did not: they are being stopped
    // No answer to the release; the lease ends in `span` or, if that is zero, about now.
    release_unknown,
    lost_at_release,  // the release found that the lease had been lost before
    superseded,       // the claim waited, and a later one, `text`, took its place (--supersede)
    done_before,      // a successful run was granted `span` ago, less than once_per (`text`)
    signalled,        // `signal` goes to the child's group, which must end
    passed_on,        // `signal` goes to the child's group; dlock does nothing more
    ended,            // the command ended, as `child` says
    released,         // the store has confirmed the release
    free,  // `wait` or `force-release` ends after `span`; k_kinds needs this as the last kind
  };
  static constexpr std::size_t k_kinds = static_cast<std::size_t>(Kind::free) + 1;
  Kind kind = Kind::waiting;
  std::string text;
  std::string before = {};           // for Kind::moved: the server before
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
  std::optional<Time> safe_until;  // until then the lease is certain (lease.hpp)
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
