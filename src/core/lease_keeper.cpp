// SPDX-License-Identifier: MIT
#include "core/lease_keeper.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

using What = action::Ask::What;

// How long after the grant the watch of the hold begins: a run that ends sooner is not worth the
// cost of a watch.
constexpr Duration k_watch_after = 1s;
// The watch begins sooner if the hold is not complete (Grant::complete): until all servers of a
// quorum have granted their parts, the failure of one server may lose the hold.
constexpr Duration k_complete_after = 100ms;
constexpr Duration k_watch_again_after = 1s;
// Limits the checks after change messages, as a lock with many holders changes often: about one
// check per k_calm. After a quiet time a few checks may follow each other without a pause, so that
// a loss is seen at once even if a nested run has just come and gone.
constexpr Duration k_calm = 1s;
constexpr Duration k_ahead = 3 * k_calm;

std::optional<Time> earlier(std::optional<Time> a, std::optional<Time> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

LeaseKeeper::LeaseKeeper(const KeepTerms& terms, Time sent_at, Time now)
    : terms_(terms),
      clock_(terms.lease, sent_at),
      retry_(terms.lease.first_retry(), terms.lease.call_limit()),
      watch_state_(terms.watch ? WatchState::later : WatchState::off),
      watch_from_(now + (terms_.complete ? k_watch_after : k_complete_after)) {}

Time LeaseKeeper::renew_at() const {
  return clock_.sent_at() + terms_.every.value_or(terms_.lease.renew_step());
}

// Returns when to send the next renewal or, after an error, the next repetition of a request;
// nullopt: no request is due unless a change message comes.
std::optional<Time> LeaseKeeper::question_at() const {
  if (!may_ask()) return {};
  if (retry_at_ || !terms_.renew) return retry_at_;
  return renew_at();
}

std::optional<Time> LeaseKeeper::look_at() const {
  return may_ask() && !retry_at_ ? look_at_ : std::nullopt;
}

// Returns how long to wait for a change message: until the renewal is due or, without renewals,
// until the lease is about to end.
Time LeaseKeeper::watch_until() const {
  return terms_.renew ? renew_at() : clock_.kill_at();
}

// Returns when to start watching; nullopt: watching is not possible, or would delay the renewal.
std::optional<Time> LeaseKeeper::watch_at() const {
  if (watch_state_ != WatchState::later || !may_ask() || retry_at_) return {};
  if (watch_from_ + terms_.lease.call_limit() > watch_until()) return {};
  return watch_from_;
}

std::optional<Time> LeaseKeeper::next_deadline() const {
  return earlier(question_at(), earlier(look_at(), watch_at()));
}

KeepStep LeaseKeeper::on_time(Time now) {
  if (now >= question_at().value_or(Time::max())) {
    look_at_.reset();  // this request makes the planned check needless
    return ask(terms_.renew ? What::renew : What::check, now + terms_.lease.call_limit());
  }
  if (now >= look_at().value_or(Time::max())) return look(now);
  if (now >= watch_at().value_or(Time::max())) {
    return ask(What::watch_hold, std::min(now + terms_.lease.call_limit(), watch_until()));
  }
  return {};
}

KeepStep LeaseKeeper::on_renewed(const Result<RenewReply>& answer, Time now) {
  asking_ = false;
  if (!answer) {
    // An error does not say whether the hold is kept or lost. The request is repeated, and the
    // clock decides (rule 4).
    trouble_ = answer.error().text;
    if (!retry_at_) retry_.reset();
    retry_at_ = now + retry_.next();
    return {.notice = Notice{.kind = Notice::Kind::unreachable, .text = trouble_}};
  }
  KeepStep step;
  const auto moved_to = moved(answer->at);
  switch (answer->verdict) {
    case RenewVerdict::renewed:
      retry_at_.reset();
      trouble_.clear();
      clock_.confirm(answer->sent_at);
      step = listen();
      step.notice = moved_to.value_or(
          Notice{.kind = Notice::Kind::renewed, .span = clock_.safe_until() - now});
      return step;
    case RenewVerdict::held:
      retry_at_.reset();
      step = listen();
      step.notice = moved_to;
      return step;
    case RenewVerdict::revoked:
      standing_ = Standing::revoked;
      step.notice =
          Notice{.kind = Notice::Kind::revoked, .text = answer->revoked_by, .which = answer->which};
      return step;
    case RenewVerdict::lost:
      standing_ = answer->some_left ? Standing::partly_lost : Standing::lost;
      step.notice =
          Notice{.kind = Notice::Kind::lost, .which = answer->which, .holding = answer->holding};
      if (moved_to) step.notice->text = answer->at;
      if (!answer->because.empty()) {
        step.notice->text = answer->because;
        step.notice->holding.reset();
      }
      return step;
  }
  return step;
}

// Notes which server has answered. Returns a notice if this is another server than before.
std::optional<Notice> LeaseKeeper::moved(const std::string& server) {
  const std::string before = std::exchange(server_, server);
  if (before.empty() || before == server) return {};
  return Notice{.kind = Notice::Kind::moved, .text = server, .before = before};
}

KeepStep LeaseKeeper::on_watched(const Result<Watching>& answer, Time now) {
  asking_ = false;
  if (answer && answer->untracked_because.empty()) {
    watch_state_ = WatchState::on;
    // A check finds the changes that came before the watch; the watch reports the later changes.
    return look(now);
  }
  if (!answer && answer.error().code != Errc::denied && answer.error().code != Errc::refused) {
    watch_from_ = std::max(renew_at(), now + k_watch_again_after);
    return {};
  }
  watch_state_ = WatchState::off;
  const std::string& why = answer ? answer->untracked_because : answer.error().text;
  return {.notice = Notice{.kind = Notice::Kind::untracked, .text = why}};
}

KeepStep LeaseKeeper::on_change(const Result<HandOff>& answer, Time now) {
  if (!answer) {
    if (answer.error().code == Errc::cancelled) return {};
    watch_state_ = WatchState::later;
    watch_from_ = now + k_watch_again_after;
    return {};
  }
  if (*answer == HandOff::timed_out) return {};
  if (now >= look_from_) return look(now);
  look_at_ = look_from_;
  return {};
}

KeepStep LeaseKeeper::listen() const {
  if (watch_state_ != WatchState::on || !may_ask()) return {};
  return {.ask = action::Ask{.what = What::await_hand_off, .limit = watch_until()}};
}

// Checks the hold after a change; renews instead if the renewal is nearly due.
KeepStep LeaseKeeper::look(Time now) {
  if (!may_ask()) return {};
  look_at_.reset();
  look_from_ = std::max(look_from_, now - k_ahead) + k_calm;
  const Time limit = now + terms_.lease.call_limit();
  const bool renewal_due = terms_.renew && limit > renew_at();
  return ask(renewal_due ? What::renew : What::check, limit);
}

KeepStep LeaseKeeper::ask(What what, Time limit) {
  asking_ = true;
  return {.ask = action::Ask{.what = what, .limit = limit}};
}

}  // namespace dlock
