// SPDX-License-Identifier: MIT
#include "cmd/command_table.hpp"

#include "base/text.hpp"
#include "cmd/commands.hpp"
#include "cmd/help_notes.hpp"
#include "store/open_store.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace dlock {

namespace {

// An option that is not a setting.
struct LocalOption {
  std::string_view commands;  // the commands that have it, separated by blanks; empty: all commands
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
                "take this lock too, all or none (repeatable)", &CommandLine::and_names},
    LocalOption{"run", {"or", "--or", true}, "NAME",
                "take this lock or NAME, whichever is free (repeatable)", &CommandLine::or_names},
    LocalOption{"run", {"command", "-c,--command", true}, "STRING",
                "run STRING by $SHELL -c instead of CMD", &CommandLine::shell_command},
    LocalOption{"acquire", {"json", "--json", false}, "",
                "write JSON instead of lines for a shell", &CommandLine::json},
    LocalOption{"renew release", {"owner", "--owner", true}, "ID",
                "the owner that acquire printed (default: from DLOCK_HOLDS)", &CommandLine::owner},
    LocalOption{"renew", {"every", "--every", true}, "DUR",
                "renew once per DUR (default with --while: ttl/3)", &CommandLine::every},
    LocalOption{"renew", {"while", "--while", true}, "PID",
                "keep renewing until this process has ended", &CommandLine::while_pid},
    LocalOption{"inspect list doctor config", {"json", "--json", false}, "", "write JSON",
                &CommandLine::json},
    LocalOption{"inspect", {"waited", "--waited", false}, "",
                "with -q: exit with 0 if a run waits for NAME, otherwise with 1",
                &CommandLine::waited},
    LocalOption{"list", {"host", "--host", true}, "HOST",
                "only locks that a run on this host holds", &CommandLine::host},
    LocalOption{"list", {"user", "--user", true}, "USER",
                "only locks that a run of this user holds", &CommandLine::user},
    LocalOption{"list", {"mine", "--mine", false}, "",
                "only locks that a run of this user on this host holds", &CommandLine::mine},
    LocalOption{"list", {"names", "--names", false}, "",
                "only the names, one a line", &CommandLine::only_names},
    LocalOption{"list", {"null", "-0,--null", false}, "",
                "with --names: a NUL after each name, for xargs -0", &CommandLine::nul_after_names},
    LocalOption{"list", {"format", "--format", true}, "FORMAT",
                "text, json, or prometheus: metrics for node_exporter", &CommandLine::format},
    LocalOption{"freeze", {"for", "--for", true}, "DUR",
                "how long the freeze lasts (required)", &CommandLine::lasts},
    LocalOption{"doctor", {"strict", "--strict", false}, "",
                "exit with 1 for a warning, too", &CommandLine::strict},
    LocalOption{"doctor", {"ddl", "--ddl", false}, "",
                "only print the SQL that makes the tables", &CommandLine::ddl},
    LocalOption{"force-release", {"now", "--now", false}, "",
                "delete the lock at once: two commands may then run", &CommandLine::now},
    LocalOption{"force-release", {"if-owner", "--if-owner", true}, "ID",
                "only if this owner holds the lock", &CommandLine::if_owner},
    LocalOption{"force-release", {"if-token", "--if-token", true}, "N",
                "only if a hold has this fencing token", &CommandLine::if_token},
    LocalOption{"force-release", {"yes", "-y,--yes", false}, "", "do not ask for confirmation",
                &CommandLine::yes},
    LocalOption{"", {"config", "--config", true}, "FILE",
                "read this file instead of the user's and the system's", &CommandLine::config},
    LocalOption{"", {"version", "-V,--version", false}, "",
                "print the version", &CommandLine::version},
    LocalOption{"", {"short-help", "-h", false}, "", "print what most need of the help",
                &CommandLine::short_help},
    LocalOption{"", {"help", "--help", false}, "", "print all of the help", &CommandLine::help},
};
// clang-format on

bool has_option(const LocalOption& option, std::string_view command) {
  return has_piece(option.commands, ' ', command);
}

