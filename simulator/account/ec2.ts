/**
 * EC2: the instances as they are (Machines, for Karpenter and the Builds) and as the API shows them (the port).
 * ModifyInstanceMetadataOptions has a token bucket of its own, shared with strangers; a change is `pending` before it
 * is `applied`; reads may be stale.
 */
import type { Instance, MetadataOptions } from '../../rollout/ec2.ts';
import type { Instances } from '../../rollout/ports.ts';
import { apiError } from './api-errors.ts';
import type { RunningClock } from './clock.ts';
import type { SimulatedGate } from './gate.ts';
import type { Counted, Published } from './metadata-metrics.ts';
import type { Chance, EndedBy, Machines } from '../parts.ts';
import { createBucket, type BucketOptions } from './token-bucket.ts';

/** One instance from its launch to its end, for the result. */
export interface MachineHistory {
  instance: Instance;
  launchedAt: Date;
  /** Options when the run began; absent where it was launched later. */
  atStart?: MetadataOptions;
  /** The last ModifyInstanceMetadataOptions, whoever made it. */
  modifiedAt?: Date;
  /** When TerminateInstances was called. */
  terminatedAt?: Date;
  endedBy?: EndedBy;
}

export interface SimulatedEc2 {
  machines: Machines;
  port: Instances;
  /** Everything launched so far counts as running and applied, and as there at the start. */
  begin(): void;
  /** By hand in the console: what is given changes, the rest stays. */
  modifyByHand(instanceId: string, options: Partial<Omit<MetadataOptions, 'state'>>): void;
  /** By hand: running to stopped. */
  stop(instanceId: string): void;
  /** Every instance that there ever was, in the order of launch. */
  history: readonly MachineHistory[];
  historyOf(instanceId: string): MachineHistory | undefined;
  /** Milliseconds since the epoch of the last launch, end, change or change of state. */
  changedAt(): number;
}

export interface Ec2Options {
  modifyBucket: BucketOptions;
  applyDelay: number;
  readStaleness: number;
  httpTokensEnforced: boolean;
  /** What CloudWatch has where nothing was counted. */
  metrics?: Published;
}

/** From RunInstances to `running`. */
const startsIn = 8_000;
/** How long `shutting-down` is seen before the instance is `terminated`, which the port leaves out. */
const shutsDownIn = 10_000;

interface Machine extends MachineHistory {
  /** What the API may still show: earlier looks, oldest first, each valid until the next one's time. */
  looks: { at: number; instance: Instance | undefined }[];
  /** Counts modifications, so that an older one does not apply a newer one's options. */
  modifications: number;
  gone: boolean;
}

