import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/**
 * Reads values with Avro's own classes, line by line. Fields are separated by tabs:
 *
 * <pre>
 * WRITER READER HEX HEX ... -> HEX or "error TEXT" for each (as the reader's schema writes it)
 * </pre>
 *
 * Schemas that are none are answered with {@code error TEXT} alone.
 */
public final class AvroValueOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            out.println(answer(line.split("\t", -1)));
        }
    }

    private static String answer(String[] fields) {
        StringBuilder text = new StringBuilder();
        GenericDatumReader<Object> reader;
        GenericDatumWriter<Object> writer;
        try {
            Schema written = new Schema.Parser().parse(fields[0]);
            Schema read = new Schema.Parser().parse(fields[1]);
            reader = new GenericDatumReader<>(written, read);
            writer = new GenericDatumWriter<>(read);
        } catch (RuntimeException error) {
            return error(error);
        }
        for (int index = 2; index < fields.length; index++) {
            text.append(index == 2 ? "" : "\t");
            try {
                text.append(again(reader, writer, HexFormat.of().parseHex(fields[index])));
            } catch (RuntimeException | IOException error) {
                text.append(error(error));
            }
        }
        return text.toString();
    }

    private static String again(
        GenericDatumReader<Object> reader, GenericDatumWriter<Object> writer, byte[] data)
        throws IOException {
        Object value = reader.read(null, DecoderFactory.get().binaryDecoder(data, null));
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(stream, null);
        writer.write(value, encoder);
        encoder.flush();
        return HexFormat.of().formatHex(stream.toByteArray());
    }

    private static String error(Exception error) {
        String text = String.valueOf(error.getMessage());
        return "error " + text.replace('\n', ' ').replace('\t', ' ');
    }

    private AvroValueOracle() {}
}
