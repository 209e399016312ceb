import com.sun.management.OperatingSystemMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Decodes and encodes frames with RocketMQ's own classes, when told so on standard input.
 *
 * <pre>
 *   check  FILE           one decoding: "frames, sum of opaques, ext fields, body bytes"
 *   decode FILE SECONDS   whole buffers for so long: "frames cpu-seconds"
 *   encode FILE SECONDS   the commands of the buffer, again and again: "frames cpu-seconds"
 * </pre>
 *
 * The frames are cut by their length word in the cheapest way there is, without Netty's pipeline,
 * and encoded into one buffer that is used again: what is timed is RocketMQ's codec alone.
 */
public class CodecWorker {
    private static final OperatingSystemMXBean SYSTEM =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    public static void main(String[] arguments) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.split(" ");
            ByteBuf frames = Unpooled.wrappedBuffer(Files.readAllBytes(Path.of(words[1])));
            System.out.println(
                switch (words[0]) {
                    case "check" -> check(decodeAll(frames));
                    case "decode" -> decode(frames, Double.parseDouble(words[2]));
                    case "encode" -> encode(decodeAll(frames), Double.parseDouble(words[2]));
                    default -> throw new IllegalArgumentException(line);
                });
        }
    }

    private static List<RemotingCommand> decodeAll(ByteBuf frames) throws Exception {
        List<RemotingCommand> commands = new ArrayList<>();
        frames.readerIndex(0);
        while (frames.isReadable()) {
            commands.add(RemotingCommand.decode(frames.readSlice(frames.readInt())));
        }
        return commands;
    }

    private static String check(List<RemotingCommand> commands) {
        long opaques = 0;
        long fields = 0;
        long bodies = 0;
        for (RemotingCommand command : commands) {
            opaques += command.getOpaque();
            fields += command.getExtFields() == null ? 0 : command.getExtFields().size();
            bodies += command.getBody() == null ? 0 : command.getBody().length;
        }
        return commands.size() + " " + opaques + " " + fields + " " + bodies;
    }

    private static String decode(ByteBuf frames, double seconds) throws Exception {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        long begin = SYSTEM.getProcessCpuTime();
        long done = 0;
        while (System.nanoTime() < end) {
            done += decodeAll(frames).size();
        }
        return done + " " + (SYSTEM.getProcessCpuTime() - begin) / 1e9;
    }

    private static String encode(List<RemotingCommand> commands, double seconds) {
        ByteBuf out = Unpooled.buffer(1 << 20);
        long end = System.nanoTime() + (long) (seconds * 1e9);
        long begin = SYSTEM.getProcessCpuTime();
        long done = 0;
        while (System.nanoTime() < end) {
            out.clear();
            for (RemotingCommand command : commands) {
                command.fastEncodeHeader(out);
                if (command.getBody() != null) {
                    out.writeBytes(command.getBody());
                }
            }
            done += commands.size();
        }
        return done + " " + (SYSTEM.getProcessCpuTime() - begin) / 1e9;
    }
}