export function createEc2(
  options: Ec2Options & {
    clock: RunningClock;
    chance: Chance;
    gate: SimulatedGate;
    /** Gets what EC2 counts of the access to IMDS. */
    counted: (count: Counted) => void;
  },
): SimulatedEc2 {
  const { clock, chance, gate, counted, applyDelay, readStaleness, httpTokensEnforced } = options;
  const bucket = createBucket(clock, options.modifyBucket);
  const history: Machine[] = [];
  const byId = new Map<string, Machine>();
  /** Only those that the API still shows or may show, so that looks at a long run stay cheap. */
  const visible = new Set<Machine>();
  const appliedListeners: ((instance: Instance) => void)[] = [];
  let changedAt = clock.now().getTime();

  const changed = (machine: Machine, change: (instance: Instance) => void): void => {
    change(machine.instance);
    changedAt = clock.now().getTime();
    if (readStaleness > 0) {
      machine.looks.push({
        at: changedAt,
        instance: machine.gone ? undefined : copyOf(machine.instance),
      });
      while ((machine.looks[1]?.at ?? Number.POSITIVE_INFINITY) <= changedAt - readStaleness)
        machine.looks.shift();
    }
  };

  let begun = false;
  const refuseLooseOptions = (tokens: MetadataOptions['httpTokens']): void => {
    // Instances that are older than the enforcement keep what they have.
    if (!httpTokensEnforced || tokens === 'required' || !begun) return;
    throw apiError(
      'UnsupportedOperation',
      'The account requires IMDSv2 (HttpTokensEnforced): HttpTokens cannot be set to optional',
    );
  };

  /** What a call sees of a machine that lags behind by so much. */
  const seen = (machine: Machine, lag: number): Instance | undefined => {
    if (lag === 0) return machine.gone ? undefined : machine.instance;
    const at = clock.now().getTime() - lag;
    return machine.looks.findLast((look) => look.at <= at)?.instance;
  };

  const modify = (id: string, wanted: Partial<Omit<MetadataOptions, 'state'>>): void => {
    const machine = byId.get(id);
    if (!machine || machine.gone) {
      throw apiError('InvalidInstanceID.NotFound', `The instance ID '${id}' does not exist`);
    }
    const { state, metadataOptions } = machine.instance;
    if (state === 'shutting-down') {
      throw apiError(
        'IncorrectInstanceState',
        `The instance '${id}' is not in a state in which it can be modified: ${state}`,
      );
    }
    if (wanted.httpTokens !== undefined) refuseLooseOptions(wanted.httpTokens);
    if (!metadataOptions) throw new Error(`${id} was launched without options`);
    changed(machine, (instance) => {
      instance.metadataOptions = { ...metadataOptions, ...wanted, state: 'pending' };
    });
    machine.modifiedAt = clock.now();
    machine.modifications += 1;
    const modification = machine.modifications;
    clock.after(applyDelay, () => {
      if (machine.modifications !== modification || machine.terminatedAt) return;
      applied(machine);
      for (const listener of appliedListeners) listener(machine.instance);
    });
  };

  const applied = (machine: Machine): void => {
    changed(machine, (instance) => {
      // A new object, as by every change: whoever looked before keeps what was seen.
      if (instance.metadataOptions)
        instance.metadataOptions = { ...instance.metadataOptions, state: 'applied' };
    });
  };

  const started = (machine: Machine): void => {
    if (machine.instance.state !== 'pending') return;
    changed(machine, (instance) => {
      instance.state = 'running';
    });
    applied(machine);
  };

  const machines: Machines = {
    launch({ tags, metadataOptions }) {
      refuseLooseOptions(metadataOptions.httpTokens);
      const id = `i-${Math.floor(chance.next() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, '0')}${history.length.toString(16).padStart(9, '0')}`;
      const machine: Machine = {
        instance: {
          instanceId: id,
          state: 'pending',
          launchTime: clock.now().toISOString(),
          metadataOptions: { ...metadataOptions, state: 'pending' },
          tags: { ...tags },
        },
        launchedAt: clock.now(),
        looks: [],
        modifications: 0,
        gone: false,
      };
      history.push(machine);
      byId.set(id, machine);
      visible.add(machine);
      changed(machine, () => undefined);
      clock.after(startsIn, () => {
        started(machine);
      });
      return machine.instance;
    },
    get: (id) => {
      const machine = byId.get(id);
      return machine && !machine.gone ? machine.instance : undefined;
    },
    addTags(id, tags) {
      const machine = byId.get(id);
      if (machine) changed(machine, (instance) => Object.assign(instance.tags, tags));
    },
    terminate(id, why) {
      const machine = byId.get(id);
      if (!machine || machine.terminatedAt) return;
      machine.terminatedAt = clock.now();
      machine.endedBy = why;
      changed(machine, (instance) => {
        instance.state = 'shutting-down';
      });
      clock.after(shutsDownIn, () => {
        machine.gone = true;
        changed(machine, () => undefined);
        if (readStaleness === 0) visible.delete(machine);
        else clock.after(readStaleness, () => visible.delete(machine));
      });
    },
    onApplied(listener) {
      appliedListeners.push(listener);
    },
    all: () => [...visible].flatMap((machine) => (machine.gone ? [] : [machine.instance])),
    callImdsV1(id) {
      const options = byId.get(id)?.instance.metadataOptions;
      if (options === undefined || options.httpEndpoint === 'disabled') return;
      const metric = options.httpTokens === 'optional' ? 'MetadataNoToken' : 'MetadataNoTokenRejected';
      counted({ metric, instanceId: id, at: clock.now(), count: 1 });
    },
  };

  const describe = (target: string, matches: (instance: Instance) => boolean): Promise<Instance[]> => {
    const lag = readStaleness === 0 ? 0 : chance.between(0, readStaleness);
    return gate.call({ api: 'ec2:DescribeInstances', target }, () =>
      [...visible].flatMap((machine) => {
        const instance = seen(machine, lag);
        return instance && matches(instance) ? [copyOf(instance)] : [];
      }),
    );
  };

  const port: Instances = {
    // Two calls as with EC2: ids and filters together would be a conjunction there.
    async find({ cluster, nodeClass, instanceIds }) {
      const tagged = await describe(`tags of ${cluster}/${nodeClass}`, ({ tags }) =>
        tags['eks:eks-cluster-name'] === cluster && tags['karpenter.k8s.aws/ec2nodeclass'] === nodeClass);
      const found = new Set(tagged.map(({ instanceId }) => instanceId));
      const missing = new Set(instanceIds.filter((id) => !found.has(id)));
      if (missing.size === 0) return tagged;
      const named = await describe(`${missing.size} ids`, ({ instanceId }) => missing.has(instanceId));
      return [...tagged, ...named];
    },
    modifyMetadataOptions: (id, wanted) =>
      gate.call(
        { api: 'ec2:ModifyInstanceMetadataOptions', write: true, target: id, body: { ...wanted } },
        () => {
          if (!bucket.take()) throw apiError('RequestLimitExceeded', 'Request limit exceeded.');
          modify(id, wanted);
        },
      ),
    accountDefaults: () =>
      gate.call({ api: 'ec2:GetInstanceMetadataDefaults', target: 'account' }, () => ({
        httpTokensEnforced,
        managedBy: 'account' as const,
      })),
  };

  return {
    machines,
    port,
    history,
    historyOf: (id) => byId.get(id),
    changedAt: () => changedAt,
    begin() {
      begun = true;
      for (const machine of history) {
        started(machine);
        if (machine.instance.metadataOptions) machine.atStart = { ...machine.instance.metadataOptions };
        const [first] = machine.looks;
        // It was there long before the run, so no look may be too early for it.
        if (first) machine.looks = [{ at: 0, instance: copyOf(machine.instance) }];
      }
    },
    modifyByHand(id, wanted) {
      // Noted as done: whoever watches the audit looks at the world then.
      modify(id, wanted);
      gate.note({
        caller: { function: 'person' },
        api: 'ec2:ModifyInstanceMetadataOptions',
        write: true,
        target: id,
        body: { ...wanted },
      });
    },
    stop(id) {
      const machine = byId.get(id);
      if (!machine) return;
      changed(machine, (instance) => {
        instance.state = 'stopped';
      });
    },
  };
}

/** By hand: a look copies every instance of the fleet, and structuredClone takes many times as long. */
function copyOf({ metadataOptions, tags, ...rest }: Instance): Instance {
  return { ...rest, tags: { ...tags }, ...(metadataOptions && { metadataOptions: { ...metadataOptions } }) };
}
