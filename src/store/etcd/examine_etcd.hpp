// SPDX-License-Identifier: MIT
// `dlock doctor` for etcd:// and etcds://: looks at each member that the URL names, and tries a
// lock of its own.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/etcd/etcd_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

Examination examine_etcd(const EtcdAddress& address,
                         const StoreOptions& options,
                         const ExamineTerms& terms);

Finding judge_etcd_version(const std::string& version);

}  // namespace dlock
