// SPDX-License-Identifier: MIT
// Takes and gives back locks of a real Redisson, as told on stdin; tests/interop/interop.bash lists
// the words. A kind behind a dot chooses the lock: lock.fair, lock.fenced, lock.spin, lock.read,
// lock.write, lock.multi (names with commas between); without one it is getLock().
//
//     Driver HOST:PORT WATCHDOG_MS, or redis+sentinel://H1:P1,H2:P2/NAME or redis+cluster://H1:P1
//     instead of the first
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;

public final class Driver {
  private static final Map<String, Thread> threads = new ConcurrentHashMap<>();
  private static RedissonClient client;

  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.setThreads(4);
    config.setNettyThreads(4);
    config.setLockWatchdogTimeout(Long.parseLong(args[1]));
    if (args[0].contains("://")) useSeveral(config, args[0].split("://|/"));
    else useOne(config, args[0]);
    client = Redisson.create(config);
    say(now(), "- ready - " + client.getId());

    Map<String, LinkedBlockingQueue<String>> actors = new HashMap<>();
    BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
    for (String line = words.readLine(); line != null; line = words.readLine()) {
      actors.computeIfAbsent(line.split(" ")[0], Driver::startActor).add(line);
    }
    System.exit(0);
  }

  private static void useOne(Config config, String address) {
    config
        .useSingleServer()
        .setAddress("redis://" + address)
        // Who hears nothing for 3 s gives up or, before 4.0, asks again: a lock then counts twice,
        // though the machine was only slow.
        .setTimeout(20000)
        .setConnectionMinimumIdleSize(2)
        .setConnectionPoolSize(16)
        .setSubscriptionConnectionMinimumIdleSize(1);
  }

  // The words are the scheme, the addresses, and the name of the master that the sentinels know.
  private static void useSeveral(Config config, String[] words) {
    String[] nodes = Stream.of(words[1].split(",")).map("redis://"::concat).toArray(String[]::new);
    BaseMasterSlaveServersConfig<?> several;
    if (words[0].equals("redis+sentinel")) {
      several = config.useSentinelServers().addSentinelAddress(nodes).setMasterName(words[2]);
    } else {
      several = config.useClusterServers().addNodeAddress(nodes);
    }
    several
        .setTimeout(20000)
        .setMasterConnectionMinimumIdleSize(2)
        .setMasterConnectionPoolSize(16)
        .setSlaveConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
  }

  // An actor is a thread, which is what owns a lock in Redisson.
  private static LinkedBlockingQueue<String> startActor(String name) {
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
    threads.put(name, thread);
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
    }
    // A release is over for the others as soon as it is asked for.
    long when = word[1].startsWith("unlock") || word[1].startsWith("force") ? called : now();
    say(when, word[0] + " " + word[1] + " " + word[2] + " " + result);
  }

  private static String carryOut(String[] word) throws Exception {
    String[] verb = word[1].split("\\.");
    String kind = verb.length > 1 ? verb[1] : "plain";
    RLock lock = lockOf(kind, word[2]);
    switch (verb[0]) {
      case "lock":
        return acquire(lock, kind, Long.parseLong(word[3]));
      case "try":
        boolean got =
            lock.tryLock(Long.parseLong(word[3]), lease(word[4]), TimeUnit.MILLISECONDS);
        return got ? "acquired" : "refused";
      case "unlock":
        lock.unlock();
        return "released";
      case "force":
        return String.valueOf(lock.forceUnlock());
      case "locked":
        return String.valueOf(lock.isLocked());
      case "held":
        return String.valueOf(lock.isHeldByCurrentThread());
      case "count":
        return String.valueOf(lock.getHoldCount());
      case "ttl":
        return String.valueOf(lock.remainTimeToLive());
      case "token":
        return String.valueOf(((RFencedLock) lock).getToken());
      case "owner":
        return client.getId() + ":" + Thread.currentThread().getId();
      case "parked":
        return String.valueOf(isParked(threads.get(word[3])));
      case "add":
        return add(lock, Path.of(word[3]), Integer.parseInt(word[4]));
      case "look":
        return look(lock, Path.of(word[3]), Integer.parseInt(word[4]));
      default:
        return "error unknown-word";
    }
  }

  private static RLock lockOf(String kind, String name) {
    switch (kind) {
      case "fair":
        return client.getFairLock(name);
      case "fenced":
        return client.getFencedLock(name);
      case "spin":
        return client.getSpinLock(name);
      case "read":
        return client.getReadWriteLock(name).readLock();
      case "write":
        return client.getReadWriteLock(name).writeLock();
      case "multi":
        return client.getMultiLock(
            Stream.of(name.split(",")).map(client::getLock).toArray(RLock[]::new));
      default:
        return client.getLock(name);
    }
  }

  // No lease means: the watchdog keeps it.
  private static long lease(String milliseconds) {
    long value = Long.parseLong(milliseconds);
    return value == 0 ? -1 : value;
  }

  private static String acquire(RLock lock, String kind, long lease) {
    if (kind.equals("fenced")) {
      RFencedLock fenced = (RFencedLock) lock;
      return "acquired " + fenced.lockAndGetToken();
    }
    if (lease == 0) lock.lock();
    else lock.lock(lease, TimeUnit.MILLISECONDS);
    return "acquired";
  }

  // Whoever waits for a lock, and has looked once more after subscribing, waits for a semaphore.
  private static boolean isParked(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getClassName().equals(Semaphore.class.getName()));
  }

  // Adds 1 to the number in a file, so many times, each time under the lock.
  private static String add(RLock lock, Path file, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      lock.lock(30, TimeUnit.SECONDS);
      try {
        int number = Integer.parseInt(Files.readString(file).trim());
        Thread.sleep(2);
        Files.writeString(file, (number + 1) + "\n");
      } finally {
        lock.unlock();
      }
    }
    return "done";
  }

  // Reads the number in a file twice, so many times, each time under the lock: it must stay.
  private static String look(RLock lock, Path file, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      lock.lock(30, TimeUnit.SECONDS);
      try {
        String number = Files.readString(file);
        Thread.sleep(2);
        if (!number.equals(Files.readString(file))) return "changed";
      } finally {
        lock.unlock();
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
