import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.GetMessageStatus;
import org.apache.rocketmq.store.PutMessageResult;
import org.apache.rocketmq.store.PutMessageStatus;
import org.apache.rocketmq.store.config.FlushDiskType;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.logfile.DefaultMappedFile;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * RocketMQ's own message store, driven by orders on standard input; store_worker.py is its twin.
 *
 * <pre>
 *   open FOLDER FLUSH SEGMENT       load and start: "seconds end-of-log"
 *   append COUNT BODY QUEUES GROUP  GROUP means nothing here: "messages seconds"
 *   batch COUNT BODY SIZE           batches of SIZE messages
 *   sync COUNT BODY WAITERS         each waits for the disk; a third word: syncs they saw
 *   read QUEUE OFFSET COUNT         by pulls of 32, copied to the heap; a third word: bytes
 *   queues FIRST PAST               one message for each of these queues, ten queues a topic
 *   pace COUNT BODY WHAT PATH       COUNT appends, five each ms, beside WHAT: "p50 p99 max" in us
 *   close                           a clean stop
 * </pre>
 *
 * What an order appends is dispatched to queues and index before its clock stops.
 */
public class StoreWorker {
    private static final String TOPIC = "bench-topic";
    private static final String GROUP = "bench-group";
    private static final InetSocketAddress HOST = new InetSocketAddress("127.0.0.1", 10911);
    private static final int PULL = 32;
    private static final int QUEUES_A_TOPIC = 10;
    private static final int BURST = 5;
    private static final int SEGMENT_BYTES = 1 << 30;
    private static final Properties[] PROPERTIES = new Properties[1 << 14];

    private static DefaultMessageStore store;

    /** What a message carries besides its body: made beforehand, as the store does not make it. */
    private record Properties(Map<String, String> map, String text) {
        static Properties of(int number) {
            Map<String, String> map = new HashMap<>();
            map.put("UNIQ_KEY", String.format("%032X", number * 2654435761L));
            map.put("TAGS", "TagA");
            return new Properties(map, MessageDecoder.messageProperties2String(map));
        }
    }

