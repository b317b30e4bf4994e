// SPDX-License-Identifier: MIT
#include "store/mysql/my_wire.hpp"

#include "store/mysql/library.hpp"
#include "store/mysql/my_login.hpp"
#include "store/other_server.hpp"
#include "sys/tls_context.hpp"

#include <array>
#include <memory>
#include <utility>

// Variables that only the static library has; the shared library does not export them.
#pragma weak mysql_port
extern "C" my_bool ma_tls_initialized;  // NOLINT(readability-identifier-naming): libmariadb's name
#pragma weak ma_tls_initialized

namespace dlock {
namespace {

// Size of a packet's header: three bytes for the packet's length, one for its number.
constexpr std::size_t k_header = 4;
// Size of the first part of the login, which has flags and sizes.
constexpr std::size_t k_tls_request = 32;
constexpr unsigned int k_assumed_port = 3306;
// The first bytes of a progress report. A server that sends one before its greeting is refused: the
// library reads the server's version for each report, and before the greeting that is a null
// pointer.
constexpr std::string_view k_progress = "\xff\xff\xff";

thread_local MyWire* t_used = nullptr;

MyWire& wire_of(MARIADB_PVIO* pvio) {
  return *static_cast<MyWire*>(pvio->data);
}

my_bool connect_wire(MARIADB_PVIO* pvio, MA_PVIO_CINFO* to) {
  DLOCK_ASSERT(t_used != nullptr);
  pvio->data = t_used;
  pvio->mysql = to->mysql;
  return static_cast<my_bool>(t_used->open() ? 0 : 1);
}

my_bool close_wire(MARIADB_PVIO* pvio) {
  wire_of(pvio).close();
  return 0;
}

ssize_t read_wire(MARIADB_PVIO* pvio, uchar* buffer, size_t size) {
  const auto n = wire_of(pvio).read(reinterpret_cast<char*>(buffer), size);
  return n > 0 ? static_cast<ssize_t>(n) : -1;
}

// Starts TLS. Returns true if TLS has begun; then `login` must be sent over TLS.
bool start_tls(MARIADB_PVIO* pvio, std::string& login) {
  MyWire& wire = wire_of(pvio);
  if ((pvio->mysql->server_capabilities & CLIENT_SSL) == 0) {
    wire.fail({Errc::protocol, "offers no TLS; ?ssl-mode=disabled does without"});
    return false;
  }
  // Plaintext bytes that came after the greeting would be taken for bytes that came over TLS.
  const bool more = pvio->cache_size > 0 && pvio->cache_pos < pvio->cache + pvio->cache_size;
  if (more || login.size() < k_header + k_tls_request) {
    wire.fail({Errc::protocol, "does not greet as MariaDB or MySQL does"});
    return false;
  }
  std::string request = login.substr(0, k_header + k_tls_request);
  request[0] = k_tls_request;
  request[1] = request[2] = 0;
  if (!wire.start_tls(request)) return false;
  login[3] = static_cast<char>(login[3] + 1);
  ++pvio->mysql->net.pkt_nr;
  return true;
}

ssize_t write_wire(MARIADB_PVIO* pvio, const uchar* buffer, size_t size) {
  MyWire& wire = wire_of(pvio);
  const std::string_view bytes(reinterpret_cast<const char*>(buffer), size);
  if (!wire.awaits_tls()) return wire.write(bytes) ? static_cast<ssize_t>(size) : -1;
  std::string login(bytes);
  return start_tls(pvio, login) && wire.write(login) ? static_cast<ssize_t>(size) : -1;
}

int is_ready(MARIADB_PVIO* /*pvio*/, my_bool /*is_read*/, int /*timeout*/) {
  return 1;
}

bool start() {
  // Sets the default port. Otherwise the library asks the name service for it, which loads modules
  // of the C library; a static program cannot load modules.
  if (&mysql_port != nullptr) mysql_port = k_assumed_port;
  // Tells the library that its own TLS is set up. It is never used, and setting it up would cost a
  // third of the instructions of a run.
  if (&ma_tls_initialized != nullptr) ma_tls_initialized = 1;
  if (!start_crypto_library() || mysql_library_init(0, nullptr, nullptr) != 0) return false;
  const std::unique_ptr<MYSQL, decltype(&mysql_close)> mysql(mysql_init(nullptr), &mysql_close);
  if (mysql == nullptr) return false;
  auto* const sockets = mysql_client_find_plugin(mysql.get(), "pvio_socket", k_pvio_plugin);
  if (sockets == nullptr) return false;
  static PVIO_METHODS methods = [] {
    PVIO_METHODS ours{};
    ours.connect = &connect_wire;
    ours.close = &close_wire;
    ours.read = &read_wire;
    ours.write = &write_wire;
    ours.wait_io_or_timeout = &is_ready;
    return ours;
  }();
  reinterpret_cast<PvioPlugin*>(sockets)->methods = &methods;
  auto* const login = static_cast<st_mysql_client_plugin*>(sha2_login_plugin());
  return mysql_client_register_plugin(mysql.get(), login) != nullptr;
}

}  // namespace

bool MyWire::start_library() {
  static const bool started = start();
  return started;
}

void MyWire::use(MyWire* wire) {
  t_used = wire;
}

void MyWire::begin(Time limit) {
  limit_ = limit;
  error_.reset();
}

void MyWire::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

bool MyWire::open() {
  Endpoint plain = endpoint_;
  plain.tls.reset();
  awaits_tls_ = endpoint_.tls != nullptr;
  auto transport = Transport::connect(plain, limit_, interrupt_);
  if (transport) {
    transport_ = std::move(*transport);
    heard_.clear();
  } else {
    fail(transport.error());
  }
  return transport.has_value();
}

bool MyWire::start_tls(std::string_view request) {
  awaits_tls_ = false;
  if (!write(request)) return false;
  const auto started = transport_->start_tls(endpoint_, limit_);
  if (!started) fail(started.error());
  return started.has_value();
}

Result<void> MyWire::await_bytes(Time limit) {
  if (!transport_) return Error{Errc::unavailable, "closed the connection"};
  return transport_->await_bytes(limit);
}

std::size_t MyWire::read(char* buffer, std::size_t size) {
  if (!transport_ || error_) return 0;
  const auto n = transport_->receive(buffer, size, limit_);
  if (!n) {
    fail(n.error());
    return 0;
  }
  const std::string_view bytes(buffer, *n);
  const std::string other = heard_.empty() ? other_server(bytes, "mysql") : std::string();
  if (!other.empty()) fail({Errc::protocol, other});
  heard_ += bytes.substr(0, k_header + k_progress.size() - heard_.size());
  if (heard_.size() > k_header && heard_.substr(k_header) == k_progress)
    fail({Errc::protocol, "does not greet as MariaDB or MySQL does"});
  return error_ ? 0 : *n;
}

bool MyWire::write(std::string_view bytes) {
  if (!transport_ || error_) return false;
  const auto sent = transport_->send(bytes, limit_);
  if (!sent) fail(sent.error());
  return sent.has_value();
}

}  // namespace dlock
