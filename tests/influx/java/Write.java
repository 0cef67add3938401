import com.influxdb.client.InfluxDBClient;
import com.influxdb.client.InfluxDBClientFactory;
import com.influxdb.client.InfluxDBClientOptions;
import com.influxdb.client.WriteApiBlocking;
import com.influxdb.client.domain.WritePrecision;
import com.influxdb.client.write.Point;
import com.influxdb.exceptions.InfluxException;
import java.util.ArrayList;
import java.util.List;

/** Writes the records of the test `influx::clients` by the official client for Java: `Write URL TOKEN TOPIC RECORDS`. */
public final class Write {
    private static final int BATCH = 100;

    private Write() {}

    public static void main(String[] arguments) {
        String url = arguments[0];
        String topic = arguments[2];
        int count = Integer.parseInt(arguments[3]);
        try (InfluxDBClient client = client(url, arguments[1], topic)) {
            client.enableGzip();
            require(client.ping(), "ping");
            require(client.version().startsWith("waggle-gateway-"), client.version());
            WriteApiBlocking api = client.getWriteApiBlocking();
            for (int start = 0; start < count; start += BATCH) {
                List<Point> points = new ArrayList<>();
                for (int i = start; i < Math.min(start + BATCH, count); i++) {
                    points.add(point(i));
                }
                api.writePoints(points);
            }
            expect(() -> api.writeRecord(WritePrecision.NS, "reading value="), 400, "unable to parse 'reading value='");
        }
        try (InfluxDBClient stranger = client(url, "wgw_unknown", topic)) {
            expect(() -> stranger.getWriteApiBlocking().writePoint(point(0)), 401, "token");
        }
    }

    private static InfluxDBClient client(String url, String token, String topic) {
        return InfluxDBClientFactory.create(InfluxDBClientOptions.builder()
            .url(url).authenticateToken(token.toCharArray()).org("any").bucket(topic).build());
    }

    private static Point point(int i) {
        return Point.measurement("reading")
            .addTag("machine", "press " + i % 5)
            .addField("value", i + 0.5)
            .addField("count", i)
            .addField("text", "said \"" + i + "\", ok")
            .addField("ok", i % 2 == 0)
            .time(1_700_000_000_000_000_000L + i * 1000L, WritePrecision.NS);
    }

    /** The write is refused by the gateway, as the client reads it. */
    private static void expect(Runnable write, int status, String text) {
        try {
            write.run();
        } catch (InfluxException refused) {
            require(refused.status() == status && refused.getMessage().contains(text), refused.toString());
            return;
        }
        require(false, "expected " + status);
    }

    private static void require(boolean is, String what) {
        if (!is) {
            throw new IllegalStateException(what);
        }
    }
}
