// SPDX-License-Identifier: MIT
#pragma once

namespace dlock::sim {

bool search_all_schedules();

}  // namespace dlock::sim
