import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Kafka's own assignors, a case a line: name, topics, members; fields apart by tabs. */
public class AssignorOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\t", -1);
            Map<String, List<PartitionInfo>> partitions = new HashMap<>();
            for (String row : parts(fields[1], ",")) {
                String[] pair = row.split("=");
                List<PartitionInfo> infos = new ArrayList<>();
                for (int i = 0; i < Integer.parseInt(pair[1]); i++)
                    infos.add(new PartitionInfo(pair[0], i, Node.noNode(), new Node[0], new Node[0]));
                partitions.put(pair[0], infos);
            }
            Map<String, Subscription> members = new HashMap<>();
            for (String row : parts(fields[2], ";")) members.put(row.split("\\|")[0], member(row, fields[0]));
            AbstractPartitionAssignor assignor = assignor(fields[0]);
            List<String> out = new ArrayList<>();
            assignor.assignPartitions(partitions, members).forEach((id, share) -> {
                List<String> names = new ArrayList<>();
                for (TopicPartition tp : share) names.add(tp.topic() + ":" + tp.partition());
                out.add(id + "=" + String.join(",", names));
            });
            System.out.println(String.join(";", out));
        }
    }

    private static AbstractPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            default: return new CooperativeStickyAssignor();
        }
    }

    private static Subscription member(String row, String assignor) {
        String[] fields = row.split("\\|", -1);
        List<TopicPartition> owned = new ArrayList<>();
        for (String name : parts(fields[3], ",")) {
            String[] pair = name.split(":");
            owned.add(new TopicPartition(pair[0], Integer.parseInt(pair[1])));
        }
        int generation = Integer.parseInt(fields[4]);
        ByteBuffer userData = fields[5].isEmpty() ? null
            : ByteBuffer.wrap(java.util.HexFormat.of().parseHex(fields[5]));
        Subscription subscription = new Subscription(
            parts(fields[2], ","), userData, owned, generation, Optional.empty());
        if (!fields[1].isEmpty()) subscription.setGroupInstanceId(Optional.of(fields[1]));
        return subscription;
    }

    private static List<String> parts(String text, String separator) {
        return text.isEmpty() ? Collections.emptyList() : List.of(text.split(separator));
    }
}