constexpr std::size_t k_text_column = 30;
constexpr std::size_t k_width = 80;

// Appends `left` and, beside it, `text` in lines of at most k_width columns.
void add_help(std::string& out, std::string left, std::string_view text) {
  if (left.size() + 2 > k_text_column) {
    out += left + "\n";
    left.clear();
  }
  left.resize(k_text_column, ' ');
  std::string line = left;
  for (const std::string_view word : split(text, ' ')) {
    if (line.size() > k_text_column && line.size() + 1 + word.size() > k_width) {
      out += line + "\n";
      line.assign(k_text_column, ' ');
    }
    line += (line.size() > k_text_column ? " " : "") + std::string(word);
  }
  out += line + "\n";
}

void add_option(std::string& out,
                std::string_view flags,
                std::string_view value,
                std::string_view help) {
  std::string left = "  ";
  for (const std::string_view flag : split(flags, ','))
    left += (left.size() > 2 ? ", " : "") + std::string(flag);
  if (!value.empty()) left += " " + std::string(value);
  add_help(out, left, help);
}

std::string help_of(const Setting& setting, std::string_view command) {
  const std::string_view there = meaning_in(command, setting.name);
  if (!there.empty()) return std::string(there);
  return std::string(setting.help) + (setting.name == "url" ? store_forms() : "");
}

void add_commands(std::string& out) {
  out +=
      "usage: dlock [OPTION...] COMMAND ...\n\nRun a command under a distributed "
      "lock.\n\ncommands:\n";
  for (const CommandSpec& one : all_commands())
    add_help(out, "  " + std::string(one.usage), one.summary);
  add_help(out, "  help [COMMAND]", "print the help of dlock or of a command");
  add_help(out, "  version", "print the version");
}

// Appends the usage of a command and, below `heading`, its options: those named in `often`, or all
// if that is empty.
void add_command(std::string& out,
                 const CommandSpec& command,
                 std::string_view heading,
                 std::string_view often) {
  out +=
      "usage: dlock " + std::string(command.usage) + "\n\n" + std::string(command.summary) + "\n";
  std::string own;
  const auto is_shown = [often](std::string_view name) {
    return often.empty() || has_piece(often, ' ', name);
  };
  for (const LocalOption& one : k_local) {
    if (has_option(one, command.name) && is_shown(one.spec.name))
      add_option(own, one.spec.flags, one.value, one.help);
  }
  for (const Setting& one : all_settings()) {
    const bool is_own =
        is_option_of(one, command.name) || !meaning_in(command.name, one.name).empty();
    if (is_own && is_shown(one.name))
      add_option(own, one.flags, one.value, help_of(one, command.name));
  }
  if (!own.empty()) out += "\n" + std::string(heading) + ":\n" + own;
}

// Appends the options that every command has, but those that mean something else in `command`.
void add_common_options(std::string& out, std::string_view command) {
  out += "\noptions of every command:\n";
  for (const Setting& one : all_settings()) {
    if (one.commands.empty() && !one.flags.empty() && meaning_in(command, one.name).empty())
      add_option(out, one.flags, one.value, help_of(one, command));
  }
  for (const LocalOption& one : k_local) {
    if (one.commands.empty()) add_option(out, one.spec.flags, one.value, one.help);
  }
}

constexpr std::string_view k_notes =
    "\n"
    "DUR is a time: 250ms, 10s, 2m, 1h30m, 1d; a number without a unit is seconds.\n"
    "The store comes from --url, else DLOCK_URL, else the configuration file,\n"
    "else REDIS_URL, else redis://127.0.0.1:6379.\n"
    "\n";

constexpr std::string_view k_example = "DLOCK_URL=redis://db1:6379 dlock run order-42 -- ./job.sh";

