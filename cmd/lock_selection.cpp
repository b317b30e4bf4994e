// SPDX-License-Identifier: MIT
#include "cmd/lock_selection.hpp"

#include "base/host_name.hpp"
#include "base/text.hpp"
#include "base/user_name.hpp"

#include <algorithm>

namespace dlock {

namespace {

Error refused(const std::string& why) {
  return {Errc::bad_usage, why};
}

// The record by which a freeze keeps the name has no token, as it is of no run.
bool is_of_freeze(const HoldRecord& hold) {
  return hold.kept && hold.token == 0;
}

}  // namespace

Result<LockSelection> LockSelection::of(const CommandLine& line) {
  LockSelection selection;
  selection.host_ = line.host;
  selection.user_ = line.user;
  if (line.mine) {
    if (line.host || line.user) return refused("--mine is --host and --user together");
    selection.host_ = host_name();
    selection.user_ = user_name();
  }
  if (line.json + line.only_names + line.format.has_value() > 1)
    return refused("only one of --json, --names and --format makes sense");
  if (line.nul_after_names && !line.only_names)
    return refused("-0, --null makes sense only with --names");
  if (line.only_names)
    selection.format_ = line.nul_after_names ? Format::names_with_nul : Format::names;
  const std::string format = line.json ? "json" : line.format.value_or("text");
  if (format == "json") {
    selection.format_ = Format::json;
  } else if (format == "prometheus") {
    selection.format_ = Format::prometheus;
  } else if (format != "text") {
    return refused("--format is text, json or prometheus, not " + in_quotes(format));
  }
  return selection;
}

bool LockSelection::has(const Holding& holding) const {
  if (!host_ && !user_) return true;
  return std::any_of(holding.holds.begin(), holding.holds.end(), [this](const HoldRecord& hold) {
    if (is_of_freeze(hold)) return false;
    return (!host_ || hold.who.host == *host_) && (!user_ || hold.who.user == *user_);
  });
}

}  // namespace dlock
