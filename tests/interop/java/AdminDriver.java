import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** mqadmin without a JVM a command: a JSON array of arguments in, what it printed out. */
public class AdminDriver {
    public static void main(String[] args) throws Exception {
        PrintStream replies = System.out;
        PrintStream errors = System.err;
        hurry(Thread.currentThread());
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = JSON.parseArray(line).toArray(new String[0]);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, "UTF-8"));
            System.setErr(new PrintStream(err, true, "UTF-8"));
            forgetCommands();
            MQAdminStartup.main0(words, null);
            System.setOut(errors);
            System.setErr(errors);
            JSONObject reply = new JSONObject();
            reply.put("out", out.toString("UTF-8"));
            reply.put("err", err.toString("UTF-8"));
            reply.put("done", true);
            replies.println(reply.toJSONString());
            replies.flush();
        }
        System.exit(0);
    }

    /** Some commands keep the client of their first run, which is closed by then. */
    private static void forgetCommands() throws IllegalAccessException {
        for (Field field : MQAdminStartup.class.getDeclaredFields()) {
            if (List.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                ((List<?>) field.get(null)).clear();
            }
        }
    }

    /**
     * 5.3's remoting client, when it closes, often waits 3 s for its event thread to notice. Nobody
     * listens to those events here, so the thread is woken whenever the command waits.
     */
    private static void hurry(Thread command) {
        Thread waker = new Thread(() -> {
            while (true) {
                LockSupport.parkNanos(50_000_000);
                if (command.getState() == Thread.State.TIMED_WAITING) {
                    Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("NettyEventExecutor"))
                        .forEach(Thread::interrupt);
                }
            }
        });
        waker.setDaemon(true);
        waker.start();
    }
}
