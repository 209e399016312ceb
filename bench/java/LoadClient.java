import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;

/**
 * RocketMQ's own client under load: {@code LoadClient NAMESRV TOPIC}, then orders on standard input.
 *
 * <pre>
 *   sync  THREADS SECONDS BODY        each thread waits for its answer before it sends again
 *   async WINDOW SECONDS BODY         one thread, so many messages under way
 *   gather WINDOW SECONDS BODY        as async, by a producer that gathers batches (autoBatch)
 *   batch THREADS SECONDS BODY SIZE   as sync, so many messages a send
 *     -> "messages refused seconds p50 p99 longest", the last three in us
 *   push  GROUP COUNT SIZE            a new group reads so many messages from the first on, the
 *                                     listener is given so many at a time
 *   pull  GROUP COUNT                 the same by polls of all queues
 *     -> "messages seconds", from the first message to the last
 * </pre>
 *
 * No send is tried twice: what was refused is counted.
 */
public class LoadClient {
    private static final int PULL = 32;
    private static final int CONSUME_SECONDS_MAX = 120;

    private final String nameServers;
    private final String topic;
    private final DefaultMQProducer producer;
    private DefaultMQProducer gathering;

    private LoadClient(String nameServers, String topic) throws Exception {
        this.nameServers = nameServers;
        this.topic = topic;
        this.producer = producer("bench-producer", false);
    }

    private DefaultMQProducer producer(String group, boolean autoBatch) throws Exception {
        DefaultMQProducer made = new DefaultMQProducer(group);
        made.setNamesrvAddr(nameServers);
        made.setRetryTimesWhenSendFailed(0);
        made.setRetryTimesWhenSendAsyncFailed(0);
        made.setAutoBatch(autoBatch);
        made.start();
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        try {
            LoadClient client = new LoadClient(arguments[0], arguments[1]);
            BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
            for (String line = orders.readLine(); line != null; line = orders.readLine()) {
                answers.println(client.obey(line.split(" ")));
                answers.flush();
            }
        } catch (Exception error) { // the client's threads would keep the process, and whoever waits
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0);
    }

