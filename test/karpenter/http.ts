/** What the servers of the tests have in common. */
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Listens on a free port of 127.0.0.1: which one. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** The server and whoever is connected to it: no more. */
export async function close(server: Server & { closeAllConnections(): void }): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

export async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}
