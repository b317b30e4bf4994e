// SPDX-License-Identifier: MIT
// Package actors reads lines on stdin, as tests/interop/interop.bash lists them, and has each obeyed
// by the actor that it names. An actor does one thing after the other.
package actors

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Actor has locks of its own.
type Actor interface {
	CarryOut(verb, key string, rest []string) (string, error)
}

var output sync.Mutex

// Now is the time in microseconds.
func Now() int64 { return time.Now().UnixMicro() }

// Milliseconds is the time that a word of so many milliseconds says.
func Milliseconds(text string) time.Duration {
	value, _ := strconv.Atoi(text)
	return time.Duration(value) * time.Millisecond
}

// Run says that the client is ready, and obeys until stdin ends.
func Run(client string, newActor func() Actor) {
	say(Now(), "- ready - "+client)
	actors := map[string]chan string{}
	words := bufio.NewScanner(os.Stdin)
	for words.Scan() {
		name := strings.Fields(words.Text())[0]
		if actors[name] == nil {
			actors[name] = make(chan string, 100)
			go obeyAll(newActor(), actors[name])
		}
		actors[name] <- words.Text()
	}
}

// Add adds 1 to the number in a file, so many times, each time under the lock of this key.
func Add(key, file, times string, lock, unlock func(key string) (string, error)) (string, error) {
	count, _ := strconv.Atoi(times)
	for i := 0; i < count; i++ {
		if _, err := lock(key); err != nil {
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
		if _, err := unlock(key); err != nil {
			return "", err
		}
	}
	return "done", nil
}

func obeyAll(actor Actor, lines chan string) {
	for line := range lines {
		word := strings.Fields(line)
		called := Now()
		result, err := actor.CarryOut(word[1], word[2], word[3:])
		if err != nil {
			result = "error " + strings.ReplaceAll(err.Error(), " ", "-")
		}
		// A release is over for the others as soon as it is asked for.
		when := called
		if word[1] != "unlock" {
			when = Now()
		}
		say(when, fmt.Sprintf("%s %s %s %s", word[0], word[1], word[2], result))
	}
}

func say(when int64, text string) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf("%d %s\n", when, text)
}
