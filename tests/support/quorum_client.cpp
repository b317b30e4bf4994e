// SPDX-License-Identifier: MIT
#include "support/quorum_client.hpp"

#include <utility>

namespace dlock::test {

using quorum::Ask;
using quorum::QuorumClaim;
using quorum::QuorumRelease;
using quorum::QuorumRenewal;
using namespace std::chrono_literals;

namespace {

quorum::Members members_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i)
    names.push_back("s" + std::to_string(i));
  return quorum::Members(names);
}

}  // namespace

QuorumClient::QuorumClient(QuorumWorld& world, std::size_t number)
    : world_(world),
      number_(number),
      members_(members_of(world.terms().servers)),
      jitter_(number),
      lines_(world.terms().servers) {}

std::function<void()> QuorumClient::own(std::function<void()> what) {
  return [this, process = process_, what = std::move(what)] {
    if (process != process_) return;
    if (world_.agenda_.now() >= frozen_until_) return what();
    world_.agenda_.at(frozen_until_, own(what));
  };
}

void QuorumClient::later(Duration pause, std::function<void()> what) {
  world_.agenda_.after(pause, own(std::move(what)));
}

void QuorumClient::begin() {
  ++process_;
  ++drives_;
  world_.judge_.on_end(number_);
  members_ = members_of(world_.terms().servers);
  rounds_ = {};
  lines_.assign(lines_.size(), {});
  holds_.clear();
  claiming_ = false;
  is_over_ = nullptr;
  if (finishing_) return;
  later(world_.between(0ms, 50ms), [this] { claim(); });
}

void QuorumClient::send(const quorum::Asks& asks) {
  for (const Ask& ask : asks)
    lines_[ask.server].waiting.push_back({ask, drives_});
  for (std::size_t i = 0; i < lines_.size(); ++i)
    pump(i);
}

void QuorumClient::pump(std::size_t server) {
  ServerLine& line = lines_[server];
  if (line.busy || line.waiting.empty()) return;
  const Sent sent = line.waiting.front();
  line.waiting.pop_front();
  line.busy = true;
  world_.send(sent.ask, [this, sent, process = process_](const quorum::Answer& answer) {
    if (process == process_) own([this, sent, answer] { hear(sent, answer); })();
  });
}

void QuorumClient::hear(const Sent& sent, const quorum::Answer& answer) {
  const auto& [ask, drive] = sent;
  lines_[ask.server].busy = false;
  send(members_.heard(ask, answer));
  if (drive == drives_ && is_over_ && !is_over_()) send(on_answer_(ask, answer));
  pump(ask.server);
  settle();
}

template <class Machine>
void QuorumClient::drive(std::shared_ptr<Machine> machine, std::function<void(Machine&)> over) {
  ++drives_;
  on_answer_ = [=, this](const Ask& ask, const quorum::Answer& answer) {
    return machine->on_answer(ask, answer, world_.agenda_.now());
  };
  on_time_ = [=, this] { return machine->on_time(world_.agenda_.now()); };
  deadline_ = [=] { return machine->next_deadline(); };
  is_over_ = [=] { return machine->outcome().has_value(); };
  over_ = [=] { over(*machine); };
  send(machine->start());
  settle();
}

// If the running machine has ended, goes on with what comes after it. Otherwise sets a timer for
// its next deadline.
void QuorumClient::settle() {
  if (!is_over_) return;
  if (is_over_()) {
    is_over_ = nullptr;
    const auto over = std::move(over_);
    return over();
  }
  const auto tick = own([this, drive = drives_] {
    if (drive != drives_ || !is_over_ || is_over_()) return;
    if (world_.agenda_.now() < deadline_()) return;
    send(on_time_());
    settle();
  });
  if (timer_ == std::pair(drives_, deadline_())) return;
  timer_ = {drives_, deadline_()};
  world_.agenda_.at(std::max(deadline_(), world_.agenda_.now()), tick);
}

void QuorumClient::rest() {
  claiming_ = false;
  holds_.clear();
  world_.judge_.on_end(number_);
  // The next run is a new process, or the same process claims again.
  if (finishing_) return;
  const bool ends = world_.one_in(2);
  later(world_.between(0ms, 200ms), [this, ends] { ends ? begin() : claim(); });
}

void QuorumClient::claim() {
  if (finishing_) return;
  const bool is_acquire = world_.one_in(2);
  const OwnerId owner = make_owner_id(static_cast<long>(number_) + 1);
  claim_ = {.names = {*LockName::parse("a")},
            .owner = owner,
            .serial = is_acquire ? serial_of(owner) : make_hold_serial(),
            .ttl = world_.terms().ttl,
            .who = {.host = "h", .pid = 1, .user = "u", .command = "", .reason = ""},
            .ancestors = {}};
  ask_for_round(/*leader_first=*/false);
}