    private String obey(String[] words) throws Exception {
        return switch (words[0]) {
            case "sync" -> send(number(words[1]), seconds(words[2]), number(words[3]), 1);
            case "async" ->
                sendAsync(producer, number(words[1]), seconds(words[2]), number(words[3]));
            case "gather" ->
                sendAsync(gathering(), number(words[1]), seconds(words[2]), number(words[3]));
            case "batch" ->
                send(number(words[1]), seconds(words[2]), number(words[3]), number(words[4]));
            case "push" -> push(words[1], number(words[2]), number(words[3]));
            case "pull" -> pull(words[1], number(words[2]));
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    /** Nanoseconds. */
    private static long seconds(String word) {
        return (long) (Double.parseDouble(word) * 1e9);
    }

    // ------------------------------------------------------------------ sends

    /** One thread's sends: how many were stored and refused, and how long each took. */
    private final class Sender extends Thread {
        private final byte[] body;
        private final int size;
        private final long end;
        private long[] took = new long[1 << 12];
        private int count;
        private int refused;

        private Sender(int bodyBytes, int size, long end) {
            this.body = body(bodyBytes);
            this.size = size;
            this.end = end;
        }

        @Override
        public void run() {
            for (long begin = System.nanoTime(); begin < end; begin = System.nanoTime()) {
                if (isStored()) {
                    if (count == took.length) {
                        took = Arrays.copyOf(took, 2 * count);
                    }
                    took[count++] = System.nanoTime() - begin;
                } else {
                    refused++;
                }
            }
        }

        private boolean isStored() {
            try {
                SendResult result =
                    size == 1 ? producer.send(message(body)) : producer.send(messages());
                return result.getSendStatus() == SendStatus.SEND_OK;
            } catch (Exception error) {
                return false;
            }
        }

        private List<Message> messages() {
            List<Message> messages = new ArrayList<>(size);
            for (int number = 0; number < size; number++) {
                messages.add(message(body));
            }
            return messages;
        }
    }

    private String send(int threads, long nanos, int bodyBytes, int size) throws Exception {
        long begin = System.nanoTime();
        List<Sender> senders = new ArrayList<>();
        for (int number = 0; number < threads; number++) {
            senders.add(new Sender(bodyBytes, size, begin + nanos));
        }
        senders.forEach(Thread::start);
        for (Sender sender : senders) {
            sender.join();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        long[] took =
            senders.stream().flatMapToLong(one -> Arrays.stream(one.took, 0, one.count)).toArray();
        int refused = senders.stream().mapToInt(one -> one.refused).sum();
        return answer((long) took.length * size, (long) refused * size, seconds, took);
    }

    private DefaultMQProducer gathering() throws Exception {
        if (gathering == null) {
            gathering = producer("bench-gathering", true);
        }
        return gathering;
    }

    private String sendAsync(DefaultMQProducer by, int window, long nanos, int bodyBytes)
        throws Exception {
        Semaphore free = new Semaphore(window);
        AtomicLong stored = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        SendCallback callback = new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                (result.getSendStatus() == SendStatus.SEND_OK ? stored : refused).incrementAndGet();
                free.release();
            }

            @Override
            public void onException(Throwable error) {
                refused.incrementAndGet();
                free.release();
            }
        };
        byte[] body = body(bodyBytes);
        long begin = System.nanoTime();
        while (System.nanoTime() - begin < nanos) {
            free.acquire();
            by.send(message(body), callback);
        }
        free.acquire(window);
        return answer(stored.get(), refused.get(), (System.nanoTime() - begin) / 1e9, new long[0]);
    }

    private static String answer(long stored, long refused, double seconds, long[] took) {
        Arrays.sort(took);
        return String.format("%d %d %.6f %.1f %.1f %.1f",
            stored, refused, seconds, part(took, 0.5), part(took, 0.99), part(took, 1));
    }

    /** Microseconds. */
    private static double part(long[] sorted, double part) {
        return sorted.length == 0 ? 0 : sorted[(int) ((sorted.length - 1) * part)] / 1e3;
    }

    private Message message(byte[] body) {
        return new Message(topic, "TagA", body);
    }

    private static byte[] body(int size) {
        byte[] body = new byte[size];
        for (int at = 0; at < size; at++) {
            body[at] = (byte) at;
        }
        return body;
    }

    // ------------------------------------------------------------------ reads

    /** Counts up to so many messages, and takes the time between the first and the last. */
    private static final class Tally {
        private final int wanted;
        private final CountDownLatch done = new CountDownLatch(1);
        private long begin;
        private long end;
        private int count;

        private Tally(int wanted) {
            this.wanted = wanted;
        }

        private synchronized void add(int messages) {
            if (count == 0 && messages > 0) {
                begin = System.nanoTime();
            }
            count += messages;
            if (count >= wanted && end == 0) {
                end = System.nanoTime();
                done.countDown();
            }
        }

        private synchronized String answer() {
            if (end == 0) {
                throw new IllegalStateException("only " + count + " messages came");
            }
            return String.format("%d %.6f", wanted, (end - begin) / 1e9);
        }
    }

    private String push(String group, int count, int size) throws Exception {
        Tally tally = new Tally(count);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServers);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(size);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            tally.add(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        try {
            tally.done.await(CONSUME_SECONDS_MAX, TimeUnit.SECONDS);
            return tally.answer();
        } finally {
            consumer.shutdown();
        }
    }

    private String pull(String group, int count) throws Exception {
        Tally tally = new Tally(count);
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(nameServers);
        consumer.setPullBatchSize(PULL);
        // Not by seeks: each interrupts pulls under way, which closes the connection of all.
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.start();
        try {
            consumer.assign(consumer.fetchMessageQueues(topic));
            long last = System.nanoTime() + TimeUnit.SECONDS.toNanos(CONSUME_SECONDS_MAX);
            while (tally.done.getCount() > 0 && System.nanoTime() < last) {
                tally.add(consumer.poll().size());
            }
            return tally.answer();
        } finally {
            consumer.shutdown();
        }
    }
}
