// SPDX-License-Identifier: MIT
#include "sim/onlookers.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {

constexpr int k_made_most = 60;  // in one world
// After its time: a try at the very end, and a slow machine.
constexpr Duration k_late_most = 1500ms;

}  // namespace

struct Onlookers::Watch {
  std::unique_ptr<Watcher> actor;
  NameId name = 0;
  std::vector<HoldId> revoked;  // force-release: it waits for these
  std::optional<Time> deadline;
  bool found = false;  // a look has found the lock free, or the revoked holders gone
  bool troubled = false;
};

struct Onlookers::Keep {
  std::unique_ptr<Keeper> actor;
  Duration ttl{};
  Time safe_until;  // by its own clock: the same sum as in ARCHITECTURE, once more
  std::optional<RenewVerdict> verdict;
  bool work_ended = false;
  bool troubled = false;

  void confirm(Time sent_at) {
    safe_until = std::max(safe_until, sent_at + ttl - ttl / 100 - 10ms);
  }
};

Onlookers::Onlookers(Scene& scene, std::uint64_t seed, Duration ttl, std::size_t names)
    : scene_(scene),
      dice_(seed * 71 + 3),
      ttl_(ttl),
      names_(names),
      clock_(dice_.between(0s, 1'000'000s), dice_.between(0ns, 9900ns).count() - 4950) {}

Onlookers::~Onlookers() = default;

void Onlookers::start() {
  after(dice_.between(0s, ttl_), [this] { begin_wait(); });
  // A holder that was revoked asks no more, and does not learn that the store forgot its lock.
  if (scene_.rules.faults == FaultClass::guaranteed)
    after(dice_.between(0s, 4 * ttl_), [this] { begin_force_release(); });
  after(dice_.between(0s, ttl_), [this] { begin_keeping(); });
}

void Onlookers::after(Duration pause, std::function<void()> what) {
  scene_.agenda.after(pause, [this, what = std::move(what)] {
    if (!scene_.healed && made_ < k_made_most) what();
  });
}

Judge::Newcomer Onlookers::newcomer(const char* what, NameId name) {
  const LeaseTerms lease = *LeaseTerms::check(ttl_, 0s);
  return {.who = what + std::to_string(++made_),
          .terms = {.lease = lease, .acquire = {}},
          .wants = {.names = {name}},
          .clock = clock_,
          .hears = false};
}

ActorSetting Onlookers::setting(HoldId hold) {
  constexpr std::array k_hearing{Hearing::all, Hearing::all, Hearing::no_changes, Hearing::nothing};
  return {.hold = hold,
          .ttl = ttl_,
          .slowest_turn = dice_.one_in(3) ? 60ms : 2ms,
          .hearing = k_hearing.at(static_cast<std::size_t>(dice_.up_to(3)))};
}

// --- wait and force-release -------------------------------------------------------------------

void Onlookers::begin_wait() {
  WatchTerms terms{
      .wait = {.wait = {}, .connect_timeout = 5s, .outage_limit = dice_.between(1s, 30s)}};
  if (dice_.one_in(3)) terms.wait.wait = dice_.one_in(4) ? 0s : dice_.between(0s, 3 * ttl_);
  const auto name = static_cast<NameId>(dice_.up_to(static_cast<int>(names_) - 1));
  watch("wait ", name, std::move(terms), {});
}

void Onlookers::begin_force_release() {
  const auto name = static_cast<NameId>(dice_.up_to(static_cast<int>(names_) - 1));
  ModelStore& store = scene_.server.store;
  const Holding before = store.inspect(name);
  std::vector<HoldId> revoked;
  for (const HoldId hold : store.holders_of(name))
    revoked.push_back(hold);
  if (revoked.empty()) return after(dice_.between(0s, ttl_), [this] { begin_force_release(); });
  store.revoke(name);
  watch("revoke ", name, revoked_terms(revoked_holders(before, {}), 5s), std::move(revoked));
}

