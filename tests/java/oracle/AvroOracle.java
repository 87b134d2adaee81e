import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

/**
 * Answers, line by line, what Avro's own classes make of schemas. Fields are separated by tabs:
 *
 * <pre>
 * compare READER WRITER -> ok TYPE TYPE ...   (kinds of incompatibility, sorted; none if readable)
 * write   SCHEMA        -> ok TEXT            (as Avro prints it)
 * </pre>
 *
 * Anything that goes wrong is answered with {@code error TEXT}.
 */
public final class AvroOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            String answer;
            try {
                answer = "ok" + answer(line.split("\t", -1));
            } catch (RuntimeException error) {
                answer = "error\t" + String.valueOf(error.getMessage()).replace('\n', ' ');
            }
            out.println(answer);
        }
    }

    private static String answer(String[] fields) {
        if (fields[0].equals("write")) {
            return "\t" + new Schema.Parser().parse(fields[1]);
        }
        Schema reader = new Schema.Parser().parse(fields[1]);
        Schema writer = new Schema.Parser().parse(fields[2]);
        Set<String> kinds = new TreeSet<>();
        for (SchemaCompatibility.Incompatibility one :
            SchemaCompatibility.checkReaderWriterCompatibility(reader, writer)
                .getResult().getIncompatibilities()) {
            kinds.add(one.getType() + "@" + one.getLocation());
        }
        StringBuilder text = new StringBuilder();
        kinds.forEach(kind -> text.append('\t').append(kind));
        return text.toString();
    }

    private AvroOracle() {}
}
