// SPDX-License-Identifier: MIT
// Reads the settings from their sources, in the order in which these override each other.
#include "app/hold_variables.hpp"
#include "base/text.hpp"
#include "cmd/config_file.hpp"
#include "cmd/did_you_mean.hpp"
#include "cmd/settings.hpp"
#include "cmd/url_password.hpp"
#include "cmd/url_settings.hpp"
#include "sys/trusted_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace dlock {

namespace {

struct Said {
  const Setting* setting;
  std::string name;  // as written at its source: "--ttl", "DLOCK_TTL", "ttl"
  std::string value;
};

// A source of settings, and all settings in it.
struct Source {
  Errc code;          // code of an error in this source
  std::string place;  // begins each error text: "/etc/dlock/config.toml: ", or empty
  std::vector<Said> all;
  std::string file = {};  // path of the source, if it is a file
};

// Sorts the settings of a source in the order of all_settings(). Of settings that override each
// other (shared, exclusive, slots) the last one in this order wins.
void sort_by_table(Source& source) {
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
  return variable == "DLOCK_CONFIG" || is_hold_variable(variable) || rest.starts_with("SERVICE_") ||
         rest == "PORT" || rest.starts_with("PORT_");
}

std::string unknown_variable(std::string_view variable) {
  std::vector<std::string> known;
  for (const Setting& setting : all_settings())
    known.push_back(environment_name(setting));
  return in_quotes(shortened(variable, 80)) + " is no variable of dlock: it has no effect" +
         did_you_mean(variable, {known.begin(), known.end()});
}

Source read_environment(std::vector<Note>& notes) {
  Source source{.code = Errc::bad_config, .place = "", .all = {}};
  const auto take = [&source](const Setting& setting, const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    // An empty variable counts as not set. Only an empty DLOCK_PREFIX is a setting: no other value
    // of this variable could mean an empty prefix.
    if (value == nullptr || (*value == '\0' && setting.name != "prefix")) return;
    source.all.push_back({&setting, name, value});
  };
  take(*find_setting("url"), "REDIS_URL");
  // Looks up each variable among the settings. The other way round, looking up each setting in the
  // environment, would take longer, because few variables begin with DLOCK_.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, k_variable.data(), k_variable.size()) != 0) continue;
    const std::string_view variable(*entry, std::strcspn(*entry, "="));
    const Setting* const setting = setting_of_variable(variable);
    if (setting != nullptr && variable == environment_name(*setting)) {
      take(*setting, std::string(variable));
    } else if (!is_no_setting(variable)) {
      notes.push_back({LogLevel::warn, unknown_variable(variable)});
    }
  }
  sort_by_table(source);
  return source;
}

Source read_options(const std::vector<Given>& given) {
  Source source{.code = Errc::bad_usage, .place = "", .all = {}};
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

std::string unknown_setting(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Setting& setting : all_settings())
    known.push_back(setting.name);
  return "there is no setting " + in_quotes(shortened(name, 80)) + did_you_mean(name, known);
}

std::string exposed(const std::string& path,
                    const std::string& remedy,
                    const char* what = "holds a password") {
  return printable(path) + ": " + what + ", and others can read it; " + remedy;
}

struct Sources {
  std::vector<Source> all;  // in order: each source overrides those before it
  std::vector<Note> notes;
};

// Takes the settings of a file. If some are unknown, takes the others and returns the error.
Result<void> take_file(Sources& sources, const std::string& path, const Result<ConfigFile>& file) {
  if (!file) return file.error();
  if (file->password_is_exposed)
    sources.notes.push_back({LogLevel::warn, exposed(path, "chmod 600 it")});
  if (file->entries.empty()) return {};
  const std::string place = printable(path) + ": ";
  Result<void> known;
  Source source{.code = Errc::bad_config, .place = place, .all = {}, .file = path};
  for (const auto& [name, value] : file->entries) {
    const Setting* const setting = find_setting(name);
    if (setting != nullptr) {
      source.all.push_back({setting, name, value});
    } else {
      known = Error{Errc::bad_config, place + unknown_setting(name)};
    }
  }
  sort_by_table(source);
  sources.all.push_back(std::move(source));
  return known;
}

