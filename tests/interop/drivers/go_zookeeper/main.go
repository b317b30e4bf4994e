// SPDX-License-Identifier: MIT
// Takes and releases locks of go-zookeeper, as told on stdin; tests/interop/interop.bash has the
// words. Its Lock has neither a limit nor a kind.
//
//	go_zookeeper HOST:PORT SESSION_MS
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	client *zk.Conn
	output sync.Mutex
)

func now() int64 { return time.Now().UnixMicro() }

func say(when int64, text string) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf("%d %s\n", when, text)
}

// An actor does one thing after the other, with locks of its own.
type actor struct {
	lines chan string
	locks map[string]*zk.Lock
}

func newActor() *actor {
	a := &actor{make(chan string, 100), map[string]*zk.Lock{}}
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

func (a *actor) lock(key string) (string, error) {
	a.locks[key] = zk.NewLock(client, "/"+key, zk.WorldACL(zk.PermAll))
	return "acquired", a.locks[key].Lock()
}

func (a *actor) unlock(key string) (string, error) {
	return "released", a.locks[key].Unlock()
}

func (a *actor) carryOut(word []string) (string, error) {
	verb, key, rest := word[1], word[2], word[3:]
	switch verb {
	case "lock":
		return a.lock(key)
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
	say(now(), "- ready - go-zookeeper")
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
