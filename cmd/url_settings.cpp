// SPDX-License-Identifier: MIT
#include "cmd/url_settings.hpp"

#include "base/text.hpp"
#include "store/open_store.hpp"
#include "sys/tls_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlock {

namespace {

// libpq's names for these settings, allowed only in PostgreSQL URLs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> k_of_libpq{
    {{"sslrootcert", "cacert"}, {"sslcert", "cert"}, {"sslkey", "key"}}};

// Parameters that redis-py, go-redis, lettuce and redis-rs take in a URL, each with what to use in
// dlock. An empty text: dlock has nothing in its place, because a URL must not switch the
// verification of the server off.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> k_elsewhere{{
    {"ssl_ca_certs", "the parameter cacert"},
    {"ssl_ca_path", "the parameter cacertdir"},
    {"ssl_certfile", "the parameter cert"},
    {"ssl_keyfile", "the parameter key"},
    {"ssl_password", "the option --key-password-file"},
    {"ssl_cert_reqs", ""},
    {"ssl_check_hostname", ""},
    {"skip_verify", ""},
    {"verifyPeer", ""},
    {"insecure", ""},
}};

bool is_for_libpq(std::string_view url) {
  return url.starts_with("postgresql:") || url.starts_with("postgres:");
}

// Returns our name of a setting; `as_libpq`: also accepts libpq's name.
std::string_view our_name(std::string_view name, bool as_libpq) {
  for (const auto& [theirs, ours] : k_of_libpq)
    if (as_libpq && name == theirs) return ours;
  return name;
}

Result<void> check_not_elsewhere(std::string_view name) {
  for (const auto& [theirs, ours] : k_elsewhere) {
    if (name != theirs) continue;
    const std::string word(theirs);
    if (!ours.empty()) return Error{Errc::bad_usage, word + " is " + std::string(ours) + " here"};
    return Error{Errc::bad_usage,
                 "leave " + word +
                     " out: chain and name of the certificate are always verified, unless the "
                     "option --insecure is given"};
  }
  return {};
}

// If `word` is one of our settings, adds it to `settings` and returns true; otherwise returns
// false.
Result<bool> take(std::string_view word, bool as_libpq, std::vector<Given>& settings) {
  const auto equals = word.find('=');
  const std::string name(our_name(word.substr(0, equals), as_libpq));
  if (auto known = check_not_elsewhere(name); !known) return known.error();
  if (equals == std::string_view::npos) return false;
  if (std::find(k_tls_in_urls.begin(), k_tls_in_urls.end(), name) == k_tls_in_urls.end())
    return false;
  const auto is_it = [&](const Given& one) { return one.name == name; };
  if (std::any_of(settings.begin(), settings.end(), is_it))
    return Error{Errc::bad_usage, "it says " + name + " twice"};
  std::string value = percent_decode(word.substr(equals + 1));
  if (value.find('\0') != std::string::npos)
    return Error{Errc::bad_usage, name + " has a NUL byte"};
  settings.push_back({name, std::move(value)});
  return true;
}

bool begins_url(std::string_view text) {
  const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+");
  return end != 0 && end != std::string_view::npos && text.substr(end).starts_with("://");
}

}  // namespace

std::vector<std::string> split_urls(std::string_view urls) {
  constexpr std::string_view k_blanks = " \t\n";
  std::vector<std::string> all;
  std::size_t start = 0;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    if (k_blanks.find(urls[i]) == std::string_view::npos) continue;
    const std::size_t next = std::min(urls.find_first_not_of(k_blanks, i), urls.size());
    if (begins_url(urls.substr(next)) || next == urls.size()) {
      if (i > start) all.emplace_back(urls.substr(start, i - start));
      start = next;
    }
    i = next - 1;
  }
  if (start < urls.size() || all.empty()) all.emplace_back(urls.substr(start));
  return all;
}

Result<UrlParts> take_url_settings(std::string_view url) {
  UrlParts whole{.url = std::string(url), .settings = {}};
  const auto at = url.rfind('@');  // a '?' before the last '@' belongs to a password
  const auto question = url.find_first_of("?#", at == std::string_view::npos ? 0 : at);
  if (question == std::string_view::npos || !takes_tls_settings(url)) return whole;
  const auto hash = std::min(url.size(), url.find('#', question));
  UrlParts parts{.url = std::string(url.substr(0, question)), .settings = {}};
  std::string_view query = url.substr(question, hash - question);
  if (!query.empty()) query.remove_prefix(1);
  char before = '?';
  for (const std::string_view word : split(query, '&')) {
    const auto taken = take(word, is_for_libpq(url), parts.settings);
    if (!taken) return taken.error();
    if (!*taken) parts.url += std::exchange(before, '&') + std::string(word);
  }
  if (url.substr(hash) == "#insecure") return check_not_elsewhere("insecure").error();
  parts.url += url.substr(hash);
  return parts.settings.empty() ? whole : parts;
}

}  // namespace dlock
