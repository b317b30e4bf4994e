// SPDX-License-Identifier: MIT
#include "store/redis/doctor/facts.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>

namespace dlock::doctor {

Fields parse_info(std::string_view text) {
  Fields all;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    all[std::string(line.substr(0, colon))] = line.substr(colon + 1);
  }
  return all;
}

std::string reason_of(std::string_view command, const Error& error) {
  const std::string name(command);
  if (error.code == Errc::denied) return name + " is refused";
  if (error.code == Errc::refused) return name + " is unknown or refused";
  if (error.code == Errc::timed_out) return name + " had no answer in time";
  return name + " failed: " + error.text;
}

Seen<std::string> field_of(const Seen<Fields>& fields, std::string_view name) {
  if (!fields) return Seen<std::string>::unseen(fields.why());
  const auto found = fields->find(name);
  if (found != fields->end()) return found->second;
  return Seen<std::string>::unseen("the server tells no " + std::string(name));
}

Seen<long long> number_of(const Seen<Fields>& fields, std::string_view name) {
  const auto text = field_of(fields, name);
  if (!text) return Seen<long long>::unseen(text.why());
  long long number = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (status == std::errc() && end == text->data() + text->size())
    return std::clamp(number, -k_largest_number, k_largest_number);
  return Seen<long long>::unseen(std::string(name) + " is no number");
}

}  // namespace dlock::doctor
