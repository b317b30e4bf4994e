// SPDX-License-Identifier: MIT
// Takes and releases locks of go-zookeeper, as told on stdin; tests/interop/interop.bash has the
// words. Its Lock has neither a limit nor a kind.
//
//	go_zookeeper HOST:PORT SESSION_MS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"actors"

	"github.com/go-zookeeper/zk"
)

var client *zk.Conn

// An actor has locks of its own.
type actor struct {
	locks map[string]*zk.Lock
}

func newActor() actors.Actor {
	return &actor{map[string]*zk.Lock{}}
}

func (a *actor) lock(key string) (string, error) {
	a.locks[key] = zk.NewLock(client, "/"+key, zk.WorldACL(zk.PermAll))
	return "acquired", a.locks[key].Lock()
}

func (a *actor) unlock(key string) (string, error) {
	return "released", a.locks[key].Unlock()
}

// CarryOut obeys one line.
func (a *actor) CarryOut(verb, key string, rest []string) (string, error) {
	switch verb {
	case "lock":
		return a.lock(key)
	case "unlock":
		return a.unlock(key)
	case "add":
		return actors.Add(key, rest[0], rest[1], a.lock, a.unlock)
	}
	return "error unknown-word", nil
}

func main() {
	session, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var events <-chan zk.Event
	client, events, err = zk.Connect([]string{os.Args[1]}, time.Duration(session)*time.Millisecond)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for event := range events {
		if event.State == zk.StateHasSession {
			break
		}
	}
	actors.Run("go-zookeeper", newActor)
}
