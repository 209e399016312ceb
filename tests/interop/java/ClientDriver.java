import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A RocketMQ client driven by lines: one JSON object in, one or more out, the last with "done".
 *
 * Message number n of a topic has the key "k-n", the tag "even" or "odd" and the body "topic/n",
 * so that what a consumer got can be judged without asking the producer.
 */
public class ClientDriver {
    private static final int POLL_NAME_SERVER_MILLIS = 500;
    private static final int HEARTBEAT_MILLIS = 1000;
    private static final String REBALANCE_MILLIS = "1000";
    private static final int SEND_TIMEOUT_MILLIS = 10_000;

    private final Map<String, DefaultMQProducer> producers = new HashMap<>();
    private final Map<String, Inbox> inboxes = new HashMap<>();
    private final PrintStream replies;
    private int producersMade;

    ClientDriver(PrintStream replies) {
        this.replies = replies;
    }

    public static void main(String[] args) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err);
        System.setProperty("rocketmq.client.rebalance.waitInterval", REBALANCE_MILLIS);
        ClientDriver driver = new ClientDriver(replies);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            driver.obey(JSON.parseObject(line));
        }
        driver.shutdown();
        System.exit(0);
    }

    private void obey(JSONObject order) {
        JSONObject reply = new JSONObject();
        try {
            switch (order.getString("do")) {
                case "produce": produce(order, reply); break;
                case "subscribe": subscribe(order); break;
                case "received": received(order, reply); break;
                case "queues": queues(order, reply); break;
                case "leave": leave(order); break;
                case "chosen": reply.put("address", chosenNameServer(order)); break;
                default: throw new IllegalArgumentException("unknown order " + order);
            }
        } catch (Throwable error) {
            reply.put("error", text(error));
        }
        reply.put("done", true);
        say(reply);
    }

    private synchronized void say(JSONObject reply) {
        replies.println(reply.toJSONString());
        replies.flush();
    }

    private void produce(JSONObject order, JSONObject reply) throws Exception {
        DefaultMQProducer producer = producer(order.getString("namesrv"));
        String topic = order.getString("topic");
        int count = order.getIntValue("count");
        long pauseNanos = order.getLongValue("pauseNanos");
        AtomicInteger next = new AtomicInteger();
        AtomicInteger sent = new AtomicInteger();
        ConcurrentLinkedQueue<String> errors = new ConcurrentLinkedQueue<>();
        long start = System.nanoTime();
        Runnable work = () -> {
            for (int n = next.getAndIncrement(); n < count; n = next.getAndIncrement()) {
                keepPace(start + n * pauseNanos);
                try {
                    SendResult result = producer.send(message(topic, n));
                    if (result.getSendStatus() != SendStatus.SEND_OK) {
                        errors.add(n + ": " + result);
                    }
                } catch (Throwable error) {
                    errors.add(n + ": " + text(error));
                }
                int done = sent.incrementAndGet();
                if (done % Math.max(1, count / 20) == 0) {
                    say(new JSONObject(Map.of("sent", done)));
                }
            }
        };
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < order.getIntValue("threads"); i++) {
            Thread thread = new Thread(work);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        reply.put("sent", sent.get());
        reply.put("errors", new ArrayList<>(errors));
    }

    private static void keepPace(long dueNanos) {
        long ahead = dueNanos - System.nanoTime();
        if (ahead > 0) {
            LockSupport.parkNanos(ahead);
        }
    }

    private static Message message(String topic, int n) {
        byte[] body = (topic + "/" + n).getBytes(StandardCharsets.UTF_8);
        return new Message(topic, tag(n), "k-" + n, body);
    }

    private static String tag(int n) {
        return n % 2 == 0 ? "even" : "odd";
    }

    private DefaultMQProducer producer(String nameServers) throws Exception {
        DefaultMQProducer producer = producers.get(nameServers);
        if (producer == null) {
            String name = "producer_" + producersMade++;
            producer = new DefaultMQProducer(name);
            producer.setInstanceName(name);
            producer.setNamesrvAddr(nameServers);
            producer.setPollNameServerInterval(POLL_NAME_SERVER_MILLIS);
            producer.setSendMsgTimeout(SEND_TIMEOUT_MILLIS);
            producer.setRetryTimesWhenSendFailed(0);
            producer.start();
            producers.put(nameServers, producer);
        }
        return producer;
    }

    private void leave(JSONObject order) {
        DefaultMQProducer producer = producers.remove(order.getString("namesrv"));
        if (producer != null) {
            new Thread(producer::shutdown).start(); // 5.3 often takes 3 s
        }
    }

    private void subscribe(JSONObject order) throws Exception {
        String topic = order.getString("topic");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("consumer_" + topic);
        consumer.setInstanceName("consumer_" + topic);
        consumer.setNamesrvAddr(order.getString("namesrv"));
        consumer.setPollNameServerInterval(POLL_NAME_SERVER_MILLIS);
        consumer.setHeartbeatBrokerInterval(HEARTBEAT_MILLIS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(2);
        consumer.setConsumeThreadMax(2);
        Inbox inbox = new Inbox(consumer, topic);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(inbox::take);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.subscribe(topic, "*");
        consumer.start();
        inboxes.put(topic, inbox);
    }

    /** Waits until that many different messages have come, or the time is over. */
    private void received(JSONObject order, JSONObject reply) throws InterruptedException {
        Inbox inbox = inboxes.get(order.getString("topic"));
        inbox.await(order.getIntValue("count"), order.getLongValue("millis"));
        inbox.report(reply);
    }

    private void queues(JSONObject order, JSONObject reply) throws Exception {
        DefaultMQProducer producer = producer(order.getString("namesrv"));
        List<String> names = new ArrayList<>();
        for (MessageQueue queue : producer.fetchPublishMessageQueues(order.getString("topic"))) {
            names.add(queue.getBrokerName() + ":" + queue.getQueueId());
        }
        reply.put("queues", names);
    }

    /** The name server this client talks to; no public method tells. */
    private String chosenNameServer(JSONObject order) throws Exception {
        MQClientInstance factory =
            producer(order.getString("namesrv")).getDefaultMQProducerImpl().getMqClientFactory();
        Object remoting = field(factory.getMQClientAPIImpl(), "remotingClient");
        return (String) ((AtomicReference<?>) field(remoting, "namesrvAddrChoosed")).get();
    }

    private static Object field(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    private void shutdown() {
        producers.values().forEach(DefaultMQProducer::shutdown);
        inboxes.values().forEach(inbox -> inbox.consumer.shutdown());
    }

    private static String text(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        return text.toString();
    }

    /** What one consumer got. */
    private static final class Inbox {
        private final DefaultMQPushConsumer consumer;
        private final String topic;
        private final BitSet numbers = new BitSet();
        private final List<String> damaged = new ArrayList<>();
        private int deliveries;

        Inbox(DefaultMQPushConsumer consumer, String topic) {
            this.consumer = consumer;
            this.topic = topic;
        }

        synchronized void take(MessageExt message) {
            deliveries++;
            int n = Integer.parseInt(message.getKeys().substring(2));
            byte[] body = (topic + "/" + n).getBytes(StandardCharsets.UTF_8);
            if (!Arrays.equals(body, message.getBody()) || !tag(n).equals(message.getTags())) {
                damaged.add(message.toString());
            }
            numbers.set(n);
            notifyAll();
        }

        synchronized void await(int count, long millis) throws InterruptedException {
            long end = System.nanoTime() + millis * 1_000_000;
            while (numbers.cardinality() < count) {
                long left = (end - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    return;
                }
                wait(left);
            }
        }

        synchronized void report(JSONObject reply) {
            reply.put("numbers", numbers.stream().toArray());
            reply.put("deliveries", deliveries);
            reply.put("damaged", damaged);
        }
    }
}