// Takes the settings of the system's file. It is an error if we lack the right to open the file or
// to look whether it exists: without the file dlock might use another store or prefix than all
// others.
Result<void> take_system_file(Sources& sources, const std::string& path) {
  const auto file = read_usual_config(path);
  if (file || file.error().code != Errc::denied) return take_file(sources, path, file);
  return Error{Errc::bad_config,
               file.error().text + "; all users need it; or name another with --config"};
}

// Takes the settings of the user's file. It is only worth a warning if we lack the right to open
// the file or to look whether it exists: the home may belong to another user, as after setpriv or
// in a container, and then the file there is not meant for us.
Result<void> take_users_file(Sources& sources, const std::string& path, const char* variable) {
  const auto file = read_usual_config(path);
  if (file || file.error().code != Errc::denied) return take_file(sources, path, file);
  sources.notes.push_back(
      {LogLevel::warn,
       file.error().text + "; the run goes on without it: is " + variable + " that of this user?"});
  return {};
}

Result<void> read_files(Sources& sources, const std::optional<std::string>& config) {
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

// Reads all sources. After an error in a file it still reads the environment and the options, and
// then returns the error.
Result<void> read_sources(Sources& sources,
                          const std::vector<Given>& given,
                          const std::optional<std::string>& config) {
  auto read = read_files(sources, config);
  sources.all.push_back(read_environment(sources.notes));
  sources.all.push_back(read_options(given));
  return read;
}

bool is_on(const Said& said) {
  constexpr std::array<std::string_view, 5> k_off{"false", "0", "no", "off", ""};
  return !said.setting->value.empty() ||
         std::find(k_off.begin(), k_off.end(), said.value) == k_off.end();
}

const Said* find_said(const Source& source, std::string_view name) {
  for (const Said& said : source.all) {
    if (said.setting->name == name && is_on(said)) return &said;
  }
  return nullptr;
}

// Returns an error if a source has two settings that exclude each other. `shared`, `exclusive` and
// `slots` exclude each other only on the command line. In the other sources the last of them in the
// order of all_settings() wins, as dlock.toml(5) documents.
Result<void> check_contradictions(const Source& source) {
  constexpr std::array<std::array<std::string_view, 2>, 5> k_pairs{{{"nonblock", "wait"},
                                                                    {"quiet", "verbose"},
                                                                    {"shared", "exclusive"},
                                                                    {"shared", "slots"},
                                                                    {"exclusive", "slots"}}};
  const std::size_t pairs = source.code == Errc::bad_usage ? k_pairs.size() : 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    const Said* const one = find_said(source, k_pairs.at(i).front());
    const Said* const other = find_said(source, k_pairs.at(i).back());
    if (one == nullptr || other == nullptr) continue;
    return Error{
        source.code,
        source.place + one->name + " and " + other->name + " contradict each other; give one"};
  }
  return {};
}

Result<void> apply(Settings& settings, const Source& source) {
  auto good = check_contradictions(source);
  if (!good) return good;
  for (const Said& said : source.all) {
    auto set = said.setting->set(settings, said.value);
    if (!set) return Error{source.code, source.place + said.name + ": " + set.error().text};
    if (said.setting->name == "password" && !source.file.empty())
      settings.password = password_of_config(source.file, said.value);
    if (said.setting->name != "url") continue;
    settings.url_place = source.place + said.name;
    settings.url_is_option = source.code == Errc::bad_usage;
  }
  return {};
}

// Applies the settings in the URL. They override all other settings, as the password in the URL
// does. In a quorum the settings in a URL apply only to the server of this URL.
Result<void> apply_url(Settings& settings) {
  const std::vector<std::string> urls = split_urls(settings.url);
  for (std::size_t i = 0; urls.size() > 1 && i < urls.size(); ++i) {
    Settings one = settings;
    one.url = urls[i];
    if (auto applied = apply_url(one); !applied) return applied;
    settings.quorum.push_back({.url = one.url, .tls = one.tls});
  }
  if (!settings.quorum.empty()) return {};
  auto parts = take_url_settings(settings.url);
  Source source{.code = settings.url_is_option ? Errc::bad_usage : Errc::bad_config,
                .place = settings.url_place + ": ",
                .all = {}};
  if (!parts) return Error{source.code, source.place + parts.error().text};
  settings.url = std::move(parts->url);
  for (Given& given : parts->settings)
    source.all.push_back({find_setting(given.name), given.name, std::move(given.value)});
  return apply(settings, source);
}

