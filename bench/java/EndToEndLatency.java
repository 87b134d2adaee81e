import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The time from send() until a consumer in the same program has the record, one record in flight,
 * no linger. Apache's tool of this name reports whole milliseconds, which is too coarse.
 *
 * Arguments: bootstrap topic records warmup-records record-size seconds-at-most
 */
public final class EndToEndLatency {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("linger.ms", "0");
        config.put("enable.auto.commit", "false");
        int warmup = Integer.parseInt(args[3]);
        int count = Integer.parseInt(args[2]) - warmup;
        byte[] value = new byte[Integer.parseInt(args[4])];
        long deadline = System.nanoTime() + Long.parseLong(args[5]) * 1_000_000_000L;
        var deserializer = new ByteArrayDeserializer();
        var serializer = new ByteArraySerializer();
        var partition = new TopicPartition(args[1], 0);
        long[] nanoseconds = new long[count];
        try (var producer = new KafkaProducer<>(config, serializer, serializer);
             var consumer = new KafkaConsumer<>(config, deserializer, deserializer)) {
            consumer.assign(List.of(partition));
            consumer.seekToEnd(List.of(partition));
            consumer.position(partition);
            for (int index = -warmup; index < count; index++) {
                long began = System.nanoTime();
                var sent = producer.send(new ProducerRecord<>(args[1], 0, null, value));
                while (consumer.poll(Duration.ofMillis(1000)).isEmpty()) {
                    if (System.nanoTime() > deadline) {
                        throw new IllegalStateException("no record within the time allowed");
                    }
                }
                long took = System.nanoTime() - began;
                sent.get();
                if (index >= 0) {
                    nanoseconds[index] = took;
                }
            }
        }
        Arrays.sort(nanoseconds);
        System.out.printf(
            "{\"records\": %d, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\": %.4f}%n",
            count, percentile(nanoseconds, 0.5), percentile(nanoseconds, 0.99),
            percentile(nanoseconds, 0.999));
    }

    private static double percentile(long[] sorted, double fraction) {
        return sorted[(int) (sorted.length * fraction)] / 1e6;
    }
}
