// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_wire.hpp"

#include "base/errno_text.hpp"
#include "store/server_search.hpp"
#include "store/url/host_port.hpp"
#include "sys/poll_limit.hpp"

#include <array>
#include <cerrno>
#include <utility>

namespace dlock {
namespace {

constexpr int k_ok = 200;
constexpr std::size_t k_buffer_bytes = std::size_t{16} << 10;

// Appends a request. The header Hasleader makes a member without a leader refuse at once; otherwise
// we would wait until our limit.
void append(std::string& bytes, const EtcdWords& words, const std::string& host_and_token) {
  bytes += "POST ";
  bytes += words.path;
  bytes += " HTTP/1.1\r\nContent-Type: application/json\r\nGrpc-Metadata-Hasleader: true\r\n";
  bytes += host_and_token;
  bytes += "Content-Length: " + std::to_string(words.json.size()) + "\r\n\r\n" + words.json;
}

}  // namespace

EtcdWire::EtcdWire(EtcdAddress address, const Interrupt* interrupt)
    : address_(std::move(address)), interrupt_(interrupt) {}

void EtcdWire::disconnect() {
  transport_.reset();
  reader_ = HttpReader();
  skipped_ = 0;
}

void EtcdWire::leave() {
  disconnect();
  server_ = (server_ + 1) % address_.servers.size();
}

Result<void> EtcdWire::reach(Time limit) {
  drop_skipped();
  // A connection is replaced if it is closed, or if it has sent something that we did not ask for.
  const bool is_clean = reader_.empty() || skipped_ > 0;
  if (transport_ && !(is_clean && transport_->idle())) disconnect();
  return transport_ ? Result<void>() : connect(limit);
}

Result<void> EtcdWire::connect(Time limit) {
  const std::size_t count = address_.servers.size();
  FailedServers failed;
  for (std::size_t tried = 0;; ++tried) {
    const Endpoint& server = address_.servers[server_];
    auto made = Transport::connect(server, share_of(limit, count - tried), interrupt_);
    if (made) {
      transport_ = std::move(*made);
      reader_ = HttpReader();
      skipped_ = 0;
      heard_ = false;
      return {};
    }
    const Error& why = made.error();
    if (count == 1 || ends_search(why.code)) return unreachable(why);
    failed.add(name_of(server), why);
    server_ = (server_ + 1) % count;
    if (tried + 1 == count) return failed.all(address_.text);
  }
}

Error EtcdWire::unreachable(const Error& error) const {
  Error why = while_files_are_replaced(error, has_answered_);
  if (why.code == Errc::bad_config) return why;
  Error all = cannot_reach(where(), why);
  const bool tls = address_.servers[server_].tls != nullptr;
  // While connecting, only the TLS handshake reads. So these two errors come from the handshake.
  const bool dropped =
      error.text == "closed the connection" || error.text == errno_text(ECONNRESET);
  if (tls && !has_answered_ && dropped)
    all.text += "; a server without TLS does so: is it etcd:// ?";
  return all;
}

Result<void> EtcdWire::send(const std::vector<EtcdWords>& requests,
                            const std::string& token,
                            Time limit) {
  const Time started = BootClock::now();
  DLOCK_ASSERT(transport_.has_value());
  std::string same = "Host: " + name_of(address_.servers[server_]) + "\r\n";
  if (!token.empty()) same += "Authorization: " + token + "\r\n";
  std::string bytes;
  for (const EtcdWords& one : requests)
    append(bytes, one, same);
  const auto sent = transport_->send(bytes, limit);
  return sent ? sent : lost(sent.error(), started, limit);
}

// Drops those answers to skip() that have arrived.
void EtcdWire::drop_skipped() {
  while (skipped_ > 0 && transport_) {
    if (const auto answer = reader_.next()) {
      --skipped_;
      if (answer->last) disconnect();
    } else if (transport_->idle() || !feed(BootClock::now())) {
      return;
    }
  }
}

Result<HttpAnswer> EtcdWire::receive(Time started, Time limit) {
  for (;;) {
    if (auto answer = reader_.next()) {
      if (answer->last) transport_.reset();
      if (skipped_ > 0) {
        --skipped_;
        continue;
      }
      has_answered_ = has_answered_ || answer->status == k_ok;
      return std::move(*answer);
    }
    if (!transport_) return lost({Errc::unavailable, "it was closed"}, started, limit);
    const auto fed = feed(limit);
    if (!fed) return lost(fed.error(), started, limit);
  }
}

Result<bool> EtcdWire::receive_lines(Time limit) {
  const Time started = BootClock::now();
  if (!transport_) return lost({Errc::unavailable, "it was closed"}, started, limit);
  const auto fed = feed(limit);
  if (fed) return true;
  if (fed.error().code == Errc::timed_out) return false;
  if (fed.error().code == Errc::cancelled) return stopped_waiting(where());
  return lost(fed.error(), started, limit);
}

std::vector<std::string> EtcdWire::take_lines() {
  auto lines = reader_.take_lines();
  has_answered_ = has_answered_ || !lines.empty();
  return lines;
}

// Receives bytes, or the end of the stream, for the reader, and returns the number of bytes.
// Answers stay in the reader after the connection is gone. If there are several members, a member
// that has sent nothing yet gets half of the time, so that time is left to ask another member.
Result<std::size_t> EtcdWire::feed(Time limit) {
  if (!heard_ && address_.servers.size() > 1) limit = share_of(limit, 2);
  std::array<char, k_buffer_bytes> buffer;
  auto n = transport_->receive(buffer.data(), buffer.size(), limit);
  if (!n && n.error().code == Errc::unavailable) {
    if (reader_.end()) {
      transport_.reset();
      return std::size_t{0};
    }
  }
  if (!n) return n;
  heard_ = true;
  const std::string other =
      has_answered_ ? "" : other_server(std::string_view(buffer.data(), *n), "etcd");
  if (!other.empty()) return Error{Errc::protocol, other};
  if (auto fed = reader_.feed({buffer.data(), *n}); !fed) return fed.error();
  return n;
}

// Drops the connection and returns the error for a request that may have been sent.
Error EtcdWire::lost(const Error& reason, Time started, Time limit) {
  const std::string server = where();
  const Errc code = reason.code;
  if (code == Errc::cancelled) {
    disconnect();
    return stopped_waiting(server);
  }
  const std::string other = what_listens(reason, limit);
  leave();
  if (!other.empty()) return {Errc::protocol, server + " " + other};
  if (code == Errc::denied) return cannot_reach(server, reason);
  return lost_connection(server, reason, started, limit);
}

// Returns what seems to listen at the member's address, for an error text: a server that speaks
// another protocol, or expects TLS, drops the connection at its first bytes.
std::string EtcdWire::what_listens(const Error& error, Time limit) {
  if (has_answered_ || error.code != Errc::unavailable) return {};
  return hang_ups_.one_more(address_.servers[server_], "etcd", limit, interrupt_);
}

Error EtcdWire::refusal(const EtcdRefusal& refusal) {
  // bad_config says that this is no etcd. But it was an etcd before, so another program answers in
  // its place, for a while only.
  const bool passes = refusal.code == Errc::bad_config && has_answered_;
  std::string text = where() + " says: " + refusal.text;
  if (!refusal.hint.empty()) text += " (" + std::string(refusal.hint) + ")";
  has_answered_ = has_answered_ || refusal.grpc >= 0;
  if (passes || refusal.code == Errc::unavailable || refusal.code == Errc::timed_out) leave();
  if (refusal.code == Errc::protocol || refusal.code == Errc::bad_config) disconnect();
  return {passes ? Errc::unavailable : refusal.code, std::move(text)};
}

}  // namespace dlock
