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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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
    Actors.obey("curator", () -> Driver::carryOut);
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
        return Actors.add(word[3], word[4], lock::acquire, lock::release);
      case "look":
        return Actors.look(word[3], word[4], lock::acquire, lock::release);
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
                lock -> Actors.say(actor + " listener " + path.substring(1) + " called"));
          }
          return mutex;
        });
  }

  private static InterProcessReadWriteLock pairOf(String path) {
    return pairs.computeIfAbsent(path, which -> new InterProcessReadWriteLock(client, path));
  }
}
