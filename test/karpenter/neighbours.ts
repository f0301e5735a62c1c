/**
 * What of AWS moto does not have or has otherwise: EC2's instances (ec2.ts), EKS (eks.ts), who calls the cluster
 * (the review of tokens, as EKS has it done), and a price list, without which Karpenter does not start.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Authority } from '../adapters/authority.ts';
import { Ec2Error, errorXml, type Ec2 } from './ec2.ts';
import { createEks, type Eks, type Whereabouts } from './eks.ts';
import { close, listen, textOf } from './http.ts';

interface Answer {
  status?: number;
  type: string;
  body: string;
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
}

/** Of the role that has an access entry. */
export const KNOWN_KEY = 'test';

const JSON_TYPE = 'application/x-amz-json-1.1';

/** On demand, by the hour. Instance types that are not here are never launched: Karpenter hears of no other. */
const prices = { 'm5.large': '0.096', 'c5.large': '0.085', 'm5.xlarge': '0.192' };
export const PRICED = Object.keys(prices);
/** With two cpus, and the one with four. */
export const SMALL: (keyof typeof prices)[] = ['m5.large', 'c5.large'];
export const LARGE = 'm5.xlarge' satisfies keyof typeof prices;

/** Whom the API server takes for who calls. */
interface Identity {
  username: string;
  groups: readonly string[];
}

/** Tells by the token who calls; undefined is nobody who may. */
export type Identify = (token: string, eks: Eks) => Promise<Identity | undefined>;

export async function startNeighbours(
  authority: Authority,
  clusterName: string,
  identify: Identify = byForm,
): Promise<Neighbours> {
  let known: Cluster | undefined;
  const eks = createEks();

  const amazon = async (request: IncomingMessage): Promise<Answer> => {
    const body = await textOf(request);
    if (request.headers['x-amz-target']?.toString().startsWith('AWSPriceListService.') === true) {
      return { type: JSON_TYPE, body: JSON.stringify(priceList()) };
    }
    if (known === undefined) return { status: 503, type: 'text/plain', body: 'there is no cluster yet' };
    if (request.url?.startsWith('/clusters/') === true) {
      const answer = eks.answer(request.method ?? '', request.url, body);
      return { status: answer.status, type: JSON_TYPE, body: JSON.stringify(answer.body) };
    }
    try {
      return { type: 'text/xml', body: await known.ec2.answer(new URLSearchParams(body)) };
    } catch (error) {
      const problem = error instanceof Ec2Error ? error : new Ec2Error('InternalError', String(error));
      return { status: error instanceof Ec2Error ? 400 : 500, type: 'text/xml', body: errorXml(problem) };
    }
  };

  const review = async (request: IncomingMessage): Promise<Answer> => {
    const asked = JSON.parse(await textOf(request)) as { apiVersion: string; spec: { token: string } };
    const user = await identify(asked.spec.token, eks);
    const status = user === undefined ? { authenticated: false } : { authenticated: true, user };
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
      eks.place(clusterName, cluster);
    },
    claim(name, whereabouts) {
      eks.place(name, whereabouts);
    },
    async [Symbol.asyncDispose]() {
      for (const server of [plain, secured]) await close(server);
    },
  };
}

/** The presigned call that a token is, where it has the form of one. */
export function presignedCall(token: string): URL | undefined {
  const [, encoded] = /^k8s-aws-v1\.([\w-]+)$/.exec(token) ?? [];
  if (encoded === undefined) return undefined;
  return URL.parse(Buffer.from(encoded, 'base64url').toString('utf8')) ?? undefined;
}

/**
 * As EKS's authenticator looks at a token before it asks STS: a presigned call that names its cluster in a signed
 * header. Whose access key signed it is who calls; there is an access entry for one.
 */
const byForm: Identify = async (token) => {
  const call = presignedCall(token);
  const isKnown =
    call?.hostname.startsWith('sts.') === true &&
    call.searchParams.get('Action') === 'GetCallerIdentity' &&
    (call.searchParams.get('X-Amz-Credential') ?? '').startsWith(`${KNOWN_KEY}/`) &&
    (call.searchParams.get('X-Amz-SignedHeaders') ?? '').split(';').includes('x-k8s-aws-id');
  return isKnown ? { username: 'imds-rollout', groups: ['imds-rollout:write'] } : undefined;
};

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