Result<void> find_passwords(Settings& settings) {
  const std::array<std::pair<const std::string*, Secret*>, 3> files{
      {{&settings.password_file, &settings.password},
       {&settings.key_password_file, &settings.tls.key_password},
       {&settings.sentinel_password_file, &settings.sentinel_password}}};
  for (const auto& [path, password] : files) {
    if (path->empty()) continue;
    auto file = read_password_file(*path);
    if (!file) return file.error();
    *password = std::move(file->password);
    if (file->is_exposed)
      settings.notes.push_back({LogLevel::warn, exposed(*path, "chmod 600 it")});
  }
  std::vector<const std::string*> keys{&settings.tls.key};
  std::vector<const std::string*> public_files{&settings.tls.cacert, &settings.tls.cert};
  for (const Settings::Server& server : settings.quorum) {
    keys.push_back(&server.tls.key);
    public_files.insert(public_files.end(), {&server.tls.cacert, &server.tls.cert});
  }
  for (const std::string* const file : public_files) {
    if (file->empty()) continue;
    if (auto good = check_named_pipe(*file); !good) return good;
  }
  for (const std::string* const key : keys) {
    if (key->empty()) continue;
    const auto is_exposed = check_named_file(*key);
    if (!is_exposed) return is_exposed.error();
    if (*is_exposed)
      settings.notes.push_back({LogLevel::warn, exposed(*key, "chmod 600 it", "is a private key")});
  }
  const bool of_postgres = settings.url.starts_with("postgres");
  const char* const last = std::getenv(of_postgres ? "PGPASSWORD" : "REDISCLI_AUTH");
  if (settings.password.empty() && last != nullptr) settings.password = Secret(last);
  return {};
}

// Returns the value without a password, so that it can be shown.
std::string shown_value(const Said& said) {
  if (said.setting->name == "password") return "***";
  if (said.setting->name != "url") return said.value;
  std::string urls;
  for (const std::string& url : split_urls(said.value))
    urls += (urls.empty() ? "" : " ") + shown_url(url);
  return urls;
}

}  // namespace

Result<void> apply_options(Settings& settings, const std::vector<Given>& given) {
  return apply(settings, read_options(given));
}

Result<Settings> read_settings(const std::vector<Given>& given,
                               const std::optional<std::string>& config) {
  Sources sources;
  auto done = read_sources(sources, given, config);
  if (!done) return done.error();
  Settings settings;
  settings.notes = std::move(sources.notes);
  for (const Source& source : sources.all) {
    done = apply(settings, source);
    if (!done) return done.error();
  }
  done = apply_url(settings);
  if (!done) return done.error();
  done = find_passwords(settings);
  if (!done) return done.error();
  return settings;
}

Result<std::vector<InForce>> settings_in_force(const std::vector<Given>& given,
                                               const std::optional<std::string>& config) {
  Sources sources;
  if (auto read = read_sources(sources, given, config); !read) return read.error();
  std::vector<InForce> all;
  for (const Setting& setting : all_settings()) {
    const bool is_flag = setting.value.empty();
    InForce& now =
        all.emplace_back(InForce{&setting, std::string(is_flag ? "false" : setting.initial), ""});
    for (const Source& source : sources.all) {
      for (const Said& said : source.all) {
        if (said.setting != &setting) continue;
        now.value = shown_value(said);
        now.place = source.file.empty() ? said.name : printable(source.file);
      }
    }
  }
  return all;
}

bool wants_json_log(const std::vector<Given>& given, const std::optional<std::string>& config) {
  Sources sources;
  const auto wrong_elsewhere = read_sources(sources, given, config);
  bool json = false;
  for (const Source& source : sources.all) {
    for (const Said& said : source.all) {
      if (said.setting->name == "log-format") json = said.value == "json";
    }
  }
  return json;
}

}  // namespace dlock
