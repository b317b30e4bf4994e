// SPDX-License-Identifier: MIT
// Helpers for tests of etcd: servers, clients, and calls that must succeed or must fail.
#pragma once

#include "store/etcd/etcd_client.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/etcd_process.hpp"
#include "support/fake_peer.hpp"

namespace dlock::test {

inline std::unique_ptr<EtcdProcess> etcd(const EtcdProcess::Options& options = {}) {
  auto started = EtcdProcess::start(options);
  CAPTURE((started ? "" : started.error().text));
  REQUIRE(started.has_value());
  return std::move(*started);
}

// Returns the server for all cases that neither stop it nor demand a login.
inline EtcdProcess& shared_etcd() {
  static const auto shared = etcd();
  return *shared;
}

inline EtcdClient etcd_client(const std::string& url,
                              const Interrupt* interrupt = nullptr,
                              const TlsSettings& tls = {}) {
  auto address = parse_etcd_url(url);
  CAPTURE((address ? "" : address.error().text));
  REQUIRE(address.has_value());
  for (Endpoint& one : address->servers)
    if (one.tls != nullptr) one.tls = std::make_shared<const TlsSettings>(tls);
  return {*address, interrupt};
}

inline std::vector<EtcdAnswer> done(EtcdClient& client, const std::vector<EtcdRequest>& requests) {
  auto answers = client.run(requests, ample());
  CAPTURE((answers ? "" : answers.error().text));
  REQUIRE(answers.has_value());
  REQUIRE(answers->size() == requests.size());
  return std::move(*answers);
}

inline Error failed(EtcdClient& client, const std::vector<EtcdRequest>& requests, Time limit) {
  const auto answers = client.run(requests, limit);
  REQUIRE_FALSE(answers.has_value());
  return answers.error();
}
inline Error failed(EtcdClient& client, const std::vector<EtcdRequest>& requests) {
  return failed(client, requests, ample());
}

inline EtcdTxn put(const std::string& key, const std::string& value = "", EtcdLease lease = 0) {
  return {.compares = {}, .then = {EtcdPut{key, value, lease}}};
}
inline EtcdTxn remove(const std::string& key) {
  return {.compares = {}, .then = {EtcdDelete{{key}}}};
}

// Returns the value of a key, or "none".
inline std::string value_of(EtcdClient& client, const std::string& key) {
  const auto answers = done(client, {EtcdGet{{key}}});
  return answers[0].keys.empty() ? "none" : answers[0].keys[0].value;
}

}  // namespace dlock::test
