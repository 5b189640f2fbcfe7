-- The bare view, with a body as long as an answer's.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"client_key": "00000000-0000-4000-8000-000000000000", "answers": [{"assignment": 1, "revision": 0, '
   .. '"label": "often"}], "seconds": 2.5, "session": "0b5e3f6e-0000-4000-8000-000000000001"}'

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      "FIGURES %d %d %d %d %d %d %d %d\n", summary.requests, summary.duration,
      errors.connect + errors.read + errors.write + errors.status + errors.timeout,
      latency:percentile(50), latency:percentile(90), latency:percentile(95), latency:percentile(99), latency.max))
end
