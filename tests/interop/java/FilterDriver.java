import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.rocketmq.filter.SqlFilter;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.expression.MQFilterException;

/**
 * Judges expressions by Java's own filter.
 *
 * One JSON object a line in: {"expressions": [text], "properties": [{name: value}]}; one line out:
 * {"answers": [[matches] or null where the expression is refused], "done": true}.
 */
public class FilterDriver {
    public static void main(String[] args) throws Exception {
        PrintStream replies = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JSONObject order = JSON.parseObject(line);
            JSONArray answers = new JSONArray();
            for (Object expression : order.getJSONArray("expressions")) {
                answers.add(judge((String) expression, order.getJSONArray("properties")));
            }
            JSONObject reply = new JSONObject();
            reply.put("answers", answers);
            reply.put("done", true);
            replies.println(reply.toJSONString());
            replies.flush();
        }
    }

    private static JSONArray judge(String text, JSONArray properties) {
        Expression expression;
        try {
            expression = new SqlFilter().compile(text);
        } catch (MQFilterException refused) {
            return null;
        }
        JSONArray answer = new JSONArray();
        for (Object named : properties) {
            answer.add(matches(expression, (JSONObject) named));
        }
        return answer;
    }

    private static boolean matches(Expression expression, JSONObject named) {
        try {
            return expression.evaluate(new Properties(named)) == Boolean.TRUE;
        } catch (Throwable undecided) {
            return false;
        }
    }

    private static final class Properties implements EvaluationContext {
        private final JSONObject named;

        private Properties(JSONObject named) {
            this.named = named;
        }

        @Override
        public Object get(String name) {
            return named.getString(name);
        }

        @Override
        public Map<String, Object> keyValues() {
            return named;
        }
    }
}
