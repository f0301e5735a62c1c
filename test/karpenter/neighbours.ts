/**
 * What of AWS moto does not have or has otherwise: EC2's instances (ec2.ts), where the cluster is (EKS), who calls it
 * (the review of tokens, as EKS has it done), and a price list, without which Karpenter does not start.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import type { Authority } from '../adapters/authority.ts';
import { Ec2Error, errorXml, type Ec2 } from './ec2.ts';

interface Answer {
  status?: number;
  type: string;
  body: string;
}

/** Where EKS says that a cluster is. */
export interface Whereabouts {
  endpoint: string;
  certificateAuthority: string;
}

interface Cluster extends Whereabouts {
  ec2: Ec2;
}

export interface Neighbours extends AsyncDisposable {
  /** For AWS_ENDPOINT_URL_EC2, _EKS and _PRICING. */
  endpoint: string;
  /** Where the API server has its tokens reviewed. */
  tokenReviews: string;
  /** Anything that is asked before there is a cluster to ask is answered with a 503. */
  introduce(cluster: Cluster): void;
  /** What EKS says of a cluster of another name. */
  claim(name: string, whereabouts: Whereabouts): void;
  /** Has Step Functions' calls answered, by the last part of X-Amz-Target; a StepFunctionsError is one of the API's. */
  serveStepFunctions(answer: StepFunctionsApi): void;
}

type StepFunctionsApi = (action: string, request: Record<string, unknown>) => Promise<object>;

/** `<name of the error>: <message>` */
export class StepFunctionsError extends Error {}

/** Of the role that has an access entry. */
export const KNOWN_KEY = 'test';

const JSON_TYPE = 'application/x-amz-json-1.1';

/** On demand, by the hour. Instance types that are not here are never launched. */
const prices = { 'm5.large': '0.096', 'c5.large': '0.085', 'm5.xlarge': '0.192' };
/** With two cpus, and the one with four. */
export const SMALL: (keyof typeof prices)[] = ['m5.large', 'c5.large'];
export const LARGE = 'm5.xlarge' satisfies keyof typeof prices;

export async function startNeighbours(authority: Authority, clusterName: string): Promise<Neighbours> {
  let known: Cluster | undefined;
  let stepFunctions: StepFunctionsApi | undefined;
  const clusters = new Map<string, Whereabouts>();

  const amazon = async (request: IncomingMessage): Promise<Answer> => {
    const body = await textOf(request);
    if (request.headers['x-amz-target']?.toString().startsWith('AWSPriceListService.') === true) {
      return { type: JSON_TYPE, body: JSON.stringify(priceList()) };
    }
    const [, action] = /^AWSStepFunctions\.(\w+)$/.exec(String(request.headers['x-amz-target'])) ?? [];
    if (action !== undefined && stepFunctions !== undefined) {
      return answerJson(stepFunctions(action, JSON.parse(body) as Record<string, unknown>));
    }
    if (known === undefined) return { status: 503, type: 'text/plain', body: 'there is no cluster yet' };
    if (request.method === 'GET') return eks(request.url ?? '');
    try {
      return { type: 'text/xml', body: await known.ec2.answer(new URLSearchParams(body)) };
    } catch (error) {
      const problem = error instanceof Ec2Error ? error : new Ec2Error('InternalError', String(error));
      return { status: error instanceof Ec2Error ? 400 : 500, type: 'text/xml', body: errorXml(problem) };
    }
  };

  const eks = (path: string): Answer => {
    const name = path.replace('/clusters/', '');
    const found = clusters.get(name);
    if (found === undefined) {
      const message = `No cluster found for name: ${name}.`;
      const body = JSON.stringify({ __type: 'ResourceNotFoundException', message });
      return { status: 404, type: JSON_TYPE, body };
    }
    const { endpoint, certificateAuthority } = found;
    const cluster = {
      name,
      status: 'ACTIVE',
      endpoint,
      certificateAuthority: { data: certificateAuthority },
    };
    return { type: JSON_TYPE, body: JSON.stringify({ cluster }) };
  };

  const review = async (request: IncomingMessage): Promise<Answer> => {
    const asked = JSON.parse(await textOf(request)) as { apiVersion: string; spec: { token: string } };
    const authenticated = isToken(asked.spec.token);
    const status = authenticated
      ? { authenticated, user: { username: 'imds-rollout', groups: ['imds-rollout:write'] } }
      : { authenticated };
    const body = JSON.stringify({ apiVersion: asked.apiVersion, kind: 'TokenReview', status });
    return { type: 'application/json', body };
  };

  const plain = createHttpServer(answering(amazon));
  const secured = createHttpsServer(authority.server, answering(review));
  const [amazonPort, reviewPort] = [await listen(plain), await listen(secured)];
  return {
    endpoint: `http://127.0.0.1:${amazonPort}`,
    tokenReviews: `https://127.0.0.1:${reviewPort}`,
    introduce(cluster) {
      known = cluster;
      clusters.set(clusterName, cluster);
    },
    claim(name, whereabouts) {
      clusters.set(name, whereabouts);
    },
    serveStepFunctions(answer) {
      stepFunctions = answer;
    },
    async [Symbol.asyncDispose]() {
      for (const server of [plain, secured]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

async function answerJson(answer: Promise<object>): Promise<Answer> {
  try {
    return { type: JSON_TYPE, body: JSON.stringify(await answer) };
  } catch (error) {
    if (!(error instanceof StepFunctionsError)) throw error;
    const [type = '', message = ''] = error.message.split(': ');
    return { status: 400, type: JSON_TYPE, body: JSON.stringify({ __type: type, message }) };
  }
}

/**
 * As EKS's authenticator looks at it before it asks STS: a presigned call that names its cluster in a signed header.
 * Whose access key signed it is who calls; there is an access entry for one.
 */
function isToken(token: string): boolean {
  const [, encoded] = /^k8s-aws-v1\.([\w-]+)$/.exec(token) ?? [];
  if (encoded === undefined) return false;
  const { hostname, searchParams } = new URL(Buffer.from(encoded, 'base64url').toString('utf8'));
  return (
    hostname.startsWith('sts.') &&
    searchParams.get('Action') === 'GetCallerIdentity' &&
    (searchParams.get('X-Amz-Credential') ?? '').startsWith(`${KNOWN_KEY}/`) &&
    (searchParams.get('X-Amz-SignedHeaders') ?? '').split(';').includes('x-k8s-aws-id')
  );
}

function priceList(): unknown {
  const PriceList = Object.entries(prices).map(([instanceType, USD]) =>
    JSON.stringify({
      product: { attributes: { instanceType } },
      terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { USD } } } } } },
    }),
  );
  return { FormatVersion: 'aws_v1', PriceList };
}

const answering =
  (answer: (request: IncomingMessage) => Promise<Answer>) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    answer(request).then(
      ({ status = 200, type, body }) => {
        response.writeHead(status, { 'content-type': type }).end(body);
      },
      (error: unknown) => {
        response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error));
      },
    );
  };

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
