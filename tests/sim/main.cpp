// SPDX-License-Identifier: MIT
// dlock_sim: many simulations of the core (simulation.hpp), and the small exhaustive search. The
// same words as ./dev sim; the last line is "N passed, N failed".
//
//   dlock_sim [SEED [N]] [-v] [--seeds FILE] [--only guaranteed|bounded|seeds|exhaustive] [--depth
//   N]
//             [--control no-guard|wild-rates|forgetful|…] [--find]
// Controls are wrong worlds: see set_control and break_promise.
// --find turns it round: it is a success if violations are found, and says by which seed and steps.
#include "base/duration.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/exhaustive.hpp"
#include "sim/simulation.hpp"

namespace dlock::sim {
namespace {

struct Job {
  std::uint64_t seed = 0;
  FaultClass faults = FaultClass::guaranteed;
};

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t count = 10000;
  std::size_t depth = 12;  // of the exhaustive search
  bool verbose = false;
  bool find = false;
  std::string seeds_file;
  std::string only;
  Rules rules;
};

const char* word_for(FaultClass faults) {
  return faults == FaultClass::guaranteed ? "guaranteed" : "bounded";
}

std::vector<Job> jobs_in_a_row(const Options& options, FaultClass faults, std::uint64_t count) {
  std::vector<Job> jobs(count);
  for (std::uint64_t i = 0; i < count; ++i)
    jobs[i] = {options.seed + i, faults};
  return jobs;
}

// Lines "SEED guaranteed|bounded", with comments from "#" on.
bool read_jobs(const std::string& file, std::vector<Job>& jobs) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    Job job;
    std::string faults;
    if (!(words >> job.seed)) continue;
    if (!(words >> faults) || (faults != "guaranteed" && faults != "bounded")) return false;
    if (faults == "bounded") job.faults = FaultClass::bounded;
    jobs.push_back(job);
  }
  return in.eof();
}

class Batch {
 public:
  Batch(const Options& options, std::vector<Job> jobs)
      : options_(options), jobs_(std::move(jobs)) {}

  // The first violation is shown with its timeline; true if there was none.
  bool play(const char* name) {
    const Time started = BootClock::now();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads)
      thread.join();
    const bool good = worst_ == jobs_.size();
    if (options_.find) return good || (show(jobs_[worst_]), false);
    std::printf("%-7s %s: %zu of %zu seeds in %s\n",
                good ? "ok" : "FAILED",
                name,
                done_.load(),
                jobs_.size(),
                format_duration(BootClock::now() - started).c_str());
    tell();
    if (!good) show(jobs_[worst_]);
    return good;
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < jobs_.size(); i = next_++) {
      const Report report = simulate(jobs_[i].seed, rules(jobs_[i]), false);
      ++done_;
      const std::lock_guard lock(mutex_);
      statistics_.add(report.statistics);
      if (report.verdict.empty()) continue;
      worst_ = std::min(worst_, i);
      next_ = jobs_.size();
    }
  }

  Rules rules(const Job& job) const {
    Rules rules = options_.rules;
    rules.faults = job.faults;
    return rules;
  }

  void tell() const {
    if (statistics_.holds == 0) return;
    const Statistics& all = statistics_;
    std::printf(
        "        %llu holds, %llu lost, %llu faults in %lld h of virtual time; ",
        static_cast<unsigned long long>(all.holds),
        static_cast<unsigned long long>(all.lost),
        static_cast<unsigned long long>(all.faults),
        static_cast<long long>(std::chrono::floor<std::chrono::hours>(all.simulated).count()));
    std::printf("%llu turns, %llu when all was well, %llu places lost; ",
                static_cast<unsigned long long>(all.handed_on),
                static_cast<unsigned long long>(all.to_well),
                static_cast<unsigned long long>(all.places_lost));
    std::printf(
        "\n        %llu beside others, %llu of several names, %llu of one of several, "
        "%llu stopped as time was up, "
        "%llu kept, %llu not wanted; ",
        static_cast<unsigned long long>(all.beside),
        static_cast<unsigned long long>(all.several),
        static_cast<unsigned long long>(all.chosen),
        static_cast<unsigned long long>(all.time_up),
        static_cast<unsigned long long>(all.kept),
        static_cast<unsigned long long>(all.done));
    std::printf("\n        %llu waits, %llu force-releases, %llu renewals by hand; ",
                static_cast<unsigned long long>(all.waits),
                static_cast<unsigned long long>(all.revokes),
                static_cast<unsigned long long>(all.renewals));
    std::printf("%llu overlaps, the longest %s; the latest end of a child %s before safe_until\n",
                static_cast<unsigned long long>(all.overlaps),
                format_duration(all.longest_overlap).c_str(),
                format_duration(all.closest).c_str());
  }

  void show(const Job& job) const {
    const Report report = simulate(job.seed, rules(job), true);
    constexpr std::size_t k_most = 200;
    const auto& lines = report.timeline;
    const std::size_t from = options_.find                               ? lines.size()
                             : options_.verbose || lines.size() < k_most ? 0
                                                                         : lines.size() - k_most;
    if (from > 0 && !options_.find) std::printf("        … %zu lines before (-v)\n", from);
    for (std::size_t i = from; i < lines.size(); ++i)
      std::printf("%s\n", lines[i].c_str());
    std::printf("        seed %llu %s: %s\n",
                static_cast<unsigned long long>(job.seed),
                word_for(job.faults),
                report.verdict.c_str());
    if (!options_.find)
      std::printf("        again: ./dev sim %llu 1 -v --only %s\n",
                  static_cast<unsigned long long>(job.seed),
                  word_for(job.faults));
  }

  const Options& options_;
  std::vector<Job> jobs_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::size_t worst_ = jobs_.size();  // the first one that went wrong
  Statistics statistics_;
};

