// SPDX-License-Identifier: MIT
#include "store/quorum/quorum_store.hpp"

#include "base/text.hpp"
#include "base/wall_clock.hpp"
#include "core/quorum_claim.hpp"
#include "core/quorum_hold.hpp"
#include "store/quorum/quorum_view.hpp"
#include "store/server_search.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace dlock {

using quorum::Ask;
using namespace std::chrono_literals;

namespace {

quorum::Answer answer_of(LockStore& store, const Ask& ask) {
  switch (ask.what) {
    case Ask::What::acquire:
      return store.acquire(ask.claim, ask.queueing, ask.limit);
    case Ask::What::raise:
      return store.raise(ask.holds, ask.limit);
    case Ask::What::renew:
      return store.renew(ask.holds, ask.limit);
    case Ask::What::check:
      return store.check(ask.holds, ask.limit);
    case Ask::What::release:
      return store.release(ask.holds, ask.release_options, ask.limit);
  }
  DLOCK_ASSERT(false);
}

// Returns one server's answer as a vote; `seen` returns the state of the lock in the answer.
template <class T>
Vote vote_of(const std::string& server, const Result<T>& answer, const Holding& (*seen)(const T&)) {
  Vote vote{.server = server, .trouble = {}, .holding = {}};
  if (answer) {
    vote.holding = seen(*answer);
  } else {
    vote.trouble = answer.error().text;
  }
  return vote;
}

const Holding& seen_now(const Holding& holding) {
  return holding;
}

const Holding& seen_before(const RevokeReply& reply) {
  return reply.before;
}

// A server that takes longer than this to begin a watch is not used as the leader.
constexpr Duration k_watch_takes = 1s;

bool may_be_cut(Ask::What what) {
  return what != Ask::What::raise && what != Ask::What::release;
}

}  // namespace

Result<std::unique_ptr<LockStore>> QuorumStore::open(
    const std::vector<MemberFiber::Opener>& servers, const Terms& terms) {
  DLOCK_ASSERT(servers.size() >= quorum::k_least && servers.size() <= quorum::k_most);
  auto all = QuorumServers::open(servers, terms.interrupt);
  if (!all) return all.error();
  return std::unique_ptr<LockStore>(new QuorumStore(std::move(*all), terms));
}

QuorumStore::QuorumStore(std::unique_ptr<QuorumServers> servers, const Terms& terms)
    : delay_(terms.delay),
      jitter_(terms.seed),
      members_(servers->names()),
      stands_(servers->size()),
      servers_(std::move(servers)) {
  for (const std::string& name : servers_->names())
    where_ += (where_.empty() ? "" : ", ") + name;
}

StoreTraits QuorumStore::traits() const {
  StoreTraits traits = servers_->store(0).traits();
  traits.slots = false;
  traits.supersede = false;  // each server may have another order of arrival
  traits.one_of = false;     // each server would choose a name for itself
  traits.replicas = false;
  return traits;
}

Result<std::string> QuorumStore::key_of(const LockName& name) const {
  return servers_->store(0).key_of(name);
}

void QuorumStore::send(const quorum::Asks& asks) {
  for (const Ask& ask : asks) {
    const auto letter = [this, drive = drives_, ask](const quorum::Answer& answer) {
      send(members_.heard(ask, answer));
      if (drive == drives_ && machine_) send(machine_(ask, answer));
    };
    const bool posted = servers_->post(
        ask.server,
        [letter, ask](LockStore& store) {
          return [letter, answer = answer_of(store, ask)] { letter(answer); };
        },
        may_be_cut(ask.what));
    if (posted) continue;
    const Error silent{Errc::timed_out, "no answer from " + members_[ask.server].name + " so far"};
    servers_->tell([letter, answer = quorum::answer_with(ask.what, silent)] { letter(answer); });
  }
}

template <class Machine>
auto QuorumStore::drive(Machine& machine) -> std::decay_t<decltype(*machine.outcome())> {
  ++drives_;
  machine_ = [&](const Ask& ask, const quorum::Answer& answer) {
    if (machine.outcome()) return quorum::Asks();
    return machine.on_answer(ask, answer, BootClock::now());
  };
  send(machine.start());
  bool going_on = true;
  while (!machine.outcome() && going_on) {
    going_on = servers_->wait(machine.next_deadline());
    const Time now = BootClock::now();
    if (going_on && !machine.outcome() && now >= machine.next_deadline())
      send(machine.on_time(now));
  }
  machine_ = nullptr;
  if (machine.outcome()) return *machine.outcome();
  return stopped_waiting("the servers");
}

template <class T>
std::vector<Result<T>> QuorumStore::ask_each(const QuorumServers::Call<T>& call,
                                             std::size_t needed,
                                             Time limit) {
  auto answers = servers_->ask_each<T>(call, needed, limit);
  std::vector<Result<T>> all;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Error silent{Errc::timed_out, "no answer from " + members_[i].name + " in time"};
    all.push_back(answers[i] ? std::move(*answers[i]) : Result<T>(silent));
    members_[i].trouble = all[i] ? std::string() : all[i].error().text;
  }
  return all;
}

