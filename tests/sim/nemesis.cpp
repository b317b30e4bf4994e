// SPDX-License-Identifier: MIT
#include "sim/nemesis.hpp"

#include "base/duration.hpp"

#include <array>
#include <csignal>

namespace dlock::sim {

using namespace std::chrono_literals;

Nemesis::Nemesis(Scene& scene, std::vector<Client>& clients, Duration ttl, std::size_t names)
    : scene_(scene), clients_(clients), ttl_(ttl), names_(names) {
  Dice& dice = scene.dice;
  longest_gap_ = dice.between(ttl / 4, 2 * ttl);
  using N = Nemesis;
  const std::vector<Fault> of_dlock{&N::freeze,
                                    &N::freeze_at_a_point,
                                    &N::crash,
                                    &N::crash_at_a_point,
                                    &N::fail_at_a_turn,
                                    &N::terminal_stop,
                                    &N::freeze_guard,
                                    &N::kill_guard};
  const std::vector<Fault> guaranteed{&N::signal,
                                      &N::signal_at_a_turn,
                                      &N::black_hole,
                                      &N::late_answers_then_black_hole,
                                      &N::stop_child,
                                      &N::lose_answers,
                                      &N::slow,
                                      &N::reset,
                                      &N::copies,
                                      &N::lose_messages,
                                      &N::break_ears,
                                      &N::unreachable,
                                      &N::stop_server,
                                      &N::refuse,
                                      &N::revoke};
  const std::vector<Fault> bounded{&N::remove,
                                   &N::forget,
                                   &N::step_clock,
                                   &N::signal,
                                   &N::signal_at_a_turn,
                                   &N::lose_messages,
                                   &N::break_ears};
  auto all = scene.rules.faults == FaultClass::bounded ? bounded : guaranteed;
  if (scene.rules.replicated) all.insert(all.end(), {&N::lag, &N::promote, &N::stay_behind});
  if (scene.rules.dlock_fails) all.insert(all.end(), of_dlock.begin(), of_dlock.end());
  if (scene.rules.calm) {
    std::erase_if(all, [](Fault fault) { return !spares_waiters(fault); });
  }
  // Some of them in one world: what every fault hides from the others shows there.
  const bool every = dice.one_in(3);
  for (const Fault fault : all)
    if (every || dice.one_in(3)) faults_.push_back(fault);
  if (faults_.empty()) faults_ = all;
  if (!scene.rules.store_remembers) faults_.push_back(&N::remove);
}

// They end it, or are no business of a waiter.
bool Nemesis::spares_waiters(Fault fault) {
  using N = Nemesis;
  return fault == &N::signal || fault == &N::signal_at_a_turn || fault == &N::revoke ||
         fault == &N::remove || fault == &N::stop_child || fault == &N::freeze_guard ||
         fault == &N::kill_guard;
}

void Nemesis::plan() {
  scene_.agenda.after(scene_.dice.between(ttl_ / 20, longest_gap_), [this] {
    if (scene_.healed) return;
    strike();
    plan();
  });
}

void Nemesis::strike() {
  ++scene_.judge.statistics().faults;
  const auto one =
      static_cast<std::size_t>(scene_.dice.up_to(static_cast<int>(faults_.size()) - 1));
  Client& client = victim();
  if (!spares_waiters(faults_[one])) client.weather.calm_since = scene_.now();
  (this->*faults_[one])(client);
}

Client& Nemesis::victim() {
  const int aim = scene_.dice.up_to(99);
  std::vector<HoldId> targets;
  if (aim < 60) targets = scene_.server.store.holders();
  if (aim >= 80) targets = scene_.server.store.firsts();
  if (!targets.empty()) {
    const int last = static_cast<int>(targets.size()) - 1;
    const HoldId target = targets[static_cast<std::size_t>(scene_.dice.up_to(last))];
    for (Client& client : clients_)
      if (client.run != nullptr && client.run->hold() == target) return client;
  }
  return clients_[static_cast<std::size_t>(
      scene_.dice.up_to(static_cast<int>(clients_.size()) - 1))];
}

NameId Nemesis::any_name() {
  return static_cast<NameId>(scene_.dice.up_to(static_cast<int>(names_) - 1));
}

void Nemesis::say(const Client& client, const char* what) {
  scene_.trace.note(scene_.now(), [&] { return client.name + " <- " + what; });
}

void Nemesis::during(Duration time, int& counter, Duration& calm_since) {
  ++counter;
  scene_.agenda.after(time, [this, &counter, &calm_since] {
    if (!scene_.healed) --counter;
    calm_since = scene_.now();
  });
}

// --- dlock -----------------------------------------------------------------------------------

void Nemesis::freeze_now(Client& client, Run& run, Duration time) {
  if (scene_.healed || run.over() || run.frozen() || !run.may_fail()) return;
  scene_.trace.note(scene_.now(), [&] {
    return scene_.judge.who(run.hold()) + ": frozen for " + format_duration(time);
  });
  run.freeze();
  resume_after(time, client, run);
}

void Nemesis::resume_after(Duration time, Client& client, Run& run) {
  scene_.agenda.after(time, [this, &client, &run] {
    run.resume();
    client.weather.calm_since = scene_.now();
  });
}

void Nemesis::freeze(Client& client) {
  freeze_now(client, *client.run, span());
}

void Nemesis::freeze_at_a_point(Client& client) {
  const auto point = static_cast<Process::Point>(scene_.dice.up_to(2));
  Run& run = *client.run;
  run.at_next(point, [this, &client, &run, time = span()] { freeze_now(client, run, time); });
}

void Nemesis::crash(Client& client) {
  if (client.run->may_fail()) client.run->crash();
}

void Nemesis::crash_at_a_point(Client& client) {
  const auto point = static_cast<Process::Point>(scene_.dice.up_to(2));
  Run& run = *client.run;
  run.at_next(point, [this, &run] {
    if (!scene_.healed && run.may_fail()) run.crash();
  });
}

// Whoever is called next in the line, and just then.
void Nemesis::at_next_turn(std::function<void(Client&)> fault) {
  scene_.server.at_next_turn = [this, fault = std::move(fault)](HoldId whose) {
    if (scene_.healed) return;
    for (Client& client : clients_)
      if (client.run->hold() == whose && !client.run->over()) fault(client);
  };
}

void Nemesis::fail_at_a_turn(Client& /*client*/) {
  at_next_turn([this](Client& client) {
    if (scene_.dice.one_in(3)) return crash(client);
    freeze_now(client, *client.run, span());
  });
}

void Nemesis::signal_at_a_turn(Client& /*client*/) {
  at_next_turn([this](Client& client) { client.run->signal(SIGTERM); });
}

void Nemesis::terminal_stop(Client& client) {
  Run& run = *client.run;
  if (run.over() || run.frozen() || !run.may_fail()) return;
  say(client, "Ctrl-Z");
  run.terminal_stop();
  resume_after(span(), client, run);
}

void Nemesis::signal(Client& client) {
  constexpr std::array k_signals{SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGTERM, SIGTERM};
  say(client, "a signal");
  client.run->signal(k_signals.at(static_cast<std::size_t>(scene_.dice.up_to(5))));
}

// --- the guard and the child -----------------------------------------------------------------

void Nemesis::freeze_guard(Client& client) {
  Run& run = *client.run;
  if (!run.guard_may_fail()) return;
  say(client, "guard frozen");
  run.group().freeze_guard();
  scene_.agenda.after(span(), [&run] { run.group().thaw_guard(); });
}

void Nemesis::kill_guard(Client& client) {
  if (!client.run->guard_may_fail()) return;
  say(client, "guard killed");
  client.run->group().kill_guard();
}

void Nemesis::stop_child(Client& client) {
  say(client, "child stopped");
  Run& run = *client.run;
  run.group().stop();
  scene_.agenda.after(span(), [&run] { run.group().signal(SIGCONT, false); });
}

// --- the network -----------------------------------------------------------------------------

void Nemesis::black_hole(Client& client) {
  say(client, "black hole");
  const Duration time = span();
  during(time, client.weather.requests_lost, client.weather.calm_since);
  during(time, client.weather.answers_lost, client.weather.calm_since);
}

void Nemesis::lose_answers(Client& client) {
  say(client, "answers are lost");
  during(span(), client.weather.answers_lost, client.weather.calm_since);
}

void Nemesis::slow(Client& client) {
  say(client, "slow");
  client.weather.slowest =
      scene_.dice.between(ttl_ / 100, scene_.dice.one_in(3) ? ttl_ : ttl_ / 10);
  during(span(), client.weather.slow, client.weather.calm_since);
}

void Nemesis::reset(Client& client) {
  say(client, "connections reset");
  client.run->link().reset();
}

void Nemesis::unreachable(Client& client) {
  say(client, "connections reset and refused");
  client.run->link().reset();
  during(span(), client.weather.unreachable, client.weather.calm_since);
}

void Nemesis::copies(Client& client) {
  say(client, "requests come twice");
  const Duration time = span();
  during(time, client.weather.copied, client.weather.calm_since);
  during(time + 4 * ttl_, client.weather.copies_due, client.weather.calm_since);
}

void Nemesis::lose_messages(Client& client) {
  say(client, "messages are lost");
  during(span(), client.weather.messages_lost, client.weather.calm_since);
}

void Nemesis::break_ears(Client& client) {
  say(client, "the subscription is cut off");
  client.run->link().break_ears();
}

// Whoever counts the lease from the answer believes in it for too long then.
void Nemesis::late_answers_then_black_hole(Client& client) {
  say(client, "late answers, then a black hole");
  Weather& weather = client.weather;
  const Duration late = std::min<Duration>(ttl_ / 10, 5s) * 9 / 10;
  weather.answers_late += late;
  scene_.agenda.after(ttl_ / 2, [this, &client, late] {
    if (scene_.healed) return;
    client.weather.answers_late -= late;
    client.weather.calm_since = scene_.now();
    black_hole(client);
  });
}

// --- the server ------------------------------------------------------------------------------

void Nemesis::stop_server(Client& client) {
  say(client, "(all) the server is stopped");
  scene_.server.stop();
  scene_.agenda.after(span(), [this] {
    scene_.server.calm_since = scene_.now();
    scene_.server.go_on();
  });
}

void Nemesis::refuse(Client& client) {
  say(client, "(all) the server refuses");
  constexpr std::array k_errors{
      Errc::unavailable, Errc::unavailable, Errc::denied, Errc::refused, Errc::protocol};
  scene_.server.refusal = k_errors.at(static_cast<std::size_t>(scene_.dice.up_to(4)));
  during(span(), scene_.server.refusing, scene_.server.calm_since);
}

void Nemesis::revoke(Client& client) {
  say(client, "(all) force-release");
  scene_.server.store.revoke(any_name());
}

void Nemesis::remove(Client& client) {
  say(client, "(all) the lock is deleted");
  scene_.server.store.remove(any_name(), scene_.dice.one_in(2));
}

void Nemesis::forget(Client& client) {
  say(client, "(all) the server forgets everything");
  scene_.server.store.forget();
}

void Nemesis::lag(Client& client) {
  say(client, "(all) the replica gets nothing");
  during(span(), scene_.server.copies_stopped, scene_.server.calm_since);
}

// With or without what was written of late. Its clock may be a little behind.
void Nemesis::promote(Client& client) {
  if (scene_.dice.one_in(2)) lag(client);
  scene_.agenda.after(scene_.dice.short_or(ttl_), [this, &client] {
    if (scene_.healed) return;
    say(client, "(all) the replica is promoted");
    scene_.server.promote();
    scene_.server.store.step_clock(-scene_.dice.short_or(1s));
    scene_.server.calm_since = scene_.now();
    for (Client& each : clients_)
      each.run->link().reset();
  });
}

// On the wrong side of a cut: the replica is promoted on the other one.
void Nemesis::stay_behind(Client& client) {
  promote(client);
  say(client, "stays with the old master");
  during(span(), client.weather.behind, client.weather.calm_since);
}

void Nemesis::step_clock(Client& client) {
  say(client, "(all) the clock of the server jumps forward");
  scene_.server.calm_since = scene_.now();
  scene_.server.store.step_clock(scene_.dice.between(ttl_ / 2, 2 * ttl_));
}

}  // namespace dlock::sim
