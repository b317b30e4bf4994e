// SPDX-License-Identifier: MIT
#include "store/mysql/my_login.hpp"

#include "store/mysql/library.hpp"
#include "store/mysql/my_password.hpp"
#include "store/mysql/my_wire.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {
namespace {

constexpr std::size_t k_nonce = 20;
constexpr char k_ask_for_key = '\2';
constexpr char k_known = '\3';
constexpr char k_show_password = '\4';
// First byte of a packet in which the server sends one of these codes or its key.
constexpr char k_more_data = '\1';

class Dialog {
 public:
  Dialog(MYSQL_PLUGIN_VIO* vio, MYSQL* mysql)
      : vio_(vio), wire_(*static_cast<MyWire*>(mysql->net.pvio->data)), password_(mysql->passwd) {}

  int run() {
    const auto greeting = read();
    if (!greeting) return CR_ERROR;
    if (greeting->size() < k_nonce) return no_sense();
    nonce_ = greeting->substr(0, k_nonce);
    if (password_.empty()) return write(std::string_view("\0", 1));
    if (write(sha2_proof(password_, nonce_)) != CR_OK) return CR_ERROR;
    const auto answer = read();
    if (!answer) return CR_ERROR;
    if (*answer == std::string_view(&k_known, 1)) return CR_OK;
    if (*answer != std::string_view(&k_show_password, 1)) return no_sense();
    return wire_.is_private() ? write(password_ + '\0') : seal();
  }

 private:
  // Returns the next packet from the server, without k_more_data. nullopt: an error has occurred,
  // which the library or the wire has stored.
  std::optional<std::string> read() {
    unsigned char* bytes = nullptr;
    const int size = vio_->read_packet(vio_, &bytes);
    if (size < 0) return {};
    std::string packet(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    if (packet.starts_with(k_more_data)) packet.erase(0, 1);
    return packet;
  }

  int write(std::string_view bytes) {
    const auto* const first = reinterpret_cast<const unsigned char*>(bytes.data());
    return vio_->write_packet(vio_, first, static_cast<int>(bytes.size())) == 0 ? CR_OK : CR_ERROR;
  }

  int seal() {
    if (!wire_.trusts_key()) {
      wire_.fail(
          {Errc::denied,
           "its login (caching_sha2_password) needs TLS (?ssl-mode=required) or a unix socket; "
           "?ssl-mode=disabled seals the password with an unproven key"});
      return CR_ERROR;
    }
    if (write(std::string_view(&k_ask_for_key, 1)) != CR_OK) return CR_ERROR;
    const auto key = read();
    if (!key || key->empty()) {
      if (!wire_.error()) {
        wire_.fail({Errc::denied,
                    "its login (caching_sha2_password) needs TLS or a unix socket, as the server "
                    "has no RSA key; is it ?ssl-mode=required ?"});
      }
      return CR_ERROR;
    }
    const auto sealed = sealed_password(password_, nonce_, *key);
    if (sealed) return write(*sealed);
    wire_.fail(sealed.error());
    return CR_ERROR;
  }

  int no_sense() {
    wire_.fail({Errc::protocol, "its login (caching_sha2_password) cannot be understood"});
    return CR_ERROR;
  }

  MYSQL_PLUGIN_VIO* vio_;
  MyWire& wire_;
  std::string password_;
  std::string nonce_;
};

int authenticate(MYSQL_PLUGIN_VIO* vio, MYSQL* mysql) {
  return Dialog(vio, mysql).run();
}

}  // namespace

void* sha2_login_plugin() {
  static LoginPlugin plugin{k_login_plugin,
                            k_plugin_version,
                            "caching_sha2_password",
                            "dlock",
                            "the login of MySQL 8",
                            {1, 0, 0},
                            "MIT",
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            &authenticate};
  return &plugin;
}

}  // namespace dlock
