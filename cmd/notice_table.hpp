// SPDX-License-Identifier: MIT
// The table of what the user gets for each notice of the core: its event and fields in JSON, its
// log level, its sentence. run, acquire, wait and renew all use this table. dlock-json(7) lists the
// events.
#pragma once

#include "base/log.hpp"
#include "core/notice.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// A row of the table. `name` is the lock's name in quotes. `text` is null if the notice has no
// sentence, or if Voice makes the sentence, as it does for waits.
struct NoticeForm {
  Notice::Kind kind;
  LogLevel level;
  std::string_view event;  // the event's name in JSON
  std::string (*text)(const Notice& notice, const std::string& name) = nullptr;
  // Fields that appear only in JSON.
  std::vector<LogEvent::Field> (*fields)(const Notice& notice) = nullptr;
  // The sentence of `dlock renew`, if it differs from `text`: renew has no command to stop.
  std::string (*renew_text)(const Notice& notice, const std::string& name) = nullptr;
};

NoticeForm form_of(const Notice& notice);

// Return the sentence; empty if the table has no sentence for this notice.
std::string notice_text(const Notice& notice, const std::string& name);
std::string renew_text(const Notice& notice, const std::string& name);
// Returns the fields; empty if they are not read (wants_fields).
std::vector<LogEvent::Field> notice_fields(const Notice& notice);

}  // namespace dlock
