// SPDX-License-Identifier: MIT
// Takes and releases locks of Go's etcd concurrency package, as told on stdin;
// tests/interop/interop.bash has the words.
//
//	etcd_go HOST:PORT
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var (
	client *clientv3.Client
	output sync.Mutex
)

func now() int64 { return time.Now().UnixMicro() }

func say(when int64, text string) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf("%d %s\n", when, text)
}

// An actor does one thing after the other, with locks of its own and a session for each.
type actor struct {
	lines    chan string
	locks    map[string]*concurrency.Mutex
	sessions map[string]*concurrency.Session
}

func newActor() *actor {
	a := &actor{make(chan string, 100), map[string]*concurrency.Mutex{}, map[string]*concurrency.Session{}}
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

func (a *actor) carryOut(word []string) (string, error) {
	verb, key, rest := word[1], word[2], word[3:]
	switch verb {
	case "lock":
		return a.lock(key)
	case "try":
		return a.try(key)
	case "unlock":
		return a.unlock(key)
	case "add":
		return a.add(key, rest[0], rest[1])
	}
	return "error unknown-word", nil
}

// Adds 1 to the number in a file, so many times, each time under the lock.
func (a *actor) add(key, file, times string) (string, error) {
	count, _ := strconv.Atoi(times)
	for i := 0; i < count; i++ {
		if _, err := a.lock(key); err != nil {
			return "", err
		}
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
		if _, err := a.unlock(key); err != nil {
			return "", err
		}
	}
	return "done", nil
}

func main() {
	var err error
	client, err = clientv3.New(clientv3.Config{
		Endpoints: []string{os.Args[1]}, DialTimeout: 10 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	say(now(), "- ready - etcd-go")
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
