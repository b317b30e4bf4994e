// SPDX-License-Identifier: MIT
// Writes one line per event to stderr: "dlock: …" or a JSON object. It never writes to stdout,
// which belongs to the command.
//
// Logging never blocks the caller for long and never fails: a line is dropped if a full pipe does
// not take it at once, or if stderr is closed. The next JSON line that is written says how many
// lines were dropped. Any thread may log. If stderr is a file, a hanging disk could block the
// caller; LogInBackground prevents that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

enum class LogLevel {
  error,  // what harms the run
  warn,   // what may harm the run, or makes it wait
  info,   // what happens to the lock (-v)
  debug,  // every call (-vv)
};

struct LogSettings {
  LogLevel level = LogLevel::warn;
  bool json = false;
  bool color = false;
  bool ascii = false;   // the text format has "..." in place of "…"
  bool fields = false;  // the fields of events are wanted, though the format is text
};

void set_up_log(const LogSettings& settings);
// From now on each JSON line names this store. To be called before a second thread exists.
void log_store(std::string where);
bool logs(LogLevel level);

// One event. Its text is a sentence; an event without text appears in JSON only.
struct LogEvent {
  struct Field;
  struct Object {
    std::vector<Field> fields;
  };
  struct Field {
    std::string_view name;
    std::variant<std::int64_t, std::string, Object, std::nullptr_t> value;
  };
  std::string_view name = "message";  // one of the names listed in dlock-json(7)
  // One line; text from outside must have gone through printable() or in_quotes().
  std::string_view text;
  std::vector<Field> fields = {};  // only in JSON
};
// If `json` is not null, it gets the line of the JSON log, without its line feed, even if the level
// or the format is such that this line is not written.
void log(LogLevel level, const LogEvent& event, std::string* json = nullptr);
bool logs_json();
bool wants_fields();  // whether the fields of an event are read: otherwise they may be left out

// Returns a field whose value is null if the number is 0, which means that it is unknown.
LogEvent::Field field_if_known(std::string_view name, std::int64_t number);

// Logs an event that has only a text.
void log(LogLevel level, std::string_view text);

// While this object exists, lines to a file are written by a separate thread, which the first line
// starts. The destructor waits until all lines are written, but not for long: if the disk hangs,
// the thread keeps the remaining lines.
class LogInBackground {
 public:
  LogInBackground();
  LogInBackground(const LogInBackground&) = delete;
  LogInBackground& operator=(const LogInBackground&) = delete;
  ~LogInBackground();
};

// Writes a line that the next line replaces; clear_log_in_place() removes it. For terminals only.
void log_in_place(std::string_view text);
void clear_log_in_place();

}  // namespace dlock
