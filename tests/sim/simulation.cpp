// SPDX-License-Identifier: MIT
#include "sim/simulation.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "sim/nemesis.hpp"
#include "sim/onlookers.hpp"
#include "sim/run.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t k_ppm = 4950;  // two clocks then differ by less than one per cent
constexpr std::int64_t k_wild_ppm = 60000;
constexpr int k_runs = 60;  // of one host
constexpr std::size_t k_most_steps = 2'000'000;

DriftingClock any_clock(std::uint64_t seed, bool steady, Duration offset) {
  Dice dice(seed);
  const std::int64_t most = steady ? k_ppm : k_wild_ppm;
  const std::array<std::int64_t, 4> rates{
      -most, most, 0, dice.between(0ns, Duration(2 * most)).count() - most};
  return {offset + dice.between(0s, 1'000'000s), rates.at(static_cast<std::size_t>(dice.up_to(3)))};
}

// One layer hides the faults of another: the core has to do without guards, too.
Rules rules_of(std::uint64_t seed, Rules rules) {
  rules.calm = seed % 8 == 3;
  if (rules.faults == FaultClass::bounded || seed % 4 == 0 || rules.calm) rules.dlock_fails = false;
  if (!rules.dlock_fails) rules.guards = false;
  rules.replicated = rules.faults == FaultClass::guaranteed && (seed % 8 == 6 || seed % 16 == 4);
  return rules;
}

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Rules& rules, bool traced);
  Report play();

 private:
  void add_client(std::uint64_t seed);
  void start_run(Client& client);
  RunSetting setting(const Client& client);
  Wants any_wants(const Client& client);
  void want_one(Wants& wants);
  void add_limits(RunTerms& terms, const Wants& wants);
  Habits habits(const LeaseTerms& lease);
  Hearing any_hearing();
  void be_the_last(RunTerms& terms, Wants& wants) const;
  void run_ended(Client& client);
  bool play_until(Duration when);
  void heal();
  bool all_over() const;
  void look_for_movement();

  std::uint64_t seed_;
  Scene scene_;
  Dice dice_;
  Duration ttl_;
  bool busy_machine_;
  // What is claimed here: how many names, and how.
  enum class Custom { alone, pairs, slots, anything };
  Custom custom_ = Custom::alone;
  std::size_t names_ = 1;
  std::uint32_t slots_ = 1;
  Duration once_per_{};
  Duration longest_keep_{};
  std::vector<Client> clients_;
  std::vector<std::unique_ptr<Run>> runs_;  // by their hold; none: an onlooker's
  std::unique_ptr<Nemesis> nemesis_;
  std::unique_ptr<Onlookers> onlookers_;  // in some worlds
  Run* probe_ = nullptr;
  std::size_t steps_ = 0;
};

