import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends at a steady rate to partitions drawn at random, and reports how long acknowledgements
 * took. Every partition gets one record first, so that neither files that are opened for the first
 * time nor leaders that are still being made are in the latencies; how long that took is a figure
 * of its own. Each topic has a producer, since one looks at all partitions it ever wrote to before
 * it sends anything: with 1,000 of them it needs a core for itself. A record's time starts when it was due, so a broker that stalls pays for everything
 * it holds up. Prints "measuring" after the warm-up. Ends after the given seconds, or earlier at
 * the end of standard input.
 *
 * A broker that does not keep up gets some time beyond that. Records without an answer even then
 * are counted, and have waited at least until then.
 *
 * Arguments: bootstrap topic,topic,... partitions-each records-per-second warmup-seconds
 * seconds-at-most seconds-for-the-first-records seconds-beyond
 */
public final class PacedProducer {
    private static final int RECORD_SIZE = 100;
    private static final long SECOND = 1_000_000_000L;

    private static final byte[] value = new byte[RECORD_SIZE];
    private static final AtomicReference<Exception> failure = new AtomicReference<>();
    private static volatile boolean stopped;
    private static volatile boolean over;

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("linger.ms", "0");
        config.put("acks", "1");
        String[] topics = args[1].split(",");
        int partitions = Integer.parseInt(args[2]);
        long interval = SECOND / Long.parseLong(args[3]);
        int warmup = (int) (Long.parseLong(args[4]) * SECOND / interval);
        int most = (int) (Long.parseLong(args[5]) * SECOND / interval);
        long firstSeconds = Long.parseLong(args[6]);
        long beyondSeconds = Long.parseLong(args[7]);
        var serializer = new ByteArraySerializer();
        var producers = new ArrayList<KafkaProducer<byte[], byte[]>>();
        for (String topic : topics) {
            producers.add(new KafkaProducer<>(config, serializer, serializer));
        }
        double touched = touch(producers, topics, partitions, firstSeconds);
        stopAtTheEndOfInput();

        long[] dues = new long[most];
        long[] nanoseconds = new long[most];
        var random = new SplittableRandom(1);
        int sent = 0;
        long due = System.nanoTime();
        long end = due + (warmup + most) * interval + beyondSeconds * SECOND;
        for (int index = -warmup; index < most && !stopped; index++) {
            due += interval;
            waitUntil(due);
            if (index == 0) {
                System.out.println("measuring");
            }
            int slot = index;
            long began = due;
            if (slot >= 0) {
                dues[slot] = due;
                sent = slot + 1;
            }
            if (System.nanoTime() >= end) {
                continue;  // too late: it counts as one without an answer
            }
            int topic = random.nextInt(topics.length);
            send(producers.get(topic), topics[topic], random.nextInt(partitions),
                (metadata, error) -> {
                    if (answered(error) && slot >= 0) {
                        nanoseconds[slot] = System.nanoTime() - began;
                    }
                });
        }
        long left = stopped ? beyondSeconds * SECOND : end - System.nanoTime();
        closeWithin(producers, Math.max(left, 0));
        if (failure.get() != null) {
            throw failure.get();
        }
        if (sent <= 0) {
            throw new IllegalStateException("stopped before anything was measured");
        }
        report(Arrays.copyOf(nanoseconds, sent), dues, touched);
    }

    /** The seconds until every partition has taken a record, or -1 if the limit came first. */
    private static double touch(
            List<KafkaProducer<byte[], byte[]>> producers, String[] topics, int partitions,
            long seconds) throws InterruptedException {
        long began = System.nanoTime();
        var left = new CountDownLatch(topics.length * partitions);
        for (int partition = 0; partition < partitions; partition++) {
            for (int topic = 0; topic < topics.length; topic++) {
                send(producers.get(topic), topics[topic], partition, (metadata, error) -> {
                    if (answered(error)) {
                        left.countDown();
                    }
                });
            }
        }
        long beyond = seconds * SECOND - (System.nanoTime() - began);
        boolean all = left.await(beyond, TimeUnit.NANOSECONDS);
        return all ? (System.nanoTime() - began) / (double) SECOND : -1;
    }

    private static void send(
            KafkaProducer<byte[], byte[]> producer, String topic, int partition, Callback done) {
        producer.send(new ProducerRecord<>(topic, partition, null, value), done);
    }

    /** A limit that was reached is a result, any other error ends the run. */
    private static boolean answered(Exception error) {
        if (error != null && !over && !(error instanceof TimeoutException)) {
            failure.set(error);
        }
        return error == null;
    }

    private static void closeWithin(
            List<KafkaProducer<byte[], byte[]>> producers, long nanoseconds)
            throws InterruptedException {
        var flushing = new Thread(() -> producers.forEach(KafkaProducer::flush));
        flushing.setDaemon(true);
        flushing.start();
        flushing.join(Math.max(1, nanoseconds / 1_000_000));
        over = true;
        producers.forEach(producer -> producer.close(Duration.ZERO));
    }

    private static void report(long[] nanoseconds, long[] dues, double touched) {
        long now = System.nanoTime();
        int unanswered = 0;
        for (int slot = 0; slot < nanoseconds.length; slot++) {
            if (nanoseconds[slot] == 0) {
                nanoseconds[slot] = now - dues[slot];
                unanswered++;
            }
        }
        Arrays.sort(nanoseconds);
        System.out.printf(
            "{\"records\": %d, \"unanswered\": %d, \"first_records_seconds\": %.3f, "
                + "\"p50_ms\": %.4f, \"p99_ms\": %.4f, \"max_ms\": %.4f}%n",
            nanoseconds.length, unanswered, touched,
            percentile(nanoseconds, 0.5), percentile(nanoseconds, 0.99), percentile(nanoseconds, 1));
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
        return sorted[Math.min((int) (sorted.length * fraction), sorted.length - 1)] / 1e6;
    }
}
