/**
 * The real parts, built into .cache/ once: the control plane and Karpenter by Go, which takes about twenty minutes of
 * CPU, and moto from PyPI. Whoever runs them builds them here, and again only when what they are made from changes.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installMoto } from '../aws/python.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const source = at('controlplane');
const bin = at('../../.cache/bin');
const KUBERNETES = '1.34';
/** Its AWS controllers as they are, on an EC2 of its own (KWOK). The CRDs are in the same module. */
const KARPENTER = 'github.com/aws/karpenter-provider-aws';
const KARPENTER_VERSION = 'v1.14.0';

/** The environment that `startWorld` and the set-up of the tests read. */
export interface Binaries {
  /** etcd, kube-apiserver, kube-scheduler, kube-controller-manager: one binary, by the name that it is called by. */
  CONTROL_PLANE: string;
  KARPENTER: string;
  /** The folder of Karpenter's CustomResourceDefinitions. */
  KARPENTER_CRDS: string;
  MOTO: string;
}

/** All of them. `lane` is the npm script that needs them; ends the process where one cannot be built. */
export function buildAll(lane: string): Binaries {
  return {
    CONTROL_PLANE: buildControlPlane(lane),
    KARPENTER: buildKarpenter(lane),
    KARPENTER_CRDS: karpenterCrds(lane),
    MOTO: installMoto(lane),
  };
}

/** Where the binary is of etcd and Kubernetes' own, at the versions of controlplane/go.mod. */
function buildControlPlane(lane: string): string {
  const binary = `${bin}/controlplane`;
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(`${source}/${file}`));
  once(binary, `${binary}.sha256`, hash.digest('hex'), () => {
    console.log('building the control plane into .cache/bin: about ten minutes the first time');
    const [, patch = ''] =
      /k8s\.io\/kubernetes v1\.34\.(\d+)/.exec(readFileSync(`${source}/go.mod`, 'utf8')) ?? [];
    const [major = '', minor = ''] = KUBERNETES.split('.');
    const flags = [`gitVersion=v${KUBERNETES}.${patch}`, `gitMajor=${major}`, `gitMinor=${minor}`]
      .map((flag) => `-X k8s.io/component-base/version.${flag}`)
      .join(' ');
    go(lane, ['build', '-mod=readonly', '-trimpath', '-ldflags', `-s -w ${flags}`, '-o', binary, '.']);
  });
  return binary;
}

/** Where Karpenter's binary is. */
function buildKarpenter(lane: string): string {
  const binary = `${bin}/kwok`;
  once(binary, `${binary}.version`, KARPENTER_VERSION, () => {
    console.log('building Karpenter into .cache/bin: about ten minutes the first time');
    go(lane, ['install', '-trimpath', `${KARPENTER}/kwok@${KARPENTER_VERSION}`]);
  });
  return binary;
}

/** The folder of the CustomResourceDefinitions of the same Karpenter. */
function karpenterCrds(lane: string): string {
  const answer: unknown = JSON.parse(
    go(lane, ['mod', 'download', '-json', `${KARPENTER}@${KARPENTER_VERSION}`]),
  );
  return `${(answer as { Dir: string }).Dir}/pkg/apis/crds`;
}

/** Builds where the stamp beside the binary does not say that it is made from what is wanted. */
function once(binary: string, stamp: string, wanted: string, build: () => void): void {
  if (existsSync(binary) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  mkdirSync(bin, { recursive: true });
  build();
  writeFileSync(stamp, wanted);
}

function go(lane: string, args: string[]): string {
  const { status, stdout, error } = spawnSync('go', args, {
    cwd: source,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: bin },
  });
  if (error !== undefined) {
    give(`npm run ${lane} needs Go 1.25 or later: install it from https://go.dev/dl/, and run it again`);
  }
  if (status !== 0) give(`\`go ${args.join(' ')}\` failed in ${source}: see above`);
  return stdout;
}

function give(problem: string): never {
  console.error(problem);
  process.exit(1);
}
