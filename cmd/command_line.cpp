// SPDX-License-Identifier: MIT
#include "cmd/command_line.hpp"

#include "base/text.hpp"
#include "cmd/cli.hpp"
#include "cmd/command_table.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_names = 16;

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

bool takes_value(const std::vector<OptionSpec>& specs, std::string_view flag) {
  for (const OptionSpec& spec : specs) {
    const auto flags = split(spec.flags, ',');
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) return spec.takes_value;
  }
  return false;
}

// Is the value of the option `word` the next word?
bool wants_next(const std::vector<OptionSpec>& specs, std::string_view word) {
  if (word.starts_with("--")) return takes_value(specs, word);
  for (std::size_t i = 1; i < word.size(); ++i) {  // -nw 5 is -n -w 5; -w5 has its value with it
    const std::string flag{'-', word[i]};
    if (takes_value(specs, flag)) return i + 1 == word.size();
  }
  return false;
}

struct Cut {
  std::vector<std::string> options;  // with their values
  std::size_t next = 0;              // the first word that is none
};

Cut take_options(const std::vector<OptionSpec>& specs,
                 const std::vector<std::string>& argv,
                 std::size_t at) {
  Cut cut;
  while (at < argv.size() && is_option(argv[at])) {
    const std::string& word = argv[at];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    if (equals != std::string::npos && takes_value(specs, word.substr(0, equals))) {
      cut.options.push_back(word.substr(0, equals));  // --reason= is an empty reason
      cut.options.push_back(word.substr(equals + 1));
      ++at;
      continue;
    }
    const bool with_next = wants_next(specs, word) && at + 1 < argv.size();
    cut.options.push_back(argv[at++]);
    if (with_next) cut.options.push_back(argv[at++]);
  }
  cut.next = at;
  return cut;
}

std::string shown(const std::string& word) {
  return printable(shortened(word, 40));
}

std::string joined(const std::vector<std::string>& words, std::size_t from, std::size_t most) {
  std::string out;
  for (std::size_t i = from; i < words.size() && i < from + most; ++i) {
    out += (out.empty() ? "" : " ") + shown(words[i]);
  }
  return out + (words.size() > from + most ? " …" : "");
}

Error usage(std::string text) {
  return {Errc::bad_usage, std::move(text)};
}

// argv[at] is the first word that is no option. Left of "--" are names; where there is none the
// first word is the name, and the rest the command.
Result<void> take_run(CommandLine& line, const std::vector<std::string>& argv, std::size_t at) {
  const auto from = argv.begin() + static_cast<std::ptrdiff_t>(at);
  const auto dashes = std::find(from, argv.end(), "--");
  const bool clear = dashes != argv.end();
  if (from == argv.end()) return {};
  if (*from != "--" && at + 1 < argv.size() && is_option(argv[at + 1])) {
    const std::string& option = argv[at + 1];
    return usage("the options of run go before the lock name; write: dlock run " + shown(option) +
                 " … " + shown(*from) + " -- CMD, or, if " + shown(option) +
                 " is the command: dlock run " + shown(*from) + " -- " + joined(argv, at + 1, 4));
  }
  if (clear && std::any_of(from, dashes, is_option)) {
    return usage("it is not clear where the command begins; write: dlock run " + shown(*from) +
                 " -- " + joined(argv, at + 1, 6));
  }
  const auto names_end = clear ? dashes : from + 1;
  line.names.assign(from, names_end);
  line.words.assign(clear ? dashes + 1 : names_end, argv.end());
  return {};
}

void take_operands(CommandLine& line,
                   std::vector<std::string>& options,
                   const std::vector<OptionSpec>& specs,
                   const std::vector<std::string>& argv,
                   std::size_t at) {
  bool only_names = false;
  while (at < argv.size()) {
    if (!only_names && argv[at] == "--") {
      only_names = true;
      ++at;
    } else if (!only_names && is_option(argv[at])) {
      const Cut cut = take_options(specs, argv, at);
      options.insert(options.end(), cut.options.begin(), cut.options.end());
      at = cut.next;
    } else {
      line.names.push_back(argv[at++]);
    }
  }
}

