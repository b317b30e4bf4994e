// SPDX-License-Identifier: MIT
// Surroundings: an environment and a home directory for one test of settings.
#pragma once

#include "cmd/setting_sources.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not everywhere in unistd.h

namespace dlock::test {

// Removes dlock's variables from the environment and gives it a home of its own. The destructor
// restores the environment.
class Surroundings {
 public:
  Surroundings() {
    for (char** entry = environ; *entry != nullptr; ++entry)
      before_.emplace_back(*entry);
    for (const std::string& entry : before_) {
      if (entry.starts_with("DLOCK_")) ::unsetenv(entry.substr(0, entry.find('=')).c_str());
    }
    for (const char* name : {"REDIS_URL", "REDISCLI_AUTH"})
      ::unsetenv(name);
    set("HOME", home_.path());
    set("XDG_CONFIG_HOME", home_.path() + "/xdg");
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  ~Surroundings() {
    ::clearenv();
    for (const std::string& entry : before_) {
      const auto equals = entry.find('=');
      set(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  static void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::string file(const std::string& text, mode_t mode = 0600) {
    const std::string path = home_.path() + "/" + std::to_string(++files_);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  // Makes the home writable for every user.
  void open_home() { ::chmod(home_.path().c_str(), 01777); }
  void user_config(const std::string& text) {
    ::mkdir((home_.path() + "/xdg").c_str(), 0700);
    ::mkdir((home_.path() + "/xdg/dlock").c_str(), 0700);
    std::ofstream(home_.path() + "/xdg/dlock/config.toml") << text;
  }

 private:
  TempDir home_;
  std::vector<std::string> before_;
  int files_ = 0;
};

inline Settings good_settings(const std::vector<Given>& given = {},
                              const std::optional<std::string>& file = {}) {
  const auto settings = read_settings(read_setting_sources(given, file));
  REQUIRE_MESSAGE(settings.has_value(), (settings ? "" : settings.error().text));
  return *settings;
}

inline Error wrong_settings(const std::vector<Given>& given,
                            const std::optional<std::string>& file = {}) {
  const auto settings = read_settings(read_setting_sources(given, file));
  REQUIRE_FALSE(settings.has_value());
  return settings.error();
}

}  // namespace dlock::test
