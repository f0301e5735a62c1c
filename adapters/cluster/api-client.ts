/**
 * One cluster's API server over verified TLS, as JSON. Of @kubernetes/client-node it takes the configuration,
 * authentication and requests, and not the typed calls: those make Dates of times and drop fields that they do not
 * know, while a rollout hands managedFields back exactly as it read them.
 */
import { HttpMethod, KubeConfig, type Configuration, type RequestContext } from '@kubernetes/client-node';
import { EnvHttpProxyAgent, interceptors, type Dispatcher } from 'undici';
import { KubernetesStatus, translated, type Request } from './errors.ts';

export interface ApiServer {
  /** The cluster's name, for messages. */
  name: string;
  /** https://… */
  endpoint: string;
  /** The certificate authority in PEM, base64-encoded, as EKS gives it. */
  certificateAuthority: string;
  /** Asked for every request. */
  token: () => Promise<string>;
}

interface Call extends Omit<Request, 'cluster'> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  body?: unknown;
  contentType?: string;
}

export type ApiClient = (call: Call) => Promise<unknown>;

/** A page of 500 pods is some megabytes; what takes longer than this is not going to come. */
const TIMEOUT_MS = 15_000;

export function createApiClient(server: ApiServer): ApiClient {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: server.name,
      server: server.endpoint,
      caData: server.certificateAuthority,
      skipTLSVerify: false,
    },
    { name: USER, authProvider: { name: USER, config: {} } },
  );
  config.addAuthenticator(bearer(server.token));
  const dispatcher = connectionsTo(server);

  const api = config.makeApiClient(JsonApi);
  return async (call) => {
    try {
      return await api.call(call, dispatcher);
    } catch (error) {
      throw translated(error, { ...call, cluster: server.name });
    }
  };
}

/** More requests at a time than this wait for each other; every connection costs the API server a handshake. */
const CONNECTIONS = 16;

/** In the place of client-node's generated APIs. */
class JsonApi {
  readonly #configuration: Configuration;

  constructor(configuration: Configuration) {
    this.#configuration = configuration;
  }

  async call(call: Call, dispatcher: Dispatcher): Promise<unknown> {
    const { baseServer, authMethods, httpApi } = this.#configuration;
    const context = baseServer.makeRequestContext(call.path, HttpMethod[call.method]);
    fill(context, call);
    await authMethods.default?.applySecurityAuthentication(context);
    // After the authentication, which sets one of its own for every request: a new TLS connection each time.
    context.setDispatcher(dispatcher);
    const response = await httpApi.send(context).toPromise();
    const text = await response.body.text();
    if (response.httpStatusCode >= 300) throw new KubernetesStatus(response.httpStatusCode, text);
    return JSON.parse(text);
  }
}

const USER = 'imds-rollout';

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

function bearer(token: () => Promise<string>): Authenticator {
  return {
    isAuthProvider: ({ authProvider }) => (authProvider as { name?: unknown } | undefined)?.name === USER,
    applyAuthentication: async (_user, options: { headers?: object }) => {
      options.headers = { ...options.headers, Authorization: `Bearer ${await token()}` };
    },
  };
}

/**
 * One agent, whose connections are kept and verified against the cluster's own authority alone. Reads are tried again
 * once or twice: a connection that stood while a Lambda was frozen breaks at its first use. Writes are not, since
 * whoever decided on them has to look again.
 */
function connectionsTo({ certificateAuthority }: ApiServer): Dispatcher {
  const ca = Buffer.from(certificateAuthority, 'base64').toString('utf8');
  const tls = { ca, timeout: 5_000 };
  // Through HTTPS_PROXY, unless NO_PROXY excepts it, the same verified TLS.
  const agent = new EnvHttpProxyAgent({ connections: CONNECTIONS, connect: tls, requestTls: tls });
  return agent.compose(
    interceptors.retry({
      methods: ['GET'],
      maxRetries: 2,
      minTimeout: 100,
      maxTimeout: 2_000,
      statusCodes: [429, 502, 503, 504],
      // What it still fails with is answered as it is, so that the API server's words are not lost.
      throwOnError: false,
    }),
  );
}

function fill(context: RequestContext, { query = {}, body, contentType }: Call): void {
  for (const [name, value] of Object.entries(query)) context.setQueryParam(name, value);
  context.setHeaderParam('Accept', 'application/json');
  context.setSignal(AbortSignal.timeout(TIMEOUT_MS));
  if (body === undefined) return;
  context.setHeaderParam('Content-Type', contentType ?? 'application/json');
  context.setBody(JSON.stringify(body));
}