constexpr auto k_commands = std::to_array<CommandSpec>({
    {"run",
     Operands::name_and_command,
     run_command,
     "run [OPTION...] NAME [--] CMD [ARG...]",
     "run CMD while holding the lock NAME",
     "dlock run -w 10m deploy -- ./deploy.sh",
     "and command shared slots nonblock wait conflict-exit-code ttl min-hold max-hold once-per"},
    {"acquire",
     Operands::names,
     acquire_command,
     "acquire [OPTION...] NAME...",
     "take the lock NAME for several steps of a script",
     "held=$(dlock acquire --ttl 15m deploy) && eval \"$held\"",
     "json shared slots nonblock wait conflict-exit-code ttl reason"},
    {"renew",
     Operands::names,
     renew_command,
     "renew [OPTION...] NAME...",
     "renew the lease of a lock taken by acquire",
     "dlock renew --ttl 15m deploy"},
    {"release",
     Operands::names,
     release_command,
     "release [OPTION...] NAME...",
     "release a lock taken by acquire",
     "dlock release deploy"},
    {"wait",
     Operands::one_name,
     wait_command,
     "wait [OPTION...] NAME",
     "wait until NAME is free, without taking it",
     "dlock wait -w 10m deploy"},
    {"inspect",
     Operands::shown_names,
     inspect_command,
     "inspect [OPTION...] NAME...",
     "show the holders, the waiters and the last run",
     "dlock inspect --json deploy"},
    {"list",
     Operands::pattern,
     list_command,
     "list [OPTION...] [GLOB]",
     "list the locks, one a line",
     "dlock list 'deploy-*'"},
    {"forget",
     Operands::one_name,
     forget_command,
     "forget [OPTION...] NAME",
     "forget the success that --once-per remembers",
     "dlock forget import-prices"},
    {"freeze",
     Operands::names,
     freeze_command,
     "freeze --for DUR [OPTION...] NAME...",
     "let no new run have NAME for a time",
     "dlock freeze --for 2h --reason 'database upgrade' deploy"},
    {"unfreeze",
     Operands::names,
     unfreeze_command,
     "unfreeze [OPTION...] NAME...",
     "end a freeze before its time",
     "dlock unfreeze deploy"},
    {"force-release",
     Operands::one_name,
     force_release_command,
     "force-release [OPTION...] NAME",
     "revoke NAME and wait until its holder has stopped",
     "dlock force-release --yes deploy"},
    {"doctor",
     Operands::name_or_none,
     doctor_command,
     "doctor [OPTION...] [NAME]",
     "look for what could break the promise, and name the remedy",
     "dlock doctor --ttl 1m"},
    {"config",
     Operands::none,
     config_command,
     "config [OPTION...]",
     "show each setting, its value, and where it comes from",
     "dlock config"},
});

}  // namespace

std::span<const CommandSpec> all_commands() {
  return k_commands;
}

const CommandSpec* find_command(std::string_view name) {
  for (const CommandSpec& one : all_commands()) {
    if (one.name == name) return &one;
  }
  return nullptr;
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
  std::string_view example = k_example;
  if (command.empty()) add_commands(out);
  if (const CommandSpec* const spec = find_command(command); spec != nullptr) {
    add_command(out, *spec, "options", "");
    example = spec->example;
  }
  add_common_options(out, command);
  out += std::string(k_notes) + exit_statuses(command) + "\nexample:\n  " + std::string(example) +
         "\n\nMore: ";
  return out + (command.empty() ? "dlock help COMMAND, " : "") + "man dlock\n";
}

std::string short_help_text(const std::string& command) {
  const CommandSpec* const spec = find_command(command);
  const std::string more =
      spec == nullptr ? "dlock COMMAND -h, dlock --help" : "dlock " + command + " --help";
  std::string out;
  if (spec == nullptr) {
    out = "usage: dlock [OPTION...] COMMAND ...\n\nRun a command under a distributed lock.\n\n";
    for (const CommandSpec& one : all_commands())
      add_help(out, "  " + std::string(one.name), one.summary);
  } else {
    add_command(out, *spec, "some options (all: " + more + ")", spec->often);
  }
  return out + "\nThe store: --url or DLOCK_URL, such as redis://host:6379 or sqlite:///file\n" +
         "Example:   " + std::string(spec == nullptr ? k_example : spec->example) +
         "\nMore:      " + more + ", man dlock\n";
}

}  // namespace dlock
