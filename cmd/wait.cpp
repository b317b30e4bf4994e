// SPDX-License-Identifier: MIT
// dlock wait: returns when a lock is free and nobody stands in line for it. It stands in no line
// itself and takes nothing, so there is nothing to undo.
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/patience.hpp"
#include "cmd/voice.hpp"
#include "core/wait_notices.hpp"

#include <unistd.h>

#include <algorithm>

namespace dlock {

using namespace std::chrono_literals;

namespace {

constexpr Duration k_look_again = 1s;  // messages can be lost, and the dead of a line tell nothing
constexpr Duration k_poll = 250ms;     // where nobody tells
constexpr Duration k_calm = 50ms;      // a lock that changes all the time is not followed
constexpr Duration k_after_lease = 20ms;

void sleep_until(Time until) {
  const Duration left = until - BootClock::now();
  if (left > 0ns) ::usleep(static_cast<useconds_t>(std::min<Duration>(left, 1s) / 1us));
}

class Watcher {
 public:
  Watcher(LockStore& store, const LockName& name, Duration connect_timeout, Time deadline)
      : store_(store),
        bystander_{.names = {name}, .owner = make_owner_id(::getpid()), .serial = "0"},
        connect_timeout_(connect_timeout),
        deadline_(deadline) {}

  Result<Holding> look() {
    const Time until = limit();
    // What happens after the look is told.
    if (!watching_) watching_ = store_.watch(bystander_, /*front=*/true, until).has_value();
    looked_at_ = BootClock::now();
    return store_.inspect(bystander_.names.front(), until);
  }

  // Until it is worth another look.
  void await(const Holding& holding, Time until) {
    const Time now = BootClock::now();
    until = std::min(until, now + (watching_ ? k_look_again : k_poll));
    if (holding.lease_left) {
      until = std::min(until, now + std::max<Duration>(*holding.lease_left, 0ms) + k_after_lease);
    }
    if (!watching_) return sleep_until(until);
    auto news = store_.await_hand_off(until);
    if (!news) watching_ = false;
    sleep_until(std::min(until, looked_at_ + k_calm));
  }

 private:
  // A look near the deadline has a second.
  Time limit() const {
    const Time now = BootClock::now();
    return std::min(now + connect_timeout_,
                    std::max(deadline_, now + std::min<Duration>(connect_timeout_, 1s)));
  }

  LockStore& store_;
  Claim bystander_;
  Duration connect_timeout_;
  Time deadline_;
  bool watching_ = false;
  Time looked_at_;
};

bool is_free(const Holding& holding) {
  return holding.kind == Holding::Kind::none && holding.waiting == 0;
}

// Says now and then whom we wait for.
class Teller {
 public:
  Teller(Voice& voice, Duration every)
      : voice_(voice), in_place_(every > 0ns), notices_(started_, every) {}

  Time next() const { return notices_.next(); }
  void tell(const Holding& holding) {
    const Time now = BootClock::now();
    away_told_ = false;
    seen_ = holding;
    if (now < next()) return;
    notices_.told(now);
    voice_.on_notice({.kind = Notice::Kind::waiting, .holding = holding, .span = now - started_});
  }

  // Of a store that has not answered since then, for a second or more: once, or in the row that
  // changes. It is tried again until `give_up`.
  void tell_away(const Error& error, Time since, Time give_up) {
    const Time now = BootClock::now();
    if (now < since + k_look_again || (away_told_ && (!in_place_ || now < next()))) return;
    away_told_ = true;
    if (in_place_) notices_.told(now);
    voice_.on_notice({.kind = Notice::Kind::store_away,
                      .text = error.text,
                      .holding = seen_,
                      .span = now - started_,
                      .seen_ago = now - since,
                      .left = std::max<Duration>(give_up - now, 0ns)});
  }

 private:
  Voice& voice_;
  bool in_place_;
  Time started_ = BootClock::now();
  WaitNotices notices_;
  bool away_told_ = false;
  std::optional<Holding> seen_;
};

}  // namespace

ExitStatus wait_command(const CommandLine& line, const Settings& settings) {
  auto names = parse_names(line.names);
  if (!names) return report(names.error(), settings);
  auto store = open_store(settings);
  if (!store) return report(store.error(), settings);
  Voice voice(*names, settings.mode, (*store)->where());
  Teller teller(voice, Voice::rewrite_every());

  const Time started = BootClock::now();
  const Time deadline = settings.wait ? started + *settings.wait : Time::max();
  const Duration patience = acquire_terms(settings).outage_limit;
  // Who only looks waits for an answer all the same.
  const bool once = settings.wait == Duration::zero();
  const Time last_look = once ? Time::max() : deadline;
  Time give_up = std::min(started + settings.connect_timeout, last_look);
  Watcher watcher(**store, names->front(), settings.connect_timeout, last_look);
  bool had_contact = false;
  Time contact = started;
  for (;;) {
    auto holding = watcher.look();
    const Time now = BootClock::now();
    if (!holding) {
      const bool again = worth_another_try(holding.error().code, had_contact, once);
      if (again && now + k_pause_between_tries < give_up) {
        teller.tell_away(holding.error(), contact, give_up);
        pause_between_tries();
        continue;
      }
      voice.end_of_wait();
      return report(
          {holding.error().code, "cannot wait for " + voice.names() + ": " + holding.error().text},
          settings);
    }
    had_contact = true;
    contact = now;
    give_up = std::min(now + patience, deadline);
    if (is_free(*holding)) break;
    if (now >= deadline) {
      voice.end_of_wait();
      voice.busy({.holding = *holding}, {});
      return static_cast<ExitStatus>(
          settings.conflict_exit_code.value_or(static_cast<int>(ExitStatus::busy)));
    }
    teller.tell(*holding);
    watcher.await(*holding, std::min(deadline, teller.next()));
  }
  voice.end_of_wait();
  return ExitStatus::ok;
}

}  // namespace dlock
