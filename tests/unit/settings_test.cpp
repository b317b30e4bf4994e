// SPDX-License-Identifier: MIT
// One table, five sources: default, system file, user file, environment, option.
#include "cmd/settings.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "support/has.hpp"
#include "support/temp_dir.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not everywhere in unistd.h

namespace dlock {

using namespace std::chrono_literals;
using test::has;

namespace {

// An environment with nothing of ours in it, and a home of its own; as it was at the end.
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
  void user_config(const std::string& text) {
    ::mkdir((home_.path() + "/xdg").c_str(), 0700);
    ::mkdir((home_.path() + "/xdg/dlock").c_str(), 0700);
    std::ofstream(home_.path() + "/xdg/dlock/config.toml") << text;
  }

 private:
  test::TempDir home_;
  std::vector<std::string> before_;
  int files_ = 0;
};

Settings good(const std::vector<Given>& given = {}, const std::optional<std::string>& file = {}) {
  const auto settings = read_settings(given, file);
  REQUIRE_MESSAGE(settings.has_value(), (settings ? "" : settings.error().text));
  return *settings;
}

Error wrong(const std::vector<Given>& given, const std::optional<std::string>& file = {}) {
  const auto settings = read_settings(given, file);
  REQUIRE_FALSE(settings.has_value());
  return settings.error();
}

}  // namespace

TEST_CASE("settings: the defaults are those of the man page") {
  const Surroundings clean;
  const Settings settings = good();
  CHECK(settings.url == "redis://127.0.0.1:6379");
  CHECK_FALSE(settings.url_given);
  CHECK(settings.prefix == "dlock:");
  CHECK(settings.connect_timeout == 5s);
  CHECK(settings.ttl == 30s);
  CHECK_FALSE(settings.wait);
  CHECK_FALSE(settings.max_waiters);
  CHECK_FALSE(settings.kill_after);
  CHECK_FALSE(settings.conflict_exit_code);  // 75, or 0 where a run is skipped
  CHECK(settings.mode == Mode::exclusive);
  CHECK(settings.renew);
  CHECK(settings.min_hold == Duration(0));
  CHECK(settings.max_hold == Duration(0));
  CHECK(settings.once_per == Duration(0));
  CHECK(settings.stop_signal == SIGTERM);
  CHECK(settings.on_lost == OnLost::stop);
  CHECK(settings.verbose == 0);
  CHECK(settings.password.empty());
}

TEST_CASE("settings: an option goes before the environment, that before a file") {
  Surroundings clean;
  clean.user_config("ttl = \"11s\"\nprefix = \"file:\"\nreason = \"file\"\n");
  CHECK(good().ttl == 11s);
  CHECK(good().prefix == "file:");
  Surroundings::set("DLOCK_TTL", "12s");
  Surroundings::set("DLOCK_REASON", "environment");
  CHECK(good().ttl == 12s);
  CHECK(good().reason == "environment");
  CHECK(good({{"ttl", "13s"}}).ttl == 13s);
  CHECK(good({{"ttl", "13s"}}).prefix == "file:");
}

TEST_CASE("settings: a file that is named replaces the user's") {
  Surroundings clean;
  clean.user_config("ttl = \"11s\"\nprefix = \"user:\"\n");
  const std::string named = clean.file("ttl = \"14s\"\n");
  CHECK(good({}, named).ttl == 14s);
  CHECK(good({}, named).prefix == "dlock:");
  const Error error = wrong({}, named + "-not-there");
  CHECK(error.code == Errc::bad_config);
}

