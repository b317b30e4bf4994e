// SPDX-License-Identifier: MIT
// The table of settings: the values that each setting accepts and refuses.
#include "cmd/settings.hpp"

#include "cmd/did_you_mean.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "support/has.hpp"
#include "support/surroundings.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::good_settings;
using test::has;
using test::Surroundings;
using test::wrong_settings;

TEST_CASE("settings: the defaults are those of the man page") {
  const Surroundings clean;
  const Settings settings = good_settings();
  CHECK(settings.url == "redis://127.0.0.1:6379");
  CHECK(settings.url_place.empty());
  CHECK(settings.prefix == "dlock:");
  CHECK(settings.connect_timeout == 5s);
  CHECK(settings.ttl == 30s);
  CHECK_FALSE(settings.wait);
  CHECK_FALSE(settings.max_waiters);
  CHECK_FALSE(settings.kill_after);
  CHECK_FALSE(settings.conflict_exit_code);  // default: 75, or 0 if the run is skipped
  CHECK(settings.mode == Mode::plain);
  CHECK(settings.renew);
  CHECK(settings.min_hold == Duration(0));
  CHECK(settings.max_hold == Duration(0));
  CHECK(settings.once_per == Duration(0));
  CHECK(settings.stop_signal == SIGTERM);
  CHECK(settings.on_lost == OnLost::stop);
  CHECK(settings.verbose == 0);
  CHECK(settings.password.empty());
}

TEST_CASE("settings: --sni takes no end of a name, which would fit many certificates") {
  Settings settings;
  CHECK_FALSE(find_setting("sni")->set(settings, ".example.org").has_value());
  CHECK(find_setting("sni")->set(settings, "db.example.org").has_value());
  CHECK(settings.tls.sni == "db.example.org");
}

TEST_CASE("settings: every setting has an environment variable, and it is read") {
  const std::vector<Given> values{{"url", "redis://h"},
                                  {"require-url", "true"},
                                  {"prefix", "p:"},
                                  {"connect-timeout", "1s"},
                                  {"password", "x"},
                                  {"password-file", "/nowhere"},
                                  {"cacert", "ca.pem"},
                                  {"cacertdir", "/cas"},
                                  {"cert", "c.pem"},
                                  {"key", "k.pem"},
                                  {"key-password-file", "/nowhere"},
                                  {"sni", "h"},
                                  {"insecure", "true"},
                                  {"verbose", "2"},
                                  {"quiet", "true"},
                                  {"log-format", "json"},
                                  {"color", "always"},
                                  {"nonblock", "true"},
                                  {"wait", "9s"},
                                  {"conflict-exit-code", "3"},
                                  {"max-waiters", "5"},
                                  {"supersede", "holder"},
                                  {"replicas", "2"},
                                  {"quorum-delay", "30s"},
                                  {"sentinel-password-file", "/nowhere"},
                                  {"ttl", "9s"},
                                  {"kill-after", "2s"},
                                  {"signal", "INT"},
                                  {"on-lost", "warn"},
                                  {"on-unavailable", "run"},
                                  {"contain", "true"},
                                  {"reason", "because"},
                                  {"result-file", "r.json"},
                                  {"metrics-dir", "/metrics"},
                                  {"notify", "cat"},
                                  {"notify-on", "busy,lost"},
                                  {"shared", "true"},
                                  {"exclusive", "true"},
                                  {"slots", "3"},
                                  {"splay", "9s"},
                                  {"min-hold", "9s"},
                                  {"max-hold", "9s"},
                                  {"no-renew", "true"},
                                  {"once-per", "9s"},
                                  {"keep-last", "9s"}};
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
    const auto bad = read_settings(read_setting_sources({}, {}));
    const bool takes_text = name == "url" || name == "prefix" || name == "password" ||
                            name == "reason" || name == "result-file" || name == "metrics-dir" ||
                            name == "notify" || name == "sni" || name == "cacert" ||
                            name == "cacertdir" || name == "cert" || name == "key";
    CHECK(bad.has_value() == takes_text);
    if (!bad) CHECK(bad.error().code == Errc::bad_config);
  }
  const Surroundings clean;
  Surroundings::set("DLOCK_CONFLICT_EXIT_CODE", "3");
  CHECK(good_settings().conflict_exit_code == 3);
  CHECK(environment_name(*find_setting("connect-timeout")) == "DLOCK_CONNECT_TIMEOUT");
  CHECK(find_setting("frob") == nullptr);
}

