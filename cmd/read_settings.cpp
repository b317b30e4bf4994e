// SPDX-License-Identifier: MIT
// Applies the settings of all sources, in the order in which these override each other.
#include "base/text.hpp"
#include "cmd/config_file.hpp"
#include "cmd/setting_sources.hpp"
#include "cmd/url_password.hpp"
#include "cmd/url_settings.hpp"
#include "sys/trusted_file.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace dlock {

namespace {

bool is_on(const Said& said) {
  constexpr std::array<std::string_view, 5> k_off{"false", "0", "no", "off", ""};
  return !said.setting->value.empty() ||
         std::find(k_off.begin(), k_off.end(), said.value) == k_off.end();
}

const Said* find_said(const SettingSource& source, std::string_view name) {
  for (const Said& said : source.all) {
    if (said.setting->name == name && is_on(said)) return &said;
  }
  return nullptr;
}

// Returns an error if a source has two settings of one group. `shared`, `exclusive` and `slots`
// exclude each other only on the command line. In the other sources the last of them in the order
// of all_settings() wins, as dlock.toml(5) documents.
Result<void> check_contradictions(const SettingSource& source) {
  if (source.all.size() < 2) return {};
  const Setting* before = nullptr;
  for (const Setting& setting : all_settings()) {
    if (setting.group.empty() || find_said(source, setting.name) == nullptr) continue;
    const bool matters = setting.group != "mode" || source.code == Errc::bad_usage;
    if (matters && before != nullptr && before->group == setting.group) {
      return Error{source.code,
                   source.place + find_said(source, before->name)->name + " and " +
                       find_said(source, setting.name)->name + " contradict each other; give one"};
    }
    before = &setting;
  }
  return {};
}

Result<void> apply(Settings& settings, const SettingSource& source) {
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

// Takes the settings out of the URL, and returns them as a source.
Result<SettingSource> take_url_source(Settings& settings) {
  auto parts = take_url_settings(settings.url);
  SettingSource source{.code = settings.url_is_option ? Errc::bad_usage : Errc::bad_config,
                       .place = settings.url_place + ": ",
                       .all = {}};
  if (!parts) return Error{source.code, source.place + parts.error().text};
  settings.url = std::move(parts->url);
  for (Given& given : parts->settings)
    source.all.push_back({find_setting(given.name), given.name, std::move(given.value)});
  return source;
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
  const auto source = take_url_source(settings);
  return source ? apply(settings, *source) : source.error();
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
    if (file->is_exposed) settings.notes.push_back(exposed(*path));
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
    if (*is_exposed) settings.notes.push_back(exposed(*key, "is a private key"));
  }
  const bool of_postgres = settings.url.starts_with("postgres");
  const char* const last = std::getenv(of_postgres ? "PGPASSWORD" : "REDISCLI_AUTH");
  if (settings.password.empty() && last != nullptr) settings.password = Secret(last);
  return {};
}

std::optional<std::string> initial_value(const Setting& setting) {
  if (setting.value.empty()) return "false";
  if (setting.initial.empty()) return std::nullopt;
  return std::string(setting.initial);
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

// A password file goes before a password, wherever each of the two is set (find_passwords).
void show_password_file(std::vector<InForce>& rows) {
  const auto row_of = [&](std::string_view name) -> InForce& {
    return rows.at(static_cast<std::size_t>(find_setting(name) - all_settings().data()));
  };
  const InForce& file = row_of("password-file");
  InForce& password = row_of("password");
  if (!file.place.empty() && !password.place.empty())
    password = InForce{password.setting, std::nullopt, file.place};
}

// Shows in `rows` what a setting does that was `said` at `place`: its own value, and that it
// overrides the others of its group.
void show(std::vector<InForce>& rows, const Said& said, const std::string& place) {
  for (InForce& row : rows) {
    if (row.setting == said.setting) {
      row.value = shown_value(said);
      row.place = place;
    } else if (is_on(said) && !row.place.empty() && !row.setting->group.empty() &&
               row.setting->group == said.setting->group) {
      row = InForce{row.setting, initial_value(*row.setting), place};
    }
  }
}

}  // namespace

Result<void> apply_options(Settings& settings, const std::vector<Given>& given) {
  return apply(settings, options_as_source(given));
}

Result<Settings> read_settings(const SettingSources& sources) {
  if (!sources.read) return sources.read.error();
  Settings settings;
  settings.notes = sources.notes;
  for (const SettingSource& source : sources.all) {
    if (auto applied = apply(settings, source); !applied) return applied.error();
  }
  if (auto applied = apply_url(settings); !applied) return applied.error();
  if (auto found = find_passwords(settings); !found) return found.error();
  return settings;
}

std::vector<InForce> settings_in_force(const SettingSources& sources) {
  std::vector<InForce> rows;
  for (const Setting& setting : all_settings())
    rows.push_back({&setting, initial_value(setting), ""});
  Settings settings;
  for (const SettingSource& source : sources.all) {
    for (const Said& said : source.all) {
      const std::string place = source.file.empty() ? said.name : printable(source.file);
      show(rows, said, place);
      if (said.setting->name != "url") continue;
      settings.url = said.value;
      settings.url_place = place;
    }
  }
  show_password_file(rows);
  if (split_urls(settings.url).size() > 1) return rows;
  const auto in_url = take_url_source(settings);
  for (std::size_t i = 0; in_url && i < in_url->all.size(); ++i)
    show(rows, in_url->all[i], settings.url_place);
  return rows;
}

bool wants_json_log(const SettingSources& sources) {
  bool json = false;
  for (const SettingSource& source : sources.all) {
    for (const Said& said : source.all) {
      if (said.setting->name == "log-format") json = said.value == "json";
    }
  }
  return json;
}

}  // namespace dlock
