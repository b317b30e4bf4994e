// SPDX-License-Identifier: MIT
// The store of a World: what it answers as its script says, and what a session may ask of it.
#include "base/assert.hpp"

#include <algorithm>
#include <utility>

#include "support/scripted_world.hpp"
#include "support/world_words.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

void World::act(const action::Ask& ask) {
  check_ask(ask);
  asked_.emplace_back(ask, since_start());
  if (!hides_news(ask.what)) note(ask_text(ask));
  store_.ask(ask, transcript_.size() - 1, now_);
}

void World::check_ask(const action::Ask& ask) {
  const bool child_there = child_ == ChildState::running || child_ == ChildState::leader_dead;
  if (ask.what == What::release || ask.what == What::undo || ask.what == What::leave) {
    require(!child_there, "released before the child and its group are gone");
    gave_back_ = true;
  } else if (kill_at_) {
    require(child_there, "the store is asked about a hold that is over");
    require(!told_lost_, "the store is asked about a hold that is lost");
    require(script_.renew || ask.what != What::renew, "a lease that ends by plan is renewed");
    require(now_ < *safe_until_ || kills_ > 1 || script_.on_lost == OnLost::warn,
            "the store is asked about a hold whose lease has ended");
  }
  if (ask.what == What::watch_hold) {
    require(!no_news_, "news of the hold are asked for again where there are none");
  }
  if (const action::Ask* const running = store_.running()) {
    const bool behind = running->what == What::await_hand_off || !child_there;
    require(behind, "asked while something else is");
  }
}

void World::act(const action::CancelAsk& /*cancel*/) {
  store_.cancel(now_);
}

std::optional<StoreAnswer> World::despite_cancel(What what) {
  if (what != What::acquire || !script_.grant_despite_cancel) return {};
  held_ = true;
  return event::Acquired{AcquireReply(grant())};
}

Grant World::grant() const {
  Grant grant{.holds = {}, .sent_at = now_, .complete = script_.complete};
  for (const std::string& name : script_.names) {
    grant.holds.push_back({.name = *LockName::parse(name),
                           .owner = "owner",
                           .serial = "serial",
                           .token = 7 + grant.holds.size()});
  }
  return grant;
}

Refusal World::refusal_now(bool stands) const {
  Refusal refusal = script_.refusal;
  for (const auto& [from, place] : script_.places) {
    if (since_start() < from) break;
    refusal.place = stands ? place : 0;
    refusal.holding.waiting = place - (stands ? 0 : 1) + script_.waiting_behind;
  }
  if (script_.lease_ends) {
    const Duration left = std::max<Duration>(*script_.lease_ends - since_start(), 0s);
    if (refusal.holding.kind == Holding::Kind::none)
      refusal.turn_left = left;
    else
      refusal.holding.lease_left = left;
  }
  return refusal;
}

StoreAnswer World::carry_out_ask(const action::Ask& ask) {
  switch (ask.what) {
    case What::acquire:
      if (script_.done_from && since_start() >= *script_.done_from) {
        return event::Acquired{AcquireReply(Done{script_.done_ago})};
      }
      if (!script_.free_from || since_start() < *script_.free_from) {
        in_line_ = in_line_ || ask.queueing != Queueing::no;
        return event::Acquired{AcquireReply(refusal_now(in_line_))};
      }
      held_ = true;
      in_line_ = false;
      return event::Acquired{AcquireReply(grant())};
    case What::watch:
      if (script_.watch_error) return event::Watched{*script_.watch_error};
      return event::Watched{Watching{ask.front ? script_.untracked_because : ""}};
    case What::watch_hold:
      if (script_.watch_error) return event::Watched{*script_.watch_error};
      return event::Watched{Watching{script_.untracked_because}};
    case What::await_hand_off:
      return event::HandedOff{HandOff::timed_out};
    case What::renew:
    case What::check: {
      RenewReply reply{.sent_at = now_};
      if (ask.what == What::check) reply.verdict = RenewVerdict::held;
      if (script_.revoked_from && since_start() >= *script_.revoked_from) {
        reply.verdict = RenewVerdict::revoked;
        reply.revoked_by = "ann@host";
      }
      if (script_.lost_from && since_start() >= *script_.lost_from) {
        reply.verdict = RenewVerdict::lost;
        reply.holding = {.kind = Holding::Kind::lock, .type = "hash", .owners = {{"bob:1", "1"}}};
        reply.some_left = script_.names.size() > 1;
        held_ = reply.some_left;
      }
      return event::Renewed{reply};
    }
    case What::leave:
      in_line_ = false;
      return event::Released{ReleaseVerdict::not_held};
    case What::undo:
      in_line_ = false;
      break;
    case What::release:
      break;
    case What::inspect:  // a run asks for neither
    case What::call:
      DLOCK_ASSERT(false);
  }
  const bool all = held_ && !(script_.lost_from && since_start() >= *script_.lost_from);
  const auto verdict = all ? ReleaseVerdict::released : ReleaseVerdict::not_held;
  held_ = false;
  return event::Released{script_.release_verdict.value_or(verdict)};
}

void World::answer_ask() {
  PlayedStore::Answered done = store_.answer(now_);
  if (!hides_news(done.ask.what)) transcript_[done.entry] += mark_of(done.answer);
  if (const auto* watched = std::get_if<event::Watched>(&done.answer); watched && kill_at_) {
    const bool never = !watched->answer && (watched->answer.error().code == Errc::refused ||
                                            watched->answer.error().code == Errc::denied);
    no_news_ = never || (watched->answer && !watched->answer->untracked_because.empty());
  }
  if (auto* renewed = std::get_if<event::Renewed>(&done.answer); renewed && renewed->answer) {
    const RenewReply& reply = *renewed->answer;
    told_lost_ = told_lost_ || (reply.verdict == RenewVerdict::lost && !reply.some_left);
    if (reply.verdict == RenewVerdict::renewed && safe_until_) {
      safe_until_ = std::max(*safe_until_, LeaseClock(lease_, reply.sent_at).safe_until());
    }
    if (reply.verdict == RenewVerdict::renewed && term_at_ && now_ < *term_at_) {
      LeaseClock clock(lease_, reply.sent_at);
      kill_at_ = std::max(*kill_at_, clock.kill_at());
      term_at_ = std::max(*term_at_, clock.term_at());
    }
  }
  if (auto* acquired = std::get_if<event::Acquired>(&done.answer); acquired && acquired->answer) {
    if (const auto* grant = std::get_if<Grant>(&*acquired->answer)) {
      const LeaseClock clock(lease_, grant->sent_at);
      kill_at_ = clock.kill_at();
      term_at_ = clock.term_at();
      safe_until_ = clock.safe_until();
      granted_at_ = now_;
    }
  }
  feed(run_event(std::move(done.answer)));
}

}  // namespace dlock::test
