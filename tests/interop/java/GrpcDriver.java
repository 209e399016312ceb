import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.RecallReceipt;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/**
 * The gRPC client of RocketMQ 5 at a proxy, driven by lines: one JSON object in, one out.
 *
 * A message's body is its number; even numbers have the tag "even", the others "odd".
 */
public class GrpcDriver {
    private static final Duration HIDDEN = Duration.ofSeconds(10);
    private static final Duration POLL = Duration.ofSeconds(5);

    private final ClientServiceProvider provider = ClientServiceProvider.loadService();
    private final ClientConfiguration configuration;
    private final Map<String, Producer> producers = new HashMap<>();
    private final Map<String, SimpleConsumer> simple = new HashMap<>();
    private final Map<String, PushConsumer> push = new HashMap<>();
    private final Map<String, LinkedBlockingQueue<JSONObject>> inboxes = new ConcurrentHashMap<>();

    GrpcDriver(String endpoint) {
        configuration = ClientConfiguration.newBuilder()
            .setEndpoints(endpoint)
            .setRequestTimeout(Duration.ofSeconds(20))
            .enableSsl(false)
            .build();
    }

    public static void main(String[] args) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        GrpcDriver driver = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JSONObject order = JSON.parseObject(line);
            JSONObject reply = new JSONObject();
            try {
                driver = driver == null ? new GrpcDriver(order.getString("endpoint")) : driver;
                driver.obey(order, reply);
            } catch (Throwable error) {
                StringWriter text = new StringWriter();
                error.printStackTrace(new PrintWriter(text));
                reply.put("error", text.toString());
            }
            reply.put("done", true);
            replies.println(reply.toJSONString());
            replies.flush();
        }
        System.exit(0);
    }

    private void obey(JSONObject order, JSONObject reply) throws Exception {
        switch (order.getString("do")) {
            case "send": reply.put("ids", send(order)); break;
            case "transact": transact(order); break;
            case "recall": recall(order); break;
            case "subscribe": subscribe(order); break;
            case "received": reply.put("messages", received(order)); break;
            case "pop": reply.put("messages", pop(order)); break;
            default: throw new IllegalArgumentException("unknown order " + order);
        }
    }

    private JSONArray send(JSONObject order) throws Exception {
        JSONArray ids = new JSONArray();
        for (int n = 0; n < order.getIntValue("count"); n++) {
            SendReceipt receipt = producer(order).send(message(order, n));
            ids.add(receipt.getMessageId().toString());
        }
        return ids;
    }

    /** Even numbers are committed, numbers divisible by four later, by a check. */
    private void transact(JSONObject order) throws Exception {
        for (int n = 0; n < order.getIntValue("count"); n++) {
            Transaction transaction = producer(order).beginTransaction();
            producer(order).send(message(order, n), transaction);
            if (n % 2 == 1) {
                transaction.rollback();
            } else if (n % 4 == 2) {
                transaction.commit();
            }
        }
    }

    private void recall(JSONObject order) throws Exception {
        SendReceipt receipt = producer(order).send(message(order, 0));
        RecallReceipt recalled =
            producer(order).recallMessage(order.getString("topic"), receipt.getRecallHandle());
        if (recalled.getMessageId() == null) {
            throw new IllegalStateException("nothing recalled");
        }
    }

    private Message message(JSONObject order, int n) {
        MessageBuilder builder = provider.newMessageBuilder()
            .setTopic(order.getString("topic"))
            .setTag(n % 2 == 0 ? "even" : "odd")
            .setKeys("k-" + n)
            .addProperty("colour", "blue")
            .setBody(String.valueOf(n).getBytes(StandardCharsets.UTF_8));
        if (order.containsKey("group")) {
            builder.setMessageGroup(order.getString("group") + n % 2);
        }
        if (order.containsKey("delayMillis")) {
            long due = System.currentTimeMillis() + order.getLongValue("delayMillis");
            builder.setDeliveryTimestamp(due);
        }
        return builder.build();
    }

    private Producer producer(JSONObject order) throws Exception {
        String topic = order.getString("topic");
        Producer known = producers.get(topic);
        if (known == null) {
            known = provider.newProducerBuilder()
                .setClientConfiguration(configuration)
                .setTopics(topic)
                .setTransactionChecker(view -> TransactionResolution.COMMIT)
                .build();
            producers.put(topic, known);
        }
        return known;
    }

    private FilterExpression filter(JSONObject order) {
        if (order.containsKey("sql")) {
            return new FilterExpression(order.getString("sql"), FilterExpressionType.SQL92);
        }
        String tags = order.getString("tags");
        return new FilterExpression(tags == null ? "*" : tags, FilterExpressionType.TAG);
    }

    private void subscribe(JSONObject order) throws Exception {
        String group = order.getString("consumer");
        int failures = order.getIntValue("failures");
        LinkedBlockingQueue<JSONObject> inbox = new LinkedBlockingQueue<>();
        inboxes.put(group, inbox);
        push.put(group, provider.newPushConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(order.getString("topic"), filter(order)))
            .setMessageListener(view -> {
                inbox.add(told(view));
                boolean fails = view.getDeliveryAttempt() <= failures;
                return fails ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
            })
            .build());
    }

    private JSONArray received(JSONObject order) throws Exception {
        LinkedBlockingQueue<JSONObject> inbox = inboxes.get(order.getString("consumer"));
        JSONArray found = new JSONArray();
        long end = System.currentTimeMillis() + order.getLongValue("millis");
        while (found.size() < order.getIntValue("count")) {
            long left = end - System.currentTimeMillis();
            JSONObject next = inbox.poll(Math.max(0, left), TimeUnit.MILLISECONDS);
            if (next == null) {
                break;
            }
            found.add(next);
        }
        return found;
    }

    /** Receives until that many have come or the time is over; what each did is the order's. */
    private JSONArray pop(JSONObject order) throws Exception {
        String group = order.getString("consumer");
        SimpleConsumer consumer = simple.get(group);
        if (consumer == null) {
            consumer = provider.newSimpleConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup(group)
                .setAwaitDuration(POLL)
                .setSubscriptionExpressions(Map.of(order.getString("topic"), filter(order)))
                .build();
            simple.put(group, consumer);
        }
        JSONArray found = new JSONArray();
        long end = System.currentTimeMillis() + order.getLongValue("millis");
        while (found.size() < order.getIntValue("count") && System.currentTimeMillis() < end) {
            List<MessageView> views = new ArrayList<>(consumer.receive(16, HIDDEN));
            for (MessageView view : views) {
                found.add(told(view));
                switch (order.getString("then")) {
                    case "ack": consumer.ack(view); break;
                    case "hide": consumer.changeInvisibleDuration(view, HIDDEN); break;
                    default: break;
                }
            }
        }
        return found;
    }

    private static JSONObject told(MessageView view) {
        byte[] body = new byte[view.getBody().remaining()];
        view.getBody().get(body);
        JSONObject told = new JSONObject();
        told.put("id", view.getMessageId().toString());
        told.put("body", new String(body, StandardCharsets.UTF_8));
        told.put("tag", view.getTag().orElse(""));
        told.put("keys", String.join(" ", view.getKeys()));
        told.put("properties", view.getProperties());
        told.put("attempt", view.getDeliveryAttempt());
        told.put("group", view.getMessageGroup().orElse(""));
        told.put("at", System.currentTimeMillis());
        return told;
    }
}
