import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQAdminImpl;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Reads what a broker's store holds in every way a client can, and fills stores.
 *
 * One JSON object a line in: {"do", "namesrv", "broker", ...}; one object a line out, with "done".
 * A message is told by its fields, its body by its SHA-256.
 */
public class StoreDriver {
    private static final int PULL_AT_ONCE = 32;
    private static final int KEYS_AT_ONCE = 64;
    private static final int TIMEOUT_MILLIS = 20_000;
    private static final long FOREVER = Long.MAX_VALUE;

    private final Map<String, DefaultMQPullConsumer> consumers = new HashMap<>();
    private final Map<String, DefaultMQAdminExt> admins = new HashMap<>();
    private final Map<String, TransactionMQProducer> producers = new HashMap<>();

    public static void main(String[] args) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err);
        StoreDriver driver = new StoreDriver();
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            replies.println(driver.obey(JSON.parseObject(line)).toJSONString());
            replies.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private JSONObject obey(JSONObject order) {
        JSONObject reply = new JSONObject();
        try {
            switch (order.getString("do")) {
                case "ends": reply.put("answer", ends(order)); break;
                case "pull": reply.put("answer", pull(order)); break;
                case "view": reply.put("answer", view(order)); break;
                case "find": reply.put("answer", find(order)); break;
                case "search": reply.put("answer", search(order)); break;
                case "send": reply.put("answer", send(order)); break;
                default: throw new IllegalArgumentException("unknown order " + order);
            }
        } catch (Throwable error) {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            reply.put("error", text.toString());
        }
        reply.put("done", true);
        return reply;
    }

    // ------------------------------------------------------------------ reading

    /** Where each queue ends. */
    private JSONArray ends(JSONObject order) throws Exception {
        JSONArray found = new JSONArray();
        for (Object wanted : order.getJSONArray("queues")) {
            JSONArray pair = (JSONArray) wanted;
            MessageQueue queue = queue(order, pair.getString(0), pair.getIntValue(1));
            found.add(consumer(order).maxOffset(queue));
        }
        return found;
    }

    /** A queue's minimum, its end, and every message between. */
    private JSONArray pull(JSONObject order) throws Exception {
        DefaultMQPullConsumer consumer = consumer(order);
        MessageQueue queue = queue(order, order.getString("topic"), order.getIntValue("queue"));
        long min = consumer.minOffset(queue);
        long max = consumer.maxOffset(queue);
        JSONArray found = new JSONArray();
        found.add(min);
        found.add(max);
        for (long offset = min; offset < max; ) {
            PullResult result = consumer.pull(queue, "*", offset, PULL_AT_ONCE, TIMEOUT_MILLIS);
            if (result.getPullStatus() != PullStatus.FOUND) {
                throw new IllegalStateException(queue + " at " + offset + ": " + result);
            }
            for (MessageExt message : result.getMsgFoundList()) {
                found.add(fields(message));
            }
            offset = result.getNextBeginOffset();
        }
        return found;
    }

    /** Messages by their offset ids. */
    private JSONArray view(JSONObject order) throws Exception {
        JSONArray found = new JSONArray();
        for (Object wanted : order.getJSONArray("ids")) {
            JSONArray pair = (JSONArray) wanted;
            found.add(fields(admin(order).viewMessage(pair.getString(0), pair.getString(1))));
        }
        return found;
    }

    /** For each topic and key the physical offsets of its messages. */
    private JSONArray find(JSONObject order) throws Exception {
        JSONArray found = new JSONArray();
        for (Object wanted : order.getJSONArray("keys")) {
            JSONArray pair = (JSONArray) wanted;
            found.add(offsets(order, pair.getString(0), pair.getString(1)));
        }
        return found;
    }

    private List<Long> offsets(JSONObject order, String topic, String key) throws Exception {
        List<Long> offsets = new ArrayList<>();
        MQAdminImpl views = consumer(order).getDefaultMQPullConsumerImpl().getRebalanceImpl()
            .getmQClientFactory().getMQAdminImpl();
        try {
            long begin = order.getLongValue("begin");
            QueryResult result = order.getBooleanValue("unique")
                ? views.queryMessageByUniqKey(topic, key, KEYS_AT_ONCE, begin, FOREVER)
                : views.queryMessage(topic, key, KEYS_AT_ONCE, begin, FOREVER);
            for (MessageExt message : result.getMessageList()) {
                offsets.add(message.getCommitLogOffset());
            }
        } catch (MQClientException nothing) {
            if (!nothing.getMessage().contains("no message")) {
                throw nothing;
            }
        }
        return offsets;
    }

    /** For each topic, queue and time the offset Java finds. */
    private JSONArray search(JSONObject order) throws Exception {
        JSONArray found = new JSONArray();
        for (Object wanted : order.getJSONArray("times")) {
            JSONArray row = (JSONArray) wanted;
            MessageQueue queue = queue(order, row.getString(0), row.getIntValue(1));
            found.add(consumer(order).searchOffset(queue, row.getLongValue(2)));
        }
        return found;
    }

    private static JSONObject fields(MessageExt message) throws Exception {
        JSONObject fields = new JSONObject();
        fields.put("topic", message.getTopic());
        fields.put("queueId", message.getQueueId());
        fields.put("queueOffset", message.getQueueOffset());
        fields.put("physicalOffset", message.getCommitLogOffset());
        fields.put("size", message.getStoreSize());
        fields.put("flag", message.getFlag());
        // The body was decompressed; 5.3 says so here, 4.9 does not.
        fields.put("sysFlag", message.getSysFlag() & ~MessageSysFlag.COMPRESSED_FLAG);
        fields.put("bornTimestamp", message.getBornTimestamp());
        fields.put("bornHost", hex(message.getBornHost()));
        fields.put("storeTimestamp", message.getStoreTimestamp());
        fields.put("storeHost", hex(message.getStoreHost()));
        fields.put("reconsumeTimes", message.getReconsumeTimes());
        fields.put("preparedTransactionOffset", message.getPreparedTransactionOffset());
        fields.put("bodyCrc", message.getBodyCRC());
        fields.put("body", digest(message.getBody()));
        Map<String, String> properties = new HashMap<>();
        if (message.getProperties() != null) {
            properties.putAll(message.getProperties());
        }
        properties.remove(MessageConst.PROPERTY_MIN_OFFSET); // the client's own, of the pull
        properties.remove(MessageConst.PROPERTY_MAX_OFFSET);
        fields.put("properties", properties);
        return fields;
    }

    private static String hex(SocketAddress address) {
        InetSocketAddress host = (InetSocketAddress) address;
        byte[] bytes = host.getAddress().getAddress();
        return hex(ByteBuffer.allocate(bytes.length + 4).put(bytes).putInt(host.getPort()).array());
    }

    private static String digest(byte[] body) throws Exception {
        return hex(MessageDigest.getInstance("SHA-256").digest(body));
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    // ------------------------------------------------------------------ writing

    /** Sends what is described; answers for each what the producer was told. */
    private JSONArray send(JSONObject order) throws Exception {
        JSONArray results = new JSONArray();
        for (Object each : order.getJSONArray("messages")) {
            results.add(send(order, (JSONObject) each));
        }
        return results;
    }

    private JSONObject send(JSONObject order, JSONObject sending) throws Exception {
        TransactionMQProducer producer = producer(order);
        String topic = sending.getString("topic");
        MessageQueue queue = queue(order, topic, sending.getIntValue("queue"));
        List<Message> messages = new ArrayList<>();
        for (Object each : sending.getJSONArray("messages")) {
            messages.add(message(topic, (JSONObject) each));
        }
        String decision = sending.getString("decision");
        SendResult result;
        if (!decision.isEmpty()) {
            result = producer.sendMessageInTransaction(
                messages.get(0), LocalTransactionState.valueOf(decision));
        } else if (messages.size() > 1) {
            result = producer.send(messages, queue);
        } else {
            result = producer.send(messages.get(0), queue);
        }
        JSONObject told = new JSONObject();
        told.put("status", result.getSendStatus().name());
        told.put("uniqueKey", result.getMsgId());
        told.put("offsetId", result.getOffsetMsgId());
        told.put("queueId", result.getMessageQueue().getQueueId());
        told.put("queueOffset", result.getQueueOffset());
        return told;
    }

    private static Message message(String topic, JSONObject fields) {
        byte[] body = fields.getString("text").getBytes(StandardCharsets.UTF_8);
        Message message = new Message(topic, body);
        message.setFlag(fields.getIntValue("flag"));
        if (!fields.getString("tag").isEmpty()) {
            message.setTags(fields.getString("tag"));
        }
        if (!fields.getString("keys").isEmpty()) {
            message.setKeys(fields.getString("keys"));
        }
        if (fields.getIntValue("delay") > 0) {
            message.setDelayTimeLevel(fields.getIntValue("delay"));
        }
        return message;
    }

    // ------------------------------------------------------------------ clients

    private static MessageQueue queue(JSONObject order, String topic, int queueId) {
        return new MessageQueue(topic, order.getString("broker"), queueId);
    }

    private DefaultMQPullConsumer consumer(JSONObject order) throws Exception {
        String nameServer = order.getString("namesrv");
        DefaultMQPullConsumer consumer = consumers.get(nameServer);
        if (consumer == null) {
            String name = "store_reader_" + consumers.size();
            consumer = new DefaultMQPullConsumer(name);
            consumer.setInstanceName(name);
            consumer.setNamesrvAddr(nameServer);
            consumer.start();
            consumers.put(nameServer, consumer);
        }
        return consumer;
    }

    private DefaultMQAdminExt admin(JSONObject order) throws Exception {
        String nameServer = order.getString("namesrv");
        DefaultMQAdminExt admin = admins.get(nameServer);
        if (admin == null) {
            admin = new DefaultMQAdminExt(TIMEOUT_MILLIS);
            admin.setInstanceName("store_admin_" + admins.size());
            admin.setNamesrvAddr(nameServer);
            admin.start();
            admins.put(nameServer, admin);
        }
        return admin;
    }

    private TransactionMQProducer producer(JSONObject order) throws Exception {
        String nameServer = order.getString("namesrv");
        TransactionMQProducer producer = producers.get(nameServer);
        if (producer == null) {
            String name = "store_writer_" + producers.size();
            producer = new TransactionMQProducer(name);
            producer.setInstanceName(name);
            producer.setNamesrvAddr(nameServer);
            producer.setSendMsgTimeout(TIMEOUT_MILLIS);
            producer.setRetryTimesWhenSendFailed(0);
            producer.setTransactionListener(new Decided());
            producer.start();
            producers.put(nameServer, producer);
        }
        return producer;
    }

    /** Ends each transaction as the order says, or leaves it open. */
    private static final class Decided implements TransactionListener {
        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object decision) {
            return (LocalTransactionState) decision;
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            return LocalTransactionState.UNKNOW;
        }
    }
}