template <class T>
Result<void> QuorumStore::enough(const std::vector<Result<T>>& answers, std::size_t needed) const {
  const std::size_t spare = answers.size() - needed;
  std::vector<Error> errors;
  for (const Result<T>& one : answers)
    if (!one) errors.push_back(one.error());
  if (errors.size() <= spare) return {};
  return quorum::failed_servers(errors, answers.size(), spare, "did not answer");
}

template <class T>
std::vector<Vote> QuorumStore::votes_of(const std::vector<Result<T>>& answers,
                                        const Holding& (*seen)(const T&)) const {
  std::vector<Vote> votes;
  for (std::size_t i = 0; i < answers.size(); ++i)
    votes.push_back(vote_of(members_[i].name, answers[i], seen));
  return votes;
}

Result<AcquireReply> QuorumStore::acquire(const Claim& claim, Queueing queueing, Time limit) {
  if (claim.one_from)
    return Error{Errc::bad_usage, "each server of a quorum would choose a name for itself"};
  if (claim.mode == Mode::slots)
    return Error{Errc::bad_usage,
                 "a majority of servers cannot count slots; use one URL, or one lock name for "
                 "each slot"};
  auto reply = try_round(claim, queueing, limit);
  // If another server leads now, the watch has to move there: the line of that server would drop a
  // listening waiter that has no subscription there.
  if (queueing != Queueing::listening || watched_ == members_.leader()) return reply;
  if (!reply || !std::holds_alternative<Refusal>(*reply)) return reply;
  if (auto watching = watch(claim, front_, limit); !watching) return watching.error();
  return try_round(claim, queueing, limit);
}

Result<AcquireReply> QuorumStore::try_round(const Claim& claim, Queueing queueing, Time limit) {
  Claim round = rounds_.round_of(claim);
  round.least_uptime = delay_;
  // All servers are asked to grant this token. A server whose clock is ahead may grant a larger
  // token; then one more round trip gives that token to a majority.
  round.proposes = static_cast<FencingToken>(wall_us());
  const bool leader_first = queueing != Queueing::no && !std::exchange(called_, false);
  servers_->catch_up();
  servers_->cut_frozen();
  quorum::QuorumClaim machine(members_,
                              {.round = std::move(round),
                               .queueing = queueing,
                               .leader_first = leader_first,
                               .limit = limit},
                              jitter_,
                              BootClock::now());
  auto reply = drive(machine);
  if (!machine.outcome()) machine.abandon();
  if (queueing != Queueing::no) stands_[machine.line()] = true;
  if (machine.used_up()) rounds_.next();
  if (auto* const grant = reply ? std::get_if<Grant>(&*reply) : nullptr) {
    servers_->catch_up();
    grant->complete = servers_->have_answered();
    leave_other_lines(claim, queueing, limit);
  }
  return reply;
}

// Takes the claim out of the lines of the servers that did not grant it. A server that granted it
// has already done so.
void QuorumStore::leave_other_lines(const Claim& claim, Queueing queueing, Time limit) {
  for (std::size_t i = 0; i < servers_->size(); ++i) {
    if (!stands_[i] || !members_[i].holds.empty()) continue;
    servers_->post(
        i,
        [=](LockStore& store) {
          (void)store.leave(claim, queueing, limit).has_value();
          return [] {};
        },
        true);
  }
  stands_.assign(servers_->size(), false);
}

Result<RenewReply> QuorumStore::renew(const Holds& holds, Time limit) {
  return ask_about(Ask::What::renew, holds, limit);
}

Result<RenewReply> QuorumStore::check(const Holds& holds, Time limit) {
  return ask_about(Ask::What::check, holds, limit);
}

Result<RenewReply> QuorumStore::ask_about(Ask::What what, const Holds& holds, Time limit) {
  servers_->catch_up();
  // A check asks only servers that have granted the hold. The other servers may be granting it just
  // now, so no running call is ended.
  if (what == Ask::What::renew) servers_->cut_frozen();
  quorum::QuorumRenewal machine(members_, what, holds, limit);
  return drive(machine);
}

Result<ReleaseVerdict> QuorumStore::release(const Holds& holds,
                                            const ReleaseOptions& options,
                                            Time limit) {
  servers_->catch_up();
  servers_->cut_frozen();
  quorum::QuorumRelease machine(members_, holds, options, BootClock::now(), limit);
  return drive(machine);
}

Result<void> QuorumStore::leave(const Claim& claim, Queueing queueing, Time limit) {
  if (queueing == Queueing::no) return {};
  std::vector<bool> stands = std::exchange(stands_, std::vector<bool>(servers_->size()));
  if (std::none_of(stands.begin(), stands.end(), [](bool here) { return here; }))
    stands[members_.leader()] = true;
  Result<void> left;
  for (std::size_t i = 0; i < servers_->size(); ++i) {
    if (!stands[i]) continue;
    auto here = servers_->ask_one<void>(
        i, [=](LockStore& store) { return store.leave(claim, queueing, limit); }, limit);
    if (!here) left = here;
  }
  return left;
}

