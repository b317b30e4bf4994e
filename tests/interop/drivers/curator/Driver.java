// SPDX-License-Identifier: MIT
// Takes and releases locks of a real Curator, as told on stdin; tests/interop/interop.bash lists the
// words. A kind behind a dot chooses the lock, as in lock.read: read and write are those of an
// InterProcessReadWriteLock; without one it is an InterProcessMutex. Only here:
//
//     A lock.revocable DIRECTORY      a mutex that says "A listener DIRECTORY called" when another
//                                     client asks for its release
//     A revoke NODE                   Curator's Revoker asks for that -> asked
//
//     Driver HOST:PORT SESSION_MS
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
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryNTimes;

public final class Driver {
  private static final Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
  private static final Map<String, InterProcessReadWriteLock> pairs = new ConcurrentHashMap<>();
  private static CuratorFramework client;

  public static void main(String[] args) throws Exception {
    client =
        CuratorFrameworkFactory.newClient(
            args[0], Integer.parseInt(args[1]), 20000, new RetryNTimes(100, 100));
    client.start();
    client.blockUntilConnected();
    say(now(), "- ready - curator");

    Map<String, LinkedBlockingQueue<String>> actors = new HashMap<>();
    BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
    for (String line = words.readLine(); line != null; line = words.readLine()) {
      actors.computeIfAbsent(line.split(" ")[0], name -> startActor()).add(line);
    }
    System.exit(0);
  }

  // An actor is a thread, which is what owns a lock in Curator.
  private static LinkedBlockingQueue<String> startActor() {
    LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Thread thread =
        new Thread(
            () -> {
              while (true) {
                try {
                  obey(lines.take());
                } catch (InterruptedException e) {
                  return;
                }
              }
            });
    thread.setDaemon(true);
    thread.start();
    return lines;
  }

  private static void obey(String line) {
    String[] word = line.split(" ");
    long called = now();
    String result;
    try {
      result = carryOut(word);
    } catch (Exception e) {
      result = "error " + e.getClass().getSimpleName();
      e.printStackTrace();
    }
    // A release is over for the others as soon as it is asked for.
    long when = word[1].startsWith("unlock") ? called : now();
    say(when, word[0] + " " + word[1] + " " + word[2] + " " + result);
  }

  private static String carryOut(String[] word) throws Exception {
    String[] verb = word[1].split("\\.");
    String kind = verb.length > 1 ? verb[1] : "plain";
    InterProcessLock lock = lockOf(word[0], kind, "/" + word[2]);
    switch (verb[0]) {
      case "lock":
        lock.acquire();
        return "acquired";
      case "try":
        boolean got = lock.acquire(Long.parseLong(word[3]), TimeUnit.MILLISECONDS);
        return got ? "acquired" : "refused";
      case "unlock":
        lock.release();
        return "released";
      case "revoke":
        Revoker.attemptRevoke(client, "/" + word[2]);
        return "asked";
      case "add":
        return add(lock, Path.of(word[3]), word[4]);
      case "look":
        return look(lock, Path.of(word[3]), word[4]);
      default:
        return "error unknown-word";
    }
  }

  private static InterProcessLock lockOf(String actor, String kind, String path) {
    if (kind.equals("read")) return pairOf(path).readLock();
    if (kind.equals("write")) return pairOf(path).writeLock();
    return mutexes.computeIfAbsent(
        kind + path,
        which -> {
          InterProcessMutex mutex = new InterProcessMutex(client, path);
          if (kind.equals("revocable")) {
            mutex.makeRevocable(
                lock -> say(now(), actor + " listener " + path.substring(1) + " called"));
          }
          return mutex;
        });
  }

  private static InterProcessReadWriteLock pairOf(String path) {
    return pairs.computeIfAbsent(path, which -> new InterProcessReadWriteLock(client, path));
  }

  // Adds 1 to the number in a file, so many times, each time under the lock.
  private static String add(InterProcessLock lock, Path file, String times) throws Exception {
    for (int i = 0; i < Integer.parseInt(times); i++) {
      lock.acquire();
      try {
        int number = Integer.parseInt(Files.readString(file).trim());
        Thread.sleep(2);
        Files.writeString(file, (number + 1) + "\n");
      } finally {
        lock.release();
      }
    }
    return "done";
  }

  // Reads the number in a file twice, so many times, each time under the lock: it must stay.
  private static String look(InterProcessLock lock, Path file, String times) throws Exception {
    for (int i = 0; i < Integer.parseInt(times); i++) {
      lock.acquire();
      try {
        String number = Files.readString(file);
        Thread.sleep(2);
        if (!number.equals(Files.readString(file))) return "changed";
      } finally {
        lock.release();
      }
    }
    return "done";
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  private static synchronized void say(long when, String text) {
    System.out.println(when + " " + text);
    System.out.flush();
  }
}
