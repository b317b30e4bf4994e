// SPDX-License-Identifier: MIT
// dlock run: connects the parts of a run (the session that decides, the store, the child, the
// messages), and ends this process the way the run ended.
#include "app/runner.hpp"
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/wall_clock.hpp"
#include "cmd/claim.hpp"
#include "cmd/commands.hpp"
#include "cmd/exec_failure.hpp"
#include "cmd/json_output.hpp"
#include "cmd/notifier.hpp"
#include "cmd/own_environment.hpp"
#include "cmd/result_file.hpp"
#include "cmd/run_metrics.hpp"
#include "cmd/voice.hpp"
#include "sys/boot.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

namespace dlock {

namespace {

[[noreturn]] void end(ExitStatus status) {
  ::_exit(static_cast<int>(status));
}
[[noreturn]] void end_with(int status) {
  ::_exit(status);
}

std::vector<std::string> child_words(const CommandLine& line) {
  if (!line.shell_command) return line.words;
  return shell_words(*line.shell_command);
}

// `nested`: the run is below one that holds the lock, which need not spread what it starts. If the
// store is away, the hold above is about to end, and nothing may run below it without the lock.
RunTerms make_terms(const Settings& settings,
                    const LeaseTerms& lease,
                    bool nested,
                    Duration keep_last) {
  return {.lease = lease,
          .acquire = acquire_terms(settings),
          .on_lost = settings.on_lost,
          .on_unavailable = nested ? OnUnavailable::fail : settings.on_unavailable,
          .contain = settings.contain,
          .renew = settings.renew,
          .min_hold = settings.min_hold,
          .max_hold = settings.max_hold,
          .splay = nested ? Duration::zero() : settings.splay,
          .once_per = settings.once_per,
          .keep_last = keep_last,
          .stop_signal = settings.stop_signal,
          .notice_every = Voice::rewrite_every()};
}

Result<LeaseTerms> check_terms(const Settings& settings) {
  if (settings.max_hold > Duration::zero() && settings.min_hold > settings.max_hold) {
    return Error{Errc::bad_usage,
                 "min-hold " + format_duration(settings.min_hold) + " is longer than max-hold " +
                     format_duration(settings.max_hold)};
  }
  const bool waits = !settings.nonblock && settings.wait != Duration::zero();
  if (settings.supersede != Supersede::nothing && !waits)
    return Error{Errc::bad_usage,
                 "--supersede needs a run that waits: leave -n out, or say --supersede none"};
  const bool alone = settings.mode == Mode::plain || settings.mode == Mode::exclusive;
  if (settings.supersede == Supersede::holder && !alone)
    return Error{Errc::bad_usage,
                 "--supersede holder is for locks with one holder: not for " +
                     std::string(settings.mode == Mode::shared ? "-s" : "--slots")};
  // A lost DLOCK_URL, as in a crontab, would let each run go on without the lock, or skip it.
  if (settings.on_unavailable != OnUnavailable::fail && settings.url_place.empty())
    return Error{Errc::bad_config,
                 "no setting names a store, and on-unavailable refuses the default; set DLOCK_URL, "
                 "or url in /etc/dlock/config.toml"};
  return LeaseTerms::check(settings.ttl, settings.kill_after, nesting());
}

// Prepares the file of --result-file, if there is one.
std::optional<ResultFile> prepare_result(const Settings& settings) {
  if (!settings.result_file) return {};
  auto file = ResultFile::prepare(*settings.result_file);
  if (!file) end(report(file.error(), settings));
  return std::move(*file);
}

void write_result(const ResultFile& file,
                  const std::vector<LockName>& names,
                  const Outcome& outcome,
                  const std::vector<std::string>& words,
                  int exit_status) {
  const std::string error =
      outcome.not_started() ? exec_failure(outcome.child.value, words) : outcome.error.text;
  const auto written = file.write(result_json(names, outcome, error, exit_status));
  if (!written) log(LogLevel::warn, written.error().text);
}

// Returns the names for which the run counts. A run that joined the hold of a run above it is a
// part of that run, which is counted. `acquire` is no run, and what is below it is counted.
std::vector<LockName> counted_names(const std::vector<LockName>& names,
                                    const Holds& holds,
                                    const std::vector<AncestorHold>& above) {
  if (holds.empty()) return names;
  std::vector<LockName> counted;
  for (const Hold& hold : holds) {
    const bool joined_a_run =
        std::any_of(above.begin(), above.end(), [&hold](const AncestorHold& one) {
          return one.owner == hold.owner && !is_of_acquire(one.serial);
        });
    if (!joined_a_run) counted.push_back(hold.name);
  }
  return counted;
}

// Counts the run for Prometheus. A failure costs a warning and never changes how dlock ends.
void count_in_metrics(const std::string& directory,
                      const std::vector<LockName>& names,
                      const Outcome& outcome,
                      int exit_status) {
  const RunSummary& summary = outcome.summary;
  const auto counted = count_run(directory,
                                 names,
                                 {.outcome = outcome_word(outcome),
                                  .exit_status = exit_status,
                                  .ran = outcome.ran(),
                                  .succeeded = outcome.succeeded(),
                                  .ended_ms = wall_us() / 1000,
                                  .waited = summary.waited,
                                  .held = summary.held});
  if (!counted) log(LogLevel::warn, counted.error().text);
}

Error failure(const Outcome& outcome, const std::string& names) {
  const bool granted = !outcome.summary.holds.empty();
  const std::string what = granted ? "cannot start the command under " : "cannot acquire ";
  return {outcome.error.code, what + names + ": " + outcome.error.text};
}

// Reports why the run has ended, if the user has to be told and nothing else has told it.
void report_end(const Outcome& outcome,
                Voice& voice,
                const std::vector<std::string>& words,
                const Settings& settings,
                std::string* json) {
  if (outcome.kind == Outcome::Kind::busy) voice.busy(*outcome.refusal, outcome.seen_ago);
  if (outcome.kind == Outcome::Kind::failed)
    report(failure(outcome, voice.names()), settings, json);
  if (!outcome.not_started()) return;
  const std::string text = exec_failure(outcome.child.value, words);
  log(LogLevel::error, {.text = text}, json);
}

// Starts what is to be told of the end, and waits for all that was told. The lock is released. A
// signal has ended dlock's wait for the lock: then dlock waits for nothing else.
void notify_end(Notifier& notifier, const Outcome& outcome, std::string json) {
  const auto event = notify_event(outcome);
  if (!json.empty() && event && notifier.wants(*event))
    notifier.note(*event, std::move(json), outcome_word(outcome));
  notifier.start_noted();
  if (outcome.kind != Outcome::Kind::signalled) notifier.wait();
}

// Ends the process the way the run ended: by the signal that ended the child or the wait, or with
// an exit status. Frees nothing: the kernel frees everything when the process ends.
[[noreturn]] void end_like(const Outcome& outcome,
                           const Settings& settings,
                           const Signals& signals) {
  const ChildStatus& child = outcome.child;
  if (outcome.kind == Outcome::Kind::signalled) signals.die_by(outcome.signal);
  const bool ended =
      outcome.kind == Outcome::Kind::child || outcome.kind == Outcome::Kind::unlocked;
  if (ended && child.kind == ChildStatus::Kind::signalled) signals.die_by(child.value);
  end_with(status_of(outcome, settings));  // reached even after die_by() if we are pid 1
}

}  // namespace

ExitStatus run_command(const CommandLine& line, const Settings& settings) {
  auto taken = Signals::take_over();
  if (!taken) return report(taken.error(), settings);
  const Signals& signals = *taken;
  auto names = parse_names(line.names);
  if (!names) return report(names.error(), settings);
  auto lease = check_terms(settings);
  if (!lease) return report(lease.error(), settings);

  // All that the start of the command needs is prepared before the lock is acquired.
  auto child = Child::prepare(settings.contain, !settings.notify.empty());
  if (!child) return report(child.error(), settings);
  auto ready = prepare(*names, settings);
  if (!ready) return report(ready.error(), settings);

  const std::vector<std::string> words = child_words(line);
  // Records only the first word: all who may inspect the lock see it, and arguments may contain
  // secrets.
  Claim claim =
      make_claim(*names, ready->keys, who_we_are(::getpid(), words.front(), settings), settings);
  rely_on_acquired(claim, ready->where);
  claim.once_per = settings.once_per;
  claim.renewed = settings.renew;
  claim.who.supersede = settings.supersede;
  if (!claim.ancestors.empty()) claim.who.machine = pid_space();
  const bool has_or = !line.or_names.empty();
  if (auto wanted = has_or ? want_one(claim, settings) : Result<void>(); !wanted)
    return report(wanted.error(), settings);
  const bool one_of = claim.one_from.has_value();
  const auto fits = check_store(*ready->store, claim, settings.min_hold);
  if (!fits) return report(fits.error(), settings);
  const std::optional<ResultFile> result = prepare_result(settings);
  const std::vector<AncestorHold> above = claim.ancestors;
  const RunTerms terms =
      make_terms(settings, *lease, !above.empty(), keep_last(*ready->store, settings));
  StoreWorker worker(std::move(ready->store), std::move(claim), *ready->interrupt);
  std::optional<Notifier> notifier;
  if (!settings.notify.empty()) notifier.emplace(settings, *names, signals);
  Voice voice(
      *names, settings.mode, ready->where, notifier ? &*notifier : nullptr, settings.slots, one_of);
  Runner runner({.words = words,
                 .environment = own_environment(),
                 .store = ready->where,
                 .names = *names,
                 .keys = ready->keys,
                 .contain = settings.contain},
                RunSession(terms, random_seed(), BootClock::now()),
                worker,
                signals,
                std::move(*child),
                voice);
  const auto ran = [&runner] {
    const LogInBackground no_line_is_worth_a_renewal;
    return runner.run();
  }();
  voice.end_of_wait();
  const Outcome outcome = ran ? *ran : Outcome{.kind = Outcome::Kind::failed, .error = ran.error()};
  if (one_of && !outcome.summary.holds.empty()) names = names_of(outcome.summary.holds);
  if (result) write_result(*result, *names, outcome, words, status_of(outcome, settings));
  if (settings.metrics_dir) {
    count_in_metrics(*settings.metrics_dir,
                     counted_names(*names, outcome.summary.holds, above),
                     outcome,
                     status_of(outcome, settings));
  }
  std::string json;
  report_end(outcome, voice, words, settings, notifier ? &json : nullptr);
  if (notifier) notify_end(*notifier, outcome, std::move(json));
  end_like(outcome, settings, signals);
}

}  // namespace dlock
