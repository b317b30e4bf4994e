// SPDX-License-Identifier: MIT
#include "store/postgres/pg_error.hpp"

#include "base/errno_text.hpp"
#include "store/server_search.hpp"
#include "sys/stream.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>

namespace dlock {
namespace {

constexpr std::string_view k_needs_password =
    "it needs a password: set DLOCK_PASSWORD or give --password-file";
constexpr std::string_view k_not_postgres = "it does not speak as PostgreSQL does";
constexpr std::string_view k_encoding = "a name has to fit the encoding of the database";
constexpr std::string_view k_rights =
    "dlock doctor --ddl prints its tables, and the grants that it needs";
constexpr std::string_view k_replica = "this is a replica, or writing is switched off";

struct StateRule {
  std::string_view start;  // first characters of the SQLSTATE; the first two are its class
  PgMeaning meaning;
};

// The first rule that fits counts. An error without a rule means Errc::refused.
// https://www.postgresql.org/docs/15/errcodes-appendix.html
constexpr StateRule k_states[] = {
    {"28", {.code = Errc::denied}},
    {"42501", {.code = Errc::denied, .hint = k_rights}},
    {"42P01", {.code = Errc::refused, .cause = sql::Cause::no_table}},
    {"23505",
     {.code = Errc::refused, .cause = sql::Cause::exists}},  // two sessions created a table at once
    {"42P07", {.code = Errc::refused, .cause = sql::Cause::exists}},
    {"42710", {.code = Errc::refused, .cause = sql::Cause::exists}},
    {"22001", {.code = Errc::bad_usage}},  // the name is longer than the column
    {"22P05",
     {.code = Errc::bad_usage,
      .hint = k_encoding}},  // the database's encoding lacks a character of the name
    {"22021", {.code = Errc::bad_usage, .hint = k_encoding}},
    {"42703", {.code = Errc::refused, .cause = sql::Cause::no_column}},
    {"25006", {.code = Errc::refused, .replica = true, .hint = k_replica}},
    {"40001", {.code = Errc::unavailable, .cause = sql::Cause::repeat}},
    {"40P01", {.code = Errc::unavailable, .cause = sql::Cause::repeat}},
    {"40003", {.code = Errc::unavailable}},  // statement_completion_unknown
    {"55P03", {.code = Errc::unavailable}},  // lock_timeout
    {"57014", {.code = Errc::timed_out}},    // statement_timeout
    // Connection errors; also from pgbouncer if it has lost its server.
    {"08", {.code = Errc::unavailable}},
    {"53", {.code = Errc::unavailable}},   // too many connections, no memory, a full disk
    {"57P", {.code = Errc::unavailable}},  // the server is starting or stopping, or has crashed
    {"58", {.code = Errc::unavailable}},
    {"25P03", {.code = Errc::unavailable}},  // the session was idle in a transaction for too long
};

struct PhraseRule {
  std::string_view phrase;
  std::string_view instead;  // replaces libpq's text; empty: libpq's text stays
  Errc code = Errc::protocol;
  bool replica = false;
};

// Errors of libpq itself have no SQLSTATE, so they are recognized by their text. The texts are
// English, because dlock sets no locale.
constexpr PhraseRule k_phrases[] = {
    {"no password supplied", k_needs_password, Errc::denied},
    {"session is read-only", k_replica, Errc::refused, true},
    {"GSSAPI", "it wants a login by Kerberos, which dlock does not have", Errc::denied},
    {"authentication method", {}, Errc::denied},
    {"incorrect server signature", {}},
    {"server does not support SSL", "it has no TLS, which it is asked for"},
    {"invalid response to SSL negotiation", k_not_postgres},
    {"expected authentication request", k_not_postgres},
    {"certificate verify failed", "its certificate is not signed by a trusted CA"},
    {"does not match host name", {}},
    {"certificate file", {}, Errc::bad_config},
    {"private key file", {}, Errc::bad_config},
};

constexpr std::array k_errnos{ECONNREFUSED,
                              ENOENT,
                              EACCES,
                              EPERM,
                              ENETUNREACH,
                              EHOSTUNREACH,
                              ECONNRESET,
                              ETIMEDOUT,
                              EMFILE,
                              ENFILE,
                              ENOMEM,
                              EAGAIN};

std::string one_line(std::string_view text) {
  return words_of_server(text.substr(0, text.find('\n')));
}

// Returns where the SQLSTATE begins in a text such as "…:  28P01: password authentication failed…".
std::optional<std::size_t> find_state(std::string_view said) {
  constexpr std::size_t k_size = 5;
  const auto is_letter = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || (c >= 'A' && c <= 'Z');
  };
  for (auto at = said.find(":  "); at != std::string_view::npos; at = said.find(":  ", at + 1)) {
    const std::string_view state = said.substr(at + 3, k_size);
    if (std::all_of(state.begin(), state.end(), is_letter) &&
        said.substr(at + 3 + k_size).starts_with(": "))
      return at + 3;
  }
  return {};
}

// Returns the error for the errno whose text occurs in the line; nullopt: no text of k_errnos
// occurs.
std::optional<Error> find_errno(std::string_view line) {
  for (const int error : k_errnos) {
    if (line.find(std::strerror(error)) == std::string_view::npos) continue;
    if (error == EACCES || error == EPERM) return Error{Errc::denied, errno_text(error)};
    return socket_error(error);
  }
  return {};
}

}  // namespace

PgMeaning classify_sqlstate(std::string_view state) {
  for (const auto& rule : k_states)
    if (state.starts_with(rule.start)) return rule.meaning;
  return {};
}

std::string reason_of(std::string_view said) {
  std::string_view line = said.substr(0, said.find('\n'));
  constexpr std::string_view k_before = "failed: ";
  if (const auto at = line.find(k_before); at != std::string_view::npos)
    line.remove_prefix(at + k_before.size());
  if (line.find("closed the connection") != std::string_view::npos) return "closed the connection";
  return in_mid_sentence(one_line(line));
}

PgNoConnection read_connect_error(std::string_view said) {
  if (const auto at = find_state(said)) {
    const std::string_view state = said.substr(*at, 5);
    const PgMeaning meaning = classify_sqlstate(state);
    return {meaning.code,
            std::string(state),
            true,
            meaning.replica,
            one_line(said.substr(*at + 7)),
            meaning.hint};
  }
  for (const auto& rule : k_phrases) {
    if (said.find(rule.phrase) == std::string_view::npos) continue;
    return {.code = rule.code,
            .replica = rule.replica,
            .reason = rule.instead.empty() ? reason_of(said) : std::string(rule.instead)};
  }
  if (auto error = find_errno(said.substr(0, said.find('\n'))))
    return {.code = error->code, .reason = std::move(error->text)};
  return {.code = Errc::unavailable, .reason = reason_of(said)};
}

}  // namespace dlock
