// SPDX-License-Identifier: MIT
#include "base/log.hpp"

#include "base/boot_clock.hpp"
#include "base/calendar.hpp"
#include "base/host_name.hpp"
#include "base/log_thread.hpp"
#include "base/text.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace dlock {

namespace {

// The longest line that is written, in bytes: PIPE_BUF. If poll(2) says that a pipe is writable,
// the pipe takes this many bytes without blocking (pipe(7)).
constexpr std::size_t k_longest_line = 4096;
constexpr std::size_t k_shortened_text = 256;
// How long ~LogInBackground() waits for the log thread to write its remaining lines to the file. A
// healthy disk needs less time, unless the machine is very busy.
constexpr Duration k_file_limit = std::chrono::seconds(1);

std::atomic<bool> g_in_background = false;  // NOLINT(*-avoid-non-const-global-variables)

bool stderr_is_file() {
  struct stat status {};
  return ::fstat(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode);
}

// Writes the line and returns true, or drops the line and returns false if stderr does not take it
// at once: a program that does not read our pipe must not stop our renewals.
bool write_or_drop(std::string_view line) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  // If a system call filter refuses poll(2), the line is written anyway: it may report this
  // refusal.
  if (::poll(&out, 1, 0) >= 0 && (out.revents & POLLOUT) == 0) return false;
  const std::size_t size = std::min(line.size(), k_longest_line);
  return ::write(STDERR_FILENO, line.data(), size) == static_cast<ssize_t>(size);
}

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Returns the present time in UTC, in the form of RFC 3339, for people and for programs that
// collect log lines of many hosts. No decision depends on it.
std::string wall_clock() {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(system_clock::now());
  const auto second = floor<seconds>(now);
  const std::tm parts = utc_date(second);
  std::array<char, 40> out{};
  const std::size_t size = std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string fraction = std::to_string(1000 + (now - second).count());
  fraction.front() = '.';
  return std::string(out.data(), size) + fraction + 'Z';
}

void put(Json& object, const LogEvent::Field& field) {
  const std::string name(field.name);
  if (const auto* const inner = std::get_if<LogEvent::Object>(&field.value)) {
    object[name] = Json::object();
    for (const LogEvent::Field& one : inner->fields)
      put(object[name], one);
  } else if (const auto* const number = std::get_if<std::int64_t>(&field.value)) {
    object[name] = *number;
  } else if (std::holds_alternative<std::nullptr_t>(field.value)) {
    object[name] = nullptr;
  } else {
    object[name] = std::get<std::string>(field.value);
  }
}

LogSettings g_settings;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::string g_store;     // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

