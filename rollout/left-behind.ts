/** Classes that a rack's pool has ceased to refer to: they keep what was written, which is theirs to put back by hand. */
import type { Ground } from './ground.ts';
import { classOptions, inWords, mismatches, owned, pick } from './options.ts';
import type { RolloutRecord } from './record.ts';

type Left = NonNullable<RolloutRecord['left']>;

/**
 * What the record is to remember of such classes once it is about the class of the ground. Nothing is written to them:
 * whose nodes use them now nobody here knows. One that is gone is forgotten.
 */
export async function leftBehind({ cluster, nodeClass }: Ground, record: RolloutRecord): Promise<Left> {
  const { classUid, baseline, left = [] } = record;
  const isLeft = classUid !== undefined && owned(baseline).length > 0;
  const known = [...left, ...(isLeft ? [{ uid: classUid, baseline }] : [])].filter(
    ({ uid }) => uid !== nodeClass.metadata.uid,
  );
  if (known.length === 0) return [];
  const classes = await cluster.list('EC2NodeClass');
  return known.flatMap((each) => {
    const found = classes.find(({ metadata }) => metadata.uid === each.uid);
    return found === undefined ? [] : [{ ...each, class: found.metadata.name }];
  });
}

/** Those of them that still do not say what they said before, for whoever reads how a rollout ended. */
export async function leftInWords(ground: Ground | undefined, { left = [] }: RolloutRecord): Promise<string> {
  if (ground === undefined) return '';
  const named = await Promise.all(
    left.map(async ({ class: name, uid, baseline }) => {
      const found = await ground.cluster.get('EC2NodeClass', name);
      if (found?.metadata.uid !== uid) return '';
      const differing = mismatches(baseline, classOptions(found));
      if (differing.length === 0) return '';
      const [now, before] = [
        inWords(pick(classOptions(found), differing)),
        inWords(pick(baseline, differing)),
      ];
      const pool = ground.pool.metadata.name;
      return ` (EC2NodeClass ${name}, which NodePool ${pool} no longer refers to, keeps ${now}; it said ${before} before)`;
    }),
  );
  return named.join('');
}
