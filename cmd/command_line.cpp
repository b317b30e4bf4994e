// SPDX-License-Identifier: MIT
#include "cmd/command_line.hpp"

#include "base/text.hpp"
#include "cmd/cli.hpp"

#include <algorithm>
#include <array>

namespace dlock {

namespace {

struct CommandSpec {
  std::string_view name;
  std::string_view usage;
  std::string_view summary;
};
constexpr std::array k_commands{
    CommandSpec{"run", "run [OPTION…] NAME [--] CMD [ARG…]", "run CMD while holding the lock NAME"},
    CommandSpec{
        "inspect", "inspect [OPTION…] NAME…", "say who holds NAME, since when, and for how long"},
    CommandSpec{"list", "list [OPTION…] [GLOB]", "list the locks, one a line"},
    CommandSpec{
        "force-release", "force-release [OPTION…] NAME", "take the lock away from its holder"},
};

// Options that are no settings: they belong to one call.
struct LocalOption {
  std::string_view command;  // empty: every one
  OptionSpec spec;
  std::string_view value;
  std::string_view help;
};
constexpr std::array k_local{
    LocalOption{"run",
                {"command", "-c,--command", true},
                "STRING",
                "run STRING by $SHELL -c instead of CMD"},
    LocalOption{"run",
                {"result-file", "--result-file", true},
                "FILE",
                "write how the run ended to FILE, as JSON"},
    LocalOption{"inspect", {"json", "--json", false}, "", "write JSON"},
    LocalOption{"list", {"json", "--json", false}, "", "write JSON"},
    LocalOption{"force-release",
                {"now", "--now", false},
                "",
                "delete the lock at once: two commands may then run"},
    LocalOption{
        "force-release", {"if-owner", "--if-owner", true}, "ID", "only if this owner holds it"},
    LocalOption{"force-release",
                {"if-token", "--if-token", true},
                "N",
                "only if it was granted with this fencing token"},
    LocalOption{"force-release", {"yes", "-y,--yes", false}, "", "do not ask"},
    LocalOption{"",
                {"config", "--config", true},
                "FILE",
                "read this file instead of the user's and the system's"},
    LocalOption{"", {"version", "-V,--version", false}, "", "say which version this is"},
    LocalOption{"", {"help", "-h,--help", false}, "", "say this"},
};

std::vector<OptionSpec> specs_for(std::string_view command) {
  std::vector<OptionSpec> specs;
  for (const Setting& setting : all_settings()) {
    if (setting.flags.empty() || (setting.only_run && command != "run")) continue;
    specs.push_back({setting.name, setting.flags, !setting.value.empty()});
  }
  for (const LocalOption& option : k_local) {
    if (option.command.empty() || option.command == command) specs.push_back(option.spec);
  }
  return specs;
}

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

std::string joined(const std::vector<std::string>& words, std::size_t from, std::size_t most) {
  std::string out;
  for (std::size_t i = from; i < words.size() && i < from + most; ++i) {
    out += (out.empty() ? "" : " ") + printable(shortened(words[i], 40));
  }
  return out + (words.size() > from + most ? " …" : "");
}

Error usage(std::string text) {
  return {Errc::bad_usage, std::move(text)};
}

// argv[at] is the first word behind NAME.
Result<void> take_child(CommandLine& line, const std::vector<std::string>& argv, std::size_t at) {
  const std::string name = printable(shortened(line.names.front(), 40));
  if (at < argv.size() && argv[at] == "--") {
    line.words.assign(argv.begin() + static_cast<std::ptrdiff_t>(at) + 1, argv.end());
    return {};
  }
  if (at < argv.size() && is_option(argv[at])) {
    return usage("the options of run go before the lock name; write: dlock run " +
                 joined(argv, at, 1) + " … " + name + " -- CMD, or, if " +
                 printable(shortened(argv[at], 40)) + " is the command: dlock run " + name +
                 " -- " + joined(argv, at, 4));
  }
  if (std::find(argv.begin() + static_cast<std::ptrdiff_t>(at), argv.end(), "--") != argv.end()) {
    return usage("it is not clear where the command begins; write: dlock run " + name + " -- " +
                 joined(argv, at, 6));
  }
  line.words.assign(argv.begin() + static_cast<std::ptrdiff_t>(at), argv.end());
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
    if (name == "help") {
      line.help = true;
    } else if (name == "version") {
      line.version = true;
    } else if (name == "json") {
      line.json = true;
    } else if (name == "yes") {
      line.yes = true;
    } else if (name == "now") {
      line.now = true;
    } else if (name == "config") {
      line.config = value;
    } else if (name == "if-owner") {
      line.if_owner = value;
    } else if (name == "if-token") {
      line.if_token = value;
    } else if (name == "command") {
      line.shell_command = value;
    } else if (name == "result-file") {
      line.result_file = value;
    } else {
      const Setting* const setting = find_setting(name);
      if (setting->value.empty() && name != "verbose") value = "true";
      line.settings.push_back({name, value});
    }
  }
  return {};
}

bool given(const CommandLine& line, std::string_view name) {
  return std::any_of(line.settings.begin(), line.settings.end(), [&](const Given& one) {
    return one.name == name;
  });
}

Result<void> check(const CommandLine& line) {
  if (line.help || line.version) return {};
  if (given(line, "nonblock") && given(line, "wait")) {
    return usage("--nonblock and --wait contradict each other; give one");
  }
  if (given(line, "quiet") && given(line, "verbose")) {
    return usage("--quiet and --verbose contradict each other; give one");
  }
  if (line.command == "run") {
    if (line.names.empty()) return usage("the lock name is missing; write: dlock run NAME -- CMD");
    if (line.shell_command && !line.words.empty()) {
      return usage("--command and a command contradict each other; give one");
    }
    if (!line.shell_command && line.words.empty()) {
      return usage("the command is missing; write: dlock run " +
                   printable(shortened(line.names.front(), 40)) + " -- CMD");
    }
  } else if (line.command == "inspect" && line.names.empty()) {
    return usage("the lock name is missing; write: dlock inspect NAME");
  } else if (line.command == "list" && line.names.size() > 1) {
    return usage("list takes one pattern; quote it: dlock list 'job-*'");
  } else if (line.command == "force-release" && line.names.size() != 1) {
    return usage("force-release takes one lock name");
  }
  return {};
}

void add_help(std::string& out,
              std::string_view flags,
              std::string_view value,
              std::string_view help) {
  std::string left = "  ";
  for (const std::string_view flag : split(flags, ','))
    left += (left.size() > 2 ? ", " : "") + std::string(flag);
  if (!value.empty()) left += " " + std::string(value);
  constexpr std::size_t k_column = 34;
  out += left.size() + 2 > k_column ? left + "\n" + std::string(k_column, ' ')
                                    : left + std::string(k_column - left.size(), ' ');
  out += std::string(help) + "\n";
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& argv) {
  CommandLine line;
  Cut cut = take_options(specs_for(""), argv, 1);
  std::vector<std::string> options = std::move(cut.options);
  std::size_t at = cut.next;
  if (at < argv.size() && argv[at] != "--") line.command = argv[at++];
  const bool known = std::any_of(k_commands.begin(), k_commands.end(), [&](const CommandSpec& one) {
    return one.name == line.command;
  });
  if (!line.command.empty() && !known) {
    return usage("there is no command " + in_quotes(shortened(line.command, 40)) +
                 "; there are run, inspect, list and force-release. To run a command: dlock run "
                 "NAME -- CMD");
  }
  const auto specs = specs_for(line.command);
  Result<void> taken;
  if (line.command == "run") {
    cut = take_options(specs, argv, at);
    options.insert(options.end(), cut.options.begin(), cut.options.end());
    at = cut.next;
    if (at < argv.size() && argv[at] != "--") {
      line.names.push_back(argv[at++]);
      taken = take_child(line, argv, at);
    }
  } else {
    take_operands(line, options, specs, argv, at);
  }
  if (taken) taken = take_settings(line, specs, options);
  if (taken) taken = check(line);
  if (!taken) return taken.error();
  return line;
}

std::string help_text(const std::string& command) {
  std::string out;
  if (command.empty()) {
    out =
        "usage: dlock [OPTION…] COMMAND …\n\nRun a command under a distributed "
        "lock.\n\ncommands:\n";
    for (const CommandSpec& one : k_commands)
      add_help(out, one.usage, "", one.summary);
    out += "\noptions of every command:\n";
  } else {
    for (const CommandSpec& one : k_commands) {
      if (one.name == command)
        out = "usage: dlock " + std::string(one.usage) + "\n\n" + std::string(one.summary) +
              "\n\noptions:\n";
    }
    for (const LocalOption& one : k_local) {
      if (one.command == command) add_help(out, one.spec.flags, one.value, one.help);
    }
    for (const Setting& one : all_settings()) {
      if (one.only_run && command == "run") add_help(out, one.flags, one.value, one.help);
    }
    out += "\noptions of every command:\n";
  }
  for (const Setting& one : all_settings()) {
    if (!one.only_run && !one.flags.empty()) add_help(out, one.flags, one.value, one.help);
  }
  for (const LocalOption& one : k_local) {
    if (one.command.empty()) add_help(out, one.spec.flags, one.value, one.help);
  }
  out += command.empty() ? "\nMore: dlock COMMAND --help, man dlock\n" : "\nMore: man dlock\n";
  return out;
}

}  // namespace dlock
