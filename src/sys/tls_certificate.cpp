// SPDX-License-Identifier: MIT
#include "sys/tls_certificate.hpp"

#include "base/assert.hpp"
#include "base/calendar.hpp"
#include "base/text.hpp"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

namespace dlock {
namespace {

constexpr std::size_t k_most_names = 5;
constexpr std::size_t k_longest_name = 80;

std::string utc(const tm& time) {
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &time);
  return {text.data(), n};
}

std::string utc(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? utc(parts) : "an unknown date";
}

std::string this_clock() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return " (this machine's clock: " + utc(utc_date(now)) + ")";
}

std::string text_of(const ASN1_STRING* string) {
  const auto* const bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  const std::string text(bytes, static_cast<std::size_t>(ASN1_STRING_length(string)));
  return shortened(printable(text), k_longest_name);
}

std::string address_of(const ASN1_STRING* bytes) {
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != 16) return "?";
  ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size());
  return text.data();
}

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

using GeneralNames = std::unique_ptr<GENERAL_NAMES, FreeNames>;

// Returns null if the certificate has no alternative names.
GeneralNames alternative_names(X509* certificate) {
  return GeneralNames(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Returns the name; empty if it is a pattern ("*.example.com") or an address.
std::string plain_name(const std::string& name) {
  return name.find('*') != std::string::npos || is_address(name) ? "" : name;
}

struct Names {
  std::vector<std::string> all;  // at most k_most_names
  std::string server_name;       // the first name that is neither a pattern nor an address
};

Names names_in(X509* certificate) {
  Names result;
  const GeneralNames names = alternative_names(certificate);
  const int count = names != nullptr ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < count && result.all.size() < k_most_names; ++i) {
    int type = 0;
    const auto* const value = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type == GEN_IPADD) result.all.push_back(address_of(value));
    if (type != GEN_DNS) continue;
    result.all.push_back(text_of(value));
    if (result.server_name.empty()) result.server_name = plain_name(result.all.back());
  }
  return result;
}

std::string other_name(X509* certificate, const std::string& host, std::string_view rename) {
  const Names names = names_in(certificate);
  if (names.all.empty())
    return "its certificate has no subjectAltName, so it is not for " + in_quotes(host);
  std::string list;
  for (const std::string& name : names.all)
    list += (list.empty() ? "" : ", ") + name;
  if (rename.empty()) rename = "connect by one of these names";
  std::string text = "its certificate is for " + list + ", not for " + in_quotes(host) + "; " +
                     std::string(rename);
  if (!names.server_name.empty()) text += ", or say --sni " + names.server_name;
  return text;
}

}  // namespace

std::string certificate_problem(X509_STORE_CTX* context,
                                const std::string& host,
                                std::string_view rename) {
  const int code = X509_STORE_CTX_get_error(context);
  X509* const certificate = X509_STORE_CTX_get_current_cert(context);
  const std::string what =
      X509_STORE_CTX_get_error_depth(context) == 0 ? "its certificate" : "a CA of its certificate";
  const std::string reason = X509_verify_cert_error_string(code);
  switch (code) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "its certificate is not signed by anyone trusted here (" + reason +
             "); name the CA with --cacert FILE";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return other_name(certificate, host, rename);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return what + " expired on " + utc(X509_get0_notAfter(certificate)) + this_clock();
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return what + " is not valid before " + utc(X509_get0_notBefore(certificate)) + this_clock();
    default:
      return what + " is not accepted: " + reason;
  }
}

TlsFacts tls_facts(const SSL* ssl) {
  X509* const certificate = SSL_get0_peer_certificate(ssl);
  DLOCK_ASSERT(certificate != nullptr);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  TlsFacts facts{
      .version = SSL_get_version(ssl), .names = names_in(certificate).all, .end = utc(end)};
  int days = 0;
  int seconds = 0;
  if (ASN1_TIME_diff(&days, &seconds, nullptr, end) == 1)
    facts.left = std::chrono::hours(24) * days + std::chrono::seconds(seconds);
  return facts;
}

}  // namespace dlock
