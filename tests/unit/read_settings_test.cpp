// SPDX-License-Identifier: MIT
// The five sources of settings: default, system file, user file, environment and option.
#include "cmd/setting_sources.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/has.hpp"
#include "support/surroundings.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::good_settings;
using test::has;
using test::Surroundings;
using test::wrong_settings;

TEST_CASE("settings: an option goes before the environment, that before a file") {
  Surroundings clean;
  clean.user_config("ttl = \"11s\"\nprefix = \"file:\"\nreason = \"file\"\n");
  CHECK(good_settings().ttl == 11s);
  CHECK(good_settings().prefix == "file:");
  Surroundings::set("DLOCK_TTL", "12s");
  Surroundings::set("DLOCK_REASON", "environment");
  CHECK(good_settings().ttl == 12s);
  CHECK(good_settings().reason == "environment");
  CHECK(good_settings({{"ttl", "13s"}}).ttl == 13s);
  CHECK(good_settings({{"ttl", "13s"}}).prefix == "file:");
}

TEST_CASE("settings: a file that is named replaces the user's") {
  Surroundings clean;
  clean.user_config("ttl = \"11s\"\nprefix = \"user:\"\n");
  const std::string named = clean.file("ttl = \"14s\"\n");
  CHECK(good_settings({}, named).ttl == 14s);
  CHECK(good_settings({}, named).prefix == "dlock:");
  const Error error = wrong_settings({}, named + "-not-there");
  CHECK(error.code == Errc::bad_config);
}

TEST_CASE("settings: an empty variable is no setting, but DLOCK_PREFIX is the empty prefix") {
  const Surroundings clean;
  Surroundings::set("DLOCK_TTL", "");
  Surroundings::set("DLOCK_URL", "");
  Surroundings::set("DLOCK_REASON", "");
  Surroundings::set("DLOCK_PASSWORD_FILE", "");
  CHECK(good_settings().ttl == 30s);
  CHECK(good_settings().url_place.empty());
  CHECK_FALSE(good_settings().reason);
  CHECK(good_settings().prefix == "dlock:");
  Surroundings::set("DLOCK_PREFIX", "");
  CHECK(good_settings().prefix.empty());
}

TEST_CASE("settings: REDIS_URL counts where no setting of dlock names a store") {
  Surroundings clean;
  Surroundings::set("REDIS_URL", "redis://platform");
  CHECK(good_settings().url == "redis://platform");
  CHECK(good_settings().url_place == "REDIS_URL");
  CHECK(good_settings({{"url", "redis://option"}}).url == "redis://option");
  clean.user_config("url = \"redis://file\"\n");
  CHECK(good_settings().url == "redis://file");
  Surroundings::set("DLOCK_URL", "redis://ours");
  CHECK(good_settings().url == "redis://ours");
}

TEST_CASE("settings: the source of the URL is known") {
  Surroundings clean;
  const std::string file = clean.file("url = \"redis://file\"\n");
  CHECK(good_settings({}, file).url_place == file + ": url");
  CHECK_FALSE(good_settings({}, file).url_is_option);
  Surroundings::set("DLOCK_URL", "redis://ours");
  CHECK(good_settings({}, file).url_place == "DLOCK_URL");
  CHECK(good_settings({{"url", "redis://option"}}, file).url_place == "--url");
  CHECK(good_settings({{"url", "redis://option"}}, file).url_is_option);
}

TEST_CASE("settings: what the URL says of TLS goes before option, environment and file") {
  Surroundings clean;
  const std::string file = clean.file("url = \"rediss://file?cacert=/file.pem\"\n");
  CHECK(good_settings({{"cacert", "/option.pem"}, {"sni", "db"}}, file).tls.cacert == "/file.pem");
  CHECK(good_settings({{"cacert", "/option.pem"}, {"sni", "db"}}, file).tls.sni == "db");
  CHECK(good_settings({}, file).url == "rediss://file");
  Surroundings::set("DLOCK_URL", "rediss://ours?cert=/c&key=/k");
  CHECK(good_settings({}, file).tls.cacert.empty());
  CHECK(good_settings({}, file).tls.key == "/k");
  // A URL that is not used sets nothing.
  CHECK(good_settings({{"url", "rediss://option"}}, file).tls.key.empty());

  const std::vector<Given> bad{{"url", "rediss://h?cacert="}};
  CHECK(wrong_settings(bad).code == Errc::bad_usage);
  CHECK(has(wrong_settings(bad).text, "--url: cacert: \"\" is not the name of a file"));
  Surroundings::set("DLOCK_URL", "rediss://h?skip_verify=true");
  CHECK(wrong_settings({}).code == Errc::bad_config);
  CHECK(has(wrong_settings({}).text, "DLOCK_URL: leave skip_verify out"));
}

