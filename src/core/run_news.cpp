// SPDX-License-Identifier: MIT
// The part of a RunSession that watches the hold between two renewals, so that a lock that was
// deleted, overwritten or revoked is noticed at once. It saves time and decides nothing: news lead
// to a check, and only the answer of the store counts.
#include "core/run_session.hpp"

#include <algorithm>

namespace dlock {

using namespace std::chrono_literals;

namespace {

constexpr Duration k_watch_again_after = 1s;
// A lock that many hold changes with each of them: it is looked at so often, and after a calm so
// much sooner that a few changes in a row (a nested run comes and goes) hide no loss for a moment.
constexpr Duration k_calm = 1s;
constexpr Duration k_ahead = 3 * k_calm;

}  // namespace

std::optional<Time> RunSession::look_at() const {
  return may_ask_about_lease() && !retry_renew_at_ ? look_at_ : std::nullopt;
}

// When the store has to be asked about the lease, whatever the news.
std::optional<Time> RunSession::question_at() const {
  if (!may_ask_about_lease()) return {};
  if (retry_renew_at_ || !terms_.renew) return retry_renew_at_;
  return clock_->renew_at();
}

// Then something else is more important than news.
Time RunSession::news_until() const {
  return terms_.renew ? clock_->renew_at() : clock_->kill_at();
}

// Not so late that it could keep the renewal from its time.
std::optional<Time> RunSession::watch_hold_at() const {
  if (news_ != News::later || !may_ask_about_lease() || retry_renew_at_) return {};
  if (watch_hold_from_ + terms_.lease.call_limit() > news_until()) return {};
  return watch_hold_from_;
}

void RunSession::handle_hold_watched(const Result<Watching>& answer, Time now) {
  if (!has_child()) return;  // then something else is asked already
  asking_ = false;
  if (answer && answer->untracked_because.empty()) {
    news_ = News::on;
    // What happened before is seen by this; and the watching counts from it.
    return check_hold(now);
  }
  if (!answer && answer.error().code != Errc::denied && answer.error().code != Errc::refused) {
    watch_hold_from_ = std::max(clock_->renew_at(), now + k_watch_again_after);
    return;
  }
  news_ = News::off;
  say({.kind = Notice::Kind::untracked,
       .text = answer ? answer->untracked_because : answer.error().text});
}

// After a renewal or a check that found the hold well.
void RunSession::listen() {
  if (news_ != News::on || !may_ask_about_lease()) return;
  listening_ = true;
  actions_.push_back(action::Ask{.what = action::Ask::What::await_hand_off, .limit = news_until()});
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
  if (*answer == HandOff::timed_out) return;
  if (now < news_from_) {
    look_at_ = news_from_;
  } else {
    check_hold(now);
  }
}

// Near the time of the renewal that is the better question.
void RunSession::check_hold(Time now) {
  if (!may_ask_about_lease()) return;
  look_at_.reset();
  news_from_ = std::max(news_from_, now - k_ahead) + k_calm;
  const Time limit = now + terms_.lease.call_limit();
  const bool renewal_due = terms_.renew && limit > clock_->renew_at();
  ask(renewal_due ? action::Ask::What::renew : action::Ask::What::check, limit);
}

}  // namespace dlock
