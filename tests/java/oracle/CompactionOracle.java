import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Lets Apache Kafka's own cleaner compact logs. The argument is a file with a line for each log:
 * directory, delete.retention.ms, segment size, memory of the offset map, then the times of rounds;
 * each round begins where the one before ended.
 */
public class CompactionOracle {
    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            clean(line.split("\t"), scheduler);
        }
        scheduler.shutdown();
    }

    private static void clean(String[] fields, KafkaScheduler scheduler) throws Exception {
        File directory = new File(fields[0]);
        Time time = standingStillAt(Long.parseLong(fields[4]));
        LogConfig config = new LogConfig(Map.of(
            "cleanup.policy", "compact",
            "delete.retention.ms", fields[1],
            "internal.segment.bytes", fields[2]
        ));
        UnifiedLog log = UnifiedLog.create(
            directory, config, 0, 0, scheduler, new BrokerTopicStats(), time, 300_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000,
            new LogDirFailureChannel(1), true, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        Cleaner cleaner = new Cleaner(
            0, new SkimpyOffsetMap(Integer.parseInt(fields[3])), 65536, 65536, 0.9,
            new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", time), time, partition -> { });
        long dirty = 0;
        for (int round = 4; round < fields.length; round++) {
            long end = log.activeSegment().baseOffset();
            long start = dirty < end ? dirty : 0;
            dirty = cleaner.doClean(
                new LogToClean(log, start, end, false), Long.parseLong(fields[round])).getKey();
            System.out.print(dirty + (round + 1 < fields.length ? " " : "\n"));
        }
        log.close();
    }

    /** Producers must not expire while we look. */
    private static Time standingStillAt(long now) {
        return (Time) Proxy.newProxyInstance(
            Time.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("milliseconds")) {
                    return now;
                }
                try {
                    return method.invoke(Time.SYSTEM, arguments);
                } catch (InvocationTargetException error) {
                    throw error.getCause();
                }
            });
    }
}