void Onlookers::watch(const char* what,
                      NameId name,
                      WatchTerms terms,
                      std::vector<HoldId> revoked) {
  const HoldId hold = new_hold(newcomer(what, name));
  const Time now = clock_.at(scene_.now());
  watches_.push_back(std::make_unique<Watch>());
  Watch& one = *watches_.back();
  one.name = name;
  one.revoked = std::move(revoked);
  if (terms.wait.wait) one.deadline = now + *terms.wait.wait;
  // A single look may be repeated until the store must have answered, each time with as long a
  // limit.
  if (terms.wait.wait == Duration::zero()) one.deadline = now + 2 * terms.wait.connect_timeout;
  one.actor =
      std::make_unique<Watcher>(scene_, clock_, setting(hold), WatchLoop(terms, dice_.next(), now));
  one.actor->link().inspected = [this, &one] {
    Holding seen = scene_.server.store.inspect(one.name);
    const auto there = scene_.server.store.holders_of(one.name);
    const bool gone = std::none_of(one.revoked.begin(), one.revoked.end(), [&](HoldId each) {
      return std::find(there.begin(), there.end(), each) != there.end();
    });
    const bool free = scene_.server.store.is_free(one.name);
    one.found = one.found || (one.revoked.empty() ? free : gone);
    return seen;
  };
  one.actor->on_ask = [this, &one](const action::Ask& ask, Time) {
    using What = action::Ask::What;
    const bool looks =
        ask.what == What::inspect || ask.what == What::watch || ask.what == What::await_hand_off;
    if (!looks || ask.queueing != Queueing::no)
      scene_.judge.blame("X2", one.actor->hold(), "asks for more than a look");
  };
  one.actor->on_answer = [](const StoreAnswer&) {};
  one.actor->on_end = [this, &one](const WatchOutcome& outcome, Time at) {
    watch_ended(one, outcome, at);
  };
  if (one.deadline) {
    one.actor->at_local(*one.deadline + k_late_most, [this, &one] {
      if (!one.actor->over() && !one.troubled)
        scene_.judge.blame("X3", one.actor->hold(), "waits beyond its limit");
    });
  }
  trouble(one);
  one.actor->start();
}

void Onlookers::watch_ended(Watch& one, const WatchOutcome& outcome, Time now) {
  const HoldId hold = one.actor->hold();
  using Kind = WatchOutcome::Kind;
  const bool free = outcome.kind == Kind::free;
  ++(one.revoked.empty() ? scene_.judge.statistics().waits : scene_.judge.statistics().revokes);
  if (free && !one.found) scene_.judge.blame("X1", hold, "says free, and never saw it so");
  if (one.deadline && !one.troubled && now > *one.deadline + k_late_most)
    scene_.judge.blame("X3", hold, "ends beyond its limit");
  if (outcome.kind == Kind::busy && one.revoked.empty() && !one.deadline)
    scene_.judge.blame("X3", hold, "gives up, and has no limit");
  const Server& server = scene_.server;
  const bool well = !one.troubled && server.well() && server.calm_since == Duration::zero();
  if (well && scene_.rules.faults == FaultClass::guaranteed) {
    if (outcome.kind == Kind::failed) scene_.judge.blame("X6", hold, "fails, and all was well");
    if (!free && !one.revoked.empty())
      scene_.judge.blame("X6", hold, "still busy after the leases of the revoked holders");
  }
  if (one.revoked.empty()) {
    after(dice_.between(0s, ttl_ / 2), [this] { begin_wait(); });
  } else {
    after(dice_.between(ttl_, 6 * ttl_), [this] { begin_force_release(); });
  }
}

// --- renew --every ----------------------------------------------------------------------------

void Onlookers::begin_keeping() {
  const auto name = static_cast<NameId>(dice_.up_to(static_cast<int>(names_) - 1));
  Judge::Newcomer who = newcomer("keeper ", name);
  const HoldId hold = new_hold(who);
  try_to_take(std::move(who), hold);
}

// As a `dlock acquire -n` that is repeated; its way to the store is always well.
void Onlookers::try_to_take(Judge::Newcomer who, HoldId hold) {
  const Time sent_at = clock_.at(scene_.now());
  const auto reply = scene_.server.store.acquire(hold, who.wants, ttl_, Queueing::no);
  if (std::holds_alternative<Taken>(reply)) return keep(hold, who, sent_at);
  after(dice_.between(1ms, ttl_ / 3),
        [this, who = std::move(who), hold] { try_to_take(who, hold); });
}

void Onlookers::keep(HoldId hold, const Judge::Newcomer& who, Time sent_at) {
  const LeaseTerms& lease = who.terms.lease;
  const Duration most = lease.ttl() - lease.drift() - 2 * lease.call_limit();
  const RenewTerms terms{.lease = lease, .every = dice_.between(100ms, most)};
  keeps_.push_back(std::make_unique<Keep>());
  Keep& one = *keeps_.back();
  one.ttl = ttl_;
  one.confirm(sent_at);
  one.actor = std::make_unique<Keeper>(scene_, clock_, setting(hold), RenewLoop(terms, {sent_at}));
  one.actor->on_ask = [this, &one](const action::Ask& ask, Time now) {
    keeper_asks(one, ask, now);
  };
  one.actor->on_answer = [this, &one](const StoreAnswer& answer) { keeper_hears(one, answer); };
  one.actor->on_end = [this, &one](const RenewOutcome& outcome, Time now) {
    keeper_ended(one, outcome, now);
  };
  scene_.agenda.after(dice_.between(1ms, 6 * ttl_), [&one] {
    one.actor->later(0ns, [&one] {
      one.work_ended = true;
      one.actor->feed(event::ProcessEnded{});
    });
  });
  trouble(one);
  one.actor->start();
}

