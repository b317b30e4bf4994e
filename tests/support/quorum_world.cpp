// SPDX-License-Identifier: MIT
#include "support/quorum_world.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "support/quorum_client.hpp"

namespace dlock::test {

using quorum::Ask;
using namespace std::chrono_literals;

namespace {

constexpr Duration k_played = 12s;

}  // namespace

QuorumTerms some_quorum_terms(std::mt19937& random) {
  QuorumTerms terms;
  terms.servers = random() % 3 == 0 ? 5 : 3;
  terms.clients = 2 + random() % 4;
  terms.ttl = 1s;
  terms.delay = terms.ttl * static_cast<int>(10 + random() % 20) / 10;
  terms.trouble = std::array{1U, 5U, 20U}.at(random() % 3);
  terms.restarts = random() % 2 == 0;
  terms.jumps = random() % 3 == 0;
  terms.lines = random() % 3 == 0;
  // The clock of a server makes up for tokens that the server has forgotten.
  const Duration apart = random() % 2 == 0 ? Claim::k_token_window : Duration(60s);
  terms.clocks_apart = terms.restarts ? (terms.delay - 2 * Claim::k_token_window) * 4 / 5 : apart;
  return terms;
}

void Agenda::run(Time until) {
  while (!all_.empty() && all_.begin()->first <= until) {
    auto next = all_.extract(all_.begin());
    now_ = std::max(now_, next.key());
    next.mapped()();
  }
  now_ = until;
}

lease_table::StoreTime QuorumServer::clock(Time now) const {
  const Duration since = now.time_since_epoch();
  return lease_table::StoreTime(since + since / 1'000'000 * rate + offset);
}

quorum::Answer QuorumServer::carry_out(const Ask& ask, Time sent_at, Time now) {
  const lease_table::StoreTime clock_now = clock(now);
  const lease_table::Moment moment{
      .sent_at = sent_at, .now = clock_now, .wall_us = clock_now.time_since_epoch() / 1us};
  const lease_table::States states{&lock};
  switch (ask.what) {
    case Ask::What::acquire: {
      auto reply = lease_table::acquire(states, ask.claim, moment, ask.queueing);
      if (now - up_since >= ask.claim.least_uptime) return reply;
      return Result<AcquireReply>(Error{Errc::unavailable, "started a short time ago"});
    }
    case Ask::What::raise:
      if (lease_table::raise(states, ask.holds, moment)) return Result<void>();
      return Result<void>(Error{Errc::lost, "no record of the hold"});
    case Ask::What::renew:
      return Result<RenewReply>(lease_table::renew(states, ask.holds, moment));
    case Ask::What::check:
      return Result<RenewReply>(lease_table::check(states, ask.holds, moment));
    case Ask::What::release:
      return Result<ReleaseVerdict>(
          lease_table::release(states, ask.holds, ask.release_options, moment));
  }
  DLOCK_ASSERT(false);
}

void QuorumJudge::on_grant(std::size_t client, const Hold& hold, Time until, Time now) {
  const std::string id = hold_id(hold.owner, hold.serial);
  const bool again = granted_to == id && hold.token == token;
  if (!again && hold.token <= token)
    violation = "token " + std::to_string(hold.token) + " after " + std::to_string(token);
  token = hold.token;
  granted_to = id;
  ++grants;
  beliefs[client] = {.until = until, .holds = true};
  look(client, now);
}

void QuorumJudge::on_renewal(std::size_t client, Time until, Time now) {
  beliefs[client].until = std::max(beliefs[client].until, until);
  look(client, now);
}

void QuorumJudge::look(std::size_t client, Time now) {
  if (now >= beliefs[client].until) return;
  for (std::size_t i = 0; i < beliefs.size(); ++i) {
    if (i != client && beliefs[i].holds && now < beliefs[i].until)
      violation =
          "clients " + std::to_string(i) + " and " + std::to_string(client) + " hold the lock";
  }
}

QuorumWorld::QuorumWorld(unsigned seed) : random_(seed), terms_(some_quorum_terms(random_)) {
  for (std::size_t i = 0; i < terms_.servers; ++i)
    servers_.push_back({.offset = between(0s, terms_.clocks_apart),
                        .rate = static_cast<long>(random_() % 40) - 20,
                        .up_since = agenda_.now() - 30min});
  judge_.beliefs.resize(terms_.clients + 1);
  for (std::size_t i = 0; i < terms_.clients; ++i)
    clients_.push_back(std::make_unique<QuorumClient>(*this, i));
}

QuorumWorld::~QuorumWorld() = default;

Duration QuorumWorld::between(Duration least, Duration most) {
  return least + Duration(static_cast<Duration::rep>(
                     (std::uint64_t{random_()} << 32U | random_()) %
                     static_cast<std::uint64_t>((most - least).count() + 1)));
}

// Returns a token that a claim may propose: the time of a host whose clock differs by at most 300
// ms from that of some server.
FencingToken QuorumWorld::proposed_token() {
  const QuorumServer& server = servers_[random_() % servers_.size()];
  const lease_table::StoreTime clock = server.clock(agenda_.now()) + between(0s, 600ms) - 300ms;
  return static_cast<FencingToken>(clock.time_since_epoch() / 1us);
}

Duration QuorumWorld::latency() {
  if (calm_ || random_() % 100 >= terms_.trouble) return between(100us, 1ms);
  return one_in(4) ? between(1ms, terms_.ttl * 2) : between(1ms, terms_.ttl / 5);
}

void QuorumWorld::send(const Ask& ask, const std::function<void(quorum::Answer)>& answered) {
  const Time sent_at = agenda_.now();
  const auto done = std::make_shared<bool>(false);
  const auto answer = [done, answered](const quorum::Answer& what) {
    if (!std::exchange(*done, true)) answered(what);
  };
  agenda_.at(std::max(ask.limit, sent_at), [=] {
    answer(quorum::answer_with(ask.what, {Errc::timed_out, "no answer"}));
  });
  if (sent_at >= ask.limit || (!calm_ && random_() % 100 < terms_.trouble)) return;
  const auto arrive = [=, this] {
    QuorumServer& server = servers_[ask.server];
    if (agenda_.now() < server.up_since) {
      if (one_in(2)) answer(quorum::answer_with(ask.what, {Errc::unavailable, "it is down"}));
      return;
    }
    const quorum::Answer what = server.carry_out(ask, sent_at, agenda_.now());
    const auto* acquired = std::get_if<Result<AcquireReply>>(&what);
    if (acquired != nullptr && *acquired && std::holds_alternative<Grant>(**acquired) &&
        ask.claim.least_uptime == 0s)
      ++completed;
    if (!calm_ && random_() % 100 < terms_.trouble) return;
    agenda_.after(latency(), [=] { answer(what); });
  };
  agenda_.after(latency(), arrive);
  if (!calm_ && random_() % 200 < terms_.trouble) agenda_.after(latency(), arrive);
}

std::size_t QuorumWorld::alive_beside(std::size_t server, const OwnerId& owner, Time until) const {
  std::size_t alive = 0;
  const Time now = agenda_.now();
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const auto lease = servers_[i].lock.leases.find(owner);
    if (i == server || lease == servers_[i].lock.leases.end()) continue;
    if (lease->second.expires - servers_[i].clock(now) >= until - now) ++alive;
  }
  return alive;
}

