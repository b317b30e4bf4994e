// SPDX-License-Identifier: MIT
// Secret: a string that cannot be printed by accident. Only reveal() returns it, for code that
// needs the secret itself, for example to log in. If the secret is in a file, the file may change
// while a lock is held: so each reveal() reads it again, and every login uses the newest secret.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace dlock {

class Secret {
 public:
  // Reads the newest secret; nullopt: it cannot be read now.
  using Read = std::function<std::optional<std::string>()>;

  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(std::string text, Read newest) : text_(std::move(text)), newest_(std::move(newest)) {}

  bool empty() const { return text_.empty(); }
  // Returns the newest secret that could be read. Used by one thread at a time; another thread may
  // use a copy.
  std::string reveal() const {
    if (!newest_) return text_;
    if (auto text = newest_(); text && !text->empty()) text_ = std::move(*text);
    return text_;
  }

 private:
  mutable std::string text_;
  Read newest_;
};

}  // namespace dlock
