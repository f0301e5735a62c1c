/**
 * What the API server refuses: fields that the kind does not have (fieldValidation=Strict), values outside the
 * CRD's enums and ranges, and changes of what cannot change. Sources: k8s.io/api v0.34, CRDs of Karpenter 1.14.
 */
import { InvalidError } from '../../rollout/errors.ts';
import type { NodeClassMetadataOptions, WrittenKind } from '../../rollout/kubernetes.ts';
import { isObject } from './json.ts';

const metadataFields = new Set([
  'annotations',
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'finalizers',
  'generateName',
  'generation',
  'labels',
  'managedFields',
  'name',
  'namespace',
  'ownerReferences',
  'resourceVersion',
  'selfLink',
  'uid',
]);

const specFields: Record<WrittenKind, ReadonlySet<string>> = {
  EC2NodeClass: new Set([
    'amiFamily',
    'amiSelectorTerms',
    'associatePublicIPAddress',
    'blockDeviceMappings',
    'capacityReservationSelectorTerms',
    'context',
    'detailedMonitoring',
    'instanceProfile',
    'instanceStorePolicy',
    'ipPrefixCount',
    'kubelet',
    'metadataOptions',
    'placementGroupSelector',
    'role',
    'securityGroupSelectorTerms',
    'subnetSelectorTerms',
    'tags',
    'userData',
  ]),
  NodeClaim: new Set([
    'expireAfter',
    'nodeClassRef',
    'requirements',
    'resources',
    'startupTaints',
    'taints',
    'terminationGracePeriod',
  ]),
  Node: new Set([
    'configSource',
    'externalID',
    'podCIDR',
    'podCIDRs',
    'providerID',
    'taints',
    'unschedulable',
  ]),
  Lease: new Set([
    'acquireTime',
    'holderIdentity',
    'leaseDurationSeconds',
    'leaseTransitions',
    'preferredHolder',
    'renewTime',
    'strategy',
  ]),
};

const optionFields: Record<string, (value: unknown) => boolean> = {
  httpEndpoint: (value) => value === 'enabled' || value === 'disabled',
  httpProtocolIPv6: (value) => value === 'enabled' || value === 'disabled',
  httpTokens: (value) => value === 'required' || value === 'optional',
  httpPutResponseHopLimit: (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 64,
};

const optionAccepts: Record<string, string> = {
  httpEndpoint: 'enabled, disabled',
  httpProtocolIPv6: 'enabled, disabled',
  httpTokens: 'required, optional',
  httpPutResponseHopLimit: '1 to 64',
};

/** Refuses fields that the kind does not have, as strict field validation does. */
export function refuseUnknownFields(kind: WrittenKind, name: string, patch: Record<string, unknown>): void {
  const unknown: string[] = Object.keys(patch).filter(
    (key) => !['apiVersion', 'kind', 'metadata', 'spec', 'status'].includes(key),
  );
  if (isObject(patch['metadata'])) collect(unknown, 'metadata', patch['metadata'], metadataFields);
  const { spec } = patch;
  if (isObject(spec)) {
    collect(unknown, 'spec', spec, specFields[kind]);
    const options = spec['metadataOptions'];
    if (kind === 'EC2NodeClass' && isObject(options)) {
      collect(unknown, 'spec.metadataOptions', options, new Set(Object.keys(optionFields)));
    }
  }
  if (unknown.length > 0) {
    throw new InvalidError(
      `${kind} ${name}: strict decoding error: ${unknown.map((field) => `unknown field "${field}"`).join(', ')}`,
    );
  }
}

function collect(
  into: string[],
  path: string,
  value: Record<string, unknown>,
  known: ReadonlySet<string>,
): void {
  for (const key of Object.keys(value)) if (!known.has(key)) into.push(`${path}.${key}`);
}

/** What the object would be after the patch, as admission sees it. */
export function refuseInvalid(
  kind: WrittenKind,
  before: { metadata: { name: string; uid: string }; spec: unknown },
  after: Record<string, unknown>,
): void {
  const { name, uid } = before.metadata;
  const metadata = after['metadata'];
  if (!isObject(metadata)) throw new InvalidError(`${kind} ${name}: metadata must be an object`);
  if (metadata['name'] !== name) throw new InvalidError(`${kind} ${name}: metadata.name: field is immutable`);
  if (metadata['uid'] !== uid) throw new InvalidError(`${kind} ${name}: metadata.uid: field is immutable`);
  for (const field of ['annotations', 'labels']) {
    const values = metadata[field];
    if (values === undefined) continue;
    if (!isObject(values)) throw new InvalidError(`${kind} ${name}: metadata.${field} must be an object`);
    for (const [key, value] of Object.entries(values)) {
      if (typeof value !== 'string')
        throw new InvalidError(`${kind} ${name}: metadata.${field}.${key} must be a string`);
    }
  }
  const { spec } = after;
  if (!isObject(spec)) throw new InvalidError(`${kind} ${name}: spec is required and must be an object`);
  if (kind === 'Node' && spec['unschedulable'] !== undefined && typeof spec['unschedulable'] !== 'boolean') {
    throw new InvalidError(`Node ${name}: spec.unschedulable must be a boolean`);
  }
  if (kind === 'EC2NodeClass' && isObject(spec['metadataOptions']))
    refuseOptions(name, spec['metadataOptions']);
}

function refuseOptions(name: string, options: Record<string, unknown>): void {
  for (const [field, accepts] of Object.entries(optionFields)) {
    const value = options[field];
    if (value !== undefined && !accepts(value)) {
      throw new InvalidError(
        `EC2NodeClass.karpenter.k8s.aws "${name}" is invalid: spec.metadataOptions.${field}: Unsupported value: ` +
          `${JSON.stringify(value)}: supported values: ${optionAccepts[field] ?? ''}`,
      );
    }
  }
}

/** The CRD's defaults, each on its own: absent options become required/1. */
export function withDefaults(options: NodeClassMetadataOptions | null | undefined): NodeClassMetadataOptions {
  const { httpEndpoint, httpProtocolIPv6, httpPutResponseHopLimit, httpTokens } = options ?? {};
  return {
    httpEndpoint: httpEndpoint ?? 'enabled',
    httpProtocolIPv6: httpProtocolIPv6 ?? 'disabled',
    httpPutResponseHopLimit: httpPutResponseHopLimit ?? 1,
    httpTokens: httpTokens ?? 'required',
  };
}
