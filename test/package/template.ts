/** The packaged template, with what CloudFormation would fill in. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const templateSchema = z.object({
  Parameters: z.record(z.string(), z.object({ Default: z.string() })),
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
  ),
  Outputs: z.record(z.string(), z.object({ Value: z.unknown() })),
});

export const TEMPLATE_FILE = 'out/package/cloudformation-template-update-stack.json';

const pseudo: Record<string, string> = {
  'AWS::AccountId': '123456789012',
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-central-1',
};

export interface Settings {
  isInVpc?: boolean;
  clusters?: string[];
}

/** One object of the template's, resolved. */
export type Resolved = Record<string, unknown>;

export class Template {
  readonly #template = templateSchema.parse(JSON.parse(readFileSync(TEMPLATE_FILE, 'utf8')));
  readonly #settings: Settings;

  constructor(settings: Settings = {}) {
    this.#settings = settings;
  }

  /** The properties of each resource of a type, by its logical id. */
  ofType(type: string): Map<string, Resolved> {
    return new Map(
      Object.entries(this.#template.Resources)
        .filter(([, resource]) => resource.Type === type)
        .map(([id, { Properties }]) => [id, this.#resolve(Properties) as Resolved]),
    );
  }

  output(name: string): string {
    return String(this.#resolve(this.#template.Outputs[name]?.Value));
  }

  #resolve(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((each) => this.#resolve(each)).filter((each) => each !== undefined);
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const [[name, argument] = []] = entries;
    if (entries.length === 1 && name !== undefined && (name === 'Ref' || name.startsWith('Fn::'))) {
      return this.#call(name, argument);
    }
    return Object.fromEntries(
      entries
        .map(([key, each]) => [key, this.#resolve(each)] as const)
        .filter(([, each]) => each !== undefined),
    );
  }

  #call(name: string, argument: unknown): unknown {
    if (name === 'Ref') return this.#ref(String(argument));
    if (name === 'Fn::GetAtt') return this.#attribute(argument as string | string[]);
    if (name === 'Fn::If') {
      const [condition, yes, no] = argument as [string, unknown, unknown];
      if (condition !== 'IsInVpc') throw new Error(`no test knows condition ${condition}`);
      return this.#resolve(this.#settings.isInVpc === true ? yes : no);
    }
    const [first, second] = [this.#resolve(argument)].flat() as [string, string | string[]];
    if (name === 'Fn::Sub') {
      return first.replaceAll(/\$\{([\w:.]+)\}/g, (_, id: string) =>
        String(id in pseudo || !id.includes('.') ? this.#ref(id) : this.#attribute(id.split('.'))),
      );
    }
    if (name === 'Fn::Join') return [second].flat().join(first);
    if (name === 'Fn::Split') return String(second).split(first);
    throw new Error(`no test knows ${name}`);
  }

  #ref(id: string): unknown {
    if (id === 'AWS::NoValue') return undefined;
    if (id in pseudo) return pseudo[id];
    if (id === 'Clusters') return this.#settings.clusters ?? ['*'];
    if (id in this.#template.Parameters) return [this.#template.Parameters[id]?.Default];
    const { Type, Properties } = this.#resource(id);
    // Whose Ref is its ARN.
    if (Type === 'AWS::StepFunctions::StateMachine' || Type === 'AWS::SNS::Topic') return this.#arn(id);
    return this.#resolve(Properties['FunctionName']) ?? id.toLowerCase();
  }

  #attribute(argument: string | string[]): string {
    const [id = '', attribute] = typeof argument === 'string' ? argument.split('.') : argument;
    return attribute === 'Arn' ? this.#arn(id) : id.toLowerCase();
  }

  #arn(id: string): string {
    const { Type, Properties } = this.#resource(id);
    const name = (property: string): string => {
      const value = this.#resolve(Properties[property]);
      return typeof value === 'string' ? value : id;
    };
    const here = 'eu-central-1:123456789012';
    switch (Type) {
      case 'AWS::IAM::Role':
        return `arn:aws:iam::123456789012:role/${id}`;
      case 'AWS::Lambda::Function':
        return `arn:aws:lambda:${here}:function:${name('FunctionName')}`;
      case 'AWS::Logs::LogGroup':
        return `arn:aws:logs:${here}:log-group:${name('LogGroupName')}:*`;
      case 'AWS::S3::Bucket':
        return `arn:aws:s3:::${id.toLowerCase()}`;
      case 'AWS::SNS::Topic':
        return `arn:aws:sns:${here}:${id}`;
      case 'AWS::SQS::Queue':
        return `arn:aws:sqs:${here}:${id}`;
      case 'AWS::StepFunctions::StateMachine':
        return `arn:aws:states:${here}:stateMachine:${name('StateMachineName')}`;
      default:
        throw new Error(`no test knows the ARN of ${Type}`);
    }
  }

  #resource(id: string) {
    const resource = this.#template.Resources[id];
    if (resource === undefined) throw new Error(`the template has no ${id}`);
    return resource;
  }
}

const functionSchema = z.object({
  FunctionName: z.string(),
  Handler: z.string(),
  Runtime: z.string(),
  Architectures: z.array(z.string()),
  Timeout: z.number(),
  Role: z.string(),
  VpcConfig: z.unknown().optional(),
  Environment: z.object({ Variables: z.record(z.string(), z.string()) }),
});

export type DeployedFunction = z.infer<typeof functionSchema> & { id: string; folder: string; zip: string };

/** The Lambdas, by the name of their folder in functions/. */
export function functionsOf(template: Template): Map<string, DeployedFunction> {
  return new Map(
    [...template.ofType('AWS::Lambda::Function')].map(([id, properties]) => {
      const parsed = functionSchema.parse(properties);
      const folder = parsed.Handler.split('/')[1] ?? '';
      const key = id.replace(/LambdaFunction$/, '');
      const zip = `out/package/${key.slice(0, 1).toLowerCase()}${key.slice(1)}.zip`;
      return [folder, { ...parsed, id, folder, zip }];
    }),
  );
}
