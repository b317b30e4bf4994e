// SPDX-License-Identifier: MIT
#include "cmd/setting_sources.hpp"

#include "app/hold_variables.hpp"
#include "base/text.hpp"
#include "cmd/config_file.hpp"
#include "cmd/did_you_mean.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace dlock {

namespace {

// Sorts the settings of a source in the order of all_settings(). Of settings that override each
// other (shared, exclusive, slots) the last one in this order wins.
void sort_by_table(SettingSource& source) {
  std::stable_sort(source.all.begin(), source.all.end(), [](const Said& one, const Said& other) {
    return one.setting < other.setting;
  });
}

constexpr std::string_view k_variable = "DLOCK_";  // begins the names of our variables

// Returns the setting of a variable like "DLOCK_CONNECT_TIMEOUT"; null: no such setting.
const Setting* setting_of_variable(std::string_view variable) {
  std::string name;
  for (const char c : variable.substr(k_variable.size()))
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return find_setting(name);
}

// Returns whether a variable that begins with DLOCK_ is known but no setting. dlock sets such
// variables for its command, and Kubernetes sets others in all pods if a service is named dlock.
bool is_no_setting(std::string_view variable) {
  const std::string_view rest = variable.substr(k_variable.size());
  return variable == "DLOCK_CONFIG" || is_hold_variable(variable) || rest == "EVENT" ||
         rest == "OUTCOME" || rest.starts_with("SERVICE_") || rest == "PORT" ||
         rest.starts_with("PORT_");
}

std::string unknown_variable(std::string_view variable) {
  std::vector<std::string> known;
  for (const Setting& setting : all_settings())
    known.push_back(environment_name(setting));
  return in_quotes(shortened(variable, 80)) + " is no variable of dlock: it has no effect" +
         did_you_mean(variable, {known.begin(), known.end()});
}

// Adds the variable `name` to the source if it is set. An empty variable counts as not set. Only an
// empty DLOCK_PREFIX is a setting: no other value of this variable could mean an empty prefix.
void take_variable(SettingSource& source, const Setting& setting, const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || (*value == '\0' && setting.name != "prefix")) return;
  source.all.push_back({&setting, name, value});
}

// REDIS_URL names the store of some application, perhaps not the store of the locks. So every
// setting of dlock overrides it.
SettingSource read_foreign_url() {
  SettingSource source{.code = Errc::bad_config, .place = "", .all = {}};
  take_variable(source, *find_setting("url"), std::string(k_foreign_url));
  return source;
}

SettingSource read_environment(std::vector<Note>& notes) {
  SettingSource source{.code = Errc::bad_config, .place = "", .all = {}};
  // Looks up each variable among the settings. The other way round, looking up each setting in the
  // environment, would take longer, because few variables begin with DLOCK_.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, k_variable.data(), k_variable.size()) != 0) continue;
    const std::string_view variable(*entry, std::strcspn(*entry, "="));
    const Setting* const setting = setting_of_variable(variable);
    if (setting != nullptr && variable == environment_name(*setting)) {
      take_variable(source, *setting, std::string(variable));
    } else if (!is_no_setting(variable)) {
      notes.push_back({LogLevel::warn, unknown_variable(variable)});
    }
  }
  sort_by_table(source);
  return source;
}

std::string unknown_setting(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Setting& setting : all_settings())
    known.push_back(setting.name);
  return "there is no setting " + in_quotes(shortened(name, 80)) + did_you_mean(name, known);
}

// Returns what is wrong with the type of a value in a file; empty: nothing. In quotes a value is as
// on the command line. Without quotes TOML would change a text: 1.10 to 1.1, and 0x10 to 16.
std::string_view wrong_type(const Setting& setting, TomlType type) {
  const bool is_whole = type == TomlType::integer;
  if (type == TomlType::text) return "";
  if (setting.value.empty()) {
    const bool is_right = type == TomlType::boolean || (setting.name == "verbose" && is_whole);
    return is_right ? "" : "write true or false";
  }
  if (setting.value == "N") return is_whole ? "" : "write a whole number";
  if (setting.value == "DUR") return type != TomlType::boolean ? "" : "write a time, as in \"30s\"";
  return is_whole && setting.value == "SIG" ? "" : "a text needs quotes";
}

