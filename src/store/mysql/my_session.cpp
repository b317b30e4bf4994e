// SPDX-License-Identifier: MIT
#include "store/mysql/my_session.hpp"

#include "base/text.hpp"
#include "store/mysql/library.hpp"
#include "store/mysql/my_wire.hpp"
#include "store/server_search.hpp"
#include "sys/poll_limit.hpp"

#include <algorithm>
#include <utility>

namespace dlock {
namespace {

// The statements that prepare a new connection, as described in my_session.hpp. They return no
// rows. To MySQL, the part that begins with M! is a comment. With wsrep_sync_wait = 7 a Galera
// node answers a read, an update or an insert only after it has applied all that other nodes have
// committed before, https://mariadb.com/kb/en/galera-cluster-system-variables/#wsrep_sync_wait
constexpr std::string_view k_preparations[] = {
    "SET autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION' /*M! , SESSION "
    "wsrep_sync_wait = 7 */",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"};
constexpr std::string_view k_without_galera =
    "SET autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'";
constexpr unsigned int k_unknown_variable = 1193;

// The ways to log in that never show the password to a server that is not trusted. Only plug-ins
// that are built in are allowed, because the library would load others from files.
constexpr const char* k_logins = "mysql_native_password, caching_sha2_password";

bool is_of_server(unsigned int number) {
  return number != 0 && !(number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) &&
         !(number >= CER_MIN_ERROR && number <= CER_MAX_ERROR);
}

// Returns the text of a statement, with its parameters in place of $1, $2, …
std::string spelled(const sql::Statement& statement) {
  const std::string& text = statement.text;
  std::string all;
  std::size_t done = 0;
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', done)) {
    const auto which = static_cast<std::size_t>(text.at(at + 1) - '1');
    const sql::Value& value = statement.parameters.at(which);
    all.append(text, done, at - done).append(value ? MySession::quoted(*value) : "null");
    done = at + 2;
  }
  return all.append(text, done);
}

}  // namespace

std::string MySession::quoted(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string literal = is_utf8(text) ? "_utf8mb4 x'" : "x'";
  literal.reserve(literal.size() + 2 * text.size() + 1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    literal += digits[byte >> 4U];
    literal += digits[byte & 0xfU];
  }
  return literal + "'";
}

void MySession::Close::operator()(st_mysql* mysql) const {
  mysql_close(mysql);
}

MySession::MySession(MyAddress address, const Interrupt* interrupt)
    : address_(std::move(address)),
      wire_(std::make_unique<MyWire>(address_.endpoint, address_.trusts_key, interrupt)) {}

MySession::~MySession() {
  disconnect();
}

// Closes the connection. Sends COM_QUIT only if the socket accepts it at once, so it never waits.
void MySession::disconnect() {
  if (!wire_->error()) wire_->begin(BootClock::now());
  mysql_.reset();
  prepared_ = false;
  owes_sign_ = false;
  in_transaction_ = false;
}

bool MySession::is_mariadb() const {
  return server_version_.find("MariaDB") != std::string::npos;
}

Result<void> MySession::reach(Time limit) {
  const bool continues = in_transaction_;
  if (connected() && (owes_sign_ || !wire_->idle())) disconnect();
  wire_->begin(limit);
  if (connected()) return {};
  if (continues)
    return Error{Errc::unavailable, "lost the connection to " + where() + " in a transaction"};
  return connect();
}

Result<void> MySession::connect() {
  if (!MyWire::start_library()) return Error{Errc::system, "libmariadb cannot be used"};
  mysql_.reset(mysql_init(nullptr));
  if (!mysql_) return Error{Errc::system, "libmariadb cannot be used: no memory"};
  MYSQL* const mysql = mysql_.get();
  const unsigned int none = 0;
  // MyWire makes the connection, whatever the protocol here.
  const unsigned int tcp = MYSQL_PROTOCOL_TCP;
  mysql_optionsv(mysql, MYSQL_OPT_PROTOCOL, &tcp);
  // A server may not ask for files of this machine.
  mysql_optionsv(mysql, MYSQL_OPT_LOCAL_INFILE, &none);
  mysql_optionsv(mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &limits::k_answer_bytes);
  mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_optionsv(mysql, MARIADB_OPT_RESTRICTED_AUTH, k_logins);
  const unsigned long flags = CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS |
                              (address_.endpoint.tls != nullptr ? CLIENT_SSL : 0UL);
  MyWire::use(wire_.get());
  const bool done = mysql_real_connect(mysql,
                                       "127.0.0.1",
                                       address_.user.c_str(),
                                       address_.password.reveal().c_str(),
                                       address_.database.c_str(),
                                       address_.endpoint.port,
                                       nullptr,
                                       flags) != nullptr;
  MyWire::use(nullptr);
  if (!done) return failure(true);
  connection_id_ = mysql_thread_id(mysql);
  server_version_ = printable(mysql_get_server_info(mysql));
  return {};
}

Result<std::vector<sql::Answer>> MySession::run(const std::vector<sql::Statement>& statements,
                                                Time limit) {
  DLOCK_ASSERT(!statements.empty());
  started_ = BootClock::now();
  limit_ = limit;
  cause_ = sql::Cause::other;
  server_errno_ = 0;
  if (auto reached = reach(limit); !reached) {
    disconnect();
    return reached.error();
  }
  const std::size_t before = prepared_ ? 0 : std::size(k_preparations);
  std::string text;
  for (std::size_t i = 0; i < before; ++i)
    (text += i == 0 && !knows_galera_ ? k_without_galera : k_preparations[i]) += ";";
  for (const sql::Statement& statement : statements)
    (text += spelled(statement)) += ";";
  text.pop_back();
  sent_at_ = BootClock::now();
  auto results = ask(text, before + statements.size());
  if (!results) {
    if (before > 0 || !undo()) disconnect();
    // This MariaDB has no Galera, so it does not know wsrep_sync_wait. The first preparation
    // failed, and none of `statements` was executed: they can be sent again without it.
    if (before > 0 && server_errno_ == k_unknown_variable && std::exchange(knows_galera_, false))
      return run(statements, limit);
    return results;
  }
  prepared_ = true;
  in_transaction_ = (mysql_->server_status & SERVER_STATUS_IN_TRANS) != 0;
  results->erase(results->begin(), results->begin() + static_cast<std::ptrdiff_t>(before));
  return results;
}

// Rolls back after an error, and returns whether the connection can still be used. It is kept if
// possible, because a limit of the server or a proxy might refuse a new connection.
bool MySession::undo() {
  if (cause_ != sql::Cause::repeat && cause_ != sql::Cause::no_table &&
      cause_ != sql::Cause::no_column)
    return false;
  constexpr std::string_view rollback = "rollback";
  if (mysql_real_query(mysql_.get(), rollback.data(), rollback.size()) != 0) return false;
  in_transaction_ = false;
  return true;
}

Result<void> MySession::ask_alive(Time limit) {
  started_ = BootClock::now();
  limit_ = limit;
  cause_ = sql::Cause::other;
  server_errno_ = 0;
  if (!connected()) return Error{Errc::unavailable, "lost the connection to " + where()};
  constexpr std::string_view question = "do 0";
  wire_->begin(limit);
  const auto broken = [this] {
    Error error = failure(false);
    disconnect();
    return error;
  };
  if (!owes_sign_ && mysql_send_query(mysql_.get(), question.data(), question.size()) != 0)
    return broken();
  owes_sign_ = true;
  // Waits here, and not within the library, because the library drops a connection whose answer is
  // late.
  if (auto ready = wire_->await_bytes(limit); !ready) {
    if (ready.error().code == Errc::cancelled) return stopped_waiting(where());
    return over_limit("no answer from " + where(), started_, limit_);
  }
  owes_sign_ = false;
  if (mysql_read_query_result(mysql_.get()) != 0) return broken();
  return {};
}

Result<std::vector<sql::Answer>> MySession::ask(const std::string& text, std::size_t count) {
  MYSQL* const mysql = mysql_.get();
  std::vector<sql::Answer> results;
  if (mysql_real_query(mysql, text.data(), text.size()) != 0) return failure(false);
  for (;;) {
    auto rows = take_rows();
    if (!rows) return rows.error();
    results.push_back(std::move(*rows));
    if (results.size() > count) break;
    const int next = mysql_next_result(mysql);
    if (next > 0) return failure(false);
    if (next < 0) break;
  }
  if (results.size() == count) return results;
  return Error{Errc::protocol, where() + " answered another number of statements than it was sent"};
}

Result<sql::Answer> MySession::take_rows() {
  MYSQL* const mysql = mysql_.get();
  sql::Answer answer;
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(mysql_use_result(mysql),
                                                                        &mysql_free_result);
  if (result == nullptr) {
    if (mysql_errno(mysql) != 0 || mysql_field_count(mysql) != 0) return failure(false);
    answer.affected = static_cast<long long>(mysql_affected_rows(mysql));
    return answer;
  }
  const unsigned int width = mysql_num_fields(result.get());
  while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
    const unsigned long* const lengths = mysql_fetch_lengths(result.get());
    if ((answer.rows.size() + 1) * width > limits::k_elements) {
      wire_->fail(Intake::flood());  // this ends the connection: the remaining rows are not read
      return failure(false);
    }
    auto& values = answer.rows.emplace_back(width);
    for (unsigned int i = 0; i < width; ++i) {
      if (row[i] != nullptr) values[i].emplace(row[i], lengths[i]);
    }
  }
  if (mysql_errno(mysql) != 0) return failure(false);
  return answer;
}

