// Package mcpapi serves a table of tools over MCP: streamable HTTP and stdio, all revisions of the protocol.
//
// The official Go SDK carries the protocol. tools/call and tools/list without a session, which are nearly all traffic,
// take a short path in front of it, which gives the same JSON-RPC value; whatever that path does not understand
// completely goes to the SDK. The runtime knows no particular tool: a Profile brings the table.
//
// Invariants, cited by number in the tests:
//
//  1. The short path and the SDK's path give the same status and the same JSON value for every request.
//  2. tools/list holds exactly the profile's tools, in the profile's order, schemas byte for byte; a profile with a
//     missing or doubled tool is not served at all.
//  3. Before anything is parsed twice, one strict reader has accepted the message (see scan).
//  4. Every failure of a tool is a tool result with isError and the area's error envelope; JSON-RPC errors are for
//     the protocol alone.
//  5. On stdio calls are answered in the order in which they came.
package mcpapi