Simulation::Simulation(std::uint64_t seed, const Rules& rules, bool traced)
    : seed_(seed),
      scene_(seed,
             rules_of(seed, rules),
             traced,
             any_clock(seed * 31, rules.steady_rates, 1'700'000'000s)),
      dice_(seed * 17 + 5) {
  constexpr std::array<Duration, 4> k_longest{1s, 3s, 10s, 30s};
  ttl_ = dice_.between(1s, k_longest.at(static_cast<std::size_t>(dice_.up_to(3))));
  busy_machine_ = dice_.one_in(3);
  if (dice_.percent(70)) {
    custom_ = static_cast<Custom>(dice_.up_to(3));
    names_ = static_cast<std::size_t>(dice_.up_to(static_cast<int>(k_names) - 1)) + 1;
    slots_ = static_cast<std::uint32_t>(dice_.up_to(2)) + 1;
  }
  if (dice_.one_in(5)) once_per_ = dice_.between(ttl_ / 10, 3 * ttl_);
  if (dice_.one_in(5)) longest_keep_ = dice_.between(ttl_ / 10, 3 * ttl_);
  if (rules.broken != nullptr) scene_.server.store.*rules.broken = false;
  scene_.server.store.call = [this](HoldId whose, HandOff word) {
    return scene_.server.call(whose, word);
  };
  scene_.server.store.on_change = [this](NameId name, std::optional<HoldId> by, bool release) {
    scene_.server.tell_of_change(name, by, release);
  };
  scene_.judge.calm_since = [this](HoldId hold) {
    return runs_[hold] ? runs_[hold]->calm_since() : std::nullopt;
  };
  const int others = dice_.percent(custom_ == Custom::alone ? 40 : 10) ? 1 : dice_.up_to(4) + 1;
  clients_.reserve(7);
  for (int i = 0; i <= others; ++i)
    add_client(seed * 1000 + static_cast<std::uint64_t>(i));
  nemesis_ = std::make_unique<Nemesis>(scene_, clients_, ttl_, names_);
  if (seed % 4 != 1) return;
  onlookers_ = std::make_unique<Onlookers>(scene_, seed, ttl_, names_);
  onlookers_->new_hold = [this](Judge::Newcomer one) {
    runs_.push_back(nullptr);
    return scene_.judge.new_hold(std::move(one));
  };
}

void Simulation::add_client(std::uint64_t seed) {
  const Duration ttl = dice_.one_in(6) ? dice_.between(1s, 2 * ttl_) : ttl_;
  std::optional<Duration> kill_after;
  if (dice_.one_in(2)) kill_after = dice_.between(1ms, ttl / 3);
  clients_.push_back({.name = std::string(1, static_cast<char>('A' + clients_.size())),
                      .hearing = any_hearing(),
                      .clock = any_clock(seed, scene_.rules.steady_rates, 0s),
                      .lease = *LeaseTerms::check(ttl, kill_after),
                      .slots = dice_.one_in(12) ? slots_ + 1 : slots_,
                      .weather = {},
                      .runs_left = k_runs});
}

Habits Simulation::habits(const LeaseTerms& lease) {
  const Duration ttl = lease.ttl();
  const std::array<Duration, 7> k_lengths{2ms, 5ms, 20ms, 100ms, ttl * 2 / 5, ttl * 3 / 2, ttl * 3};
  Habits habits;
  if (!dice_.one_in(8)) {
    habits.runs_for = k_lengths.at(static_cast<std::size_t>(dice_.up_to(6)));
  }
  if (once_per_ > 0ns && dice_.one_in(3)) habits.returns = 1;
  if (!dice_.one_in(3)) habits.term_takes = dice_.short_or(2 * lease.kill_after());
  habits.has_others = dice_.one_in(4);
  if (dice_.one_in(2)) habits.others_run_for = dice_.short_or(ttl);
  if (dice_.one_in(2)) habits.others_term_takes = dice_.short_or(2 * lease.kill_after());
  // A turn, the KILL it sends and the guard's share K, the time that a KILL may take.
  habits.longest_kill = std::max<Duration>(100ms, ttl / 100) * (busy_machine_ ? 40 : 5) / 100;
  return habits;
}

// Some of the names, in any order, so that two may claim the same ones the other way round.
Wants Simulation::any_wants(const Client& client) {
  Wants wants{.names = {}};
  for (NameId name = 0; name < names_; ++name)
    if (dice_.one_in(2))
      wants.names.insert(
          wants.names.begin() + dice_.up_to(1) * std::min(1, static_cast<int>(wants.names.size())),
          name);
  if (wants.names.empty()) wants.names.push_back(0);
  Custom custom = custom_;
  if (custom == Custom::anything) custom = static_cast<Custom>(dice_.up_to(2));
  if (custom == Custom::pairs) wants.mode = dice_.percent(75) ? Mode::shared : Mode::exclusive;
  if (custom == Custom::slots && !dice_.one_in(8)) wants.mode = Mode::slots;
  if (wants.mode == Mode::slots) wants.slots = client.slots;
  if (dice_.one_in(2)) wants.once_per = once_per_;
  return wants;
}

// In a fifth of the worlds: half of those who name several want one of them.
void Simulation::want_one(Wants& wants) {
  if (seed_ % 5 != 1 || wants.names.size() < 2 || wants.once_per > 0ns) return;
  wants.one = dice_.one_in(2);
}

void Simulation::add_limits(RunTerms& terms, const Wants& wants) {
  const Duration ttl = terms.lease.ttl();
  terms.once_per = wants.once_per;
  terms.renew = !dice_.one_in(12);
  if (dice_.one_in(8)) terms.max_hold = dice_.between(1ms, 2 * ttl);
  if (dice_.one_in(2)) terms.min_hold = longest_keep_;
}

RunSetting Simulation::setting(const Client& client) {
  const Duration ttl = client.lease.ttl();
  AcquireTerms acquire{.wait = {},
                       .connect_timeout = dice_.between(100ms, 5s),
                       .outage_limit = dice_.between(1s, 30s)};
  if (dice_.one_in(3)) acquire.wait = dice_.one_in(3) ? 0s : dice_.between(0s, 2 * ttl);
  return {.terms = {.lease = client.lease, .acquire = acquire},
          .seed = dice_.next(),
          .habits = habits(client.lease),
          .slowest_turn = std::max<Duration>(100ms, ttl / 100) * (busy_machine_ ? 30 : 2) / 100,
          .cannot_start = dice_.one_in(40),
          .hearing = client.hearing};
}

Hearing Simulation::any_hearing() {
  if (!dice_.one_in(4)) return Hearing::all;
  return dice_.one_in(2) ? Hearing::no_changes : Hearing::nothing;
}

void Simulation::start_run(Client& client) {
  --client.runs_left;
  const std::string who = client.name + std::to_string(k_runs - client.runs_left);
  RunSetting how = setting(client);
  Wants wants = any_wants(client);
  add_limits(how.terms, wants);
  want_one(wants);
  if (scene_.healed) be_the_last(how.terms, wants);
  const HoldId hold = scene_.judge.new_hold({.who = who,
                                             .terms = how.terms,
                                             .wants = wants,
                                             .clock = client.clock,
                                             .hears = client.hearing == Hearing::all});
  scene_.trace.note(scene_.now(), [&] {
    std::string text = who + ": claims";
    for (const NameId name : wants.names)
      text += " " + name_text(name);
    if (wants.one) text += " (one)";
    return text + ", " + std::string(mode_word(wants.mode)) + " " + std::to_string(wants.slots);
  });
  runs_.push_back(std::make_unique<Run>(scene_, hold, client.clock, how, client.weather));
  client.run = runs_.back().get();
  client.run->on_over = [this, &client] { run_ended(client); };
  client.run->start();
}

// Who waits when all is well again has to come to all that there is.
void Simulation::be_the_last(RunTerms& terms, Wants& wants) const {
  terms.acquire.wait.reset();
  terms.min_hold = terms.once_per = wants.once_per = {};
  wants = {.names = {}};
  for (NameId name = 0; name < names_; ++name)
    wants.names.push_back(name);
}

void Simulation::run_ended(Client& client) {
  if (scene_.healed || client.runs_left == 0) return;
  const Duration pause = dice_.one_in(3) ? dice_.short_or(ttl_ / 2) : dice_.between(0ms, 5ms);
  scene_.agenda.after(pause, [this, &client] {
    if (!scene_.healed) start_run(client);
  });
}

bool Simulation::play_until(Duration when) {
  while (scene_.judge.verdict().empty() && scene_.agenda.step(when)) {
    if (++steps_ > k_most_steps)
      scene_.judge.blame("I12", 0, "too many steps: a loop that does not wait");
    if (scene_.healed && all_over()) break;
  }
  return scene_.judge.verdict().empty();
}

bool Simulation::all_over() const {
  if (onlookers_ && !onlookers_->all_over()) return false;
  return std::all_of(runs_.begin(), runs_.end(), [&](const auto& run) {
    return !run || (run->over() && !run->group().alive());
  });
}

// Everything is well again, whatever runs comes to its end, and one more waits for the lock.
void Simulation::heal() {
  scene_.healed = true;
  scene_.trace.note(scene_.now(), [] { return "all is well again"; });
  scene_.judge.no_faults_from(scene_.now());
  for (Client& client : clients_) {
    client.weather = {.calm_since = scene_.now()};
    client.runs_left = std::max(client.runs_left, 1);
  }
  scene_.server.heal();
  scene_.server.calm_since = scene_.now();
  if (onlookers_) onlookers_->heal();
  for (const auto& run : runs_) {
    if (!run) continue;
    run->link().forget_half_open();
    run->resume();
    run->group().thaw_guard();
    if (run->group().alive()) run->group().end_soon();
  }
  add_client(seed_ * 1000 + 999);
  clients_.back().name = "probe";
  start_run(clients_.back());
  probe_ = clients_.back().run;
  look_for_movement();
}

void Simulation::look_for_movement() {
  if (probe_->waits()) {
    Duration longest = onlookers_ ? ttl_ : Duration{};
    for (const Client& client : clients_)
      longest = std::max(longest, client.lease.ttl());
    // Its end, and the turn of somebody who has not recovered yet (judge.cpp).
    longest = std::max(longest, longest_keep_);
    scene_.judge.expect_movement(longest * 102 / 100 + 1500ms + 4500ms);
  }
  scene_.agenda.after(100ms, [this] { look_for_movement(); });
}

Report Simulation::play() {
  for (Client& client : clients_)
    start_run(client);
  nemesis_->start();
  if (onlookers_) onlookers_->start();
  const Duration end = dice_.between(20 * ttl_, 60 * ttl_);
  if (play_until(end)) {
    heal();
    const Duration most = end + 40 * ttl_ + 120s;
    if (play_until(most) && !all_over()) {
      scene_.judge.blame("I12", probe_->hold(), "a run that does not end");
    }
    if (scene_.server.store.holds(probe_->hold()))
      scene_.judge.blame("I12", probe_->hold(), "the lock was left behind");
    scene_.judge.expect_nobody_in_line();
  }
  scene_.judge.statistics().simulated = scene_.now();
  return {scene_.judge.verdict(), scene_.trace.lines(), scene_.judge.statistics()};
}

}  // namespace

Report simulate(std::uint64_t seed, const Rules& rules, bool traced) {
  return Simulation(seed, rules, traced).play();
}

}  // namespace dlock::sim
