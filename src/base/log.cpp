// SPDX-License-Identifier: MIT
#include "base/log.hpp"

#include "base/boot_clock.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <poll.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>

namespace dlock {

namespace {

// A reader that does not read must not stop the renewals behind us: what does not go at once is
// dropped. A pipe that polls writable takes PIPE_BUF bytes without blocking (pipe(7)).
void write_or_drop(std::string_view line) {
  constexpr std::size_t k_most = 4096;
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const auto n =
      ::write(STDERR_FILENO, line.data(), std::min(line.size(), k_most));
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

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    std::string line = in_place_ ? "\r\x1b[K" : "";
    in_place_ = false;
    line += settings_.json ? as_json(message.level, text) : as_text(message.level, text);
    write_or_drop(line + '\n');
  }
  void flush_() override {}

  std::string as_text(spdlog::level::level_enum level, std::string_view text) const {
    if (!settings_.color) return "dlock: " + std::string(text);
    const char* const hue = level == spdlog::level::err    ? "\x1b[31m"
                            : level == spdlog::level::warn ? "\x1b[33m"
                                                           : "\x1b[2m";
    return hue + std::string("dlock:") + "\x1b[0m " + std::string(text);
  }
  static std::string as_json(spdlog::level::level_enum level, std::string_view text) {
    const nlohmann::ordered_json line = {
        {"boot_ns", BootClock::now().time_since_epoch().count()},
        {"level", spdlog::level::to_short_c_str(level)},
        {"text", text},
    };
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  LogSettings settings_;
  bool in_place_ = false;
};

LogSettings g_settings;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// Made when the first line is written: most runs write none.
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

bool logs(LogLevel level) {
  return level <= g_settings.level;
}

void log(LogLevel level, std::string_view text) {
  if (logs(level)) logger().log(level_of(level), spdlog::string_view_t(text.data(), text.size()));
}

void log_in_place(std::string_view text) {
  sink().write_in_place(text);
}

void clear_log_in_place() {
  sink().clear_in_place();
}

}  // namespace dlock