void QuorumClient::ask_for_round(bool leader_first) {
  const Time now = world_.agenda_.now();
  if (world_.mishap(20)) frozen_until_ = now + world_.between(0ms, world_.terms().ttl * 3 / 2);
  round_ = rounds_.round_of(claim_);
  round_.least_uptime = world_.terms().delay;
  round_.proposes = world_.proposed_token();
  claiming_ = holds_.empty();
  const bool waits = world_.terms().lines && holds_.empty();
  const auto machine = std::make_shared<QuorumClaim>(
      members_,
      quorum::ClaimTerms{.round = round_,
                         .queueing = waits ? Queueing::polling : Queueing::no,
                         .leader_first = waits && leader_first,
                         .limit = now + world_.terms().ttl / 4},
      jitter_,
      now);
  drive<QuorumClaim>(machine, [this](QuorumClaim& ended) { take_reply(ended); });
  if (!world_.mishap(30)) return;
  // The user gives up waiting.
  later(world_.between(0ms, 5ms), [this, machine, drive = drives_] {
    if (drive != drives_ || !is_over_) return;
    is_over_ = nullptr;
    ++drives_;
    machine->abandon();
    if (machine->used_up()) rounds_.next();
    after_refusal();
  });
}

void QuorumClient::take_reply(QuorumClaim& machine) {
  if (machine.used_up()) rounds_.next();
  const auto& reply = *machine.outcome();
  if (const auto* const grant = reply ? std::get_if<Grant>(&*reply) : nullptr)
    return take_grant(*grant);
  after_refusal();
}

void QuorumClient::after_refusal() {
  if (!holds_.empty()) return hold_on();  // the claim was a repetition
  if (finishing_ || world_.mishap(20)) return rest();
  later(world_.between(2ms, 80ms), [this] { ask_for_round(world_.one_in(2)); });
}

// Takes a grant if enough of its lease is left.
void QuorumClient::take_grant(const Grant& grant) {
  const Time now = world_.agenda_.now();
  const bool again = !holds_.empty();
  claiming_ = false;
  holds_ = grant.holds;
  granted_ = true;
  const Time until = believed_from(grant.sent_at);
  if (now >= until) return release(2);
  world_.judge_.on_grant(number_, holds_.front(), until, now);
  believes_until_ = until;
  if (!again) wants_until_ = now + world_.between(0ms, world_.terms().ttl * 4);
  if (!again && world_.mishap(20))  // the answer was lost on its way to the client
    return later(world_.between(0ms, world_.terms().ttl * 2), [this] { ask_for_round(false); });
  hold_on();
}

Time QuorumClient::believed_from(Time sent_at) const {
  return sent_at + world_.terms().ttl - world_.terms().ttl / 100;
}

void QuorumClient::hold_on() {
  if (world_.mishap(40)) return begin();  // the process disappears
  if (finishing_) return release(2);
  const Duration pause = world_.terms().ttl / 3;
  later(world_.between(pause * 3 / 4, pause), [this] {
    const Time now = world_.agenda_.now();
    if (now >= wants_until_ || now >= believes_until_) return release(2);
    if (world_.mishap(15)) return ask_for_round(false);
    renew();
  });
}

void QuorumClient::renew() {
  const Time now = world_.agenda_.now();
  if (world_.mishap(20)) frozen_until_ = now + world_.between(0ms, world_.terms().ttl * 3 / 2);
  const Ask::What what = world_.one_in(6) ? Ask::What::check : Ask::What::renew;
  const auto machine =
      std::make_shared<QuorumRenewal>(members_, what, holds_, now + world_.terms().ttl / 10);
  drive<QuorumRenewal>(machine, [this, what](QuorumRenewal& ended) {
    const auto& reply = *ended.outcome();
    if (reply && reply->verdict == RenewVerdict::lost) return release(1);
    // The lease has ended by our clock, so the command was killed, whatever the servers say.
    if (world_.agenda_.now() >= believes_until_) return release(1);
    if (reply && what == Ask::What::renew) {
      believes_until_ = std::max(believes_until_, believed_from(reply->sent_at));
      world_.judge_.on_renewal(number_, believes_until_, world_.agenda_.now());
    }
    hold_on();
  });
}

void QuorumClient::release(int tries) {
  world_.judge_.on_end(number_);
  const Time now = world_.agenda_.now();
  const auto machine = std::make_shared<QuorumRelease>(
      members_, holds_, ReleaseOptions{}, now, now + world_.terms().ttl / 10);
  drive<QuorumRelease>(machine, [this, tries](QuorumRelease& ended) {
    if (*ended.outcome() || tries == 0) return rest();
    later(world_.between(1ms, 50ms), [this, tries] { release(tries - 1); });
  });
}

}  // namespace dlock::test
