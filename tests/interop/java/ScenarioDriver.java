import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * Java's client as the scenarios drive it: many orders at once, each answered under its number.
 *
 * In:  {"id": 7, "do": "send", "as": "name of the client object", ...}
 * Out: {"id": 7, "answer": ...} or {"id": 7, "error": "..."}
 *
 * It decides nothing: what was sent and what came is told as it was, and the scenario judges.
 */
public class ScenarioDriver {
    private static final int SEND_TIMEOUT_MILLIS = 10_000;
    private static final int SHORT_MILLIS = 1000;
    private static final int SEEK_TRIES = 5;
    private static final int SEEK_MILLIS = 3000;
    private static final int QUIET_MILLIS = 1000;
    private static final int NO_MESSAGE = 208;
    private static final long FOREVER = Long.MAX_VALUE;

    private final Map<String, TransactionMQProducer> producers = new ConcurrentHashMap<>();
    private final Map<String, DefaultMQPushConsumer> consumers = new ConcurrentHashMap<>();
    private final Map<String, DefaultLitePullConsumer> readers = new ConcurrentHashMap<>();
    private final Map<DefaultLitePullConsumer, List<MessageExt>> cameWhileSeeking =
        new ConcurrentHashMap<>();
    private final Map<String, Inbox> inboxes = new ConcurrentHashMap<>();
    private final Map<String, Transaction> transactions = new ConcurrentHashMap<>();
    private final PrintStream answers;

