/**
 * An IMDS in a network namespace of its own: the response to the PUT for a token leaves with the hop limit as its IP
 * TTL, everything else with the usual 64, as EC2 does. Started by namespaces.ts; each line on standard input sets the
 * options and cuts all connections.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ReachOptions } from '../../rollout/reach.ts';

const TOKEN = 'a-session-token';
/** Of this network namespace alone: the TTL of every packet that a socket does not set its own for. */
const TTL = '/proc/sys/net/ipv4/ip_default_ttl';
const USUAL = 64;

let options: ReachOptions = { httpTokens: 'required', httpPutResponseHopLimit: 1 };
const sockets = new Set<Socket>();

const server = createServer((request, response) => {
  const answer = (status: number, body = ''): void => {
    response.writeHead(status).end(body);
  };
  if (options.httpEndpoint === 'disabled') {
    answer(403);
  } else if (request.method === 'PUT') {
    writeFileSync(TTL, String(options.httpPutResponseHopLimit));
    answer(200, TOKEN);
  } else {
    const token = request.headers['x-aws-ec2-metadata-token'];
    const isKnown = token === TOKEN || (token === undefined && options.httpTokens === 'optional');
    answer(isKnown ? 200 : 401, isKnown ? 'i-0123456789abcdef0' : '');
  }
});
// What it closed by itself the kernel would go on sending, with the TTL of a later call.
server.keepAliveTimeout = 0;
server.on('connection', (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
});
// Its address comes later: the namespace is this process's own.
server.listen(80, '0.0.0.0', () => {
  process.stdout.write('ready\n');
});

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  // First, so that nothing of what is cut is dropped on its way and counted for the next call.
  writeFileSync(TTL, String(USUAL));
  for (const socket of sockets) socket.resetAndDestroy();
  options = JSON.parse(line) as ReachOptions;
  process.stdout.write('set\n');
});
lines.on('close', () => {
  process.exit();
});
