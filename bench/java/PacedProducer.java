import java.util.Arrays;
import java.util.Properties;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends at a steady rate to partitions drawn at random, and reports how long acknowledgements
 * took. A record's time starts when it was due, so a broker that stalls pays for everything it
 * holds up. Prints "measuring" after the warm-up. Ends after the given seconds, or earlier at the
 * end of standard input.
 *
 * Arguments: bootstrap topic,topic,... partitions-each records-per-second warmup-seconds
 * seconds-at-most
 */
public final class PacedProducer {
    private static final int RECORD_SIZE = 100;

    private static volatile boolean stopped;

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("linger.ms", "0");
        config.put("acks", "1");
        String[] topics = args[1].split(",");
        int partitions = Integer.parseInt(args[2]);
        long interval = 1_000_000_000L / Long.parseLong(args[3]);
        int warmup = (int) (Long.parseLong(args[4]) * 1_000_000_000L / interval);
        int most = (int) (Long.parseLong(args[5]) * 1_000_000_000L / interval);
        long[] nanoseconds = new long[most];
        var failure = new AtomicReference<Exception>();
        var random = new SplittableRandom(1);
        byte[] value = new byte[RECORD_SIZE];
        var serializer = new ByteArraySerializer();
        int sent = 0;
        try (var producer = new KafkaProducer<>(config, serializer, serializer)) {
            for (String topic : topics) {
                producer.partitionsFor(topic);
            }
            stopAtTheEndOfInput();
            long due = System.nanoTime();
            for (int index = -warmup; index < most && !stopped; index++) {
                due += interval;
                waitUntil(due);
                if (index == 0) {
                    System.out.println("measuring");
                }
                int slot = index;
                long began = due;
                String topic = topics[random.nextInt(topics.length)];
                int partition = random.nextInt(partitions);
                producer.send(
                    new ProducerRecord<>(topic, partition, null, value),
                    (metadata, error) -> {
                        if (error != null) {
                            failure.set(error);
                        } else if (slot >= 0) {
                            nanoseconds[slot] = System.nanoTime() - began;
                        }
                    });
                sent = index + 1;
            }
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        if (sent <= 0) {
            throw new IllegalStateException("stopped before anything was measured");
        }
        long[] sorted = Arrays.copyOf(nanoseconds, sent);
        Arrays.sort(sorted);
        System.out.printf(
            "{\"records\": %d, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"max_ms\": %.4f}%n",
            sent, percentile(sorted, 0.5), percentile(sorted, 0.99), sorted[sent - 1] / 1e6);
    }

    private static void waitUntil(long due) {
        for (long early = due - System.nanoTime(); early > 0; early = due - System.nanoTime()) {
            LockSupport.parkNanos(early);
        }
    }

    private static void stopAtTheEndOfInput() {
        var watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException closed) {
                // The end of input in another form.
            }
            stopped = true;
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    private static double percentile(long[] sorted, double fraction) {
        return sorted[(int) (sorted.length * fraction)] / 1e6;
    }
}
