/** As serverless.yml names it where nothing else is said. */
export const DEFAULT_STACK = 'imds-rollout';
