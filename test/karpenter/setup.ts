/** Starts the control plane for a run, with Karpenter's CRDs in it, and tells the tests where it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { parse } from 'yaml';
import { clientOf, startControlPlane, until } from './control-plane.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: { endpoint: string; certificateAuthority: string };
  }
}

const definitions = ['karpenter.k8s.aws_ec2nodeclasses', 'karpenter.sh_nodepools', 'karpenter.sh_nodeclaims'];

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { CONTROL_PLANE: binary, KARPENTER_CRDS: crds } = process.env;
  if (binary === undefined || crds === undefined) throw new Error('start this with `npm run test:karpenter`');
  const plane = await startControlPlane(binary);
  const api = clientOf(plane, 'admin');
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  for (const definition of definitions) {
    const body: unknown = parse(readFileSync(join(crds, `${definition}.yaml`), 'utf8'));
    await api({
      verb: 'create',
      resource: 'customresourcedefinitions',
      name: definition,
      method: 'POST',
      path,
      body,
    });
  }
  for (const [group, plural] of [
    ['karpenter.k8s.aws', 'ec2nodeclasses'],
    ['karpenter.sh', 'nodepools'],
    ['karpenter.sh', 'nodeclaims'],
  ] as const) {
    await until(`${plural} are served`, [], async () => {
      await api({ verb: 'list', resource: plural, method: 'GET', path: `/apis/${group}/v1/${plural}` });
    });
  }
  const { endpoint, certificateAuthority } = plane;
  project.provide('controlPlane', { endpoint, certificateAuthority });
  return async () => {
    await plane[Symbol.asyncDispose]();
  };
}
