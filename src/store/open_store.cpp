// SPDX-License-Identifier: MIT
#include "store/open_store.hpp"

#include "store/local/local_store.hpp"
#include "store/redis/redis_store.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace dlock {

namespace {

using Opener = Result<std::unique_ptr<LockStore>> (*)(const StoreOptions&);

Result<std::unique_ptr<LockStore>> open_local(const StoreOptions& options) {
  return LocalStore::open(options.url, options.interrupt);
}

constexpr std::array<std::pair<std::string_view, Opener>, 3> k_stores{{
    {"redis", &RedisStore::open},
    {"redis+unix", &RedisStore::open},
    {"local", &open_local},
}};

constexpr std::string_view k_forms = "redis://host:6379, redis+unix:///path or local:///dir";

Error bad(std::string reason) {
  return {Errc::bad_usage, std::move(reason)};
}

}  // namespace

Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options) {
  const std::string_view url = options.url;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos)
    return bad("it has no scheme; write " + std::string(k_forms));
  const std::string_view scheme = url.substr(0, colon);
  for (const auto& [name, open] : k_stores) {
    if (scheme == name) return open(options);
  }
  if (scheme == "rediss") return bad("TLS is not supported yet; without it, write redis://");
  return bad("there is no store with this scheme; write " + std::string(k_forms));
}

}  // namespace dlock
