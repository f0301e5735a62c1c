/** Managed node groups that take Builds too and keep the rack-wide IMDS options: whoever overrides these is told. Pure. */
import { z } from 'zod';
import type { StoredParameter } from './ports.ts';
import type { Key } from './parameters.ts';

/** As the reference platform names it: a JSON list of groups, stored as it is or in base64. */
const KEY = 'additional_build_groups_config';

export const isBuildGroups = (key: string): boolean => key === KEY;

const groupsSchema = z.array(
  z.object({
    label: z.string().optional(),
    id: z.union([z.string(), z.number()]).optional(),
    type: z.string().optional(),
  }),
);

/** One sentence with the groups' names; undefined where nothing is overridden or there are none. */
export function keepsRackWide(
  list: readonly StoredParameter[],
  sources: Readonly<Record<string, Key | undefined>>,
): string | undefined {
  const overrides = Object.values(sources).filter((key) => key?.startsWith('karpenter_build_') === true);
  const stored = list.find(({ key }) => key === KEY);
  if (overrides.length === 0 || stored === undefined) return undefined;
  const names = namesIn(stored.value);
  if (names?.length === 0) return undefined;
  const which =
    names === undefined
      ? `the build groups of ${KEY}, which cannot be read,`
      : `build groups ${names.join(', ')} of ${KEY}`;
  return `${which} keep the rack-wide IMDS options, and a Build may land there`;
}

/** undefined where the text is no such list. */
function namesIn(text: string): string[] | undefined {
  const groups = [text, Buffer.from(text, 'base64').toString('utf8')]
    .map((each) => groupsSchema.safeParse(jsonOf(each)))
    .find(({ success }) => success)?.data;
  return groups?.map(
    ({ label, id, type }, index) => label ?? String(id ?? type ?? `no. ${String(index + 1)}`),
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
