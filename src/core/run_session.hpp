// SPDX-License-Identifier: MIT
// RunSession: one `dlock run`, from the first try to the exit status, or one `dlock acquire`, up to
// the grant, as a machine without arms: what happened goes in with the time, what to do comes out.
// No clock, no process, no socket.
//
// It promises, whatever the order of events:
//   - StartChild comes once, only after a grant, only while enough of the lease is left, and never
//     after a signal that ends us;
//   - a child whose lease cannot be kept gets TERM and, before the lease can end, KILL (unless
//     on_lost is warn);
//   - the guard always has the deadline of that KILL;
//   - a child whose time is up (max_hold, a lease that is not renewed) is stopped in the same way;
//   - release comes after the child is reaped and its group is gone, and every hold that may be
//     ours is released or undone before Finish, as far as the store answers in time;
//   - Finish comes once, and last.
// It does not know names, owners or commands: whoever carries out the actions does.
#pragma once

#include "core/acquire_loop.hpp"
#include "core/child_policy.hpp"
#include "core/lease.hpp"
#include "core/lock_store.hpp"
#include "core/wait_notices.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dlock {

enum class OnLost { stop, warn };

struct RunTerms {
  LeaseTerms lease;
  AcquireTerms acquire;
  OnLost on_lost = OnLost::stop;
  bool contain = false;  // what the command leaves behind is waited for, not stopped
  bool renew = true;     // false: the lease ends when it ends, and the child before it
  Duration min_hold{};   // from the grant; zero: none. Only what ran is kept
  Duration max_hold{};   // from the grant to the first signal; zero: none
  Duration once_per{};   // a command that exits with 0 is told of for so long; zero: not at all
  int stop_signal = 15;
  Duration notice_every{};  // as WaitNotices has it
};

// What happened.
namespace event {
struct Acquired {
  Result<AcquireReply> answer;
};
struct Watched {  // also the answer to watch_hold
  Result<Watching> answer;
};
struct HandedOff {
  Result<HandOff> answer;
};
struct Renewed {  // also the answer to check
  Result<RenewReply> answer;
};
struct Released {  // also the answer to undo and leave
  Result<ReleaseVerdict> answer;
};
struct Signal {  // came to us
  int number = 0;
};
struct StartFailed {  // no child: fork or what it needs failed
  Error error;
};
struct ChildEnded {  // reaped
  ChildStatus status;
  bool group_alive = false;  // others that belong to it still run
  std::size_t strays = 0;    // descendants that run on and do not belong to it
};
struct GroupGone {};  // the last of them ended
struct Resumed {};    // we had been stopped
struct Tick {};       // next_deadline() came
}  // namespace event
using StoreAnswer = std::
    variant<event::Acquired, event::Watched, event::HandedOff, event::Renewed, event::Released>;
using Event = std::variant<event::Acquired,
                           event::Watched,
                           event::HandedOff,
                           event::Renewed,
                           event::Released,
                           event::Signal,
                           event::StartFailed,
                           event::ChildEnded,
                           event::GroupGone,
                           event::Resumed,
                           event::Tick>;

