// SPDX-License-Identifier: MIT
// Five sources of settings: default, system file, user file, environment, option.
#include "cmd/settings.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"
#include "support/surroundings.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::good;
using test::has;
using test::Surroundings;
using test::wrong;

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

TEST_CASE("settings: an empty variable is no setting, but DLOCK_PREFIX is the empty prefix") {
  const Surroundings clean;
  Surroundings::set("DLOCK_TTL", "");
  Surroundings::set("DLOCK_URL", "");
  Surroundings::set("DLOCK_REASON", "");
  Surroundings::set("DLOCK_PASSWORD_FILE", "");
  CHECK(good().ttl == 30s);
  CHECK(good().url_place.empty());
  CHECK_FALSE(good().reason);
  CHECK(good().prefix == "dlock:");
  Surroundings::set("DLOCK_PREFIX", "");
  CHECK(good().prefix.empty());
}

TEST_CASE("settings: REDIS_URL comes after DLOCK_URL") {
  const Surroundings clean;
  Surroundings::set("REDIS_URL", "redis://platform");
  CHECK(good().url == "redis://platform");
  CHECK(good().url_place == "REDIS_URL");
  Surroundings::set("DLOCK_URL", "redis://ours");
  CHECK(good().url == "redis://ours");
  CHECK(good({{"url", "redis://option"}}).url == "redis://option");
}

TEST_CASE("settings: it is known where the URL was said") {
  Surroundings clean;
  const std::string file = clean.file("url = \"redis://file\"\n");
  CHECK(good({}, file).url_place == file + ": url");
  CHECK_FALSE(good({}, file).url_is_option);
  Surroundings::set("DLOCK_URL", "redis://ours");
  CHECK(good({}, file).url_place == "DLOCK_URL");
  CHECK(good({{"url", "redis://option"}}, file).url_place == "--url");
  CHECK(good({{"url", "redis://option"}}, file).url_is_option);
}

TEST_CASE("settings: what contradicts itself in one place is refused, in two the nearer counts") {
  Surroundings clean;
  const std::vector<Given> both{{"nonblock", "true"}, {"wait", "5"}};
  CHECK(wrong(both).code == Errc::bad_usage);
  CHECK(has(wrong(both).text, "--nonblock and --wait contradict each other"));
  CHECK(wrong({{"quiet", "true"}, {"verbose", "1"}}).code == Errc::bad_usage);
  CHECK(has(wrong({{"shared", "true"}, {"exclusive", "true"}}).text, "--shared and --exclusive"));
  CHECK(has(wrong({{"slots", "3"}, {"shared", "true"}}).text, "--shared and --slots"));
  CHECK(has(wrong({{"slots", "3"}, {"exclusive", "true"}}).text, "--exclusive and --slots"));

  const std::string file = clean.file("wait = 5\nnonblock = true\n");
  CHECK(wrong({}, file).code == Errc::bad_config);
  CHECK(has(wrong({}, file).text, file + ": nonblock and wait contradict each other"));
  CHECK(wrong({}, clean.file("quiet = true\nverbose = 2\n")).code == Errc::bad_config);
  CHECK(good({}, clean.file("quiet = true\nverbose = false\n")).quiet);
  CHECK(good({}, clean.file("nonblock = false\nwait = 5\n")).wait == Duration(5s));

  Surroundings::set("DLOCK_NONBLOCK", "true");
  CHECK(good({}, clean.file("wait = 5\n")).wait == Duration(0));
  Surroundings::set("DLOCK_WAIT", "5");
  CHECK(wrong({}).code == Errc::bad_config);
  CHECK(has(wrong({}).text, "DLOCK_NONBLOCK and DLOCK_WAIT contradict each other"));
}

TEST_CASE("settings: where they are refused it is still known whether JSON is wanted") {
  Surroundings clean;
  CHECK_FALSE(wants_json_log({}, {}));
  CHECK(wants_json_log({{"ttl", "soon"}, {"log-format", "json"}}, {}));
  CHECK_FALSE(wants_json_log({{"log-format", "json"}, {"log-format", "text"}}, {}));
  const std::string file = clean.file("frob = 1\nlog-format = \"json\"\nttl = \"soon\"\n");
  CHECK(wants_json_log({}, file));
  CHECK_FALSE(wants_json_log({{"log-format", "text"}}, file));
  CHECK_FALSE(wants_json_log({}, file + "-not-there"));
  Surroundings::set("DLOCK_LOG_FORMAT", "json");
  CHECK(wants_json_log({}, file + "-not-there"));
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
  for (const char* text : {"", "\n", "\nsecond line\n"}) {
    const std::string empty = clean.file(text);
    const Error error = wrong({{"password-file", empty}});
    CHECK(error.code == Errc::bad_config);
    CHECK(has(error.text, empty + ": the first line, which must be the password, is empty"));
  }
}

}  // namespace dlock
