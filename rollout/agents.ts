/** Well-known agents: what they read from IMDS and why, as their own documentation has it (agents.json). */
import { z } from 'zod';
import known from './agents.json' with { type: 'json' };

const sentence = z.string().min(10);

export const agentsSchema = z.array(
  z.strictObject({
    name: z.string().min(1),
    /** Parts of an image's name, without registry and tag. */
    images: z.array(z.string().min(3)).min(1),
    /** Names of Deployments and DaemonSets as their charts give them. */
    workloads: z.array(z.string().min(3)),
    reads: z.array(z.string().startsWith('/latest/')),
    why: sentence,
    /** What becomes of it without IMDS. */
    without: sentence,
    /** How it does without a change of the hop limit. */
    instead: sentence,
    /** Pods of a cluster with it are one hop further from IMDS. */
    routesOnceMore: z.boolean().default(false),
    /** It runs containers inside its own, which are one hop further. */
    runsContainers: z.boolean().default(false),
    /** Where the facts were read. */
    sources: z.array(z.url({ protocol: /^https$/ })).min(1),
  }),
);
export type Agent = z.infer<typeof agentsSchema>[number];

const agents: readonly Agent[] = agentsSchema.parse(known);

/** The agent that a workload is, by what its containers run, else by its name; undefined where it is none of them. */
export function agentOf(workload: { name: string; images: readonly string[] }): Agent | undefined {
  const byImage = agents.find(({ images }) =>
    images.some((part) => workload.images.some((image) => image.includes(part))),
  );
  return byImage ?? agents.find(({ workloads }) => workloads.includes(workload.name));
}
