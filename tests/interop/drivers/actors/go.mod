// SPDX-License-Identifier: MIT
module actors

go 1.19
