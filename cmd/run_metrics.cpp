// SPDX-License-Identifier: MIT
#include "cmd/run_metrics.hpp"

#include "base/duration.hpp"
#include "base/errno_text.hpp"
#include "base/file_stem.hpp"
#include "base/text.hpp"
#include "cmd/prometheus_text.hpp"
#include "core/run_words.hpp"
#include "sys/file_bytes.hpp"
#include "sys/unique_fd.hpp"
#include "sys/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <future>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

namespace dlock {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t k_longest_file = 65536;
constexpr Duration k_patience = 10s;

struct LastMetric {
  const char* name;
  const char* help;
  std::string (*value)(const RunFigures& run);
};

std::string when_ended(const RunFigures& run) {
  return metric_seconds(run.ended_ms);
}

// These describe the last run whose command was started.
constexpr std::array k_last{
    LastMetric{"dlock_last_run_timestamp_seconds", "When the last run ended.", when_ended},
    LastMetric{"dlock_last_exit_status",
               "The exit status of the last run.",
               [](const RunFigures& run) { return std::to_string(run.exit_status); }},
    LastMetric{"dlock_last_wait_seconds",
               "How long the last run waited for the lock.",
               [](const RunFigures& run) { return metric_seconds(to_ms(run.waited)); }},
    LastMetric{"dlock_last_hold_seconds",
               "How long the last run held the lock.",
               [](const RunFigures& run) { return metric_seconds(to_ms(run.held)); }},
};
constexpr LastMetric k_last_success{
    "dlock_last_success_timestamp_seconds", "When the last run that succeeded ended.", when_ended};

using Values = std::map<std::string, std::string, std::less<>>;  // by name and labels

Values values_in(std::string_view text) {
  Values values;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t end = line.rfind(' ');
    if (line.front() == '#' || end == std::string_view::npos) continue;
    values.emplace(line.substr(0, end), line.substr(end + 1));
  }
  return values;
}

std::uint64_t number_of(const Values& values, const std::string& series) {
  const auto found = values.find(series);
  std::uint64_t number = 0;
  if (found == values.end()) return 0;
  const std::string& digits = found->second;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// Returns the metric with its value for this run or, if `run` is null, with its value until now;
// empty if it has had no value.
std::string last_metric(const LastMetric& metric,
                        const std::string& label,
                        const Values& before,
                        const RunFigures* run) {
  const std::string series = std::string(metric.name) + "{" + label + "}";
  const auto old = before.find(series);
  if (run == nullptr && old == before.end()) return "";
  return metric_heading(metric.name, "gauge", metric.help) + series + " " +
         (run != nullptr ? metric.value(*run) : old->second) + "\n";
}

// Locks the directory against other runs that change files in it. flock(2) on the directory itself
// leaves no file behind. It serves many runs in their order, but has no time limit: so a thread
// calls it, and is abandoned if it takes too long. Returns 0 or an errno.
int lock(int directory) {
  if (::flock(directory, LOCK_EX | LOCK_NB) == 0) return 0;
  if (errno != EWOULDBLOCK) return errno;
  auto taken = std::make_shared<std::promise<int>>();
  std::future<int> answer = taken->get_future();
  try {
    std::thread([directory, taken] {
      taken->set_value(::flock(directory, LOCK_EX) == 0 ? 0 : errno);
    }).detach();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return answer.wait_for(k_patience) == std::future_status::ready ? answer.get() : ETIMEDOUT;
}

// Returns the text of the file; empty if it does not exist, is not regular or is too long.
std::string text_in(int directory, const std::string& name) {
  const UniqueFd file(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat there {};
  std::string text;
  if (!file || ::fstat(file.get(), &there) != 0 || !S_ISREG(there.st_mode)) return "";
  if (read_bytes(file.get(), k_longest_file, text) != 0 || text.size() > k_longest_file) return "";
  return text;
}

}  // namespace

std::string run_metrics(std::string_view before, const std::string& name, const RunFigures& run) {
  const Values values = values_in(before);
  const std::string label = lock_label(name);
  std::string text = metric_heading("dlock_runs_total", "counter", "Runs that ended, by outcome.");
  for (const std::string outcome : outcome_words()) {
    if (outcome == "taken") continue;  // acquire is not counted
    std::string series = "dlock_runs_total{" + label;
    series += ",outcome=\"" + outcome + "\"}";
    const std::uint64_t count = number_of(values, series) + (outcome == run.outcome ? 1 : 0);
    text += series + " " + std::to_string(count) + "\n";
  }
  for (const LastMetric& metric : k_last)
    text += last_metric(metric, label, values, run.ran ? &run : nullptr);
  return text + last_metric(k_last_success, label, values, run.succeeded ? &run : nullptr);
}

Result<void> count_run(const std::string& directory,
                       const std::vector<LockName>& names,
                       const RunFigures& run) {
  const auto failed = [&directory](int error) {
    return Error{Errc::system,
                 "cannot write the metrics in " + printable(directory) + ": " + errno_text(error)};
  };
  if (names.empty()) return {};
  const UniqueFd in(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in) return failed(errno);
  if (const int error = lock(in.get()); error != 0) return failed(error);
  Result<void> counted;
  for (const LockName& name : names) {
    const std::string file = "dlock_" + file_stem(name.text(), "-._") + ".prom";
    const std::string text = run_metrics(text_in(in.get(), file), name.text(), run);
    const int error = replace_file({.directory = in.get(), .name = file, .for_all = true}, text);
    if (error != 0) counted = failed(error);
  }
  return counted;
}

}  // namespace dlock
