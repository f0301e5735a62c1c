/** The cluster of a world as it is from moment to moment, read once for all who watch it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { EC2NodeClass, Node, NodeClaim } from '../../../rollout/kubernetes.ts';
import type { Ec2 } from '../ec2.ts';
import type { World } from '../world.ts';

export interface Snapshot {
  at: Date;
  classes: EC2NodeClass[];
  claims: NodeClaim[];
  nodes: Node[];
  instances: Awaited<ReturnType<Ec2['instances']>>;
}

export interface Sight extends AsyncDisposable {
  /** Called with every snapshot. */
  onSnapshot(listener: (snapshot: Snapshot) => void): void;
}

const EVERY_MS = 500;

export function openSight({ cluster, ec2 }: World): Sight {
  const listeners: ((snapshot: Snapshot) => void)[] = [];
  const state = { over: false };

  const look = async (): Promise<void> => {
    const at = new Date();
    const [classes, claims, nodes, instances] = await Promise.all([
      cluster.list('EC2NodeClass'),
      cluster.list('NodeClaim'),
      cluster.list('Node'),
      ec2.instances(),
    ]);
    for (const listener of listeners) listener({ at, classes, claims, nodes, instances });
  };
  const watch = async (): Promise<void> => {
    while (!state.over) {
      // The API server may be slow or away for a moment: the next look is near.
      await look().catch(() => undefined);
      await pause(EVERY_MS);
    }
  };
  const watching = watch();
  return {
    onSnapshot(listener) {
      listeners.push(listener);
    },
    async [Symbol.asyncDispose]() {
      state.over = true;
      await watching;
    },
  };
}
