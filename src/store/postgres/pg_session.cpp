// SPDX-License-Identifier: MIT
#include "store/postgres/pg_session.hpp"

#include "base/text.hpp"
#include "store/postgres/pg_call.hpp"
#include "store/server_search.hpp"
#include "store/url/host_port.hpp"
#include "sys/poll_limit.hpp"
#include "sys/resolver.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace dlock {
namespace {

struct ClearResult {
  void operator()(PGresult* result) const { ::PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, ClearResult>;

bool has_nul(const std::vector<sql::Statement>& statements) {
  const auto has = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  return std::any_of(statements.begin(), statements.end(), [&](const sql::Statement& one) {
    return has(one.text) ||
           std::any_of(one.parameters.begin(), one.parameters.end(), [&](const sql::Value& value) {
             return value && has(*value);
           });
  });
}

bool send_one(pg_conn* connection, const sql::Statement& statement) {
  std::vector<const char*> values;
  for (const sql::Value& value : statement.parameters)
    values.push_back(value ? value->c_str() : nullptr);
  return ::PQsendQueryParams(connection,
                             statement.text.c_str(),
                             static_cast<int>(values.size()),
                             nullptr,
                             values.data(),
                             nullptr,
                             nullptr,
                             0) == 1;
}

bool is_flood(const PGresult* result) {
  const auto rows = static_cast<std::size_t>(::PQntuples(result));
  return rows * static_cast<std::size_t>(::PQnfields(result) + 1) > limits::k_elements;
}

sql::Answer rows_of(const PGresult* result) {
  sql::Answer all;
  const int columns = ::PQnfields(result);
  for (int row = 0; row < ::PQntuples(result); ++row) {
    std::vector<sql::Value>& values = all.rows.emplace_back();
    for (int column = 0; column < columns; ++column) {
      if (::PQgetisnull(result, row, column) != 0) {
        values.emplace_back();
        continue;
      }
      const auto size = static_cast<std::size_t>(::PQgetlength(result, row, column));
      values.emplace_back(std::string(::PQgetvalue(result, row, column), size));
    }
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it does not change the result.
  all.affected = std::strtoll(::PQcmdTuples(const_cast<PGresult*>(result)), nullptr, 10);
  return all;
}

std::string field(const PGresult* result, int which) {
  const char* const text = ::PQresultErrorField(result, which);
  return text != nullptr ? text : "";
}

// Returns whether this error has ended the session.
bool is_fatal(const PGresult* result) {
  const std::string severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == "FATAL" || severity == "PANIC";
}

std::string name_of(const PgServer& server) {
  return server.is_socket() ? server.host : text_of({server.host, server.port});
}

}  // namespace

PgSession::PgSession(PgAddress address, TlsSettings tls, const Interrupt* interrupt)
    : address_(std::move(address)), tls_(std::move(tls)), interrupt_(interrupt) {}

void PgSession::disconnect() {
  connection_.reset();
  in_transaction_ = false;
  owes_sign_ = false;
}

int PgSession::backend_pid() const {
  return connected() ? ::PQbackendPID(connection_.get()) : 0;
}

PgSession::Answers PgSession::run(const std::vector<sql::Statement>& statements, Time limit) {
  failure_ = {};
  if (has_nul(statements)) return Error{Errc::bad_usage, "a text has no NUL bytes there"};
  const Time started = BootClock::now();
  if (owes_sign_) disconnect();
  if (auto reached = reach(limit); !reached) return reached.error();
  in_transaction_ = false;
  // If the newest run() failed, the server has rolled back, but it refuses statements until it is
  // sent the statement "rollback".
  const bool undone = ::PQtransactionStatus(connection_.get()) == PQTRANS_INERROR;
  sent_at_ = BootClock::now();
  PgCall call(intake_, limit, interrupt_);
  intake_.asked();
  bool sent = !undone || (send_one(connection_.get(), {.text = "rollback"}) &&
                          ::PQpipelineSync(connection_.get()) == 1);
  for (const sql::Statement& one : statements)
    sent = sent && send_one(connection_.get(), one);
  // Sends the statements, which libpq has kept so far, in one write.
  sent = sent && ::PQpipelineSync(connection_.get()) == 1;
  if (!sent) {
    const std::string reason = reason_of(::PQerrorMessage(connection_.get()));
    return lost({Errc::unavailable, reason}, started, limit);
  }
  auto answers = receive(call, statements.size(), undone ? 2 : 1, started, limit);
  if (connected()) {
    collect_notifications();
    in_transaction_ = ::PQtransactionStatus(connection_.get()) == PQTRANS_INTRANS;
  }
  return answers;
}

// Receives and returns the answers. `ends` is how often PQpipelineSync was called for them.
PgSession::Answers PgSession::receive(
    PgCall& call, std::size_t statements, int ends, Time started, Time limit) {
  std::vector<sql::Answer> answers;
  std::optional<Error> error;
  bool between = false;  // libpq returns null between the results of two statements
  while (ends > 0) {
    if (auto ready = await_answer(call, started, limit); !ready)
      return error ? *error : ready.error();
    const PgResult result(::PQgetResult(connection_.get()));
    if (!result && between) break;
    between = !result;
    if (!result) continue;
    const ExecStatusType status = ::PQresultStatus(result.get());
    if (status == PGRES_PIPELINE_SYNC) {
      if (--ends == 1) answers.clear();  // forgets the answer to the statement "rollback"
    } else if (is_flood(result.get()) || answers.size() == statements + 1) {
      return lost(Intake::flood(), started, limit);
    } else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      answers.push_back(rows_of(result.get()));
    } else if (status == PGRES_FATAL_ERROR) {
      const std::string state = field(result.get(), PG_DIAG_SQLSTATE);
      const bool ended = is_fatal(result.get()) || state.empty();
      if (!error && state.empty())
        error = lost(
            {Errc::unavailable, reason_of(::PQresultErrorMessage(result.get()))}, started, limit);
      else if (!error)
        error = refusal(state, field(result.get(), PG_DIAG_MESSAGE_PRIMARY));
      if (ended) connection_.reset();
      if (!connected()) return *error;
    } else if (status != PGRES_PIPELINE_ABORTED) {
      break;  // an answer that no statement of dlock can have: empty, or COPY
    }
  }
  if (error) return *error;
  if (ends == 0 && answers.size() == statements) return answers;
  return lost({Errc::protocol, "gave an answer of an unknown kind"}, started, limit);
}

// Waits until PQgetResult will return at once.
Result<void> PgSession::await_answer(PgCall& call, Time started, Time limit) {
  pg_conn* const connection = connection_.get();
  for (;;) {
    const int unsent = ::PQflush(connection);
    // PQgetResult returns at once: it has a result, or the connection is closed, and it returns the
    // server's last message.
    if (::PQisBusy(connection) == 0 || ::PQstatus(connection) == CONNECTION_BAD) return {};
    if (unsent < 0) break;
    const short events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN);
    if (auto ready = call.wait(::PQsocket(connection), events); !ready)
      return lost(ready.error(), started, limit);
    if (::PQconsumeInput(connection) == 0 && ::PQstatus(connection) != CONNECTION_BAD) break;
  }
  return lost({Errc::unavailable, reason_of(::PQerrorMessage(connection))}, started, limit);
}

Result<void> PgSession::ask_alive(Time limit) {
  failure_ = {};
  const Time started = BootClock::now();
  if (!connected()) return Error{Errc::unavailable, "lost the connection to " + where()};
  pg_conn* const connection = connection_.get();
  const auto broken = [&](const char* said) {
    return lost({Errc::unavailable, reason_of(said)}, started, limit);
  };
  PgCall call(intake_, limit, interrupt_);
  if (!owes_sign_) intake_.asked();
  // The question and its answer are one message each, so the answer comes as a whole.
  if (!owes_sign_ && ::PQpipelineSync(connection) != 1) return broken(::PQerrorMessage(connection));
  owes_sign_ = true;
  while (::PQflush(connection) >= 0 && ::PQisBusy(connection) != 0) {
    const auto ready = call.wait(::PQsocket(connection), POLLIN);
    if (!ready && ready.error().code == Errc::cancelled) return stopped_waiting(where());
    if (!ready && ready.error().code == Errc::protocol) return lost(ready.error(), started, limit);
    if (!ready) return over_limit("no answer from " + where(), started, limit);
    if (::PQconsumeInput(connection) == 0) break;
  }
  if (::PQisBusy(connection) != 0) return broken(::PQerrorMessage(connection));
  owes_sign_ = false;
  const PgResult result(::PQgetResult(connection));
  const std::string state = result ? field(result.get(), PG_DIAG_SQLSTATE) : "";
  if (!state.empty()) {
    Error ended = refusal(state, field(result.get(), PG_DIAG_MESSAGE_PRIMARY));
    disconnect();
    return Error{Errc::unavailable, std::move(ended.text)};
  }
  if (!result || ::PQresultStatus(result.get()) != PGRES_PIPELINE_SYNC)
    return broken(result ? ::PQresultErrorMessage(result.get()) : ::PQerrorMessage(connection));
  collect_notifications();
  if (!in_transaction_ || ::PQtransactionStatus(connection) == PQTRANS_INTRANS) return {};
  return lost({Errc::unavailable, "its transaction was ended"}, started, limit);
}

Result<void> PgSession::reach(Time limit) {
  const bool continues = std::exchange(in_transaction_, false);
  if (connected() && !alive()) disconnect();
  if (connected()) return {};
  if (continues)
    return Error{Errc::unavailable, "lost the connection to " + where() + " in a transaction"};
  return connect(limit);
}

// Returns whether the connection is open, and the server has sent nothing but notifications and
// notices.
bool PgSession::alive() {
  PgCall look(intake_, BootClock::now(), nullptr);
  for (;;) {
    if (::PQstatus(connection_.get()) == CONNECTION_BAD) return false;
    const auto more = look.wait(::PQsocket(connection_.get()), POLLIN);
    if (!more) return more.error().code == Errc::timed_out;
    if (::PQconsumeInput(connection_.get()) == 0) return false;
    collect_notifications();
  }
}

Result<void> PgSession::connect(Time limit) {
  const auto& servers = address_.servers;
  FailedServers failed;
  for (std::size_t i = 0;; ++i) {
    const Time share = share_of(limit, servers.size() - i);
    PgNoConnection why = connect_to(servers[i], share);
    if (connected()) return {};
    explain(why, servers[i], share);
    if (servers.size() == 1 || ends_search(why.code)) return unreachable(why, failed.before());
    failed.add(name_of(servers[i]), {why.code, why.reason, why.reach});
    if (i + 1 == servers.size()) return failed.all(where());
  }
}

constexpr std::string_view k_ways_out =
    "beyond this machine the certificate is verified: ?cacert=FILE names its CA, ?sslmode=require "
    "takes any, ?sslmode=disable goes without TLS";

bool is_about_tls(const std::string& reason) {
  const auto has = [&](std::string_view word) { return reason.find(word) != std::string::npos; };
  return has("SSL") || has("TLS") || has("certificate");
}

PgNoConnection PgSession::connect_to(const PgServer& server, Time limit) {
  std::vector<SocketAddress> addresses(1);  // for a unix socket, which has no address
  if (!server.is_socket()) {
    auto found = resolve(server.host, server.port, limit, interrupt_);
    if (!found) return {.code = found.error().code, .reason = found.error().text};
    addresses = std::move(*found);
  }
  const bool verifies_by_default =
      !server.is_socket() && !address_.tls && !tls_.said() && !is_this_machine(server.host);
  const std::string_view ways_out = verifies_by_default ? k_ways_out : "";
  std::optional<PgNoConnection> why;
  Reach reach = Reach::nothing;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string at = server.is_socket() ? "" : numeric_text(addresses[i]);
    const auto parameters = pg_parameters(address_, server, at, tls_);
    if (!parameters)
      return {.code = parameters.error().code, .reason = parameters.error().text, .hint = ways_out};
    auto made = connect_pg(*parameters, intake_, share_of(limit, addresses.size() - i), interrupt_);
    connection_ = std::move(made.connection);
    has_answered_ = has_answered_ || connected();
    if (connected()) return {};
    reach = std::min(reach, made.why.reach);
    // The error of an address that refused says more than that of an address that did not answer.
    const bool silent = made.why.code == Errc::timed_out;
    if (addresses.size() > 1) note_silence(addresses[i], silent);
    if (!why || !silent) why = std::move(made.why);
    if (why->hint.empty() && is_about_tls(why->reason)) why->hint = ways_out;
    // All addresses of a host are one server with one certificate, so a bad certificate ends the
    // search.
    if (ends_search(why->code) || why->code == Errc::protocol) break;
  }
  why->reach = reach;
  return *why;
}

