// SPDX-License-Identifier: MIT
#include "store/redis/error_reply.hpp"

#include <cctype>

namespace dlock {
namespace {

struct Rule {
  std::string_view start;
  ErrorReply meaning;
};

constexpr std::string_view k_replica = "this is a replica";
constexpr std::string_view k_cluster = "this is a cluster node; is it redis+cluster:// ?";
constexpr std::string_view k_no_cluster = "it is no cluster node; is it redis:// ?";
constexpr std::string_view k_not_served = "the cluster does not serve this slot now";
constexpr std::string_view k_moving = "a slot of the cluster is being moved to another node";
constexpr std::string_view k_several_masters =
    "is a KeyDB that accepts writes on several masters at once, so it cannot exclude other clients";
constexpr std::string_view k_declared_only =
    "this server allows scripts only the keys that are named; readers and slots cannot be kept "
    "there";
constexpr std::string_view k_rights = "the rights needed: ACCESS RULES in dlock-protocol(7)";
constexpr std::string_view k_needs_password =
    "needs a password: set DLOCK_PASSWORD or give --password-file";

// The first rule whose beginning fits the error reply decides. If no rule fits, the error is
// Errc::refused.
constexpr Rule k_rules[] = {
    {"WRONGPASS", {Errc::denied, false, {}}},
    {"NOAUTH", {Errc::denied, true, {}, k_needs_password}},
    {"NOPERM", {Errc::denied, false, k_rights}},
    // The server is in "protected mode": it accepts only local clients.
    {"DENIED", {Errc::denied, true, {}}},
    {"ERR invalid password", {Errc::denied, false, {}}},
    {"ERR Client sent AUTH, but no password is set", {Errc::denied, false, {}}},
    {"ERR AUTH <password> called without any password", {Errc::denied, false, {}}},
    // Redis 7 and newer refuse to read a long command before AUTH.
    {"ERR Protocol error: unauthenticated", {Errc::denied, true, {}, k_needs_password}},
    {"ERR max number of clients", {Errc::unavailable, true, {}}},
    {"LOADING", {Errc::unavailable, true, {}}},
    {"BUSY ", {Errc::unavailable, false, {}}},
    {"MASTERDOWN", {Errc::unavailable, true, k_replica}},
    {"CLUSTERDOWN", {Errc::unavailable, true, k_not_served}},
    {"TRYAGAIN", {Errc::unavailable, false, k_moving}},
    {"READONLY", {Errc::refused, true, k_replica}},
    // WAIT is refused with these texts if the master has just become a replica.
    {"UNBLOCKED", {Errc::unavailable, true, k_replica}},
    {"ERR WAIT cannot be used with replica", {Errc::refused, true, k_replica}},
    {"MOVED", {Errc::refused, true, k_cluster}},
    {"ASK ", {Errc::refused, true, k_moving}},
    {"ERR This instance has cluster support disabled", {Errc::refused, false, k_no_cluster}},
    {"CROSSSLOT", {Errc::bad_usage, false, k_cluster}},
    // The script acquire.lua returns this error.
    {"MULTIMASTER", {Errc::bad_config, false, {}, k_several_masters}},
};

// Returns the text of an error that occurred in a script. Redis 6.2 puts the position in the script
// before it, sometimes twice: "ERR Error running script (call to f_<sha>): @user_script:1: -OOM
// command …".
std::string_view unwrapped(std::string_view text) {
  constexpr std::string_view place = "user_script:";
  const auto at = text.rfind(place);
  if (!text.starts_with("ERR Error running script") || at == std::string_view::npos) return text;
  const auto inner = text.find_first_not_of("0123456789 :-", at + place.size());
  return inner == std::string_view::npos ? text : text.substr(inner);
}

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || c == '-' || byte >= 0x80;
}

}  // namespace

std::string_view words_of(std::string_view text) {
  text = unwrapped(text);
  // Redis 7 puts the position in the script behind the text: " script: <sha>, on @user_script:337."
  const auto place = text.rfind(", on @user_script:");
  return place == std::string_view::npos ? text : text.substr(0, text.rfind(" script: ", place));
}

ErrorReply classify_error(std::string_view text) {
  // What Redis says where a right is missing within a script: 7.0 and older, then newer.
  for (const std::string_view lacks : {"The user executing the script", "ACL failure in script"}) {
    if (text.find(lacks) != std::string_view::npos) return {Errc::denied, false, k_rights};
  }
  // Dragonfly refuses a script with this text if the script uses a key that its caller did not
  // declare. ElastiCache Serverless and Kvrocks refuse undeclared keys, too.
  if (text.find("undeclared key") != std::string_view::npos)
    return {Errc::refused, false, k_declared_only};
  text = unwrapped(text);
  for (const auto& rule : k_rules) {
    if (text.starts_with(rule.start)) return rule.meaning;
  }
  return {};
}

// Replaces the secret only where it is a word of its own, because a reply repeats it that way.
// Within another word a short secret occurs only by chance.
std::string without_word(std::string_view text, std::string_view secret) {
  std::string clean(text);
  std::size_t from = 0;
  while (!secret.empty() && (from = clean.find(secret, from)) != std::string::npos) {
    const std::size_t end = from + secret.size();
    const bool within = (from > 0 && is_word_byte(clean[from - 1])) ||
                        (end < clean.size() && is_word_byte(clean[end]));
    if (!within) clean.replace(from, secret.size(), "***");
    from += within ? 1 : 3;
  }
  return clean;
}

}  // namespace dlock
