// SPDX-License-Identifier: MIT
#include "support/world_words.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace dlock::test {

using What = action::Ask::What;

const char* word_for(action::Ask::What what) {
  constexpr std::array k_words{"acquire",
                               "watch",
                               "await",
                               "watch_hold",
                               "renew",
                               "check",
                               "release",
                               "undo",
                               "leave",
                               "inspect",
                               "call"};
  return k_words.at(static_cast<std::size_t>(what));
}

std::string ask_text(const action::Ask& ask) {
  if (ask.what == What::acquire && ask.queueing == Queueing::listening) return "stand";
  if (ask.what == What::acquire && ask.queueing == Queueing::polling) return "stand polling";
  if (ask.what == What::watch && ask.front) return "watch front";
  return word_for(ask.what);
}

namespace {

// Cuts the name of the enumerator out of "… kind = dlock::Notice::Kind::lost]", so that a new kind
// of notice needs no entry here.
template <Notice::Kind kind>
std::string word_of_kind() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::string_view known =
      text.substr(text.find("Notice::Kind::") + sizeof("Notice::Kind::") - 1);
  return std::string(known.substr(0, known.find_first_of(";]")));
}

template <std::size_t... kinds>
std::array<std::string, sizeof...(kinds)> words_of_kinds(std::index_sequence<kinds...> /*all*/) {
  return {word_of_kind<static_cast<Notice::Kind>(kinds)>()...};
}

}  // namespace

const std::string& word_for(Notice::Kind kind) {
  static const auto words = words_of_kinds(std::make_index_sequence<Notice::k_kinds>());
  return words.at(static_cast<std::size_t>(kind));
}

std::string mark_of(const StoreAnswer& answer) {
  return std::visit(
      [](const auto& event) -> std::string {
        using T = std::decay_t<decltype(event)>;
        if (!event.answer)
          return event.answer.error().code == Errc::cancelled ? " cancelled" : " ?";
        if constexpr (std::is_same_v<T, event::Acquired>) {
          constexpr std::array k_words{" granted", " busy", " done"};
          return k_words.at(event.answer->index());
        } else if constexpr (std::is_same_v<T, event::HandedOff>) {
          constexpr std::array k_words{" turn", " next", " changed", ""};
          return k_words.at(static_cast<std::size_t>(*event.answer));
        } else if constexpr (std::is_same_v<T, event::Watched>) {
          return event.answer->untracked_because.empty() ? "" : " untracked";
        } else if constexpr (std::is_same_v<T, event::Renewed>) {
          constexpr std::array k_words{"", " held", " revoked", " lost"};
          return k_words.at(static_cast<std::size_t>(event.answer->verdict));
        } else if constexpr (std::is_same_v<T, event::Inspected>) {
          constexpr std::array k_words{" free", " held", " foreign"};
          return k_words.at(static_cast<std::size_t>(event.answer->kind));
        } else if constexpr (std::is_same_v<T, event::Called>) {
          return "";
        } else {
          if (*event.answer == ReleaseVerdict::not_held) return " not_held";
          return *event.answer == ReleaseVerdict::still_held ? " still_held" : "";
        }
      },
      answer);
}

std::string signal_word(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? name : "signal " + std::to_string(number);
}

std::string outcome_text(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::child:
      if (outcome.child.kind == ChildStatus::Kind::exited)
        return "exit " + std::to_string(outcome.child.value);
      if (outcome.child.kind == ChildStatus::Kind::signalled)
        return "exit by " + signal_word(outcome.child.value);
      return "exit not started";
    case Outcome::Kind::taken:
      return "exit taken";
    case Outcome::Kind::busy:
      return "exit busy";
    case Outcome::Kind::superseded:
      return "exit superseded";
    case Outcome::Kind::done:
      return "exit done";
    case Outcome::Kind::failed:
      return "exit failed";
    case Outcome::Kind::lost:
      return "exit lost";
    case Outcome::Kind::time_up:
      return "exit time_up";
    case Outcome::Kind::unavailable:
      return "exit unavailable";
    case Outcome::Kind::unlocked:
      return "exit unlocked " + std::to_string(outcome.child.value);
    case Outcome::Kind::signalled:
      return "exit by own " + signal_word(outcome.signal);
  }
  return "exit ?";
}

StoreAnswer failed(action::Ask::What what, Error error) {
  switch (what) {
    case What::acquire:
      return event::Acquired{std::move(error)};
    case What::watch:
    case What::watch_hold:
      return event::Watched{std::move(error)};
    case What::await_hand_off:
      return event::HandedOff{std::move(error)};
    case What::renew:
    case What::check:
      return event::Renewed{std::move(error)};
    case What::inspect:
      return event::Inspected{std::move(error)};
    case What::call:
      return event::Called{std::move(error)};
    case What::release:
    case What::undo:
    case What::leave:
      break;
  }
  return event::Released{std::move(error)};
}

Event run_event(StoreAnswer answer) {
  return std::visit(
      [](auto& event) -> Event {
        if constexpr (std::is_constructible_v<Event, std::decay_t<decltype(event)>>) {
          return std::move(event);
        } else {
          throw std::logic_error("a run asks for no such answer");
        }
      },
      answer);
}

std::string seconds_text(Duration d) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3f", std::chrono::duration<double>(d).count());
  std::string text(buffer.data());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "s";
}

}  // namespace dlock::test
