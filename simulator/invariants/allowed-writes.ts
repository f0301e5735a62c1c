/**
 * 1. Written are only: metadataOptions and our annotations of the build class; cordon, do-not-disrupt and our
 * annotations of build nodes and their NodeClaims; metadata options of build instances; our own Lease, Events,
 * record, reports; and of a class that is left to its own writer nothing at all. 5. A rack that never set any of the four parameters is never written to.
 * Calls that failed are judged too: only luck kept them from writing.
 */
import type { AuditEntry } from '../parts.ts';
import { optionNames } from './ask.ts';
import { changes, fields, isOurs, patchedOptions } from './facts.ts';
import { inFlight, type History } from './history.ts';
import type { Rule, Truth } from './truth.ts';

const guard = ['resourceVersion', 'annotations'];

/** Invariant 1. */
export function allowedWrites(truth: Truth, history: History): Rule {
  return {
    invariant: '1 allowed-writes',
    onCall: (entry) =>
      entry.write && isOurs(entry)
        ? forbidden(truth, history, entry).map(
            (what) => `${entry.caller.function} wrote ${what} (${entry.api})`,
          )
        : [],
  };
}

/** Invariant 5. */
export function untouchedRack(history: History): Rule {
  return {
    invariant: '5 untouched-rack',
    onCall: (entry) =>
      isOurs(entry) && changes(entry) && !history.everAsked()
        ? [
            `${entry.caller.function} wrote ${entry.target ?? 'something'} (${entry.api}) of a rack that never asked`,
          ]
        : [],
  };
}

function forbidden(truth: Truth, history: History, entry: AuditEntry): string[] {
  const target = entry.target ?? '';
  switch (entry.api) {
    case 'kubernetes:patch EC2NodeClass':
      if (target !== history.buildClass()) return [`class ${target}, which is not the build class`];
      return [
        ...classKeys(entry),
        ...unownedOptions(history, entry),
        ...(isLeftToWriter(history, entry) ? [`class ${target}, which is left to its own writer`] : []),
      ];
    case 'kubernetes:patch Node':
      if (!history.isBuildNode(target)) return [`node ${target}, which is no build node`];
      return objectKeys(entry, ['unschedulable'], ['karpenter.sh/do-not-disrupt']);
    case 'kubernetes:patch NodeClaim':
      if (!history.isBuildClaim(target)) return [`NodeClaim ${target}, which is none of a build node`];
      return objectKeys(entry, [], ['karpenter.sh/do-not-disrupt']);
    case 'kubernetes:patch Lease':
      if (target !== `imds-rollout-${history.buildClass()}`) return [`Lease ${target}, which is not ours`];
      return objectKeys(
        entry,
        ['holderIdentity', 'acquireTime', 'renewTime', 'leaseTransitions', 'leaseDurationSeconds'],
        [],
      );
    case 'ec2:ModifyInstanceMetadataOptions':
      return instanceWrite(history, entry);
    case 'ssm:PutParameter':
      return target.startsWith('/imds-rollout/') ? [] : [`parameter ${target}, which is not in the record`];
    case 'ssm:DeleteParameter':
      return entry.caller.function === 'approve' && target.startsWith('/imds-rollout/approval-tokens/')
        ? []
        : [`parameter ${target}, which is no token of a wait`];
    case 's3:PutObject':
      return target.startsWith(`${truth.scenario.rack}/`)
        ? []
        : [`object ${target}, which is no report of the rack`];
    case 'kubernetes:create Event':
    case 'events:PutEvents':
    case 'states:StartExecution':
    case 'states:SendTaskSuccess':
      return [];
    default:
      return [`${target}, which nothing of a rollout is for`];
  }
}

/** Under imds_rollout_class_writer external the class is never written, whatever of it; a call may be in flight. */
function isLeftToWriter(history: History, entry: AuditEntry): boolean {
  const since = history.externalSince();
  return since !== undefined && entry.at.getTime() - since > inFlight;
}

function classKeys(entry: AuditEntry): string[] {
  const options = Object.keys(patchedOptions(entry) ?? {});
  return [
    // Dropping our own entry of the field owners is how an option is given back.
    ...keysBeside(entry, ['metadataOptions'], [...guard, 'managedFields'], []),
    ...options
      .filter((key) => !optionNames.some((option) => option === key))
      .map((key) => `spec.metadataOptions.${key} of class ${entry.target ?? ''}`),
  ];
}

/** An option without an explicit value, and without a baseline to go back to, is not owned and never written. */
function unownedOptions(history: History, entry: AuditEntry): string[] {
  const written = patchedOptions(entry) ?? {};
  return optionNames
    .filter((option) => written[option] !== undefined)
    .filter((option) => !history.acceptable().some(({ target }) => target[option] !== undefined))
    .map((option) => `${option} of class ${entry.target ?? ''}, which nobody asked for`);
}

function objectKeys(entry: AuditEntry, spec: readonly string[], annotations: readonly string[]): string[] {
  return keysBeside(entry, spec, guard, annotations);
}

/** Keys of a patch's body beside the allowed ones. Annotations of ours are allowed everywhere. */
function keysBeside(
  entry: AuditEntry,
  spec: readonly string[],
  metadata: readonly string[],
  annotations: readonly string[],
): string[] {
  const body = fields(entry.body) ?? {};
  const beside = (value: unknown, allowed: readonly string[], path: string): string[] =>
    Object.keys(fields(value) ?? {})
      .filter((key) => !allowed.includes(key))
      .map((key) => `${path}${key} of ${entry.target ?? ''}`);
  return [
    ...beside(body, ['metadata', 'spec'], ''),
    ...beside(body['metadata'], metadata, 'metadata.'),
    ...beside(body['spec'], spec, 'spec.'),
    ...Object.keys(fields(fields(body['metadata'])?.['annotations']) ?? {})
      .filter((key) => !key.startsWith('imds-rollout/') && !annotations.includes(key))
      .map((key) => `annotation ${key} of ${entry.target ?? ''}`),
  ];
}

const requestKeys = [
  'httpTokens',
  'httpPutResponseHopLimit',
  'httpEndpoint',
  'httpProtocolIpv6',
  'instanceMetadataTags',
];

function instanceWrite(history: History, entry: AuditEntry): string[] {
  const id = entry.target ?? '';
  if (!history.isBuildInstance(id)) return [`the options of ${id}, which is no build instance`];
  const before = history.instanceBefore(id);
  const request = fields(entry.body) ?? {};
  const unknown = Object.keys(request).filter((key) => !requestKeys.includes(key));
  if (before === undefined) return unknown.map((key) => `${key} of ${id}`);
  if (before.httpEndpoint === 'disabled') return [`the options of ${id}, whose endpoint is off`];
  // All options are sent; those that no rollout owns must be what they were.
  const changed = (['httpEndpoint', 'httpProtocolIpv6', 'instanceMetadataTags'] as const).filter(
    (key) => request[key] !== undefined && before[key] !== undefined && request[key] !== before[key],
  );
  return [...unknown, ...changed].map((key) => `${key} of ${id}`);
}
