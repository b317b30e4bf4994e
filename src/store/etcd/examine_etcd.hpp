// SPDX-License-Identifier: MIT
// `dlock doctor` for etcd:// and etcds://: each member that the URL names, and a lock of its own
// there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/store_options.hpp"

namespace dlock {

// An error where EtcdStore::open() would refuse the URL.
Result<Examination> examine_etcd(const StoreOptions& options, const ExamineTerms& terms);

Finding judge_etcd_version(const std::string& version);

}  // namespace dlock
