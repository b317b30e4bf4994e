// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_requests.hpp"

#include "base/base64.hpp"
#include "base/random.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace dlock {
namespace {

// JSON whose fields stay in order, so that equal requests are equal bytes.
using OrderedJson = nlohmann::ordered_json;

std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// Writes a number as text, because not every JSON reader keeps 64 bits of a number.
std::string whole(std::int64_t number) {
  return std::to_string(number);
}

void add_range(OrderedJson& json, const EtcdRange& range) {
  json["key"] = base64_encode(range.first);
  if (!range.end.empty()) json["range_end"] = base64_encode(range.end);
}

OrderedJson json_of(const EtcdGet& get) {
  OrderedJson json = OrderedJson::object();
  add_range(json, get.range);
  if (get.most > 0) json["limit"] = whole(get.most);
  if (get.by_creation) json["sort_order"] = "ASCEND";
  if (get.by_creation) json["sort_target"] = "CREATE";
  if (get.created_until > 0) json["max_create_revision"] = whole(get.created_until);
  if (get.written_from > 0) json["min_mod_revision"] = whole(get.written_from);
  if (get.keys_only) json["keys_only"] = true;
  return json;
}

OrderedJson json_of(const EtcdPut& put) {
  OrderedJson json{{"key", base64_encode(put.key)}, {"value", base64_encode(put.value)}};
  if (put.lease != 0) json["lease"] = whole(put.lease);
  return json;
}

OrderedJson json_of(const EtcdDelete& some) {
  OrderedJson json = OrderedJson::object();
  add_range(json, some.range);
  return json;
}

OrderedJson json_of(const EtcdCompare& compare) {
  constexpr std::array<std::string_view, 4> k_targets{"CREATE", "MOD", "VERSION", "LEASE"};
  constexpr std::array<std::string_view, 4> k_fields{
      "create_revision", "mod_revision", "version", "lease"};
  constexpr std::array<std::string_view, 4> k_relations{"EQUAL", "NOT_EQUAL", "GREATER", "LESS"};
  const auto number = static_cast<std::size_t>(compare.number);
  OrderedJson json = OrderedJson::object();
  add_range(json, compare.range);
  json["target"] = k_targets[number];
  json["result"] = k_relations[static_cast<std::size_t>(compare.relation)];
  json[std::string(k_fields[number])] = whole(compare.than);
  return json;
}

OrderedJson json_of(const EtcdTxn& txn);

OrderedJson json_of(const std::vector<EtcdOperation>& branch) {
  constexpr std::array<const char*, 4> k_names{
      "request_range", "request_put", "request_delete_range", "request_txn"};
  OrderedJson all = OrderedJson::array();
  for (const EtcdOperation& one : branch) {
    OrderedJson json = std::visit([](const auto& which) { return json_of(which); }, one);
    all.push_back(OrderedJson{{k_names[one.index()], std::move(json)}});
  }
  return all;
}

OrderedJson json_of(const EtcdTxn& txn) {
  OrderedJson compares = OrderedJson::array();
  for (const EtcdCompare& one : txn.compares)
    compares.push_back(json_of(one));
  return {{"compare", std::move(compares)},
          {"success", json_of(txn.then)},
          {"failure", json_of(txn.otherwise)}};
}

struct Path {
  std::string_view operator()(const EtcdGrant& /*unused*/) const { return "/v3/lease/grant"; }
  std::string_view operator()(const EtcdRevoke& /*unused*/) const { return "/v3/lease/revoke"; }
  std::string_view operator()(const EtcdKeepAlive& /*unused*/) const {
    return "/v3/lease/keepalive";
  }
  std::string_view operator()(const EtcdTimeToLive& /*unused*/) const {
    return "/v3/lease/timetolive";
  }
  std::string_view operator()(const EtcdGet& /*unused*/) const { return "/v3/kv/range"; }
  std::string_view operator()(const EtcdTxn& /*unused*/) const { return "/v3/kv/txn"; }
  std::string_view operator()(const EtcdStatus& /*unused*/) const {
    return "/v3/maintenance/status";
  }
};

OrderedJson json_of(const EtcdGrant& grant) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grant.ttl).count();
  return {{"TTL", whole(seconds)}, {"ID", whole(grant.lease)}};
}
OrderedJson json_of(const EtcdRevoke& revoke) {
  return {{"ID", whole(revoke.lease)}};
}
OrderedJson json_of(const EtcdKeepAlive& keep) {
  return {{"ID", whole(keep.lease)}};
}
OrderedJson json_of(const EtcdTimeToLive& which) {
  return {{"ID", whole(which.lease)}};
}
OrderedJson json_of(const EtcdStatus& /*unused*/) {
  return OrderedJson::object();
}

}  // namespace

EtcdRange keys_below(std::string prefix) {
  EtcdRange range{.first = std::move(prefix)};
  range.end = range.first;
  constexpr char k_largest = '\xff';
  while (!range.end.empty() && range.end.back() == k_largest)
    range.end.pop_back();
  // The prefix has only bytes 0xff, so no key ends the range. etcd writes a range of all larger
  // keys with the end "\0".
  if (range.end.empty())
    range.end = std::string(1, '\0');
  else
    ++range.end.back();
  return range;
}

EtcdLease new_etcd_lease() {
  for (;;) {
    std::array<unsigned char, sizeof(EtcdLease)> bytes{};
    fill_randomly(bytes);
    const auto lease = std::bit_cast<EtcdLease>(bytes) & std::numeric_limits<EtcdLease>::max();
    if (lease != 0) return lease;
  }
}

std::string lease_digits(EtcdLease lease) {
  std::array<char, 2 * sizeof lease> digits{};
  constexpr int k_base = 16;
  char* const from = digits.data();
  const auto result = std::to_chars(from, from + digits.size(), lease, k_base);
  return {from, result.ptr};
}

EtcdWords words_of(const EtcdRequest& request) {
  return {std::visit(Path(), request),
          dump(std::visit([](const auto& which) { return json_of(which); }, request))};
}

EtcdWords long_words() {
  constexpr std::size_t k_buffer = std::size_t{4} << 10;
  EtcdWords words = words_of(EtcdStatus{});
  words.json.append(k_buffer + 1, ' ');
  return words;
}

EtcdWords login_words(const std::string& user, const std::string& password) {
  return {"/v3/auth/authenticate", dump({{"name", user}, {"password", password}})};
}

EtcdWords watch_words(const std::vector<EtcdRange>& ranges, EtcdRevision from, EtcdEvents which) {
  std::string all;
  for (const EtcdRange& range : ranges) {
    OrderedJson json = OrderedJson::object();
    add_range(json, range);
    if (from > 0) json["start_revision"] = whole(from);
    if (which == EtcdEvents::deletes) json["filters"] = OrderedJson::array({"NOPUT"});
    all += dump({{"create_request", std::move(json)}});
  }
  return {"/v3/watch", std::move(all)};
}

}  // namespace dlock
