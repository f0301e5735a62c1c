// `npm run test:karpenter`: the suite of the port Cluster, RBAC and the admission policy on a real kube-apiserver with
// Karpenter's own CRDs, and whole rollouts on a real Karpenter. Go builds the control plane and Karpenter into .cache/
// once, which takes about twenty minutes of CPU; moto comes from PyPI.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installMoto } from '../aws/install-moto.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const source = at('controlplane');
const binary = at('../../.cache/bin/controlplane');
/** Of the sources that the binary was built from. */
const stamp = `${binary}.sha256`;
const KUBERNETES = '1.34';
/** Its AWS controllers as they are, on an EC2 of its own (KWOK). The CRDs are in the same module. */
const KARPENTER = 'github.com/aws/karpenter-provider-aws';
const KARPENTER_VERSION = 'v1.14.0';
const karpenter = at('../../.cache/bin/kwok');
const karpenterStamp = `${karpenter}.version`;

function give(problem: string): never {
  console.error(problem);
  process.exit(1);
}

function go(args: string[]): string {
  const { status, stdout, error } = spawnSync('go', args, {
    cwd: source,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: at('../../.cache/bin') },
  });
  if (error !== undefined) {
    give(
      'npm run test:karpenter needs Go 1.25 or later: install it from https://go.dev/dl/, and run it again',
    );
  }
  if (status !== 0) give(`\`go ${args.join(' ')}\` failed in ${source}: see above`);
  return stdout;
}

const hash = createHash('sha256');
for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(readFileSync(`${source}/${file}`));
const wanted = hash.digest('hex');
if (!existsSync(binary) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.log('building the control plane into .cache/bin: about ten minutes the first time');
  mkdirSync(at('../../.cache/bin'), { recursive: true });
  const [, patch = ''] =
    /k8s\.io\/kubernetes v1\.34\.(\d+)/.exec(readFileSync(`${source}/go.mod`, 'utf8')) ?? [];
  const [major = '', minor = ''] = KUBERNETES.split('.');
  const version = 'k8s.io/component-base/version';
  const flags = [`gitVersion=v${KUBERNETES}.${patch}`, `gitMajor=${major}`, `gitMinor=${minor}`]
    .map((flag) => `-X ${version}.${flag}`)
    .join(' ');
  go(['build', '-mod=readonly', '-trimpath', '-ldflags', `-s -w ${flags}`, '-o', binary, '.']);
  writeFileSync(stamp, wanted);
}
if (
  !existsSync(karpenter) ||
  !existsSync(karpenterStamp) ||
  readFileSync(karpenterStamp, 'utf8') !== KARPENTER_VERSION
) {
  console.log('building Karpenter into .cache/bin: about ten minutes the first time');
  go(['install', '-trimpath', `${KARPENTER}/kwok@${KARPENTER_VERSION}`]);
  writeFileSync(karpenterStamp, KARPENTER_VERSION);
}
const downloaded: unknown = JSON.parse(go(['mod', 'download', '-json', `${KARPENTER}@${KARPENTER_VERSION}`]));
const { Dir } = downloaded as { Dir: string };
const moto = installMoto('test:karpenter');

const { status } = spawnSync(
  process.execPath,
  [
    at('../../node_modules/vitest/vitest.mjs'),
    'run',
    '--config',
    at('vitest.config.ts'),
    ...process.argv.slice(2),
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      CONTROL_PLANE: binary,
      KARPENTER: karpenter,
      KARPENTER_CRDS: `${Dir}/pkg/apis/crds`,
      MOTO: moto,
    },
  },
);
process.exit(status ?? 1);