Result<Watching> QuorumStore::watch(const Claim& claim, bool front, Time limit) {
  front_ = front;
  called_ = false;
  for (std::size_t tries = 1;; ++tries) {
    watched_ = members_.leader();
    const Time until = std::min(limit, BootClock::now() + k_watch_takes);
    auto watching = servers_->ask_one<Watching>(
        watched_, [=](LockStore& store) { return store.watch(claim, front, until); }, until);
    if (watching || watching.error().code == Errc::cancelled) return watching;
    members_[watched_].trouble = watching.error().text;
    const bool answered =
        watching.error().code == Errc::denied || watching.error().code == Errc::refused;
    if (answered || tries == servers_->size() || BootClock::now() >= limit) return watching;
  }
}

Result<Watching> QuorumStore::watch_hold(const Holds& holds, Time limit) {
  watched_ = members_.leader();
  for (std::size_t i = servers_->size(); i-- > 0 && members_.keeps(holds);)
    if (!members_[i].holds.empty() && members_[i].trouble.empty()) watched_ = i;
  return servers_->ask_one<Watching>(
      watched_, [=](LockStore& store) { return store.watch_hold(holds, limit); }, limit);
}

Result<HandOff> QuorumStore::await_hand_off(Time until) {
  auto hand_off = servers_->ask_one<HandOff>(
      watched_,
      [=](LockStore& store) { return store.await_hand_off(until); },
      until,
      /*to_the_end=*/true);
  called_ = hand_off && *hand_off != HandOff::timed_out;
  if (!hand_off && hand_off.error().code != Errc::cancelled)
    members_[watched_].trouble = hand_off.error().text;
  return hand_off;
}

Result<Holding> QuorumStore::inspect(const LockName& name, Time limit) {
  const auto answers = ask_each<Holding>(
      [=](LockStore& store) { return store.inspect(name, limit); }, members_.needed(), limit);
  if (auto good = enough(answers, members_.needed()); !good) return good.error();
  return seen_by_majority(votes_of(answers, &seen_now));
}

Result<std::vector<std::string>> QuorumStore::list(std::string_view glob, Time limit) {
  using Names = std::vector<std::string>;
  const auto answers = ask_each<Names>(
      [glob = std::string(glob), limit](LockStore& store) { return store.list(glob, limit); },
      members_.needed(),
      limit);
  if (auto good = enough(answers, members_.needed()); !good) return good.error();
  std::set<std::string> all;
  for (const auto& one : answers)
    if (one) all.insert(one->begin(), one->end());
  return Names(all.begin(), all.end());
}

Result<RevokeReply> QuorumStore::revoke(const LockName& name,
                                        const RevokeOrder& order,
                                        Time limit) {
  const auto answers = ask_each<RevokeReply>(
      [=](LockStore& store) { return store.revoke(name, order, limit); }, members_.needed(), limit);
  if (auto good = enough(answers, members_.needed()); !good) return good.error();
  return revoked_by_majority(answers, votes_of(answers, &seen_before));
}

Result<std::optional<LastSuccess>> QuorumStore::forget(const LockName& name, Time limit) {
  using Known = std::optional<LastSuccess>;
  // If a single server remembers the success, a run may still be skipped: every server must forget
  // it.
  const auto answers = ask_each<Known>(
      [=](LockStore& store) { return store.forget(name, limit); }, members_.size(), limit);
  if (auto good = enough(answers, members_.size()); !good)
    return Error{good.error().code, "every server has to forget it, and " + good.error().text};
  Known newest;
  for (const auto& one : answers) {
    if (*one && (!newest || (*one)->since_ms > newest->since_ms)) newest = *one;
  }
  return newest;
}

Result<Holding> QuorumStore::freeze(const LockName& name, const FreezeOrder& order, Time limit) {
  const auto answers = ask_each<Holding>(
      [=](LockStore& store) { return store.freeze(name, order, limit); }, members_.needed(), limit);
  if (auto good = enough(answers, members_.needed()); !good) return good.error();
  return seen_by_majority(votes_of(answers, &seen_now));
}

Result<std::optional<Freeze>> QuorumStore::unfreeze(const LockName& name, Time limit) {
  using Known = std::optional<Freeze>;
  const auto answers = ask_each<Known>(
      [=](LockStore& store) { return store.unfreeze(name, limit); }, members_.needed(), limit);
  if (auto good = enough(answers, members_.needed()); !good) return good.error();
  Known longest;
  for (const auto& one : answers) {
    if (one && *one && (!longest || (*one)->left > longest->left)) longest = *one;
  }
  return longest;
}

}  // namespace dlock