// Takes the settings of a file. If some are unknown or have the wrong type, takes the others and
// returns the error.
Result<void> take_file(SettingSources& sources,
                       const std::string& path,
                       const Result<ConfigFile>& file) {
  if (!file) return file.error();
  if (file->password_is_exposed) sources.notes.push_back(exposed(path));
  if (file->entries.empty()) return {};
  const std::string place = printable(path) + ": ";
  Result<void> taken;
  SettingSource source{.code = Errc::bad_config, .place = place, .all = {}, .file = path};
  for (const auto& [name, value, type] : file->entries) {
    const Setting* const setting = find_setting(name);
    if (setting == nullptr) {
      taken = Error{Errc::bad_config, place + unknown_setting(name)};
    } else if (const std::string_view wrong = wrong_type(*setting, type); !wrong.empty()) {
      taken = Error{Errc::bad_config, place + name + ": " + std::string(wrong)};
    } else {
      source.all.push_back({setting, name, value});
    }
  }
  sort_by_table(source);
  sources.all.push_back(std::move(source));
  return taken;
}

// Takes the settings of the system's file. It is an error if we lack the right to open the file or
// to look whether it exists: without the file dlock might use another store or prefix than all
// others.
Result<void> take_system_file(SettingSources& sources, const std::string& path) {
  const auto file = read_usual_config(path);
  if (file || file.error().code != Errc::denied) return take_file(sources, path, file);
  return Error{Errc::bad_config,
               file.error().text + "; all users need it; or name another with --config"};
}

// Takes the settings of the user's file. It is only worth a warning if we lack the right to open
// the file or to look whether it exists: the home may belong to another user, as after setpriv or
// in a container, and then the file there is not meant for us.
Result<void> take_users_file(SettingSources& sources,
                             const std::string& path,
                             const char* variable) {
  const auto file = read_usual_config(path);
  if (file || file.error().code != Errc::denied) return take_file(sources, path, file);
  sources.notes.push_back(
      {LogLevel::warn,
       file.error().text + "; the run goes on without it: is " + variable + " that of this user?"});
  return {};
}

Result<void> read_files(SettingSources& sources, const std::optional<std::string>& config) {
  if (config) return take_file(sources, *config, read_named_config(*config));
  auto read = take_system_file(sources, "/etc/dlock/config.toml");
  if (!read) return read;
  const char* const xdg = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (xdg != nullptr && *xdg == '/') {
    return take_users_file(sources, std::string(xdg) + "/dlock/config.toml", "XDG_CONFIG_HOME");
  }
  if (home != nullptr && *home == '/') {
    return take_users_file(sources, std::string(home) + "/.config/dlock/config.toml", "HOME");
  }
  sources.notes.push_back(
      {LogLevel::info, "HOME is not set: no configuration file of the user is read"});
  return {};
}

}  // namespace

Note exposed(const std::string& path, std::string_view what) {
  return {LogLevel::warn,
          printable(path) + ": " + std::string(what) + ", and others can read it; chmod 600 it"};
}

SettingSource options_as_source(const std::vector<Given>& given) {
  SettingSource source{.code = Errc::bad_usage, .place = "", .all = {}};
  for (const auto& [name, value] : given) {
    const Setting* const setting = find_setting(name);
    DLOCK_ASSERT(setting != nullptr);
    const auto before =
        std::find_if(source.all.begin(), source.all.end(), [&, what = setting](const Said& said) {
          return said.setting == what && what->name == "url";
        });
    if (before != source.all.end()) {  // several URLs make a quorum
      before->value += ' ' + value;
    } else {
      source.all.push_back({setting, "--" + name, value});
    }
  }
  return source;
}

SettingSources read_setting_sources(const std::vector<Given>& given,
                                    const std::optional<std::string>& config) {
  SettingSources sources;
  if (SettingSource url = read_foreign_url(); !url.all.empty())
    sources.all.push_back(std::move(url));
  sources.read = read_files(sources, config);
  sources.all.push_back(read_environment(sources.notes));
  sources.all.push_back(options_as_source(given));
  return sources;
}

}  // namespace dlock