// What people and programs are told, each just before what it tells of is done. `text` is a reason
// from below; everything else the voice puts into words.
struct Notice {
  enum class Kind {
    polling,          // no hand-offs here
    blind,            // changes that nobody tells of are not seen here
    waiting,          // for whoever is in `holding`, for `span` so far
    store_away,       // no answer to who waits, for `seen_ago` so far and `left` more; it waits for
                      // whoever is in `holding` (nothing: never seen) for `span`
    unreachable,      // trouble while waiting or renewing, ridden out
    granted,          // `holds`, after `span`
    renewed,          // lease good for `span`
    lost,             // definite; the child is being stopped
    revoked,          // somebody asked us to give it up; the child is being stopped
    lapsing,          // no renewal in time; the child is being stopped
    time_up,          // max_hold, which is `span`, or (zero) a lease that is not renewed is over;
                      // the child is being stopped
    lost_warn,        // lost, revoked or lapsing under on_lost=warn: it runs on
    killed,           // because of `kill`
    cannot_kill,      // neither did KILL, so far
    outlived,         // the command ended, others that are contained did not: they are waited for
    strays,           // `count` processes left the group and run on without the lock
    leftovers,        // the command ended, others of its group did not: they are being stopped
    release_unknown,  // no answer; the lease ends by itself in `span`, or (zero) about now
    lost_at_release,  // it was not ours any more when we gave it back
    done_before,      // a run that succeeded was granted `span` ago, within once_per (`text`)
    signalled,        // `signal` goes to the child's group, which must end
    passed_on,        // `signal` does as well, and that is all
    ended,            // the command did, as `child` says
    released,         // the store says so
  };
  Kind kind = Kind::waiting;
  std::string text;
  std::optional<std::size_t> which;  // of several names; none: all of them
  std::optional<Holding> holding;
  Duration span{};
  Duration seen_ago{};  // how old the holding is
  Duration left{};
  std::size_t count = 0;
  Holds holds;
  int signal = 0;
  KillReason kill = KillReason::grace_over;  // lapsing, time_up: `lapsed` if it gets no TERM
  ChildStatus child;
  std::optional<Time> safe_until;  // of the lease, by the newest confirmed request
};

// A run in figures, for whoever reads about it later.
struct Account {
  enum class Released {
    nothing,  // there was nothing to release
    yes,
    no,       // it was not ours any more
    unknown,  // no answer: at the latest it ends with its lease
  };
  Holds holds;        // empty: never granted
  Duration waited{};  // for the grant, or until there was none
  Duration held{};    // from the grant to the end of the release
  bool lost = false;  // the lease could not be kept to the end, or was not ours at the release
  Released released = Released::nothing;
};

struct Outcome {
  enum class Kind {
    child,      // as `child` says
    busy,       // gave up waiting; `holding`
    done,       // not wanted: a run that succeeded was granted a short while ago
    failed,     // never started: `error`
    lost,       // the child was stopped because of the lease
    time_up,    // the child was stopped because of max_hold, or at the end of a fixed lease
    signalled,  // `signal` came while there was no child
  };
  Kind kind = Kind::failed;
  ChildStatus child;
  std::optional<Holding> holding;
  Duration seen_ago{};  // how old the holding is
  Error error;
  int signal = 0;
  Account account;
};

// What to do.
namespace action {
// The store, which answers with one StoreAnswer each, in order. Whatever is asked while a holder
// awaits or looks for news ends that first, and a release ends a renewal.
struct Ask {
  enum class What {
    acquire,
    watch,
    await_hand_off,
    watch_hold,
    renew,
    check,
    release,
    undo,
    leave,
  };
  What what = What::acquire;
  Time limit;
  Stand stand = Stand::no;  // of acquire
  bool front = false;       // of watch
  Parting parting = {};     // of release
};
struct CancelAsk {};  // the one that runs; it still answers
struct StartChild {
  Holds holds;
  Time kill_at;  // the guard's first deadline
};
struct SetGuard {  // its deadline has moved
  Time kill_at;
};
struct SignalGroup {
  int signal = 0;
  bool wake = false;  // CONT after it, so that a stopped child can act on it
};
struct Say {
  Notice notice;
};
struct Finish {
  Outcome outcome;
};
}  // namespace action
using Action = std::variant<action::Ask,
                            action::CancelAsk,
                            action::StartChild,
                            action::SetGuard,
                            action::SignalGroup,
                            action::Say,
                            action::Finish>;

class RunSession {
 public:
  RunSession(const RunTerms& terms, std::uint64_t seed, Time now);

  std::vector<Action> start(Time now);
  std::vector<Action> on(Event event, Time now);
  std::optional<Time> next_deadline() const;

  bool has_child() const { return phase_ == Phase::running || phase_ == Phase::leftovers; }
  // The end of the lease as far as we know, while there is one.
  std::optional<Time> safe_until() const;

 private:
  enum class Phase { acquiring, giving_up, running, leftovers, releasing, finished };

