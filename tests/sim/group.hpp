// SPDX-License-Identifier: MIT
// Group: the child of one run, what the child has started, and the guard among them. They react to
// signals as they please, but a KILL works; they live on when dlock is stopped or dead.
#pragma once

#include "core/child_status.hpp"

#include <functional>
#include <optional>

#include "sim/scene.hpp"

namespace dlock::sim {

struct Habits {
  std::optional<Duration> runs_for;  // nothing: until it is stopped
  int returns = 0;
  std::optional<Duration> term_takes;  // nothing: ignored
  bool has_others = false;             // in its group, which outlive it
  std::optional<Duration> others_run_for;
  std::optional<Duration> others_term_takes;
  Duration longest_kill{};  // from a KILL to the end, and from a deadline to the guard's KILL
};

class Group {
 public:
  Group(Scene& scene, HoldId hold, const DriftingClock& clock, const Habits& habits)
      : scene_(scene), hold_(hold), clock_(clock), habits_(habits) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void begin(const Holds& holds);
  void signal(int number, bool wake);
  void stop();  // the whole group, by SIGSTOP
  bool alive() const { return leader_.lives || others_.lives; }
  const std::optional<ChildStatus>& leader_status() const { return leader_status_; }
  // Once everything is well: whatever runs comes to its end.
  void end_soon();

  // The guard.
  void arm(Time kill_at);
  void say_goodbye() { guard_ = GuardState::gone; }
  void dlock_died();
  void freeze_guard();
  void thaw_guard();
  void kill_guard();
  void replace_guard();
  bool guard_well() const { return guard_ == GuardState::watching; }

  std::function<void()> on_change;  // SIGCHLD: the leader or the guard ended

 private:
  enum class GuardState { none, watching, frozen, gone };
  struct Member {
    bool lives = false;
    bool due = false;  // its end came while it was stopped
    std::optional<Duration> ends;
    ChildStatus status;
  };
  void end_at(Member& member, Duration when, ChildStatus status);
  void end(Member& member);
  void react(Member& member, std::optional<Duration> takes, int number);
  void guard_kills(bool by_deadline);

  Scene& scene_;
  HoldId hold_;
  const DriftingClock& clock_;
  Habits habits_;
  Member leader_;
  Member others_;
  std::optional<ChildStatus> leader_status_;
  bool stopped_ = false;
  bool killed_ = false;
  GuardState guard_ = GuardState::none;
  Time guard_deadline_;
  std::uint64_t guard_plan_ = 0;
  bool guard_overdue_ = false;  // the deadline came while it was frozen
  bool guard_unanswered_ = false;
  bool guard_has_killed_ = false;
};

}  // namespace dlock::sim
