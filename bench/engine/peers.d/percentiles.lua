-- wrk and wrk2: the percentiles of the stall table, which they do not print by themselves, in microseconds.
done = function(summary, latency, requests)
    io.write(string.format(
        "latency_us %d %d %d %d %d\n",
        latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max
    ))
end
