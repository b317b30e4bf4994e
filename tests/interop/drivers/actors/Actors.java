// SPDX-License-Identifier: MIT
// Reads lines on stdin, as tests/interop/interop.bash lists them, and has each obeyed by the actor
// that it names. An actor is a thread, which is what owns a lock in Redisson and Curator; it does
// one thing after the other.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;

final class Actors {
  interface Actor {
    // The words of a line; the result.
    String carryOut(String[] word) throws Exception;
  }

  interface Step {
    void run() throws Exception;
  }

  private static final Map<String, Thread> threads = new ConcurrentHashMap<>();

  private Actors() {}

  // Says that the client is ready, and ends the process when stdin ends.
  static void obey(String client, Supplier<Actor> newActor) throws Exception {
    say(now(), "- ready - " + client);
    Map<String, LinkedBlockingQueue<String>> actors = new HashMap<>();
    BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
    for (String line = words.readLine(); line != null; line = words.readLine()) {
      actors.computeIfAbsent(line.split(" ")[0], name -> start(name, newActor.get())).add(line);
    }
    System.exit(0);
  }

  static Thread threadOf(String actor) {
    return threads.get(actor);
  }

  private static LinkedBlockingQueue<String> start(String name, Actor actor) {
    LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Thread thread =
        new Thread(
            () -> {
              while (true) {
                try {
                  obey(lines.take(), actor);
                } catch (InterruptedException e) {
                  return;
                }
              }
            });
    thread.setDaemon(true);
    threads.put(name, thread);
    thread.start();
    return lines;
  }

  private static void obey(String line, Actor actor) {
    String[] word = line.split(" ");
    long called = now();
    String result;
    try {
      result = actor.carryOut(word);
    } catch (Exception e) {
      result = "error " + e.getClass().getSimpleName();
      e.printStackTrace();
    }
    // A release is over for the others as soon as it is asked for.
    long when = word[1].startsWith("unlock") || word[1].startsWith("force") ? called : now();
    say(when, word[0] + " " + word[1] + " " + word[2] + " " + result);
  }

  // Adds 1 to the number in a file, so many times, each time under the lock.
  static String add(String file, String times, Step lock, Step unlock) throws Exception {
    for (int i = 0; i < Integer.parseInt(times); i++) {
      lock.run();
      try {
        int number = Integer.parseInt(Files.readString(Path.of(file)).trim());
        Thread.sleep(2);
        Files.writeString(Path.of(file), (number + 1) + "\n");
      } finally {
        unlock.run();
      }
    }
    return "done";
  }

  // Reads the number in a file twice, so many times, each time under the lock: it must stay.
  static String look(String file, String times, Step lock, Step unlock) throws Exception {
    for (int i = 0; i < Integer.parseInt(times); i++) {
      lock.run();
      try {
        String number = Files.readString(Path.of(file));
        Thread.sleep(2);
        if (!number.equals(Files.readString(Path.of(file)))) return "changed";
      } finally {
        unlock.run();
      }
    }
    return "done";
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  static void say(String text) {
    say(now(), text);
  }

  private static synchronized void say(long when, String text) {
    System.out.println(when + " " + text);
    System.out.flush();
  }
}
