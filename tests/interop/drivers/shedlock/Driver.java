// SPDX-License-Identifier: MIT
// Takes and releases locks of a real ShedLock, as told on stdin; tests/interop/interop.bash lists
// the words. ShedLock never waits: its words are
//
//     A try TABLE/NAME ATMOST ATLEAST       lockAtMostFor, lockAtLeastFor in ms
//     A extend TABLE/NAME ATMOST ATLEAST    the lock once more, from now on
//     A unlock TABLE/NAME
//     A add TABLE/NAME FILE TIMES           tries again and again
//
// with the clock of the database (usingDbTime). A kind "app" behind a dot, as in try.app, has that
// of this process, in its time zone: ShedLock's default.
//
//     Driver JDBC_URL
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

public final class Driver {
  private static final Map<String, LockProvider> providers = new ConcurrentHashMap<>();
  private static JdbcTemplate database;

  public static void main(String[] args) throws Exception {
    database = new JdbcTemplate(new DriverManagerDataSource(args[0]));
    database.queryForObject("select 1", Integer.class);
    say(now(), "- ready - " + TimeZone.getDefault().getID());

    Map<String, LinkedBlockingQueue<String>> actors = new HashMap<>();
    BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
    for (String line = words.readLine(); line != null; line = words.readLine()) {
      actors.computeIfAbsent(line.split(" ")[0], name -> startActor()).add(line);
    }
    System.exit(0);
  }

  private static LinkedBlockingQueue<String> startActor() {
    LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    Map<String, SimpleLock> held = new HashMap<>();
    Thread thread =
        new Thread(
            () -> {
              while (true) {
                try {
                  obey(lines.take(), held);
                } catch (InterruptedException e) {
                  return;
                }
              }
            });
    thread.setDaemon(true);
    thread.start();
    return lines;
  }

  private static void obey(String line, Map<String, SimpleLock> held) {
    String[] word = line.split(" ");
    long called = now();
    String result;
    try {
      result = carryOut(word, held);
    } catch (Exception e) {
      result = "error " + e.getClass().getSimpleName();
      e.printStackTrace();
    }
    // A release is over for the others as soon as it is asked for.
    long when = word[1].startsWith("unlock") ? called : now();
    say(when, word[0] + " " + word[1] + " " + word[2] + " " + result);
  }

  private static String carryOut(String[] word, Map<String, SimpleLock> held) throws Exception {
    String key = word[2];
    switch (word[1]) {
      case "try":
      case "try.app":
        boolean usingDbTime = word[1].equals("try");
        Optional<SimpleLock> taken = take(key, usingDbTime, ms(word[3]), ms(word[4]));
        taken.ifPresent(lock -> held.put(key, lock));
        return taken.isPresent() ? "acquired" : "refused";
      case "extend":
        // Whatever the answer, this lock is of no use any more.
        Optional<SimpleLock> extended = held.remove(key).extend(ms(word[3]), ms(word[4]));
        extended.ifPresent(lock -> held.put(key, lock));
        return extended.isPresent() ? "extended" : "refused";
      case "unlock":
        held.remove(key).unlock();
        return "released";
      case "add":
        return add(key, Path.of(word[3]), Integer.parseInt(word[4]));
      default:
        return "error unknown-word";
    }
  }

  private static Optional<SimpleLock> take(
      String key, boolean usingDbTime, Duration atMost, Duration atLeast) {
    String[] place = key.split("/");
    LockProvider provider =
        providers.computeIfAbsent(
            place[0] + usingDbTime, table -> startProvider(place[0], usingDbTime));
    return provider.lock(new LockConfiguration(Instant.now(), place[1], atMost, atLeast));
  }

  private static LockProvider startProvider(String table, boolean usingDbTime) {
    JdbcTemplateLockProvider.Configuration.Builder configuration =
        JdbcTemplateLockProvider.Configuration.builder()
            .withJdbcTemplate(database)
            .withTableName(table);
    if (usingDbTime) configuration.usingDbTime();
    return new JdbcTemplateLockProvider(configuration.build());
  }

  // Adds 1 to the number in a file, so many times, each time under the lock.
  private static String add(String key, Path file, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      Optional<SimpleLock> lock = Optional.empty();
      while (lock.isEmpty()) {
        Thread.sleep(5);
        lock = take(key, true, Duration.ofSeconds(30), Duration.ZERO);
      }
      try {
        int number = Integer.parseInt(Files.readString(file).trim());
        Thread.sleep(2);
        Files.writeString(file, (number + 1) + "\n");
      } finally {
        lock.get().unlock();
      }
    }
    return "done";
  }

  private static Duration ms(String number) {
    return Duration.ofMillis(Long.parseLong(number));
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  private static synchronized void say(long when, String text) {
    System.out.println(when + " " + text);
    System.out.flush();
  }
}
