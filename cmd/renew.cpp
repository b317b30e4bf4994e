// SPDX-License-Identifier: MIT
// dlock renew: extends the leases that `acquire` took, once or repeatedly (--every, --while).
#include "app/asker.hpp"
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/notice_table.hpp"
#include "cmd/own_holds.hpp"
#include "cmd/voice.hpp"
#include "core/lease.hpp"
#include "core/renew_loop.hpp"
#include "sys/process_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace dlock {

namespace {

constexpr Duration k_longest = std::chrono::hours(24 * 366);
constexpr Duration k_shortest_step = std::chrono::milliseconds(100);

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// Returns the terms of the lease. The ttl is that of --ttl; else that of the acquire, in
// DLOCK_TTL_MS; else that of the other settings.
Result<LeaseTerms> lease_terms(const CommandLine& line, const Settings& settings) {
  Duration ttl = settings.ttl;
  const char* const told = std::getenv("DLOCK_TTL_MS");
  if (!is_given(line, "ttl") && told != nullptr) {
    const auto ms = number_of<std::int64_t>(told);
    if (ms && *ms > 0 && *ms <= to_ms(k_longest)) ttl = std::chrono::milliseconds(*ms);
  }
  return LeaseTerms::check(ttl, Duration::zero());
}

// Returns the time between two renewals; nullopt: renew once.
Result<std::optional<Duration>> renew_step(const CommandLine& line, const LeaseTerms& lease) {
  if (!line.every) {
    return line.while_pid ? std::optional(lease.renew_step()) : std::nullopt;
  }
  auto step = parse_duration(*line.every);
  if (!step) return Error{Errc::bad_usage, "--every: " + step.error().text};
  const Duration most = lease.ttl() - lease.drift() - 2 * lease.call_limit();
  if (*step >= k_shortest_step && *step <= most) return std::optional(*step);
  return Error{Errc::bad_usage,
               "--every " + format_duration(*step) + " is not between " +
                   format_duration(k_shortest_step) + " and " + format_duration(most) +
                   ": a lease of " + format_duration(lease.ttl()) + " needs time for a retry"};
}

// Returns a descriptor that becomes readable when the process of --while ends; -1 if the process is
// already gone.
Result<UniqueFd> worker_of(const std::string& text) {
  const auto pid = number_of<pid_t>(text);
  if (!pid || *pid <= 0) {
    return Error{Errc::bad_usage,
                 "--while: " + in_quotes(shortened(text, 40)) + " is not the id of a process"};
  }
  auto process = watch_process(*pid);
  if (!process) return Error{process.error().code, "--while: " + process.error().text};
  return process;
}

std::string shown(const LockName& name) {
  return in_quotes(name.text());
}

// Logs the notice, with the lock's name among its fields.
void say(const LockName& name, const Notice& notice) {
  const NoticeForm form = form_of(notice);
  std::vector<LogEvent::Field> fields{{"lock", name.text()}};
  for (LogEvent::Field& one : notice_fields(notice))
    fields.push_back(std::move(one));
  log(form.level,
      {.name = form.event, .text = renew_text(notice, shown(name)), .fields = std::move(fields)});
}

// Reports the notices of repeated renewals.
class RenewVoice final : public Listener {
 public:
  explicit RenewVoice(const Holds& holds) : holds_(holds) {}
  void on_notice(const Notice& notice) override {
    say(holds_.at(notice.which.value_or(0)).name, notice);
  }

 private:
  const Holds& holds_;
};

// Renews each hold of a call of `dlock renew` once. Each request is repeated until the store
// answers, at most until `until`.
class Renewer {
 public:
  Renewer(Asker& asker, const LeaseTerms& lease, bool keeper, Time until)
      : asker_(asker), lease_(lease), keeper_(keeper), until_(until) {}

  // Finds the holds, and reports those that do not exist any more.
  Result<ExitStatus> find(const std::vector<WantedHold>& wanted);
  // Renews each hold that find() has found, even if the store says that another hold is lost.
  Result<ExitStatus> renew();

  // The renewed holds, and when the renewal of each was sent.
  const Holds& holds() const { return renewed_; }
  const std::vector<Time>& sent_at() const { return sent_at_; }

 private:
  ExitStatus take(const Hold& hold, const RenewReply& reply);
  ExitStatus take_released(const LockName& name) const;

