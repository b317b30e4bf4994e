// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include "base/errno_text.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <random>
#include <string>

namespace dlock {

TEST_CASE("plain and international text is printed as it is") {
  CHECK(printable("") == "");
  CHECK(printable("order-42 größe 日本 🔒") == "order-42 größe 日本 🔒");
}

TEST_CASE("control characters are shown, not obeyed") {
  CHECK(printable("a\nb\tc") == "a\\nb\\tc");
  CHECK(printable("\x1b]0;x\x07") == "\\x1b]0;x\\x07");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("\r") == "\\x0d");
  CHECK(printable("\xc2\x9b") == "\\u009b");  // C1: CSI in one character
}

TEST_CASE("text cannot be turned around or broken into lines by Unicode") {
  CHECK(printable("\u202egnp") == "\\u202egnp");
  CHECK(printable("\u2066\u2069") == "\\u2066\\u2069");
  CHECK(printable("\u200f") == "\\u200f");
  CHECK(printable("\u2028\u2029") == "\\u2028\\u2029");
  CHECK(printable("\ufeff") == "\\ufeff");
}

TEST_CASE("bytes that are not UTF-8 are shown one by one") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("a\xc3") == "a\\xc3");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xf0\x9f\x94") == "\\xf0\\x9f\\x94");           // cut short
}

TEST_CASE("printing what was printed changes nothing") {
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left)
      text += static_cast<char>(random() % 256);
    const std::string once = printable(text);
    REQUIRE(printable(once) == once);
    for (const char c : once)
      REQUIRE(static_cast<unsigned char>(c) >= 0x20);
  }
}

TEST_CASE("quoting adds quotes and escapes quotes and backslashes") {
  CHECK(in_quotes("a b") == "\"a b\"");
  CHECK(in_quotes("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(in_quotes("\n") == "\"\\n\"");
}

TEST_CASE("shortening cuts between characters") {
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("abcdef", 5) == "ab…");
  CHECK(shortened("ääää", 7) == "ää…");
  CHECK(shortened("ääää", 6) == "ä…");
  CHECK(shortened("", 0) == "");
}

TEST_CASE("columns of a terminal: wide characters take two, bytes that are not UTF-8 one") {
  CHECK(columns_of("") == 0);
  CHECK(columns_of("größe …") == 7);
  CHECK(columns_of("日本") == 4);
  CHECK(columns_of("🔒") == 2);
  for (const char* const sign : {"✅", "❌", "⭐", "⚡", "⏳", "⌚", "☕", "⬛", "➕"})
    CHECK(columns_of(sign) == 2);
  CHECK(columns_of("\xff\xfe") == 2);
}

TEST_CASE("a text that does not fit into the columns ends with an ellipsis") {
  CHECK(fit("abc", 3, "…") == "abc");
  CHECK(fit("abcd", 3, "…") == "ab…");
  CHECK(fit("größe", 4, "…") == "grö…");
  CHECK(fit("日本語", 5, "…") == "日本…");
  CHECK(fit("日本語", 4, "…") == "日…");
  CHECK(fit("abcdef", 5, "...") == "ab...");
  CHECK(fit("abcdef", 2, "...") == "..");
  CHECK(fit("abc", 0, "…") == "");
}

TEST_CASE("without UTF-8 an ellipsis is three dots") {
  CHECK(with_ascii_dots("a…b… größe") == "a...b... größe");
}

TEST_CASE("percent-encoding keeps letters, digits and the given characters") {
  CHECK(percent_encode("aZ09-._~") == "aZ09-._~");
  CHECK(percent_encode("a/b c%") == "a%2fb%20c%25");
  CHECK(percent_encode("a.b", "-_") == "a%2eb");
  CHECK(percent_encode("\xff") == "%ff");
}

TEST_CASE("percent-decoding undoes encoding for every byte") {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all += static_cast<char>(i);
  CHECK(percent_decode(percent_encode(all)) == all);
  CHECK(percent_decode(percent_encode(all, "")) == all);
}

TEST_CASE("a malformed escape decodes to itself") {
  CHECK(percent_decode("%") == "%");
  CHECK(percent_decode("%4") == "%4");
  CHECK(percent_decode("%zz") == "%zz");
  CHECK(percent_decode("%4g1") == "%4g1");
  CHECK(percent_decode("%41%4a%4A") == "AJJ");
}

TEST_CASE("splitting drops empty pieces") {
  using Pieces = std::vector<std::string_view>;
  CHECK(split("a b  c ", ' ') == Pieces{"a", "b", "c"});
  CHECK(split("", ' ').empty());
  CHECK(split("   ", ' ').empty());
  CHECK(split("abc", ' ') == Pieces{"abc"});
}

TEST_CASE("a piece is found whole, at any place, and an empty one never") {
  for (const std::string_view piece : {"a", "bc", "d"})
    CHECK(has_piece("a bc d", ' ', piece));
  for (const std::string_view piece : {"", "b", "c", "bc d", "e"})
    CHECK_FALSE(has_piece("a bc  d", ' ', piece));
  CHECK_FALSE(has_piece("", ' ', ""));
}

TEST_CASE("the text of an errno begins in lower case") {
  CHECK(errno_text(ECONNREFUSED) == "connection refused");
  CHECK(errno_text(EACCES) == "permission denied");
  CHECK(in_mid_sentence("DNS server returned answer") == "DNS server returned answer");
  CHECK(in_mid_sentence("").empty());
}

}  // namespace dlock
