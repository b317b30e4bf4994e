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
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.concurrent.ConcurrentHashMap;
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
    Actors.obey(
        TimeZone.getDefault().getID(),
        () -> {
          Map<String, SimpleLock> held = new HashMap<>();
          return word -> carryOut(word, held);
        });
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
        return add(key, word);
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
  private static String add(String key, String[] word) throws Exception {
    SimpleLock[] held = new SimpleLock[1];
    return Actors.add(word[3], word[4], () -> held[0] = await(key), () -> held[0].unlock());
  }

  private static SimpleLock await(String key) throws Exception {
    while (true) {
      Thread.sleep(5);
      Optional<SimpleLock> lock = take(key, true, Duration.ofSeconds(30), Duration.ZERO);
      if (lock.isPresent()) return lock.get();
    }
  }

  private static Duration ms(String number) {
    return Duration.ofMillis(Long.parseLong(number));
  }
}
