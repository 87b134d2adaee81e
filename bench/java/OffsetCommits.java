import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Commits offsets with commitSync from several consumers at once, each with a connection and a
 * partition of its own; all belong to one group that has no members.
 *
 * Arguments: bootstrap topic consumers warmup-seconds seconds
 */
public final class OffsetCommits {
    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[2]);
        long begun = System.nanoTime();
        long measured = begun + (long) (Double.parseDouble(args[3]) * 1e9);
        long ended = measured + (long) (Double.parseDouble(args[4]) * 1e9);
        AtomicLong commits = new AtomicLong();
        AtomicLong all = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            var partition = new TopicPartition(args[1], index);
            var thread = new Thread(() -> commit(args[0], partition, measured, ended, commits, all));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.printf(
            "{\"commits\": %d, \"seconds\": %.6f, \"with_warmup\": %d}%n",
            commits.get(), (ended - measured) / 1e9, all.get());
    }

    private static void commit(
            String bootstrap,
            TopicPartition partition,
            long measured,
            long ended,
            AtomicLong commits,
            AtomicLong all) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", "committers");
        config.put("enable.auto.commit", "false");
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(config, bytes, bytes)) {
            consumer.assign(List.of(partition));
            long offset = 0;
            while (true) {
                consumer.commitSync(Map.of(partition, new OffsetAndMetadata(offset++)));
                all.incrementAndGet();
                long now = System.nanoTime();
                if (now >= ended) {
                    return;
                }
                if (now >= measured) {
                    commits.incrementAndGet();
                }
            }
        }
    }
}
