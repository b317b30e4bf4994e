// SPDX-License-Identifier: MIT
#include "sim/group.hpp"

#include <csignal>

#include "support/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

void Group::begin(const Holds& holds) {
  leader_.lives = true;
  others_.lives = habits_.has_others;
  scene_.trace.note(scene_.now(), [&] { return scene_.judge.who(hold_) + ": child starts"; });
  scene_.judge.began(hold_, holds);
  if (habits_.runs_for)
    end_at(leader_, scene_.now() + *habits_.runs_for, {.value = habits_.returns});
  if (others_.lives && habits_.others_run_for)
    end_at(others_, scene_.now() + *habits_.others_run_for, {});
  if (scene_.healed) end_soon();
}

void Group::end_at(Member& member, Duration when, ChildStatus status) {
  if (!member.lives || (member.ends && *member.ends <= when)) return;
  member.ends = when;
  member.status = status;
  scene_.agenda.at(when, [this, &member, when] {
    if (!member.lives || member.ends != when) return;
    member.due = stopped_;
    if (!member.due) end(member);
  });
}

void Group::end(Member& member) {
  member.lives = false;
  const bool is_leader = &member == &leader_;
  scene_.trace.note(scene_.now(), [&] {
    return scene_.judge.who(hold_) + (is_leader ? ": child ends" : ": the rest of the group ends");
  });
  if (is_leader) {
    leader_status_ = member.status;
    scene_.judge.leader_ended(hold_, member.status);
  }
  if (!alive()) {
    (void)scene_.server.store.holders();
    scene_.judge.ended(hold_);
  }
  if (is_leader) on_change();
}

void Group::react(Member& member, std::optional<Duration> takes, int number) {
  if (takes) end_at(member, scene_.now() + *takes, {ChildStatus::Kind::signalled, number});
}

void Group::signal(int number, bool wake) {
  scene_.trace.note(scene_.now(), [&] {
    return scene_.judge.who(hold_) + ": group gets " + test::signal_word(number);
  });
  if (number == SIGKILL) {
    killed_ = true;  // it works on what is stopped, too
    stopped_ = false;
    for (Member* const member : {&leader_, &others_}) {
      if (member->due) member->ends.reset();
      react(*member, scene_.dice.between(0ns, habits_.longest_kill), SIGKILL);
    }
    return;
  }
  if (number == SIGTERM || number == SIGINT || number == SIGHUP) {
    react(leader_, habits_.term_takes, number);
    react(others_, habits_.others_term_takes, number);
  }
  if (!wake && number != SIGCONT) return;
  stopped_ = false;
  for (Member* const member : {&leader_, &others_})
    if (member->lives && member->due) end(*member);
}

void Group::stop() {
  stopped_ = alive() && !killed_;
}

void Group::end_soon() {
  signal(SIGCONT, false);
  for (Member* const member : {&leader_, &others_})
    end_at(*member, scene_.now() + scene_.dice.between(0ms, 50ms), {});
}

// --- the guard -------------------------------------------------------------------------------

void Group::arm(Time kill_at) {
  if (!scene_.rules.guards) return;
  guard_deadline_ = kill_at;
  if (guard_ == GuardState::none) guard_ = GuardState::watching;
  if (guard_ == GuardState::frozen) {
    // It did not acknowledge the deadline before this one: another takes its place.
    if (guard_unanswered_) return replace_guard();
    guard_unanswered_ = true;
  }
  const auto plan = ++guard_plan_;
  const Duration slow = scene_.dice.between(1us, habits_.longest_kill);
  scene_.agenda.at(clock_.truly(kill_at) + slow, [this, plan] {
    if (plan != guard_plan_) return;
    if (guard_ == GuardState::watching) guard_kills(true);
    guard_overdue_ = guard_ == GuardState::frozen;
  });
}

void Group::guard_kills(bool by_deadline) {
  scene_.trace.note(scene_.now(), [&] { return scene_.judge.who(hold_) + ": guard kills"; });
  guard_ = GuardState::gone;
  guard_has_killed_ = true;
  if (alive()) scene_.judge.guard_killed(hold_, by_deadline && leader_.lives);
  signal(SIGKILL, false);
}

void Group::dlock_died() {
  if (guard_ != GuardState::watching) return;
  scene_.agenda.after(scene_.dice.between(1us, habits_.longest_kill), [this] {
    if (guard_ == GuardState::watching) guard_kills(false);
  });
}

void Group::freeze_guard() {
  if (guard_ != GuardState::watching) return;
  guard_ = GuardState::frozen;
  if (scene_.dice.one_in(2)) on_change();  // SIGSTOP is told to its parent, a freezer is not
}

void Group::thaw_guard() {
  if (guard_ != GuardState::frozen) return;
  guard_ = GuardState::watching;
  guard_unanswered_ = false;
  if (guard_overdue_) guard_kills(true);
}

void Group::kill_guard() {
  if (guard_ == GuardState::none || guard_ == GuardState::gone) return;
  guard_ = GuardState::gone;
  on_change();
}

void Group::replace_guard() {
  if (guard_has_killed_ || !scene_.rules.guards) return;
  guard_ = GuardState::watching;
  guard_unanswered_ = guard_overdue_ = false;
  arm(guard_deadline_);
}

}  // namespace dlock::sim
