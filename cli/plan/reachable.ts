/** Who can reach IMDS on which nodes, before and after. */
import type { BuildNode } from '../../rollout/fleet.ts';
import type { Plan } from '../../rollout/journal.ts';
import { classOptions } from '../../rollout/options.ts';
import { reachTable, type ReachOptions } from '../../rollout/reach.ts';
import { optionsKey } from '../../rollout/workloads.ts';
import type { ReachTable } from './explanation.ts';
import type { Seen } from './seen.ts';

export interface Afterwards {
  nodeClass: { now: ReachOptions; then: ReachOptions };
  /** What a node has afterwards, or the one in its place. */
  of: (node: BuildNode) => ReachOptions;
}

/** A node that is replaced gets what the class says then; one that is left alone keeps what it has. */
export function afterwards({ ground: { nodeClass }, purpose }: Seen, plan: Plan | null): Afterwards {
  const httpEndpoint = nodeClass.spec.metadataOptions?.httpEndpoint ?? 'enabled';
  const now = { ...classOptions(nodeClass), httpEndpoint };
  const then = { ...now, ...purpose.target };
  const untouched = new Set(plan?.nodes.flatMap(({ node, fate }) => (fate === 'untouched' ? [node] : [])));
  return {
    nodeClass: { now, then },
    of: ({ name, instance }) => (untouched.has(name) ? (instance?.metadataOptions ?? then) : then),
  };
}

/** One table for all nodes that are alike, the largest group first; the class's own where there is no node. */
export function reachTables({ fleet }: Pick<Seen, 'fleet'>, { nodeClass, of }: Afterwards): ReachTable[] {
  const known = (fleet?.nodes ?? []).flatMap((node) => {
    const before = node.instance?.metadataOptions;
    return before === undefined ? [] : [{ name: node.name, before, after: of(node) }];
  });
  const groups = Map.groupBy(known, ({ before, after }) => `${optionsKey(before)} ${optionsKey(after)}`);
  const tables = [...groups.values()]
    .sort((one, other) => other.length - one.length)
    .flatMap((alike): ReachTable[] => {
      const [first] = alike;
      return first === undefined
        ? []
        : [
            tableOf(
              alike.map(({ name }) => name),
              first.before,
              first.after,
            ),
          ];
    });
  return tables.length > 0 ? tables : [tableOf([], nodeClass.now, nodeClass.then)];
}

function tableOf(nodes: string[], before: ReachOptions, after: ReachOptions): ReachTable {
  const [was, is] = [bare(before), bare(after)];
  return { nodes, before: was, after: is, rows: reachTable(was, is) };
}

const bare = ({
  httpTokens,
  httpPutResponseHopLimit,
  httpEndpoint = 'enabled',
}: ReachOptions): ReachOptions => ({
  httpTokens,
  httpPutResponseHopLimit,
  httpEndpoint,
});
