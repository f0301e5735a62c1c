/** What every AWS client of the service is made with. */

/** Where and as whom a client calls; a Lambda takes all of it from its environment. */
export interface AwsConnection {
  region?: string;
  profile?: string;
}

export const awsClient = (connection: AwsConnection = {}) => ({
  ...connection,
  // Not `adaptive`: it slows every call of a client down after one was throttled, looks included, and a step that
  // modifies instances keeps to EC2's bucket by itself. Three attempts even out a hiccup; what lasts longer is a
  // TransientError, and the workflow's next look is the better retry.
  retryMode: 'standard',
  maxAttempts: 3,
  requestHandler: {
    // HTTPS_PROXY and NO_PROXY; the SDK's own agents pass them over.
    httpsAgent: { keepAlive: true, maxSockets: 50, proxyEnv: process.env },
    connectionTimeout: 2_000,
    // Three attempts stay well below the 120 s of the longest step.
    requestTimeout: 10_000,
    // Without this the SDK only warns, and a silent neighbour would use up the whole time of the function.
    throwOnRequestTimeout: true,
  },
});
