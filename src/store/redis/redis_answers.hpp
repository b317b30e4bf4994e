// SPDX-License-Identifier: MIT
// What the scripts of scripts/ answer, as words of the seam. An answer that is none of them is
// Errc::protocol and names the server (`where`).
#pragma once

#include "core/lock_store.hpp"
#include "store/redis/redis_client.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

Error unexpected_answer(const std::string& where);

// Of INFO server: for how long the server has been running, at least. Zero: it does not say.
Duration uptime_in(std::string_view info);
// The name of its process; empty: it does not say.
std::string run_id_in(std::string_view info);

// Of holding.lua.
Result<Holding> read_holding(ReplyView reply, const std::string& where);

// Of inspect.lua and forget.lua.
Result<Holding> read_inspected(const Answer& answer, const std::string& where);
Result<std::optional<LastSuccess>> read_forgotten(const Answer& answer, const std::string& where);

// Of acquire.lua, renew.lua and release.lua.
Result<AcquireReply> read_claimed(const Claim& claim,
                                  const Answer& answer,
                                  const std::string& where);
Result<RenewReply> read_renewed(const Answer& answer, std::size_t names, const std::string& where);
Result<ReleaseVerdict> read_released(const Answer& answer,
                                     std::size_t names,
                                     const std::string& where);

}  // namespace dlock
