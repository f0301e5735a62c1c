/** Launches that fail for what a rollout changed, in the words of Karpenter and EC2. Pure. */
import type { Fleet } from './fleet.ts';

/** Authorisation or metadata are at fault. */
const TELLING = /UnauthorizedOperation|not authorized|AccessDenied|metadata ?options|HttpTokens/i;

/** Something about the launch template, which Karpenter makes anew for a changed class. */
const TEMPLATE = /launch ?template/i;

/** What passes by itself, whatever was being done: throttling, EC2's own failures, lack of capacity. */
const PASSING =
  /Throttl|RequestLimitExceeded|LimitExceeded|InsufficientInstanceCapacity|InternalError|Unavailable|StatusCode: 5\d\d|timeout|deadline exceeded/i;

const isTelling = (message: string): boolean =>
  TELLING.test(message) || (TEMPLATE.test(message) && !PASSING.test(message));

/** The first NodeClaim that cannot be launched for template, authorisation or metadata; never for what passes. */
export function launchFailure({ nodes }: Pick<Fleet, 'nodes'>): string | undefined {
  for (const { claim, name } of nodes) {
    const launched = claim?.status?.conditions?.find(({ type }) => type === 'Launched');
    const message = launched?.message ?? '';
    if (launched?.status !== 'True' && isTelling(message))
      return `NodeClaim ${name} cannot be launched: ${message}`;
  }
  return undefined;
}