std::string as_json(LogLevel level, const LogEvent& event) {
  constexpr std::array k_levels{"error", "warn", "info", "debug"};
  Json line = {
      {"time", wall_clock()},
      {"boot_ns", BootClock::now().time_since_epoch().count()},
      {"host", host_name()},
      {"pid", ::getpid()},
      {"level", k_levels.at(static_cast<std::size_t>(level))},
      {"event", event.name},
  };
  if (!g_store.empty()) line["store"] = g_store;
  for (const LogEvent::Field& field : event.fields)
    put(line, field);
  line["text"] = event.text;
  std::string text = dump(line);
  if (text.size() < k_longest_line) return text;
  // The text is shortened before it becomes JSON: JSON that is cut is not JSON any more.
  line["text"] = shortened(event.text, k_shortened_text);
  text = dump(line);
  if (text.size() < k_longest_line) return text;
  for (const LogEvent::Field& field : event.fields) {
    if (std::holds_alternative<LogEvent::Object>(field.value)) line.erase(std::string(field.name));
  }
  return dump(line);
}

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StderrSink(const LogSettings& settings) : settings_(settings) {}

  void write_in_place(std::string_view text) {
    const std::lock_guard lock(mutex_);
    write_or_drop("\r\x1b[Kdlock: " + std::string(text));
    in_place_ = true;
  }

  void clear_in_place() {
    const std::lock_guard lock(mutex_);
    if (in_place_) write_or_drop("\r\x1b[K");
    in_place_ = false;
  }

  void end_background() {
    const std::lock_guard lock(mutex_);
    if (!thread_ || !thread_->drained(k_file_limit)) return;
    dropped_ += thread_->take_failed();
    thread_.reset();
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view payload(message.payload.data(), message.payload.size());
    if (settings_.json) return write_json(std::string(payload));
    std::string line = in_place_ ? "\r\x1b[K" : "";
    in_place_ = false;
    // The text is shortened here, because write_or_drop() would cut off the end of the line with
    // its line feed. "dlock:" and the colours need less than 64 bytes.
    write(line + as_text(message.level, shortened(payload, k_longest_line - 64)) + '\n');
  }
  void flush_() override {}

  bool write(std::string line) {
    if (!thread_ && g_in_background && stderr_is_file()) start_thread();
    return thread_ ? thread_->push(std::move(line)) : write_or_drop(line);
  }

  void start_thread() {
    try {
      thread_ = std::make_unique<LogThread>();
    } catch (const std::system_error&) {
      g_in_background = false;  // without a thread, lines are written by the caller
    }
  }

  void write_json(std::string object) {
    if (thread_) dropped_ += thread_->take_failed();
    if (dropped_ > 0) {
      object.insert(object.size() - 1, ",\"dropped\":" + std::to_string(dropped_));
    }
    object += '\n';
    const bool written = object.size() <= k_longest_line && write(std::move(object));
    dropped_ = written ? 0 : dropped_ + 1;
  }

  std::string as_text(spdlog::level::level_enum level, std::string_view line) const {
    const std::string text = settings_.ascii ? with_ascii_dots(line) : std::string(line);
    if (!settings_.color) return "dlock: " + text;
    const char* const hue = level == spdlog::level::err    ? "\x1b[31m"
                            : level == spdlog::level::warn ? "\x1b[33m"
                                                           : "\x1b[2m";
    return hue + std::string("dlock:") + "\x1b[0m " + text;
  }

  LogSettings settings_;
  bool in_place_ = false;
  std::uint64_t dropped_ = 0;
  std::unique_ptr<LogThread> thread_;  // writes lines to a file, while it exists
};

// Returns the only sink, which writes all lines. It is created for the first line, because most
// runs write no line.
StderrSink& sink() {
  static StderrSink one(g_settings);
  return one;
}

spdlog::logger& logger() {
  static spdlog::logger one("dlock", std::shared_ptr<StderrSink>(&sink(), [](StderrSink*) {}));
  static std::once_flag once;
  std::call_once(once, [] { one.set_level(spdlog::level::trace); });
  return one;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
      return spdlog::level::debug;
  }
  return spdlog::level::err;
}

}  // namespace

void set_up_log(const LogSettings& settings) {
  g_settings = settings;
}

void log_store(std::string where) {
  g_store = std::move(where);
}

bool logs(LogLevel level) {
  return level <= g_settings.level;
}

bool logs_json() {
  return g_settings.json;
}

LogEvent::Field field_if_known(std::string_view name, std::int64_t number) {
  if (number == 0) return {name, nullptr};
  return {name, number};
}

bool wants_fields() {
  return g_settings.json || g_settings.fields;
}

void log(LogLevel level, const LogEvent& event, std::string* json) {
  const bool written = logs(level) && (logs_json() || !event.text.empty());
  if (!written && json == nullptr) return;
  const std::string object = logs_json() || json != nullptr ? as_json(level, event) : "";
  if (json != nullptr) *json = object;
  if (!written) return;
  const std::string_view line = logs_json() ? object : event.text;
  logger().log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
}

void log(LogLevel level, std::string_view text) {
  log(level, LogEvent{.text = text});
}

LogInBackground::LogInBackground() {
  g_in_background = true;
}

LogInBackground::~LogInBackground() {
  g_in_background = false;
  sink().end_background();
}

void log_in_place(std::string_view text) {
  sink().write_in_place(text);
}

void clear_log_in_place() {
  sink().clear_in_place();
}

}  // namespace dlock