    ScenarioDriver(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        System.setProperty("rocketmq.client.rebalance.waitInterval", "1000");
        System.setProperty("rocketmq.client.rebalance.lockInterval", "1000");
        System.setProperty("rocketmq.client.unlockDelayTimeMills", "1000");
        ScenarioDriver driver = new ScenarioDriver(answers);
        ExecutorService hands = Executors.newCachedThreadPool();
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JSONObject order = JSON.parseObject(line);
            hands.execute(() -> driver.obey(order));
        }
        Runtime.getRuntime().halt(0);
    }

    private void obey(JSONObject order) {
        JSONObject reply = new JSONObject();
        reply.put("id", order.get("id"));
        try {
            reply.put("answer", answer(order));
        } catch (Throwable error) {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            reply.put("error", text.toString());
        }
        synchronized (answers) {
            answers.println(reply.toJSONString());
            answers.flush();
        }
    }

    private Object answer(JSONObject order) throws Exception {
        switch (order.getString("do")) {
            case "produce": return startProducer(order);
            case "send": return send(order);
            case "transact": return transact(order);
            case "checks": return transactions.get(order.getString("key")).checks;
            case "request": return request(order);
            case "consume": return startConsumer(order);
            case "subscribe": return subscribe(order);
            case "received": return received(order);
            case "read": return startReader(order);
            case "poll": return poll(order);
            case "seek": return seek(order);
            case "pull": return pull(order);
            case "view": return view(order);
            case "find": return find(order);
            case "stop": return stop(order.getString("as"));
            default: throw new IllegalArgumentException("unknown order " + order);
        }
    }

    private Object stop(String name) {
        if (producers.containsKey(name)) {
            producers.remove(name).shutdown();
        } else if (consumers.containsKey(name)) {
            consumers.remove(name).shutdown();
        } else if (readers.containsKey(name)) {
            DefaultLitePullConsumer reader = readers.remove(name);
            cameWhileSeeking.remove(reader);
            reader.shutdown();
        }
        return null;
    }

    // ------------------------------------------------------------------ sending

    private Object startProducer(JSONObject order) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(
            order.getString("namespace"), order.getString("group"), signer(order),
            order.getBooleanValue("trace"), null);
        producer.setUseTLS(order.getBooleanValue("tls"));
        producer.setInstanceName(order.getString("as"));
        producer.setNamesrvAddr(order.getString("namesrv"));
        producer.setPollNameServerInterval(SHORT_MILLIS);
        producer.setHeartbeatBrokerInterval(SHORT_MILLIS);
        producer.setSendMsgTimeout(SEND_TIMEOUT_MILLIS);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.setTransactionListener(new Decided());
        producer.start();
        producers.put(order.getString("as"), producer);
        return null;
    }

    /** Signs where the order names an account. By its class: 4.9's client is without it. */
    private static RPCHook signer(JSONObject order) throws ReflectiveOperationException {
        if (!order.containsKey("account")) {
            return null;
        }
        String names = "org.apache.rocketmq.acl.common.";
        Class<?> kind = Class.forName(names + "SessionCredentials");
        Object credentials = kind.getConstructor(String.class, String.class)
            .newInstance(order.getString("account"), order.getString("secret"));
        return (RPCHook) Class.forName(names + "AclClientRPCHook").getConstructor(kind)
            .newInstance(credentials);
    }

    private Object send(JSONObject order) throws Exception {
        DefaultMQProducer producer = producers.get(order.getString("as"));
        List<Message> messages = new ArrayList<>();
        List<SendResult> results = new ArrayList<>();
        for (Object each : order.getJSONArray("messages")) {
            messages.add(message((JSONObject) each));
        }
        switch (order.getString("mode")) {
            case "sync":
                for (Message message : messages) {
                    results.add(producer.send(message));
                }
                break;
            case "async":
                results.addAll(sendAsync(producer, messages));
                break;
            case "oneway":
                for (Message message : messages) {
                    producer.sendOneway(message);
                }
                break;
            case "batch":
                results.add(producer.send(messages));
                break;
            case "select":
                for (Message message : messages) {
                    int shard = Integer.parseInt(message.getUserProperty("shard"));
                    results.add(producer.send(
                        message, (queues, each, any) -> queues.get(shard % queues.size()), null));
                }
                break;
            default:
                throw new IllegalArgumentException("unknown mode in " + order);
        }
        JSONArray told = new JSONArray();
        results.forEach(result -> told.add(fields(result)));
        return told;
    }

    private static List<SendResult> sendAsync(DefaultMQProducer producer, List<Message> messages)
            throws Exception {
        List<CompletableFuture<SendResult>> futures = new ArrayList<>();
        for (Message message : messages) {
            CompletableFuture<SendResult> future = new CompletableFuture<>();
            futures.add(future);
            producer.send(message, new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    future.complete(result);
                }

                @Override
                public void onException(Throwable error) {
                    future.completeExceptionally(error);
                }
            });
        }
        List<SendResult> results = new ArrayList<>();
        for (CompletableFuture<SendResult> future : futures) {
            results.add(future.get(SEND_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS));
        }
        return results;
    }

    /** One message in a transaction: what to decide first, and what at each check; the last stays. */
    private Object transact(JSONObject order) throws Exception {
        Message message = message(order.getJSONObject("message"));
        List<String> decisions = order.getJSONArray("decisions").toJavaList(String.class);
        Transaction transaction = new Transaction(decisions);
        transactions.put(message.getKeys(), transaction);
        TransactionMQProducer producer = producers.get(order.getString("as"));
        return fields(producer.sendMessageInTransaction(message, null));
    }

    private Object request(JSONObject order) throws Exception {
        CompletableFuture<Message> future = new CompletableFuture<>();
        long millis = order.getLongValue("millis");
        Message message = message(order.getJSONObject("message"));
        producers.get(order.getString("as")).request(message, new RequestCallback() {
            @Override
            public void onSuccess(Message reply) {
                if (reply != null) { // it is called when the request is sent, too
                    future.complete(reply);
                }
            }

            @Override
            public void onException(Throwable error) {
                future.completeExceptionally(error);
            }
        }, millis);
        return text(future.get(millis, TimeUnit.MILLISECONDS).getBody());
    }

    private static Message message(JSONObject fields) {
        Message message = new Message(
            fields.getString("topic"), fields.getString("body").getBytes(StandardCharsets.UTF_8));
        if (!fields.getString("tag").isEmpty()) {
            message.setTags(fields.getString("tag"));
        }
        if (!fields.getString("key").isEmpty()) {
            message.setKeys(fields.getString("key"));
        }
        if (fields.getIntValue("level") > 0) {
            message.setDelayTimeLevel(fields.getIntValue("level"));
        }
        JSONObject properties = fields.getJSONObject("properties");
        properties.forEach((name, value) -> put(message, name, (String) value));
        return message;
    }

    /** Both releases send what they know as their own by methods that the other may not have. */
    private static void put(Message message, String name, String value) {
        if (!name.equals("TIMER_DELIVER_MS")) {
            message.putUserProperty(name, value);
            return;
        }
        try {
            Message.class.getMethod("setDeliverTimeMs", long.class)
                .invoke(message, Long.parseLong(value));
        } catch (ReflectiveOperationException before5) {
            message.putUserProperty(name, value);
        }
    }

    private static JSONObject fields(SendResult result) {
        JSONObject fields = new JSONObject();
        fields.put("status", result.getSendStatus().name());
        fields.put("id", result.getMsgId());
        fields.put("offset_id", result.getOffsetMsgId());
        fields.put("queue", result.getMessageQueue().getQueueId());
        fields.put("offset", result.getQueueOffset());
        return fields;
    }

    // ------------------------------------------------------------------ consuming

    private Object startConsumer(JSONObject order) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
            order.getString("namespace"), order.getString("group"), signer(order),
            strategy(order.getString("strategy")), order.getBooleanValue("trace"), null);
        consumer.setUseTLS(order.getBooleanValue("tls"));
        consumer.setInstanceName(order.getString("as"));
        consumer.setNamesrvAddr(order.getString("namesrv"));
        consumer.setPollNameServerInterval(SHORT_MILLIS);
        consumer.setHeartbeatBrokerInterval(SHORT_MILLIS);
        consumer.setPersistConsumerOffsetInterval(SHORT_MILLIS);
        consumer.setSuspendCurrentQueueTimeMillis(100);
        consumer.setConsumeFromWhere(ConsumeFromWhere.valueOf(order.getString("from")));
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        if (order.getBooleanValue("broadcast")) {
            // By its class, because 5.x has moved it to another package.
            consumer.setMessageModel(Enum.valueOf(
                consumer.getMessageModel().getDeclaringClass(), "BROADCASTING"));
        }
        if (order.getBooleanValue("pop")) {
            DefaultMQPushConsumer.class.getMethod("setClientRebalance", boolean.class)
                .invoke(consumer, false);
        }
        consumer.subscribe(order.getString("topic"), selector(order));
        Inbox inbox = new Inbox(order.getIntValue("fails"), order.getString("diary"));
        if (order.containsKey("replier")) {
            inbox.replier = producers.get(order.getString("replier"));
        }
        listen(consumer, inbox, order.getBooleanValue("orderly"));
        inboxes.put(order.getString("as"), inbox);
        consumers.put(order.getString("as"), consumer);
        consumer.start();
        return null;
    }

    /** What a consumer at work wants from now on. */
    private Object subscribe(JSONObject order) throws Exception {
        consumers.get(order.getString("as")).subscribe(order.getString("topic"), selector(order));
        return null;
    }

    private static MessageSelector selector(JSONObject order) {
        String expression = order.getString("expression");
        return order.getBooleanValue("sql")
            ? MessageSelector.bySql(expression) : MessageSelector.byTag(expression);
    }

    private static AllocateMessageQueueStrategy strategy(String name) {
        switch (name == null ? "average" : name) {
            case "average": return new AllocateMessageQueueAveragely();
            case "circle": return new AllocateMessageQueueAveragelyByCircle();
            case "hash": return new AllocateMessageQueueConsistentHash();
            default: throw new IllegalArgumentException("unknown strategy " + name);
        }
    }

    private static void listen(DefaultMQPushConsumer consumer, Inbox inbox, boolean isOrderly) {
        if (isOrderly) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                inbox.takes(messages) ? ConsumeOrderlyStatus.SUCCESS
                    : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                inbox.takes(messages) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS
                    : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
    }

    /** All that has come, once it is as many as that, or the time is over. */
    private Object received(JSONObject order) throws Exception {
        Inbox inbox = inboxes.get(order.getString("as"));
        return inbox.await(order.getIntValue("count"), order.getLongValue("millis"));
    }

    private Object startReader(JSONObject order) throws Exception {
        DefaultLitePullConsumer reader = new DefaultLitePullConsumer(order.getString("group"));
        reader.setInstanceName(order.getString("as"));
        reader.setNamesrvAddr(order.getString("namesrv"));
        reader.setPollNameServerInterval(SHORT_MILLIS);
        reader.setHeartbeatBrokerInterval(SHORT_MILLIS);
        reader.setAutoCommitIntervalMillis(SHORT_MILLIS);
        reader.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        String topic = order.getString("topic");
        if (order.getBooleanValue("assign")) {
            reader.start();
            reader.assign(reader.fetchMessageQueues(topic));
        } else {
            reader.subscribe(topic, "*");
            reader.start();
        }
        readers.put(order.getString("as"), reader);
        cameWhileSeeking.put(reader, new ArrayList<>());
        return null;
    }

    private Object poll(JSONObject order) {
        DefaultLitePullConsumer reader = readers.get(order.getString("as"));
        JSONArray found = new JSONArray();
        List<MessageExt> came = cameWhileSeeking.replace(reader, new ArrayList<>());
        came.forEach(message -> found.add(fields(message)));
        long end = System.currentTimeMillis() + order.getLongValue("millis");
        while (found.size() < order.getIntValue("count") && System.currentTimeMillis() < end) {
            reader.poll(200).forEach(message -> found.add(fields(message)));
        }
        return found;
    }

    private Object seek(JSONObject order) throws Exception {
        DefaultLitePullConsumer reader = readers.get(order.getString("as"));
        while (!reader.poll(QUIET_MILLIS).isEmpty()) {
            continue; // what a pull finds while a seek interrupts it is handed out all the same
        }
        for (MessageQueue queue : reader.fetchMessageQueues(order.getString("topic"))) {
            seek(reader, queue, order.getLongValue("offset"));
        }
        return null;
    }

    /**
     * Ends when something came from there. The client interrupts the pull that is under way, which
     * can end the connection of all queues, and a pull that failed by that forgets that it was to
     * go on elsewhere: then it is told again.
     */
    private void seek(DefaultLitePullConsumer reader, MessageQueue queue, long offset)
            throws Exception {
        List<MessageExt> came = cameWhileSeeking.get(reader);
        for (int tries = 0; tries < SEEK_TRIES; tries++) {
            reader.seek(queue, offset);
            came.removeIf(message -> message.getQueueId() == queue.getQueueId());
            long end = System.currentTimeMillis() + SEEK_MILLIS;
            while (System.currentTimeMillis() < end) {
                came.addAll(reader.poll(200));
                if (came.stream().anyMatch(each -> each.getQueueId() == queue.getQueueId())) {
                    return;
                }
            }
        }
        throw new IllegalStateException("nothing came of " + queue + " from " + offset);
    }

    private Object pull(JSONObject order) throws Exception {
        DefaultMQPullConsumer puller = new DefaultMQPullConsumer(order.getString("group"));
        puller.setInstanceName(order.getString("as"));
        puller.setNamesrvAddr(order.getString("namesrv"));
        puller.start();
        JSONArray found = new JSONArray();
        for (MessageQueue queue : puller.fetchSubscribeMessageQueues(order.getString("topic"))) {
            long end = puller.maxOffset(queue);
            for (long offset = puller.minOffset(queue); offset < end; ) {
                PullResult result = puller.pull(queue, order.getString("expression"), offset, 32);
                if (result.getMsgFoundList() != null) {
                    result.getMsgFoundList().forEach(message -> found.add(fields(message)));
                }
                offset = result.getNextBeginOffset();
            }
        }
        puller.shutdown();
        return found;
    }

    private Object view(JSONObject order) throws Exception {
        DefaultMQProducer producer = producers.get(order.getString("as"));
        return fields(producer.viewMessage(order.getString("topic"), order.getString("key")));
    }

    private Object find(JSONObject order) throws Exception {
        JSONArray found = new JSONArray();
        DefaultMQProducer producer = producers.get(order.getString("as"));
        String topic = order.getString("topic");
        try {
            producer.queryMessage(topic, order.getString("key"), 32, 0, FOREVER)
                .getMessageList().forEach(message -> found.add(fields(message)));
        } catch (MQClientException error) {
            if (error.getResponseCode() != NO_MESSAGE) {
                throw error;
            }
        }
        return found;
    }

    private static JSONObject fields(MessageExt message) {
        JSONObject fields = new JSONObject();
        Map<String, String> properties = new HashMap<>(message.getProperties());
        fields.put("topic", message.getTopic());
        fields.put("body", text(message.getBody()));
        fields.put("tag", message.getTags());
        fields.put("key", message.getKeys());
        fields.put("id", message.getMsgId());
        fields.put("queue", message.getQueueId());
        fields.put("offset", message.getQueueOffset());
        fields.put("tries", message.getReconsumeTimes());
        fields.put("properties", properties);
        fields.put("at_ms", System.currentTimeMillis());
        return fields;
    }

    private static String text(byte[] body) {
        return new String(body, StandardCharsets.UTF_8);
    }

    /** What one consumer got; each message fails as many times as was ordered (-1: always). */
    private static final class Inbox {
        private final JSONArray messages = new JSONArray();
        private final int fails;
        private final String diary;
        private DefaultMQProducer replier;

        /** The diary is a file that outlives the process: a line for each message, or null. */
        Inbox(int fails, String diary) {
            this.fails = fails;
            this.diary = diary;
        }

        boolean takes(List<MessageExt> batch) {
            boolean isDone = true;
            for (MessageExt message : batch) {
                take(fields(message));
                isDone &= fails >= 0 && message.getReconsumeTimes() >= fails;
                if (replier != null) {
                    reply(message);
                }
            }
            return isDone;
        }

        private void reply(MessageExt message) {
            try {
                byte[] body = ("re: " + text(message.getBody())).getBytes(StandardCharsets.UTF_8);
                replier.send(MessageUtil.createReplyMessage(message, body));
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }

        private synchronized void take(JSONObject message) {
            messages.add(message);
            if (diary != null) {
                write(message);
            }
            notifyAll();
        }

        private void write(JSONObject message) {
            String line = message.getLong("at_ms") + " " + message.getInteger("queue") + " "
                + message.getLong("offset") + " " + message.getString("body") + "\n";
            try {
                Files.writeString(Path.of(diary), line,
                    StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        synchronized JSONArray await(int count, long millis) throws InterruptedException {
            long end = System.currentTimeMillis() + millis;
            while (messages.size() < count) {
                long left = end - System.currentTimeMillis();
                if (left <= 0) {
                    break;
                }
                wait(left);
            }
            return new JSONArray(new ArrayList<>(messages));
        }
    }

    /** What is decided of one transaction, and how often the broker has asked. */
    private static final class Transaction {
        private final List<String> decisions;
        private int checks;

        Transaction(List<String> decisions) {
            this.decisions = decisions;
        }

        synchronized LocalTransactionState decision(boolean isCheck) {
            checks += isCheck ? 1 : 0;
            String decision = decisions.get(Math.min(checks, decisions.size() - 1));
            return LocalTransactionState.valueOf(decision);
        }
    }

    private final class Decided implements TransactionListener {
        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object none) {
            return transactions.get(message.getKeys()).decision(false);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            return transactions.get(message.getKeys()).decision(true);
        }
    }
}
