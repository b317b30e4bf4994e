// SPDX-License-Identifier: MIT
// `dlock doctor` for etcd:// and etcds://: each member that the URL names, and a lock of its own
// there.
#pragma once

#include "base/result.hpp"
#include "store/finding.hpp"
#include "store/store_options.hpp"

namespace dlock {

// What EtcdStore::open() refuses is an error here, too.
Result<Examination> examine_etcd(const StoreOptions& options, const ExamineTerms& terms);

Finding judge_etcd_version(const std::string& version);

}  // namespace dlock
