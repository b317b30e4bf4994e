// SPDX-License-Identifier: MIT
#include "cmd/own_holds.hpp"

#include "base/text.hpp"
#include "cmd/claim.hpp"

#include <algorithm>

namespace dlock {

namespace {

constexpr std::size_t k_most_told = 64;  // the most holds that inspect lists

Error usage(const std::string& text) {
  return {Errc::bad_usage, text};
}

// Parses "OWNER" or "OWNER#SERIAL".
Result<WantedHold> by_owner(const LockName& name, std::string_view id) {
  const std::size_t mark = id.rfind('#');
  WantedHold wanted{name, OwnerId(id.substr(0, mark)), ""};
  wanted.serial =
      mark == std::string_view::npos ? serial_of(wanted.owner) : HoldSerial(id.substr(mark + 1));
  if (!wanted.owner.empty() && !wanted.serial.empty()) return wanted;
  return usage("--owner: " + in_quotes(shortened(id, 80)) +
               " is not an owner: give the DLOCK_OWNER of dlock acquire, or OWNER#SERIAL");
}

// Parses one owner for all names, or one owner for each name, as in DLOCK_OWNER.
Result<std::vector<WantedHold>> by_owners(const std::vector<LockName>& names,
                                          std::string_view list) {
  std::vector<std::string_view> owners = split(list, ' ');
  if (owners.empty()) owners.push_back(list);
  if (owners.size() != 1 && owners.size() != names.size()) {
    return usage("--owner: " + std::to_string(owners.size()) + " owners for " +
                 std::to_string(names.size()) +
                 (names.size() == 1 ? " name" : " names; give one for all, or one for each"));
  }
  std::vector<WantedHold> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto wanted = by_owner(names[i], owners[owners.size() == 1 ? 0 : i]);
    if (!wanted) return wanted.error();
    all.push_back(std::move(*wanted));
  }
  return all;
}

Result<WantedHold> by_entries(const LockName& name,
                              const std::string& key,
                              const std::string& store) {
  const std::vector<AncestorHold> entries = inherited_holds();
  const auto nearest =
      std::find_if(entries.rbegin(), entries.rend(), [&](const AncestorHold& entry) {
        return entry.store == store && entry.key == key;
      });
  if (nearest != entries.rend()) return WantedHold{name, nearest->owner, nearest->serial};
  return usage("DLOCK_HOLDS names no hold of " + in_quotes(name.text()) + " in " + store +
               ": run eval \"$(dlock acquire ...)\" in this shell, or give --owner");
}

}  // namespace

std::vector<LockName> names_of(const std::vector<WantedHold>& holds) {
  std::vector<LockName> names;
  names.reserve(holds.size());
  for (const WantedHold& one : holds)
    names.push_back(one.name);
  return names;
}

Result<std::vector<WantedHold>> wanted_holds(const CommandLine& line, const LockStore& store) {
  auto names = parse_names(line.names);
  if (!names) return names.error();
  auto keys = keys_of(store, *names);
  if (!keys) return keys.error();
  if (line.owner) return by_owners(*names, *line.owner);
  std::vector<WantedHold> all;
  for (std::size_t i = 0; i < names->size(); ++i) {
    auto wanted = by_entries((*names)[i], (*keys)[i], store.where());
    if (!wanted) return wanted.error();
    all.push_back(std::move(*wanted));
  }
  return all;
}

Result<FoundHold> find_hold(LockStore& store, const WantedHold& wanted, Time limit) {
  auto holding = store.inspect(wanted.name, limit);
  if (!holding) return holding.error();
  FoundHold found{std::move(*holding), {}};
  const Holding& seen = found.holding;
  Hold hold{.name = wanted.name, .owner = wanted.owner, .serial = wanted.serial, .mode = seen.mode};
  const std::string id = hold_id(wanted.owner, wanted.serial);
  for (const HoldRecord& record : seen.holds) {
    if (record.id != id) continue;
    hold.mode = record.mode;
    found.hold = hold;
  }
  if (found.hold) return found;
  // inspect lists at most 64 holds, so this hold may exist although it is not listed: renew or
  // release will find out.
  if (!seen.lists_all_owners() || seen.holds.size() >= k_most_told) {
    found.hold = hold;
    return found;
  }
  // An old master or a replica may not know the hold. Only a server that may write can say that a
  // hold does not exist, and check() accepts this from no other server.
  auto sure = store.check({hold}, limit);
  if (!sure) return sure.error();
  found.released = sure->released;
  return found;
}

void log_of(LogLevel level, const LockName& name, std::string_view event, std::string_view text) {
  log(level, {.name = event, .text = text, .fields = {{"lock", name.text()}}});
}

}  // namespace dlock
