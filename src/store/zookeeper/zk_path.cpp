// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_path.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstddef>

namespace dlock {
namespace {

// Returns the bytes of the first character, or one byte if the text does not begin with UTF-8. The
// result is never empty.
std::string_view next_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  const auto whole = text.substr(0, length);
  return is_utf8(whole) ? whole : text.substr(0, 1);
}

// Returns whether ZooKeeper's PathUtils.validatePath refuses the character. Comparing bytes is
// enough, because UTF-8 bytes sort as the characters do.
bool is_refused(std::string_view character) {
  const auto within = [character](std::string_view first, std::string_view last) {
    return character >= first && character <= last;
  };
  return !is_utf8(character) || character < " " || within("\x7f", "\u009f") ||
         within("\ue000", "\uf8ff") || character >= "\ufff0";
}

bool is_dots(std::string_view name) {
  return name == "." || name == "..";
}

bool is_node(std::string_view name) {
  if (name.empty() || is_dots(name)) return false;
  while (!name.empty()) {
    const auto character = next_character(name);
    if (is_refused(character)) return false;
    name.remove_prefix(character.size());
  }
  return true;
}

}  // namespace

std::string zk_node_of(std::string_view name) {
  if (is_dots(name)) return percent_encode(name, "");
  std::string node;
  while (!name.empty()) {
    const auto character = next_character(name);
    const bool plain = !is_refused(character) && character != "/" && character != "%";
    node += plain ? std::string(character) : percent_encode(character, "");
    name.remove_prefix(character.size());
  }
  return node;
}

std::string zk_name_of(std::string_view node) {
  return percent_decode(node);
}

bool is_zk_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/') return false;
  path.remove_prefix(1);
  for (;;) {
    const auto slash = std::min(path.find('/'), path.size());
    if (!is_node(path.substr(0, slash))) return false;
    if (slash == path.size()) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace dlock
