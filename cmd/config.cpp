// SPDX-License-Identifier: MIT
// dlock config: prints each setting as it would apply to a command started now, with its source.
// Asks no store.
#include "base/text.hpp"
#include "cmd/commands.hpp"
#include "cmd/json_output.hpp"
#include "cmd/output.hpp"

#include <algorithm>

namespace dlock {

namespace {

constexpr std::size_t k_name_columns = 24;
constexpr std::size_t k_value_columns = 24;

void fill(std::string& line, std::size_t columns) {
  const std::size_t now = columns_of(line);
  line.append(columns > now ? columns - now : 1, ' ');
}

std::string text_of(const std::vector<InForce>& all) {
  std::string text;
  for (const InForce& one : all) {
    std::string line(one.setting->name);
    fill(line, k_name_columns);
    line += !one.value ? "-" : one.value->empty() ? "\"\"" : printable(*one.value);
    fill(line, k_name_columns + k_value_columns);
    text += line + (one.place.empty() ? "default" : one.place) + "\n";
  }
  return text;
}

}  // namespace

ExitStatus config_command(const CommandLine& line, const Settings& settings) {
  const std::vector<InForce> all = settings_in_force(*settings.sources);
  const auto written = write_out(line.json ? settings_json(all) : text_of(all));
  return written ? ExitStatus::ok : report(written.error(), settings);
}

}  // namespace dlock
