// SPDX-License-Identifier: MIT
// What a user gets of each notice: its event and fields in JSON, its level, its sentence. run,
// acquire, wait and renew all report by this table; dlock(1) lists its events.
#pragma once

#include "base/log.hpp"
#include "core/notice.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// A row of the table. `name` is the quoted name of the lock. A row without `text` has no sentence,
// or Voice makes it (waits).
struct NoticeForm {
  Notice::Kind kind;
  LogLevel level;
  std::string_view event;  // its name in JSON
  std::string (*text)(const Notice& notice, const std::string& name) = nullptr;
  // The fields that only JSON has.
  std::vector<LogEvent::Field> (*fields)(const Notice& notice) = nullptr;
  // The sentence of `dlock renew`, where it is another: no command is stopped.
  std::string (*renew_text)(const Notice& notice, const std::string& name) = nullptr;
};

NoticeForm form_of(const Notice& notice);

// Empty: the text format has no line for this notice.
std::string notice_text(const Notice& notice, const std::string& name);
std::string renew_text(const Notice& notice, const std::string& name);
// Empty unless the log is JSON.
std::vector<LogEvent::Field> notice_fields(const Notice& notice);

}  // namespace dlock
