// SPDX-License-Identifier: MIT
#include "sim/exhaustive.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/schedule.hpp"

namespace dlock::sim {

namespace {

struct Path {
  Schedule schedule;
  std::vector<Step> steps;
};

class Search {
 public:
  Search(Schedule::Kind kind, std::size_t depth) : kind_(kind), depth_(depth) {}

  // The first few steps one after the other; what follows from each of them, in parallel.
  void run() {
    std::vector<Path> frontier{{Schedule(kind_), {}}};
    for (std::size_t i = 0; i < std::min<std::size_t>(depth_, 4); ++i) {
      std::vector<Path> next;
      for (const Path& path : frontier)
        for (const Step step : path.schedule.next_steps())
          if (!go_on(path, step, next)) return;
      frontier = std::move(next);
    }
    std::atomic<std::size_t> taken = 0;
    const auto work = [&] {
      for (std::size_t i = taken++; i < frontier.size() && !failed_; i = taken++)
        descend(frontier[i]);
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
    for (std::thread& thread : threads)
      thread.join();
  }

  bool failed() const { return failed_; }
  const std::string& text() const { return text_; }
  unsigned long long steps() const { return steps_; }
  unsigned long long ends() const { return ends_; }

 private:
  bool go_on(const Path& path, Step step, std::vector<Path>& next) {
    Path longer = path;
    longer.schedule.play(step);
    longer.steps.push_back(step);
    ++steps_;
    if (!longer.schedule.violation().empty()) return report(longer);
    if (longer.schedule.over()) {
      ++ends_;
    } else {
      next.push_back(std::move(longer));
    }
    return true;
  }

  bool descend(const Path& path) {
    if (failed_) return false;
    if (path.steps.size() == depth_) return ++ends_ > 0;
    std::vector<Path> next;
    for (const Step step : path.schedule.next_steps())
      if (!go_on(path, step, next)) return false;
    return std::all_of(next.begin(), next.end(), [this](const Path& one) { return descend(one); });
  }

  bool report(const Path& path) {
    const std::lock_guard lock(mutex_);
    if (failed_.exchange(true)) return false;
    for (const Step step : path.steps)
      text_ += std::string(text_.empty() ? "" : ", ") + word_for(step);
    text_ += ": " + path.schedule.violation();
    return false;
  }

  Schedule::Kind kind_;
  std::size_t depth_;
  std::atomic<unsigned long long> steps_ = 0;
  std::atomic<unsigned long long> ends_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::string text_;
};

}  // namespace

namespace {

bool search(Schedule::Kind kind, const char* name, std::size_t depth, bool only_failure) {
  const Time started = BootClock::now();
  Search search(kind, depth);
  search.run();
  if (only_failure) {
    if (search.failed()) std::printf("        steps %s\n", search.text().c_str());
    return !search.failed();
  }
  std::printf("%-7s all schedules of %s, up to %zu steps: %llu, with %llu steps, in %s\n",
              search.failed() ? "FAILED" : "ok",
              name,
              depth,
              search.ends(),
              search.steps(),
              format_duration(BootClock::now() - started).c_str());
  if (search.failed()) std::printf("        %s\n", search.text().c_str());
  return !search.failed();
}

}  // namespace

// What is the same in each kind is searched deepest in the first.
bool search_all_schedules(std::size_t depth, bool only_failure) {
  using Kind = Schedule::Kind;
  const std::size_t less = std::max<std::size_t>(depth, 1) - 1;
  return search(Kind::plain, "a plain run", depth, only_failure) &&
         search(Kind::fixed, "a fixed lease", less, only_failure) &&
         search(Kind::max_hold, "a run with an end", less, only_failure);
}

}  // namespace dlock::sim
