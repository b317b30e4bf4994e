// SPDX-License-Identifier: MIT
#include "store/http/http_reader.hpp"

#include "sys/limits.hpp"

#include <http_parser.h>

#include <utility>

namespace dlock {

struct HttpReader::Parser {
  http_parser state{};
  HttpAnswer current;
  bool begun = false;
  std::deque<HttpAnswer> complete;

  Parser() {
    ::http_parser_init(&state, HTTP_RESPONSE);
    state.data = this;
  }

  static Parser& of(http_parser* state) { return *static_cast<Parser*>(state->data); }

  static int begin(http_parser* state) {
    of(state).current = {};
    of(state).begun = true;
    return 0;
  }
  static int end_of_head(http_parser* state) {
    of(state).current.status = static_cast<int>(state->status_code);
    return 0;
  }
  static int add(http_parser* state, const char* bytes, std::size_t size) {
    std::string& body = of(state).current.body;
    if (body.size() + size > limits::k_answer_bytes) return 1;
    body.append(bytes, size);
    return 0;
  }
  static int end(http_parser* state) {
    Parser& self = of(state);
    self.begun = false;
    constexpr int k_informational = 200;  // below 200: the real answer to the request follows
    if (self.current.status < k_informational) return 0;
    self.current.last = ::http_should_keep_alive(state) == 0;
    self.complete.push_back(std::exchange(self.current, {}));
    return 0;
  }

  static const http_parser_settings& callbacks() {
    static const http_parser_settings all = [] {
      http_parser_settings some{};
      ::http_parser_settings_init(&some);
      some.on_message_begin = begin;
      some.on_headers_complete = end_of_head;
      some.on_body = add;
      some.on_message_complete = end;
      return some;
    }();
    return all;
  }
};

HttpReader::HttpReader() : parser_(std::make_unique<Parser>()) {}
HttpReader::HttpReader(HttpReader&&) noexcept = default;
HttpReader& HttpReader::operator=(HttpReader&&) noexcept = default;
HttpReader::~HttpReader() = default;

Result<void> HttpReader::feed(std::string_view bytes) {
  if (bytes.empty()) return {};  // the parser takes a call without bytes for the end
  http_parser& state = parser_->state;
  const auto taken =
      ::http_parser_execute(&state, &Parser::callbacks(), bytes.data(), bytes.size());
  if (taken == bytes.size() && state.upgrade == 0) return {};
  if (HTTP_PARSER_ERRNO(&state) == HPE_CB_body)
    return Error{Errc::protocol, "gave an answer of more than 4 MiB"};
  return Error{Errc::protocol, "gave an answer that is not HTTP/1.1; is it the port for clients?"};
}

bool HttpReader::end() {
  const std::size_t before = parser_->complete.size();
  ::http_parser_execute(&parser_->state, &Parser::callbacks(), nullptr, 0);
  return parser_->complete.size() > before;
}

std::optional<HttpAnswer> HttpReader::next() {
  if (parser_->complete.empty()) return {};
  HttpAnswer answer = std::move(parser_->complete.front());
  parser_->complete.pop_front();
  return answer;
}

bool HttpReader::empty() const {
  return parser_->complete.empty() && !parser_->begun;
}

std::vector<std::string> HttpReader::take_lines() {
  constexpr int k_ok = 200;
  const bool waiting = parser_->complete.empty();
  HttpAnswer& answer = waiting ? parser_->current : parser_->complete.front();
  std::vector<std::string> lines;
  if (answer.status != k_ok) return lines;
  std::size_t from = 0;
  for (auto to = answer.body.find('\n'); to != std::string::npos;
       to = answer.body.find('\n', from)) {
    lines.push_back(answer.body.substr(from, to - from));
    from = to + 1;
  }
  answer.body.erase(0, from);
  return lines;
}

}  // namespace dlock
