// SPDX-License-Identifier: MIT
// tls_front CERTIFICATE KEY SOCKET MS: a TLS 1.3 server on a port of 127.0.0.1, in front of the
// unix socket SOCKET. After MS milliseconds without a word it sends the client two records that
// carry no data: a session ticket, and a key update that asks for the client's. It prints its port,
// then a line for each thing that happens: "connection", "end", and "update" for each key update of
// a client. It ends with its parent, and after five minutes.
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace {

constexpr int k_key_update = 24;  // the kind of a handshake message (RFC 8446, 4)
constexpr size_t k_piece = 16384;

void say(const char* what) {
  std::puts(what);
  std::fflush(stdout);
}

void note_message(int sent, int, int type, const void* bytes, size_t size, SSL*, void*) {
  const auto* const first = static_cast<const unsigned char*>(bytes);
  if (sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0 && *first == k_key_update) say("update");
}

int connected_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  return fd >= 0 && connect(fd, to, sizeof address) == 0 ? fd : -1;
}

// Passes one record of the client, which may carry no data, on to the server. False: the client has
// ended the connection.
bool from_client(SSL* ssl, int server) {
  char piece[k_piece];
  const int n = SSL_read(ssl, piece, sizeof piece);
  if (n <= 0) return SSL_get_error(ssl, n) == SSL_ERROR_WANT_READ;
  return write(server, piece, static_cast<size_t>(n)) == n;
}

bool from_server(SSL* ssl, int server) {
  char piece[k_piece];
  const ssize_t n = read(server, piece, sizeof piece);
  return n > 0 && SSL_write(ssl, piece, static_cast<int>(n)) == n;
}

bool send_records_without_data(SSL* ssl) {
  return SSL_new_session_ticket(ssl) == 1 && SSL_do_handshake(ssl) == 1 &&
         SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1;
}

void serve(SSL* ssl, int client, const char* path, int every_ms) {
  const int server = connected_to(path);
  SSL_set_fd(ssl, client);
  bool goes_on = server >= 0 && SSL_accept(ssl) == 1;
  if (goes_on) say("connection");
  while (goes_on) {
    pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    const int n = poll(both, 2, every_ms);
    if (n == 0) goes_on = send_records_without_data(ssl);
    if (both[0].revents != 0) goes_on = from_client(ssl, server);
    if (goes_on && both[1].revents != 0) goes_on = from_server(ssl, server);
  }
  say("end");
  close(server);
  close(client);
  SSL_free(ssl);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_IGN);
  alarm(300);
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_msg_callback(context, &note_message);
  if (SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1)
    return 78;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 64) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return 69;
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  for (;;) {
    const int client = accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    std::thread(serve, SSL_new(context), client, argv[3], std::atoi(argv[4])).detach();
  }
}