    public static void main(String[] arguments) throws Exception {
        Arrays.setAll(PROPERTIES, Properties::of);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            System.out.println(obey(line.split(" ")));
        }
        Runtime.getRuntime().halt(0);
    }

    private static String obey(String[] words) throws Exception {
        return switch (words[0]) {
            case "open" -> open(words[1], words[2], number(words[3]));
            case "append" -> append(number(words[1]), number(words[2]), number(words[3]));
            case "batch" -> batch(number(words[1]), number(words[2]), number(words[3]));
            case "sync" -> sync(number(words[1]), number(words[2]), number(words[3]));
            case "read" -> read(number(words[1]), Long.parseLong(words[2]), number(words[3]));
            case "queues" -> queues(number(words[1]), number(words[2]));
            case "pace" -> pace(number(words[1]), number(words[2]), words[3], words[4]);
            case "close" -> close();
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    private static String open(String folder, String flush, int segmentBytes)
        throws Exception {
        MessageStoreConfig config = new MessageStoreConfig();
        config.setStorePathRootDir(folder);
        config.setStorePathCommitLog(folder + "/commitlog");
        config.setFlushDiskType(FlushDiskType.valueOf(flush));
        config.setMappedFileSizeCommitLog(segmentBytes);
        config.setHaListenPort(0);
        BrokerConfig broker = new BrokerConfig();
        BrokerStatsManager stats = new BrokerStatsManager(broker);
        long began = System.nanoTime();
        store = new DefaultMessageStore(
            config, stats, (topic, queue, offset, tags, time, bits, map) -> { }, broker,
            new ConcurrentHashMap<>());
        if (!store.load()) {
            throw new IllegalStateException("the store does not load " + folder);
        }
        store.start();
        return since(began) + " " + store.getMaxPhyOffset();
    }

    private static String close() {
        store.shutdown();
        return "closed";
    }

    private static String append(int count, int bodyBytes, int queues) throws Exception {
        byte[] body = body(bodyBytes);
        long began = System.nanoTime();
        for (int at = 0; at < count; at++) {
            check(store.putMessage(message(TOPIC, at % queues, at, body)));
        }
        dispatched();
        return count + " " + since(began);
    }

    private static String batch(int count, int bodyBytes, int size) throws Exception {
        List<Message> messages = new ArrayList<>();
        for (int at = 0; at < size; at++) {
            Message message = new Message(TOPIC, body(bodyBytes));
            MessageAccessor.setProperties(message, PROPERTIES[at].map);
            messages.add(message);
        }
        byte[] body = MessageDecoder.encodeMessages(messages);
        long began = System.nanoTime();
        for (int at = 0; at < count; at++) {
            MessageExtBatch batch = new MessageExtBatch();
            fill(batch, TOPIC, 0, body);
            check(store.putMessages(batch));
        }
        dispatched();
        return count * size + " " + since(began);
    }

    private static String sync(int count, int bodyBytes, int waiters) throws Exception {
        byte[] body = body(bodyBytes);
        AtomicInteger next = new AtomicInteger();
        Set<Long> flushed = ConcurrentHashMap.newKeySet();
        List<Thread> threads = new ArrayList<>();
        long began = System.nanoTime();
        for (int waiter = 0; waiter < waiters; waiter++) {
            threads.add(new Thread(() -> {
                for (int at = next.getAndIncrement(); at < count; at = next.getAndIncrement()) {
                    check(store.putMessage(message(TOPIC, 0, at, body)));
                    flushed.add(store.getCommitLog().getFlushedWhere());
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        dispatched();
        return count + " " + since(began) + " " + flushed.size();
    }

    private static String read(int queue, long offset, int count) {
        long end = offset + count;
        long bytes = 0;
        long began = System.nanoTime();
        while (offset < end) {
            GetMessageResult found = store.getMessage(GROUP, TOPIC, queue, offset, PULL, null);
            if (found.getStatus() != GetMessageStatus.FOUND) {
                throw new IllegalStateException(found.getStatus() + " at " + offset);
            }
            ByteBuffer answer = ByteBuffer.allocate(found.getBufferTotalSize());
            found.getMessageBufferList().forEach(answer::put);
            bytes += answer.position();
            offset = found.getNextBeginOffset();
            found.release();
        }
        return count + " " + since(began) + " " + bytes;
    }

    private static String queues(int first, int past) throws Exception {
        byte[] body = body(128);
        long began = System.nanoTime();
        for (int at = first; at < past; at++) {
            String topic = String.format("%s-%05d", TOPIC, at / QUEUES_A_TOPIC);
            check(store.putMessage(message(topic, at % QUEUES_A_TOPIC, at, body)));
        }
        dispatched();
        return past - first + " " + since(began);
    }

    private static String pace(int count, int bodyBytes, String what, String path)
        throws Exception {
        byte[] body = body(bodyBytes);
        long[] took = new long[count];
        Thread other = new Thread(() -> disturb(what, path));
        other.start();
        for (int at = 0; at < count; at++) {
            if (at % BURST == 0) {
                Thread.sleep(1);
            }
            long began = System.nanoTime();
            check(store.putMessage(message(TOPIC, 0, at, body)));
            took[at] = System.nanoTime() - began;
        }
        other.join();
        Arrays.sort(took);
        return took[count / 2] / 1e3 + " " + took[count - 1 - count / 100] / 1e3 + " "
            + took[count - 1] / 1e3;
    }

    /** As AllocateMappedFileService makes a file and CleanCommitLogService removes one. */
    private static void disturb(String what, String path) {
        try {
            if (what.equals("preallocating")) {
                new DefaultMappedFile(path, SEGMENT_BYTES);
            } else if (what.equals("deleting")) {
                new DefaultMappedFile(path, SEGMENT_BYTES).destroy(1000);
            }
        } catch (Exception failed) {
            throw new IllegalStateException(what + " " + path, failed);
        }
    }

    private static String since(long began) {
        return String.valueOf((System.nanoTime() - began) / 1e9);
    }

    private static MessageExtBrokerInner message(String topic, int queue, int number, byte[] body) {
        MessageExtBrokerInner message = new MessageExtBrokerInner();
        fill(message, topic, queue, body);
        Properties properties = PROPERTIES[number % PROPERTIES.length];
        MessageAccessor.setProperties(message, properties.map);
        message.setPropertiesString(properties.text);
        return message;
    }

    private static void fill(MessageExtBrokerInner message, String topic, int queue, byte[] body) {
        message.setTopic(topic);
        message.setQueueId(queue);
        message.setBody(body);
        message.setBornTimestamp(System.currentTimeMillis());
        message.setBornHost(HOST);
        message.setStoreHost(HOST);
    }

    private static byte[] body(int size) {
        byte[] body = new byte[size];
        for (int at = 0; at < size; at++) {
            body[at] = (byte) at;
        }
        return body;
    }

    private static void check(PutMessageResult result) {
        if (result.getPutMessageStatus() != PutMessageStatus.PUT_OK) {
            throw new IllegalStateException("a put ended with " + result.getPutMessageStatus());
        }
    }

    private static void dispatched() throws InterruptedException {
        while (store.dispatchBehindBytes() > 0) {
            Thread.sleep(1);
        }
    }
}
