// SPDX-License-Identifier: MIT
// `dlock doctor` for zookeeper:// and zookeepers://: looks at each server that the URL names, and
// tries a session and a lock of its own.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/store_options.hpp"
#include "store/zookeeper/zk_url.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

Examination examine_zookeeper(const ZkAddress& address,
                              const StoreOptions& options,
                              const ExamineTerms& terms);

// A server's answer to "srvr".
struct ZkServerWords {
  std::string version;  // "3.8.0"
  std::string mode;     // "leader", "follower", "observer", "standalone"
};
// Reads the answer to "srvr". Returns nullopt if the server is not serving, or if "srvr" is not in
// its 4lw.commands.whitelist.
std::optional<ZkServerWords> parse_srvr(std::string_view answer);

Finding judge_zk_version(const std::string& version);
Finding judge_zk_mode(const std::string& mode);
Finding judge_zk_servers(std::size_t named);
// Returns the finding about the rights to `folder`, the folder of the locks. `others`: the other
// users with rights to it (zk_rights.hpp).
Finding judge_zk_folder(const std::string& folder, const std::string& others, bool is_private);

}  // namespace dlock
