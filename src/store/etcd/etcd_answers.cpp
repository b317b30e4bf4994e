// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_answers.hpp"

#include "base/base64.hpp"
#include "store/json_bounds.hpp"
#include "store/table/contender.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace dlock {
namespace {

using Json = nlohmann::json;

constexpr int k_ok = 200;

Json parse(std::string_view text) {
  if (!is_within_bounds(text)) return Json::value_t::discarded;
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

EtcdRefusal unreadable() {
  return {.code = Errc::protocol, .text = "an answer that is none of etcd"};
}

const Json* at(const Json& object, const char* field) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(field);
  return found == object.end() ? nullptr : &*found;
}

// Reads a number. Returns false if it is negative, or if the field has something else. A missing
// field is 0, because etcd's JSON gateway omits fields that are zero, "" or false.
bool take_number(const Json& object, const char* field, std::int64_t& number) {
  const Json* const value = at(object, field);
  number = 0;
  if (value == nullptr) return true;
  if (value->is_number_unsigned() || value->is_number_integer()) {
    number = value->get<std::int64_t>();
    return number >= 0;
  }
  if (!value->is_string()) return false;
  const auto& text = value->get_ref<const std::string&>();
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end && number >= 0;
}

// Reads a revision: the number of a write to the store, from 1. It must be below 2^53, so that
// fencing tokens, which are computed from it, do not overflow.
bool take_revision(const Json& object, const char* field, std::int64_t& number) {
  return take_number(object, field, number) && number < contender::Epoch::k_most;
}

bool take_bytes(const Json& object, const char* field, std::string& bytes) {
  const Json* const value = at(object, field);
  if (value == nullptr) return true;
  if (!value->is_string()) return false;
  auto decoded = base64_decode(value->get_ref<const std::string&>());
  if (decoded) bytes = std::move(*decoded);
  return decoded.has_value();
}

bool take_flag(const Json& object, const char* field, bool& flag) {
  const Json* const value = at(object, field);
  flag = value != nullptr && value->is_boolean() && value->get<bool>();
  return value == nullptr || value->is_boolean();
}

std::string text_at(const Json& object, const char* field) {
  const Json* const value = at(object, field);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

bool take_key(const Json& json, EtcdKey& key) {
  return json.is_object() && take_bytes(json, "key", key.key) && !key.key.empty() &&
         take_bytes(json, "value", key.value) &&
         take_revision(json, "create_revision", key.created) &&
         take_revision(json, "mod_revision", key.modified) && take_number(json, "lease", key.lease);
}

// Returns the refusal in a body that is no answer: {"message":…,"code":…}, or in a stream
// {"error":{"message":…,"grpc_code":… or "code":…}}.
std::optional<EtcdRefusal> refusal_in(const Json& body) {
  const Json* const error = at(body, "error");
  const Json& place = error != nullptr && error->is_object() ? *error : body;
  const std::string message = text_at(place, "message");
  std::int64_t code = 0;
  if (at(place, "message") == nullptr || !take_number(place, "code", code)) return {};
  if (code == 0 && !take_number(place, "grpc_code", code)) return {};
  constexpr std::int64_t k_largest_code = 1000;
  return refusal_of(code < k_largest_code ? static_cast<int>(code) : -1, message);
}

bool take(const Json& json, const EtcdGet& get, EtcdAnswer& answer) {
  const Json* const keys = at(json, "kvs");
  if (!take_number(json, "count", answer.count)) return false;
  if (keys != nullptr && !keys->is_array()) return false;
  for (std::size_t i = 0; keys != nullptr && i < keys->size(); ++i)
    if (!take_key((*keys)[i], answer.keys.emplace_back())) return false;
  // The answer must have all keys, unless only some were asked for.
  const auto given = static_cast<std::int64_t>(answer.keys.size());
  if (get.most > 0 && given > get.most) return false;
  const bool some = get.most > 0 || get.created_until > 0 || get.written_from > 0;
  return some ? given <= answer.count : given == answer.count;
}

bool take(const Json& json, const EtcdPut& /*put*/, EtcdAnswer& /*answer*/) {
  return json.is_object();
}

bool take(const Json& json, const EtcdDelete& /*which*/, EtcdAnswer& answer) {
  return json.is_object() && take_number(json, "deleted", answer.count);
}

bool take(const Json& json, const EtcdTxn& txn, EtcdAnswer& answer) {
  constexpr std::array<const char*, 4> k_names{
      "response_range", "response_put", "response_delete_range", "response_txn"};
  if (!json.is_object() || !take_flag(json, "succeeded", answer.succeeded)) return false;
  if (txn.compares.empty() && !answer.succeeded) return false;
  const auto& branch = answer.succeeded ? txn.then : txn.otherwise;
  const Json* const parts = at(json, "responses");
  const std::size_t count = parts != nullptr && parts->is_array() ? parts->size() : 0;
  if (count != branch.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const EtcdOperation& operation = branch[i];
    const Json* const part = at((*parts)[i], k_names[operation.index()]);
    EtcdAnswer& said = answer.parts.emplace_back();
    const auto take_part = [&](const auto& which) { return take(*part, which, said); };
    if (part == nullptr || !std::visit(take_part, operation)) return false;
  }
  return true;
}

bool take_ttl(const Json& json, EtcdLease lease, EtcdAnswer& answer) {
  EtcdLease said = 0;
  std::int64_t seconds = 0;
  constexpr std::int64_t k_longest = 9'000'000'000;  // etcd's own limit
  if (!take_number(json, "ID", said) || !take_number(json, "TTL", seconds)) return false;
  if (said != lease || seconds > k_longest) return false;
  answer.ttl = std::chrono::seconds(seconds);
  return true;
}

bool take(const Json& json, const EtcdGrant& grant, EtcdAnswer& answer) {
  return take_ttl(json, grant.lease, answer) && answer.ttl > Duration::zero();
}
bool take(const Json& json, const EtcdKeepAlive& keep, EtcdAnswer& answer) {
  return take_ttl(json, keep.lease, answer);
}
bool take(const Json& json, const EtcdTimeToLive& which, EtcdAnswer& answer) {
  if (text_at(json, "TTL") == "-1") return true;
  return take_ttl(json, which.lease, answer);
}
bool take(const Json& json, const EtcdRevoke& /*revoke*/, EtcdAnswer& /*answer*/) {
  return json.is_object();
}
bool take(const Json& json, const EtcdStatus& /*status*/, EtcdAnswer& answer) {
  answer.version = text_at(json, "version");
  if (const Json* const header = at(json, "header"); header != nullptr)
    answer.cluster = text_at(*header, "cluster_id");
  const std::string leader = text_at(json, "leader");
  answer.has_leader = !leader.empty() && leader != "0";
  return !answer.version.empty();
}

// Returns an answer in place of a refusal that means success: the lease to be made exists, or the
// lease to be revoked does not. nullopt: any other refusal.
std::optional<EtcdAnswer> wished(const EtcdRequest& request, const EtcdRefusal& refusal) {
  if (std::holds_alternative<EtcdGrant>(request) && refusal.text == etcd_says::k_lease_exists)
    return EtcdAnswer{.existed = true};
  if (std::holds_alternative<EtcdRevoke>(request) && refusal.text == etcd_says::k_no_lease)
    return EtcdAnswer{};
  return {};
}

EtcdRefusal refusal_from(const Json& body, int status) {
  const auto said = refusal_in(body);
  if (said) return *said;
  return status == k_ok ? unreadable() : refusal_of_status(status);
}

}  // namespace

EtcdRead read_answer(const EtcdRequest& request, const HttpAnswer& http) {
  const Json body = parse(http.body);
  // etcd answers a keep-alive by a stream of one line, with the answer in its field "result".
  const bool wrapped = std::holds_alternative<EtcdKeepAlive>(request);
  const Json* const json = wrapped ? at(body, "result") : &body;
  const Json* const header = json != nullptr ? at(*json, "header") : nullptr;
  if (http.status != k_ok || header == nullptr) {
    EtcdRefusal refusal = refusal_from(body, http.status);
    if (auto answer = wished(request, refusal)) return std::move(*answer);
    return refusal;
  }
  EtcdAnswer answer;
  const auto take_all = [&](const auto& which) { return take(*json, which, answer); };
  if (!take_revision(*header, "revision", answer.revision) ||
      !take_number(*header, "raft_term", answer.term) || !std::visit(take_all, request))
    return unreadable();
  return answer;
}

std::variant<std::string, EtcdRefusal> read_login(const HttpAnswer& http) {
  const Json body = parse(http.body);
  std::string token = text_at(body, "token");
  // The token is put into a header line of later requests, so it must not contain blanks or control
  // characters.
  const auto is_sound = [](char c) { return c > ' ' && c < '\x7f'; };
  const bool sound = !token.empty() && std::all_of(token.begin(), token.end(), is_sound);
  if (http.status == k_ok && sound) return token;
  EtcdRefusal refusal = refusal_from(body, http.status);
  if (refusal.text == etcd_says::k_no_auth) return std::string();
  return refusal;
}

std::variant<EtcdNews, EtcdRefusal> read_news(std::string_view line) {
  const Json body = parse(line);
  const Json* const result = at(body, "result");
  if (result == nullptr) return refusal_from(body, k_ok);
  bool cancelled = false;
  bool created = false;
  std::int64_t compacted = 0;
  if (!take_flag(*result, "canceled", cancelled) || !take_flag(*result, "created", created) ||
      !take_revision(*result, "compact_revision", compacted))
    return unreadable();
  if (compacted > 0)
    return EtcdRefusal{.code = Errc::unavailable,
                       .text = "the revisions before " + std::to_string(compacted) +
                               " are compacted, and the watch began before"};
  if (cancelled) return refusal_of(text_at(*result, "cancel_reason"));
  EtcdNews news{.created = created ? 1 : 0};
  const Json* const events = at(*result, "events");
  if (events != nullptr && !events->is_array()) return unreadable();
  for (std::size_t i = 0; events != nullptr && i < events->size(); ++i) {
    const Json& one = (*events)[i];
    const Json* const key = at(one, "kv");
    EtcdEvent& event = news.events.emplace_back();
    event.deleted = text_at(one, "type") == "DELETE";
    if (key == nullptr || !take_key(*key, event.key)) return unreadable();
  }
  return news;
}

EtcdRefusal read_end_of_news(const HttpAnswer& answer) {
  EtcdRefusal refusal = refusal_from(parse(answer.body), answer.status);
  if (answer.status != k_ok || refusal.grpc >= 0) return refusal;
  return {.code = Errc::unavailable, .text = "the watch has ended"};
}

}  // namespace dlock
