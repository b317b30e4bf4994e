// SPDX-License-Identifier: MIT
#include "cmd/command_line.hpp"

#include "base/text.hpp"
#include "cmd/cli.hpp"
#include "cmd/command_table.hpp"
#include "cmd/did_you_mean.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_names = 16;

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

const OptionSpec* find_option(const std::vector<OptionSpec>& specs, std::string_view flag) {
  for (const OptionSpec& spec : specs) {
    if (has_piece(spec.flags, ',', flag)) return &spec;
  }
  return nullptr;
}

// Returns the flag without its value, which may be a secret: "--wait" for "--wait=5", "-n" for
// "-nw5".
std::string first_flag(std::string_view word) {
  return std::string(word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2));
}

std::string shown(const std::string& word) {
  return printable(shortened(word, 40));
}

// Returns the name as the user must write it: "-- " precedes a name that begins with "-".
std::string as_name(const std::string& name) {
  return (is_option(name) ? "-- " : "") + shown(name);
}

Error usage(std::string text) {
  return {Errc::bad_usage, std::move(text)};
}

// Options or commands of other programs, separated by commas, and what to use in dlock instead.
struct Foreign {
  std::string_view words, text;
};

std::string_view instead_of(std::string_view flag) {
  constexpr std::array k_foreign{
      Foreign{"-e", "flock's -e is the default of dlock; the option for it is -x"},
      Foreign{"-u,--unlock", "flock's -u is dlock release NAME"},
      Foreign{"-o,--close", "flock's -o is the default: the command inherits no file of the lock"},
      Foreign{"-F,--no-fork", "flock's -F is not possible: dlock stays to renew the lease"},
      Foreign{"--try,--try-lock,--no-wait", "to give up at once is -n, to give up in time -w DUR"},
      Foreign{"-try", "consul's -try is -w DUR; to give up at once is -n"},
      Foreign{"-child-exit-code", "consul's -child-exit-code is the default of dlock run"},
      Foreign{"-monitor-retry", "consul's -monitor-retry is the default: dlock retries renewals"},
      Foreign{"-pass-stdin", "consul's -pass-stdin is the default: the command has dlock's stdin"},
      Foreign{"-shell", "consul's -shell is -c STRING; by default no shell is used"},
      Foreign{"-name", "consul's -name is --reason TEXT"},
      Foreign{"-http-addr,--endpoints", "where the locks are is --url URL"},
  };
  for (const Foreign& one : k_foreign) {
    if (has_piece(one.words, ',', flag)) return one.text;
  }
  return "";
}

std::string_view command_instead_of(std::string_view word) {
  constexpr std::array k_foreign{
      Foreign{"lock,exec,with",
              "run a command under a lock with dlock run NAME -- CMD, take one for "
              "a script with dlock acquire NAME"},
      Foreign{"unlock", "release a lock of acquire with dlock release NAME; run releases its own"},
      Foreign{"status,show,info", "look at a lock with dlock inspect NAME, at all with dlock list"},
      Foreign{"ls,ps", "look at all locks with dlock list"},
      Foreign{"steal,break,kill,force-unlock", "take a lock away with dlock force-release NAME"},
      Foreign{"extend,refresh,keepalive", "renew a lock of acquire with dlock renew NAME"},
      Foreign{"check,ping,ready", "look whether a store works with dlock doctor"},
  };
  for (const Foreign& one : k_foreign) {
    if (has_piece(one.words, ',', word)) return one.text;
  }
  return "";
}

Error unknown_option(const std::string& flag, const std::string& command) {
  const std::string quoted = in_quotes(shortened(flag, 80));
  std::vector<std::string> owners;
  for (const CommandSpec& one : all_commands()) {
    if (find_option(options_of(one.name), flag) != nullptr) owners.emplace_back(one.name);
  }
  if (command.empty() && !owners.empty()) {
    return usage(quoted + " is an option of " + listed(owners) +
                 "; write it after the command: dlock " + owners.front() + " " + flag + " …");
  }
  const std::string_view instead = instead_of(flag);
  if (!instead.empty()) return usage("there is no option " + quoted + "; " + std::string(instead));
  std::vector<std::string_view> known;
  const auto specs = options_of(command);
  for (const OptionSpec& spec : specs) {
    for (const std::string_view one : split(spec.flags, ','))
      if (one.starts_with("--")) known.push_back(one);
  }
  return usage("there is no option " + quoted + (flag.size() > 2 ? did_you_mean(flag, known) : ""));
}

