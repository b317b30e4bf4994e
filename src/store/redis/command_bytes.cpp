// SPDX-License-Identifier: MIT
#include "store/redis/command_bytes.hpp"

#include "base/assert.hpp"

#include <hiredis/hiredis.h>

#include <memory>

namespace dlock {

namespace {

struct FreeCommand {
  void operator()(char* bytes) const { redisFreeSdsCommand(bytes); }
};

constexpr std::string_view k_copies_asked_ms = "100";

Words with_keys(Words words, const Words& keys, const Words& args) {
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

}  // namespace

void append_command(std::string& out, const Words& words) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> lengths;
  pointers.reserve(words.size());
  lengths.reserve(words.size());
  for (const auto word : words) {
    pointers.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* raw = nullptr;
  const auto count = static_cast<int>(words.size());
  const auto size = redisFormatSdsCommandArgv(&raw, count, pointers.data(), lengths.data());
  DLOCK_ASSERT(size > 0);
  const std::unique_ptr<char, FreeCommand> bytes(raw);
  out.append(bytes.get(), static_cast<std::size_t>(size));
}

Words eval_words(std::string_view text,
                 std::string_view key_count,
                 const Words& keys,
                 const Words& args) {
  return with_keys({"EVAL", text, key_count}, keys, args);
}

Words evalsha_words(std::string_view sha1,
                    std::string_view key_count,
                    const Words& keys,
                    const Words& args) {
  return with_keys({"EVALSHA", sha1, key_count}, keys, args);
}

Words tracking_words(std::string_view listener) {
  return {"CLIENT", "TRACKING", "ON", "REDIRECT", listener, "NOLOOP"};
}

void append_wait(std::string& out, int replicas) {
  append_command(out, {"WAIT", std::to_string(replicas), k_copies_asked_ms});
}

}  // namespace dlock