void Onlookers::keeper_asks(Keep& one, const action::Ask& ask, Time now) {
  const HoldId hold = one.actor->hold();
  using What = action::Ask::What;
  const bool looks =
      ask.what == What::check || ask.what == What::watch_hold || ask.what == What::await_hand_off;
  if (!looks && ask.what != What::renew) scene_.judge.blame("X2", hold, "does more than renew");
  if (one.verdict) scene_.judge.blame("X5", hold, "renews after a verdict against it");
  if (now >= one.safe_until) scene_.judge.blame("X5", hold, "renews after the end of its lease");
}

void Onlookers::keeper_hears(Keep& one, const StoreAnswer& answer) {
  const auto* const renewed = std::get_if<event::Renewed>(&answer);
  if (renewed == nullptr || !renewed->answer) return;
  const RenewReply& reply = *renewed->answer;
  if (reply.verdict == RenewVerdict::lost || reply.verdict == RenewVerdict::revoked) {
    one.verdict = reply.verdict;
    return;
  }
  if (reply.verdict == RenewVerdict::held) return;
  if (one.actor->shown() < one.safe_until) one.confirm(reply.sent_at);
  ++scene_.judge.statistics().renewals;
  one.actor->at_local(one.safe_until + k_late_most, [this, &one] {
    const bool late = one.actor->shown() >= one.safe_until + k_late_most;
    if (late && !one.actor->over() && !one.troubled)
      scene_.judge.blame("X3", one.actor->hold(), "goes on after the end of its lease");
  });
}

void Onlookers::keeper_ended(Keep& one, const RenewOutcome& outcome, Time now) {
  const HoldId hold = one.actor->hold();
  const bool lapsed = now >= one.safe_until;
  if (outcome.lost && !one.verdict && !lapsed)
    scene_.judge.blame("X6", hold, "ends as lost without a reason");
  if (!outcome.lost && !one.work_ended)
    scene_.judge.blame("X6", hold, "ends, and its process lives");
  const Server& server = scene_.server;
  const bool well = !one.troubled && server.well() && server.calm_since == Duration::zero();
  if (outcome.lost && well && one.verdict != RenewVerdict::revoked &&
      scene_.rules.faults == FaultClass::guaranteed)
    scene_.judge.blame("X6", hold, "loses its lease, and all was well");
  scene_.agenda.after(dice_.between(0s, 50ms), [this, hold] { release(hold); });
  after(dice_.between(0s, ttl_), [this] { begin_keeping(); });
}

void Onlookers::release(HoldId hold) {
  (void)scene_.server.store.release(hold, scene_.judge.wants(hold), {});
}

// --- faults -----------------------------------------------------------------------------------

template <class One>
void Onlookers::trouble(One& one) {
  if (dice_.one_in(2)) return;
  const Duration from = dice_.between(0s, 2 * ttl_);
  const Duration span = dice_.between(ttl_ / 4, ttl_ * 9 / 4);
  const int kind = dice_.up_to(4);
  scene_.agenda.after(from, [this, &one, span, kind] {
    if (scene_.healed || one.actor->over()) return;
    one.troubled = true;
    Weather& weather = one.actor->weather();
    if (kind == 0) one.actor->freeze();
    if (kind == 1) one.actor->link().reset();
    if (kind == 2) ++weather.requests_lost;
    if (kind == 2 || kind == 3) ++weather.answers_lost;
    if (kind == 4) one.actor->link().break_ears();
    scene_.agenda.after(span, [this, &one] {
      if (scene_.healed) return;
      one.actor->weather() = {};
      one.actor->go_on();
    });
  });
}

void Onlookers::heal() {
  const auto make_well = [](auto& one) {
    one->actor->weather() = {};
    one->actor->link().forget_half_open();
    one->actor->go_on();
  };
  for (auto& one : watches_)
    make_well(one);
  for (auto& one : keeps_) {
    make_well(one);
    one->actor->later(0ns, [&keep = *one] {
      keep.work_ended = true;
      keep.actor->feed(event::ProcessEnded{});
    });
  }
}

bool Onlookers::all_over() const {
  const auto over = [](const auto& one) { return one->actor->over(); };
  return std::all_of(watches_.begin(), watches_.end(), over) &&
         std::all_of(keeps_.begin(), keeps_.end(), over);
}

}  // namespace dlock::sim
