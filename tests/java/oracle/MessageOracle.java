import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Answers, line by line, what Apache Kafka's own classes make of a message.
 *
 * <p>Every message class of Kafka comes with a JSON converter, so a test can hand over values as
 * JSON and get Kafka's bytes, or hand over bytes and get the values Kafka reads in them. Fields of
 * a line are separated by tabs:
 *
 * <pre>
 * encode  NAME VERSION JSON -> ok HEX
 * decode  NAME VERSION HEX  -> ok JSON HEX     (the bytes written again by Kafka)
 * default NAME VERSION      -> ok HEX          (a message with nothing set)
 * apis                      -> ok JSON         (every API with its key and versions)
 * records                   -> ok JSON         (every record of the metadata log, likewise)
 * </pre>
 *
 * Anything that goes wrong is answered with {@code error TEXT}.
 */
public final class MessageOracle {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message",
        "org.apache.kafka.common.metadata",
        "org.apache.kafka.raft.generated",
        "org.apache.kafka.coordinator.group.generated",
        "org.apache.kafka.coordinator.transaction.generated",
        "org.apache.kafka.coordinator.share.generated",
        "org.apache.kafka.server.log.remote.metadata.storage.generated",
    };

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, MessageClass> CLASSES = new HashMap<>();

    /** A message class and the two methods of its converter, looked up once. */
    private record MessageClass(Class<?> type, Method fromJson, Method toJson) {
        static MessageClass find(String name) throws ReflectiveOperationException {
            for (String place : PACKAGES) {
                for (String suffix : new String[] {"Data", ""}) {
                    try {
                        Class<?> type = Class.forName(place + "." + name + suffix);
                        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
                        return new MessageClass(
                            type,
                            converter.getMethod("read", JsonNode.class, short.class),
                            converter.getMethod("write", type, short.class, boolean.class));
                    } catch (ClassNotFoundException absent) {
                        continue;
                    }
                }
            }
            throw new ClassNotFoundException(name);
        }

        Message read(JsonNode json, short version) throws ReflectiveOperationException {
            return (Message) fromJson.invoke(null, json, version);
        }

        Message read(ByteBufferAccessor bytes, short version) throws ReflectiveOperationException {
            return (Message) type.getConstructor(Readable.class, short.class).newInstance(bytes, version);
        }

        JsonNode write(Message message, short version) throws ReflectiveOperationException {
            return (JsonNode) toJson.invoke(null, message, version, true);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line.split("\t")));
            out.print('\n');
            out.flush();
        }
    }

    private static String answer(String[] request) {
        try {
            return "ok\t" + run(request);
        } catch (InvocationTargetException wrapped) {
            return "error\t" + oneLine(wrapped.getCause());
        } catch (Exception | StackOverflowError error) {
            return "error\t" + oneLine(error);
        }
    }

    private static String run(String[] request) throws Exception {
        if (request[0].equals("apis")) {
            return apis().toString();
        }
        if (request[0].equals("records")) {
            return records().toString();
        }
        MessageClass found = CLASSES.get(request[1]);
        if (found == null) {
            found = MessageClass.find(request[1]);
            CLASSES.put(request[1], found);
        }
        short version = Short.parseShort(request[2]);
        switch (request[0]) {
            case "encode":
                return hex(found.read(JSON.readTree(request[3]), version), version);
            case "default":
                return hex((Message) found.type().getConstructor().newInstance(), version);
            case "decode":
                byte[] bytes = request.length > 3 ? HexFormat.of().parseHex(request[3]) : new byte[0];
                ByteBuffer buffer = ByteBuffer.wrap(bytes);
                Message message = found.read(new ByteBufferAccessor(buffer), version);
                if (buffer.hasRemaining()) {
                    throw new IllegalArgumentException(buffer.remaining() + " bytes left over");
                }
                return JSON.writeValueAsString(found.write(message, version)) + "\t" + hex(message, version);
            default:
                throw new IllegalArgumentException("unknown request " + request[0]);
        }
    }

    private static String hex(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static ArrayNode apis() {
        ArrayNode all = JSON.createArrayNode();
        for (ApiMessageType api : ApiMessageType.values()) {
            ObjectNode node = all.addObject();
            node.put("name", api.name);
            node.put("key", api.apiKey());
            node.put("lowest", api.lowestSupportedVersion());
            node.put("highest", api.highestSupportedVersion(true));
            ArrayNode headers = node.putArray("headers");
            for (short version = api.lowestSupportedVersion(); version <= api.highestSupportedVersion(true); version++) {
                headers.addArray().add(api.requestHeaderVersion(version)).add(api.responseHeaderVersion(version));
            }
        }
        return all;
    }

    private static ArrayNode records() {
        ArrayNode all = JSON.createArrayNode();
        for (MetadataRecordType type : MetadataRecordType.values()) {
            ObjectNode node = all.addObject();
            node.put("name", type.newMetadataRecord().getClass().getSimpleName());
            node.put("key", type.id());
            node.put("lowest", type.lowestSupportedVersion());
            node.put("highest", type.highestSupportedVersion());
        }
        return all;
    }

    private static String oneLine(Throwable error) {
        return error.toString().replace('\n', ' ').replace('\t', ' ');
    }

    private MessageOracle() {}
}
