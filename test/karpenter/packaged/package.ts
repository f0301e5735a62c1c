/** What `npm run package` makes, unpacked as Lambda unpacks it. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { readZip } from '../../../scripts/package/zip.ts';
import type { WrittenDefinition } from '../../../simulator/account/definition.ts';
import { functionsOf, Template } from '../../package/template.ts';

interface PackagedFunction {
  arn: string;
  /** The bundle's file. */
  bundle: string;
  environment: Record<string, string>;
}

export interface Package extends AsyncDisposable {
  /** By the name of their folder in functions/. */
  functions: ReadonlyMap<string, PackagedFunction>;
  /** With the functions' ARNs in the place of its placeholders. */
  definition: WrittenDefinition;
}

const machineSchema = z.object({
  Definition: z.looseObject({}),
  DefinitionSubstitutions: z.record(z.string(), z.string()),
});

export async function unpack(): Promise<Package> {
  await promisify(execFile)(process.execPath, ['scripts/package.ts']);
  const template = new Template();
  const [machine] = template.ofType('AWS::StepFunctions::StateMachine').values();
  const { Definition, DefinitionSubstitutions } = machineSchema.parse(machine);
  const definition = Object.entries(DefinitionSubstitutions).reduce(
    (text, [name, value]) => text.replaceAll(`\${${name}}`, value),
    JSON.stringify(Definition),
  );
  const folder = await mkdtemp(join(tmpdir(), 'imds-rollout-package-'));
  const functions = new Map<string, PackagedFunction>();
  for (const [name, { FunctionName, Handler, Environment, zip }] of functionsOf(template)) {
    for (const [path, content] of readZip(await readFile(zip))) {
      const file = join(folder, name, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    functions.set(name, {
      arn: `arn:aws:lambda:eu-central-1:123456789012:function:${FunctionName}`,
      bundle: join(folder, name, Handler.replace(/\.handler$/, '.mjs')),
      environment: Environment.Variables,
    });
  }
  return {
    functions,
    definition: JSON.parse(definition) as WrittenDefinition,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
