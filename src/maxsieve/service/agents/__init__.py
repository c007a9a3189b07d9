"""Search for agents: an MCP server (extra ``maxsieve[mcp]``), over standard input and output or over HTTP."""
