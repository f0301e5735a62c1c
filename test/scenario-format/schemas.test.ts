import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parse } from 'yaml';

const read = (file: string): unknown => JSON.parse(readFileSync(`schema/${file}.schema.json`, 'utf8'));

describe('the published JSON Schemas', () => {
  it('are what the types say', () => {
    const run = spawnSync(process.execPath, ['scripts/generate-schemas.ts', '--check'], { encoding: 'utf8' });
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
  });

  it.each(['scenario', 'result', 'plan', 'report', 'notice', 'notice-awaited', 'notice-approved'])(
    '%s is of draft 2020-12',
    (file) => {
      expect(read(file)).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
      });
    },
  );

  it('accepts the default scenario, and no wrong key', () => {
    const schema = z.fromJSONSchema(read('scenario') as Parameters<typeof z.fromJSONSchema>[0]);
    const scenario = parse(readFileSync('test/scenarios/default.yaml', 'utf8')) as Record<string, unknown>;
    expect(schema.safeParse(scenario).success).toBe(true);
    expect(schema.safeParse({ ...scenario, runfor: '1h' }).success).toBe(false);
  });
});
