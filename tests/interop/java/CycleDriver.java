import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Java's clients at work through failovers: {@code CycleDriver NAMESRV TOPIC FOLDER SYNC ASYNC}, the
 * last two being messages a second.
 *
 * Three clients with nothing set but the name server: a producer that many threads wait for, one
 * whose answers are called back, and a push consumer. What each was told goes to a file of its own
 * in the folder, as gantrymq.cycles.records has it. A first line on standard input ends the sends,
 * which "stopped" confirms; the end of the input ends the process.
 */
public class CycleDriver {
    private static final int SYNC_SENDER = 1;
    private static final int ASYNC_SENDER = 2;
    private static final int SYNC_THREADS = 16;
    private static final int ASYNC_WINDOW = 64;
    private static final int BODY_BYTES = 128;
    private static final int EXCEPTION = 9;
    private static final int FLUSH_MILLIS = 20;
    private static final long TELL_NANOS = 100_000_000; // of thousands that fail alike a few are told
    private static final long BEHIND_NANOS = 50_000_000; // what an outage delayed is not caught up
    private static final long FAILED_NANOS = 20_000_000; // or a refused one would be asked all day
    private static final long LAST_SECONDS = 30;

    private static volatile long toldAt;
    private static volatile boolean isOver;

    /** The file of one client. */
    private static final class Records {
        private final DataOutputStream file;

        Records(Path folder, String name, ScheduledExecutorService flusher) throws IOException {
            FileOutputStream sink = new FileOutputStream(folder.resolve(name).toFile(), true);
            file = new DataOutputStream(new BufferedOutputStream(sink, 1 << 16));
            flusher.scheduleAtFixedRate(this::flush, FLUSH_MILLIS, FLUSH_MILLIS,
                TimeUnit.MILLISECONDS);
        }

        synchronized void add(int status, int sender, int queue, int number, long offset) {
            try {
                file.writeLong(System.nanoTime());
                file.writeByte(status);
                file.writeByte(sender);
                file.writeShort(queue);
                file.writeInt(number);
                file.writeLong(offset);
            } catch (IOException error) {
                die(error);
            }
        }

        void sent(int sender, int number, SendResult result) {
            add(result.getSendStatus().ordinal(), sender, result.getMessageQueue().getQueueId(),
                number, result.getQueueOffset());
        }

        void failed(int sender, int number, Throwable error) {
            add(EXCEPTION, sender, 0, number, -1);
            long now = System.nanoTime();
            if (now - toldAt > TELL_NANOS) {
                toldAt = now;
                System.err.println(now + " " + sender + "-" + number + " " + error);
            }
        }

        synchronized void flush() {
            try {
                file.flush();
            } catch (IOException error) {
                die(error);
            }
        }
    }

    /** So many turns a second, shared by many threads. */
    private static final class Pace {
        private final long nanos;
        private long due = System.nanoTime();

        Pace(int perSecond) {
            nanos = 1_000_000_000L / perSecond;
        }

        void await() {
            long mine;
            synchronized (this) {
                mine = due = Math.max(due + nanos, System.nanoTime() - BEHIND_NANOS);
            }
            for (long left = mine - System.nanoTime(); left > 0; left = mine - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        String nameServers = arguments[0];
        String topic = arguments[1];
        Path folder = Path.of(arguments[2]);
        ScheduledExecutorService flusher = Executors.newSingleThreadScheduledExecutor();
        Records given = new Records(folder, "java-push.records", flusher);
        consumer(nameServers, topic, given).start();
        List<Thread> senders = new ArrayList<>();
        Records sync = new Records(folder, "java-sync.records", flusher);
        DefaultMQProducer waiting = producer(nameServers, "java-sync");
        Pace syncPace = new Pace(Integer.parseInt(arguments[3]));
        for (int thread = 0; thread < SYNC_THREADS; thread++) {
            senders.add(new Thread(() -> sendAndWait(waiting, topic, sync, syncPace)));
        }
        Records async = new Records(folder, "java-async.records", flusher);
        DefaultMQProducer calling = producer(nameServers, "java-async");
        Pace asyncPace = new Pace(Integer.parseInt(arguments[4]));
        senders.add(new Thread(() -> sendAndGoOn(calling, topic, async, asyncPace)));
        senders.forEach(Thread::start);
        System.in.read();
        isOver = true;
        for (Thread sender : senders) {
            sender.join();
        }
        sync.flush();
        async.flush();
        System.out.println("stopped");
        System.out.flush();
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }

    private static DefaultMQProducer producer(String nameServers, String group) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameServers);
        producer.start();
        return producer;
    }

    private static final AtomicInteger syncNumbers = new AtomicInteger();

    private static void sendAndWait(
        DefaultMQProducer producer, String topic, Records records, Pace pace) {
        while (!isOver) {
            pace.await();
            int number = syncNumbers.incrementAndGet();
            try {
                SendResult result = producer.send(message(topic, SYNC_SENDER, number));
                records.sent(SYNC_SENDER, number, result);
            } catch (Exception error) {
                records.failed(SYNC_SENDER, number, error);
                LockSupport.parkNanos(FAILED_NANOS);
            }
        }
    }

    private static void sendAndGoOn(
        DefaultMQProducer producer, String topic, Records records, Pace pace) {
        Semaphore free = new Semaphore(ASYNC_WINDOW);
        for (int number = 1; !isOver; number++) {
            pace.await();
            free.acquireUninterruptibly();
            Sent sent = new Sent(records, number, free);
            try {
                producer.send(message(topic, ASYNC_SENDER, number), sent);
            } catch (Exception error) {
                sent.onException(error);
            }
        }
        try {
            free.tryAcquire(ASYNC_WINDOW, LAST_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException error) {
            die(error);
        }
    }

    /** Waits for the answer to one send. */
    private record Sent(Records records, int number, Semaphore free) implements SendCallback {
        @Override
        public void onSuccess(SendResult result) {
            records.sent(ASYNC_SENDER, number, result);
            free.release();
        }

        @Override
        public void onException(Throwable error) {
            records.failed(ASYNC_SENDER, number, error);
            free.release();
        }
    }

    private static Message message(String topic, int sender, int number) {
        return new Message(topic,
            ByteBuffer.allocate(BODY_BYTES).putInt(sender).putInt(number).array());
    }

    private static DefaultMQPushConsumer consumer(
        String nameServers, String topic, Records records) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("java-push");
        consumer.setNamesrvAddr(nameServers);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                ByteBuffer body = ByteBuffer.wrap(message.getBody());
                records.add(0, body.getInt(), message.getQueueId(), body.getInt(),
                    message.getQueueOffset());
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    private static void die(Exception error) {
        error.printStackTrace();
        Runtime.getRuntime().halt(1);
    }
}