TEST_CASE("settings: every setting has an environment variable, and it is read") {
  const std::vector<Given> values{{"url", "redis://h"},
                                  {"prefix", "p:"},
                                  {"connect-timeout", "1s"},
                                  {"password", "x"},
                                  {"password-file", "/nowhere"},
                                  {"verbose", "2"},
                                  {"quiet", "true"},
                                  {"log-format", "json"},
                                  {"color", "always"},
                                  {"nonblock", "true"},
                                  {"wait", "9s"},
                                  {"conflict-exit-code", "3"},
                                  {"max-waiters", "5"},
                                  {"ttl", "9s"},
                                  {"kill-after", "2s"},
                                  {"signal", "INT"},
                                  {"on-lost", "warn"},
                                  {"contain", "true"},
                                  {"reason", "because"},
                                  {"shared", "true"},
                                  {"exclusive", "true"},
                                  {"slots", "3"},
                                  {"min-hold", "9s"},
                                  {"max-hold", "9s"},
                                  {"no-renew", "true"},
                                  {"once-per", "9s"}};
  CHECK(values.size() == all_settings().size());
  for (const auto& [name, value] : values) {
    const Surroundings clean;
    CAPTURE(name);
    const Setting* const setting = find_setting(name);
    REQUIRE(setting != nullptr);
    Settings by_hand;
    REQUIRE(setting->set(by_hand, value));
    const std::string variable = environment_name(*setting);
    CHECK(variable.starts_with("DLOCK_"));
    CHECK(variable.find('-') == std::string::npos);
    Surroundings::set(variable, "\x01 no such value");
    const auto bad = read_settings({}, {});
    const bool takes_text =
        name == "url" || name == "prefix" || name == "password" || name == "reason";
    CHECK(bad.has_value() == takes_text);
    if (!bad) CHECK(bad.error().code == Errc::bad_config);
  }
  const Surroundings clean;
  Surroundings::set("DLOCK_CONFLICT_EXIT_CODE", "3");
  CHECK(good().conflict_exit_code == 3);
  CHECK(environment_name(*find_setting("connect-timeout")) == "DLOCK_CONNECT_TIMEOUT");
  CHECK(find_setting("frob") == nullptr);
}

TEST_CASE("settings: an empty variable is no setting") {
  const Surroundings clean;
  Surroundings::set("DLOCK_TTL", "");
  Surroundings::set("DLOCK_URL", "");
  CHECK(good().ttl == 30s);
  CHECK_FALSE(good().url_given);
}

TEST_CASE("settings: REDIS_URL comes after DLOCK_URL") {
  const Surroundings clean;
  Surroundings::set("REDIS_URL", "redis://platform");
  CHECK(good().url == "redis://platform");
  CHECK(good().url_given);
  Surroundings::set("DLOCK_URL", "redis://ours");
  CHECK(good().url == "redis://ours");
  CHECK(good({{"url", "redis://option"}}).url == "redis://option");
}

TEST_CASE("settings: a value that is none is named, with its source") {
  Surroundings clean;
  Error error = wrong({{"ttl", "soon"}});
  CHECK(error.code == Errc::bad_usage);
  CHECK(has(error.text, "--ttl"));
  for (const Given& bad : std::vector<Given>{{"conflict-exit-code", "256"},
                                             {"max-waiters", "-1"},
                                             {"max-waiters", "1000001"},
                                             {"max-waiters", ""},
                                             {"max-waiters", "3x"},
                                             {"conflict-exit-code", "-1"},
                                             {"conflict-exit-code", "7x"},
                                             {"conflict-exit-code", ""},
                                             {"slots", "0"},
                                             {"slots", "1001"},
                                             {"slots", "many"},
                                             {"shared", "maybe"},
                                             {"max-hold", "0"},
                                             {"max-hold", "soon"},
                                             {"min-hold", "-1"},
                                             {"no-renew", "perhaps"},
                                             {"once-per", "daily"},
                                             {"signal", "0"},
                                             {"signal", "FROB"},
                                             {"signal", "SIGSIGTERM"},
                                             {"on-lost", "maybe"},
                                             {"color", "red"},
                                             {"log-format", "xml"},
                                             {"wait", "-1"},
                                             {"kill-after", "1x"}}) {
    CAPTURE(bad.name + "=" + bad.value);
    CHECK(wrong({bad}).code == Errc::bad_usage);
  }
  Surroundings::set("DLOCK_TTL", "soon");
  error = wrong({});
  CHECK(error.code == Errc::bad_config);
  CHECK(has(error.text, "DLOCK_TTL"));
  ::unsetenv("DLOCK_TTL");
  const std::string file = clean.file("ttl = \"soon\"\n");
  error = wrong({}, file);
  CHECK(error.code == Errc::bad_config);
  CHECK(has(error.text, file));
  CHECK(has(error.text, "ttl"));
  CHECK(has(wrong({}, clean.file("frob = 1\n")).text, "there is no setting \"frob\""));
}

