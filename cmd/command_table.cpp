// SPDX-License-Identifier: MIT
#include "cmd/command_table.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace dlock {

namespace {

// An option that belongs to one call.
struct LocalOption {
  std::string_view commands;  // that have it, blanks between; empty: every one
  OptionSpec spec;
  std::string_view value;
  std::string_view help;
  std::variant<bool CommandLine::*,
               std::optional<std::string> CommandLine::*,
               std::vector<std::string> CommandLine::*>
      to;
};

// clang-format off
constexpr std::array k_local{
    LocalOption{"run", {"and", "--and", true}, "NAME",
                "take this lock too, all or none (again for more)", &CommandLine::and_names},
    LocalOption{"run", {"command", "-c,--command", true}, "STRING",
                "run STRING by $SHELL -c instead of CMD", &CommandLine::shell_command},
    LocalOption{"acquire", {"json", "--json", false}, "",
                "write JSON instead of lines for a shell", &CommandLine::json},
    LocalOption{"renew release", {"owner", "--owner", true}, "ID",
                "the owner that acquire told (default: from DLOCK_HOLDS)", &CommandLine::owner},
    LocalOption{"renew", {"every", "--every", true}, "DUR",
                "renew again and again (default with --while: ttl/3)", &CommandLine::every},
    LocalOption{"renew", {"while", "--while", true}, "PID",
                "renew again and again until this process has ended", &CommandLine::while_pid},
    LocalOption{"inspect list", {"json", "--json", false}, "", "write JSON", &CommandLine::json},
    LocalOption{"force-release", {"now", "--now", false}, "",
                "delete the lock at once: two commands may then run", &CommandLine::now},
    LocalOption{"force-release", {"if-owner", "--if-owner", true}, "ID",
                "only if this owner holds it", &CommandLine::if_owner},
    LocalOption{"force-release", {"if-token", "--if-token", true}, "N",
                "only if it was granted with this fencing token", &CommandLine::if_token},
    LocalOption{"force-release", {"yes", "-y,--yes", false}, "", "do not ask", &CommandLine::yes},
    LocalOption{"", {"config", "--config", true}, "FILE",
                "read this file instead of the user's and the system's", &CommandLine::config},
    LocalOption{"", {"version", "-V,--version", false}, "",
                "say which version this is", &CommandLine::version},
    LocalOption{"", {"help", "-h,--help", false}, "", "say this", &CommandLine::help},
};
// clang-format on

bool has_option(const LocalOption& option, std::string_view command) {
  const auto commands = split(option.commands, ' ');
  return std::find(commands.begin(), commands.end(), command) != commands.end();
}

// A "…" has three bytes.
std::size_t columns(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
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
  const std::size_t wide = columns(left);
  out += wide + 2 > k_column ? left + "\n" + std::string(k_column, ' ')
                             : left + std::string(k_column - wide, ' ');
  out += std::string(help) + "\n";
}

}  // namespace

const std::vector<CommandSpec>& all_commands() {
  static const std::vector<CommandSpec> all{
      {"run", "run [OPTION…] NAME [--] CMD [ARG…]", "run CMD while holding the lock NAME"},
      {"acquire", "acquire [OPTION…] NAME…", "take the lock NAME for several steps of a script"},
      {"renew", "renew [OPTION…] NAME…", "make what acquire took last longer"},
      {"release", "release [OPTION…] NAME…", "give back what acquire took"},
      {"wait", "wait [OPTION…] NAME", "wait until NAME is free, and do not take it"},
      {"inspect", "inspect [OPTION…] NAME…", "say who holds NAME, since when, and for how long"},
      {"list", "list [OPTION…] [GLOB]", "list the locks, one a line"},
      {"forget", "forget [OPTION…] NAME", "forget that a run succeeded, for --once-per"},
      {"force-release", "force-release [OPTION…] NAME", "take the lock away from whoever holds it"},
  };
  return all;
}

std::vector<OptionSpec> options_of(std::string_view command) {
  std::vector<OptionSpec> specs;
  for (const Setting& setting : all_settings()) {
    if (setting.flags.empty()) continue;
    if (setting.commands.empty() || is_option_of(setting, command))
      specs.push_back({setting.name, setting.flags, !setting.value.empty()});
  }
  for (const LocalOption& option : k_local) {
    if (option.commands.empty() || has_option(option, command)) specs.push_back(option.spec);
  }
  return specs;
}

bool take_local_option(CommandLine& line, std::string_view name, const std::string& value) {
  for (const LocalOption& option : k_local) {
    if (option.spec.name != name) continue;
    if (const auto* const flag = std::get_if<bool CommandLine::*>(&option.to)) {
      line.** flag = true;
    } else if (const auto* const all =
                   std::get_if<std::vector<std::string> CommandLine::*>(&option.to)) {
      (line.**all).push_back(value);
    } else {
      line.*std::get<std::optional<std::string> CommandLine::*>(option.to) = value;
    }
    return true;
  }
  return false;
}

std::string help_text(const std::string& command) {
  std::string out;
  if (command.empty()) {
    out =
        "usage: dlock [OPTION…] COMMAND …\n\nRun a command under a distributed "
        "lock.\n\ncommands:\n";
    for (const CommandSpec& one : all_commands())
      add_help(out, one.usage, "", one.summary);
  } else {
    for (const CommandSpec& one : all_commands()) {
      if (one.name == command)
        out = "usage: dlock " + std::string(one.usage) + "\n\n" + std::string(one.summary) +
              "\n\noptions:\n";
    }
    for (const LocalOption& one : k_local) {
      if (has_option(one, command)) add_help(out, one.spec.flags, one.value, one.help);
    }
    for (const Setting& one : all_settings()) {
      if (is_option_of(one, command)) add_help(out, one.flags, one.value, one.help);
    }
  }
  out += "\noptions of every command:\n";
  for (const Setting& one : all_settings()) {
    if (one.commands.empty() && !one.flags.empty()) add_help(out, one.flags, one.value, one.help);
  }
  for (const LocalOption& one : k_local) {
    if (one.commands.empty()) add_help(out, one.spec.flags, one.value, one.help);
  }
  out += command.empty() ? "\nMore: dlock COMMAND --help, man dlock\n" : "\nMore: man dlock\n";
  return out;
}

}  // namespace dlock
