// SPDX-License-Identifier: MIT
// Settings: all options, environment variables and config entries, in one table, so that the three
// cannot differ. A later source overrides an earlier one: default, system file, user file,
// environment, option (read_settings.cpp).
#pragma once

#include "base/boot_clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "core/stop_plan.hpp"
#include "sys/tls_settings.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

enum class ColorMode { automatic, always, never };

// A message from reading the settings. It waits for them, because they set up the log.
struct Note {
  LogLevel level;
  std::string text;
};

struct Settings {
  std::string command;  // a usage error points to its help; empty: dlock's help
  std::string url = "redis://127.0.0.1:6379";  // a quorum's URLs are separated by blanks
  std::string url_place;       // its source: "--url", "DLOCK_URL"; empty: the default
  bool url_is_option = false;  // it comes from the command line
  bool require_url = false;    // the default is refused
  std::string prefix = "dlock:";
  Duration connect_timeout = std::chrono::seconds(5);
  std::optional<int> replicas;  // nothing: the store's default
  Secret password;
  std::string password_file;
  std::string sentinel_password_file;
  Secret sentinel_password;
  TlsSettings tls;
  // The servers of a quorum, each with its URL's settings; empty: a single URL.
  struct Server {
    std::string url;
    TlsSettings tls;
  };
  std::vector<Server> quorum;
  Duration quorum_delay = std::chrono::seconds(60);
  std::string key_password_file;
  int verbose = 0;
  bool quiet = false;
  bool log_json = false;
  ColorMode color = ColorMode::automatic;

  std::optional<Duration> wait;
  std::optional<int> conflict_exit_code;  // nothing: 75 if busy, 0 if done before
  std::optional<std::uint64_t> max_waiters;
  Duration ttl = std::chrono::seconds(30);
  std::optional<Duration> kill_after;
  int stop_signal = 15;
  OnLost on_lost = OnLost::stop;
  bool contain = false;
  std::optional<std::string> reason;
  std::optional<std::string> result_file;
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // of Mode::slots
  Duration min_hold{};      // zero: none
  Duration max_hold{};      // zero: none
  bool renew = true;
  Duration once_per{};  // zero: runs whatever ran before
  std::vector<Note> notes;
};

struct Setting {
  std::string_view name;      // the key in a file, and DLOCK_<NAME> in the environment
  std::string_view flags;     // on the command line, as CLI11 takes them; empty: not there
  std::string_view value;     // its value in the help; empty: a flag
  std::string_view help;      // the help of url goes on with the forms of a URL
  std::string_view commands;  // with this option, separated by blanks; empty: all
  // Errc::bad_usage with what is wrong with `value`.
  Result<void> (*set)(Settings& settings, std::string_view value) = nullptr;
  // The default value; empty: no value, or false for a flag.
  std::string_view initial = {};
};

// All of them, in the order of the help.
std::span<const Setting> all_settings();
const Setting* find_setting(std::string_view name);
// Whether it is an option of that command, but not of every command.
bool is_option_of(const Setting& setting, std::string_view command);

// "DLOCK_CONNECT_TIMEOUT" for "connect-timeout".
std::string environment_name(const Setting& setting);

// A setting from the command line, by its name, in order.
struct Given {
  std::string name;
  std::string value;
};

// Overrides `settings` with the options. Errc::bad_usage names the option and the bad value.
Result<void> apply_options(Settings& settings, const std::vector<Given>& given);

// Files, environment and `given`, over the defaults. `config` names the one file to read instead of
// the user's and the system's. Errc::bad_usage for the command line, Errc::bad_config for the rest;
// file rights are checked as in dlock(1), FILES.
Result<Settings> read_settings(const std::vector<Given>& given,
                               const std::optional<std::string>& config);

// A setting in force.
struct InForce {
  const Setting* setting;
  std::string value;  // as written at its source; passwords are "***"
  std::string place;  // "--url", "DLOCK_URL", "/etc/dlock/config.toml"; empty: the default
};
// All settings, in the order of the table. Errors as in read_settings().
Result<std::vector<InForce>> settings_in_force(const std::vector<Given>& given,
                                               const std::optional<std::string>& config);

// Whether --log-format json is wanted, as far as the settings can be read. For a refused command
// line or refused settings; their errors are ignored here.
bool wants_json_log(const std::vector<Given>& given, const std::optional<std::string>& config);

}  // namespace dlock
