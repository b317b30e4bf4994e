// SPDX-License-Identifier: MIT
// The clock of the machine, which its containers share, and the rule by which a lease in a file is
// over because the kernel has started anew. All times that local:// and sqlite:// write are of this
// clock: CLOCK_BOOTTIME without the offset of the time namespace.
//
// A container may have a boot id of its own, which says nothing. The clock is the same for all and
// never goes back: a time later than now was written in an earlier boot. Promises: in any
// container, a lease of this boot is not taken for a lease of an earlier boot; a lease of an
// earlier boot lasts at most as long as it would have, and is over at once if the kernel's own ids
// show the restart.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "store/record_json.hpp"
#include "store/table/stored_lock.hpp"
#include "sys/boot.hpp"

#include <utility>

namespace dlock::local {

class Machine {
 public:
  // Errors as this_boot().
  static Result<Machine> here();
  explicit Machine(Boot boot) : boot_(std::move(boot)) {}

  lease_table::StoreTime now() const;
  lease_table::Moment moment(Time sent_at) const;
  BootStamp stamp() const;  // stamp for files written now

 private:
  Boot boot_;
};

// Whether `file` was written in another boot than that of `now`, a stamp taken after reading it. Up
// to 0.1 dlock wrote no time, and any id: then the leases say when they can have begun.
bool is_of_another_boot(const StateFile& file, const BootStamp& now);

}  // namespace dlock::local