// Finds out whether a server that closed the connection, or whose answer was not understood, is of
// another kind (MySQL, Redis, …). If so, replaces `why` by an error that says so.
void PgSession::explain(PgNoConnection& why, const PgServer& server, Time limit) {
  const bool strange = why.code == Errc::protocol || why.code == Errc::unavailable;
  if (has_answered_ || why.by_server || !strange || server.is_socket()) return;
  const Endpoint endpoint{.host = server.host, .port = server.port, .socket_path = {}, .tls = {}};
  const std::string other = why.code == Errc::protocol
                                ? other_server(endpoint, "postgresql", limit, interrupt_)
                                : hang_ups_.one_more(endpoint, "postgresql", limit, interrupt_);
  if (!other.empty())
    why = {.code = Errc::protocol, .reason = "it " + other, .reach = Reach::connection};
}

// Returns the error of a call for which no server can be used. `failed` is the text of
// FailedServers::before() about the servers that failed earlier in the same call; it may be empty.
Error PgSession::unreachable(const PgNoConnection& why, const std::string& failed) {
  failure_.sqlstate = why.sqlstate;
  const std::string hint = why.hint.empty() ? "" : " (" + std::string(why.hint) + ")";
  const Error error =
      while_files_are_replaced({why.code, why.reason + hint, why.reach}, has_answered_);
  if (why.by_server && why.code != Errc::cancelled)
    return {error.code, where() + " says: " + error.text, why.reach};
  return cannot_reach(where(), error, failed);
}