TEST_CASE("settings: how many may wait, none included") {
  const Surroundings clean;
  CHECK(good({{"max-waiters", "0"}}).max_waiters == 0U);
  CHECK(good({{"max-waiters", "1000000"}}).max_waiters == 1000000U);
  Surroundings::set("DLOCK_MAX_WAITERS", "12");
  CHECK(good().max_waiters == 12U);
}

TEST_CASE("settings: shared, exclusive and slots are one: the last that is said counts") {
  Surroundings clean;
  CHECK(good({{"shared", "true"}}).mode == Mode::shared);
  CHECK(good({{"exclusive", "true"}}).mode == Mode::write);
  const Settings slots = good({{"slots", "3"}});
  CHECK(slots.mode == Mode::slots);
  CHECK(slots.slots == 3U);
  clean.user_config("slots = 5\n");
  CHECK(good().slots == 5U);
  CHECK(good({{"shared", "true"}}).mode == Mode::shared);
  Surroundings::set("DLOCK_EXCLUSIVE", "true");
  CHECK(good().mode == Mode::write);
  CHECK(good({{"slots", "2"}}).mode == Mode::slots);
  CHECK(good({{"slots", "2"}}).slots == 2U);
  Surroundings::set("DLOCK_EXCLUSIVE", "false");  // that of somebody else stays
  CHECK(good().mode == Mode::slots);
  clean.user_config("shared = true\n");
  Surroundings::set("DLOCK_SHARED", "false");
  CHECK(good().mode == Mode::exclusive);
}

TEST_CASE("settings: how long a lock is held") {
  Surroundings clean;
  clean.user_config("no-renew = true\nmin-hold = 40\nmax-hold = \"1h\"\nonce-per = \"1d\"\n");
  const Settings settings = good();
  CHECK_FALSE(settings.renew);
  CHECK(settings.min_hold == 40s);
  CHECK(settings.max_hold == 1h);
  CHECK(settings.once_per == 24h);
  CHECK(good({{"min-hold", "0"}}).min_hold == 0s);
}

TEST_CASE("settings: signals by name or number") {
  const Surroundings clean;
  for (const auto& [text, number] : std::vector<std::pair<std::string, int>>{{"TERM", SIGTERM},
                                                                             {"SIGINT", SIGINT},
                                                                             {"HUP", SIGHUP},
                                                                             {"USR1", SIGUSR1},
                                                                             {"9", SIGKILL},
                                                                             {"15", SIGTERM}}) {
    CHECK(good({{"signal", text}}).stop_signal == number);
  }
}

TEST_CASE("settings: -n is a wait of nothing, a later --wait overrides it from a file") {
  Surroundings clean;
  CHECK(good({{"nonblock", "true"}}).wait == Duration(0));
  CHECK(good({{"wait", "0"}}).wait == Duration(0));
  clean.user_config("nonblock = true\n");
  CHECK(good().wait == Duration(0));
  CHECK(good({{"wait", "5"}}).wait == Duration(5s));
}

TEST_CASE("settings: files that others can write are not read") {
  Surroundings clean;
  CHECK(has(wrong({}, clean.file("ttl = \"9s\"\n", 0620)).text, "written by others"));
  CHECK(has(wrong({}, clean.file("ttl = \"9s\"\n", 0602)).text, "written by others"));
  CHECK(good({}, clean.file("ttl = \"9s\"\n", 0644)).ttl == 9s);
}

TEST_CASE("settings: a file with a password must be ours alone to read") {
  Surroundings clean;
  for (const char* text : {"password = \"hunter2\"\n", "url = \"redis://:hunter2@h\"\n"}) {
    CAPTURE(text);
    const Error error = wrong({}, clean.file(text, 0640));
    CHECK(error.code == Errc::bad_config);
    CHECK_FALSE(has(error.text, "hunter2"));
    good({}, clean.file(text, 0600));
  }
  CHECK(has(wrong({{"password-file", clean.file("x\n", 0644)}}).text, "read by others"));
}

TEST_CASE("settings: where the password comes from") {
  Surroundings clean;
  Surroundings::set("REDISCLI_AUTH", "last");
  CHECK(good().password.reveal() == "last");
  Surroundings::set("DLOCK_PASSWORD", "environment");
  CHECK(good().password.reveal() == "environment");
  const std::string file = clean.file("in file\r\nsecond line\n");
  CHECK(good({{"password-file", file}}).password.reveal() == "in file");
}

}  // namespace dlock