// Returns whether the next word is the value of the option `word`.
Result<bool> wants_next(const std::string& command,
                        const std::vector<OptionSpec>& specs,
                        const std::string& word) {
  if (word.starts_with("--")) {
    const std::string flag = first_flag(word);
    const OptionSpec* const spec = find_option(specs, flag);
    if (spec == nullptr) return unknown_option(flag, command);
    if (!spec->takes_value && flag != word) return usage(in_quotes(flag) + " takes no value");
    return spec->takes_value && flag == word;
  }
  // Rejects foreign options with several letters after a single "-", such as consul's -try.
  if (const std::string whole = word.substr(0, word.find('='));
      !instead_of(whole).empty() && whole.size() > 2)
    return unknown_option(whole, command);
  for (std::size_t i = 1; i < word.size(); ++i) {  // -nw 5 is -n -w 5; -w5 contains its value
    const std::string flag{'-', word[i]};
    const OptionSpec* const spec = find_option(specs, flag);
    if (spec == nullptr) return unknown_option(flag, command);
    if (spec->takes_value) return i + 1 == word.size();
  }
  return false;
}

// Appends the options from argv[at] on, with their values. Returns the index of the first word that
// is not an option.
Result<std::size_t> take_options(std::vector<std::string>& options,
                                 const std::string& command,
                                 const std::vector<std::string>& argv,
                                 std::size_t at) {
  if (at == argv.size() || !is_option(argv[at])) return at;
  const auto specs = options_of(command);
  while (at < argv.size() && is_option(argv[at])) {
    const std::string& word = argv[at++];
    const auto with_next = wants_next(command, specs, word);
    if (!with_next) return with_next.error();
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    options.push_back(word.substr(0, equals));
    if (equals != std::string::npos) options.push_back(word.substr(equals + 1));  // may be empty
    if (!*with_next) continue;
    if (at == argv.size()) {
      const std::string flag = word.starts_with("--") ? word : std::string{'-', word.back()};
      return usage(in_quotes(flag) + " needs a value");
    }
    options.push_back(argv[at++]);
  }
  return at;
}

// Returns which operands the command takes. If no command is given, there are no operands, and the
// result does not matter.
Operands operands_of(const CommandLine& line) {
  const CommandSpec* const spec = find_command(line.command);
  return spec != nullptr ? spec->operands : Operands::names;
}

// Takes NAME and the child's words. argv[at] is the first word that is not an option: NAME, or the
// "--" before NAME.
Result<void> take_run(CommandLine& line, const std::vector<std::string>& argv, std::size_t at) {
  if (at < argv.size() && argv[at] == "--") ++at;
  if (at == argv.size()) return {};
  const std::string& name = line.names.emplace_back(argv[at++]);
  if (at < argv.size() && is_option(argv[at])) {
    const std::string flag = shown(first_flag(argv[at]));
    const bool is_command = flag == "-c" || flag == "--command";
    return usage("the options of run go before the lock name; write: dlock run " + flag + " … " +
                 as_name(name) + (is_command ? "" : " -- CMD") + ", or, if " + flag +
                 " begins the command: dlock run " + as_name(name) + " -- " + flag + " …");
  }
  if (at < argv.size() && argv[at] == "--") ++at;
  line.words.assign(argv.begin() + static_cast<std::ptrdiff_t>(at), argv.end());
  return {};
}

// For all commands but run: takes names and options in any order. After a "--" there are only
// names. "NAME -- WORD" is refused, because it looks like a command to run, and only run takes one.
Result<void> take_operands(CommandLine& line,
                           std::vector<std::string>& options,
                           const std::vector<std::string>& argv,
                           std::size_t at) {
  bool only_names = false;
  while (at < argv.size()) {
    const bool behind_a_name = argv[at] == "--" && !line.names.empty();
    if (behind_a_name && at + 1 < argv.size())
      return usage(line.command + " runs no command; use dlock run");
    if (behind_a_name || (argv[at] == "--" && !only_names)) {
      only_names = true;
      ++at;
    } else if (!only_names && is_option(argv[at])) {
      const auto next = take_options(options, line.command, argv, at);
      if (!next) return next.error();
      at = *next;
    } else {
      line.names.push_back(argv[at++]);
    }
  }
  return {};
}

Result<void> take_settings(CommandLine& line, const std::vector<std::string>& options) {
  if (options.empty()) return {};
  auto pairs = parse_options(options_of(line.command), options);
  if (!pairs) return pairs.error();
  for (auto& [name, value] : *pairs) {
    if (take_local_option(line, name, value)) continue;
    if (find_setting(name)->value.empty() && name != "verbose") value = "true";
    line.settings.push_back({name, value});
  }
  return {};
}

Result<void> check_options(const CommandLine& line) {
  Settings scratch;
  return apply_options(scratch, line.settings);
}

Result<void> check_run(const CommandLine& line) {
  if (line.shell_command && !line.words.empty()) {
    return usage(
        "--command and a command contradict each other: nothing may follow the lock name (for a "
        "second lock write --and NAME)");
  }
  if (line.shell_command || !line.words.empty()) return {};
  return usage("the command is missing; write: dlock run " + as_name(line.names.front()) +
               " -- CMD");
}

