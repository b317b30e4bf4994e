// SPDX-License-Identifier: MIT
#include "cmd/cli.hpp"

#include "base/text.hpp"

// CLI11 includes <iostream>, which creates the standard streams and all locales when the program
// starts. That is an eighth of the instructions of a run, and dlock never uses these streams. So we
// set the include guard of libstdc++'s <iostream>, and only declare the streams, which is enough
// for CLI11.
#include <istream>
#include <ostream>
#ifdef __GLIBCXX__
#define _GLIBCXX_IOSTREAM 1  // NOLINT(bugprone-reserved-identifier, readability-identifier-naming)
namespace std {
extern istream cin;
extern ostream cout, cerr, clog;
}  // namespace std
#endif

#include <CLI/CLI.hpp>

#include <algorithm>

namespace dlock {

namespace {

// Returns whether one of the words may mean this option. Only such options are registered with
// CLI11: each registration takes about 5 us, which every run would pay at its start.
bool may_occur(const OptionSpec& spec, const std::vector<std::string>& words) {
  for (const std::string_view flag : split(spec.flags, ',')) {
    const bool is_long = flag.starts_with("--");
    for (const std::string& word : words) {
      if (is_long ? word.starts_with(flag) : word.find(flag[1]) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

using Pairs = std::vector<std::pair<std::string, std::string>>;

Result<Pairs> parse_options(const std::vector<OptionSpec>& specs,
                            const std::vector<std::string>& words) {
  Pairs pairs;
  CLI::App app;
  app.set_help_flag();
  for (const OptionSpec& spec : specs) {
    if (!may_occur(spec, words)) continue;
    if (spec.takes_value) {
      app.add_option(std::string(spec.flags),
                     [&pairs, &spec](const std::vector<std::string>& values) {
                       for (const std::string& value : values)
                         pairs.emplace_back(spec.name, value);
                       return true;
                     })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
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
    // Besides its own exceptions CLI11 lets some of the standard library through.
  } catch (const std::exception& error) {
    return Error{Errc::bad_usage, "the options make no sense: " + printable(error.what())};
  }
  return pairs;
}

}  // namespace dlock
