// SPDX-License-Identifier: MIT
#include "store/open_store.hpp"

#include "base/text.hpp"
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

}  // namespace

Result<std::unique_ptr<LockStore>> open_store(const StoreOptions& options) {
  const std::string_view url = options.url;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) {
    return Error{Errc::bad_config,
                 "the store URL has no scheme: write redis://host:6379, redis+unix:///path or "
                 "local:///dir"};
  }
  const std::string_view scheme = url.substr(0, colon);
  for (const auto& [name, open] : k_stores) {
    if (scheme == name) return open(options);
  }
  return Error{Errc::bad_config,
               "no store for URL scheme " + in_quotes(shortened(scheme, 40)) +
                   ": there are redis, redis+unix and local"};
}

}  // namespace dlock
