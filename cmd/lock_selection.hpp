// SPDX-License-Identifier: MIT
// Which locks `dlock list` shows, and how: its options, checked.
#pragma once

#include "base/result.hpp"
#include "cmd/command_line.hpp"
#include "core/holding.hpp"

#include <optional>
#include <string>

namespace dlock {

class LockSelection {
 public:
  enum class Format { text, json, prometheus, names, names_with_nul };

  // Errc::bad_usage: an unknown format, or options that contradict each other.
  static Result<LockSelection> of(const CommandLine& line);

  Format format() const { return format_; }
  // Returns whether a hold, or what --min-hold keeps of one, is by the chosen user on the chosen
  // host. A holder that is not dlock has neither, so it is shown only if nothing is chosen; so is a
  // lock that only a freeze keeps, as who froze it holds nothing.
  bool has(const Holding& holding) const;

 private:
  Format format_ = Format::text;
  std::optional<std::string> host_;
  std::optional<std::string> user_;
};

}  // namespace dlock
