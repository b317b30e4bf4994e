// SPDX-License-Identifier: MIT
// Takes and releases locks of Go's etcd concurrency package, as told on stdin;
// tests/interop/interop.bash has the words.
//
//	etcd_go HOST:PORT
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"actors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var client *clientv3.Client

// An actor has locks of its own and a session for each.
type actor struct {
	locks    map[string]*concurrency.Mutex
	sessions map[string]*concurrency.Session
}

func newActor() actors.Actor {
	return &actor{map[string]*concurrency.Mutex{}, map[string]*concurrency.Session{}}
}

func (a *actor) mutex(key string) (*concurrency.Mutex, error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	if err != nil {
		return nil, err
	}
	a.sessions[key] = session
	a.locks[key] = concurrency.NewMutex(session, key)
	return a.locks[key], nil
}

// Its token is the revision of the answer that granted it, as etcdctl's ETCD_LOCK_REV.
func (a *actor) lock(key string) (string, error) {
	lock, err := a.mutex(key)
	if err != nil {
		return "", err
	}
	if err := lock.Lock(context.Background()); err != nil {
		return "", err
	}
	return fmt.Sprintf("acquired %d", lock.Header().Revision), nil
}

func (a *actor) try(key string) (string, error) {
	lock, err := a.mutex(key)
	if err != nil {
		return "", err
	}
	err = lock.TryLock(context.Background())
	if errors.Is(err, concurrency.ErrLocked) {
		return "refused", a.sessions[key].Close()
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("acquired %d", lock.Header().Revision), nil
}

func (a *actor) unlock(key string) (string, error) {
	if err := a.locks[key].Unlock(context.Background()); err != nil {
		return "", err
	}
	return "released", a.sessions[key].Close()
}

// CarryOut obeys one line.
func (a *actor) CarryOut(verb, key string, rest []string) (string, error) {
	switch verb {
	case "lock":
		return a.lock(key)
	case "try":
		return a.try(key)
	case "unlock":
		return a.unlock(key)
	case "add":
		return actors.Add(key, rest[0], rest[1], a.lock, a.unlock)
	}
	return "error unknown-word", nil
}

func main() {
	var err error
	client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{os.Args[1]}, DialTimeout: 10 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	actors.Run("etcd-go", newActor)
}
