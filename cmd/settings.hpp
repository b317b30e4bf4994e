// SPDX-License-Identifier: MIT
// The settings. One table describes the option, the environment variable and the config entry of
// each, so that these cannot differ. A later source overrides an earlier one: default, REDIS_URL,
// system file, user file, environment, option, and last the settings in the URL
// (read_settings.cpp).
#pragma once

#include "base/boot_clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "cmd/notify_events.hpp"
#include "core/patience.hpp"
#include "core/stop_plan.hpp"
#include "sys/tls_settings.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct SettingSources;  // setting_sources.hpp

enum class ColorMode { automatic, always, never };

// A message about the settings. It is logged later, because the settings set up the log.
struct Note {
  LogLevel level;
  std::string text;
};

struct Settings {
  std::string command;  // for "see dlock COMMAND --help" in usage errors; empty: "see dlock --help"
  std::string url = "redis://127.0.0.1:6379";  // a quorum's URLs are separated by blanks
  std::string url_place;       // the source of `url`: "--url", "DLOCK_URL"; empty: the default
  bool url_is_option = false;  // `url` comes from the command line
  bool require_url = false;    // a URL must be set: the default is refused
  std::string prefix = "dlock:";
  Duration connect_timeout = std::chrono::seconds(5);
  std::optional<int> replicas;  // nullopt: the store's default
  Secret password;
  std::string password_file;
  std::string sentinel_password_file;
  Secret sentinel_password;
  TlsSettings tls;
  // The servers of a quorum, each with the settings in its URL; empty: there is a single URL.
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

  std::optional<Duration> wait;           // nullopt: for ever
  std::optional<int> conflict_exit_code;  // nullopt: 75 if busy, 0 if --once-per skips
  std::optional<std::uint64_t> max_waiters;
  Duration ttl = std::chrono::seconds(30);
  std::optional<Duration> kill_after;
  int stop_signal = 15;
  OnLost on_lost = OnLost::stop;
  OnUnavailable on_unavailable = OnUnavailable::fail;
  Supersede supersede = Supersede::nothing;
  bool contain = false;
  bool nonblock = false;  // as if `wait` were zero
  std::optional<std::string> reason;
  std::optional<std::string> result_file;
  std::optional<std::string> metrics_dir;
  std::string notify;  // empty: no command is told
  std::vector<NotifyEvent> notify_on{k_notify_default.begin(), k_notify_default.end()};
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // for Mode::slots: the number of slots
  Duration min_hold{};      // zero: the lock is not kept
  Duration max_hold{};      // zero: no limit
  bool renew = true;
  Duration splay{};     // zero: the first try comes at once
  Duration once_per{};  // zero: an earlier success does not matter
  // How long the store remembers how a run ended; nullopt: a day, where that costs little.
  std::optional<Duration> keep_last;
  std::vector<Note> notes;
  std::shared_ptr<const SettingSources> sources;  // what the settings come from, for dlock config
};

struct Setting {
  std::string_view name;      // the key in a file; DLOCK_<NAME> in the environment
  std::string_view flags;     // the option's flags: "-w,--wait"; empty: it is no option
  std::string_view value;     // name of its value in the help; empty: it is a flag
  std::string_view help;      // text of the help; for url, the help adds the forms of URLs
  std::string_view commands;  // commands with this option, separated by blanks; empty: all commands
  // Sets the value. Errc::bad_usage says what is wrong with `value`.
  Result<void> (*set)(Settings& settings, std::string_view value) = nullptr;
  // The default; empty: no value or, for a flag, false.
  std::string_view initial = {};
  // Settings of one group override each other; a source must not have two of them.
  std::string_view group = {};
};

// Returns all settings, in the order of the help.
std::span<const Setting> all_settings();
const Setting* find_setting(std::string_view name);
// Returns whether the setting is an option of `command`, but not of every command.
bool is_option_of(const Setting& setting, std::string_view command);

// Returns "DLOCK_CONNECT_TIMEOUT" for "connect-timeout".
std::string environment_name(const Setting& setting);

// A setting given on the command line.
struct Given {
  std::string name;
  std::string value;
};

// Overrides `settings` with the options. Errc::bad_usage names the option and the wrong value.
Result<void> apply_options(Settings& settings, const std::vector<Given>& given);

// Returns the defaults, overridden by the sources in their order. Errc::bad_usage: an error on the
// command line; Errc::bad_config: an error elsewhere.
Result<Settings> read_settings(const SettingSources& sources);

// A setting as it applies, and its source.
struct InForce {
  const Setting* setting;
  // As written at its source, but passwords are "***"; nullopt: no value.
  std::optional<std::string> value;
  // "--url", "DLOCK_URL", "/etc/dlock/config.toml"; empty: the default. If a setting of the same
  // group overrides this one: the place of the other.
  std::string place;
};
// Returns all settings, in the order of the table. A quorum's URLs set nothing here: what they say
// applies to their servers only.
std::vector<InForce> settings_in_force(const SettingSources& sources);

// Returns whether --log-format json is set, as far as the settings could be read. For reporting a
// refused command line or refused settings.
bool wants_json_log(const SettingSources& sources);

}  // namespace dlock
