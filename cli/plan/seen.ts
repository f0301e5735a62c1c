/** What every part of an explanation is about: what is asked, the class, the build nodes. */
import { selectorOf } from '../../rollout/builds.ts';
import { decide } from '../../rollout/desired.ts';
import { TransientError } from '../../rollout/errors.ts';
import { readFleet, type Fleet } from '../../rollout/fleet.ts';
import { readGround, registrationOf, type Ground } from '../../rollout/ground.ts';
import { OPTIONS, owned } from '../../rollout/options.ts';
import type { Asks } from '../../rollout/plan.ts';
import type { Ports, Registration } from '../../rollout/ports.ts';
import { purposeOf, type Purpose } from '../../rollout/purpose.ts';
import { emptyRecord, type RolloutRecord } from '../../rollout/record.ts';
import type { Look } from './one-look.ts';

/** What there is to explain: somebody asks, and the class is there. */
export interface Seen {
  rack: string;
  registration: Registration;
  asks: Asks;
  record: RolloutRecord;
  ground: Ground;
  purpose: Purpose;
  fleet: Fleet | null;
}

/** undefined where there is nothing to explain, or what it takes may not be read: the look remembers which. */
export async function see(look: Look, rack: string): Promise<Seen | undefined> {
  const { ports } = look;
  const registered = await look.attempt('the cluster', 'ssm:GetParametersByPath on the registrations', () =>
    registrationOf(ports, rack),
  );
  const stored = await look.attempt('what is asked', 'ssm:GetParametersByPath on the parameters', () =>
    ports.parameters.list(rack),
  );
  const read = await look.attempt(
    'whether an option goes back to what the class said before',
    'ssm:GetParameter on the record',
    () => ports.records.read(rack),
  );
  const registration = registered?.registration;
  if (registered === null || registration === undefined || stored === null) return undefined;
  const record = read ?? emptyRecord;
  const asks = decide(stored, owned(record.baseline).length > 0);
  if (asks.kind !== 'asks') return undefined;
  // Without the record nobody knows what becomes of an option that is not asked for.
  if (read === null && owned(asks.ask).length < OPTIONS.length) return undefined;
  const ground = await look.attempt('the class and the pool', CLUSTER_READS, () =>
    readGround(ports, registration, registered.others),
  );
  if (ground?.kind !== 'found') return undefined;
  const purpose = purposeOf(asks, record, ground.ground.nodeClass.metadata.uid);
  const fleet = await look.attempt('the build nodes and what runs on them', CLUSTER_READS, () =>
    readFleet(
      { ...ports, instances: instancesOrNone(look) },
      ground.ground.cluster,
      registration,
      ground.ground,
      selectorOf(asks.policy),
    ),
  );
  return { rack, registration, asks, record, ground: ground.ground, purpose, fleet };
}

const CLUSTER_READS =
  'eks:DescribeCluster, and in the cluster list of NodePools, NodeClaims, nodes and pods and get of EC2NodeClasses';

/** Instances that may not be described are unknown, each of them, as those are that cannot be. */
function instancesOrNone(look: Look): Ports['instances'] {
  const { instances } = look.ports;
  return {
    ...instances,
    find: async (query) => {
      const found = await look.attempt("the instances' own options", 'ec2:DescribeInstances', () =>
        instances.find(query),
      );
      if (found === null) throw new TransientError('the instances could not be described');
      return found;
    },
  };
}
