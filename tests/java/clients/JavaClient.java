import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java producer and the assigned Java consumer, driven line by line. Fields are separated by
 * tabs; a property is {@code name=value}:
 *
 * <pre>
 * produce TOPIC FIRST COUNT PROPERTY... -> the offset of every record, then "."
 * consume TOPIC PARTITIONS COUNT PROPERTY... -> a line for every record, then "."
 * </pre>
 *
 * Record N has the key kN, the value that {@link #value} makes and a header; it goes to partition
 * 0. What is consumed is told as partition, offset, timestamp, type of timestamp, key, value and
 * headers, texts in Base64. A failure is answered with "! TEXT".
 */
public final class JavaClient {
    private static final long CONSUME_NANOS_MAX = 60_000_000_000L;

    private final PrintStream answers;

    private JavaClient(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] ignored) throws IOException {
        var client = new JavaClient(System.out);
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String[] fields = line.split("\t", -1);
            try {
                if (fields[0].equals("produce")) {
                    client.produce(fields);
                } else {
                    client.consume(fields);
                }
                client.answers.println(".");
            } catch (Exception error) {
                client.answers.println("! " + error);
            }
            client.answers.flush();
        }
    }

    /** Text that compresses, but not to nothing. */
    private static String value(long number) {
        return String.format("%08x record %d", number * 2_654_435_761L % (1L << 32), number);
    }

    private void produce(String[] fields) throws Exception {
        long first = Long.parseLong(fields[2]);
        long count = Long.parseLong(fields[3]);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        var bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(properties(fields, 4), bytes, bytes)) {
            for (long number = first; number < first + count; number++) {
                var record =
                    new ProducerRecord<>(
                        fields[1], 0, utf8("k" + number), utf8(value(number)));
                record.headers().add("number", utf8(Long.toString(number)));
                sent.add(producer.send(record));
            }
        }
        for (var one : sent) {
            answers.println(one.get().offset());
        }
    }

    private void consume(String[] fields) {
        long wanted = Long.parseLong(fields[3]);
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(properties(fields, 4), bytes, bytes)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int index = 0; index < Integer.parseInt(fields[2]); index++) {
                partitions.add(new TopicPartition(fields[1], index));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + CONSUME_NANOS_MAX;
            long seen = 0;
            while (seen < wanted) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("read only " + seen + " of " + wanted);
                }
                for (var record : consumer.poll(Duration.ofMillis(500))) {
                    tell(record);
                    seen++;
                }
            }
        }
    }

    private void tell(ConsumerRecord<byte[], byte[]> record) {
        var headers = new StringBuilder();
        for (var header : record.headers()) {
            headers.append(header.key()).append('=').append(base64(header.value())).append(',');
        }
        answers.println(
            String.join(
                "\t",
                Integer.toString(record.partition()),
                Long.toString(record.offset()),
                Long.toString(record.timestamp()),
                record.timestampType().name,
                base64(record.key()),
                base64(record.value()),
                headers));
    }

    private static Properties properties(String[] fields, int from) {
        var properties = new Properties();
        properties.put("enable.auto.commit", "false");
        for (int index = from; index < fields.length; index++) {
            String[] pair = fields[index].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        return properties;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }
}
