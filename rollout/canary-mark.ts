/** The mark of a canary: on its node, what its instance's options were before it was modified. Pure. */
import { z } from 'zod';
import type { MetadataOptions } from './ec2.ts';
import type { EC2NodeClass, MergePatch, Node } from './kubernetes.ts';
import { CANARY_ANNOTATION } from './naming.ts';
import { classOptions, mismatches, owned, type Option } from './options.ts';
import { optionsSchema, type Options } from './record.ts';

const markSchema = z.strictObject({
  /** Of several racks in one cluster each knows its own. */
  rack: z.string(),
  /** The execution that has it now. */
  rollout: z.string(),
  generation: z.string(),
  instanceId: z.string(),
  /** When it was first marked: before anything was modified. */
  since: z.iso.datetime(),
  /** As DescribeInstances showed them then. A successor keeps them: they are where every putting back returns to. */
  before: z.strictObject({
    httpTokens: z.enum(['optional', 'required']),
    httpPutResponseHopLimit: z.int(),
    httpEndpoint: z.enum(['enabled', 'disabled']),
    httpProtocolIpv6: z.enum(['enabled', 'disabled']).exactOptional(),
    instanceMetadataTags: z.enum(['enabled', 'disabled']).exactOptional(),
  }),
  /** The owned options that it is tried with. */
  after: optionsSchema,
  /** Every option that any rollout of this mark has tried: what putting back writes. */
  tried: z.array(z.enum(['httpTokens', 'httpPutResponseHopLimit'])),
});
export type CanaryMark = z.infer<typeof markSchema>;

/** A mark that somebody edited says that there was one, and no longer what was before. */
export type CanaryRead = CanaryMark | 'unreadable';

/** undefined where the node carries none. */
export function markOn(node: Pick<Node, 'metadata'>): CanaryRead | undefined {
  const text = node.metadata.annotations?.[CANARY_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    return 'unreadable';
  }
}

interface Marking {
  rack: string;
  execution: string;
  generation: string;
  target: Options;
}

/** The mark of a node for a rollout: one that is there already keeps what was before, and since when. */
export function markFor(
  { rack, execution, generation, target }: Marking,
  instance: { instanceId: string; metadataOptions: MetadataOptions },
  now: Date,
  mark?: CanaryMark,
): CanaryMark {
  const { state: _, ...before } = instance.metadataOptions;
  const tried = new Set<Option>([...(mark?.tried ?? []), ...owned(target)]);
  return {
    rack,
    rollout: execution,
    generation,
    instanceId: instance.instanceId,
    since: mark?.since ?? now.toISOString(),
    before: mark?.before ?? before,
    after: target,
    tried: [...tried],
  };
}

/** The options that putting back writes. */
export const putBackOptions = ({ before, tried }: CanaryMark): Options =>
  Object.fromEntries(tried.map((option) => [option, before[option]]));

/** Whether the class has come to say what the canary was tried with: then there is nothing to be put back. */
export const isCarriedOn = ({ after }: CanaryMark, nodeClass: EC2NodeClass): boolean =>
  mismatches(after, classOptions(nodeClass)).length === 0;

/** The guarded patch that marks a node, or takes its mark off; `hold` is written in the same one. */
export function markPatch(node: Node, mark: CanaryMark | null, hold?: MergePatch): MergePatch | undefined {
  const text = mark === null ? null : JSON.stringify(mark);
  const isSame = (node.metadata.annotations?.[CANARY_ANNOTATION] ?? null) === text;
  if (isSame) return hold;
  const metadata = (hold?.['metadata'] ?? {}) as { annotations?: MergePatch };
  return {
    ...hold,
    metadata: {
      resourceVersion: node.metadata.resourceVersion,
      annotations: { ...metadata.annotations, [CANARY_ANNOTATION]: text },
    },
  };
}
