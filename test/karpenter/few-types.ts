/**
 * The account's EC2 for Karpenter: moto's, with the instance types alone that have a price. The others are never
 * launched, and Karpenter goes through all of them for each pool whenever it schedules or looks for drift: with moto's
 * eight hundred that was four fifths of its CPU.
 */
import { createServer } from 'node:http';
import { close, listen, textOf } from './http.ts';

/** These list them, and EC2 gives both the filter `instance-type`. */
const LISTS = ['DescribeInstanceTypes', 'DescribeInstanceTypeOfferings'];

export interface FewTypes extends AsyncDisposable {
  /** For Karpenter's AWS_ENDPOINT_URL_EC2. */
  endpoint: string;
}

/** Everything is moto's answer, which listens at `account`. */
export async function startFewTypes(account: string, types: readonly string[]): Promise<FewTypes> {
  const server = createServer((request, response) => {
    void (async () => {
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const answer = await fetch(account, {
        method: 'POST',
        // moto tells by whom a call is signed which service is meant.
        headers: { authorization, 'content-type': type },
        body: narrowed(await textOf(request), types),
      });
      const headers = { 'content-type': answer.headers.get('content-type') ?? '' };
      response.writeHead(answer.status, headers).end(await answer.text());
    })().catch((error: unknown) => {
      // As of a service that is unavailable: Karpenter asks again.
      response.writeHead(503, { 'content-type': 'text/plain' }).end(String(error));
    });
  });
  return {
    endpoint: `http://127.0.0.1:${await listen(server)}`,
    [Symbol.asyncDispose]: () => close(server),
  };
}

/** A call's form, with one filter more where it lists types. Pure. */
function narrowed(body: string, types: readonly string[]): string {
  const form = new URLSearchParams(body);
  if (!LISTS.includes(form.get('Action') ?? '')) return body;
  const taken = [...form.keys()].map((key) => Number(/^Filter\.(\d+)\./.exec(key)?.[1] ?? 0));
  const filter = `Filter.${Math.max(0, ...taken) + 1}`;
  form.set(`${filter}.Name`, 'instance-type');
  for (const [index, type] of types.entries()) form.set(`${filter}.Value.${index + 1}`, type);
  return form.toString();
}