bool to_number(std::string_view text, std::uint64_t& number) {
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool break_promise(std::string_view word, Rules& rules) {
  constexpr std::array<std::pair<std::string_view, bool ModelStore::*>, 11> k_promises{
      {{"replay-keeps-lease", &ModelStore::replay_extends},
       {"turns-not-passed-on", &ModelStore::turns_passed_on},
       {"second-is-called", &ModelStore::first_is_called},
       {"readers-pass", &ModelStore::readers_wait},
       {"reader-beside-writer", &ModelStore::writers_alone},
       {"one-slot-more", &ModelStore::slots_counted},
       {"one-slot-for-all", &ModelStore::slots_told_apart},
       {"some-of-the-names", &ModelStore::all_or_none},
       {"two-of-one", &ModelStore::one_suffices},
       {"nothing-is-kept", &ModelStore::keeps},
       {"no-success-remembered", &ModelStore::remembers_success}}};
  for (const auto& [name, promise] : k_promises)
    if (word == name) rules.broken = promise;
  return rules.broken != nullptr;
}

bool set_control(std::string_view word, Rules& rules) {
  if (word == "no-guard")
    rules.guards = false;
  else if (word == "wild-rates")
    rules.steady_rates = false;
  else if (word == "forgetful")
    rules.store_remembers = false;
  else if (word == "unacknowledged")
    rules.acknowledged = false;
  else
    return break_promise(word, rules);
  return true;
}

bool read_options(const std::vector<std::string>& words, Options& options) {
  int numbers = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "-v") {
      options.verbose = true;
    } else if (word == "--find") {
      options.find = true;
    } else if (word == "--seeds" && ++i < words.size()) {
      options.seeds_file = next;
    } else if (word == "--only" && ++i < words.size()) {
      options.only = next;
    } else if (word == "--depth" && ++i < words.size()) {
      std::uint64_t depth = 0;
      if (!to_number(next, depth)) return false;
      options.depth = depth;
    } else if (word == "--control" && ++i < words.size()) {
      if (!set_control(next, options.rules)) return false;
    } else if (numbers == 2 || !to_number(word, numbers == 0 ? options.seed : options.count)) {
      return false;
    } else {
      ++numbers;
    }
  }
  return true;
}

// One seed, all of it.
int replay(const Options& options) {
  Rules rules = options.rules;
  if (options.only == "bounded") rules.faults = FaultClass::bounded;
  const Report report = simulate(options.seed, rules, true);
  for (const std::string& line : report.timeline)
    std::printf("%s\n", line.c_str());
  const bool good = report.verdict.empty();
  std::printf("%s\n%d passed, %d failed\n", report.verdict.c_str(), good ? 1 : 0, good ? 0 : 1);
  return good ? 0 : 1;
}

int play(const Options& options) {
  if (options.verbose && options.count == 1) return replay(options);
  int passed = 0;
  int failed = 0;
  const auto count = [&](bool good) { ++(good ? passed : failed); };
  if (!options.seeds_file.empty()) {
    std::vector<Job> jobs;
    if (!read_jobs(options.seeds_file, jobs)) {
      std::fprintf(stderr, "dlock_sim: cannot read %s\n", options.seeds_file.c_str());
      return 2;
    }
    if (!jobs.empty()) count(Batch(options, std::move(jobs)).play("seeds that once failed"));
  }
  const auto wanted = [&](std::string_view what) {
    const bool seeds = options.only == "seeds" && what != "exhaustive";
    return options.only.empty() || options.only == what || seeds;
  };
  if (wanted("guaranteed")) {
    auto jobs = jobs_in_a_row(options, FaultClass::guaranteed, options.count);
    count(Batch(options, std::move(jobs)).play("guaranteed faults"));
  }
  if (wanted("bounded") && (!options.find || failed == 0)) {
    const auto some = options.only.empty() ? options.count / 10 + 1 : options.count;
    auto jobs = jobs_in_a_row(options, FaultClass::bounded, some);
    count(Batch(options, std::move(jobs)).play("bounded faults"));
  }
  if (wanted("exhaustive")) count(search_all_schedules(options.depth, options.find));
  if (options.find) return failed > 0 ? 0 : 1;
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace dlock::sim

int main(int argc, char** argv) {
  dlock::sim::Options options;
  if (!read_options({argv + 1, argv + argc}, options)) {
    std::fprintf(stderr, "dlock_sim: what is meant is in the first lines of tests/sim/main.cpp\n");
    return 2;
  }
  return play(options);
}
