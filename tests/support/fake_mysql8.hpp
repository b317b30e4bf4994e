// SPDX-License-Identifier: MIT
// FakeMysql8: the server's side of the login of MySQL 8 (caching_sha2_password), for one connection
// of a FakePeer; after the login it answers "OK" to each statement. Debian has no MySQL 8. A test
// in sys/my_login_test.cpp shows that MariaDB's own client can log in here, too.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "support/fake_peer.hpp"

namespace dlock::test {

// An RSA key of a server, in memory.
class RsaKey {
 public:
  RsaKey() : key_(EVP_RSA_gen(2048), &EVP_PKEY_free) { DLOCK_ASSERT(key_ != nullptr); }

  std::string pem() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    DLOCK_ASSERT(PEM_write_bio_PUBKEY(bio.get(), key_.get()) == 1);
    std::array<char, 4096> text{};
    const int n = BIO_read(bio.get(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(n)};
  }
  // Returns the decrypted text; empty: it was not encrypted with this key.
  std::string opened(std::string_view sealed) const {
    const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
        EVP_PKEY_CTX_new(key_.get(), nullptr), &EVP_PKEY_CTX_free);
    EVP_PKEY_decrypt_init(context.get());
    EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING);
    std::array<unsigned char, 512> plain{};
    std::size_t size = plain.size();
    const auto* const bytes = reinterpret_cast<const unsigned char*>(sealed.data());
    if (EVP_PKEY_decrypt(context.get(), plain.data(), &size, bytes, sealed.size()) != 1) return {};
    return {reinterpret_cast<const char*>(plain.data()), size};
  }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

class FakeMysql8 {
 public:
  std::string greeting_ends = "";  // bytes that follow the greeting
  bool offers_tls = false;         // the greeting offers TLS, which is not there
  bool knows_digest = true;     // the server knows the hash of the password, so the proof is enough
  const RsaKey* key = nullptr;  // null: the server has no key
  std::string switches_to = "";     // the login plug-in to switch to
  std::string lacks = "";           // a variable that is unknown; empty: all are known
  std::string password = "s3cret";  // the right password
  std::string proof = "";           // the proof that the client sent
  std::string shown = "";           // the password that the client sent, plain or encrypted
  std::string rest = "";            // what else the client sent

  static const std::string& nonce() {
    static const std::string bytes = "0123456789abcdefghij";
    return bytes;
  }

  // Serves until the client closes the connection. `accepts`: returns whether a proof is right.
  template <class Accepts>
  void serve(const FakePeer& peer, const Accepts& accepts) {
    client_ = peer.accept();
    greet();
    const std::string login = read();
    if (login.empty()) return;
    const auto user_end = login.find('\0', 32);
    if (user_end == std::string::npos) return;
    const auto size = static_cast<unsigned char>(login[user_end + 1]);
    proof = login.substr(user_end + 2, size);
    if (!switches_to.empty()) {
      write("\xfe" + switches_to + '\0' + nonce() + '\0');
      rest = read();
      return;
    }
    const bool logged_in = knows_digest ? accepts(proof) : sees_password();
    if (logged_in && knows_digest) write("\1\3");
    if (!logged_in) {
      write("\xff\x15\x04#28000Access denied for user 'ann'");
      return;
    }
    write(ok(false));
    answer();
  }

 private:
  static std::string ok(bool more) {
    return std::string("\0\0\0", 3) + (more ? '\x0a' : '\x02') + std::string("\0\0\0", 3);
  }

  void greet() {
    const std::string low{'\x0f', static_cast<char>(offers_tls ? 0xaa : 0xa2)};
    number_ = 0;
    write("\x0a" + std::string("8.0.36\0\x07\0\0\0", 11) + nonce().substr(0, 8) + '\0' + low +
          "\xff" + std::string("\2\0", 2) + std::string("\x2b\0", 2) + "\x15" +
          std::string(10, '\0') + nonce().substr(8) + '\0' + "caching_sha2_password" + '\0');
    write_all(client_, greeting_ends);
  }

  bool sees_password() {
    write("\1\4");
    std::string word = read();
    if (word == "\2") {
      if (key == nullptr) return false;
      write("\1" + key->pem());
      word = key->opened(read());
      for (std::size_t i = 0; i < word.size(); ++i)
        word[i] = static_cast<char>(word[i] ^ nonce()[i % nonce().size()]);
    }
    shown = word;
    return shown == password + '\0';
  }

  void answer() {
    for (std::string query = read(); query.starts_with('\3'); query = read()) {
      if (!lacks.empty() && query.find(lacks) != std::string::npos) {
        write("\xff\xa9\x04#HY000Unknown system variable");
        continue;
      }
      for (auto left = std::count(query.begin(), query.end(), ';'); left > 0; --left)
        write(ok(true));
      write(ok(false));
    }
  }

  // Returns the next packet; empty: the client has closed the connection.
  std::string read() {
    std::string bytes;
    std::size_t wanted = 4;
    while (bytes.size() < wanted && readable(client_.get())) {
      std::array<char, 4096> buffer{};
      const auto n = ::recv(client_.get(), buffer.data(), wanted - bytes.size(), 0);
      if (n <= 0) return {};
      bytes.append(buffer.data(), static_cast<std::size_t>(n));
      if (bytes.size() == 4 && wanted == 4) {
        wanted += static_cast<unsigned char>(bytes[0]) +
                  (std::size_t{static_cast<unsigned char>(bytes[1])} << 8U);
      }
    }
    if (bytes.size() < wanted) return {};
    number_ = static_cast<unsigned char>(bytes[3]) + 1;
    return bytes.substr(4);
  }

  void write(const std::string& body) {
    std::string packet{static_cast<char>(body.size() & 0xffU),
                       static_cast<char>(body.size() >> 8U),
                       '\0',
                       static_cast<char>(number_++)};
    write_all(client_, packet + body);
  }

  UniqueFd client_;
  int number_ = 0;
};

}  // namespace dlock::test
