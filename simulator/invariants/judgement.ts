/** How an instance and a node stand, by the truth and the accepted targets; without the product's code on purpose. */
import type { Instance } from '../../rollout/ec2.ts';
import type { Node, NodeClaim, Pod } from '../../rollout/kubernetes.ts';
import type { Options } from '../../rollout/record.ts';
import { optionNames } from './ask.ts';
import type { Truth } from './truth.ts';

/** What keeps an instance from being right, in words; undefined where it is right, or off. */
export function fault(instance: Instance, target: Options): string | undefined {
  const options = instance.metadataOptions;
  if (options === undefined) return 'has options that nobody can read';
  if (options.httpEndpoint === 'disabled') return undefined;
  const wrong = optionNames.find(
    (option) => target[option] !== undefined && target[option] !== options[option],
  );
  if (wrong !== undefined) return `has ${wrong} ${String(options[wrong])}, not ${String(target[wrong])}`;
  return options.state === 'applied' ? undefined : 'has a change that is not applied yet';
}

/** Instances that run and count as build nodes. */
export function runningBuildInstances(truth: Truth, isBuild: (id: string) => boolean): Instance[] {
  return truth
    .instances()
    .filter((instance) => isBuild(instance.instanceId) && ['pending', 'running'].includes(instance.state));
}

export function instanceOf(truth: Truth, node: Node): Instance | undefined {
  const id = node.spec.providerID?.split('/').at(-1);
  return truth.instances().find((instance) => instance.instanceId === id);
}

export function claimOf(truth: Truth, node: Node): NodeClaim | undefined {
  return truth.objects('NodeClaim').find((claim) => claim.status?.providerID === node.spec.providerID);
}

export function isDrifted(claim: NodeClaim | undefined): boolean {
  return (
    claim?.status?.conditions?.some(({ type, status }) => type === 'Drifted' && status === 'True') === true
  );
}

const holdAnnotation = 'imds-rollout/hold';

export function isHeld(object: Node | NodeClaim): boolean {
  return object.metadata.annotations?.[holdAnnotation] !== undefined;
}

export function isProtected(object: Node | NodeClaim): boolean {
  return object.metadata.annotations?.['karpenter.sh/do-not-disrupt'] === 'true';
}

/** Protected by a hold of ours, and not by an annotation that was there before it, which is somebody else's. */
export function isProtectedByUs(object: Node | NodeClaim): boolean {
  return (
    isProtected(object) &&
    !(object.metadata.annotations?.[holdAnnotation] ?? '').includes('"doNotDisrupt":"true"')
  );
}

const rerun = new Set(['DaemonSet', 'ReplicaSet', 'StatefulSet', 'ReplicationController', 'Node']);

/** Whether an unfinished Build is bound to the node: a pod that nobody would run again just so. */
export function runsBuild(truth: Truth, node: string): boolean {
  return truth.objects('Pod').some((pod) => pod.spec.nodeName === node && isBuildPod(pod, truth.now()));
}

/** A drain of Karpenter's does not wait longer for a pod that was deleted: its kubelet is gone. */
const stuck = 60_000;

function isBuildPod(pod: Pod, now: Date): boolean {
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return false;
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined && now.getTime() - Date.parse(deletionTimestamp) > stuck) return false;
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return false;
  return !(pod.metadata.ownerReferences ?? []).some((owner) => rerun.has(owner.kind));
}
