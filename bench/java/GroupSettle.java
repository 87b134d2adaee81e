import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * How long a group needs to settle: from the moment when all members subscribe, and from the
 * moment when one of them is killed. A group has settled when every partition has exactly one
 * owner among the living members, and these own equally many, give or take one. The member that
 * dies is a process of its own, so that nothing of it can say goodbye.
 *
 * Arguments: bootstrap topic partitions members protocol session-ms heartbeat-ms seconds-at-most
 * and, for that one member, the id of the group.
 */
public final class GroupSettle {
    private final int[] owners;
    private final boolean[][] owns;
    private final boolean[] dead;
    private boolean ownedTwice;

    private GroupSettle(int partitions, int members) {
        owners = new int[partitions];
        owns = new boolean[members][partitions];
        dead = new boolean[members];
    }

    public static void main(String[] args) throws Exception {
        int members = Integer.parseInt(args[3]);
        if (args.length > 8) {
            poll(args[1], config(args, args[8]), Reporter::awaitStart, new Reporter());
            return;
        }
        long deadline = System.nanoTime() + Long.parseLong(args[7]) * 1_000_000_000L;
        String name = "settle-" + args[4] + "-" + System.nanoTime();
        var group = new GroupSettle(Integer.parseInt(args[2]), members);
        var ready = new CountDownLatch(members);
        var start = new CountDownLatch(1);
        Task awaitStart = () -> {
            ready.countDown();
            start.await();
        };
        for (int index = 1; index < members; index++) {
            int member = index;
            inBackground(
                () -> poll(args[1], config(args, name), awaitStart, group.new Listener(member)));
        }
        Process mortal = processOfItsOwn(args, name);
        inBackground(() -> group.listen(0, mortal.inputReader(), ready));
        // Consumers are made, and nobody has asked the broker for anything.
        ready.await();
        long begun = System.nanoTime();
        start.countDown();
        mortal.outputWriter().append('\n').close();
        long started = group.awaitSettled(deadline) - begun;
        // Everybody has heard of it, heartbeats have become regular.
        Thread.sleep(1000);
        long died = System.nanoTime();
        group.die(0);
        mortal.destroyForcibly();
        long recovered = group.awaitSettled(deadline) - died;
        if (group.ownedTwice) {
            throw new IllegalStateException("a partition had two owners");
        }
        System.out.printf(
            "{\"start_seconds\": %.6f, \"death_seconds\": %.6f}%n", started / 1e9, recovered / 1e9);
        System.exit(0);
    }

    private static Process processOfItsOwn(String[] args, String name) throws IOException {
        var self = ProcessHandle.current().info();
        List<String> command = new ArrayList<>(List.of(self.command().orElseThrow()));
        command.addAll(List.of(self.arguments().orElseThrow()));
        command.add(name);
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static Properties config(String[] args, String name) {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("group.id", name);
        config.put("group.protocol", args[4]);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        if (args[4].equals("classic")) {
            config.put("session.timeout.ms", args[5]);
            config.put("heartbeat.interval.ms", args[6]);
        }
        return config;
    }

    private static void poll(
            String topic, Properties config, Task start, ConsumerRebalanceListener listener)
            throws Exception {
        var bytes = new ByteArrayDeserializer();
        var consumer = new KafkaConsumer<>(config, bytes, bytes);
        start.run();
        consumer.subscribe(List.of(topic), listener);
        while (true) {
            consumer.poll(Duration.ofMillis(100));
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private static void inBackground(Task task) {
        var thread = new Thread(() -> {
            try {
                task.run();
            } catch (Exception error) {
                error.printStackTrace();
                System.exit(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    /** What the member in its own process reports: that it is ready; then a sign, and partitions. */
    private void listen(int member, BufferedReader reports, CountDownLatch ready) throws IOException {
        reports.readLine();
        ready.countDown();
        try {
            for (String line = reports.readLine(); line != null; line = reports.readLine()) {
                List<TopicPartition> partitions = new ArrayList<>();
                for (String one : line.substring(1).trim().split(" ")) {
                    partitions.add(new TopicPartition("", Integer.parseInt(one)));
                }
                change(member, partitions, line.charAt(0) == '+');
            }
        } catch (IOException error) {
            // A killed process may take its pipe along; if it was not to die, nothing settles.
            return;
        }
    }

    private synchronized void die(int member) {
        if (!dead[member]) {
            for (int partition = 0; partition < owners.length; partition++) {
                change(member, partition, false);
            }
            dead[member] = true;
        }
    }

    private synchronized void change(int member, Collection<TopicPartition> partitions, boolean owned) {
        for (TopicPartition partition : partitions) {
            change(member, partition.partition(), owned);
        }
        notifyAll();
    }

    private void change(int member, int partition, boolean owned) {
        if (!dead[member] && owns[member][partition] != owned) {
            owns[member][partition] = owned;
            owners[partition] += owned ? 1 : -1;
            ownedTwice |= owners[partition] > 1;
        }
    }

    private synchronized long awaitSettled(long deadline) throws InterruptedException {
        while (!isSettled()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("not settled: " + Arrays.toString(owners));
            }
            wait(1000);
        }
        return System.nanoTime();
    }

    private boolean isSettled() {
        int living = 0;
        for (boolean one : dead) {
            living += one ? 0 : 1;
        }
        int least = owners.length / living;
        for (int member = 0; member < dead.length; member++) {
            int count = 0;
            for (boolean one : owns[member]) {
                count += one ? 1 : 0;
            }
            if (!dead[member] && (count < least || count > least + 1)) {
                return false;
            }
        }
        return Arrays.stream(owners).allMatch(count -> count == 1);
    }

    private final class Listener implements ConsumerRebalanceListener {
        private final int member;

        Listener(int member) {
            this.member = member;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            change(member, partitions, true);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            change(member, partitions, false);
        }
    }

    private static final class Reporter implements ConsumerRebalanceListener {
        static void awaitStart() throws IOException {
            System.out.println("ready");
            System.in.read();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            report("+", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            report("-", partitions);
        }

        private static void report(String sign, Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) {
                System.out.println(partitions.stream()
                    .map(partition -> String.valueOf(partition.partition()))
                    .collect(Collectors.joining(" ", sign, "")));
            }
        }
    }
}
