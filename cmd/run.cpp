// SPDX-License-Identifier: MIT
// dlock run: wires session, store thread, child and voice together, and turns the outcome into the
// end of this process.
#include "app/runner.hpp"
#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/commands.hpp"
#include "cmd/json_output.hpp"
#include "cmd/result_file.hpp"
#include "cmd/voice.hpp"
#include "store/open_store.hpp"
#include "sys/process_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace dlock {

namespace {

constexpr std::size_t k_longest_command = 200;
constexpr std::size_t k_longest_reason = 256;

[[noreturn]] void end(ExitStatus status) {
  ::_exit(static_cast<int>(status));
}
[[noreturn]] void end_with(int status) {
  ::_exit(status);
}

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry)
    entries.emplace_back(*entry);
  return entries;
}

std::string text_of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Where the CI job that we run in can be looked at, if there is one.
std::string ci_job_url() {
  for (const char* const name :
       {"CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_URL"}) {
    if (auto url = text_of_environment(name); !url.empty()) return url;
  }
  const std::string run = text_of_environment("GITHUB_RUN_ID");
  if (run.empty()) return "";
  return text_of_environment("GITHUB_SERVER_URL") + "/" + text_of_environment("GITHUB_REPOSITORY") +
         "/actions/runs/" + run;
}

std::vector<std::string> child_words(const CommandLine& line) {
  if (!line.shell_command) return line.words;
  const std::string shell = text_of_environment("SHELL");
  return {shell.empty() ? "/bin/sh" : shell, "-c", *line.shell_command};
}

HolderInfo who_we_are(const CommandLine& line, const Settings& settings) {
  // Arguments may hold secrets: everybody who may inspect sees this, so only the first word.
  return {.host = host_name(),
          .pid = ::getpid(),
          .user = user_name(),
          .command = shortened(child_words(line).front(), k_longest_command),
          .reason = shortened(settings.reason.value_or(ci_job_url()), k_longest_reason)};
}

Claim make_claim(LockName name, const std::string& key, HolderInfo who, const Settings& settings) {
  Claim claim{.name = std::move(name),
              .owner = make_owner_id(::getpid()),
              .serial = make_hold_serial(),
              .ttl = settings.ttl,
              .who = std::move(who),
              .max_waiters = settings.max_waiters};
  for (AncestorHold& hold : parse_holds(text_of_environment("DLOCK_HOLDS"))) {
    if (hold.key == key) claim.ancestors.push_back(std::move(hold));
  }
  if (!claim.ancestors.empty()) claim.who.machine = pid_space();
  return claim;
}

RunTerms make_terms(const Settings& settings, const LeaseTerms& lease, bool in_place) {
  return {.lease = lease,
          .acquire = {.wait = settings.wait,
                      .connect_timeout = settings.connect_timeout,
                      .outage_limit = std::max(settings.ttl, settings.connect_timeout),
                      .max_waiters = settings.max_waiters},
          .on_lost = settings.on_lost,
          .contain = settings.contain,
          .stop_signal = settings.stop_signal,
          .notice_every = in_place ? std::chrono::seconds(1) : Duration::zero()};
}

std::string exec_failure(const ChildStatus& child, const std::string& word) {
  return "cannot execute " + in_quotes(word) + ": " + std::strerror(child.value);
}

[[noreturn]] void end_like_child(const ChildStatus& child,
                                 const std::string& word,
                                 const Signals& signals) {
  switch (child.kind) {
    case ChildStatus::Kind::exited:
      end_with(child.value);
    case ChildStatus::Kind::signalled:
      signals.die_by(child.value);
      end_with(128 + child.value);  // pid 1, or a signal that does not kill
    case ChildStatus::Kind::not_started:
      break;
  }
  log(LogLevel::error, exec_failure(child, word));
  end(child.value == ENOENT ? ExitStatus::not_found : ExitStatus::not_executable);
}

// The file of --result-file, if it is wanted.
std::optional<ResultFile> prepare_result(const CommandLine& line, const Settings& settings) {
  if (!line.result_file) return {};
  auto file = ResultFile::prepare(*line.result_file);
  if (!file) end(report(file.error(), settings));
  return std::move(*file);
}

void write_result(const ResultFile& file,
                  const LockName& lock,
                  const Outcome& outcome,
                  const std::string& word) {
  const bool not_started =
      outcome.kind == Outcome::Kind::child && outcome.child.kind == ChildStatus::Kind::not_started;
  const std::string error = not_started ? exec_failure(outcome.child, word) : outcome.error.text;
  const auto written = file.write(result_json(lock, outcome, error));
  if (!written) log(LogLevel::warn, written.error().text);
}

std::uint64_t make_seed() {
  return static_cast<std::uint64_t>(BootClock::now().time_since_epoch().count()) ^
         (static_cast<std::uint64_t>(::getpid()) << 32U);
}

}  // namespace

void run_command(const CommandLine& line, const Settings& settings, const Signals& signals) {
  auto name = LockName::parse(line.names.front());
  if (!name) end(report(name.error(), settings));
  const std::size_t nesting = parse_holds(text_of_environment("DLOCK_HOLDS")).size();
  auto lease = LeaseTerms::check(settings.ttl, settings.kill_after, nesting);
  if (!lease) end(report(lease.error(), settings));

  // All that starting will need is taken before the lock is.
  const WakeUp interrupt;
  if (!interrupt.ok())
    end(report({Errc::system, "cannot make an eventfd: too many open files"}, settings));
  auto child = Child::prepare(settings.contain);
  if (!child) end(report(child.error(), settings));
  auto store = open_store({.url = settings.url,
                           .prefix = settings.prefix,
                           .password = settings.password,
                           .interrupt = &interrupt});
  if (!store) end(report(store.error(), settings));
  auto key = (*store)->key_of(*name);
  if (!key) end(report(key.error(), settings));
  if (settings.max_waiters.value_or(0) > 0 && !(*store)->traits().line) {
    end(report(
        {Errc::bad_usage, (*store)->where() + " keeps no line: --max-waiters can only be 0 there"},
        settings));
  }
  const std::optional<ResultFile> result = prepare_result(line, settings);

  const std::string where = (*store)->where();
  StoreWorker worker(
      std::move(*store), make_claim(*name, *key, who_we_are(line, settings), settings), interrupt);
  const bool in_place = ::isatty(STDERR_FILENO) == 1 && !settings.log_json;
  Voice voice(*name, in_place);
  const std::vector<std::string> words = child_words(line);
  Runner runner({.words = words,
                 .environment = own_environment(),
                 .store = where,
                 .key = *key,
                 .contain = settings.contain},
                RunSession(make_terms(settings, *lease, in_place), make_seed(), BootClock::now()),
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
  if (result) write_result(*result, *name, outcome, words.front());
  if (!ran) end(report(ran.error(), settings));
  // Ends without tidying up: nothing of ours is left anywhere but in this process.
  switch (outcome.kind) {
    case Outcome::Kind::child:
      end_like_child(outcome.child, words.front(), signals);
    case Outcome::Kind::busy:
      voice.busy(*outcome.holding, outcome.seen_ago);
      end_with(settings.conflict_exit_code);
    case Outcome::Kind::failed:
      end(report({outcome.error.code,
                  "cannot run under " + in_quotes(name->text()) + ": " + outcome.error.text},
                 settings));
    case Outcome::Kind::lost:
      end(ExitStatus::lost);
    case Outcome::Kind::signalled:
      signals.die_by(outcome.signal);
      end_with(128 + outcome.signal);
  }
  end(ExitStatus::failed);
}

}  // namespace dlock
