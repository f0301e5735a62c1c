/** Karpenter's own CustomResourceDefinitions, put into a control plane. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { clientOf, type ControlPlane } from './control-plane.ts';
import { until } from './processes.ts';

/** All that there are in a folder of them. */
export async function define(plane: ControlPlane, folder: string): Promise<void> {
  const api = clientOf(plane, 'admin');
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.yaml'))) {
    const body: unknown = parse(readFileSync(join(folder, name), 'utf8'));
    await api({ verb: 'create', resource: 'customresourcedefinitions', name, method: 'POST', path, body });
  }
  for (const [group, plural] of [
    ['karpenter.k8s.aws', 'ec2nodeclasses'],
    ['karpenter.sh', 'nodepools'],
    ['karpenter.sh', 'nodeclaims'],
  ] as const) {
    await until(`${plural} are served`, [], () =>
      api({ verb: 'list', resource: plural, method: 'GET', path: `/apis/${group}/v1/${plural}` }),
    );
  }
}
