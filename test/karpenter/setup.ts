/** Starts an API server for a run, with Karpenter's CRDs in it, and tells the tests where it is. */
import type { TestProject } from 'vitest/node';
import { startControlPlane } from './control-plane.ts';
import { define } from './definitions.ts';

declare module 'vitest' {
  interface ProvidedContext {
    controlPlane: { endpoint: string; certificateAuthority: string };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { CONTROL_PLANE: binary, KARPENTER_CRDS: crds } = process.env;
  if (binary === undefined || crds === undefined) throw new Error('start this with `npm run test:karpenter`');
  const plane = await startControlPlane({ binary });
  await define(plane, crds);
  const { endpoint, certificateAuthority } = plane;
  project.provide('controlPlane', { endpoint, certificateAuthority });
  return async () => {
    await plane[Symbol.asyncDispose]();
  };
}