TEST_CASE("settings: an invalid value is named with its source") {
  Surroundings clean;
  Error error = wrong_settings({{"ttl", "soon"}});
  CHECK(error.code == Errc::bad_usage);
  CHECK(has(error.text, "--ttl"));
  CHECK(has(wrong_settings({{"wait", "40000d"}}).text,
            "--wait: \"40000d\" is too long: at most 36525d"));
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
                                             {"ttl", "999ms"},
                                             {"ttl", "366d"},
                                             {"password-file", ""},
                                             {"result-file", ""},
                                             {"notify-on", ""},
                                             {"notify-on", "child"},
                                             {"max-hold", "0"},
                                             {"max-hold", "soon"},
                                             {"min-hold", "-1"},
                                             {"no-renew", "perhaps"},
                                             {"once-per", "daily"},
                                             {"signal", "0"},
                                             {"signal", "FROB"},
                                             {"signal", "SIGSIGTERM"},
                                             {"on-lost", "maybe"},
                                             {"on-unavailable", "wait"},
                                             {"supersede", "all"},
                                             {"color", "red"},
                                             {"log-format", "xml"},
                                             {"wait", "-1"},
                                             {"kill-after", "1x"}}) {
    CAPTURE(bad.name + "=" + bad.value);
    CHECK(wrong_settings({bad}).code == Errc::bad_usage);
  }
  Surroundings::set("DLOCK_TTL", "soon");
  error = wrong_settings({});
  CHECK(error.code == Errc::bad_config);
  CHECK(has(error.text, "DLOCK_TTL"));
  Surroundings::set("DLOCK_TTL", "999ms");
  CHECK(wrong_settings({}).code == Errc::bad_config);
  ::unsetenv("DLOCK_TTL");
  const std::string file = clean.file("ttl = \"soon\"\n");
  error = wrong_settings({}, file);
  CHECK(error.code == Errc::bad_config);
  CHECK(has(error.text, file));
  CHECK(has(error.text, "ttl"));
  CHECK(has(wrong_settings({}, clean.file("frob = 1\n")).text, "there is no setting \"frob\""));
}

TEST_CASE("settings: a text without quotes in a file is named with its line") {
  Surroundings clean;
  for (const char* line : {"ttl = 30s",
                           "url=redis://:hunter2@h",
                           "reason = two words # why",
                           "nonblock = True",
                           "on-lost =  warn\r"}) {
    CAPTURE(line);
    const std::string file = clean.file("quiet = true\n\n" + std::string(line) + "\nverbose = 0\n");
    const Error error = wrong_settings({}, file);
    CHECK(error.code == Errc::bad_config);
    CHECK(error.text == file + ": line 3: text values need quotes, as in ttl = \"30s\"");
  }
  for (const char* line : {"ttl", "ttl =", "reason = \"open", "ttl = \"1s\" \"2s\"", "= 3"})
    CHECK(has(wrong_settings({}, clean.file(line)).text, "line 1 is not TOML: "));
  CHECK(has(wrong_settings({}, clean.file("ttl = 30s")).text, "line 1: text values need quotes"));
}

