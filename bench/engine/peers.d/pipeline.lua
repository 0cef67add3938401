-- wrk with a pipeline: the requests are joined and go out in one piece; wrk counts each answer but times a pipeline as one.
-- wrk -s pipeline.lua URL -- REQUESTS
init = function(args)
    local requests = {}
    for i = 1, tonumber(args[1]) do
        requests[i] = wrk.format()
    end
    all = table.concat(requests)
end

request = function()
    return all
end
