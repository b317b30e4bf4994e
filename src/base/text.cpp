// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>

namespace dlock {

namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // 0: the bytes are not UTF-8
};

// Decodes the first character of `text`. The length is 0 if the first bytes are not strict UTF-8
// (RFC 3629), which has no overlong forms, no surrogates and nothing above U+10FFFF.
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  constexpr std::array<std::uint32_t, 5> k_least{0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t value = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  if (value < k_least.at(length) || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
    return {};
  return {value, length};
}

// Whether the character moves the cursor, changes the direction of the text, or breaks the line.
bool is_unsafe(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

// Appends `prefix` and at least `width` hexadecimal digits.
void append_hex(std::string& out, std::string_view prefix, unsigned width, std::uint32_t value) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  out += prefix;
  for (unsigned left = std::max(width, (static_cast<unsigned>(std::bit_width(value)) + 3) / 4);
       left > 0;
       --left) {
    out += k_digits[(value >> (4 * (left - 1))) & 0xFU];
  }
}

std::string escape(std::string_view text, bool quotes) {
  std::string out;
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const CodePoint c = decode(text);
    if (c.length == 0) {
      append_hex(out, "\\x", 2, static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (is_unsafe(c.value)) {
      append_hex(out, c.value < 0x80 ? "\\x" : "\\u", c.value < 0x80 ? 2 : 4, c.value);
    } else {
      if (quotes && (c.value == '"' || c.value == '\\')) out += '\\';
      out.append(text.substr(0, c.length));
    }
    text.remove_prefix(c.length);
  }
  return out;
}

// Returns 2 for East Asian scripts and emoji, otherwise 1, even for combining marks, which take no
// column.
std::size_t columns_of(std::uint32_t c) {
  // Whole blocks of Unicode count as wide although some of their characters are narrow: a count
  // that is too high makes no line too long.
  const bool signs = c >= 0x2300 && c < 0x2C00 && !(c >= 0x2500 && c < 0x25A0);
  const bool narrow = c < 0x1100 || (c >= 0x1160 && c < 0x2E80 && !signs) ||
                      (c >= 0xD7A4 && c < 0xF900) || (c >= 0xFB00 && c < 0xFE10);
  return narrow ? 1 : 2;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint c = decode(text);
    if (c.length == 0 || c.value == 0) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

std::string printable(std::string_view text) {
  return escape(text, false);
}

std::string in_quotes(std::string_view text) {
  return '"' + escape(text, true) + '"';
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const CodePoint c = decode(json);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    // Characters below ' ' stay as they are. In strings JSON has escaped them already, so they
    // stand only between values, for example as line feeds.
    if (c.value >= ' ' && is_unsafe(c.value)) {
      append_hex(out, "\\u", 4, c.value);
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
  return out;
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 < words.size() ? ", " : " and ") + words[i];
  return out;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  constexpr std::string_view k_more = "…";
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes > k_more.size() ? bytes - k_more.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80)
    --end;
  return std::string(text.substr(0, end)) + std::string(k_more);
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    columns += columns_of(c.value);
    text.remove_prefix(std::max<std::size_t>(c.length, 1));
  }
  return columns;
}

std::string fit(std::string_view text, std::size_t columns, std::string_view ellipsis) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::size_t dots = columns_of(ellipsis);
  if (columns <= dots) return std::string(columns, '.');
  std::size_t taken = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const CodePoint c = decode(text.substr(end));
    taken += columns_of(c.value);
    if (taken + dots > columns) break;
    end += std::max<std::size_t>(c.length, 1);
  }
  return std::string(text.substr(0, end)) + std::string(ellipsis);
}

std::string with_ascii_dots(std::string_view text) {
  constexpr std::string_view k_dots = "…";
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(k_dots, at)) != std::string::npos;)
    out.replace(at, k_dots.size(), "...");
  return out;
}

std::string percent_encode(std::string_view text, std::string_view keep) {
  const auto is_plain = [keep](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           keep.find(c) != std::string_view::npos;
  };
  std::string out;
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(end - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    append_hex(out, "%", 2, static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) pieces.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

bool has_piece(std::string_view text, char separator, std::string_view piece) {
  std::size_t end = 0;
  for (std::size_t begin = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(separator, begin);
    if (text.substr(begin, end - begin) == piece) return !piece.empty();
  }
  return false;
}

std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

}  // namespace dlock
