"""Talks to a server of the Model Context Protocol by the official Python SDK.

client.py PROGRAM ARGUMENT...

The first line of the output is what the server said of itself and its tools. Then each line of the input is a call,
{"tool": NAME, "arguments": {...}}, and each line of the output its answer: {"result": ...}, {"error": TEXT} of a tool, or
{"refused": TEXT} of the protocol. At the end of the input the client leaves.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client


def say(value):
    print(json.dumps(value), flush=True)


async def call(session, line):
    asked = json.loads(line)
    try:
        result = await session.call_tool(asked["tool"], asked["arguments"])
    except MCPError as refused:
        return {"refused": str(refused)}
    text = "".join(block.text for block in result.content)
    if result.is_error:
        return {"error": text}
    # For clients that read text alone.
    if json.loads(text) != result.structured_content:
        return {"refused": "text and structured content differ"}
    return {"result": result.structured_content}


async def main(program, *arguments):
    server = StdioServerParameters(command=program, args=list(arguments), env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        begun = await session.initialize()
        tools = (await session.list_tools()).tools
        say(
            {
                "server": begun.server_info.model_dump(exclude_none=True),
                "protocol": begun.protocol_version,
                "tools": {tool.name: tool.input_schema for tool in tools},
            }
        )
        while line := await asyncio.to_thread(sys.stdin.readline):
            say(await call(session, line))


asyncio.run(main(*sys.argv[1:]))