TEST_CASE("settings: the error for an unknown word suggests the most similar word") {
  Surroundings clean;
  const std::vector<std::string_view> known{"connect-timeout", "wait", "ttl", "--wait", "list"};
  CHECK(did_you_mean("connect_timeout", known) == "; did you mean connect-timeout?");
  CHECK(did_you_mean("TTL", known) == "; did you mean ttl?");
  CHECK(did_you_mean("tlt", known) == "; did you mean ttl?");
  CHECK(did_you_mean("lst", known) == "; did you mean list?");
  CHECK(did_you_mean("--wiat", known) == "; did you mean --wait?");
  CHECK(did_you_mean("conect-timout", known) == "; did you mean connect-timeout?");
  for (const char* unlike : {"", "x", "order-42", "tool", "timeout", "l"})
    CHECK(did_you_mean(unlike, known).empty());
  CHECK(did_you_mean(std::string(100'000, 'x'), known).empty());
  CHECK(has(wrong_settings({}, clean.file("connect_timeout = \"1s\"\n")).text,
            "no setting \"connect_timeout\"; did you mean connect-timeout?"));
}

TEST_CASE("settings: how many may wait, none included") {
  const Surroundings clean;
  CHECK(good_settings({{"max-waiters", "0"}}).max_waiters == 0U);
  CHECK(good_settings({{"max-waiters", "1000000"}}).max_waiters == 1000000U);
  Surroundings::set("DLOCK_MAX_WAITERS", "12");
  CHECK(good_settings().max_waiters == 12U);
}

TEST_CASE("settings: shared, exclusive and slots are one setting: the last one counts") {
  Surroundings clean;
  CHECK(good_settings({{"shared", "true"}}).mode == Mode::shared);
  CHECK(good_settings({{"exclusive", "true"}}).mode == Mode::exclusive);
  const Settings slots = good_settings({{"slots", "3"}});
  CHECK(slots.mode == Mode::slots);
  CHECK(slots.slots == 3U);
  clean.user_config("slots = 5\n");
  CHECK(good_settings().slots == 5U);
  CHECK(good_settings({{"shared", "true"}}).mode == Mode::shared);
  Surroundings::set("DLOCK_EXCLUSIVE", "true");
  CHECK(good_settings().mode == Mode::exclusive);
  CHECK(good_settings({{"slots", "2"}}).mode == Mode::slots);
  CHECK(good_settings({{"slots", "2"}}).slots == 2U);
  Surroundings::set("DLOCK_EXCLUSIVE", "false");  // that of somebody else stays
  CHECK(good_settings().mode == Mode::slots);
  clean.user_config("shared = true\n");
  Surroundings::set("DLOCK_SHARED", "false");
  CHECK(good_settings().mode == Mode::plain);
}

TEST_CASE("settings: how long a lock is held") {
  Surroundings clean;
  clean.user_config("no-renew = true\nmin-hold = 40\nmax-hold = \"1h\"\nonce-per = \"1d\"\n");
  const Settings settings = good_settings();
  CHECK_FALSE(settings.renew);
  CHECK(settings.min_hold == 40s);
  CHECK(settings.max_hold == 1h);
  CHECK(settings.once_per == 24h);
  CHECK(good_settings({{"min-hold", "0"}}).min_hold == 0s);
}

TEST_CASE("settings: signals by name or number") {
  const Surroundings clean;
  for (const auto& [text, number] : std::vector<std::pair<std::string, int>>{{"TERM", SIGTERM},
                                                                             {"SIGINT", SIGINT},
                                                                             {"HUP", SIGHUP},
                                                                             {"USR1", SIGUSR1},
                                                                             {"9", SIGKILL},
                                                                             {"15", SIGTERM}}) {
    CHECK(good_settings({{"signal", text}}).stop_signal == number);
  }
}

TEST_CASE("settings: -n is a wait of nothing, a later --wait overrides it from a file") {
  Surroundings clean;
  CHECK(good_settings({{"nonblock", "true"}}).nonblock);
  CHECK(good_settings({{"wait", "0"}}).wait == Duration(0));
  clean.user_config("nonblock = true\n");
  CHECK(good_settings().nonblock);
  CHECK(good_settings({{"wait", "5"}}).wait == Duration(5s));
}

TEST_CASE("settings: the initial value in the table is the default, or nothing") {
  for (const Setting& setting : all_settings()) {
    if (setting.initial.empty()) continue;
    Settings settings;
    const Settings before;
    REQUIRE(setting.set(settings, setting.initial).has_value());
    CHECK(settings.url == before.url);
    CHECK(settings.prefix == before.prefix);
    CHECK(settings.connect_timeout == before.connect_timeout);
    CHECK(settings.quorum_delay == before.quorum_delay);
    CHECK(settings.log_json == before.log_json);
    CHECK(settings.color == before.color);
    CHECK(settings.ttl == before.ttl);
    CHECK(settings.stop_signal == before.stop_signal);
    CHECK(settings.on_lost == before.on_lost);
  }
}

}  // namespace dlock
