// SPDX-License-Identifier: MIT
// TLS settings in a URL.
#include "cmd/url_settings.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/has.hpp"

namespace dlock {
namespace {

using test::has;

// Returns "URL|name=value|…": the rest of the URL and its settings.
std::string taken(std::string_view url) {
  const auto parts = take_url_settings(url);
  CAPTURE(url);
  REQUIRE(parts.has_value());
  std::string text = parts->url;
  for (const Given& given : parts->settings)
    text += "|" + given.name + "=" + given.value;
  return text;
}

Error not_taken(std::string_view url) {
  const auto parts = take_url_settings(url);
  CAPTURE(url);
  REQUIRE_FALSE(parts.has_value());
  CHECK(parts.error().code == Errc::bad_usage);
  return parts.error();
}

TEST_CASE("url settings: files and the server's name are taken from the URL, and decoded") {
  CHECK(taken("rediss://h?cacert=/ca.pem") == "rediss://h|cacert=/ca.pem");
  CHECK(taken("rediss://u:p@h:1/2?cert=/c&key=/k&sni=db1&cacertdir=/d&cacert=/a%20%26%3fb") ==
        "rediss://u:p@h:1/2|cert=/c|key=/k|sni=db1|cacertdir=/d|cacert=/a &?b");
  CHECK(taken("rediss+cluster://a,b?sni=x") == "rediss+cluster://a,b|sni=x");
  // This function does not notice that the URL does not use TLS.
  CHECK(taken("redis://h?sni=x") == "redis://h|sni=x");
}

TEST_CASE("url settings: the URL of every store with TLS may say them, and no other") {
  for (const std::string scheme : {"rediss",
                                   "rediss+sentinel",
                                   "postgresql",
                                   "postgres",
                                   "mysql",
                                   "mariadb",
                                   "etcd",
                                   "etcds",
                                   "zookeeper",
                                   "zookeepers"})
    CHECK(taken(scheme + "://h/x?cacert=/ca&sni=db") == scheme + "://h/x|cacert=/ca|sni=db");
  for (const std::string scheme : {"redis+unix", "local", "sqlite"})
    CHECK(taken(scheme + ":///x?cacert=/ca") == scheme + ":///x?cacert=/ca");
}

TEST_CASE("url settings: what else the URL says stays where it is") {
  CHECK(taken("rediss+sentinel://a/m?cacert=/a&sentinel_user=bob&sni=x") ==
        "rediss+sentinel://a/m?sentinel_user=bob|cacert=/a|sni=x");
  for (const char* const url : {"",
                                "redis://h",
                                "rediss://h?",
                                "rediss://h?db=1&x",
                                "rediss://h?sni",
                                "rediss://h#sni=x",
                                "rediss://u:?sni=p@h",
                                "redis+unix:///s?db=1&sni=x",
                                "local:///d?sni=x"})
    CHECK(taken(url) == url);
  CHECK(taken("rediss://h?sni=x&y=1&z#f") == "rediss://h?y=1&z#f|sni=x");
}

TEST_CASE("url settings: a URL of PostgreSQL may say them as libpq does") {
  CHECK(taken("postgresql://u:p@h/d?sslrootcert=/ca&sslmode=verify-full&sslcert=/c&sslkey=/k") ==
        "postgresql://u:p@h/d?sslmode=verify-full|cacert=/ca|cert=/c|key=/k");
  CHECK(taken("postgres://h?sni=db1&table=t") == "postgres://h?table=t|sni=db1");
  CHECK(taken("postgresql:///d?host=/run/pg") == "postgresql:///d?host=/run/pg");
  CHECK(has(not_taken("postgresql://h?cacert=/a&sslrootcert=/b").text, "it says cacert twice"));
  CHECK(taken("rediss://h?sslrootcert=/ca") == "rediss://h?sslrootcert=/ca");
}

TEST_CASE("url settings: the words of other clients are refused with the one to use") {
  for (const auto& [theirs, ours] : {std::pair{"ssl_ca_certs=/ca", "the parameter cacert here"},
                                     {"ssl_ca_path=/ca", "the parameter cacertdir here"},
                                     {"ssl_certfile=/c", "the parameter cert here"},
                                     {"ssl_keyfile=/k", "the parameter key here"},
                                     {"ssl_password=p", "the option --key-password-file here"},
                                     {"ssl_cert_reqs=none", "the option --insecure is given"},
                                     {"ssl_check_hostname=false", "always verified"},
                                     {"skip_verify=true", "always verified"},
                                     {"verifyPeer=NONE", "always verified"},
                                     {"insecure", "always verified"}}) {
    for (const char* const scheme : {"redis", "rediss", "rediss+sentinel"}) {
      const Error error = not_taken(std::string(scheme) + "://h/m?sni=x&" + theirs);
      CHECK(has(error.text, ours));
      CHECK(has(error.text, std::string(theirs).substr(0, std::string(theirs).find('='))));
    }
  }
  CHECK(has(not_taken("rediss://h#insecure").text, "always verified"));
}

TEST_CASE("url settings: one that is said twice, or has a NUL byte, is refused") {
  CHECK(has(not_taken("rediss://h?key=/a&key=/a").text, "it says key twice"));
  CHECK(has(not_taken("rediss://h?key=/a%00b").text, "NUL"));
}

}  // namespace
}  // namespace dlock
