// SPDX-License-Identifier: MIT
// The etcd of go.mod, for ./dev servers.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