// Returns the error of the call of the library that has just failed.
Error MySession::failure(bool connecting) {
  const unsigned int number = mysql_errno(mysql_.get());
  const std::string said = mysql_error(mysql_.get());
  cause_ = sql::Cause::other;
  if (wire_->error()) {
    const Error& error = *wire_->error();
    const bool says_more = error.code == Errc::timed_out || error.code == Errc::protocol;
    Error failed = connecting && !says_more ? cannot_reach(where(), error)
                                            : lost_connection(where(), error, started_, limit_);
    failed.reach = connecting ? std::max(error.reach, Reach::connection) : Reach::request;
    return failed;
  }
  if (is_of_server(number)) {
    const MyMeaning meaning = meaning_of(number);
    server_errno_ = number;
    cause_ = meaning.cause;
    return {meaning.code, server_says(where(), said, meaning.hint)};
  }
  if (number == CR_AUTH_PLUGIN_CANNOT_LOAD || number == CR_PLUGIN_NOT_ALLOWED ||
      number == CR_AUTH_PLUGIN_ERR) {
    // The library's text would show bytes of its buffer in place of the plug-in's name.
    return {Errc::denied,
            where() + " wants a way to log in that dlock does not have; it has " + k_logins};
  }
  return {Errc::protocol,
          where() + " does not answer as MariaDB or MySQL does: " + words_of_server(said)};
}

}  // namespace dlock
