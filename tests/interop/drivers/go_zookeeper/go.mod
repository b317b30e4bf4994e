// SPDX-License-Identifier: MIT
// A version that the Go of Debian 12 (1.19) can build, too.
module interop

go 1.19

require github.com/go-zookeeper/zk v1.0.4

require actors v0.0.0

replace actors => ../actors
