// SPDX-License-Identifier: MIT
// Takes and gives back locks of redsync, as told on stdin; tests/interop/interop.bash has the
// words.
//
//	redsync HOST:PORT…
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redis "github.com/redis/go-redis/v9"
)

const often = 50 * time.Millisecond // between two tries; the library's own is 50 to 250 ms

var (
	client *redsync.Redsync
	output sync.Mutex
)

func now() int64 { return time.Now().UnixMicro() }

func say(when int64, text string) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf("%d %s\n", when, text)
}

func ms(text string) time.Duration {
	value, _ := strconv.Atoi(text)
	return time.Duration(value) * time.Millisecond
}

// An actor does one thing after the other, with locks of its own.
type actor struct {
	lines chan string
	locks map[string]*redsync.Mutex
}

func newActor() *actor {
	a := &actor{make(chan string, 100), map[string]*redsync.Mutex{}}
	go func() {
		for line := range a.lines {
			a.obey(line)
		}
	}()
	return a
}

func (a *actor) obey(line string) {
	word := strings.Fields(line)
	called := now()
	result, err := a.carryOut(word)
	if err != nil {
		result = "error " + strings.ReplaceAll(err.Error(), " ", "-")
	}
	// A release is over for the others as soon as it is asked for.
	when := called
	if word[1] != "unlock" {
		when = now()
	}
	say(when, fmt.Sprintf("%s %s %s %s", word[0], word[1], word[2], result))
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

func (a *actor) carryOut(word []string) (string, error) {
	verb, key, rest := word[1], word[2], word[3:]
	delay := redsync.WithRetryDelay(often)
	switch verb {
	case "lock":
		return a.take(key, ms(rest[0]), redsync.WithTries(1000000), delay)
	case "try":
		return a.take(key, ms(rest[1]), redsync.WithTries(1+int(ms(rest[0])/often)), delay)
	case "default":
		return a.take(key, ms(rest[0]))
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
		return a.turn(key, ms(rest[0]))
	}
	return "error unknown-word", nil
}

// Adds 1 to the number in a file, so many times, each time under the lock.
func (a *actor) add(key, file, times string) (string, error) {
	count, _ := strconv.Atoi(times)
	for i := 0; i < count; i++ {
		a.take(key, 30*time.Second, redsync.WithTries(1000000), redsync.WithRetryDelay(often))
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		number, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return "", err
		}
		time.Sleep(2 * time.Millisecond)
		if err := os.WriteFile(file, []byte(fmt.Sprintln(number+1)), 0o644); err != nil {
			return "", err
		}
		a.locks[key].Unlock()
	}
	return "done", nil
}

// Takes the lock with the library's own delays, as often as it needs, holds it and releases it. Says
// when it asked, held, began to release, and had released, in microseconds.
func (a *actor) turn(key string, hold time.Duration) (string, error) {
	asked := now()
	lock := client.NewMutex(key, redsync.WithExpiry(30*time.Second), redsync.WithTries(1000000))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	held := now()
	time.Sleep(hold)
	ended := now()
	if ok, err := lock.Unlock(); !ok {
		return "", err
	}
	return fmt.Sprintf("%d %d %d %d", asked, held, ended, now()), nil
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
	say(now(), "- ready - redsync")
	actors := map[string]*actor{}
	words := bufio.NewScanner(os.Stdin)
	for words.Scan() {
		name := strings.Fields(words.Text())[0]
		if actors[name] == nil {
			actors[name] = newActor()
		}
		actors[name].lines <- words.Text()
	}
}
