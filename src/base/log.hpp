// SPDX-License-Identifier: MIT
// One line an event on stderr, "dlock: …" or a JSON object. Never on stdout: that is the child's.
//
// Writing never blocks the caller for long and never fails: a line that a full pipe would not take
// at once is dropped, and so is a line to a closed stderr. The next JSON line that can be written
// says how many were dropped. Any thread may log. A file may hang with its disk: LogInBackground.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

enum class LogLevel {
  error,  // the run is harmed
  warn,   // the run may be harmed, or waits
  info,   // what happens to the lock (-v)
  debug,  // every call (-vv)
};

struct LogSettings {
  LogLevel level = LogLevel::warn;
  bool json = false;
  bool color = false;
  bool ascii = false;  // the text format has "..." for "…"
};

void set_up_log(const LogSettings& settings);
// Each JSON line names this store from now on. Called before there is another thread.
void log_store(std::string where);
bool logs(LogLevel level);

// One event. Its text is a sentence; an event without a text is for programs only.
struct LogEvent {
  struct Field;
  struct Object {
    std::vector<Field> fields;
  };
  struct Field {
    std::string_view name;
    std::variant<std::int64_t, std::string, Object> value;
  };
  std::string_view name = "message";  // a name that dlock(1) lists
  std::string_view text;           // one line; foreign text went through printable() or in_quotes()
  std::vector<Field> fields = {};  // only in JSON
};
void log(LogLevel level, const LogEvent& event);
bool logs_json();

// An event with nothing but `text`.
void log(LogLevel level, std::string_view text);

// While it lives, lines to a file are written by a thread of their own, which the first line
// starts. Its end waits for them, though not for a disk that hangs: then that thread keeps them.
class LogInBackground {
 public:
  LogInBackground();
  LogInBackground(const LogInBackground&) = delete;
  LogInBackground& operator=(const LogInBackground&) = delete;
  ~LogInBackground();
};

// Writes a line that the next one replaces, and removes it again; for terminals only.
void log_in_place(std::string_view text);
void clear_log_in_place();

}  // namespace dlock
