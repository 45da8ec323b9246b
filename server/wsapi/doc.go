// Package wsapi serves the commands of the SDK lifecycle on a WebSocket, in MessagePack or JSON text.
//
// Invariants, cited by number in the tests:
//
//  1. A frame is one map. Whatever a client sends instead is answered with an error frame, and the connection lives on;
//     only a client that floods, stalls, trickles or announces absurd frames is closed, with a reason.
//  2. A command with a request_id gets exactly one rpc_response, with that id.
//  3. MessagePack goes out as JavaScript readers need it: maps with 16-bit headers, no 64-bit integers, doubles from
//     2^32 on.
//  4. Both encodings are translations of one JSON text, which the strict decoder of the command reads; a duplicate or
//     misspelt member is refused in both.
//  5. When the server drains, answers that are due are sent, and then every connection is closed with a reason.
//  6. Frames are held in the server's budget of memory until they are answered, reserved as their bytes come. Within a
//     frame a peer has to keep a least rate; between two it may be silent.
package wsapi