Result<void> check_names(const CommandLine& line, Operands wanted) {
  const bool runs = wanted == Operands::name_and_command;
  if (line.names.empty()) {
    return usage("the lock name is missing; write: dlock " + line.command + " NAME" +
                 (runs ? " -- CMD" : ""));
  }
  if (wanted != Operands::shown_names && line.names.size() > k_most_names) {
    return usage(std::to_string(line.names.size()) + " lock names were given: at most " +
                 std::to_string(k_most_names));
  }
  return runs ? check_run(line) : Result<void>();
}

Result<void> check(const CommandLine& line) {
  if (line.help || line.short_help || line.version || line.command.empty()) return {};
  auto good = check_options(line);
  if (!good) return good;
  switch (const Operands wanted = operands_of(line); wanted) {
    case Operands::pattern:
      if (line.names.size() <= 1) return {};
      return usage("list takes one pattern; quote it: dlock list 'job-*'");
    case Operands::name_or_none:
      if (line.names.size() <= 1) return {};
      return usage(line.command + " takes at most one lock name");
    case Operands::none:
      if (line.names.empty()) return {};
      return usage(line.command + " takes no operand; options of every command may follow it");
    case Operands::one_name:
      if (line.names.size() == 1) return {};
      return usage(line.command + " takes one lock name");
    case Operands::shown_names:
    case Operands::names:
    case Operands::name_and_command:
      return check_names(line, wanted);
  }
  return {};
}

// One of several names: no lock beside it has to be taken too.
Result<void> check_alternatives(const CommandLine& line) {
  if (line.or_names.empty()) return {};
  if (!line.and_names.empty())
    return usage("--and and --or contradict each other: all of several locks, or one of them");
  return {};
}

// Keeps the first of equal names and removes the others.
void drop_doubles(std::vector<std::string>& names) {
  std::vector<std::string> once;
  for (std::string& name : names) {
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(std::move(name));
  }
  names = std::move(once);
}

// Handles `dlock help run` as `dlock run --help`, and `dlock version` as `dlock --version`.
Result<void> take_command(CommandLine& line,
                          const std::vector<std::string>& argv,
                          std::size_t& at) {
  if (line.command == "version") {
    line.version = true;
    line.command.clear();
  } else if (line.command == "help") {
    line.help = true;
    line.command = at < argv.size() ? argv[at++] : "";
  }
  if (line.command.empty() || find_command(line.command) != nullptr) return {};
  std::vector<std::string_view> known;
  for (const CommandSpec& one : all_commands())
    known.push_back(one.name);
  const std::string text = "there is no command " + in_quotes(shortened(line.command, 40));
  if (const std::string_view instead = command_instead_of(line.command); !instead.empty())
    return usage(text + "; " + std::string(instead));
  const std::string like = did_you_mean(line.command, known);
  if (!like.empty()) return usage(text + like);
  return usage(text + "; there are " + listed({known.begin(), known.end()}) +
               "; to run one of yours: dlock run NAME -- CMD");
}

}  // namespace

bool is_given(const CommandLine& line, std::string_view setting) {
  return std::any_of(line.settings.begin(), line.settings.end(), [&](const Given& one) {
    return one.name == setting;
  });
}

std::optional<std::string> config_file(const CommandLine& line) {
  const char* const named = std::getenv("DLOCK_CONFIG");
  if (line.config || named == nullptr || *named == '\0') return line.config;
  return named;
}

Result<CommandLine> parse_command_line(const std::vector<std::string>& argv) {
  CommandLine line;
  std::vector<std::string> options;
  auto at = take_options(options, "", argv, 1);
  if (!at) return at.error();
  if (*at < argv.size() && argv[*at] != "--") line.command = argv[(*at)++];
  Result<void> taken = take_command(line, argv, *at);
  if (!taken) return taken.error();
  if (line.help || line.version) return line;
  if (operands_of(line) == Operands::name_and_command) {
    at = take_options(options, line.command, argv, *at);
    if (!at) return at.error();
    taken = take_run(line, argv, *at);
  } else if (!line.command.empty()) {
    taken = take_operands(line, options, argv, *at);
  }
  if (taken) taken = take_settings(line, options);
  if (!line.names.empty()) {
    line.names.insert(line.names.end(), line.and_names.begin(), line.and_names.end());
    line.names.insert(line.names.end(), line.or_names.begin(), line.or_names.end());
  }
  if (taken) taken = check_alternatives(line);
  if (operands_of(line) != Operands::shown_names) drop_doubles(line.names);
  if (taken) taken = check(line);
  if (!taken) return taken.error();
  return line;
}

}  // namespace dlock
