import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.TreeMap;
import org.apache.rocketmq.acl.common.AclUtils;
import org.apache.rocketmq.acl.plain.PlainAccessResource;
import org.apache.rocketmq.acl.plain.PlainAccessValidator;
import org.apache.rocketmq.acl.plain.RemoteAddressStrategy;
import org.apache.rocketmq.acl.plain.RemoteAddressStrategyFactory;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Judges addresses and requests by the access control of Java's broker.
 *
 * One JSON object a line in, one out; "done" is true in each answer:
 *   {"patterns": [text], "addresses": [text]} -> {"answers": [[matches] or null where refused]}
 *   {"home": folder, "requests": [{"code", "ext", "body", "peer", "secret"}]}
 *       -> {"answers": [why it is refused, or null]}; it reads conf/plain_acl.yml of the folder,
 *          and signs the requests that have a secret
 */
public class AclDriver {
    public static void main(String[] args) throws Exception {
        PrintStream replies = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JSONObject order = JSON.parseObject(line);
            JSONObject reply = new JSONObject();
            reply.put("answers", order.containsKey("patterns") ? addresses(order) : requests(order));
            reply.put("done", true);
            replies.println(reply.toJSONString());
            replies.flush();
        }
    }

    private static JSONArray addresses(JSONObject order) {
        JSONArray answers = new JSONArray();
        for (Object pattern : order.getJSONArray("patterns")) {
            JSONArray answer = new JSONArray();
            try {
                RemoteAddressStrategy strategy =
                    new RemoteAddressStrategyFactory().getRemoteAddressStrategy((String) pattern);
                for (Object address : order.getJSONArray("addresses")) {
                    answer.add(matches(strategy, (String) address));
                }
            } catch (Throwable refused) {
                answer = null;
            }
            answers.add(answer);
        }
        return answers;
    }

    private static boolean matches(RemoteAddressStrategy strategy, String address) {
        PlainAccessResource asking = new PlainAccessResource();
        asking.setWhiteRemoteAddress(address);
        try {
            return strategy.match(asking);
        } catch (RuntimeException undecided) {
            return false;
        }
    }

    private static JSONArray requests(JSONObject order) {
        System.setProperty("rocketmq.home.dir", order.getString("home"));
        PlainAccessValidator validator = new PlainAccessValidator();
        JSONArray answers = new JSONArray();
        for (Object each : order.getJSONArray("requests")) {
            answers.add(refusal(validator, (JSONObject) each));
        }
        return answers;
    }

    private static String refusal(PlainAccessValidator validator, JSONObject asked) {
        RemotingCommand request =
            RemotingCommand.createRequestCommand(asked.getIntValue("code"), null);
        String body = asked.getString("body");
        request.setBody(body == null ? null : body.getBytes(StandardCharsets.UTF_8));
        JSONObject ext = asked.getJSONObject("ext");
        if (ext != null) {
            HashMap<String, String> fields = new HashMap<>();
            ext.forEach((name, value) -> fields.put(name, (String) value));
            if (asked.getString("secret") != null) {
                byte[] content = AclUtils.combineRequestContent(request, new TreeMap<>(fields));
                fields.put("Signature", AclUtils.calSignature(content, asked.getString("secret")));
            }
            request.setExtFields(fields);
        }
        try {
            validator.validate(validator.parse(request, asked.getString("peer")));
            return null;
        } catch (Throwable refused) {
            return String.valueOf(refused.getMessage());
        }
    }
}
