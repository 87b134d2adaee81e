import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic from its beginning with the Java consumer's defaults and no group: first some
 * unmeasured records for the JVM, then, from the beginning again, the measured ones.
 *
 * Arguments: bootstrap topic partitions records warmup-records seconds-at-most
 */
public final class AssignedConsumer {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final long deadline;
    private long bytes;

    private AssignedConsumer(KafkaConsumer<byte[], byte[]> consumer, long deadline) {
        this.consumer = consumer;
        this.deadline = deadline;
    }

    public static void main(String[] args) {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("enable.auto.commit", "false");
        long deadline = System.nanoTime() + Long.parseLong(args[5]) * 1_000_000_000L;
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(config, bytes, bytes)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int index = 0; index < Integer.parseInt(args[2]); index++) {
                partitions.add(new TopicPartition(args[1], index));
            }
            consumer.assign(partitions);
            var reader = new AssignedConsumer(consumer, deadline);
            long wanted = Long.parseLong(args[3]);
            for (long left = Long.parseLong(args[4]); left > 0; left -= wanted) {
                consumer.seekToBeginning(partitions);
                reader.read(Math.min(left, wanted));
            }
            consumer.seekToBeginning(partitions);
            reader.bytes = 0;
            long started = System.nanoTime();
            long records = reader.read(wanted);
            double seconds = (System.nanoTime() - started) / 1e9;
            System.out.printf(
                "{\"records\": %d, \"bytes\": %d, \"seconds\": %.6f}%n",
                records, reader.bytes, seconds);
        }
    }

    private long read(long wanted) {
        long records = 0;
        while (records < wanted) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("read only " + records + " of " + wanted);
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(1000))) {
                records++;
                bytes += record.serializedValueSize();
            }
        }
        return records;
    }
}
