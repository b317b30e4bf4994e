// SPDX-License-Identifier: MIT
// Result<T>: a value or an Error, for all that can go wrong outside dlock; DLOCK_ASSERT is for
// mistakes of dlock itself. The member functions of Result have the names of those of
// std::expected. dlock throws no exceptions of its own. A Result that is ignored does not compile.
#pragma once

#include "base/assert.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace dlock {

// The kinds of errors. Two errors are of different kinds only where callers act differently.
enum class Errc {
  bad_usage,      // what the caller asks for makes no sense
  bad_config,     // a file, variable or URL makes no sense
  no_such_host,   // the name service knows no host with this name: nothing was sent
  not_listening,  // no server listens at that port or socket: nothing was sent
  unavailable,    // cannot be reached now: another try may help
  timed_out,      // no answer in time: the request may or may NOT have been carried out
  unconfirmed,    // carried out, but too few replicas have it: it does not count yet
  refused,        // the server refuses: another try will not help soon
  lost,           // the hold that this claim relies on was lost
  denied,         // the password, the user or a right is missing or wrong
  protocol,       // the answer does not follow the protocol
  cancelled,      // we were interrupted: the request may have been carried out
  system,         // this machine failed (memory, descriptors, processes)
};

// How far a request that failed may have come, the farthest first.
enum class Reach {
  request,     // a server may have got the request
  connection,  // a server took the connection, but got no request
  nothing,     // no server took the connection, or no file could be opened and locked
};

struct Error {
  Errc code = Errc::system;
  std::string text;  // "cannot renew lock …: no answer from … within 2s"; never a password
  Reach reach = Reach::request;
};

// Returns the error of a request that came no farther than `reach`.
inline Error reached(Reach reach, Error error) {
  error.reach = reach;
  return error;
}

// Returns how far the request of this error may have come: Error::reach, or less if the code says
// that no server was there.
inline Reach reach_of(const Error& error) {
  const bool alone = error.code == Errc::no_such_host || error.code == Errc::not_listening;
  return alone ? Reach::nothing : error.reach;
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() {
    DLOCK_ASSERT(has_value());
    return std::get<0>(state_);
  }
  const T& value() const {
    DLOCK_ASSERT(has_value());
    return std::get<0>(state_);
  }
  const Error& error() const {
    DLOCK_ASSERT(!has_value());
    return std::get<1>(state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    DLOCK_ASSERT(!has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace dlock
