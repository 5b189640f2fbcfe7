-- One expert a thread, one connection each: save an answer, read what comes next from the reply, and so on.
-- The file named by BENCH_EXPERTS holds a line per expert: session, CSRF token, unit, assignment, queue.
local threads = 0

function setup(thread)
   threads = threads + 1
   thread:set("number", threads)
end

function init(args)
   local line_number = 0
   for line in io.lines(os.getenv("BENCH_EXPERTS")) do
      line_number = line_number + 1
      if line_number == number then
         session, token, unit, assignment, queue = line:match("(%S+) (%S+) (%S+) (%S+) (%S+)")
      end
   end
   path = os.getenv("BENCH_PATH")
   salt = tonumber(os.getenv("BENCH_SALT"))
   label = os.getenv("BENCH_LABEL")
   sent = 0
   lost = 0
   headers = {
      ["Content-Type"] = "application/json",
      ["Cookie"] = "sessionid=" .. session .. "; csrftoken=" .. token,
      ["X-CSRFToken"] = token,
   }
end

function request()
   sent = sent + 1
   local key = string.format("%08x-%04x-4000-8000-%012x", salt, number, sent)
   local body = string.format(
      '{"client_key": "%s", "answers": [{"assignment": %s, "revision": 0, "label": "%s"}], "seconds": 2.5, '
      .. '"session": "0b5e3f6e-0000-4000-8000-000000000001", "session_position": %d, "after": %s, "count": 1}',
      key, assignment, label, sent, queue)
   return wrk.format("POST", path .. unit .. "/answers/", headers, body)
end

function response(status, _, body)
   local next_unit, next_queue = body:match('"next":%s*{"units":%s*%[{"id":%s*(%d+).-"queue":%s*(%d+)')
   local next_assignment = body:match('"rows":%s*%[{"assignment":%s*(%d+)')
   if status == 200 and next_unit then
      unit, assignment, queue = next_unit, next_assignment, next_queue
   else
      lost = lost + 1
      if lost == 1 then io.stderr:write(status .. " " .. body:sub(1, 300) .. "\n") end
      wrk.thread:stop()
   end
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      "FIGURES %d %d %d %d %d %d %d %d\n", summary.requests, summary.duration,
      errors.connect + errors.read + errors.write + errors.status + errors.timeout,
      latency:percentile(50), latency:percentile(90), latency:percentile(95), latency:percentile(99), latency.max))
end