Result<void> take_settings(CommandLine& line,
                           const std::vector<OptionSpec>& specs,
                           const std::vector<std::string>& options) {
  auto pairs = parse_options(specs, options);
  if (!pairs) return pairs.error();
  for (auto& [name, value] : *pairs) {
    if (take_local_option(line, name, value)) continue;
    if (find_setting(name)->value.empty() && name != "verbose") value = "true";
    line.settings.push_back({name, value});
  }
  return {};
}

Result<void> check_options(const CommandLine& line) {
  for (const auto& [one, other] : {std::pair("nonblock", "wait"),
                                   std::pair("quiet", "verbose"),
                                   std::pair("shared", "exclusive"),
                                   std::pair("shared", "slots"),
                                   std::pair("exclusive", "slots")}) {
    if (!is_given(line, one) || !is_given(line, other)) continue;
    return usage("--" + std::string(one) + " and --" + other + " contradict each other; give one");
  }
  return {};
}

Result<void> check_run(const CommandLine& line) {
  if (line.shell_command && !line.words.empty()) {
    return usage(
        "--command and a command contradict each other; give one (several names end with --)");
  }
  if (line.shell_command || !line.words.empty()) return {};
  return usage("the command is missing; write: dlock run " + joined(line.names, 0, 3) + " -- CMD");
}

Result<void> check(const CommandLine& line) {
  if (line.help || line.version || line.command.empty()) return {};
  auto good = check_options(line);
  if (!good) return good;
  if (line.command == "list") {
    if (line.names.size() <= 1) return {};
    return usage("list takes one pattern; quote it: dlock list 'job-*'");
  }
  if (line.command == "force-release" || line.command == "wait") {
    if (line.names.size() == 1) return {};
    return usage(line.command + " takes one lock name");
  }
  if (line.names.empty()) {
    return usage("the lock name is missing; write: dlock " + line.command + " NAME" +
                 (line.command == "run" ? " -- CMD" : ""));
  }
  if (line.command != "inspect" && line.names.size() > k_most_names) {
    return usage("these are " + std::to_string(line.names.size()) + " lock names: at most " +
                 std::to_string(k_most_names));
  }
  return line.command == "run" ? check_run(line) : good;
}

// A lock that is named twice is meant once.
void drop_doubles(std::vector<std::string>& names) {
  std::vector<std::string> once;
  for (std::string& name : names) {
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(std::move(name));
  }
  names = std::move(once);
}

std::string command_names() {
  std::string out;
  const auto& all = all_commands();
  for (std::size_t i = 0; i < all.size(); ++i)
    out += (i == 0 ? "" : i + 1 < all.size() ? ", " : " and ") + std::string(all[i].name);
  return out;
}

}  // namespace

bool is_given(const CommandLine& line, std::string_view setting) {
  return std::any_of(line.settings.begin(), line.settings.end(), [&](const Given& one) {
    return one.name == setting;
  });
}

Result<CommandLine> parse_command_line(const std::vector<std::string>& argv) {
  CommandLine line;
  Cut cut = take_options(options_of(""), argv, 1);
  std::vector<std::string> options = std::move(cut.options);
  std::size_t at = cut.next;
  if (at < argv.size() && argv[at] != "--") line.command = argv[at++];
  const auto& known = all_commands();
  const auto named = [&](const CommandSpec& one) { return one.name == line.command; };
  if (!line.command.empty() && std::none_of(known.begin(), known.end(), named)) {
    return usage("there is no command " + in_quotes(shortened(line.command, 40)) + "; there are " +
                 command_names() + ". To run a command: dlock run NAME -- CMD");
  }
  const auto specs = options_of(line.command);
  Result<void> taken;
  if (line.command == "run") {
    cut = take_options(specs, argv, at);
    options.insert(options.end(), cut.options.begin(), cut.options.end());
    taken = take_run(line, argv, cut.next);
  } else {
    take_operands(line, options, specs, argv, at);
  }
  if (line.command != "inspect") drop_doubles(line.names);
  if (taken) taken = take_settings(line, specs, options);
  if (taken) taken = check(line);
  if (!taken) return taken.error();
  return line;
}

}  // namespace dlock