// Drops the connection and returns the error of a call whose request may have been sent.
Error PgSession::lost(const Error& reason, Time started, Time limit) {
  disconnect();
  return lost_connection(where(), reason, started, limit);
}

Error PgSession::refusal(const std::string& state, const std::string& text) {
  const PgMeaning meaning = classify_sqlstate(state);
  failure_ = {state, meaning.cause};
  // Without a connection, the next run() tries all servers again.
  if (meaning.replica) disconnect();
  const bool elsewhere = meaning.replica && address_.servers.size() > 1;
  return {elsewhere ? Errc::unavailable : meaning.code, server_says(where(), text, meaning.hint)};
}

Result<bool> PgSession::await_notification(Time until) {
  const auto gone = [&](const std::string& reason) {
    return Error{Errc::unavailable, "lost the connection to " + where() + ": " + reason};
  };
  PgCall call(intake_, until, interrupt_);
  for (;;) {
    if (!connected()) return gone("it is closed");
    collect_notifications();
    if (!notifications_.empty()) return true;
    if (auto ready = call.wait(::PQsocket(connection_.get()), POLLIN); !ready) {
      if (ready.error().code == Errc::timed_out) return false;
      if (ready.error().code == Errc::protocol) connection_.reset();
      return ready.error();
    }
    if (::PQconsumeInput(connection_.get()) == 1) continue;
    const std::string reason = reason_of(::PQerrorMessage(connection_.get()));
    // Not disconnect(), which would forget that a transaction was open: a run() that continues it
    // must fail.
    connection_.reset();
    return gone(reason);
  }
}

void PgSession::collect_notifications() {
  while (PGnotify* const one = ::PQnotifies(connection_.get())) {
    if (notifications_.size() < limits::k_unasked) notifications_.emplace_back(one->relname);
    ::PQfreemem(one);
  }
}

std::vector<std::string> PgSession::take_notifications() {
  return std::exchange(notifications_, {});
}

long long statement_timeout_ms(Time limit, Time now) {
  return std::max(1LL, to_ms(limit - now));
}

}  // namespace dlock
