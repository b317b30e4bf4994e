// SPDX-License-Identifier: MIT
#include "core/names.hpp"

#include "base/random.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace dlock {

namespace {

constexpr std::size_t k_longest_name = 512;
constexpr std::size_t k_most_holds = 1024;
// The longest text of DLOCK_HOLDS; execve(2) allows 128 KiB for a string of the environment.
constexpr std::size_t k_longest_holds = 100'000;
constexpr std::size_t k_uuid = 36;
constexpr std::size_t k_serial = 16;
constexpr char k_of_acquire = 'a';

}  // namespace

Result<LockName> LockName::parse(std::string_view text) {
  if (text.empty()) return Error{Errc::bad_usage, "the lock name is empty"};
  if (text.size() > k_longest_name) {
    return Error{Errc::bad_usage,
                 "the lock name is " + std::to_string(text.size()) + " bytes long: at most 512"};
  }
  if (text.find_first_of(std::string_view("\0\r\n", 3)) != std::string_view::npos) {
    return Error{Errc::bad_usage,
                 "the lock name " + in_quotes(text) + " has a line break or a NUL in it"};
  }
  return LockName(std::string(text));
}

std::string join_names(const std::vector<LockName>& names) {
  if (names.size() == 1) return names.front().text();
  std::string out;
  for (const LockName& name : names) {
    if (!out.empty()) out += ' ';
    for (const char c : name.text()) {
      if (c == ' ' || c == '\t' || c == '%') {
        out += percent_encode({&c, 1});
      } else {
        out += c;
      }
    }
  }
  return out;
}

OwnerId make_owner_id(long pid) {
  std::array<unsigned char, 16> bytes{};
  fill_randomly(bytes);
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);  // RFC 9562: version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);  // and the variant of RFC 9562
  std::string id = hex(bytes);
  for (const std::size_t at : {20U, 16U, 12U, 8U})
    id.insert(at, 1, '-');
  return id + ':' + std::to_string(pid);
}

HoldSerial make_hold_serial() {
  return random_hex(k_serial / 2);
}

std::string hold_id(const OwnerId& owner, const HoldSerial& serial) {
  return owner + '#' + serial;
}

bool is_hold_of(std::string_view hold_id, const OwnerId& owner) {
  return hold_id.size() > owner.size() && hold_id.starts_with(owner) &&
         hold_id[owner.size()] == '#';
}

HoldSerial serial_of(const OwnerId& owner) {
  if (owner.size() > k_uuid && owner[k_uuid] != ':') return "";
  if (owner.find_first_not_of("0123456789", k_uuid + 1) != std::string::npos) return "";
  std::string digits;
  for (const char c : owner.substr(0, k_uuid)) {
    if (c != '-') digits += c;
  }
  return owner.size() < k_uuid || digits.size() < k_serial
             ? ""
             : std::string(1, k_of_acquire) + digits.substr(digits.size() - k_serial);
}

bool is_of_acquire(const HoldSerial& serial) {
  return serial.size() == k_serial + 1 && serial.front() == k_of_acquire;
}

std::vector<AncestorHold> parse_holds(std::string_view text) {
  std::vector<AncestorHold> holds;
  for (const std::string_view entry : split(text, ' ')) {
    const auto parts = split(entry, '|');
    if (parts.size() != 4) continue;
    holds.push_back({percent_decode(parts[0]),
                     percent_decode(parts[1]),
                     percent_decode(parts[2]),
                     percent_decode(parts[3])});
  }
  if (holds.size() > k_most_holds) holds.erase(holds.begin(), holds.end() - k_most_holds);
  return holds;
}

std::string format_holds(const std::vector<AncestorHold>& holds) {
  std::string out;
  for (auto hold = holds.rbegin(); hold != holds.rend(); ++hold) {
    constexpr std::string_view k_keep = "-._~:/";
    const std::string entry =
        percent_encode(hold->store, k_keep) + '|' + percent_encode(hold->key, k_keep) + '|' +
        percent_encode(hold->owner, k_keep) + '|' + percent_encode(hold->serial, k_keep);
    if (out.size() + entry.size() > k_longest_holds) break;
    out.insert(0, out.empty() ? entry : entry + ' ');
  }
  return out;
}

}  // namespace dlock
