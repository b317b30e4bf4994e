// SPDX-License-Identifier: MIT
#include "core/patience.hpp"

#include <algorithm>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// The least time for the last try, before a store that never answered is given up.
constexpr Duration k_last_try = 50ms;

}  // namespace

bool worth_another_try(Errc code, bool had_contact, bool once) {
  switch (code) {
    case Errc::bad_usage:
    case Errc::bad_config:
    case Errc::denied:
    case Errc::lost:
    case Errc::system:
      return false;
    case Errc::no_such_host:
    case Errc::refused:
    case Errc::protocol:
      return had_contact;
    case Errc::not_listening:
      return had_contact || !once;
    case Errc::unconfirmed:
      return !once;
    case Errc::unavailable:
    case Errc::timed_out:
    case Errc::cancelled:
      return true;
  }
  return true;
}

bool is_away(const Error& error) {
  if (reach_of(error) != Reach::nothing) return false;
  switch (error.code) {
    case Errc::not_listening:
    case Errc::unavailable:
    case Errc::timed_out:
      return true;
    case Errc::bad_usage:
    case Errc::bad_config:
    case Errc::no_such_host:
    case Errc::unconfirmed:
    case Errc::refused:
    case Errc::lost:
    case Errc::denied:
    case Errc::protocol:
    case Errc::cancelled:
    case Errc::system:
      break;
  }
  return false;
}

Time Patience::ask(Time now) {
  asked_at_ = now;
  const Time limit = now + terms_.longest_try;
  if (outage_ && !had_contact())
    return std::min(limit, std::max(outage_->give_up, now + k_last_try));
  if (!terms_.until) return limit;
  return std::min(limit, std::max(*terms_.until, now + std::min<Duration>(terms_.longest_try, 1s)));
}

void Patience::answered() {
  asked_at_.reset();
  outage_.reset();
  terms_.had_contact = true;
}

std::optional<Time> Patience::failed(const Error& error, Duration pause, Time now) {
  asked_at_.reset();
  if (!worth_another_try(error.code, had_contact(), terms_.once)) return {};
  const Time since = outage_ ? outage_->since : had_contact() ? now : started_at_;
  outage_ = Outage{.since = since, .give_up = give_up_at(since), .text = error.text};
  if (now >= outage_->give_up) return {};
  return std::min(now + pause, outage_->give_up);
}

std::optional<Outage> Patience::outage() const {
  if (outage_ || !asked_at_) return outage_;
  return Outage{.since = *asked_at_, .give_up = give_up_at(*asked_at_), .text = {}};
}

Time Patience::give_up_at(Time since) const {
  const Time end = had_contact() ? since + terms_.outage : started_at_ + terms_.first_contact;
  return terms_.until ? std::min(end, *terms_.until) : end;
}

}  // namespace dlock
