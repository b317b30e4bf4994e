// SPDX-License-Identifier: MIT
// The machine's clock, which all its containers share, and the rule by which a lease in a file has
// ended because the kernel was restarted. All times that local:// and sqlite:// write are of this
// clock: CLOCK_BOOTTIME without the offset of a time namespace.
//
// A container may have its own boot id, so a different id proves nothing. But the clock is the same
// for all and never goes back: a time that is later than now was written in an earlier boot.
// Promises, in any container: a lease of this boot never counts as one of an earlier boot. A lease
// of an earlier boot lasts at most as long as it would have, and has ended at once if the kernel's
// own boot ids show the restart.
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
  // Errors as for this_boot().
  static Result<Machine> here();
  explicit Machine(Boot boot) : boot_(std::move(boot)) {}

  lease_table::StoreTime now() const;
  lease_table::Moment moment(Time sent_at) const;
  BootStamp stamp() const;  // the stamp for files written now

 private:
  Boot boot_;
};

// Returns whether `file` was written in another boot than that of `now`, a stamp that was taken
// after the file was read. dlock 0.1 wrote no time, and any boot id: for its files the leases show
// whether they can have begun in this boot.
bool is_of_another_boot(const StateFile& file, const BootStamp& now);

}  // namespace dlock::local
