// SPDX-License-Identifier: MIT
// dlock renew: makes what acquire took last longer, once or for as long as a process lives.
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/own_holds.hpp"
#include "cmd/patience.hpp"
#include "cmd/voice.hpp"
#include "core/lease.hpp"
#include "sys/process_watch.hpp"

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

// --ttl, or what acquire took it for, or the setting.
Result<LeaseTerms> lease_terms(const CommandLine& line, const Settings& settings) {
  Duration ttl = settings.ttl;
  const char* const told = std::getenv("DLOCK_TTL_MS");
  if (!is_given(line, "ttl") && told != nullptr) {
    const auto ms = number_of<std::int64_t>(told);
    if (ms && *ms > 0 && *ms <= to_ms(k_longest)) ttl = std::chrono::milliseconds(*ms);
  }
  return LeaseTerms::check(ttl, Duration::zero());
}

// Between two renewals; nothing: there is to be only one.
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

// --while: as watch_process().
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

// The holds of one call, renewed one after the other. A keeper renews until nothing is left to
// renew: for it, a hold that was released in good order is done and not worth a word.
class Renewer {
 public:
  Renewer(LockStore& store, const LeaseTerms& lease, bool keeper)
      : store_(store), lease_(lease), keeper_(keeper) {}

  // Looks for them. Errc::timed_out and the like: not known, try again.
  Result<ExitStatus> find(const std::vector<WantedHold>& wanted, Time until);
  // `lost` after a verdict against one of them.
  Result<ExitStatus> renew(Time until);
  // The first end of a lease, by our clock; nothing before the first renewal of all.
  std::optional<Time> safe_until() const;
  bool nothing_left() const { return all_.empty(); }

 private:
  struct Renewed {
    Hold hold;
    std::optional<LeaseClock> clock;
    bool released = false;
  };
  ExitStatus take(Renewed& one, const RenewReply& reply);
  ExitStatus take_released(const LockName& name) const;

  LockStore& store_;
  LeaseTerms lease_;
  bool keeper_;
  std::vector<Renewed> all_;
};

std::string shown(const LockName& name) {
  return in_quotes(name.text());
}

Result<ExitStatus> Renewer::find(const std::vector<WantedHold>& wanted, Time until) {
  ExitStatus status = ExitStatus::ok;
  for (const WantedHold& one : wanted) {
    auto found = ask_patiently(until, [&](Time limit) { return find_hold(store_, one, limit); });
    if (!found) return found.error();
    if (found->hold) {
      found->hold->ttl = lease_.ttl();
      all_.push_back({*found->hold, {}});
      continue;
    }
    if (found->released) {
      status = std::max(status, take_released(one.name));
      continue;
    }
    status = ExitStatus::lost;
    log_of(LogLevel::error,
           one.name,
           "lost",
           "lost " + shown(one.name) + ": it is " + holder_text(found->holding));
  }
  return status;
}

Result<ExitStatus> Renewer::renew(Time until) {
  ExitStatus status = ExitStatus::ok;
  for (Renewed& one : all_) {
    auto reply = ask_patiently(until, [&](Time limit) { return store_.renew({one.hold}, limit); });
    if (!reply) {
      return Error{reply.error().code,
                   "cannot renew " + shown(one.hold.name) + ": " + reply.error().text};
    }
    status = std::max(status, take(one, *reply));
  }
  std::erase_if(all_, [](const Renewed& one) { return one.released; });
  return status;
}

ExitStatus Renewer::take_released(const LockName& name) const {
  if (keeper_) return ExitStatus::ok;
  log_of(LogLevel::error, name, "lost", "cannot renew " + shown(name) + ": the hold was released");
  return ExitStatus::lost;
}

ExitStatus Renewer::take(Renewed& one, const RenewReply& reply) {
  const std::string name = shown(one.hold.name);
  switch (reply.verdict) {
    case RenewVerdict::renewed:
    case RenewVerdict::held:
      break;
    case RenewVerdict::revoked:
      log_of(LogLevel::error,
             one.hold.name,
             "revoked",
             name + " was revoked by " + printable(reply.revoked_by) +
                 "; the lease is not renewed; run dlock release");
      return ExitStatus::lost;
    case RenewVerdict::lost:
      one.released = reply.released;
      if (reply.released) return take_released(one.hold.name);
      log_of(LogLevel::error,
             one.hold.name,
             "lost",
             "lost " + name + ": it is " + holder_text(reply.holding));
      return ExitStatus::lost;
  }
  if (!one.clock) one.clock.emplace(lease_, reply.sent_at);
  one.clock->confirm(reply.sent_at);
  log_of(LogLevel::info,
         one.hold.name,
         "renewed",
         "renewed " + name + ", lease good for " +
             format_duration(one.clock->safe_until() - BootClock::now()));
  return ExitStatus::ok;
}

std::optional<Time> Renewer::safe_until() const {
  std::optional<Time> first;
  for (const Renewed& one : all_) {
    if (!one.clock) return {};
    first = std::min(first.value_or(Time::max()), one.clock->safe_until());
  }
  return first;
}

// Again and again; ends with a loss, with the process, or when all was released. A store that has
// renewed once may fail or refuse for a while, as for a run.
Result<ExitStatus> keep(Renewer& renewer,
                        const LeaseTerms& lease,
                        Duration step,
                        const UniqueFd& process) {
  Time next = BootClock::now() + step;
  while (!renewer.nothing_left() && sleep_beside(process, next)) {
    const Time end = *renewer.safe_until();
    const Time limit = BootClock::now() + lease.call_limit();
    auto status = renewer.renew(std::min(limit, end));
    const Time now = BootClock::now();
    if (status && *status == ExitStatus::ok) {
      next = now + step;
    } else if (status) {
      return status;
    } else if (now + k_pause_between_tries < end) {
      log(LogLevel::info, {.name = "unknown", .text = status.error().text + "; trying again"});
      next = now + k_pause_between_tries;
    } else {
      log(LogLevel::error,
          {.name = "lapsing", .text = status.error().text + "; the lease expires"});
      return ExitStatus::lost;
    }
  }
  return ExitStatus::ok;
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
  auto store = open_store(settings);
  if (!store) return report(store.error(), settings);
  auto wanted = wanted_holds(line, **store);
  if (!wanted) return report(wanted.error(), settings);

  Renewer renewer(**store, *lease, step->has_value());
  const Time until = BootClock::now() + settings.connect_timeout;
  auto status = renewer.find(*wanted, until);
  if (status && *status == ExitStatus::ok) status = renewer.renew(until);
  if (status && *status == ExitStatus::ok && *step) status = keep(renewer, *lease, **step, process);
  return status ? *status : report(status.error(), settings);
}

}  // namespace dlock