TEST_CASE("settings: a contradiction in one source is refused, of two sources the nearer counts") {
  Surroundings clean;
  const std::vector<Given> both{{"nonblock", "true"}, {"wait", "5"}};
  CHECK(wrong_settings(both).code == Errc::bad_usage);
  CHECK(has(wrong_settings(both).text, "--nonblock and --wait contradict each other"));
  CHECK(wrong_settings({{"quiet", "true"}, {"verbose", "1"}}).code == Errc::bad_usage);
  CHECK(has(wrong_settings({{"shared", "true"}, {"exclusive", "true"}}).text,
            "--shared and --exclusive"));
  CHECK(has(wrong_settings({{"slots", "3"}, {"shared", "true"}}).text, "--shared and --slots"));
  CHECK(
      has(wrong_settings({{"slots", "3"}, {"exclusive", "true"}}).text, "--exclusive and --slots"));

  const std::string file = clean.file("wait = 5\nnonblock = true\n");
  CHECK(wrong_settings({}, file).code == Errc::bad_config);
  CHECK(has(wrong_settings({}, file).text, file + ": nonblock and wait contradict each other"));
  CHECK(wrong_settings({}, clean.file("quiet = true\nverbose = 2\n")).code == Errc::bad_config);
  CHECK(good_settings({}, clean.file("quiet = true\nverbose = false\n")).quiet);
  CHECK(good_settings({}, clean.file("nonblock = false\nwait = 5\n")).wait == Duration(5s));

  Surroundings::set("DLOCK_NONBLOCK", "true");
  CHECK(good_settings({}, clean.file("wait = 5\n")).nonblock);
  CHECK_FALSE(good_settings({}, clean.file("wait = 5\n")).wait);
  CHECK_FALSE(good_settings({{"wait", "5"}}).nonblock);
  CHECK(good_settings({{"verbose", "1"}}, clean.file("quiet = true\n")).verbose == 1);
  CHECK_FALSE(good_settings({{"verbose", "1"}}, clean.file("quiet = true\n")).quiet);
  CHECK(good_settings({{"quiet", "true"}}, clean.file("verbose = 2\n")).verbose == 0);
  CHECK_FALSE(good_settings({{"nonblock", "false"}}, clean.file("nonblock = true\n")).nonblock);
  Surroundings::set("DLOCK_WAIT", "5");
  CHECK(wrong_settings({}).code == Errc::bad_config);
  CHECK(has(wrong_settings({}).text, "DLOCK_NONBLOCK and DLOCK_WAIT contradict each other"));
}

namespace {

bool json_log(const std::vector<Given>& given, const std::optional<std::string>& file) {
  return wants_json_log(read_setting_sources(given, file));
}

}  // namespace

TEST_CASE("settings: a refusal of the settings still respects the choice of JSON") {
  Surroundings clean;
  CHECK_FALSE(json_log({}, {}));
  CHECK(json_log({{"ttl", "soon"}, {"log-format", "json"}}, {}));
  CHECK_FALSE(json_log({{"log-format", "json"}, {"log-format", "text"}}, {}));
  const std::string file = clean.file("frob = 1\nlog-format = \"json\"\nttl = \"soon\"\n");
  CHECK(json_log({}, file));
  CHECK_FALSE(json_log({{"log-format", "text"}}, file));
  CHECK_FALSE(json_log({}, file + "-not-there"));
  Surroundings::set("DLOCK_LOG_FORMAT", "json");
  CHECK(json_log({}, file + "-not-there"));
}

TEST_CASE("settings: files that others can write are not read") {
  Surroundings clean;
  CHECK(has(wrong_settings({}, clean.file("ttl = \"9s\"\n", 0620)).text, "written by others"));
  CHECK(has(wrong_settings({}, clean.file("ttl = \"9s\"\n", 0602)).text, "written by others"));
  CHECK(good_settings({}, clean.file("ttl = \"9s\"\n", 0644)).ttl == 9s);
}

