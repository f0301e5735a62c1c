/**
 * The plan's table of who reaches IMDS, measured on Linux itself: each cell is a real call from a real network
 * namespace, and a response that does not arrive is one that the kernel counted as dropped for its TTL.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CALLERS, reachOf, VERSIONS, type ReachOptions } from '../../rollout/reach.ts';
import { missing, startNode, type NodeOnLinux } from './namespaces.ts';

const why = missing();

describe.skipIf(why !== undefined)(
  `the table on Linux${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let node: NodeOnLinux;

    beforeAll(async () => {
      node = await startNode();
    }, 60_000);

    afterAll(async () => {
      await node[Symbol.asyncDispose]();
    });

    const cases: ReachOptions[] = [
      ...(['optional', 'required'] as const).flatMap((httpTokens) =>
        [1, 2, 3].map((httpPutResponseHopLimit) => ({ httpTokens, httpPutResponseHopLimit })),
      ),
      { httpTokens: 'optional', httpPutResponseHopLimit: 3, httpEndpoint: 'disabled' },
    ];

    it.each(cases)('is the plan’s: %j', { timeout: 60_000 }, async (options) => {
      await node.set(options);
      for (const caller of CALLERS) {
        for (const version of VERSIONS) {
          const measured = await node.measure(caller, version);
          expect({ caller, version, measured }).toEqual({
            caller,
            version,
            measured: reachOf(caller, version, options),
          });
        }
      }
    });
  },
);
