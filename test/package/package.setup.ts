/** Packages once for all tests of the lane. */
import { execFileSync } from 'node:child_process';

export default function setup(): void {
  execFileSync(process.execPath, ['scripts/package.ts'], { stdio: 'inherit' });
}
