// SPDX-License-Identifier: MIT
// Takes and gives back locks of a real Redisson, as told on stdin; tests/interop/interop.bash lists
// the words. A kind behind a dot chooses the lock: lock.fair, lock.fenced, lock.spin, lock.read,
// lock.write, lock.multi (names with commas between); without one it is getLock().
//
//     Driver HOST:PORT WATCHDOG_MS, or redis+sentinel://H1:P1,H2:P2/NAME or redis+cluster://H1:P1
//     instead of the first
import java.util.Arrays;
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
  private static RedissonClient client;

  public static void main(String[] args) throws Exception {
    Config config = new Config();
    config.setThreads(4);
    config.setNettyThreads(4);
    config.setLockWatchdogTimeout(Long.parseLong(args[1]));
    if (args[0].contains("://")) useSeveral(config, args[0].split("://|/"));
    else useOne(config, args[0]);
    client = Redisson.create(config);
    Actors.obey(client.getId(), () -> Driver::carryOut);
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
        return String.valueOf(isParked(Actors.threadOf(word[3])));
      case "add":
        return Actors.add(word[3], word[4], () -> lock.lock(30, TimeUnit.SECONDS), lock::unlock);
      case "look":
        return Actors.look(word[3], word[4], () -> lock.lock(30, TimeUnit.SECONDS), lock::unlock);
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
}
