// SPDX-License-Identifier: MIT
// Takes and gives back locks of redsync, as told on stdin; tests/interop/interop.bash has the
// words.
//
//	redsync HOST:PORT…
package main

import (
	"fmt"
	"os"
	"time"

	"actors"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redis "github.com/redis/go-redis/v9"
)

const often = 50 * time.Millisecond // between two tries; the library's own is 50 to 250 ms

var client *redsync.Redsync

// An actor has locks of its own.
type actor struct {
	locks map[string]*redsync.Mutex
}

func newActor() actors.Actor {
	return &actor{map[string]*redsync.Mutex{}}
}

func (a *actor) take(key string, lease time.Duration, options ...redsync.Option) (string, error) {
	if lease == 0 {
		lease = time.Minute
	}
	lock := client.NewMutex(key, append(options, redsync.WithExpiry(lease))...)
	if err := lock.Lock(); err != nil {
		return "refused", nil
	}
	a.locks[key] = lock
	return "acquired", nil
}

// CarryOut obeys one line.
func (a *actor) CarryOut(verb, key string, rest []string) (string, error) {
	delay := redsync.WithRetryDelay(often)
	switch verb {
	case "lock":
		return a.take(key, actors.Milliseconds(rest[0]), redsync.WithTries(1000000), delay)
	case "try":
		return a.take(key, actors.Milliseconds(rest[1]), redsync.WithTries(1+int(actors.Milliseconds(rest[0])/often)), delay)
	case "default":
		return a.take(key, actors.Milliseconds(rest[0]))
	case "unlock":
		if ok, err := a.locks[key].Unlock(); !ok || err != nil {
			return "error not-released", nil
		}
		return "released", nil
	case "extend":
		if ok, err := a.locks[key].Extend(); !ok || err != nil {
			return "error not-extended", nil
		}
		return "extended", nil
	case "add":
		return a.add(key, rest[0], rest[1])
	case "turn":
		return a.turn(key, actors.Milliseconds(rest[0]))
	}
	return "error unknown-word", nil
}

func (a *actor) add(key, file, times string) (string, error) {
	lock := func(key string) (string, error) {
		return a.take(key, 30*time.Second, redsync.WithTries(1000000), redsync.WithRetryDelay(often))
	}
	unlock := func(key string) (string, error) {
		a.locks[key].Unlock()
		return "", nil
	}
	return actors.Add(key, file, times, lock, unlock)
}

// Takes the lock with the library's own delays, as often as it needs, holds it and releases it. Says
// when it asked, held, began to release, and had released, in microseconds.
func (a *actor) turn(key string, hold time.Duration) (string, error) {
	asked := actors.Now()
	lock := client.NewMutex(key, redsync.WithExpiry(30*time.Second), redsync.WithTries(1000000))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	held := actors.Now()
	time.Sleep(hold)
	ended := actors.Now()
	if ok, err := lock.Unlock(); !ok {
		return "", err
	}
	return fmt.Sprintf("%d %d %d %d", asked, held, ended, actors.Now()), nil
}

func main() {
	pools := []redsyncredis.Pool{}
	for _, address := range os.Args[1:] {
		// Long: what is sent again after 3 s may have been carried out by a server that was only slow.
		// So many connections that no actor waits for one.
		options := redis.Options{Addr: address, ReadTimeout: 20 * time.Second, PoolSize: 500}
		pools = append(pools, goredis.NewPool(redis.NewClient(&options)))
	}
	client = redsync.New(pools...)
	actors.Run("redsync", newActor)
}
