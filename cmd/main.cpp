// SPDX-License-Identifier: MIT
// main: reads the command line and the settings, then calls a subcommand.
#include "base/log.hpp"
#include "cmd/command_line.hpp"
#include "cmd/command_table.hpp"
#include "cmd/commands.hpp"
#include "cmd/display.hpp"
#include "cmd/output.hpp"
#include "cmd/own_environment.hpp"
#include "cmd/setting_sources.hpp"
#include "cmd/url_password.hpp"
#include "sys/tls_session.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "version.hpp"

namespace dlock {
namespace {

// If the caller has closed descriptor 0, 1 or 2, opens /dev/null in its place: otherwise a socket
// would get that number, and messages would go to the server. The child does not inherit /dev/null
// (O_CLOEXEC). /dev/null is opened for reading only, so that writing an answer there fails: the
// answer must not look as if it had been written.
void occupy_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == 0) continue;
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // gets the lowest free number: fd
    if (null > 2) ::close(null);
  }
}

// Overwrites every password of a URL in argv, which ps(1) shows. Returns whether a password was
// given with --url.
bool hide_passwords(int argc, char** argv) {
  bool given_to_us = false;
  for (int i = 1; i < argc; ++i) {
    const std::vector<std::string_view> passwords = passwords_in(argv[i]);
    if (passwords.empty()) continue;
    given_to_us = given_to_us || std::strcmp(argv[i - 1], "--url") == 0 ||
                  std::strncmp(argv[i], "--url=", 6) == 0;
    for (const std::string_view password : passwords)
      std::memset(argv[i] + (password.data() - argv[i]), '*', password.size());
  }
  return given_to_us;
}

// Removes passwords from an error text, which may quote a word of the command line.
Error without_passwords(Error error, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const std::string_view password : passwords_in(word)) {
      const std::size_t at = error.text.find(password);
      if (at != std::string::npos) error.text.replace(at, password.size(), "***");
    }
  }
  return error;
}

int print_and_leave(const std::string& text) {
  const auto written = write_out(text);
  return static_cast<int>(written ? ExitStatus::ok : report(written.error(), {}));
}

bool color_wanted(const Settings& settings) {
  switch (settings.color) {
    case ColorMode::always:
      return true;
    case ColorMode::never:
      return false;
    case ColorMode::automatic:
      break;
  }
  const char* const no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && understands_escapes();
}

LogSettings log_settings(const Settings& settings) {
  const LogLevel level = settings.quiet          ? LogLevel::error
                         : settings.verbose >= 2 ? LogLevel::debug
                         : settings.verbose == 1 ? LogLevel::info
                                                 : LogLevel::warn;
  return {.level = level,
          .json = settings.log_json,
          .color = color_wanted(settings),
          .ascii = !locale_has_utf8(),
          .fields = !settings.notify.empty()};
}

// Returns the parts of a refused command line that its error report needs: the command, whose help
// the report names, and --log-format.
CommandLine outline(const std::vector<std::string>& words) {
  CommandLine line;
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (line.command.empty() && find_command(words[i]) != nullptr) line.command = words[i];
    if (words[i - 1] == "--log-format") line.settings.push_back({"log-format", words[i]});
    constexpr std::string_view k_joined = "--log-format=";
    if (words[i].starts_with(k_joined))
      line.settings.push_back({"log-format", words[i].substr(k_joined.size())});
  }
  return line;
}

std::string version_text(const CommandLine& line) {
  std::string text = std::string("dlock ") + k_version + "\n";
  const auto is_verbose = [](const Given& given) { return given.name == "verbose"; };
  const bool verbose = std::any_of(line.settings.begin(), line.settings.end(), is_verbose);
  if (!verbose) return text;
  text += (tls_library().empty() ? "without TLS" : tls_library()) + "\n";
  return text + "built with:\n" + k_libraries;
}

SettingSources sources_of(const CommandLine& line) {
  return read_setting_sources(line.settings, config_file(line));
}

// Reports an error in the command line or the settings. It sets up the log first, which is
// otherwise set up only with valid settings.
int refuse(const Error& error, const CommandLine& line, const SettingSources& sources) {
  set_up_log({.json = wants_json_log(sources), .ascii = !locale_has_utf8()});
  return static_cast<int>(report(error, {.command = line.command}));
}

bool has_secret(const Settings& settings) {
  const auto in_server = [](const Settings::Server& server) {
    return !server.tls.key.empty() || !passwords_in(server.url).empty();
  };
  return !settings.password.empty() || !settings.sentinel_password.empty() ||
         !settings.tls.key.empty() || !passwords_in(settings.url).empty() ||
         std::any_of(settings.quorum.begin(), settings.quorum.end(), in_server);
}

int run_main(int argc, char** argv) {
  occupy_standard_descriptors();
  // One heap for all threads: at most two threads allocate, and little, and a second heap costs 30
  // us.
  ::mallopt(M_ARENA_MAX, 1);
  if (::getauxval(AT_SECURE) != 0) {
    log(LogLevel::error, "dlock must not be installed set-uid or with file capabilities");
    return static_cast<int>(ExitStatus::failed);
  }
  const std::vector<std::string> words(argv, argv + argc);
  const bool password_shown = hide_passwords(argc, argv);
  const auto line = parse_command_line(words);
  if (!line) {
    const CommandLine known = outline(words);
    return refuse(without_passwords(line.error(), words), known, sources_of(known));
  }
  if (line->help) return print_and_leave(help_text(line->command));
  if (line->short_help) return print_and_leave(short_help_text(line->command));
  if (line->version) return print_and_leave(version_text(*line));
  if (line->command.empty()) {
    std::fputs(short_help_text("").c_str(), stderr);
    return static_cast<int>(ExitStatus::usage);
  }
  const auto sources = std::make_shared<const SettingSources>(sources_of(*line));
  auto settings = read_settings(*sources);
  if (!settings) return refuse(settings.error(), *line, *sources);
  settings->command = line->command;
  settings->sources = sources;
  set_up_log(log_settings(*settings));
  for (const Note& note : settings->notes)
    log(note.level, note.text);
  if (password_shown) {
    log(LogLevel::warn,
        "a password on the command line can be seen by others; use DLOCK_PASSWORD or "
        "--password-file");
  }
  if (settings->url.starts_with("postgres")) hide_from_libpq();
  // Prevents core files that contain a password. exec makes the command dumpable again (prctl(2)).
  if (has_secret(*settings)) ::prctl(PR_SET_DUMPABLE, 0);
  return static_cast<int>(find_command(line->command)->carry_out(*line, *settings));
}

}  // namespace
}  // namespace dlock

int main(int argc, char** argv) {
  try {
    return dlock::run_main(argc, argv);
  } catch (const std::exception& error) {
    dlock::log(dlock::LogLevel::error, std::string("internal error: ") + error.what());
  } catch (...) {
    dlock::log(dlock::LogLevel::error, "internal error");
  }
  return static_cast<int>(dlock::ExitStatus::failed);
}
