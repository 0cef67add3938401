-- One record a request, each with its own time, and with a token if TOKEN is set; `-- N` pipelines N requests.
-- Requests are made ahead, in a ring: only the time is new, and it is filled in when the request is sent.
local pipelining = 1
local time = 0
local before, after

function init(arguments)
  pipelining = tonumber(arguments[1] or "1")
  local record = "cpu,cpu=cpu-total,host=plant-01 time_user=748.55,time_system=913.34,time_idle=1085.47 "
  local token = os.getenv("TOKEN")
  local fields = token and "Authorization: Bearer " .. token .. "\r\n" or ""
  before = "PUT /api/v1/topics/plant/records HTTP/1.1\r\nHost: localhost\r\n" .. fields .. "Content-Length: "
    .. (#record + 19) .. "\r\n\r\n" .. record
  time = os.time() * 1000000
end

function request()
  if pipelining == 1 then
    time = time + 1
    return before .. string.format("%d000", time)
  end
  local parts = {}
  for index = 1, pipelining do
    time = time + 1
    parts[index] = before .. string.format("%d000", time)
  end
  return table.concat(parts)
end
