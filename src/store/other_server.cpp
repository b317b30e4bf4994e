// SPDX-License-Identifier: MIT
#include "store/other_server.hpp"

#include "sys/tls_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

namespace dlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

struct Kind {
  std::string_view scheme;  // URL scheme of the server; empty: dlock has no store of this kind
  std::string_view is;
};

constexpr Kind k_http{"etcd", "speaks HTTP, as etcd does"};
constexpr Kind k_mysql{"mysql", "is MariaDB or MySQL"};
constexpr Kind k_postgres{"postgresql", "is PostgreSQL"};
constexpr Kind k_resp{"redis", "speaks as Redis does"};
constexpr Kind k_ssh{"", "is an SSH server"};
constexpr Kind k_zookeeper{"zookeeper", "is ZooKeeper"};

// The first bytes by which each kind of server is recognized. They are the server's greeting, its
// answer to one of k_questions, or its complaint about a question.
constexpr std::pair<std::string_view, Kind> k_words[] = {
    {"HTTP/", k_http},
    {"SSH-", k_ssh},
    {"Zookeeper version", k_zookeeper},
    {"srvr is not executed", k_zookeeper},
    {"-ERR", k_resp},
    {"-NOAUTH", k_resp},
    {"-DENIED", k_resp},
    {"+PONG", k_resp},
    {"E\0\0\0"sv, k_postgres},
};

// Returns whether the bytes are the greeting of a MySQL server. The greeting is a packet: its
// length (three bytes), its number (0), then the version of the protocol (0x0a), or 0xff if the
// server refuses this host.
bool greets_as_mysql(std::string_view bytes) {
  return bytes.size() > 4 && bytes[3] == '\0' && (bytes[4] == '\x0a' || bytes[4] == '\xff');
}

Kind kind_of(std::string_view bytes) {
  for (const auto& [word, kind] : k_words)
    if (bytes.starts_with(word)) return kind;
  return greets_as_mysql(bytes) ? k_mysql : Kind{};
}

// Each question is answered at once by one kind of server, and not by the others. The second
// question is PostgreSQL's request for TLS; PostgreSQL answers it with one letter, S for yes or N
// for no.
constexpr std::string_view k_questions[] = {
    "PING\r\n"sv, "\0\0\0\x08\x04\xd2\x16\x2f"sv, "srvr"sv, "GET /version HTTP/1.0\r\n\r\n"sv};
constexpr std::size_t k_postgres_question = 1;
constexpr Duration k_one_question = 125ms;

Kind answer_to(std::size_t question, const Endpoint& to, Time limit, const Interrupt* interrupt) {
  auto transport = Transport::connect(to, limit, interrupt);
  if (!transport || !transport->send(k_questions[question], limit)) return {};
  std::array<char, 64> buffer{};
  const auto n = transport->receive(buffer.data(), buffer.size(), limit);
  if (!n) return {};
  const std::string_view said(buffer.data(), *n);
  const bool letter = said == "S" || said == "N";
  return letter && question == k_postgres_question ? k_postgres : kind_of(said);
}

std::string expects_tls(std::string_view ours) {
  const bool has_tls_scheme = ours == "redis" || ours == "etcd" || ours == "zookeeper";
  return has_tls_scheme ? "expects TLS; is it " + std::string(ours) + "s:// ?" : "expects TLS";
}

std::string words_for(const Kind& kind, std::string_view ours) {
  if (kind.is.empty() || kind.scheme == ours) return {};
  if (kind.scheme.empty()) return std::string(kind.is);
  return std::string(kind.is) + "; is it " + std::string(kind.scheme) + ":// ?";
}

}  // namespace

std::string other_server(std::string_view first_bytes, std::string_view ours) {
  const Kind kind = kind_of(first_bytes);
  const bool alert = kind.is.empty() && first_bytes.starts_with(k_tls_alert);
  return alert ? expects_tls(ours) : words_for(kind, ours);
}

std::string other_server(const Endpoint& endpoint,
                         std::string_view ours,
                         Time limit,
                         const Interrupt* interrupt) {
  if (endpoint.tls != nullptr || !endpoint.socket_path.empty()) return {};
  const auto asked = [&](std::size_t question) {
    const Time by = std::min(limit, BootClock::now() + k_one_question);
    return answer_to(question, endpoint, by, interrupt);
  };
  // PostgreSQL 17 also takes a TLS handshake without the request for TLS, so this request is first.
  Kind kind = asked(k_postgres_question);
  if (kind.is.empty() && speaks_tls(endpoint, limit, interrupt)) return expects_tls(ours);
  for (std::size_t i = 0; kind.is.empty() && i < std::size(k_questions); ++i)
    if (i != k_postgres_question) kind = asked(i);
  return words_for(kind, ours);
}

std::string HangUps::one_more(const Endpoint& endpoint,
                              std::string_view ours,
                              Time limit,
                              const Interrupt* interrupt) {
  return ++count_ == 2 ? other_server(endpoint, ours, limit, interrupt) : "";
}

}  // namespace dlock
