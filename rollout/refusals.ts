/** The reasons for which a rollout is refused: how each reads, and what the person on call does about it. */
import { createHash } from 'node:crypto';

interface Refusal {
  /** As it is said; what stands in braces is filled in. */
  says: string;
  remedy: string;
}

export const refusals = {
  value: {
    says: '{key} is "{value}"; accepted is {accepted}',
    remedy: 'set an accepted value',
  },
  type: {
    says: '{key} is of type {type}; accepted is a String with {accepted}',
    remedy: 'delete the parameter and write it as a String',
  },
  unknownPolicy: {
    says: '{key} is "{value}"; this release knows no such policy{meant} Unset it',
    remedy: 'correct the name, or delete the parameter',
  },
  notRegistered: {
    says: 'rack {rack} is not registered: run `imds-rollout rack add {rack} --cluster <cluster>`',
    remedy: 'register it',
  },
  noLease: {
    says: 'Lease {lease} does not exist: it is made when the rack is registered; run `imds-rollout rack add` again',
    remedy: 'register the rack again: its NodePool may have come to refer to another class',
  },
  noPool: {
    says: 'there is no NodePool {pool} in cluster {cluster}',
    remedy: 'create it, or correct the registration',
  },
  noClass: {
    says: 'there is no EC2NodeClass {nodeClass} in cluster {cluster}',
    remedy: 'create it, or have the NodePool refer to one that is there',
  },
  classLeaves: {
    says: 'EC2NodeClass {nodeClass} is being deleted since {since}: Karpenter launches nothing from it any more',
    remedy:
      'make it again once it is gone (it goes with the last NodeClaim that uses it), or have the NodePool refer to another one',
  },
  otherKind: {
    says: 'NodePool {pool} refers to a {kind} ({nodeClass}), and only an EC2NodeClass has metadataOptions',
    remedy: 'have the NodePool refer to an EC2NodeClass',
  },
  sharedClass: {
    says: 'EC2NodeClass {nodeClass} is also used by NodePool {others}, whose nodes must not change: give NodePool {pool} a class of its own',
    remedy: 'give the build pool a class of its own',
  },
  classOfAnotherRack: {
    says: 'EC2NodeClass {nodeClass} belongs to rack {rack}: one class belongs to one rack',
    remedy: 'give each rack a pool and a class of its own, or remove one registration',
  },
  noHeadroom: {
    says: 'NodePool {pool} is static with {replicas} replicas and limits.nodes {nodes}: Karpenter cannot replace a node without headroom; raise limits.nodes',
    remedy: 'raise `limits.nodes` above `replicas`',
  },
  tokensEnforced: {
    says: '{who} enforces HttpTokens=required (HttpTokensEnforced), so httpTokens=optional cannot be launched',
    remedy: 'the account forbids `optional`: ask for `required`',
  },
  canaryTooLarge: {
    says: 'imds_rollout_canary is {canary} and NodePool {pool} has {eligible} that can be one (running, registered, with other options than asked for): set a smaller number, or a percentage',
    remedy: 'set a smaller number or a percentage, unset it, or wait until the pool has grown',
  },
  canaryExternal: {
    says: 'imds_rollout_canary is {canary} and imds_rollout_class_writer is external: when the class is written is its writer’s to say, so no canary can come before',
    remedy: 'unset `imds_rollout_canary`, or let this service write the class',
  },
} as const satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof refusals;

type Blank<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Blank<Rest>
  : never;

/** The refusal in words, its blanks filled in. */
export const refuse = <N extends RefusalName>(
  name: N,
  blanks: Record<Blank<(typeof refusals)[N]['says']>, string>,
): string =>
  refusals[name].says.replaceAll(
    /\{(\w+)\}/g,
    (_, blank: string) => (blanks as Record<string, string>)[blank] ?? '',
  );

/** A refusal by a short name: where a record remembers that it was told. */
export const refusalHash = (reason: string): string =>
  createHash('sha256').update(reason).digest('hex').slice(0, 12);

/** What stands between the quotation marks of a value: as JSON has it, so that blanks and line ends show. */
export const quoted = (value: string): string => JSON.stringify(value).slice(1, -1);

/** Which refusals a reason is made of: it may have several, and names them one after the other. */
export const refusalsIn = (reason: string): RefusalName[] =>
  (Object.keys(refusals) as RefusalName[]).filter((name) => patternOf(refusals[name].says).test(reason));

const patternOf = (says: string): RegExp =>
  new RegExp(
    says
      .split(/\{\w+\}/)
      .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
      .join('.*'),
    's',
  );
