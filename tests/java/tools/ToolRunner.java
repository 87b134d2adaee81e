import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command-line tools one after the other in one JVM: the same classes as the
 * scripts start, without a second of start-up for each.
 *
 * <p>A line names a class, then its standard input and its arguments in Base64, separated by tabs.
 * The answer is the exit code, standard output and standard error, the latter two in Base64.
 */
public final class ToolRunner {
    private static final Base64.Encoder ENCODER = Base64.getEncoder();

    /** Thrown where a tool would end its process. */
    private static final class Ended extends Error {}

    /** What the tool at hand wants to do when its process ends, such as to flush a producer. */
    private static final List<Runnable> HOOKS = new ArrayList<>();

    private static volatile int exitCode;
    private static volatile boolean hasEnded;

    public static void main(String[] ignored) throws IOException {
        PrintStream answers = System.out;
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(run(line.split("\t", -1)));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static void end(int code) {
        if (!hasEnded) {
            // Some tools catch what is thrown here; of that nothing may be seen.
            exitCode = code;
            hasEnded = true;
            runHooks();
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        }
        throw new Ended();
    }

    private static void runHooks() {
        List.copyOf(HOOKS).forEach(Runnable::run);
        HOOKS.clear();
        System.out.flush();
        System.err.flush();
    }

    private static String run(String[] fields) {
        InputStream input = System.in;
        PrintStream output = System.out;
        PrintStream errors = System.err;
        var outputBytes = new ByteArrayOutputStream();
        var errorBytes = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(decode(fields[1])));
        System.setOut(new PrintStream(outputBytes, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(errorBytes, true, StandardCharsets.UTF_8));
        hasEnded = false;
        exitCode = 0;
        try {
            String[] arguments =
                Arrays.stream(fields, 2, fields.length)
                    .map(field -> new String(decode(field), StandardCharsets.UTF_8))
                    .toArray(String[]::new);
            call(fields[0], arguments);
            runHooks();
        } catch (Ended error) {
            // The exit code is kept already.
        } catch (Throwable error) {
            // What the JVM does when main throws.
            System.err.print("Exception in thread \"main\" ");
            error.printStackTrace();
            exitCode = 1;
            runHooks();
        } finally {
            System.setIn(input);
            System.setOut(output);
            System.setErr(errors);
        }
        return exitCode
            + "\t"
            + ENCODER.encodeToString(outputBytes.toByteArray())
            + "\t"
            + ENCODER.encodeToString(errorBytes.toByteArray());
    }

    private static void call(String name, String[] arguments) throws Throwable {
        try {
            Class.forName(name)
                .getMethod("main", String[].class)
                .invoke(null, (Object) arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    private static byte[] decode(String field) {
        return Base64.getDecoder().decode(field);
    }
}
