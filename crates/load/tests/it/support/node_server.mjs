// Node's own servers, for the load engine's tests: `node node_server.mjs http2|http2-tls|http1-tls`.
//
// The first line of standard input is JSON: the certificate and its key, and after how many requests a session is closed
// (0: never). Prints its port, then, at the end of standard input, what it has counted as JSON, and ends.
import http2 from "node:http2";
import https from "node:https";
import readline from "node:readline";

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { certificate: cert, key, closeAfter } = JSON.parse((await lines.next()).value);
const counted = { received: 0, answered: 0, bodyBytes: 0, sessions: 0, resumed: 0 };

const answer = (request, response) => {
  counted.received += 1;
  const number = counted.received;
  request.on("data", (piece) => (counted.bodyBytes += piece.length));
  request.on("end", () => {
    response.on("finish", () => (counted.answered += 1));
    if (closeAfter > 0 && number % closeAfter === 0) response.stream.session.close();
    if (request.url === "/large") response.end(Buffer.alloc(8 * 1024 * 1024, "y"));
    else response.end("ok");
  });
};

// In MB: beyond 10 of them, Node refuses further requests of a connection whose answers are not read yet.
const maxSessionMemory = 100;
const server = {
  "http2": () => http2.createServer({ maxSessionMemory }, answer),
  "http2-tls": () => http2.createSecureServer({ cert, key, maxSessionMemory }, answer),
  "http1-tls": () => https.createServer({ cert, key }, answer),
}[process.argv[2]]();
server.on("session", () => (counted.sessions += 1));
server.on("secureConnection", (socket) => (counted.resumed += socket.isSessionReused() ? 1 : 0));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));

await lines.next();
console.log(JSON.stringify(counted));
process.exit(0);
