// SPDX-License-Identifier: MIT
#include "base/duration.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace dlock {

using namespace std::chrono_literals;

namespace {

struct Unit {
  std::string_view name;
  Duration length;
};
constexpr std::array k_units{
    Unit{"ms", 1ms}, Unit{"s", 1s}, Unit{"m", 1min}, Unit{"h", 1h}, Unit{"d", 24h}};

Error bad(std::string_view text) {
  return {Errc::bad_usage,
          "cannot read duration " + in_quotes(shortened(text, 40)) +
              ": write 250ms, 1.5, 10s, 2m, 1h30m or 1d"};
}

// Takes one number with its unit, such as "1h", from the front of `rest`. Returns false if `rest`
// does not begin with a number, or if the unit is unknown. `bare`: the number has no unit.
bool take_part(std::string_view& rest, double& seconds, bool& bare) {
  double number = 0;
  const auto [end, status] =
      std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
  if (status != std::errc() || rest.front() == '-' || !std::isfinite(number)) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  const std::size_t letters =
      std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), rest.size());
  const std::string_view name = rest.substr(0, letters);
  rest.remove_prefix(letters);
  bare = name.empty();
  Duration length = 1s;
  bool known = bare;
  for (const Unit& unit : k_units) {
    if (unit.name != name) continue;
    length = unit.length;
    known = true;
  }
  seconds = number * std::chrono::duration<double>(length).count();
  return known;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return bad(text);
  std::string_view rest = text;
  double total = 0;
  bool first = true;
  while (!rest.empty()) {
    double seconds = 0;
    bool bare = false;
    if (!take_part(rest, seconds, bare)) return bad(text);
    if (bare && (!first || !rest.empty())) return bad(text);  // "1h30" may mean 30m or 30s
    total += seconds;
    first = false;
  }
  if (total > std::chrono::duration<double>(k_longest_duration).count()) {
    return Error{Errc::bad_usage,
                 in_quotes(shortened(text, 40)) + " is too long: at most 36525d (100 years)"};
  }
  return Duration(std::llround(total * 1e9));
}

std::string format_duration(Duration d) {
  std::array<char, 64> out{};
  const bool negative = d < 0ns;
  if (negative) d = -d;
  const auto whole = std::chrono::floor<std::chrono::seconds>(d);
  const long long s = whole.count();
  int n = 0;
  if (d < 1s) {
    n = std::snprintf(out.data(), out.size(), "%lldms", to_ms(d));
  } else if (s < 60) {
    const long long tenths = to_ms(d) / 100;
    n = tenths % 10 == 0 ? std::snprintf(out.data(), out.size(), "%llds", s)
                         : std::snprintf(out.data(), out.size(), "%lld.%llds", s, tenths % 10);
  } else if (s < 3600) {
    n = s % 60 == 0 ? std::snprintf(out.data(), out.size(), "%lldm", s / 60)
                    : std::snprintf(out.data(), out.size(), "%lldm%llds", s / 60, s % 60);
  } else if (s < 86400) {
    n = s / 60 % 60 == 0
            ? std::snprintf(out.data(), out.size(), "%lldh", s / 3600)
            : std::snprintf(out.data(), out.size(), "%lldh%lldm", s / 3600, s / 60 % 60);
  } else {
    n = s / 3600 % 24 == 0
            ? std::snprintf(out.data(), out.size(), "%lldd", s / 86400)
            : std::snprintf(out.data(), out.size(), "%lldd%lldh", s / 86400, s / 3600 % 24);
  }
  return (negative ? "-" : "") + std::string(out.data(), static_cast<std::size_t>(n));
}

}  // namespace dlock