TEST_CASE("settings: a password in a file that others can read is told, once, and not shown") {
  Surroundings clean;
  const auto told = [&](const std::vector<Given>& given, const std::optional<std::string>& file) {
    const Settings settings = good_settings(given, file);
    REQUIRE(settings.notes.size() == 1);
    CHECK(settings.notes.front().level == LogLevel::warn);
    CHECK(has(settings.notes.front().text, "holds a password, and others can read it"));
    CHECK_FALSE(has(settings.notes.front().text, "hunter2"));
  };
  clean.open_home();  // or root has arranged all that is in it
  for (const char* text : {"password = \"hunter2\"\n", "url = \"redis://:hunter2@h\"\n"}) {
    CAPTURE(text);
    told({}, clean.file(text, 0640));
    CHECK(good_settings({}, clean.file(text, 0600)).notes.empty());
  }
  CHECK(good_settings({}, clean.file("ttl = \"9s\"\n", 0644)).notes.empty());
  told({{"password-file", clean.file("hunter2\n", 0644)}}, clean.file("ttl = \"9s\"\n"));
}

TEST_CASE("settings: where the password comes from") {
  Surroundings clean;
  Surroundings::set("REDISCLI_AUTH", "last");
  CHECK(good_settings().password.reveal() == "last");
  Surroundings::set("DLOCK_PASSWORD", "environment");
  CHECK(good_settings().password.reveal() == "environment");
  const std::string file = clean.file("in file\r\nsecond line\n");
  CHECK(good_settings({{"password-file", file}}).password.reveal() == "in file");
  for (const char* text : {"", "\n", "\nsecond line\n"}) {
    const std::string empty = clean.file(text);
    const Error error = wrong_settings({{"password-file", empty}});
    CHECK(error.code == Errc::bad_config);
    CHECK(has(error.text, empty + ": the first line, which must be the password, is empty"));
  }
}

TEST_CASE("settings: a password in a file is the one that the file has at each login") {
  Surroundings clean;
  const std::string file = clean.file("old\n");
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
  };
  const auto settings = good_settings(
      {{"password-file", file}, {"sentinel-password-file", file}, {"key-password-file", file}});
  const std::string config = clean.file("password = \"old\"\n", 0600);
  const auto configured = good_settings({}, config);
  const Secret* const all[] = {&settings.password,
                               &settings.sentinel_password,
                               &settings.tls.key_password,
                               &configured.password};
  for (const Secret* one : all)
    CHECK(one->reveal() == "old");
  write(file, "new\n");
  write(config, "password = \"new\"\n");
  for (const Secret* one : all)
    CHECK(one->reveal() == "new");
  write(file, "\n");
  write(config, "");
  for (const Secret* one : all)
    CHECK(one->reveal() == "new");
  for (const std::string& path : {file, config})
    REQUIRE(::unlink(path.c_str()) == 0);
  for (const Secret* one : all)
    CHECK(one->reveal() == "new");
}

namespace {

InForce in_force(std::string_view name, const std::vector<Given>& given = {}) {
  for (const InForce& one : settings_in_force(read_setting_sources(given, {})))
    if (one.setting->name == name) return one;
  FAIL("there is no such setting");
  return {};
}

std::vector<std::string> warnings() {
  std::vector<std::string> texts;
  for (const Note& note : good_settings().notes)
    if (note.level == LogLevel::warn) texts.push_back(note.text);
  return texts;
}

}  // namespace

TEST_CASE("settings: each in force has the place that said it last, and shows no password") {
  Surroundings clean;
  clean.user_config("ttl = \"11s\"\npassword = \"sesame\"\n");
  Surroundings::set("DLOCK_WAIT", "5s");
  Surroundings::set("DLOCK_URL", "redis://:sesame@a redis://u:sesame@b redis://c?x=sesame");
  CHECK(has(in_force("ttl").place, "/xdg/dlock/config.toml"));
  CHECK(in_force("ttl").value == "11s");
  CHECK(in_force("ttl", {{"ttl", "3s"}}).place == "--ttl");
  CHECK(in_force("wait").place == "DLOCK_WAIT");
  CHECK(in_force("prefix").value == "dlock:");
  CHECK(in_force("prefix").place.empty());
  CHECK_FALSE(in_force("reason").value);
  CHECK(in_force("password").value == "***");
  CHECK(in_force("url").value == "redis://***@a redis://***@b redis://c?***");
}