  void handle(event::Acquired& event, Time now);
  void handle(event::Watched& event, Time now);
  void handle(event::HandedOff& event, Time now);
  void handle(event::Renewed& event, Time now);
  void handle(event::Released& event, Time now);
  void handle(const event::Signal& event, Time now);
  void handle(const event::StartFailed& event, Time now);
  void handle(const event::ChildEnded& event, Time now);
  void handle(event::GroupGone event, Time now);
  void handle(event::Resumed event, Time now);
  void handle(event::Tick event, Time now);

  void take(AcquireStep step, Time now);
  void take_grant(Grant grant, Time now);
  void note_grant(const Grant& grant, Time now);
  void give_up(Outcome outcome, Time now);
  void answered_while_giving_up(bool granted, bool unknown, Time now);
  std::optional<Time> lapses_at() const;
  void check_lease(Time now);
  std::optional<Time> time_up_at() const;
  void check_time(Time now);
  void lease_gone(Notice notice, Time kill_at, Time now);
  void kill_if_due(Time now);
  KillReason reason_to_kill(Time now) const;
  Time guard_due() const;
  void move_guard();
  void begin_release(Time now);
  Parting parting(Time now) const;
  void ask_release(Time now);
  void release_unknown(const std::string& why, Time now);
  void take_release(ReleaseVerdict verdict);
  void finish(Time now);
  void ask(action::Ask ask);
  void ask(action::Ask::What what, Time limit) { ask(action::Ask{.what = what, .limit = limit}); }
  bool may_ask_about_lease() const { return may_renew_ && !too_late_ && !asking_; }
  std::optional<Time> question_at() const;
  Time news_until() const;
  std::optional<Time> look_at() const;
  void check_hold(Time now);
  void handle_hold_watched(const Result<Watching>& answer, Time now);
  void handle_hold_news(const Result<HandOff>& answer, Time now);
  std::optional<Time> watch_hold_at() const;
  void listen();
  void say(Notice notice);
  void signal_group(int number, bool wake, Notice::Kind kind = Notice::Kind::signalled);
  std::optional<Time> outage_notice_at() const;
  void say_waiting(Time now);
  void say_holder(Time now);
  void say_outage(Time now);

  RunTerms terms_;
  AcquireLoop acquire_;
  std::vector<Action> actions_;
  Time answer_due_;  // of the newest Ask
  Phase phase_ = Phase::acquiring;
  bool asking_ = false;   // an Ask is out (one at a time; a holder's await_hand_off does not count)
  bool overdue_ = false;  // it was not there when due, and has been waited for once more

  // acquiring
  std::optional<Time> sleep_until_;
  WaitNotices notices_;
  bool outage_told_ = false;  // and no answer since

  // running
  std::optional<LeaseClock> clock_;
  enum class News {
    later,  // worth it once the run has lasted a second
    on,     // the hold is watched
    off,    // there is none here
  };
  News news_ = News::later;
  Time watch_hold_from_;
  bool listening_ = false;  // awaits news of the hold
  Time news_from_;          // before it news only lead to a look then
  std::optional<Time> look_at_;
  std::optional<Time> retry_renew_at_;
  Duration retry_pause_{};
  std::string trouble_;      // why the newest renewal is unknown; empty: it is not
  bool may_renew_ = true;    // false after a verdict against us
  bool too_late_ = false;    // the lease has ended as far as we know: a renewal revives nobody
  bool not_ours_ = false;    // a master said so: nothing to release
  bool some_left_ = false;   // but some of several names
  bool lease_stop_ = false;  // the child is being stopped because of the lease
  bool time_up_ = false;     // max_hold is over, or a lease that is not renewed
  bool time_stop_ = false;   // and the child is being stopped because of that
  bool warned_ = false;      // on_lost=warn has said its line
  int user_stop_ = 0;        // the TERM or INT that was passed on
  StopPlan stop_;
  Time guard_at_ = Time::max();  // what the guard was told last; max: it kills by no clock

  // ending
  Outcome outcome_;
  Account account_;
  std::optional<Time> granted_at_;
  Time release_until_;
  std::optional<Time> retry_release_at_;
  bool release_repeated_ = false;
  bool leaving_ = false;  // only the line: nothing can be held
};

}  // namespace dlock
