// SPDX-License-Identifier: MIT
// The part of a RunSession that watches the hold between two renewals, so that a lock that was
// deleted, overwritten or revoked is noticed at once. It saves time and decides nothing: news lead
// to a check, and only the answer of the store counts.
#include "core/run_session.hpp"

namespace dlock {

using namespace std::chrono_literals;

namespace {

constexpr Duration k_watch_again_after = 1s;

}  // namespace

// Not so late that it could keep the renewal from its time.
std::optional<Time> RunSession::watch_hold_at() const {
  if (news_ != News::later || !may_ask_about_lease() || retry_renew_at_) return {};
  if (watch_hold_from_ + terms_.lease.call_limit() > clock_->renew_at()) return {};
  return watch_hold_from_;
}

void RunSession::handle_hold_watched(const Result<Watching>& answer, Time now) {
  if (!has_child()) return;  // then something else is asked already
  asking_ = false;
  if (answer && answer->blind_because.empty()) {
    news_ = News::on;
    // What happened before is seen by this; and the watching counts from it.
    return check_hold(now);
  }
  if (!answer && answer.error().code != Errc::denied && answer.error().code != Errc::refused) {
    watch_hold_from_ = clock_->renew_at();  // the renewal is more important
    return;
  }
  news_ = News::off;
  say({.kind = Notice::Kind::blind, .text = answer ? answer->blind_because : answer.error().text});
}

// After a renewal or a check that found the hold well.
void RunSession::listen() {
  if (news_ != News::on || !may_ask_about_lease()) return;
  listening_ = true;
  actions_.push_back(
      action::Ask{.what = action::Ask::What::await_hand_off, .limit = clock_->renew_at()});
}

void RunSession::handle_hold_news(const Result<HandOff>& answer, Time now) {
  listening_ = false;
  if (!has_child()) return;
  if (!answer) {
    if (answer.error().code == Errc::cancelled) return;
    news_ = News::later;
    watch_hold_from_ = now + k_watch_again_after;
    return;
  }
  if (*answer != HandOff::timed_out) check_hold(now);
}

// Near the time of the renewal that is the better question.
void RunSession::check_hold(Time now) {
  if (!may_ask_about_lease()) return;
  const Time limit = now + terms_.lease.call_limit();
  ask(limit > clock_->renew_at() ? action::Ask::What::renew : action::Ask::What::check, limit);
}

}  // namespace dlock