  Asker& asker_;
  LeaseTerms lease_;
  bool keeper_;
  Time until_;
  Holds found_;
  Holds renewed_;
  std::vector<Time> sent_at_;
};

Result<ExitStatus> Renewer::find(const std::vector<WantedHold>& wanted) {
  ExitStatus status = ExitStatus::ok;
  for (const WantedHold& one : wanted) {
    auto found = asker_.ask(
        until_, [&](LockStore& store, Time limit) { return find_hold(store, one, limit); });
    if (!found) return found.error();
    if (found->hold) {
      found->hold->ttl = lease_.ttl();
      found_.push_back(*found->hold);
    } else if (found->released) {
      status = std::max(status, take_released(one.name));
    } else {
      status = ExitStatus::lost;
      say(one.name, {.kind = Notice::Kind::lost, .holding = found->holding});
    }
  }
  return status;
}

Result<ExitStatus> Renewer::renew() {
  ExitStatus status = ExitStatus::ok;
  for (const Hold& one : found_) {
    const auto reply =
        asker_.ask(until_, [&](LockStore& store, Time limit) { return store.renew({one}, limit); });
    if (!reply) {
      return Error{reply.error().code,
                   "cannot renew " + shown(one.name) + ": " + reply.error().text};
    }
    status = std::max(status, take(one, *reply));
  }
  return status;
}

ExitStatus Renewer::take(const Hold& hold, const RenewReply& reply) {
  switch (reply.verdict) {
    case RenewVerdict::renewed:
    case RenewVerdict::held:
      break;
    case RenewVerdict::revoked:
      say(hold.name, {.kind = Notice::Kind::revoked, .text = reply.revoked_by});
      return ExitStatus::lost;
    case RenewVerdict::lost:
      if (reply.released) return take_released(hold.name);
      say(hold.name, {.kind = Notice::Kind::lost, .holding = reply.holding});
      return ExitStatus::lost;
  }
  renewed_.push_back(hold);
  sent_at_.push_back(reply.sent_at);
  const Time safe_until = LeaseClock(lease_, reply.sent_at).safe_until();
  say(hold.name,
      {.kind = Notice::Kind::renewed,
       .span = safe_until - BootClock::now(),
       .safe_until = safe_until});
  return ExitStatus::ok;
}

// With --every or --while, a hold that was properly released is no error and is not reported.
ExitStatus Renewer::take_released(const LockName& name) const {
  if (keeper_) return ExitStatus::ok;
  log_of(LogLevel::error, name, "lost", "cannot renew " + shown(name) + ": the hold was released");
  return ExitStatus::lost;
}

// Sends the store the request that RenewLoop asks for.
StoreAnswer carry_out(LockStore& store, const action::Ask& ask, const Holds& holds) {
  using What = action::Ask::What;
  if (ask.what == What::await_hand_off) return event::HandedOff{store.await_hand_off(ask.limit)};
  if (ask.what == What::watch_hold) return event::Watched{store.watch_hold(holds, ask.limit)};
  const Holds one{holds.at(ask.which)};
  if (ask.what == What::check) return event::Renewed{store.check(one, ask.limit)};
  return event::Renewed{store.renew(one, ask.limit)};
}

// Renews the holds again and again, until one of them is lost or revoked, all are released, or
// `process` has ended.
Result<ExitStatus> keep(Asker& asker,
                        const Renewer& renewer,
                        const RenewTerms& terms,
                        const UniqueFd& process) {
  RenewVoice voice(renewer.holds());
  Driver<RenewLoop> driver(RenewLoop(terms, renewer.sent_at()), asker.worker(), voice);
  driver.watch_process(process.get());
  const auto ended = driver.run();
  if (!ended) return ended.error();
  return ended->lost ? ExitStatus::lost : ExitStatus::ok;
}

}  // namespace

ExitStatus renew_command(const CommandLine& line, const Settings& settings) {
  auto lease = lease_terms(line, settings);
  if (!lease) return report(lease.error(), settings);
  auto step = renew_step(line, *lease);
  if (!step) return report(step.error(), settings);
  UniqueFd process;
  if (line.while_pid) {
    auto watched = worker_of(*line.while_pid);
    if (!watched) return report(watched.error(), settings);
    if (!*watched) return ExitStatus::ok;
    process = std::move(*watched);
  }
  InterruptSlot interrupt;
  auto store = open_store(settings, &interrupt);
  if (!store) return report(store.error(), settings);
  if (auto fits = check_replicas(**store, settings); !fits) return report(fits.error(), settings);
  if (auto fits = check_detached(**store); !fits) return report(fits.error(), settings);
  auto wanted = wanted_holds(line, **store);
  if (!wanted) return report(wanted.error(), settings);

  Voice voice(names_of(*wanted), settings.mode, (*store)->where());
  const Renewer* renewed = nullptr;
  Asker asker(std::move(*store),
              interrupt,
              voice,
              Voice::rewrite_every(),
              [&renewed](LockStore& at, const action::Ask& ask) {
                return carry_out(at, ask, renewed->holds());
              });
  Renewer renewer(asker, *lease, step->has_value(), BootClock::now() + settings.connect_timeout);
  renewed = &renewer;
  auto status = renewer.find(*wanted);
  if (status && *status == ExitStatus::ok) status = renewer.renew();
  voice.end_of_wait();
  if (status && *status == ExitStatus::ok && *step && !renewer.holds().empty()) {
    status = keep(asker, renewer, {.lease = *lease, .every = **step}, process);
  }
  // _exit() does not wait for the store thread, which may hang in a call to the store.
  ::_exit(static_cast<int>(status ? *status : report(status.error(), settings)));
}

}  // namespace dlock
