// SPDX-License-Identifier: MIT
#include "cmd/cli.hpp"

#include "base/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

namespace dlock {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Result<Pairs> parse_options(const std::vector<OptionSpec>& specs,
                            const std::vector<std::string>& words) {
  Pairs pairs;
  if (words.empty()) return pairs;
  CLI::App app;
  app.set_help_flag();
  for (const OptionSpec& spec : specs) {
    if (spec.takes_value) {
      app.add_option_function<std::string>(
             std::string(spec.flags),
             [&pairs, &spec](const std::string& value) { pairs.emplace_back(spec.name, value); },
             "")
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    } else {
      app.add_flag_function(
          std::string(spec.flags),
          [&pairs, &spec](std::int64_t times) {
            pairs.emplace_back(spec.name, std::to_string(times));
          },
          "");
    }
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    const auto unknown = app.remaining();
    return Error{Errc::bad_usage,
                 "there is no option " +
                     dlock::quoted(shortened(unknown.empty() ? "" : unknown.front(), 80))};
  } catch (const CLI::ParseError& error) {
    return Error{Errc::bad_usage, printable(error.what())};
  }
  return pairs;
}

Result<Pairs> parse_toml(const std::string& text) {
  try {
    std::istringstream in(text);
    Pairs pairs;
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(in)) {
      if (item.name == "++" || item.name == "--") continue;  // CLI11's marks around a section
      if (item.inputs.size() != 1) {
        return Error{Errc::bad_config,
                     dlock::quoted(shortened(item.fullname(), 80)) + " has not one value"};
      }
      pairs.emplace_back(item.fullname(), item.inputs.front());
    }
    return pairs;
  } catch (const std::exception& error) {
    return Error{Errc::bad_config, printable(error.what())};
  }
}

}  // namespace dlock
