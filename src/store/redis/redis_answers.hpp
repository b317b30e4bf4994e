// SPDX-License-Identifier: MIT
// Reads the answers of the scripts and returns them as types of lock_store.hpp. An answer in
// another form is Errc::protocol. `where` is the server's name for that error's text.
#pragma once

#include "core/lock_store.hpp"
#include "store/redis/redis_client.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

Error unexpected_answer(const std::string& where);

// Returns how long the server has been running at least. `info` is its answer to INFO server. Zero:
// unknown.
Duration uptime_in(std::string_view info);
// Returns the id of the server's process. `info` is the server's answer to INFO server. Empty:
// unknown.
std::string run_id_in(std::string_view info);

// Reads the state of a lock, as parts/holding.lua returns it.
Result<Holding> read_holding(ReplyView reply, const std::string& where);

// Read the answers of inspect.lua, forget.lua and unfreeze.lua.
Result<Holding> read_inspected(const Answer& answer, const std::string& where);
Result<std::optional<LastSuccess>> read_forgotten(const Answer& answer, const std::string& where);
Result<std::optional<Freeze>> read_unfrozen(const Answer& answer, const std::string& where);

// Read the answers of acquire.lua, renew.lua and release.lua.
Result<AcquireReply> read_claimed(const Claim& claim,
                                  const Answer& answer,
                                  const std::string& where);
Result<RenewReply> read_renewed(const Answer& answer, std::size_t names, const std::string& where);
Result<ReleaseVerdict> read_released(const Answer& answer,
                                     std::size_t names,
                                     const std::string& where);

}  // namespace dlock