// Returns whether the clock of this server may jump forward. A jump ends leases, and the server
// does not know that. It is allowed only if no hold and no claim needs the vote of this server.
bool QuorumWorld::may_forget(std::size_t server) const {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const QuorumClient& client = *clients_[i];
    if (client.waits_for(server)) return false;
    for (const auto& [owner, lease] : servers_[server].lock.leases) {
      if (client.claims_as(owner)) return false;
      if (!client.holds_as(owner) || !judge_.beliefs[i].holds) continue;
      if (alive_beside(server, owner, judge_.beliefs[i].until) <= servers_.size() / 2) return false;
    }
  }
  return true;
}

void QuorumWorld::break_something() {
  if (calm_) return;
  agenda_.after(between(10ms, 1s), [this] { break_something(); });
  const std::size_t which = random_() % servers_.size();
  if (terms_.restarts && one_in(3) && agenda_.now() >= servers_[which].up_since) {
    servers_[which].lock = {};
    servers_[which].up_since = agenda_.now() + between(0s, 300ms);
    ++restarted;
  }
  if (!terms_.jumps) return;
  QuorumServer& jumper = servers_.back();
  const Duration offset = between(0s, terms_.clocks_apart);
  if (offset > jumper.offset && !may_forget(servers_.size() - 1)) return;
  jumper.offset = offset;
  ++jumped;
}

bool QuorumWorld::play() {
  for (auto& client : clients_)
    client->begin();
  break_something();
  agenda_.run(agenda_.now() + k_played);
  calm_ = true;
  for (auto& client : clients_)
    client->finish();
  agenda_.run(agenda_.now() + terms_.clocks_apart + terms_.delay + 10 * terms_.ttl);
  clients_.push_back(std::make_unique<QuorumClient>(*this, terms_.clients));
  clients_.back()->begin();
  agenda_.run(agenda_.now() + 3s);
  return clients_.back()->was_granted();
}

}  // namespace dlock::test
