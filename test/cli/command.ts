/** The real command as a child process, as a shell would run it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';

// Each of these tests starts processes, which a busy machine may keep waiting.
vi.setConfig({ testTimeout: 120_000 });

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `imds-rollout` with the arguments; `environment` is added to the process's own. */
export function command(args: readonly string[], environment: Record<string, string> = {}): Ended {
  const { FORCE_COLOR: _, ...inherited } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['cli/main.ts', ...args], {
    encoding: 'utf8',
    env: { ...inherited, ...environment },
    maxBuffer: 1 << 26,
  });
  return { status, stdout, stderr };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'imds-rollout-'));
}

/** A scenario file with this text; returns its path. */
export function scenarioFile(text: string): string {
  const path = join(temporaryFolder(), 'scenario.yaml');
  writeFileSync(path, text);
  return path;
}

/** A small fleet that is asked for required/1 after a minute; `more` is added as it is. */
export const small = (more = ''): string => `name: small fleet
runFor: 2h
parameters:
  imds_http_tokens: optional
  imds_http_hop_limit: "3"
  karpenter_enabled: "true"
  build_node_enabled: "true"
classes: {build: {httpTokens: optional, httpPutResponseHopLimit: 3}}
pools: {build: {class: build, budgets: [{nodes: "100%"}], consolidateAfter: 60s}}
nodes:
  - {name: idle, pool: build}
  - {name: busy, pool: build, builds: [{name: b-1, runsFor: 20m, startsAt: -5m}]}
timeline:
  - {at: 1m, set: {karpenter_build_imds_tokens: required, karpenter_build_imds_hop_limit: "1"}}
${more}`;