TEST_CASE("settings: what another setting overrides is not shown as in force") {
  Surroundings clean;
  clean.user_config("wait = \"9s\"\nslots = 3\nquiet = true\npassword = \"sesame\"\n");
  CHECK(in_force("wait").value == "9s");
  CHECK(in_force("slots").value == "3");
  CHECK_FALSE(in_force("wait", {{"nonblock", "true"}}).value);
  CHECK(in_force("wait", {{"nonblock", "true"}}).place == "--nonblock");
  CHECK(in_force("wait", {{"nonblock", "false"}}).value == "9s");
  CHECK_FALSE(in_force("slots", {{"shared", "true"}}).value);
  CHECK(in_force("quiet", {{"verbose", "2"}}).value == "false");
  CHECK(in_force("quiet", {{"verbose", "2"}}).place == "--verbose");
  CHECK_FALSE(in_force("password", {{"password-file", "/p"}}).value);
  CHECK(in_force("password", {{"password-file", "/p"}}).place == "--password-file");
  Surroundings::set("DLOCK_NONBLOCK", "true");
  CHECK(in_force("nonblock").value == "true");
  CHECK(in_force("nonblock", {{"wait", "1s"}}).value == "false");
  CHECK(in_force("nonblock", {{"wait", "1s"}}).place == "--wait");
  // What the URL says of TLS overrides all other places.
  const std::vector<Given> url{{"cacert", "/o.pem"}, {"url", "rediss://h?cacert=/u.pem"}};
  CHECK(in_force("cacert", url).value == "/u.pem");
  CHECK(in_force("cacert", url).place == "--url");
  Surroundings::set("DLOCK_PREFIX", "");
  CHECK(in_force("prefix").value == "");
}

TEST_CASE("settings: a value of the wrong type in a file is refused") {
  Surroundings clean;
  for (const char* line : {"contain = 1",
                           "contain = \"1.0\"",
                           "slots = 3.0",
                           "replicas = true",
                           "prefix = 1.10",
                           "password = 1234",
                           "reason = true",
                           "url = 5",
                           "ttl = true",
                           "verbose = 1.0",
                           "signal = 15.0",
                           "log-format = 1"}) {
    CAPTURE(line);
    const std::string file = clean.file(std::string(line) + "\n");
    const Error error = wrong_settings({}, file);
    CHECK(error.code == Errc::bad_config);
    CHECK(error.text.starts_with(file + ": " + std::string(line, std::strcspn(line, " ")) + ": "));
  }
  for (const char* line : {"contain = true",
                           "contain = \"true\"",
                           "slots = 3",
                           "slots = \"3\"",
                           "signal = 15",
                           "ttl = 60",
                           "ttl = 1.5",
                           "ttl = \"60\"",
                           "verbose = true",
                           "verbose = 2",
                           "url = [\"redis://a\"]"}) {
    CAPTURE(line);
    good_settings({}, clean.file(std::string(line) + "\n"));
  }
}

TEST_CASE("settings: a variable that means nothing is named, with the one it is like") {
  Surroundings clean;
  for (const char* known : {"DLOCK_HOLDS", "DLOCK_TTL_MS", "DLOCK_EXPIRES", "DLOCK_CONFIG"})
    Surroundings::set(known, "");
  Surroundings::set("DLOCK_SERVICE_HOST", "10.0.0.1");
  Surroundings::set("DLOCK_PORT_6379_TCP", "tcp://10.0.0.1:6379");
  CHECK(warnings().empty());
  Surroundings::set("DLOCK_TTTL", "5m");
  REQUIRE(warnings().size() == 1);
  CHECK(has(warnings().front(), "\"DLOCK_TTTL\" is no variable of dlock: it has no effect"));
  CHECK(has(warnings().front(), "did you mean DLOCK_TTL?"));
  Surroundings::set("DLOCK_wait", "5m");
  CHECK(warnings().size() == 2);
}

TEST_CASE("settings: a section in a file is explained") {
  Surroundings clean;
  clean.user_config("[defaults]\nttl = \"11s\"\n");
  CHECK(has(wrong_settings({}).text, "\"defaults\" is a section: write the settings without one"));
}

TEST_CASE("settings: a user without a home is told so with -v") {
  const Surroundings clean;
  ::unsetenv("HOME");
  Surroundings::set("XDG_CONFIG_HOME", "");
  const Settings settings = good_settings();
  REQUIRE(settings.notes.size() == 1);
  CHECK(settings.notes.front().level == LogLevel::info);
  CHECK(has(settings.notes.front().text, "HOME is not set"));
}

}  // namespace dlock
